"""Proofs about programs that may lose objects and never end."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import ProgramBuilder

from certus.check.proofs.check import check_proof
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.engine import Task
from certus.core.evidence import Inductive, Partitioned, Point, Unrolling
from certus.core.outcome import ProofCheck
from certus.core.program import Program
from certus.core.terms import Expr
from certus.encoding.memory import MemoryLowering
from certus.passes.memory import Memory, find_partition


def endless(*, lost: bool, allocated: bool = True) -> Program:
    """`p = malloc(4); p = 0; for (;;);`, or without the second statement, or without the first."""
    b = ProgramBuilder()
    p, q = b.local("main", "p"), b.local("main", "q")
    b.edge("main", "entry", "made", b.alloc(p, 4, storage="heap" if allocated else "stack"))
    b.edge("main", "made", "loop", b.assign((p if lost else q, 0)))
    b.skip("main", "loop", "loop")
    b.claim("main", "after", b.inspect_heap("main", "tracked"), "exit")
    return b.build(named=(p,))


def checked(program: Program, formula: Expr | None = None) -> ProofCheck | Diagnostic:
    partition = find_partition(program)
    invariants = {} if formula is None else {Point(program.location["main:3"]): formula}
    proof = Partitioned(partition, Inductive(invariants))
    return check_proof(program, proof, budget=Budget(30), statistics=Statistics())


def tracked(program: Program, at: str = "main:3", calls: tuple[int, ...] = ()) -> Expr:
    lowering = MemoryLowering(program, find_partition(program))
    return lowering.watching.tracked(lowering.program(), Point(program.location[at], calls))


def test_an_object_that_is_lost_before_an_endless_loop_is_never_proved_away() -> None:  # trap 14
    program = endless(lost=True)
    for formula in (None, build.TRUE, tracked(program)):
        refused = checked(program, formula)
        assert isinstance(refused, Diagnostic)
        assert refused.code == "leak-before-endless-loop"


def test_an_object_that_stays_tracked_at_an_endless_loop_is_accepted() -> None:
    program = endless(lost=False)
    assert isinstance(checked(program, tracked(program)), ProofCheck)
    refused = checked(program, build.TRUE)
    assert isinstance(refused, Diagnostic)
    assert refused.code == "leak-before-endless-loop"


def test_a_proof_need_not_mention_an_endless_loop() -> None:
    assert isinstance(checked(endless(lost=False)), ProofCheck)


def test_the_pass_adds_what_is_demanded() -> None:
    program = endless(lost=False)
    _, back = Memory().apply(Task(program))
    proof = back.proof(Inductive({Point(program.location["main:3"]): build.TRUE}))
    assert isinstance(check_proof(program, proof, budget=Budget(30), statistics=Statistics()), ProofCheck)


def test_nothing_is_demanded_without_a_heap_or_without_the_question() -> None:
    assert isinstance(checked(endless(lost=True, allocated=False)), ProofCheck)
    program = endless(lost=True)
    assert isinstance(checked(replace(program, errors=())), ProofCheck)


def test_an_object_allocated_again_and_again_is_lost() -> None:  # trap 14
    b = ProgramBuilder()
    p = b.local("main", "p")
    b.edge("main", "entry", "entry", b.alloc(p, 4, storage="heap"))
    b.claim("main", "after", b.inspect_heap("main", "tracked"), "exit")
    program = b.build(named=(p,))
    for formula in (build.TRUE, tracked(program, program.entry.name)):
        proof = Partitioned(find_partition(program), Inductive({Point(program.entry): formula}))
        refused = check_proof(program, proof, budget=Budget(30), statistics=Statistics())
        assert isinstance(refused, Diagnostic)
        assert refused.code == "leak-before-endless-loop"


def test_variables_of_callers_are_roots_in_a_proof() -> None:
    b = ProgramBuilder()
    p = b.local("main", "p")
    b.edge("main", "entry", "made", b.alloc(p, 4, storage="heap"))
    call = b.edge("main", "made", "back", b.call("f"))
    b.skip("f", "entry", "loop")
    b.skip("f", "loop", "loop")
    b.claim("main", "back", b.inspect_heap("main", "tracked"), "exit")
    program = b.build(named=(p,))
    loop = b.at("f", "loop")
    formula = tracked(program, loop.name, (call.index,))
    proof = Partitioned(find_partition(program), Inductive({Point(loop, (call.index,)): formula}))
    assert isinstance(check_proof(program, proof, budget=Budget(30), statistics=Statistics()), ProofCheck)


def test_recursion_after_an_allocation_is_refused_unless_it_is_bounded() -> None:
    b = ProgramBuilder()
    p = b.local("main", "p")
    b.edge("main", "entry", "made", b.alloc(p, 4, storage="heap"))
    b.edge("main", "made", "back", b.call("f"))
    b.edge("f", "entry", "exit", b.call("f"))
    b.claim("main", "back", b.inspect_heap("main", "tracked"), "exit")
    program = b.build(named=(p,))
    proof = Partitioned(find_partition(program), Inductive({}, {"f": build.FALSE}))
    refused = check_proof(program, proof, budget=Budget(30), statistics=Statistics())
    assert isinstance(refused, Diagnostic)
    assert refused.code == "leak-before-endless-loop"


def test_an_unrolling_needs_nothing_more() -> None:
    b = ProgramBuilder()
    p = b.local("main", "p")
    i = b.local("main", "i")
    b.edge("main", "entry", "made", b.alloc(p, 4, storage="heap"))
    b.edge("main", "made", "loop", b.assign((i, 0)))
    b.branch("main", "loop", build.lt(i, build.integer(2)), "body", "after")
    b.edge("main", "body", "loop", b.assign((i, build.add(i, build.integer(1)))))
    b.claim("main", "after", b.inspect_heap("main", "tracked"), "exit")
    program = b.build(named=(p,))
    (head,) = (at for at in program.location.values() if at is b.at("main", "loop"))
    proof = Partitioned(find_partition(program), Unrolling({head.name: 3}))
    assert isinstance(check_proof(program, proof, budget=Budget(30), statistics=Statistics()), ProofCheck)
