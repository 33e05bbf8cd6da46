"""Boolean programs: the result of predicate abstraction (Wolff 2015, section 3).

A Boolean program has the control flow of the program it abstracts, and a Boolean variable for every
predicate. Each edge becomes statements over these variables: a parallel assignment of the truth of the
predicates afterwards, an assumption, or a call. A predicate whose truth is not determined gets a
nondeterministic value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from certus.core import build
from certus.core.program import Edge, Procedure, Program
from certus.core.terms import Expr

Literal = tuple[Expr, bool]  # a Boolean variable and its value
Cube = tuple[Literal, ...]  # a conjunction


@dataclass(frozen=True, slots=True)
class Condition:
    """A disjunction of cubes; if `negated`, its negation."""

    cubes: tuple[Cube, ...]
    negated: bool = False

    @property
    def size(self) -> int:
        """The number of literals."""
        return sum(map(len, self.cubes))

    @property
    def always(self) -> bool:
        """Return whether it is true by its form."""
        return not self.cubes if self.negated else () in self.cubes

    @property
    def never(self) -> bool:
        """Return whether it is false by its form."""
        return () in self.cubes if self.negated else not self.cubes

    def opposite(self) -> Condition:
        """Return the negation."""
        return Condition(self.cubes, not self.negated)

    def holds(self, valuation: Mapping[Expr, bool]) -> bool:
        """Return whether it is true under a valuation."""
        some = any(all(valuation[x] is value for x, value in cube) for cube in self.cubes)
        return some is not self.negated

    def term(self) -> Expr:
        """Return it as a term."""
        some = build.disjunction(
            build.conjunction(x if value else build.not_(x) for x, value in cube) for cube in self.cubes
        )
        return build.not_(some) if self.negated else some


ALWAYS = Condition(((),))
NEVER = Condition(())


@dataclass(frozen=True, slots=True)
class Choose:
    """A value: true where `yes` holds, else false where `no` holds, else nondeterministic."""

    yes: Condition
    no: Condition

    @property
    def determined(self) -> bool:
        """Return whether it is never nondeterministic."""
        return self.no == self.yes.opposite()

    def allows(self, value: bool, valuation: Mapping[Expr, bool]) -> bool:
        """Return whether the value is possible under a valuation."""
        if self.yes.holds(valuation):
            return value
        return not (value and self.no.holds(valuation))


TRUE = Choose(ALWAYS, ALWAYS.opposite())
FALSE = Choose(NEVER, NEVER.opposite())
UNKNOWN = Choose(NEVER, NEVER)


@dataclass(frozen=True, slots=True)
class Update:
    """A parallel assignment."""

    targets: tuple[Expr, ...]
    values: tuple[Choose, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """An assumption: executions continue only where the condition holds."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Invoke:
    """A call. `targets` get the values that the callee returns, or are empty."""

    procedure: str
    arguments: tuple[Choose, ...]
    targets: tuple[Expr, ...]


Statement = Update | Guard | Invoke


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate and the text that shows it."""

    term: Expr
    text: str


@dataclass(frozen=True, slots=True)
class ScopedPredicates:
    """Predicates by scope. `shared` ones are over globals only; `own` ones, by procedure, also over its
    variables and results, and over `old(x)`: the value of a global or parameter at its entry."""

    shared: tuple[Predicate, ...] = ()
    own: Mapping[str, tuple[Predicate, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BooleanProcedure:
    """The abstraction of a procedure. `predicates` are its own ones, by variable: the caller passes
    `parameters`, `declared` ones start with a value, and `results` are returned. `received` are variables for
    the results of callees. `start` is executed at the entry."""

    procedure: Procedure
    predicates: Mapping[Expr, Predicate]
    parameters: tuple[Expr, ...]
    results: tuple[Expr, ...]
    declared: Mapping[Expr, Choose]
    received: Mapping[Expr, Predicate]
    start: tuple[Statement, ...]
    steps: Mapping[Edge, tuple[Statement, ...]]


@dataclass(frozen=True, slots=True)
class BooleanProgram:
    """The abstraction of a program. `shared` are the variables of its global predicates, with their
    initial values."""

    program: Program
    predicates: Mapping[Expr, Predicate]
    shared: Mapping[Expr, Choose]
    procedures: Mapping[str, BooleanProcedure]
