"""Find variables that only hold constants of the program: states of automata, flags, modes.

Interpolants are about the values on one path, so predicates on such a variable come one by one, each from a
path that is one step longer. After a few of them, all values of the variable become predicates at once: there
are finitely many, and the abstraction has no more states than the automaton.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from certus.core import build
from certus.core.effects import copies
from certus.core.program import Assume, Havoc, Op, Program, leaves
from certus.core.terms import BOOL, Expr, Kind
from certus.core.walk import postorder
from certus.engines.predicate.abstraction import Group

FEW = 3  # values of one variable at one location, after which all values are used
MOST = 64  # variables with more values are left out


class Enumerations:
    """The variables of a program that are assigned only constants, inputs and each other, with the constants
    that are assigned to them or compared with them."""

    def __init__(self, program: Program) -> None:
        self._copied: dict[Expr, dict[Expr, None]] = {}  # variable -> the variables assigned to it
        self._values: dict[Expr, dict[Expr, None]] = {}
        self._computed: dict[Expr, None] = {}  # variables that are assigned other terms
        self._inputs: dict[Expr, None] = {}  # variables that are assigned inputs
        self._complete: dict[Expr, None] = {}  # variables all of whose values are used
        for variable, value in program.initial.items():
            self._assign(variable, value)
        for name, procedure in program.procedures.items():
            for edge in procedure.edges:
                for op in leaves(edge):
                    self._execute(program, name, op)
        self._close()

    def include(self, names: Iterable[Expr]) -> bool:
        """Return whether all of these variables hold only constants, and no inputs."""
        return all(self._values.get(x) and x not in self._inputs for x in names)

    def all_values(self, predicates: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return all values of variables that occur in at least `FEW` predicates of a location."""
        counts: dict[Expr, int] = {}
        for predicate in predicates:
            variable = _compared(predicate)
            if variable is not None and 2 < len(self._values.get(variable, ())) <= MOST:
                counts[variable] = counts.get(variable, 0) + 1
        self._complete.update((x, None) for x, number in counts.items() if number >= FEW)
        return tuple(build.eq(x, c) for x in counts if x in self._complete for c in self._values[x])

    def by_values(self, group: Group) -> Group:
        """Return the group with predicates on a variable replaced by its values, if all of these are used."""
        rewritten: dict[Expr, None] = {}
        for predicate in group:
            variable = _compared(predicate)
            if variable is not None and variable in self._complete:
                rewritten.update((build.eq(variable, c), None) for c in self._values[variable])
            else:
                rewritten[predicate] = None
        return tuple(rewritten)

    def _execute(self, program: Program, name: str, op: Op) -> None:
        if isinstance(op, Havoc):
            self._inputs.update(dict.fromkeys(op.targets))
        elif isinstance(op, Assume):
            for term in postorder(op.condition):
                if term.kind is Kind.EQ and (variable := _compared(term)) is not None:
                    self._values.setdefault(variable, {})[_constant(term)] = None
        for target, value in copies(op, program.procedures[name], program):
            self._assign(target, value)

    def _assign(self, variable: Expr, value: Expr) -> None:
        if variable.sort is BOOL:
            return
        for term in _cases(value):
            if term.kind is Kind.CONST:
                self._values.setdefault(variable, {})[term] = None
            elif term.kind is Kind.VAR and term.sort is variable.sort:
                self._copied.setdefault(variable, {})[term] = None
            else:
                self._computed[variable] = None

    def _close(self) -> None:
        """Propagate values along assignments between variables."""
        changed = True
        while changed:
            changed = False
            for variable, sources in self._copied.items():
                own = self._values.setdefault(variable, {})
                before = len(own)
                for source in sources:
                    own.update(self._values.get(source, {}))
                    for kind in (self._computed, self._inputs):
                        if source in kind and variable not in kind:
                            kind[variable] = None
                            changed = True
                changed |= len(own) > before
        for variable in self._computed:
            self._values.pop(variable, None)


def _cases(value: Expr) -> Iterator[Expr]:
    """Yield the terms that a conditional value may be."""
    stack = [value]
    while stack:
        term = stack.pop()
        if term.kind is Kind.ITE:
            stack.extend(term.args[1:])
        else:
            yield term


def _compared(predicate: Expr) -> Expr | None:
    """Return the variable that a predicate compares with a constant, if any."""
    if predicate.kind not in (Kind.EQ, Kind.LE):
        return None
    kinds = [a.kind for a in predicate.args]
    if sorted(kinds, key=lambda k: k is Kind.VAR) != [Kind.CONST, Kind.VAR]:
        return None
    return predicate.args[kinds.index(Kind.VAR)]


def _constant(equation: Expr) -> Expr:
    return equation.args[0] if equation.args[0].kind is Kind.CONST else equation.args[1]
