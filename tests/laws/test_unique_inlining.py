"""Unique inlining: the one graph runs as the program does, and what is said of it holds of the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle

from hypothesis import assume, given, settings
from tests.laws.lp_programs import programs
from tests.laws.reachable import reachable_proof
from tests.laws.test_lp_semantics import INPUTS, InOrder
from tests.laws.test_passes import well_formed
from tests.laws.test_verdicts import fails

from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Safe, Unsafe
from certus.core.loops import recursive
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Call, Edge, Havoc, Location, Program
from certus.core.terms import Expr
from certus.core.values import Datum
from certus.engines.bmc import BoundedModelChecking, Options
from certus.frontend.lp import ast
from certus.frontend.lp.load import load_lp
from certus.frontend.lp.printer import print_lp
from certus.interpreter.compile import compile_program
from certus.interpreter.interpreter import Machine, Run, run
from certus.reference.unique_inlining import Merged, UniqueInlining, merge
from certus.run.publish import examine

LAW = settings(derandomize=True, deadline=None, max_examples=35)


def loaded(tree: ast.ProgramText) -> tuple[Program, Merged]:
    program = load_lp(print_lp(tree), "random.lp").program
    merged = merge(program)
    assert merged is not None
    well_formed(merged.program)
    assert list(merged.program.procedures) == [program.main]
    return program, merged


class Returns:
    """Writes down, of each return, the call and the frame that goes on."""

    watched: frozenset[Location] = frozenset()

    def __init__(self, program: Program) -> None:
        self.program = program
        self.seen: list[tuple[Edge, Mapping[Expr, Datum]]] = []

    def start(self, machine: Machine) -> None:
        pass

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        pass

    def enter(self, machine: Machine, edge: Edge) -> None:
        pass

    def leave(self, machine: Machine, edge: Edge) -> None:
        local = self.program.procedures[edge.source.procedure].variables
        self.seen.append((edge, {x: machine.value(x) for x in local}))


class Followed(InOrder):
    """Inputs of the one graph: those of the program, and for what recursion added the values that lead along
    the returns of a run of the program."""

    def __init__(self, inputs: Iterator[tuple[int, bool]], merged: Merged, returns: Returns) -> None:
        super().__init__(inputs)
        self.known = merged.before.edge
        self.original = {new: x for x, new in merged.names.items()}
        self.returns = iter([(e, f) for e, f in returns.seen if self.chosen(merged.program, e)])

    @staticmethod
    def chosen(program: Program, edge: Edge) -> bool:
        assert isinstance(edge.op, Call)
        names = [x.name for x in program.procedures[program.main].variables]
        return f"{program.main}.{edge.op.procedure}.$choice" in names

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        if edge in self.known:
            return super().havoc(edge, occurrence, targets)
        if targets[0].name.endswith("$choice"):
            call, self.frame = next(self.returns)
            return (call.index,)
        return tuple(self.frame[self.original[x]] for x in targets)


def ending(end: Run, home: Mapping[Location, Location]) -> tuple[object, ...]:
    return end.ending, home.get(end.location, end.location).name


@LAW
@given(programs(), INPUTS)
def test_every_execution_of_the_program_is_one_of_the_graph(
    tree: ast.ProgramText, inputs: list[tuple[int, bool]]
) -> None:
    program, merged = loaded(tree)
    returns = Returns(program)
    first = run(compile_program(program), InOrder(cycle(inputs)), budget=Budget(60), observer=returns)
    again = Followed(cycle(inputs), merged, returns)
    second = run(compile_program(merged.program), again, budget=Budget(60))
    assert ending(second, merged.home) == ending(first, {})


@LAW
@given(programs(), INPUTS)
def test_without_recursion_the_graph_has_no_others(
    tree: ast.ProgramText, inputs: list[tuple[int, bool]]
) -> None:
    """No input was added, so the same inputs lead to the same end."""
    program, merged = loaded(tree)
    assume(not recursive(program))
    assert all(e.index in program.edge for e in merged.program.edge.values() if isinstance(e.op, Havoc))
    first = run(compile_program(program), InOrder(cycle(inputs)), budget=Budget(60))
    second = run(compile_program(merged.program), InOrder(cycle(inputs)), budget=Budget(60))
    assert ending(second, merged.home) == ending(first, {})


@settings(derandomize=True, deadline=None, max_examples=15)
@given(tree=programs())
def test_the_verdict_is_carried_back(tree: ast.ProgramText) -> None:
    program, _ = loaded(tree)
    assume(not recursive(program))
    task, back = UniqueInlining().apply(Task(program))
    verdict = back.verdict(BoundedModelChecking().run(task, Options(), Budget(60), Statistics()))
    assert isinstance(verdict, Unsafe if fails(program) else Safe)
    check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
    assert isinstance(check, Replay if isinstance(verdict, Unsafe) else ProofCheck), check


@settings(derandomize=True, deadline=None, max_examples=12)
@given(tree=programs())
def test_inductive_proofs_are_carried_back(tree: ast.ProgramText) -> None:
    program, merged = loaded(tree)
    assume(not recursive(program) and not fails(program))
    proof = reachable_proof(merged.program)
    assume(proof is not None)
    check = examine(program, Safe(merged.proof(proof)), budget=Budget(60), statistics=Statistics())
    assert isinstance(check, ProofCheck), f"{check}\n{print_lp(tree)}"
