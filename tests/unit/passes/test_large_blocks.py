"""The rules of large-block encoding (Mertens 2014, chapter 3), and the meaning of blocks (4.4, 4.5)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from tests.automata import W, X, Y, Z, after, assign, automaton, number, numbers, paths

from certus.core import build
from certus.core.engine import Task, apply_passes
from certus.core.evidence import Inductive, Point, Trace
from certus.core.horn import HornSystem
from certus.core.outcome import PassSize, Size
from certus.core.program import Assume, Call, Choice, Edge, Havoc, Procedure, Program, Return, Seq, leaves
from certus.passes.large_blocks import LargeBlocks, RuleSize, encode, encode_program

TRUE = Assume(build.TRUE)


def eq(variable, value):
    return Assume(build.eq(variable, number(value)))


def inc(variable, amount=1):
    return assign(variable, build.add(variable, number(amount)))


def main(program: Program, mode="large", **limits) -> Procedure:
    return encode_program(program, mode, **limits)[0].procedures["main"]


def only_edge(program: Program, mode="large") -> Edge:
    (edge,) = main(program, mode).edges
    return edge


class TestRules:
    def test_error_sink_removes_what_leaves_an_error_location(self):
        program = automaton([(0, TRUE, 1), (1, inc(X), 2), (1, inc(Y), 0)], exit_at=2, errors=[1])
        single, sizes = encode_program(program, "single")
        assert [(e.source.index, e.target.index) for e in single.procedures["main"].edges] == [(0, 1)]
        assert sizes[:2] == (RuleSize("given", 0, 5, 4), RuleSize("error-sink", 2, 5, 2))

    def test_single_blocks_are_the_program_itself(self):
        program = automaton([(0, inc(X), 1), (1, inc(Y), 2)], exit_at=2)
        assert main(program, "single") is program.procedures["main"]

    def test_sequence_with_several_successors(self):
        """Figure 3.2: the step into a location goes before each step out of it."""
        program = automaton(
            [(0, inc(X), 1), (1, eq(X, 1), 2), (1, eq(X, 2), 3), (3, TRUE, 2)], exit_at=2, errors=[3]
        )
        procedure = main(program)
        assert numbers(procedure) == [0, 2, 3]
        to_exit, to_error = sorted(procedure.edges, key=lambda e: e.target.index)
        assert isinstance(to_exit.op, Seq)
        assert isinstance(to_error.op, Seq)
        assert to_exit.op.first is to_error.op.first is program.edge[0]

    def test_choice_takes_all_parallel_edges_at_once(self):
        """Figure 3.3: one choice with n alternatives, the original edges themselves."""
        program = automaton([(0, eq(X, n), 1) for n in range(4)], exit_at=1)
        edge = only_edge(program)
        assert isinstance(edge.op, Choice)
        assert edge.op.alternatives == program.procedures["main"].edges

    def test_advanced_sequence_connects_every_way_in_with_every_way_out(self):
        """Figure 3.4: two loop heads lead to one location that leads to two others."""
        steps = [(0, eq(X, 0), 1), (0, eq(X, 1), 2), (1, inc(Y), 1), (2, inc(Z), 2)]
        steps += [(1, eq(Y, 0), 3), (2, eq(Y, 1), 3), (3, eq(Z, 0), 4), (3, eq(Z, 1), 5)]
        program = automaton(steps, exit_at=4, errors=[5])
        assert numbers(main(program)) == [0, 1, 2, 3, 4, 5]
        advanced = main(program, "advanced")
        assert numbers(advanced) == [0, 1, 2, 4, 5]
        ways = {(e.source.index, e.target.index) for e in advanced.edges}
        assert ways == {(0, 1), (0, 2), (1, 1), (2, 2), (1, 4), (1, 5), (2, 4), (2, 5)}

    def test_advanced_sequence_also_takes_outdegree_one(self):
        """Section 3.4 prints "outdegree > 1"; a join before the exit must go as well."""
        steps = [(0, eq(X, 0), 1), (0, eq(X, 1), 2), (1, inc(Y), 1), (2, inc(Z), 2)]
        program = automaton([*steps, (1, TRUE, 3), (2, TRUE, 3), (3, inc(W), 4)], exit_at=4)
        assert 3 in numbers(main(program))
        assert 3 not in numbers(main(program, "advanced"))

    def test_a_location_with_more_ways_than_the_limit_stays(self):
        steps = [(0, eq(X, n), n) for n in (1, 2, 3)] + [(n, inc(Y), n) for n in (1, 2, 3)]
        steps += [(n, TRUE, 4) for n in (1, 2, 3)] + [(4, eq(Y, n), n) for n in (5, 6)]
        program = automaton(steps, exit_at=5, errors=[6])
        assert 4 in numbers(main(program, "advanced", limit=5))
        assert 4 not in numbers(main(program, "advanced", limit=6))

    def test_sizes_after_each_rule(self):
        steps = [
            (0, inc(X), 1),
            (1, eq(X, 1), 2),
            (1, eq(X, 2), 3),
            (2, inc(Y), 4),
            (3, inc(Z), 4),
            (4, TRUE, 5),
        ]
        procedure = automaton(steps, exit_at=5).procedures["main"]
        assert encode(procedure, frozenset(), "advanced").sizes == (
            RuleSize("given", 0, 6, 6),
            RuleSize("error-sink", 0, 6, 6),
            RuleSize("dead-ends", 0, 6, 6),
            RuleSize("sequence", 4, 2, 1),
            RuleSize("choice", 1, 2, 1),
            RuleSize("advanced-sequence", 0, 2, 1),
            RuleSize("choice", 0, 2, 1),
        )

    def test_adjustable_blocks_end_after_the_threshold(self):
        """Beyer, Keremoglu and Wendler 2010: the longest path counts, from the last location that stays."""
        chain = automaton([(n, inc(X), n + 1) for n in range(7)], exit_at=7)
        assert numbers(main(chain, "adjustable", threshold=1)) == [0, 1, 2, 3, 4, 5, 6, 7]
        assert numbers(main(chain, "adjustable", threshold=3)) == [0, 3, 6, 7]
        assert numbers(main(chain, "adjustable", threshold=8)) == [0, 7]
        branches = [(0, eq(X, 0), 1), (0, eq(X, 1), 3), (1, inc(Y), 2), (2, inc(Y), 3), (3, inc(Z), 4)]
        program = automaton(branches, exit_at=4)
        assert numbers(main(program, "adjustable", threshold=3)) == [0, 3, 4]
        assert [e.target.index for e in main(program, "adjustable", threshold=3).edges] == [3, 4]
        assert numbers(main(program, "adjustable", threshold=4)) == [0, 4]

    def test_adjustable_blocks_end_at_loop_heads(self):
        loop = automaton([(0, inc(X), 1), (1, inc(Y), 2), (2, inc(Z), 1), (1, eq(X, 1), 3)], exit_at=3)
        assert numbers(main(loop, "adjustable", threshold=100)) == numbers(main(loop, "advanced"))

    def test_unknown_mode_is_refused(self):
        with pytest.raises(ValueError, match="no block mode 'huge'"):
            encode_program(automaton([], exit_at=0), "huge")


class TestWhatStays:
    def test_a_loop_head_with_one_predecessor_stays(self):
        """Locations 1 and 2 form the loop; 2 would be the cheaper one to keep."""
        program = automaton([(0, TRUE, 1), (1, eq(X, 0), 2), (2, inc(X), 1), (1, eq(X, 1), 3)], exit_at=3)
        procedure = main(program, "advanced")
        assert numbers(procedure) == [0, 1, 3]
        assert [e.target.index for e in procedure.successors[procedure.entry]] == [1]

    def test_a_loop_without_exit_stays(self):
        program = automaton([(0, TRUE, 1), (1, inc(X), 2), (2, inc(Y), 1)], exit_at=3)
        assert numbers(main(program, "advanced")) == [0, 1, 3]

    def test_a_loop_on_the_entry_keeps_the_entry(self):
        program = automaton([(0, inc(X), 1), (1, eq(X, 1), 0), (1, eq(X, 2), 2)], exit_at=2)
        procedure = main(program, "advanced")
        assert {(e.source.index, e.target.index) for e in procedure.edges} == {(0, 0), (0, 2)}

    def test_all_entries_of_an_irreducible_loop_stay(self):
        steps = [(0, eq(X, 0), 1), (0, eq(X, 1), 2), (1, inc(X), 2), (2, eq(X, 2), 1), (2, eq(X, 3), 3)]
        assert numbers(main(automaton(steps, exit_at=3), "advanced")) == [0, 1, 2, 3]

    def test_calls_are_never_part_of_a_block(self):
        call = Call("f", (), ())
        program = automaton(
            [(0, inc(X), 1), (1, inc(X), 2), (2, call, 3), (3, inc(Y), 4), (4, TRUE, 5)], exit_at=5
        )
        procedure = main(program, "advanced")
        assert numbers(procedure) == [0, 2, 3, 5]
        assert program.edge[2] in procedure.edges
        assert not any(
            isinstance(op, Call) for e in procedure.edges if e.op is not call for op in leaves(e.op)
        )

    def test_returns_may_be_merged(self):
        program = automaton([(0, inc(X), 1), (1, Return(()), 2)], exit_at=2)
        assert [type(op) for op in leaves(only_edge(program).op)] == [type(inc(X)), Return]

    def test_an_edge_that_is_not_merged_is_the_original_one(self):
        program = automaton([(0, inc(X), 1)], exit_at=1)
        assert only_edge(program) is program.edge[0]

    def test_new_edges_have_new_indices(self):
        program = automaton([(0, inc(X), 1), (1, inc(X), 2)], exit_at=2)
        assert only_edge(program).index > max(program.edge)

    def test_dead_ends_and_dead_code_go(self):
        """Nothing comes of 2 and 3 after assume(false), and nothing leads to 6 and the error 7."""
        steps = [
            (0, eq(X, 0), 1),
            (0, eq(X, 1), 2),
            (2, inc(X), 3),
            (1, inc(Y), 4),
            (6, TRUE, 7),
            (6, TRUE, 4),
        ]
        program = automaton(steps, exit_at=4, errors=[7])
        procedure = main(program)
        assert numbers(procedure) == [0, 4]
        assert len(procedure.edges) == 1

    def test_encoding_twice_changes_nothing_more(self):
        steps = [(0, inc(X), 1), (1, eq(X, 1), 2), (1, eq(X, 2), 3), (2, inc(Y), 3)]
        once, _ = encode_program(automaton(steps, exit_at=3), "large")
        twice, _ = encode_program(once, "large")
        assert twice.procedures["main"].edges[0].op is once.procedures["main"].edges[0].op


class TestMeaning:
    """One block does what its statements do one by one."""

    def test_variable_substitution(self):
        """Figures 4.4 to 4.7: each statement reads what those before it wrote."""
        program = automaton(
            [(0, inc(X), 1), (1, inc(X, 2), 2), (2, inc(Y, 2), 3), (3, self.greater(X, 2), 4)], exit_at=4
        )
        edge = only_edge(program)
        assert after(edge, (0, 5, 0, 0)) == {(3, 7, 0, 0)}
        assert after(edge, (-1, 5, 0, 0)) == set()

    def test_substitution_concerns_what_both_sides_write(self):
        """Figure 4.3, line 7, has a union: then y would lose its value before `y := y + 1`."""
        program = automaton([(0, inc(X), 1), (1, inc(Y), 2)], exit_at=2)
        assert after(only_edge(program), (1, 10, 0, 0)) == {(2, 11, 0, 0)}

    def test_an_assumption_before_an_assignment_reads_the_old_value(self):
        program = automaton([(0, eq(X, 1), 1), (1, inc(X), 2), (2, eq(X, 2), 3)], exit_at=3)
        assert after(only_edge(program), (1, 0, 0, 0)) == {(2, 0, 0, 0)}

    def test_corrupted_data_flow(self):
        """Figure 4.8: the branch that does not write y must keep it."""
        at_most = Assume(build.le(X, Y))
        steps = [(0, at_most, 1), (1, assign(X, build.sub(X, Y)), 3)]
        steps += [(0, self.greater(X, Y), 2), (2, assign(Y, build.sub(Y, X)), 3)]
        edge = only_edge(automaton(steps, exit_at=3))
        assert after(edge, (2, 5, 0, 0)) == {(-3, 5, 0, 0)}
        assert after(edge, (5, 2, 0, 0)) == {(5, -3, 0, 0)}

    @pytest.mark.parametrize(
        ("x", "expected"),
        [(3, (3, 20, 30, 7)), (2, (2, 5, 30, 10)), (1, (1, 20, 3, 10))],
        ids=["w", "y", "z"],
    )
    def test_variable_propagation(self, x, expected):
        """Figures 4.9 and 4.10. The last line of the example is x = 1; z' = 3; w' = w; y' = y."""
        steps = [(0, eq(X, 3), 1), (1, assign(W, number(7)), 4)]
        steps += [(0, eq(X, 2), 2), (2, assign(Y, number(5)), 4)]
        steps += [(0, eq(X, 1), 3), (3, assign(Z, number(3)), 4)]
        edge = only_edge(automaton(steps, exit_at=4))
        assert isinstance(edge.op, Choice)
        assert after(edge, (x, 20, 30, 10)) == {expected}

    def test_parallel_assignment_stays_parallel(self):
        swap = assign(X, Y).__class__((X, Y), (Y, X))
        assert after(only_edge(automaton([(0, swap, 1), (1, inc(X), 2)], exit_at=2)), (1, 2, 0, 0)) == {
            (3, 1, 0, 0)
        }

    def test_an_input_keeps_every_value(self):
        program = automaton([(0, Havoc((X,)), 1), (1, assign(Y, X), 2)], exit_at=2)
        assert after(only_edge(program), (9, 9, 0, 0), range(2)) == {(0, 0, 0, 0), (1, 1, 0, 0)}

    def test_no_way_through_a_block_takes_an_edge_twice(self):
        steps = [(0, eq(X, 0), 1), (0, eq(X, 1), 2), (1, eq(Y, 0), 3), (1, eq(Y, 1), 2), (2, inc(X), 3)]
        for way in paths(only_edge(automaton([*steps, (3, inc(Z), 4)], exit_at=4))):
            assert len(way) == len(set(way))

    def greater(self, left, right):
        return Assume(build.gt(left, number(right) if isinstance(right, int) else right))


