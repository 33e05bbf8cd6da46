"""Boolean programs: what predicate abstraction makes of a program (seed 001, section 3).

A Boolean program has the control flow of the program it abstracts, and a Boolean variable for every
predicate. Each edge becomes statements over these variables: a parallel assignment of what is known of the
predicates afterwards, an assumption, a call. Where nothing is known the value is any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from certus.core import build
from certus.core.program import Edge, Procedure, Program
from certus.core.terms import Expr

Literal = tuple[Expr, bool]  # a Boolean variable and its value
Cube = tuple[Literal, ...]  # all of these


@dataclass(frozen=True, slots=True)
class Condition:
    """Some cube is true; if `negated`, none is."""

    cubes: tuple[Cube, ...]
    negated: bool = False

    @property
    def size(self) -> int:
        return sum(map(len, self.cubes))

    @property
    def always(self) -> bool:
        return not self.cubes if self.negated else () in self.cubes

    @property
    def never(self) -> bool:
        return () in self.cubes if self.negated else not self.cubes

    def opposite(self) -> Condition:
        return Condition(self.cubes, not self.negated)

    def holds(self, valuation: Mapping[Expr, bool]) -> bool:
        some = any(all(valuation[x] is value for x, value in cube) for cube in self.cubes)
        return some is not self.negated

    def term(self) -> Expr:
        some = build.disjunction(
            build.conjunction(x if value else build.not_(x) for x, value in cube) for cube in self.cubes
        )
        return build.not_(some) if self.negated else some


ALWAYS = Condition(((),))
NEVER = Condition(())


@dataclass(frozen=True, slots=True)
class Choose:
    """A value: true where `yes`, else false where `no`, else any."""

    yes: Condition
    no: Condition

    @property
    def determined(self) -> bool:
        """Whether it is never any value."""
        return self.no == self.yes.opposite()

    def allows(self, value: bool, valuation: Mapping[Expr, bool]) -> bool:
        if self.yes.holds(valuation):
            return value
        return not (value and self.no.holds(valuation))


TRUE = Choose(ALWAYS, ALWAYS.opposite())
FALSE = Choose(NEVER, NEVER.opposite())
UNKNOWN = Choose(NEVER, NEVER)


@dataclass(frozen=True, slots=True)
class Update:
    """Parallel assignment."""

    targets: tuple[Expr, ...]
    values: tuple[Choose, ...]


@dataclass(frozen=True, slots=True)
class Guard:
    """Continue only where the condition holds."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Invoke:
    """A call; `targets` get what the callee knows of its results, or are empty."""

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
    """`shared` predicates speak of globals only, `own` ones, by procedure, also of its variables and
    results, and of `old(x)`: the value of a global or parameter when the procedure was entered."""

    shared: tuple[Predicate, ...] = ()
    own: Mapping[str, tuple[Predicate, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BooleanProcedure:
    """The abstraction of a procedure. `known` are its own predicates' variables; of these `parameters`
    are given by the caller, `declared` start with a value, and `results` are returned. `received` are
    variables for results of callees. `start` is executed at the entry."""

    procedure: Procedure
    known: Mapping[Expr, Predicate]
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
    known: Mapping[Expr, Predicate]
    shared: Mapping[Expr, Choose]
    procedures: Mapping[str, BooleanProcedure]
