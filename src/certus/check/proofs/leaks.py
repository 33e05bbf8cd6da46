"""Demand that no object is lost before an execution goes on for ever.

Whether every object on the heap is tracked is asked where the program ends. An execution that loses an object
and never ends is never asked, so a proof that no answer is "no" says nothing about it. Once lost, an object
stays lost. So it suffices that all objects are tracked whenever control comes to a loop head: an endless
execution without endless recursion comes to one again after it has lost an object.

- A proof that bounds every execution (an unrolling, or a run) needs nothing more.
- Loops and recursions that control cannot enter after an allocation on the heap need nothing more, either.
- Otherwise the formulas of the proof at every loop head must imply that all objects are tracked
  (`encoding.tracking`), and no recursion may follow an allocation. A loop head that an inductive proof does
  not mention, since no error can be reached from there, has just this formula: the others must imply it
  wherever control comes to the head.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from certus.check.proofs.expansion import Refused
from certus.check.proofs.ssa import Clause
from certus.core import build
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Inductive, KInductive, Partitioned, Point, Proof
from certus.core.heap import endangered
from certus.core.loops import loop_forest, recursive
from certus.core.program import Call, Location, Program, leaves
from certus.core.terms import Expr
from certus.encoding.memory import MemoryLowering

CAUSE = "leak-before-endless-loop"
CONTEXTS = 1_000  # the most call strings of a loop head


def with_tracked(lowering: MemoryLowering, lowered: Program, proof: Inductive) -> Inductive:
    """Return a proof in which every loop head where no object may be lost has a formula. More formulas only
    add obligations."""
    missing = (point for point in _heads(lowering.original, proof) if point not in proof.invariants)
    tracked = {point: lowering.watching.tracked(lowered, point) for point in missing}
    return replace(proof, invariants={**proof.invariants, **tracked}) if tracked else proof


def leak_clauses(
    lowering: MemoryLowering, lowered: Program, proof: Inductive | KInductive
) -> Iterator[Clause]:
    """Yield the obligations that no endless execution loses an object. Raises `Refused` if the proof cannot
    meet them."""
    program = lowering.original
    after = endangered(program)
    for group in recursive(program):
        for name in group:
            if not after.isdisjoint(program.procedures[name].locations):
                raise _refused(f"an object may be lost before the recursion of {name}, which may not end")
    for point in _heads(program, proof):
        formula = proof.invariants.get(point)
        if formula is None:
            raise _before_loop(point.location)
        title = f"every object on the heap is tracked at {point.name}"
        yield Clause(title, (formula, build.not_(lowering.watching.tracked(lowered, point))), CAUSE)


def explained(program: Program, proof: Proof, diagnostic: Diagnostic) -> Diagnostic:
    """Return why a proof is refused. If the formula at a loop head where all objects must be tracked does not
    hold, the likely reason is that one may be lost there."""
    inner = proof.proof if isinstance(proof, Partitioned) else proof
    if diagnostic.code != "proof-refuted" or not isinstance(inner, Inductive | KInductive):
        return diagnostic
    for point in _heads(program, inner):
        if diagnostic.message.endswith(f": {point.name} has its formula"):
            return _before_loop(point.location).diagnostic
    return diagnostic


def _heads(program: Program, proof: Inductive | KInductive) -> Iterator[Point]:
    """Yield the loop heads where no object may be lost, under all call strings that the proof has to
    consider."""
    after = endangered(program)
    if not after:
        return
    contexts = _contexts(program, proof.summaries if isinstance(proof, Inductive) else {})
    for procedure in program.procedures.values():
        for head in loop_forest(procedure).heads:
            if head in after:
                yield from (Point(head, calls) for calls in contexts[procedure.name])


def _before_loop(head: Location) -> Refused:
    span = head.loop or head.span
    place = head.name if span is None else f"line {span.line}"
    return _refused(f"an object may be lost before the loop at {place}, which may not end")


def _refused(message: str) -> Refused:
    return Refused(CAUSE, message, hint="a proof that bounds the loop suffices")


def _contexts(program: Program, summaries: Mapping[str, Expr]) -> dict[str, list[tuple[int, ...]]]:
    """Return, by procedure, the call strings under which a proof with these summaries may enter it: from main
    or a procedure with a summary, along calls of others."""
    contexts: dict[str, list[tuple[int, ...]]] = {name: [] for name in program.procedures}
    looping = frozenset(name for group in recursive(program) for name in group)
    work: list[tuple[str, tuple[int, ...]]] = [
        (name, ()) for name in dict.fromkeys((program.main, *summaries))
    ]
    while work:
        name, calls = work.pop()
        contexts[name].append(calls)
        if len(contexts[name]) > CONTEXTS:
            raise _refused(f"{name} is called in more than {CONTEXTS} ways")
        for edge in program.procedures[name].edges:
            for op in leaves(edge):
                if isinstance(op, Call) and op.procedure not in summaries and op.procedure not in looping:
                    work.append((op.procedure, (*calls, edge.index)))
    return contexts