def lock_loop(locks: int) -> Program:
    """while true: set each lock if its condition holds, then check and release it."""
    steps = [(0, TRUE, 1)]
    here = 1
    for _ in range(locks):
        steps += [(here, eq(X, 0), here + 1), (here, eq(X, 1), here + 2), (here + 1, inc(Y), here + 2)]
        here += 2
    error = here + 2 * locks + 1
    for _ in range(locks):
        steps += [(here, eq(Y, 0), error), (here, eq(Y, 1), here + 1), (here + 1, assign(Y, X), here + 2)]
        here += 2
    return automaton([*steps, (here, TRUE, 1)], exit_at=error + 1, errors=[error])


class TestScale:
    @pytest.mark.parametrize("mode", ["large", "advanced"])
    def test_locks_end_at_the_same_locations_whatever_their_number(self, mode):
        sizes = {len(main(lock_loop(n), mode).locations) for n in range(1, 16)}
        assert sizes == {4}  # entry, loop head, error, exit

    @pytest.mark.parametrize("mode", ["large", "advanced"])
    @pytest.mark.no_cover
    def test_seventeen_thousand_locations_take_little_time(self, mode):
        """Two seconds are promised; coverage and busy machines get several times that."""
        program = lock_loop(4250)
        assert len(program.procedures["main"].locations) > 16_879
        start = time.process_time()
        procedure = main(program, mode)
        assert time.process_time() - start < 40
        assert len(procedure.locations) == 4

    @pytest.mark.parametrize("mode", ["large", "advanced"])
    def test_a_chain_of_assertions_is_linear(self, mode):
        """Each assertion has an error location of its own: they all stay, and nothing is copied."""
        number_of = 3000
        steps = []
        for n in range(number_of):
            steps += [(n, eq(X, 0), n + 1), (n, eq(X, 1), 20_000 + n)]
        errors = range(20_000, 20_000 + number_of)
        procedure = main(automaton(steps, exit_at=number_of, errors=errors), mode)
        assert len(procedure.edges) == number_of + 1
        assert sum(1 for _ in blocks_of(procedure)) <= 4 * number_of

    def test_a_block_is_no_larger_as_a_tree_than_as_a_dag(self):
        """A branch and its join become one choice before anything is put in front of them: a block of
        n diamonds has n choices, not two of everything before each of them."""
        procedure = main(lock_loop(30))
        tree: dict[int, int] = {}  # leaves of a block, with repetitions
        for block in blocks_of(procedure):
            parts = (block.first, block.second) if isinstance(block, Seq) else block.alternatives
            tree[id(block)] = sum(tree.get(id(part), 1) for part in parts)
        statements = len(lock_loop(30).procedures["main"].edges)
        assert max(tree.values()) <= statements


