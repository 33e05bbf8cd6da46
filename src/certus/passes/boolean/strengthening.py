"""Compute F and G of Wolff 2015, section 3: the best approximations of a formula over a set of predicates.

F(phi) is the weakest formula over the predicates that implies phi, and G(phi) = not F(not phi) the strongest
one that phi implies. One enumeration gives both: the valuations of the predicates that occur together with
phi, and those that occur together with not phi. F holds where only phi occurs, G where phi occurs. Valuations
that do not occur at all are don't-cares, which keep the formulas short.

Only predicates that share variables with phi, directly or through others, are relevant. If they have more
than `minterms` valuations, or a solver gives up, only predicates over variables of phi are used. If there are
still too many, only cubes of at most two literals are tried. Then F may be stronger, and G weaker, than
necessary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations, product

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.boolean import ALWAYS, FALSE, NEVER, TRUE, Choose, Condition, Cube, Literal
from certus.core.solver import Answer
from certus.core.terms import BOOL, Expr
from certus.core.walk import variables
from certus.encoding.canonical_atoms import canonical
from certus.solvers.z3.solver import Z3Solver

MINTERMS = 128
Pair = tuple[Literal, Literal]
_PURPOSE = "abstraction"
_EFFORT = 1_000_000  # z3's `rlimit` for one query: about half a second
_PAIRED = 8  # most predicates whose pairs are tried
_TRIPLED = 12  # most predicates whose triples are checked for contradictions


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The valuations of `over` (bit n for variable n) that occur with a formula, and with its negation."""

    over: tuple[Expr, ...]
    having: tuple[int, ...]
    lacking: tuple[int, ...]


