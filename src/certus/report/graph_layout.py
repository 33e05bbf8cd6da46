"""Compute a layered layout of a directed graph.

The classical steps: (1) arrows that close a cycle in a depth-first search are reversed; (2) the layer of a
node is the length of the longest path to it; (3) within layers, nodes are ordered by the mean position of
their neighbours, down and up several times, and the order with the fewest crossings wins; (4) horizontal
positions are the least-squares fit to the neighbours' positions that keeps order and distances (pool adjacent
violators); (5) chains without a branch are aligned, as far as the neighbours leave room.

Nodes are on even layers. Every arrow passes through *stations*, one on each layer between its ends, and one
of these is on an odd layer for the label: that station has the label's size. Hence boxes (nodes and labels)
never overlap: within a layer because of steps 4 and 5, between layers because of their heights.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

GAP = 16.0  # between neighbours on a layer
SWEEPS = 12
STILL = 0.5  # positions have converged when nothing moves further than this
STRAIGHTENINGS = 3
SMALL = 150  # arrows; for a larger graph only one initial order is tried
TRIES = 24
STRAIGHT = 8.0  # weight of the alignment of two stations of one arrow


@dataclass(frozen=True, slots=True)
class Box:
    """The space of a node or label: to the left and right of its anchor, and its height."""

    left: float
    right: float
    height: float


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow between nodes (by position) and the space of its label."""

    source: int
    target: int
    label: Box


@dataclass(frozen=True, slots=True)
class Stop:
    """The part of an arrow on one layer: vertical at `x`, from `top` to `bottom`."""

    x: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Route:
    """The path of an arrow from its source to its target. Its label is to the right of its first stop.

    It leaves the layer of its source at height `leaves` and reaches that of its target at `arrives`; it is
    vertical on layers. `backward` arrows run upwards. An arrow from a node to itself has no stops."""

    leaves: float
    stops: tuple[Stop, ...]
    arrives: float
    backward: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """Anchors (x, centre y) of the nodes, and the routes of the links."""

    places: tuple[tuple[float, float], ...]
    routes: tuple[Route, ...]
    width: float
    height: float


class _Item:
    """A node or a station on its layer."""

    __slots__ = ("above", "below", "box", "layer", "order", "station", "x")

    def __init__(self, box: Box, layer: int, *, station: bool) -> None:
        self.box = box
        self.layer = layer
        self.station = station
        self.above: list[_Item] = []
        self.below: list[_Item] = []
        self.order = 0  # position in the layer
        self.x = 0.0


def layered(nodes: Sequence[Box], links: Sequence[Link], *, root: int = 0, space: float = 12.0) -> Layout:
    """Lay the graph out from `root` downwards; `space` is the vertical distance of layers."""
    turned = _backward(len(nodes), links, root)
    ranks = _ranks(len(nodes), links, turned)
    items = [_Item(box, 2 * rank, station=False) for box, rank in zip(nodes, ranks, strict=True)]
    chains = [_chain(items, link, turned=n in turned) for n, link in enumerate(links)]
    layers = _ordered(items, chains, turned)
    _position(layers)
    _straighten(layers)
    _gather(layers)
    tops, bottoms = _heights(layers, space)
    leftmost = min((i.x - i.box.left for layer in layers for i in layer), default=0.0)
    for layer in layers:
        for item in layer:
            item.x -= leftmost
    routes = tuple(_route(chain, tops, bottoms, turned=n in turned) for n, chain in enumerate(chains))
    width = max((i.x + i.box.right for layer in layers for i in layer), default=0.0)
    places = tuple((i.x, (tops[i.layer] + bottoms[i.layer]) / 2) for i in items)
    return Layout(places, routes, width, bottoms[-1] if bottoms else 0.0)


def _backward(count: int, links: Sequence[Link], root: int) -> set[int]:
    """Return the links that lead to a node on the current path of a depth-first search."""
    out: list[list[int]] = [[] for _ in range(count)]
    for n, link in enumerate(links):
        out[link.source].append(n)
    state = [0] * count  # 0 new, 1 on the path, 2 done
    backward: set[int] = set()
    for start in (root, *range(count)) if count else ():
        if state[start]:
            continue
        state[start] = 1
        stack = [(start, iter(out[start]))]
        while stack:
            node, rest = stack[-1]
            for n in rest:
                target = links[n].target
                if state[target] == 1:
                    backward.add(n)
                elif state[target] == 0:
                    state[target] = 1
                    stack.append((target, iter(out[target])))
                    break
            else:
                state[node] = 2
                stack.pop()
    return backward


def _ranks(count: int, links: Sequence[Link], turned: set[int]) -> list[int]:
    """Return for every node the length of the longest path to it."""
    below: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for n, link in enumerate(links):
        if link.source != link.target:
            upper, lower = _ends(link, turned=n in turned)
            below[upper].append(lower)
            waiting[lower] += 1
    ranks = [0] * count
    ready = deque(node for node in range(count) if not waiting[node])
    while ready:
        node = ready.popleft()
        for lower in below[node]:
            ranks[lower] = max(ranks[lower], ranks[node] + 1)
            waiting[lower] -= 1
            if not waiting[lower]:
                ready.append(lower)
    return ranks