def blocks_of(procedure: Procedure) -> Iterator[Seq | Choice]:
    """Every inner block once, parts before wholes."""
    done: set[int] = set()
    stack = [(e.op, False) for e in procedure.edges]
    while stack:
        block, ready = stack.pop()
        if not isinstance(block, (Seq, Choice)) or id(block) in done:
            continue
        if ready:
            done.add(id(block))
            yield block
        else:
            parts = (block.first, block.second) if isinstance(block, Seq) else block.alternatives
            stack.append((block, True))
            stack.extend((part, False) for part in parts)


class TestPass:
    def program(self) -> Program:
        return automaton([(0, inc(X), 1), (1, eq(X, 1), 1), (1, inc(Y), 2), (2, TRUE, 3)], exit_at=3)

    def test_evidence_comes_back_as_it_is(self):
        program = self.program()
        task, back, sizes = apply_passes(Task(program), [LargeBlocks("single"), LargeBlocks("large")])
        proof = Inductive({Point(program.location["main:1"]): build.TRUE})
        trace = Trace("main:1", {}, {2: ((1,),)})
        assert back.proof(proof) is proof
        assert back.refutation(trace) is trace
        assert isinstance(task.subject, Program)
        assert [s.name for s in sizes] == ["large-blocks", "large-blocks"]
        assert sizes[1] == PassSize("large-blocks", Size(6, 5), Size(5, 4))

    def test_facts_stay_at_kept_locations(self):
        program = self.program()
        facts = {Point(program.location[f"main:{n}"]): build.TRUE for n in (1, 2)}
        task, _ = LargeBlocks().apply(Task(program, facts=facts))
        assert [p.name for p in task.facts] == ["main:1"]

    def test_horn_systems_have_no_blocks(self):
        task = Task(HornSystem((), ()))
        after_passes, _, sizes = apply_passes(task, [LargeBlocks()])
        assert after_passes is task
        assert sizes == (PassSize("large-blocks", Size(0, 0), Size(0, 0)),)
