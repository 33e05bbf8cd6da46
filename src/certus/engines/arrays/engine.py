"""Invariants about all elements of arrays and all objects: guess claims, keep the inductive ones.

All claims (`claims`, `objects`) are candidates at all loop heads. Claims that do not hold when a head is
reached, assuming the others, are dropped until the rest is inductive (`search`). If the remaining claims rule
out every error, those needed for that are the proof, with the facts of the task.

Soundness: `check` checks the proof, quantifiers included. Answers Unknown if calls are left that were not
inlined, and if the claims are not enough; it never reports a violation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import NoOptions, Task
from certus.core.evidence import Inductive, Point, Safe, Unknown, Verdict
from certus.core.loops import loop_forest
from certus.core.program import Location, Program, called
from certus.core.terms import Expr
from certus.core.vocabulary import LEAK
from certus.core.walk import variables
from certus.encoding.block_formula import edge_formula
from certus.engines.arrays.claims import Claim, Step, guess
from certus.engines.arrays.objects import Region, accesses, claims, regions
from certus.engines.arrays.search import Search
from certus.engines.arrays.states import state_claims


def run(task: Task, options: NoOptions, budget: Budget, statistics: Statistics) -> Verdict:
    program = task.subject
    assert isinstance(program, Program)
    main = program.procedures[program.main]
    if any(True for edge in main.edges for _ in called(edge.op)):
        return _unknown("calls-left", "calls are left that were not inlined")
    steps = list(_steps(program))
    by_object = frozenset(x for each in task.objects.values() for x in each.arrays)
    guesses = guess(program, steps, by_object)
    heap = regions(task.objects, [formula for _, formula in steps])
    heads = loop_forest(main).heads
    about = (*guesses.claims, *claims(heap, _roots(program)), *state_claims(program, steps))
    candidates = _candidates(task, steps, about, heads)
    if not any(map(accesses, (formula for _, formula in steps))) or not any(candidates.values()):
        return _unknown("no-claims", "no loop writes or reads elements of an array or objects on the heap")
    total = len(dict.fromkeys(c for each in candidates.values() for c in each))
    statistics.counters["arrays.claims"] = total
    statistics.progress(f"{total} claims about elements of arrays and objects")
    facts = {p.location: f for p, f in task.facts.items() if not p.calls}
    search = Search(program, steps, guesses, facts, candidates, budget, statistics)
    search.prune()
    needed = search.needed(_tracked(program, heap))
    if needed is None:
        return _unknown("claims-not-enough", "the claims that hold do not rule out every error")
    return Safe(
        Inductive(
            {
                Point(at): build.and_(facts.get(at, build.TRUE), *(c.formula for c in needed.get(at, ())))
                for at in heads
            }
        )
    )


def _steps(program: Program) -> Iterable[Step]:
    for edge in program.procedures[program.main].edges:
        formula = edge_formula(edge, program)
        if formula is not None:
            yield edge, formula


def _candidates(
    task: Task, steps: Sequence[Step], about: Iterable[Claim], heads: Iterable[Location]
) -> dict[Location, list[Claim]]:
    """Return the claims to try at each loop head. Those without indices are about variables of the source
    that have a value there, and about live ones: others would be of no use later."""
    program = task.subject
    assert isinstance(program, Program)
    live = _live_variables(steps)
    candidates: dict[Location, list[Claim]] = {}
    for at in heads:
        named = (x for x in program.source_names if task.frames.has(at, x))
        known = live.get(at, frozenset()).union(program.globals, named)
        candidates[at] = [c for c in about if (c.each and not c.objects) or known.issuperset(c.variables)]
    return candidates


def _live_variables(steps: Sequence[Step]) -> dict[Location, frozenset[Expr]]:
    """Return the variables that may be read from each location before they are written."""
    live: dict[Location, frozenset[Expr]] = {}
    read = [
        frozenset(variables(formula.guard, *formula.definitions, *formula.values.values()))
        for _, formula in steps
    ]
    changed = True
    while changed:
        changed = False
        for (edge, formula), own in zip(steps, read, strict=True):
            later = live.get(edge.target, frozenset()).difference(formula.values)
            before = live.get(edge.source, frozenset())
            after = before | own | later
            if len(after) > len(before):
                live[edge.source] = after
                changed = True
    return live


def _roots(program: Program) -> frozenset[Expr]:
    """Return the variables that keep objects reachable: those of the source, and cells of its objects."""
    cells = (x for x in program.globals if x.name.startswith("mem$"))
    return frozenset((*program.source_names, *cells))


def _tracked(program: Program, heap: Sequence[Region]) -> frozenset[int]:
    """Return the regions whose objects must not be lost at any loop head."""
    asked = any(site.kind == LEAK for site in program.errors)
    return frozenset(region.number for region in heap if asked)


def _unknown(code: str, message: str) -> Unknown:
    return Unknown(Diagnostic(code, message, Severity.NOTE, hint="try another engine"))
