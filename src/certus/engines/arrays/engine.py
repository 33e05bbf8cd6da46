"""Invariants about all elements of arrays and all objects: guess claims, keep the inductive ones.

Claims about variables (`states`, `equations`, `walks`), all elements (`claims`) and all objects (`objects`)
are candidates at all loop heads. Those that do not hold when a head is reached, assuming the others, are
dropped until the rest is inductive (`search`). If the remaining claims rule out every error, those needed for
that are the proof, with the facts of the task. Claims about variables are tried alone first; clauses about
objects (`clauses`), which are many, last.

Steps lead from loop head to loop head, whatever the blocks of the task: between two steps only what claims
state is known. A location that has too many steps before and after it to combine them has claims, too.

Soundness: `check` checks the proof, quantifiers included. Answers Unknown if calls are left that were not
inlined, and if the claims are not enough; it never reports a violation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

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
from certus.engines.arrays.clauses import lattices, satisfied
from certus.engines.arrays.equations import equations
from certus.engines.arrays.objects import Region, claims, regions
from certus.engines.arrays.samples import Sampling
from certus.engines.arrays.search import Search
from certus.engines.arrays.states import order_claims, state_claims
from certus.engines.arrays.walks import walk_claims
from certus.passes.large_blocks import LargeBlocks

EXCEPTIONS: Final = (1, 2)  # of clauses about objects, first and then
MOST: Final = 1500  # clauses at a loop head


def run(task: Task, options: NoOptions, budget: Budget, statistics: Statistics) -> Verdict:
    task, _ = LargeBlocks("advanced").apply(task)
    program = task.subject
    assert isinstance(program, Program)
    main = program.procedures[program.main]
    if any(True for edge in main.edges for _ in called(edge.op)):
        return _unknown("calls-left", "calls are left that were not inlined")
    steps = list(_steps(program))
    by_object = frozenset(x for each in task.objects.values() for x in each.arrays)
    guesses = guess(program, steps, by_object)
    heap = regions(task.objects, [formula for _, formula in steps])
    quantified = (*guesses.claims, *claims(heap, _roots(program)))
    forest = loop_forest(main)
    tracked = dict.fromkeys(forest.heads, _tracked(program, heap))
    between = (edge.source for edge, _ in steps if edge.source is not program.entry)
    known = _known_variables(task, steps, dict.fromkeys((*forest.heads, *between)))
    states = state_claims(program, steps)
    facts = {p.location: f for p, f in task.facts.items() if not p.calls}
    candidates: dict[Location, list[Claim]] = {at: [] for at in known}

    def proof(guessed: Mapping[Location, Sequence[Claim]]) -> Inductive | None:
        """Return the proof that follows from the inductive ones of these claims, which take the place of the
        candidates."""
        numbers = frozenset(x for region in heap for term in region.terms for x in variables(term))
        search = Search(program, steps, guesses, facts, guessed, budget, statistics, numbers)
        _count(guessed, statistics)
        search.prune()
        candidates.update({at: list(kept) for at, kept in search.kept.items()})
        needed = search.needed(tracked)
        return None if needed is None else _proof(known, facts, needed)

    guessed: dict[Location, list[Claim]] = {}
    for quantifiers in (True,) if any(tracked.values()) else (False, True):
        if quantifiers:
            _add(candidates, (*quantified, *states), known)
        else:
            for at, equal in equations(program, steps, known, budget).items():
                candidates[at] += (Claim(None, each) for each in equal)
            for at, walks in walk_claims(program, steps, forest.loops, known).items():
                candidates[at] += (c for c in walks if known[at].issuperset(c.variables))
            _add(candidates, (*order_claims(program, steps), *states), known)
        if any(candidates.values()):
            guessed = {at: list(each) for at, each in candidates.items()}
            proved = proof(guessed)
            if proved is not None:
                return Safe(proved)
    for more in _with_clauses(program, heap, known, guessed, budget) if heap else ():
        proved = proof(more)
        if proved is not None:
            return Safe(proved)
    if guessed or heap:
        return _unknown("claims-not-enough", "the claims that hold do not rule out every error")
    return _unknown("no-claims", "no loop counts, or writes or reads elements of an array or objects")


def _with_clauses(
    program: Program,
    heap: Sequence[Region],
    known: Mapping[Location, frozenset[Expr]],
    guessed: Mapping[Location, Sequence[Claim]],
    budget: Budget,
) -> Iterator[dict[Location, list[Claim]]]:
    """Yield more and more claims at each loop head: those guessed before, and clauses about objects with more
    and more exceptions. States of executions satisfy all of them."""
    sampled = Sampling(program, known, budget).states
    some = {at: list(lattices(heap, known[at], states)) for at, states in sampled.items()}
    before = {at: list(satisfied(guessed.get(at, ()), heap, states)) for at, states in sampled.items()}
    for exceptions in EXCEPTIONS:
        yield {
            at: [*before[at], *islice((c for each in some[at] for c in each.claims(exceptions)), MOST)]
            for at in known
        }


def _count(guessed: Mapping[Location, Sequence[Claim]], statistics: Statistics) -> None:
    total = len(dict.fromkeys(c for each in guessed.values() for c in each))
    statistics.counters["arrays.claims"] = total
    statistics.progress(f"{total} claims about variables, elements of arrays and objects")


def _proof(
    heads: Iterable[Location],
    facts: Mapping[Location, Expr],
    needed: Mapping[Location, Iterable[Claim]],
) -> Inductive:
    return Inductive(
        {
            Point(at): build.and_(facts.get(at, build.TRUE), *(c.formula for c in needed.get(at, ())))
            for at in heads
        }
    )


def _steps(program: Program) -> Iterable[Step]:
    for edge in program.procedures[program.main].edges:
        formula = edge_formula(edge, program)
        if formula is not None:
            yield edge, formula


def _add(
    candidates: Mapping[Location, list[Claim]],
    about: Iterable[Claim],
    known: Mapping[Location, frozenset[Expr]],
) -> None:
    """Add claims to the candidates at each loop head. A claim that is not about all elements of an array is
    added only where all its variables are known; elsewhere it would be of no use."""
    for at, names in known.items():
        here = {claim.body for claim in candidates[at] if claim.each is None}
        candidates[at] += (
            c
            for c in about
            if (c.each and not c.objects)
            or (names.issuperset(c.variables) and (c.each or c.body not in here))
        )


def _known_variables(
    task: Task, steps: Sequence[Step], heads: Iterable[Location]
) -> dict[Location, frozenset[Expr]]:
    """Return the variables of the source that have a value at each loop head, and the live ones."""
    program = task.subject
    assert isinstance(program, Program)
    live = _live_variables(steps)
    known: dict[Location, frozenset[Expr]] = {}
    for at in heads:
        named = (x for x in program.source_names if task.frames.has(at, x))
        known[at] = live.get(at, frozenset()).union(program.globals, named)
    return known


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