def _ends(link: Link, *, turned: bool) -> tuple[int, int]:
    return (link.target, link.source) if turned else (link.source, link.target)


def _chain(items: list[_Item], link: Link, *, turned: bool) -> list[_Item]:
    """Return the stations of a link, from top to bottom; the one next to its source has the label."""
    if link.source == link.target:
        return []
    upper, lower = (items[n] for n in _ends(link, turned=turned))
    label_at = lower.layer - 1 if turned else upper.layer + 1
    line = Box(3.0, 3.0, 0.0)
    chain = [
        _Item(link.label if layer == label_at else line, layer, station=True)
        for layer in range(upper.layer + 1, lower.layer)
    ]
    above = upper
    for item in (*chain, lower):
        above.below.append(item)
        item.above.append(above)
        above = item
    return chain


def _layers(items: list[_Item], chains: list[list[_Item]], late: dict[int, float]) -> list[list[_Item]]:
    """Return all items by layer, in the order of a search from the top that visits items by their key in
    `late`."""
    layers: list[list[_Item]] = [[] for _ in range(1 + max((i.layer for i in items), default=-1))]
    seen: set[int] = set()
    for start in items:
        stack = [] if start.above else [start]
        while stack:
            item = stack.pop()
            if id(item) not in seen:
                seen.add(id(item))
                layers[item.layer].append(item)
                stack.extend(sorted(item.below, key=lambda i: late.get(id(i), 0))[::-1])
    assert len(seen) == len(items) + sum(map(len, chains))
    return layers


# ------------------------------------------------------------------------------------ ordering


def _ordered(items: list[_Item], chains: list[list[_Item]], turned: set[int]) -> list[list[_Item]]:
    """Order each layer so that few arrows cross: the best result of several initial orders. In the first one,
    reversed arrows are to the right of the others, then to the left, then orders are random."""
    best: list[list[_Item]] = []
    fewest = -1
    for late in _beginnings(items, chains, turned):
        layers = _layers(items, chains, late)
        crossings = _order(layers)
        if fewest < 0 or crossings < fewest:
            best, fewest = layers, crossings
        if not fewest:
            break
    _number(best)
    return best


