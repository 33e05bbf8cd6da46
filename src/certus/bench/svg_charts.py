"""Draw line charts and scatter plots as SVG: several panels, one legend, linear or logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

SIZE = (300.0, 210.0)  # of one panel, including its margins
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 30.0, 42.0
MARKED = 60  # points of a line; with more points, dots would hide the line
COLOURS = ("#1f5fa8", "#d1642b", "#2b8a3e", "#8e44ad", "#6b6b6b", "#b8860b")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2", "1 2")  # readable without colours

_STYLE = """
  text { font-family: Helvetica, Arial, sans-serif; font-size: 11px; fill: #1a1a1a; }
  .title { font-size: 13px; font-weight: bold; text-anchor: middle; }
  .name { text-anchor: middle; }
  .tick { fill: #555; font-size: 10px; }
  .grid { stroke: #e3e3e3; }
  .diagonal { stroke: #9a9a9a; stroke-dasharray: 4 3; }
  .frame { fill: #ffffff; stroke: #9a9a9a; }
  .line { fill: none; stroke-width: 1.8; }
"""

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: lines by name, each a sequence of points. If the points are not `joined`, it is a scatter
    plot with a diagonal for equal coordinates."""

    title: str
    lines: Mapping[str, Points]
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis; `span` are its ends (by default those of the values)."""

    name: str
    logarithmic: bool = False
    span: tuple[float, float] | None = None

    def place(self, value: float, low: float, high: float) -> float:
        """Return the position of a value between the ends of the axis, from 0 to 1."""
        if self.logarithmic:
            value, low, high = (math.log10(x) for x in (value, low, high))
        return 0.5 if high == low else (value - low) / (high - low)

    def ends(self, values: Sequence[float]) -> tuple[float, float]:
        """Return the smallest and the largest value shown."""
        if self.span is not None:
            return self.span
        if self.logarithmic:
            low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            return 10.0**low, 10.0 ** max(high, low + 1)
        return min(0.0, *values), max(values) or 1.0

    def ticks(self, low: float, high: float) -> list[float]:
        """Return the values with a grid line and a number."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
            every = max(1, (last - first) // 4)
            return [10.0**power for power in range(first, last + 1, every)]
        step = 10.0 ** math.floor(math.log10((high - low) / 2))
        step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 5)
        return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def charts(
    panels: Sequence[Panel], x: Axis, y: Axis, *, columns: int = 3, size: tuple[float, float] = SIZE
) -> str:
    """Draw all panels in rows, under one legend, as an SVG document."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    rows = math.ceil(len(panels) / columns)
    width, height = columns * size[0], rows * size[1] + 30
    body = [f'<rect width="{_n(width)}" height="{_n(height)}" fill="#ffffff"/>']
    body += _legend(names, joined=all(panel.joined for panel in panels))
    for number, panel in enumerate(panels):
        across, down = number % columns * size[0], number // columns * size[1] + 30
        body.append(f'<g transform="translate({_n(across)} {_n(down)})">')
        body += [*_panel(panel, names, x, y, size), "</g>"]
    outside = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {outside}>'
    return "\n".join([head, f"<style>{_STYLE}</style>", *body, "</svg>"]) + "\n"


def _legend(names: Sequence[str], *, joined: bool) -> list[str]:
    elements: list[str] = []
    at = 16.0
    for number, name in enumerate(names):
        if joined:
            elements.append(f'<line x1="{_n(at)}" y1="16" x2="{_n(at + 26)}" y2="16" {_stroke(number)}/>')
        else:
            elements.append(_dot(at + 20, 16, number, joined=False))
        elements.append(f'<text x="{_n(at + 32)}" y="20">{escape(name)}</text>')
        at += 52 + 6.4 * len(name)
    return elements


def _panel(panel: Panel, names: Sequence[str], x: Axis, y: Axis, size: tuple[float, float]) -> list[str]:
    across, down = size[0] - LEFT - RIGHT, size[1] - TOP - BOTTOM
    middle = LEFT + across / 2
    elements = [
        f'<text class="title" x="{_n(middle)}" y="{_n(TOP - 10)}">{escape(panel.title)}</text>',
        f'<rect class="frame" x="{_n(LEFT)}" y="{_n(TOP)}" width="{_n(across)}" height="{_n(down)}"/>',
        f'<text class="name" x="{_n(middle)}" y="{_n(size[1] - 8)}">{escape(x.name)}</text>',
        f'<text class="name" transform="translate(12 {_n(TOP + down / 2)}) rotate(-90)">'
        f"{escape(y.name)}</text>",
    ]
    points = [point for line in panel.lines.values() for point in line]
    if not points:
        return elements
    (x0, x1), (y0, y1) = x.ends([p[0] for p in points]), y.ends([p[1] for p in points])

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return (
            LEFT + across * x.place(point[0], x0, x1),
            TOP + down * (1 - y.place(point[1], y0, y1)),
        )

    for tick in x.ticks(x0, x1):
        at = place((tick, y0))[0]
        elements.append(_line((at, TOP), (at, TOP + down)))
        elements.append(f'<text class="tick name" x="{_n(at)}" y="{_n(TOP + down + 14)}">{tick:g}</text>')
    for tick in y.ticks(y0, y1):
        at = place((x0, tick))[1]
        elements.append(_line((LEFT, at), (LEFT + across, at)))
        text = f'<text class="tick" text-anchor="end" x="{_n(LEFT - 5)}" y="{_n(at + 3)}">{tick:g}</text>'
        elements.append(text)
    if not panel.joined:
        low, high = max(x0, y0), min(x1, y1)
        elements.append(_line(place((low, low)), place((high, high)), "diagonal"))
    for name, line in panel.lines.items():
        number = names.index(name)
        places = [place(point) for point in line]
        if panel.joined:
            path = " ".join(f"{_n(a)},{_n(b)}" for a, b in places)
            elements.append(f'<polyline points="{path}" {_stroke(number)}/>')
        if not panel.joined or len(places) <= MARKED:
            elements += [_dot(a, b, number, joined=panel.joined) for a, b in places]
    return elements


def _line(start: tuple[float, float], end: tuple[float, float], kind: str = "grid") -> str:
    (a, b), (c, d) = start, end
    return f'<line class="{kind}" x1="{_n(a)}" y1="{_n(b)}" x2="{_n(c)}" y2="{_n(d)}"/>'


def _dot(across: float, down: float, number: int, *, joined: bool) -> str:
    """Draw a point of a line, or of a scatter plot: larger, and hollow for every second name."""
    colour = COLOURS[number % len(COLOURS)]
    if joined:
        style = f'r="2.2" fill="{colour}"'
    elif number % 2:
        style = f'r="3.4" fill="none" stroke="{colour}" stroke-width="1.4"'
    else:
        style = f'r="3" fill="{colour}" fill-opacity="0.65"'
    return f'<circle cx="{_n(across)}" cy="{_n(down)}" {style}/>'


def _stroke(number: int) -> str:
    dash = DASHES[number % len(DASHES)]
    pattern = f' stroke-dasharray="{dash}"' if dash else ""
    return f'class="line" stroke="{COLOURS[number % len(COLOURS)]}"{pattern}'


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