class Vocabulary:
    """A set of Boolean variables and the predicates they represent, all evaluated in one state."""

    def __init__(
        self,
        meaning: Mapping[Expr, Expr],
        *,
        budget: Budget,
        statistics: Statistics,
        minterms: int = MINTERMS,
    ) -> None:
        self._meaning = dict(meaning)
        self._variables = {x: frozenset(variables(p)) for x, p in self._meaning.items()}
        self._budget = budget
        self._statistics = statistics
        self._minterms = minterms
        self._solver = Z3Solver(statistics, options={"rlimit": _EFFORT})
        self._enumerated: dict[Expr, Occurrences | None] = {}
        self._too_many: dict[frozenset[Expr], None] = {}  # predicates with more valuations than allowed
        self._same: dict[Expr, Literal] = {}  # the canonical formulas of predicates and their negations
        for x, predicate in self._meaning.items():
            self._same.setdefault(canonical(predicate), (x, True))
            self._same.setdefault(canonical(build.not_(predicate)), (x, False))

    def choose(self, formula: Expr) -> Choose:
        """Return `F(formula) ? true : F(not formula) ? false : any`."""
        if formula is build.TRUE or formula is build.FALSE:
            return TRUE if formula is build.TRUE else FALSE
        literal = self._same.get(canonical(formula))
        if literal is not None:
            yes = Condition(((literal,),))
            return Choose(yes, yes.opposite())
        occurrences = self._occurrences(formula)
        if occurrences is None:
            return self._short(formula)
        having, lacking = set(occurrences.having), set(occurrences.lacking)
        only = tuple(v for v in occurrences.having if v not in lacking)
        never = tuple(v for v in occurrences.lacking if v not in having)
        if len(only) == len(occurrences.having):  # the predicates decide the formula
            yes = _shorter(occurrences.over, only, never)
            return Choose(yes, yes.opposite())
        yes = _condition(occurrences.over, cover(only, occurrences.lacking, len(occurrences.over)))
        no = _condition(occurrences.over, cover(never, occurrences.having, len(occurrences.over)))
        return Choose(yes, no)

    def strengthened(self, formula: Expr) -> Condition:
        """Return F(formula)."""
        return self.choose(formula).yes

    def weakened(self, formula: Expr) -> Condition:
        """Return G(formula)."""
        if formula is build.TRUE or formula is build.FALSE:
            return ALWAYS if formula is build.TRUE else NEVER
        literal = self._same.get(canonical(formula))
        if literal is not None:
            return Condition(((literal,),))
        occurrences = self._occurrences(formula)
        if occurrences is None:
            return self._short(formula).no.opposite()
        having = set(occurrences.having)
        return _shorter(
            occurrences.over, occurrences.having, tuple(v for v in occurrences.lacking if v not in having)
        )

    def contradictions(self) -> list[Cube]:
        """Return single literals, pairs and, for few predicates, triples that are never true together. None
        of them follows from the others."""
        seen: list[dict[Expr, bool]] = []  # occurring valuations
        with self._defining(self._meaning):
            literals = product(self._meaning, (True, False))
            alone: list[Cube] = [(literal,) for literal in literals if self._never((literal,), seen)]
            decided = {x for ((x, _),) in alone}
            pairs: list[Pair] = []
            for x, y in combinations((x for x in self._meaning if x not in decided), 2):
                if not self._variables[x].isdisjoint(self._variables[y]):
                    signs = product((True, False), repeat=2)
                    candidates: list[Pair] = [((x, a), (y, b)) for a, b in signs]
                    pairs.extend(pair for pair in candidates if self._never(pair, seen))
            cubes: list[Cube] = [*alone, *_irredundant(pairs)]
            if len(self._meaning) <= _TRIPLED:
                cubes = self._with_triples(cubes, seen)
        return cubes

    def _with_triples(self, cubes: list[Cube], seen: list[dict[Expr, bool]]) -> list[Cube]:
        """Add the contradictions of three literals that do not follow from the others."""
        implied = Z3Solver(self._statistics)
        implied.add(Condition(tuple(cubes), negated=True).term())
        cubes = list(cubes)
        for triple in combinations(self._meaning, 3):
            sharing = [
                not self._variables[x].isdisjoint(self._variables[y]) for x, y in combinations(triple, 2)
            ]
            if sum(sharing) < 2:
                continue
            for values in product((True, False), repeat=3):
                cube = tuple(zip(triple, values, strict=True))
                asked = [x if value else build.not_(x) for x, value in cube]
                if (
                    not _occurs(cube, seen)
                    and implied.check(asked, budget=self._budget, purpose=_PURPOSE) is Answer.SAT
                    and self._never(cube, seen)
                ):
                    cubes.append(cube)
                    implied.add(Condition((cube,), negated=True).term())
        return cubes

    def _never(self, cube: Cube, seen: list[dict[Expr, bool]]) -> bool:
        if _occurs(cube, seen):
            return False
        answer = self._ask(_literals(cube))
        if answer is Answer.SAT:
            values = self._solver.values(list(map(_marked, self._meaning)))
            seen.append({x: bool(v) for x, v in zip(self._meaning, values, strict=True)})
        return answer is Answer.UNSAT

    # ------------------------------------------------------------------------------ enumeration

    def _occurrences(self, formula: Expr) -> Occurrences | None:
        if formula not in self._enumerated:
            mine = frozenset(variables(formula))
            around = self._around(mine)
            inner = [x for x in around if self._variables[x] <= mine]
            self._enumerated[formula] = self._enumerate(formula, around) or (
                self._enumerate(formula, inner) if len(inner) < len(around) else None
            )
        return self._enumerated[formula]

    def _enumerate(self, formula: Expr, over: Sequence[Expr]) -> Occurrences | None:
        """Enumerate the valuations of predicates with the formula and its negation; None if there are too
        many."""
        if frozenset(over) in self._too_many:
            return None
        valuations: dict[bool, list[int]] = {True: [], False: []}
        literals = list(map(_marked, over))
        with self._defining(over, formula) as truth:
            while (answer := self._ask(())) is Answer.SAT:
                values = [bool(v) for v in self._solver.values([*literals, truth])]
                valuations[values[-1]].append(sum(1 << n for n, value in enumerate(values[:-1]) if value))
                if len(valuations[True]) + len(valuations[False]) > self._minterms:
                    self._statistics.count("abstract.coarse")
                    self._too_many[frozenset(over)] = None
                    return None
                pairs = zip((*literals, truth), values, strict=True)
                self._solver.add(build.disjunction(build.not_(x) if value else x for x, value in pairs))
        if answer is Answer.UNKNOWN:
            self._statistics.count("abstract.undecided")
            return None
        return Occurrences(tuple(over), tuple(valuations[True]), tuple(valuations[False]))

    def _around(self, reached: frozenset[Expr]) -> list[Expr]:
        """Return the predicates that share variables with these, directly related ones first."""
        unrelated = list(self._meaning)
        related: list[Expr] = []
        while near := [x for x in unrelated if not self._variables[x].isdisjoint(reached)]:
            related += near
            reached = reached.union(*(self._variables[x] for x in near))
            unrelated = [x for x in unrelated if x not in near]
        return related

    def _short(self, formula: Expr) -> Choose:
        """Approximate the formula by cubes of one or two literals."""
        mine = frozenset(variables(formula))
        near = [x for x in self._meaning if not self._variables[x].isdisjoint(mine)]
        decided: dict[bool, list[Cube]] = {True: [], False: []}
        open_: list[Cube] = []
        with self._defining(near, formula) as truth:
            for cube in (((x, value),) for x in near for value in (True, False)):
                if not self._settles(cube, truth, decided):
                    open_.append(cube)
            if len(near) <= _PAIRED:
                for (one,), (other,) in combinations(open_, 2):
                    if one[0] is not other[0]:
                        self._settles((one, other), truth, decided)
        return Choose(Condition(tuple(decided[True])), Condition(tuple(decided[False])))

    def _settles(self, cube: Cube, truth: Expr, decided: Mapping[bool, list[Cube]]) -> bool:
        """Tell whether a cube decides the formula or cannot be true; add a deciding cube to `decided`."""
        excluded = [
            value for value in (True, False) if self._impossible(cube, build.not_(truth) if value else truth)
        ]
        if len(excluded) == 1:
            decided[excluded[0]].append(cube)
        return bool(excluded)

    # ----------------------------------------------------------------------------------- solver

    @contextmanager
    def _defining(self, over: Iterable[Expr], formula: Expr = build.TRUE) -> Iterator[Expr]:
        """Define these variables and a literal for the formula in the solver, inside the `with` block."""
        truth = build.var("@formula", BOOL)
        self._solver.push()
        try:
            self._solver.add(build.eq(truth, formula))
            self._solver.add(*(build.eq(_marked(x), self._meaning[x]) for x in over))
            yield truth
        finally:
            self._solver.pop()

    def _impossible(self, cube: Cube, *others: Expr) -> bool:
        return self._ask([*_literals(cube), *others]) is Answer.UNSAT

    def _ask(self, assumptions: Sequence[Expr]) -> Answer:
        answer = self._solver.check(assumptions, budget=self._budget, purpose=_PURPOSE)
        if answer is Answer.UNKNOWN:
            self._budget.check()
        return answer