def _beginnings(
    items: list[_Item], chains: list[list[_Item]], turned: set[int]
) -> Iterator[dict[int, float]]:
    """Yield keys for initial orders; a large graph has only one."""
    backward = [id(item) for n, chain in enumerate(chains) if n in turned for item in chain]
    yield dict.fromkeys(backward, 1.0)
    if len(chains) > SMALL:
        return
    yield dict.fromkeys(backward, -1.0)
    stations = [item for chain in chains for item in chain]
    for seed in range(min(TRIES, TRIES * SMALL // (4 * len(chains) + 1))):
        luck = Random(seed)
        yield {id(item): luck.random() for item in (*items, *stations)}


def _order(layers: list[list[_Item]]) -> int:
    """Sort every layer so that few arrows cross, and return the number of crossings."""
    _number(layers)
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            keys = {id(i): _mean(i.above if down else i.below, i) for i in layer}
            layer.sort(key=lambda i, keys=keys: keys[id(i)])  # type: ignore[misc]
            _number([layer])
        _exchange(layers)
        crossings = _crossings(layers)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best
    return fewest


def _exchange(layers: list[list[_Item]]) -> None:
    """Swap neighbours on a layer where that removes crossings."""
    for layer in layers:
        for n in range(len(layer) - 1):
            left, right = layer[n], layer[n + 1]
            if _pair(left, right) > _pair(right, left):
                layer[n], layer[n + 1] = right, left
                left.order, right.order = n + 1, n


def _pair(left: _Item, right: _Item) -> int:
    """Return the number of crossings between the arrows of two neighbours in this order."""
    sides = ((left.above, right.above), (left.below, right.below))
    return sum(1 for here, there in sides for a in here for b in there if a.order > b.order)


def _number(layers: list[list[_Item]]) -> None:
    for layer in layers:
        for position, item in enumerate(layer):
            item.order = position


def _mean(neighbours: list[_Item], item: _Item) -> float:
    return sum(n.order for n in neighbours) / len(neighbours) if neighbours else float(item.order)


def _crossings(layers: list[list[_Item]]) -> int:
    """Return how many pairs of arrows cross between neighbouring layers."""
    total = 0
    for layer in layers:
        seen: list[int] = []  # ends of the arrows further left, sorted
        for item in layer:
            ends = sorted(n.order for n in item.below)
            total += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


# ----------------------------------------------------------------------------------- positions


def _position(layers: list[list[_Item]]) -> None:
    """Compute the x of every item from its neighbours above and below, keeping order and distances."""
    for layer in layers:
        _settle(layer, [0.0] * len(layer), [1.0] * len(layer))
    for _ in range(SWEEPS):
        moved = _sweep(layers, up=False, down=True)
        moved = max(moved, _sweep(layers[::-1], up=True, down=False))
        if moved < STILL:
            break
    _sweep(layers, up=True, down=True)
    _sweep(layers[::-1], up=True, down=True)


def _sweep(layers: Sequence[list[_Item]], *, up: bool, down: bool) -> float:
    """Move the items of each layer towards those above (`down`) and below (`up`), and return the largest
    distance."""
    furthest = 0.0
    for layer in layers:
        wanted, weights = [], []
        for item in layer:
            weight = place = 0.0
            for other in (*(item.above if down else ()), *(item.below if up else ())):
                strength = STRAIGHT if item.station and other.station else 1.0
                weight += strength
                place += strength * other.x
            wanted.append(place / weight if weight else item.x)
            weights.append(weight or 0.1)
        furthest = max(furthest, _settle(layer, wanted, weights))
    return furthest


def _settle(layer: list[_Item], wanted: list[float], weights: list[float]) -> float:
    """Move items to the positions nearest to the wanted ones (weighted least squares) that keep order and
    distances, and return the largest distance."""
    offset = 0.0
    offsets: list[float] = []
    for position, item in enumerate(layer):
        if position:
            offset += layer[position - 1].box.right + GAP + item.box.left
        offsets.append(offset)
    pools: list[tuple[float, float, int]] = []  # mean, weight, members: of items that touch
    for want, weight, start in zip(wanted, weights, offsets, strict=True):
        mean, total, members = want - start, weight, 1
        while pools and pools[-1][0] >= mean:
            other, others, number = pools.pop()
            mean = (mean * total + other * others) / (total + others)
            total += others
            members += number
        pools.append((mean, total, members))
    position = 0
    furthest = 0.0
    for mean, _, members in pools:
        for _ in range(members):
            x = mean + offsets[position]
            furthest = max(furthest, abs(x - layer[position].x))
            layer[position].x = x
            position += 1
    return furthest


def _straighten(layers: list[list[_Item]]) -> None:
    """Put every chain of items on one vertical line, or on few."""
    runs = _runs(layers)
    for _ in range(STRAIGHTENINGS):
        for run in runs:
            start = 0
            while start < len(run):
                low, high = _room(run[start], layers)
                end = start + 1
                while end < len(run):
                    left, right = _room(run[end], layers)
                    if max(low, left) > min(high, right):
                        break
                    low, high = max(low, left), min(high, right)
                    end += 1
                middle = sorted(item.x for item in run[start:end])[(end - start) // 2]
                for item in run[start:end]:
                    item.x = min(max(middle, low), high)
                start = end


def _gather(layers: list[list[_Item]]) -> None:
    """Put items without arrows next to their neighbours."""
    for layer in layers:
        for item in layer:
            if not item.above and not item.below and item.order:
                item.x = _room(item, layers)[0]


def _runs(layers: list[list[_Item]]) -> list[list[_Item]]:
    """Return the maximal chains without a branch or a join, longest first."""
    chains: list[list[_Item]] = []
    for layer in layers:
        for item in layer:
            if len(item.above) == 1 and len(item.above[0].below) == 1:
                continue  # not the first of its run
            run = [item]
            while len(run[-1].below) == 1 and len(run[-1].below[0].above) == 1:
                run.append(run[-1].below[0])
            chains.append(run)
    return sorted(chains, key=len, reverse=True)


def _room(item: _Item, layers: list[list[_Item]]) -> tuple[float, float]:
    """Return the interval in which an item may be placed between its neighbours."""
    layer = layers[item.layer]
    low, high = float("-inf"), float("inf")
    if item.order > 0:
        left = layer[item.order - 1]
        low = left.x + left.box.right + GAP + item.box.left
    if item.order + 1 < len(layer):
        right = layer[item.order + 1]
        high = right.x - right.box.left - GAP - item.box.right
    return low, max(low, high)


def _heights(layers: list[list[_Item]], space: float) -> tuple[list[float], list[float]]:
    """Return the upper and the lower edge of every layer."""
    tops, bottoms, y = [], [], 0.0
    for layer in layers:
        tops.append(y)
        y += max(i.box.height for i in layer)
        bottoms.append(y)
        y += space
    return tops, bottoms


def _route(chain: list[_Item], tops: list[float], bottoms: list[float], *, turned: bool) -> Route:
    if not chain:
        return Route(0.0, (), 0.0, backward=turned)
    stops = tuple(Stop(i.x, tops[i.layer], bottoms[i.layer]) for i in chain)
    upper, lower = bottoms[chain[0].layer - 1], tops[chain[-1].layer + 1]
    if turned:
        return Route(lower, stops[::-1], upper, backward=True)
    return Route(upper, stops, lower, backward=False)
