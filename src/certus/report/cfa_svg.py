"""Draw control-flow automata as SVG: procedures side by side, each with a layered layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from certus.report.cfa import Arrow, Cluster, Drawing, Node
from certus.report.graph_layout import Box, Layout, Link, Route, layered

NODE_TEXT, LABEL_TEXT, TITLE_TEXT = 12.0, 11.0, 14.0  # font sizes
NODE_LETTER, LABEL_LETTER = 7.0, 6.7  # widths of one letter
PADDING = 14.0  # around a procedure
ROW = 1500.0  # procedures stand side by side up to this width
SPACE = 24.0  # between layers
TIP = 8.0  # length of the straight end of an arrow, and its distance from a node at a corner
LOOP = 26.0  # width of an arrow from a node to itself

_STYLE = f"""
  text {{ font-family: Helvetica, Arial, sans-serif; font-size: {NODE_TEXT}px; fill: #1a1a1a; }}
  .title {{ font-size: {TITLE_TEXT}px; font-weight: bold; }}
  .label {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {LABEL_TEXT}px; }}
  .procedure {{ fill: #fbfbfb; stroke: #c8c8c8; }}
  .node {{ fill: #ffffff; stroke: #333; stroke-width: 1.2; }}
  .entry {{ stroke-dasharray: 5 3; }}
  .exit {{ stroke-width: 2.4; }}
  .error {{ fill: #d62728; stroke: #8c1a1b; }}
  .inner {{ fill: none; stroke: #333; }}
  .inside {{ text-anchor: middle; }}
  .on-error {{ fill: #ffffff; }}
  .arrow {{ fill: none; stroke: #555; stroke-width: 1.1; }}
  .tip {{ fill: #555; }}
  .back {{ stroke: #3467a8; }}
  .back-tip {{ fill: #3467a8; }}
"""


@dataclass(frozen=True, slots=True)
class _Picture:
    """The SVG elements of a procedure, which can be placed anywhere."""

    elements: tuple[str, ...]
    width: float
    height: float


def picture(cluster: Cluster) -> str:
    """Draw one procedure as an SVG element, for a page that has the style and the `tips`."""
    drawn = _procedure(cluster)
    width, height = _n(drawn.width), _n(drawn.height)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return "\n".join([f'<svg class="automaton" {size}>', *drawn.elements, "</svg>"])


def tips() -> str:
    """Return the tips of arrows, for all pictures of a page."""
    return f"<defs>{''.join(_marker(name) for name in ('tip', 'back-tip'))}</defs>"


def draw(drawing: Drawing) -> str:
    """Draw a program as an SVG document."""
    pictures = [_procedure(cluster) for cluster in drawing.clusters]
    body: list[str] = []
    x = y = tallest = widest = 0.0
    for picture in pictures:
        if x and x + picture.width > ROW:
            x, y, tallest = 0.0, y + tallest + PADDING, 0.0
        body.append(f'<g transform="translate({_n(x + PADDING)} {_n(y + PADDING)})">')
        body += [*picture.elements, "</g>"]
        x += picture.width + PADDING
        tallest = max(tallest, picture.height)
        widest = max(widest, x)
    width, height = widest + PADDING, y + tallest + 2 * PADDING
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
            f'viewBox="0 0 {_n(width)} {_n(height)}">',
            f"<style>{_STYLE}</style>",
            tips(),
            '<rect width="100%" height="100%" fill="white"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _marker(name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path class="{name}" d="M0 0 L8 4 L0 8 z"/></marker>'
    )


def _procedure(cluster: Cluster) -> _Picture:
    position = {node.name: n for n, node in enumerate(cluster.nodes)}
    own: defaultdict[str, list[Arrow]] = defaultdict(list)  # arrows from a node to itself
    for arrow in cluster.arrows:
        if arrow.source == arrow.target:
            own[arrow.source].append(arrow)
    boxes = [_node_box(node, own[node.name]) for node in cluster.nodes]
    links = [Link(position[a.source], position[a.target], _label_box(a.lines)) for a in cluster.arrows]
    root = next((n for n, node in enumerate(cluster.nodes) if node.role == "entry"), 0)
    layout = layered(boxes, links, root=root, space=SPACE)
    top = PADDING + TITLE_TEXT + 12
    width = max(layout.width, NODE_LETTER * 1.2 * len(cluster.title)) + 2 * PADDING
    height = layout.height + top + PADDING
    elements = [
        f'<rect class="procedure" width="{_n(width)}" height="{_n(height)}" rx="8"/>',
        _text(cluster.title, PADDING, PADDING + TITLE_TEXT - 2, "title"),
        f'<g transform="translate({_n(PADDING)} {_n(top)})">',
        *_arrows(cluster, layout),
        *(line for n, node in enumerate(cluster.nodes) for line in _node(node, layout.places[n])),
        *(
            line
            for node in cluster.nodes
            for line in _loops(own[node.name], node, layout.places[position[node.name]])
        ),
        "</g>",
    ]
    return _Picture(tuple(elements), width, height)


# --------------------------------------------------------------------------------------- nodes


def _node_size(node: Node) -> tuple[float, float]:
    """Return the width and height of the outer border."""
    letters = max(map(len, node.lines), default=1)
    border = 6 if node.head else 0
    return max(34.0, NODE_LETTER * letters + 16) + border, 15.0 * len(node.lines) + 8 + border


def _node_box(node: Node, loops: Sequence[Arrow]) -> Box:
    width, height = _node_size(node)
    beside = sum(LOOP + _label_box(a.lines).right for a in loops)
    tallest = max((_label_box(a.lines).height for a in loops), default=0.0)
    return Box(width / 2, width / 2 + beside, max(height, tallest))


def _node(node: Node, place: tuple[float, float]) -> list[str]:
    x, y = place
    width, height = _node_size(node)
    line = f' data-line="{node.line}"' if node.line else ""
    lines = [f"<g data-at={quoteattr(node.name)}{line}><title>{escape(node.note)}</title>"]
    lines.append(_border(x, y, width, height, f"node {node.role}"))
    if node.head:
        lines.append(_border(x, y, width - 6, height - 6, "inner"))
    role = "inside on-error" if node.role == "error" else "inside"
    first = y - 15.0 * (len(node.lines) - 1) / 2 + 4
    lines += [_text(line, x, first + 15 * n, role) for n, line in enumerate(node.lines)]
    return [*lines, "</g>"]


def _border(x: float, y: float, width: float, height: float, role: str) -> str:
    return (
        f'<rect class={quoteattr(role)} x="{_n(x - width / 2)}" y="{_n(y - height / 2)}" '
        f'width="{_n(width)}" height="{_n(height)}" rx="7"/>'
    )


# -------------------------------------------------------------------------------------- arrows


def _label_box(lines: Sequence[str]) -> Box:
    letters = max(map(len, lines), default=0)
    return Box(4.0, LABEL_LETTER * letters + 10, 14.0 * len(lines) + 4)


def _label(lines: Sequence[str], x: float, middle: float) -> list[str]:
    first = middle - 14.0 * (len(lines) - 1) / 2 + 4
    return [_text(line, x + 6, first + 14 * n, "label") for n, line in enumerate(lines)]


def _arrows(cluster: Cluster, layout: Layout) -> list[str]:
    """Draw all arrows between different nodes."""
    position = {node.name: n for n, node in enumerate(cluster.nodes)}
    ports = _ports(cluster, layout, position)
    elements: list[str] = []
    for n, (arrow, route) in enumerate(zip(cluster.arrows, layout.routes, strict=True)):
        if arrow.source != arrow.target:
            elements.append(_curve(route, ports[n, 0], ports[n, 1]))
            stop = route.stops[0]
            elements += _label(arrow.lines, stop.x, (stop.top + stop.bottom) / 2)
    return elements


@dataclass(frozen=True, slots=True)
class _Port:
    """The point where an arrow touches a node: on its left (`side` -1) or right (1), or above or below
    (0)."""

    x: float
    y: float
    side: int = 0


def _ports(cluster: Cluster, layout: Layout, position: dict[str, int]) -> dict[tuple[int, int], _Port]:
    """Return the points where each arrow touches its source (0) and its target (1): spread over the upper and
    the lower border, in the order of the arrows. Backward arrows from beside a node touch its sides."""
    nodes = {node.name: node for node in cluster.nodes}
    looping = {arrow.source for arrow in cluster.arrows if arrow.source == arrow.target}
    ports: dict[tuple[int, int], _Port] = {}
    sides: defaultdict[tuple[str, bool], list[tuple[float, int, int]]] = defaultdict(list)
    for n, (arrow, route) in enumerate(zip(cluster.arrows, layout.routes, strict=True)):
        if arrow.source == arrow.target:
            continue
        for end, name, stop in ((0, arrow.source, route.stops[0]), (1, arrow.target, route.stops[-1])):
            loops = name in looping
            side = None
            if route.backward:
                side = _beside(nodes[name], layout.places[position[name]], stop.x, loops=loops)
            if side is None:
                sides[name, (end == 1) != route.backward].append((stop.x, n, end))
            else:
                ports[n, end] = side
    for (name, at_top), ends in sides.items():
        x, y = layout.places[position[name]]
        width, height = _node_size(nodes[name])
        step = min(14.0, 0.8 * width / len(ends))
        for n, (_, arrow_number, end) in enumerate(sorted(ends)):
            port = x + step * (n - (len(ends) - 1) / 2)
            ports[arrow_number, end] = _Port(port, y - height / 2 if at_top else y + height / 2)
    return ports


def _beside(node: Node, place: tuple[float, float], x: float, *, loops: bool) -> _Port | None:
    """Return the middle of the left or right side of a node, if `x` is beyond it. The right side of a node
    with arrows to itself is not available."""
    half = _node_size(node)[0] / 2
    if abs(x - place[0]) < half + TIP or (loops and x > place[0]):
        return None
    side = 1 if x > place[0] else -1
    return _Port(place[0] + side * half, place[1], side)


def _curve(route: Route, start: _Port, end: _Port) -> str:
    """Draw a smooth line through all stops: vertical on layers, bent between them. It meets the upper and
    lower side of a node vertically; backward arrows go round the corner to its sides."""
    down = -1.0 if route.backward else 1.0
    x, y = start.x + start.side * TIP, route.leaves
    begin = f"M{_n(start.x)} {_n(start.y)}"
    path = [f"{begin} Q{_n(x)} {_n(start.y)} {_n(x)} {_n(start.y - TIP)}" if start.side else begin]
    path.append(f"L{_n(x)} {_n(y)}")
    for stop in route.stops:
        near, far = (stop.bottom, stop.top) if route.backward else (stop.top, stop.bottom)
        path.append(_bend(x, y, stop.x, near))
        path.append(f"L{_n(stop.x)} {_n(far)}")
        x, y = stop.x, far
    corner = end.x + end.side * TIP
    path.append(_bend(x, y, corner, route.arrives if end.side else route.arrives - down * TIP))
    if end.side:
        path.append(f"L{_n(corner)} {_n(end.y + TIP)} Q{_n(corner)} {_n(end.y)} {_n(end.x)} {_n(end.y)}")
    else:
        path.append(f"L{_n(end.x)} {_n(end.y)}")
    kind, tip = ("arrow back", "back-tip") if route.backward else ("arrow", "tip")
    return f'<path class="{kind}" d="{" ".join(path)}" marker-end="url(#{tip})"/>'


def _bend(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (y + to_y) / 2
    return f"C{_n(x)} {_n(middle)} {_n(to_x)} {_n(middle)} {_n(to_x)} {_n(to_y)}"


def _loops(arrows: Sequence[Arrow], node: Node, place: tuple[float, float]) -> list[str]:
    """Draw arrows from a node to itself, on its right side, next to one another."""
    x, y = place
    width, height = _node_size(node)
    edge = x + width / 2
    elements: list[str] = []
    reach = edge
    for arrow in arrows:
        reach += LOOP
        swing = edge + (reach - edge) * 4 / 3  # a cubic curve reaches 3/4 of the distance of its handles
        up, down = _n(y - height / 4), _n(y + height / 4)
        elements.append(
            f'<path class="arrow back" d="M{_n(edge)} {up} C{_n(swing)} {_n(y - height / 2)} {_n(swing)} '
            f'{_n(y + height / 2)} {_n(edge)} {down}" marker-end="url(#back-tip)"/>'
        )
        elements += _label(arrow.lines, reach, y)
        reach += _label_box(arrow.lines).right
    return elements


def _text(text: str, x: float, y: float, role: str) -> str:
    return f'<text class="{role}" x="{_n(x)}" y="{_n(y)}">{escape(text)}</text>'


def _n(number: float) -> str:
    """Return a coordinate as text, rounded."""
    return f"{number:.1f}".removesuffix(".0")
