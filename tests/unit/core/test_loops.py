"""Loop forests and recursion."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certus.core.build import TRUE
from certus.core.loops import Loop, call_graph, components, loop_forest, recursive
from certus.core.program import Assume, Call, Choice, Edge, Location, Procedure, Program, Seq

Edges = Sequence[tuple[int, int]]


def procedure(size: int, edges: Edges, name: str = "p") -> Procedure:
    """Locations 0 (the entry) to size - 1 (the exit)."""
    at = [Location(i, name) for i in range(size)]
    built = tuple(Edge(n, at[a], Assume(TRUE), at[b]) for n, (a, b) in enumerate(edges))
    return Procedure(name, (), (), (), at[0], at[-1], built)


def indices(locations: Sequence[Location] | frozenset[Location]) -> list[int]:
    return sorted(at.index for at in locations)


def chain(size: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(size - 1)]


class TestForest:
    def test_without_cycles(self) -> None:
        forest = loop_forest(procedure(4, [(0, 1), (0, 2), (1, 3), (2, 3)]))
        assert forest.loops == ()
        assert forest.heads == ()

    def test_nested_loops(self) -> None:
        p = procedure(7, [*chain(7), (3, 2), (4, 1), (5, 5)])
        forest = loop_forest(p)
        assert [(loop.head.index, loop.depth, indices(loop.body)) for loop in forest.loops] == [
            (1, 1, [1, 2, 3, 4]),
            (5, 1, [5]),
            (2, 2, [2, 3]),
        ]
        assert indices(forest.heads) == [1, 2, 5]
        inner = forest.innermost(p.locations[3])
        assert inner is forest.loops[2]
        assert inner.parent is forest.loops[0]
        assert list(forest.around(p.locations[2])) == [forest.loops[2], forest.loops[0]]
        assert forest.innermost(p.locations[6]) is None

    def test_two_returns_to_one_head_are_one_loop(self) -> None:
        forest = loop_forest(procedure(5, [*chain(5), (2, 1), (3, 1)]))
        assert [indices(loop.body) for loop in forest.loops] == [[1, 2, 3]]

    def test_a_loop_at_the_entry(self) -> None:
        forest = loop_forest(procedure(3, [*chain(3), (1, 0)]))
        assert [(loop.head.index, len(loop.entries)) for loop in forest.loops] == [(0, 1)]

    def test_an_irreducible_loop_is_cut_at_all_entries(self) -> None:
        forest = loop_forest(procedure(5, [(0, 1), (0, 2), (1, 2), (2, 1), (2, 3), (3, 4)]))
        (loop,) = forest.loops
        assert indices(loop.entries) == [1, 2]
        assert loop.head is loop.entries[0]
        assert indices(forest.heads) == [1, 2]
        assert repr(loop) == "Loop(p:1, p:2; 2 locations)"

    def test_a_reducible_loop_inside_an_irreducible_one(self) -> None:
        edges = [(0, 1), (0, 3), (1, 2), (2, 2), (2, 3), (3, 1), (3, 4)]
        forest = loop_forest(procedure(5, edges))
        assert [(indices(loop.entries), indices(loop.body)) for loop in forest.loops] == [
            ([1, 3], [1, 2, 3]),
            ([2], [2]),
        ]

    def test_unreachable_code_makes_no_entry_but_its_own_loops_count(self) -> None:
        edges = [(0, 1), (1, 2), (2, 1), (2, 5), (3, 4), (4, 3), (4, 2)]
        forest = loop_forest(procedure(6, edges))
        assert [(indices(loop.entries), indices(loop.body)) for loop in forest.loops] == [
            ([1], [1, 2]),
            ([3], [3, 4]),
        ]

    @pytest.mark.no_cover
    def test_twenty_thousand_locations(self) -> None:
        size = 20_000
        crossing = [(i + 9, i) for i in range(0, 4_000, 10)] + [(i + 99, i) for i in range(1, 4_000, 100)]
        nested = [(size - 1 - i, i) for i in range(10)]
        for edges, loops in (([*chain(size), *crossing], 100), ([*chain(size), *nested], 10)):
            p = procedure(size, edges)
            start = time.process_time()
            forest = loop_forest(p)
            assert time.process_time() - start < 15
            assert len(forest.loops) >= loops


def reference(p: Procedure) -> list[tuple[int, int, list[int]]]:
    """Loops by the definition: components, then components without their entries."""
    reached: list[Location] = []
    pending = [p.entry]
    while pending:
        at = pending.pop()
        if at not in reached:
            reached.append(at)
            pending.extend(e.target for e in p.successors[at])
    loops = []

    def is_entered(at: Location, group: list[Location]) -> bool:
        sources = (e.source for e in p.edges if e.target is at and e.source not in group)
        return at is p.entry or any(source in reached or at not in reached for source in sources)

    def split(region: list[Location], depth: int) -> None:
        for group in components(region, lambda at: [e.target for e in p.successors[at]]):
            if len(group) > 1 or any(e.target is group[0] for e in p.successors[group[0]]):
                members = sorted(group, key=lambda at: at.index)
                entries = [at for at in members if is_entered(at, group)] or members[:1]
                loops.append((entries[0].index, depth, indices(group)))
                split([at for at in group if at not in entries], depth + 1)

    split(list(p.locations), 1)
    return sorted(loops, key=lambda item: (item[1], item[0]))


graphs = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=18)
    )
)


class TestLaws:
    @settings(max_examples=300, derandomize=True, deadline=None)
    @given(graphs)
    def test_the_forest_is_the_nest_of_components(self, graph: tuple[int, list[tuple[int, int]]]) -> None:
        p = procedure(*graph)
        loops = loop_forest(p).loops
        assert [(loop.head.index, loop.depth, indices(loop.body)) for loop in loops] == reference(p)

    @settings(max_examples=300, derandomize=True, deadline=None)
    @given(graphs)
    def test_no_cycle_avoids_the_heads(self, graph: tuple[int, list[tuple[int, int]]]) -> None:
        p = procedure(*graph)
        heads = loop_forest(p).heads
        rest = [at for at in p.locations if at not in heads]
        for group in components(rest, lambda at: [e.target for e in p.successors[at]]):
            assert len(group) == 1
            assert all(e.target is not group[0] for e in p.successors[group[0]])

    @settings(max_examples=300, derandomize=True, deadline=None)
    @given(graphs)
    def test_control_enters_a_loop_at_its_entries(self, graph: tuple[int, list[tuple[int, int]]]) -> None:
        p = procedure(*graph)
        reached: list[Location] = []
        pending = [p.entry]
        while pending:
            at = pending.pop()
            if at not in reached:
                reached.append(at)
                pending.extend(e.target for e in p.successors[at])
        for loop in loop_forest(p).loops:
            if loop.head in reached:
                assert indices(loop.entries) == self.entered(loop, p, reached)

    @staticmethod
    def entered(loop: Loop, p: Procedure, reached: list[Location]) -> list[int]:
        outside = [e for e in p.edges if e.source in reached and e.source not in loop.body]
        targets = {e.target.index for e in outside if e.target in loop.body}
        return sorted(targets | ({p.entry.index} if p.entry in loop.body else set()))


class TestRecursion:
    def program(self, calls: dict[str, list[str]]) -> Program:
        procedures = {}
        for name, callees in calls.items():
            at = [Location(i, name) for i in range(len(callees) + 1)]
            edges = tuple(Edge(i, at[i], Call(callee, (), ()), at[i + 1]) for i, callee in enumerate(callees))
            procedures[name] = Procedure(name, (), (), (), at[0], at[-1], edges)
        return Program(procedures, "main", (), ())

    def test_call_graph(self) -> None:
        program = self.program({"main": ["b", "a", "b"], "a": [], "b": ["a"]})
        assert call_graph(program) == {"main": ("b", "a"), "a": (), "b": ("a",)}

    def test_recursive_groups(self) -> None:
        program = self.program({"main": ["even", "f"], "odd": ["even"], "even": ["odd"], "f": ["f"], "g": []})
        assert recursive(program) == (("odd", "even"), ("f",))

    def test_calls_inside_blocks_count(self) -> None:
        at = [Location(i, "main") for i in range(2)]
        call = Edge(0, at[0], Call("main", (), ()), at[1])
        skip = Edge(1, at[0], Assume(TRUE), at[1])
        block = Edge(2, at[0], Seq(skip, Choice((skip, call))), at[1])
        main = Procedure("main", (), (), (), at[0], at[1], (block,))
        assert recursive(Program({"main": main}, "main", (), ())) == (("main",),)

    def test_deep_call_chains_need_no_recursion(self) -> None:
        names = [f"p{i}" for i in range(20_000)]
        calls = {name: [following] for name, following in pairwise(names)}
        program = self.program({"main": ["p0"], **calls, names[-1]: ["p0"]})
        assert [len(group) for group in recursive(program)] == [20_000]
