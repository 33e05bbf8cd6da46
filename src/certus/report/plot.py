"""Line charts as SVG, drawn by us: small multiples, one legend, linear or logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 300.0, 210.0  # of one panel, its margins included
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 30.0, 42.0
COLOURS = ("#1f5fa8", "#d1642b", "#2b8a3e", "#8e44ad", "#6b6b6b", "#b8860b")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2", "1 2")  # readable without colours

_STYLE = """
  text { font-family: Helvetica, Arial, sans-serif; font-size: 11px; fill: #1a1a1a; }
  .title { font-size: 13px; font-weight: bold; text-anchor: middle; }
  .name { text-anchor: middle; }
  .tick { fill: #555; font-size: 10px; }
  .grid { stroke: #e3e3e3; }
  .frame { fill: #ffffff; stroke: #9a9a9a; }
  .line { fill: none; stroke-width: 1.8; }
"""

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart: lines by name, each a sequence of points."""

    title: str
    lines: Mapping[str, Points]


@dataclass(frozen=True, slots=True)
class Axis:
    name: str
    logarithmic: bool = False

    def place(self, value: float, low: float, high: float) -> float:
        """Where a value lies between the ends of the axis, from 0 to 1."""
        if self.logarithmic:
            value, low, high = (math.log10(x) for x in (value, low, high))
        return 0.5 if high == low else (value - low) / (high - low)

    def ends(self, values: Sequence[float]) -> tuple[float, float]:
        """The smallest and largest value shown."""
        if self.logarithmic:
            low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            return 10.0**low, 10.0 ** max(high, low + 1)
        return min(0.0, *values), max(values) or 1.0

    def ticks(self, low: float, high: float) -> list[float]:
        if self.logarithmic:
            first, last = round(math.log10(low)), round(math.log10(high))
            every = max(1, (last - first) // 4)
            return [10.0**power for power in range(first, last + 1, every)]
        step = 10.0 ** math.floor(math.log10((high - low) / 2))
        step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 5)
        return [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def charts(panels: Sequence[Panel], x: Axis, y: Axis, *, columns: int = 3) -> str:
    """All panels in rows, under one legend, as an SVG document."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    rows = math.ceil(len(panels) / columns)
    width, height = columns * WIDTH, rows * HEIGHT + 30
    body = [f'<rect width="{_n(width)}" height="{_n(height)}" fill="#ffffff"/>', *_legend(names)]
    for number, panel in enumerate(panels):
        across, down = number % columns * WIDTH, number // columns * HEIGHT + 30
        body.append(f'<g transform="translate({_n(across)} {_n(down)})">')
        body += [*_panel(panel, names, x, y), "</g>"]
    size = f'width="{_n(width)}" height="{_n(height)}" viewBox="0 0 {_n(width)} {_n(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, f"<style>{_STYLE}</style>", *body, "</svg>"]) + "\n"


def _legend(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    at = 16.0
    for number, name in enumerate(names):
        found.append(f'<line x1="{_n(at)}" y1="16" x2="{_n(at + 26)}" y2="16" {_look(number)}/>')
        found.append(f'<text x="{_n(at + 32)}" y="20">{escape(name)}</text>')
        at += 52 + 6.4 * len(name)
    return found


def _panel(panel: Panel, names: Sequence[str], x: Axis, y: Axis) -> list[str]:
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    middle = LEFT + across / 2
    found = [
        f'<text class="title" x="{_n(middle)}" y="{_n(TOP - 10)}">{escape(panel.title)}</text>',
        f'<rect class="frame" x="{_n(LEFT)}" y="{_n(TOP)}" width="{_n(across)}" height="{_n(down)}"/>',
        f'<text class="name" x="{_n(middle)}" y="{_n(HEIGHT - 8)}">{escape(x.name)}</text>',
        f'<text class="name" transform="translate(12 {_n(TOP + down / 2)}) rotate(-90)">'
        f"{escape(y.name)}</text>",
    ]
    points = [point for line in panel.lines.values() for point in line]
    if not points:
        return found
    (x0, x1), (y0, y1) = x.ends([p[0] for p in points]), y.ends([p[1] for p in points])
    for tick in x.ticks(x0, x1):
        at = LEFT + across * x.place(tick, x0, x1)
        found.append(f'<line class="grid" x1="{_n(at)}" y1="{_n(TOP)}" x2="{_n(at)}" y2="{_n(TOP + down)}"/>')
        found.append(f'<text class="tick name" x="{_n(at)}" y="{_n(TOP + down + 14)}">{tick:g}</text>')
    for tick in y.ticks(y0, y1):
        at = TOP + down * (1 - y.place(tick, y0, y1))
        found.append(
            f'<line class="grid" x1="{_n(LEFT)}" y1="{_n(at)}" x2="{_n(LEFT + across)}" y2="{_n(at)}"/>'
        )
        text = f'<text class="tick" text-anchor="end" x="{_n(LEFT - 5)}" y="{_n(at + 3)}">{tick:g}</text>'
        found.append(text)
    for name, line in panel.lines.items():
        number = names.index(name)
        places = [
            (LEFT + across * x.place(a, x0, x1), TOP + down * (1 - y.place(b, y0, y1))) for a, b in line
        ]
        path = " ".join(f"{_n(a)},{_n(b)}" for a, b in places)
        found.append(f'<polyline points="{path}" {_look(number)}/>')
        colour = COLOURS[number % len(COLOURS)]
        found += [f'<circle cx="{_n(a)}" cy="{_n(b)}" r="2.2" fill="{colour}"/>' for a, b in places]
    return found


def _look(number: int) -> str:
    dash = DASHES[number % len(DASHES)]
    pattern = f' stroke-dasharray="{dash}"' if dash else ""
    return f'class="line" stroke="{COLOURS[number % len(COLOURS)]}"{pattern}'


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
