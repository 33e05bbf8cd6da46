"""Lost objects are found by watching an arbitrary one: questions in straight programs, and proofs about
lists, also proofs that lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.builders import ProgramBuilder

from certus.check.proofs.check import check_proof
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.engine import Task
from certus.core.evidence import Inductive, Partitioned, Point, Safe, Unsafe
from certus.core.heap import NumberedObjects
from certus.core.outcome import ProofCheck
from certus.core.program import Op, Program, Retained
from certus.core.terms import BOOL, Expr, machine
from certus.encoding.memory import MemoryLowering
from certus.engines.bmc import BoundedModelChecking
from certus.passes.large_blocks import LargeBlocks
from certus.passes.memory import Memory, find_partition

U64 = machine(64, signed=False)
NULL = build.integer(0)


class Heap:
    """A straight program over nodes with one link, all in one region; its source has p, q and r."""

    def __init__(self) -> None:
        self.b = ProgramBuilder()
        self.p, self.q, self.r, self.new = (self.b.local("main", name) for name in ("p", "q", "r", "new"))
        self._count = 0

    def do(self, *ops: Op) -> Heap:
        for op in ops:
            self.b.edge("main", f"s{self._count}" if self._count else "entry", f"s{self._count + 1}", op)
            self._count += 1
        return self

    def node(self, x: Expr) -> Heap:
        new = self.b.alloc(self.new, 8, storage="heap")
        return self.do(new, self.b.assign((x, self.new)), self.link(x, NULL))

    def link(self, x: Expr, to: Expr) -> Op:
        return self.b.store(x, 0, build.wrap(to, U64))

    def forget(self, *some: Expr) -> Heap:
        return self.do(*(self.b.assign((x, 0)) for x in some))

    def loses(self, retained: Retained = "tracked") -> bool:
        """Return whether the question is answered by no in some execution."""
        self.b.claim("main", f"s{self._count}", self.b.inspect_heap("main", retained), "exit")
        program = self.b.build(named=(self.p, self.q, self.r))
        task, _ = Memory(watched=True).apply(Task(program))
        assert task.objects
        task, _ = LargeBlocks().apply(task)
        verdict = BoundedModelChecking().run(task, BoundedModelChecking.options(), Budget(60), Statistics())
        assert isinstance(verdict, Safe | Unsafe)
        return isinstance(verdict, Unsafe)


def chain(h: Heap) -> Heap:
    """p -> q -> r"""
    return h.node(h.p).node(h.q).node(h.r).do(h.link(h.p, h.q), h.link(h.q, h.r))


CASES: dict[str, tuple[Callable[[Heap], Heap], bool]] = {
    "all are variables": (chain, False),
    "reached from the first": (lambda h: chain(h).forget(h.q, h.r), False),
    "reached from the last": (
        lambda h: chain(h).do(h.link(h.p, NULL), h.link(h.q, h.p), h.link(h.r, h.q)).forget(h.p, h.q),
        False,
    ),
    "the first is lost": (lambda h: chain(h).forget(h.p, h.r), True),
    "all are lost": (lambda h: chain(h).forget(h.p, h.q, h.r), True),
    "a lost ring": (lambda h: chain(h).do(h.link(h.r, h.p)).forget(h.p, h.q, h.r), True),
    "a lost ring of one": (lambda h: chain(h).do(h.link(h.r, h.r), h.link(h.q, NULL)).forget(h.r), True),
    "held by an object that ended": (lambda h: chain(h).do(h.b.free(h.p)).forget(h.p, h.q), True),
    "held no longer": (lambda h: chain(h).do(h.link(h.p, NULL)).forget(h.q), True),
    "ended": (lambda h: chain(h).do(h.b.free(h.r), h.b.free(h.q), h.b.free(h.p)), False),
}


@pytest.mark.parametrize("case", CASES)
def test_an_object_is_lost_if_no_chain_of_pointers_leads_to_it(case: str) -> None:
    build_heap, lost = CASES[case]
    assert build_heap(Heap()).loses() is lost


def test_objects_that_are_reached_are_not_freed() -> None:
    assert chain(Heap()).loses("freed")
    h = Heap()
    assert not chain(h).do(h.b.free(h.r), h.b.free(h.q), h.b.free(h.p)).loses("freed")


# --------------------------------------------------------------------------------------- lists


def prepended(*, linked: bool = True) -> tuple[Program, Point, Point]:
    """`while (*) { n = malloc(8); *n = l; l = n; } while (l) { n = *l; free(l); l = n; }` and its loop heads.
    If not `linked`, `*n = 0` loses all nodes but the last."""
    b = ProgramBuilder()
    n, first, word = b.local("main", "n"), b.local("main", "first"), b.local("main", "word", U64)
    again = b.local("main", "again", BOOL)
    b.edge("main", "entry", "build", b.assign((first, 0)))
    b.edge("main", "build", "decided", b.havoc(again))
    b.branch("main", "decided", again, "more", "walk")
    b.edge("main", "more", "made", b.alloc(n, 8, storage="heap"))
    b.edge("main", "made", "linked", b.store(n, 0, build.wrap(first if linked else NULL, U64)))
    b.edge("main", "linked", "build", b.assign((first, n)))
    b.branch("main", "walk", build.ne(first, NULL), "step", "after")
    b.edge("main", "step", "read", b.load(word, first))
    b.edge("main", "read", "freed", b.free(first))
    b.edge("main", "freed", "walk", b.assign((first, build.to_int(word))))
    b.claim("main", "after", b.inspect_heap("main", "tracked"), "exit")
    return b.build(named=(first, n)), Point(b.at("main", "build")), Point(b.at("main", "walk"))


def checked(
    program: Program,
    heads: tuple[Point, ...],
    formula: Callable[[NumberedObjects, Expr], Expr],
    seconds: float = 4.0,
) -> ProofCheck | Diagnostic:
    partition = replace(find_partition(program), watched=True)
    (objects,) = MemoryLowering(program, partition).watching.objects.values()
    invariant = formula(objects, build.var("main.first", U64))
    proof = Partitioned(partition, Inductive(dict.fromkeys(heads, invariant)))
    return check_proof(program, proof, budget=Budget(seconds), statistics=Statistics())


def every(body: Callable[[Expr], Expr]) -> Expr:
    return build.forall((U64,), body(build.bound(0, U64)))


def well_formed(objects: NumberedObjects, first: Expr, *, before: bool = False, kept: bool = True) -> Expr:
    """The list that starts at `first`: closed, holders are right, and every node is the first or held by a
    newer one (an older one if `before`)."""
    (link,) = objects.links
    zero = build.constant(0, U64)
    null = build.eq(first, zero)

    def closed(a: Expr) -> Expr:
        contents = build.select(link.memory, a)
        right = build.and_(objects.live(contents), build.eq(build.select(link.holder, contents), a))
        ordered = build.lt(contents, a)
        return build.implies(objects.live(a), build.or_(build.eq(contents, zero), build.and_(right, ordered)))

    def held(a: Expr) -> Expr:
        b = build.select(link.holder, a)
        order = build.lt(b, a) if before else build.lt(a, b)
        some = build.conjunction([objects.live(b), build.eq(build.select(link.memory, b), a), order])
        return build.implies(objects.live(a), build.or_(build.eq(a, first), some))

    holder = build.select(link.holder, first)
    free = build.and_(build.lt(holder, objects.end), build.not_(objects.live(holder)))
    parts = [
        build.le(objects.first, objects.end),
        build.or_(null, build.and_(objects.live(first), free)),
        every(closed),
    ]
    return build.conjunction([*parts, *([every(held)] if kept else [])])


def test_a_list_of_any_length_is_proved() -> None:
    program, *heads = prepended()
    assert isinstance(checked(program, tuple(heads), well_formed, 60.0), ProofCheck)


def test_claims_that_do_not_hold_are_refused() -> None:
    program, *heads = prepended()
    wrong = [
        lambda objects, first: well_formed(objects, first, before=True),
        lambda objects, first: build.and_(
            well_formed(objects, first), build.eq(first, build.constant(0, U64))
        ),
        lambda objects, first: build.and_(
            well_formed(objects, first), every(lambda a: build.not_(objects.live(a)))
        ),
    ]
    for formula in wrong:
        refused = checked(program, tuple(heads), formula)
        assert isinstance(refused, Diagnostic)


def test_a_proof_must_say_that_no_object_is_lost_at_a_loop_head() -> None:
    program, *heads = prepended()
    refused = checked(program, tuple(heads), lambda objects, first: well_formed(objects, first, kept=False))
    assert isinstance(refused, Diagnostic)


def test_lost_nodes_are_not_proved_away() -> None:
    program, *heads = prepended(linked=False)
    for kept in (False, True):
        refused = checked(
            program, tuple(heads), lambda objects, first, k=kept: well_formed(objects, first, kept=k)
        )
        assert isinstance(refused, Diagnostic)