def _occurs(cube: Cube, seen: Sequence[Mapping[Expr, bool]]) -> bool:
    return any(all(valuation[x] is value for x, value in cube) for valuation in seen)


def _marked(variable: Expr) -> Expr:
    """Return the variable under a name that no program variable has."""
    return build.var(f"@{variable.name}@", BOOL)


def _literals(cube: Cube) -> list[Expr]:
    return [_marked(x) if value else build.not_(_marked(x)) for x, value in cube]


def _irredundant(pairs: Sequence[Pair]) -> list[Pair]:
    """Remove pairs whose contradiction follows from the others: a pair (a, b) means that a implies not b, and
    another chain of implications from a to not b makes it redundant."""
    implied: dict[Literal, dict[Literal, None]] = {}

    def not_(literal: Literal) -> Literal:
        return literal[0], not literal[1]

    for a, b in pairs:
        implied.setdefault(a, {})[not_(b)] = None
        implied.setdefault(b, {})[not_(a)] = None
    kept: list[Pair] = []
    for a, b in reversed(pairs):
        del implied[a][not_(b)], implied[b][not_(a)]
        reached = {a: None}
        for literal in (queue := [a]):
            for other in implied.get(literal, ()):
                if other not in reached:
                    reached[other] = None
                    queue.append(other)
        if not_(b) not in reached:
            kept.append((a, b))
            implied[a][not_(b)] = implied[b][not_(a)] = None
    return kept[::-1]


# ------------------------------------------------------------------------------------- formulas


@dataclass(slots=True)
class _Cover:
    """A list of cubes, as pairs of mask and values."""

    cubes: list[tuple[int, int]] = field(default_factory=list)

    def covers(self, minterm: int, *, but: int) -> bool:
        return any(n != but and not (minterm ^ values) & mask for n, (mask, values) in enumerate(self.cubes))


def cover(on: Sequence[int], off: Sequence[int], width: int) -> list[tuple[int, int]]:
    """Return few short cubes (mask and values) that contain all of `on` and none of `off`.

    Each cube is maximal, where literals of the last variables are dropped first, and none is redundant."""
    chosen = _Cover()
    uncovered = list(on)
    while uncovered:
        first = uncovered[0]
        mask = (1 << width) - 1
        for bit in reversed(range(width)):
            larger = mask & ~(1 << bit)
            if all((other ^ first) & larger for other in off):
                mask = larger
        chosen.cubes.append((mask, first & mask))
        uncovered = [minterm for minterm in uncovered if (minterm ^ first) & mask]
    for n in reversed(range(len(chosen.cubes))):
        if all(chosen.covers(minterm, but=n) for minterm in on):
            del chosen.cubes[n]
    return chosen.cubes


def _shorter(over: Sequence[Expr], on: Sequence[int], off: Sequence[int]) -> Condition:
    """Return the shorter of two conditions that are true on `on` and false on `off`: direct or negated."""
    direct = _condition(over, cover(on, off, len(over)))
    indirect = _condition(over, cover(off, on, len(over))).opposite()
    return indirect if (indirect.size, len(indirect.cubes)) < (direct.size, len(direct.cubes)) else direct


def _condition(over: Sequence[Expr], cubes: Sequence[tuple[int, int]]) -> Condition:
    return Condition(
        tuple(
            tuple((x, bool(values >> n & 1)) for n, x in enumerate(over) if mask >> n & 1)
            for mask, values in cubes
        )
    )
