"""Our own layout: nothing overlaps, nothing is lost, and arrows point down unless they close a loop."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from certus.report.graph_layout import Box, Layout, Link, layered

NODE = Box(20, 20, 24)
LABEL = Box(4, 50, 16)


def links(*pairs: tuple[int, int]) -> list[Link]:
    return [Link(a, b, LABEL) for a, b in pairs]


def rectangles(
    boxes: list[Box], arrows: list[Link], layout: Layout
) -> list[tuple[float, float, float, float]]:
    """All boxes of nodes and labels as (left, top, right, bottom)."""
    places = [(box, x, y) for box, (x, y) in zip(boxes, layout.places, strict=True)]
    for arrow, route in zip(arrows, layout.routes, strict=True):
        if route.stops:
            stop = route.stops[0]
            places.append((arrow.label, stop.x, (stop.top + stop.bottom) / 2))
    return [(x - b.left, y - b.height / 2, x + b.right, y + b.height / 2) for b, x, y in places]


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    slack = 1e-6
    return a[0] < b[2] - slack and b[0] < a[2] - slack and a[1] < b[3] - slack and b[1] < a[3] - slack


graphs = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(
            st.builds(Box, st.integers(5, 40), st.integers(5, 90), st.integers(10, 60)),
            min_size=n,
            max_size=n,
        ),
        st.lists(st.builds(Link, st.integers(0, n - 1), st.integers(0, n - 1), st.just(LABEL)), max_size=45),
    )
)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(graphs)
def test_boxes_of_nodes_and_labels_never_overlap(graph: tuple[list[Box], list[Link]]):
    boxes, arrows = graph
    layout = layered(boxes, arrows)
    found = rectangles(boxes, arrows, layout)
    assert not any(overlap(a, b) for a, b in combinations(found, 2))
    assert all(r[0] >= -1e-6 and r[2] <= layout.width + 1e-6 for r in found)
    assert all(r[1] >= -1e-6 and r[3] <= layout.height + 1e-6 for r in found)


def test_arrows_point_down_unless_they_close_a_loop():
    arrows = links((0, 1), (1, 2), (2, 1), (1, 3), (0, 3))
    layout = layered([NODE] * 4, arrows)
    for arrow, route in zip(arrows, layout.routes, strict=True):
        going_down = layout.places[arrow.source][1] < layout.places[arrow.target][1]
        assert going_down != route.backward
    assert [route.backward for route in layout.routes] == [False, False, True, False, False]


def test_a_chain_is_a_straight_line():
    layout = layered([NODE] * 5, links((0, 1), (1, 2), (2, 3), (3, 4)))
    assert max(x for x, _ in layout.places) - min(x for x, _ in layout.places) < 1


def test_a_tree_has_no_crossings():
    """Children stand in the order of their parents, whatever order the arrows come in."""
    layout = layered([NODE] * 7, links((0, 2), (0, 1), (1, 6), (2, 3), (1, 5), (2, 4)))
    x = [place[0] for place in layout.places]
    assert (x[1] < x[2]) == (max(x[5], x[6]) < min(x[3], x[4]))


def test_the_root_stands_on_top_and_an_arrow_to_itself_needs_no_route():
    layout = layered([NODE] * 3, links((2, 0), (0, 1), (0, 0)), root=2)
    assert layout.places[2][1] < layout.places[0][1] < layout.places[1][1]
    assert layout.routes[2].stops == ()


def test_no_nodes():
    assert layered([], []) == Layout((), (), 0.0, 0.0)


def test_a_loop_costs_no_crossing():
    """A loop whose body branches, and a way out of it."""
    arrows = links((0, 1), (1, 2), (2, 3), (3, 1), (2, 4), (4, 1), (1, 5), (5, 6))
    layout = layered([NODE] * 7, arrows)
    x = [place[0] for place in layout.places]
    back = [route for route in layout.routes if route.backward]
    assert len(back) == 2
    assert all(len({stop.x for stop in route.stops}) == 1 for route in back), "they are straight"
    assert abs(x[5] - x[6]) < 1e-6
