"""Variables that only ever hold constants of the program: states of automata, flags, modes.

Interpolants speak of the values that one path meets, so predicates on such a variable come one by one,
each with a path that is longer by a step. Once a few have come, all of its values are taken at once: there
are finitely many, and the abstract states reached are as few as the states of the automaton.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from certus.core import build
from certus.core.program import Assign, Assume, Call, Havoc, Program, Return, leaves
from certus.core.sorts import BOOL
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder
from certus.engines.predicate.abstraction import Group

FEW = 3  # values of one variable at one location, after which all are taken
MOST = 64  # values of one variable


class Enumerations:
    """The variables of a program that constants, inputs and one another are assigned to, nothing else, with
    the constants that they are given or compared with."""

    def __init__(self, program: Program) -> None:
        self._copied: dict[Expr, dict[Expr, None]] = {}  # variable -> the variables assigned to it
        self._values: dict[Expr, dict[Expr, None]] = {}
        self._computed: dict[Expr, None] = {}  # variables that get other values
        self._inputs: dict[Expr, None] = {}  # variables that get any
        self._complete: dict[Expr, None] = {}  # variables all of whose values are taken
        for variable, value in program.initial.items():
            self._assign(variable, value)
        for name, procedure in program.procedures.items():
            for edge in procedure.edges:
                for op in leaves(edge):
                    self._execute(program, name, op)
        self._close()

    def include(self, names: Iterable[Expr]) -> bool:
        """Whether all of these hold constants only, and not inputs either."""
        return all(self._values.get(x) and x not in self._inputs for x in names)

    def completed(self, predicates: Sequence[Expr]) -> tuple[Expr, ...]:
        """Further predicates for a location that has these."""
        met: dict[Expr, int] = {}
        for predicate in predicates:
            variable = _compared(predicate)
            if variable is not None and 2 < len(self._values.get(variable, ())) <= MOST:
                met[variable] = met.get(variable, 0) + 1
        self._complete.update((x, None) for x, number in met.items() if number >= FEW)
        return tuple(build.eq(x, c) for x in met if x in self._complete for c in self._values[x])

    def spelled(self, group: Group) -> Group:
        """The group, where what it says of a variable whose values are all taken is said by these."""
        found: dict[Expr, None] = {}
        for predicate in group:
            variable = _compared(predicate)
            if variable is not None and variable in self._complete:
                found.update((build.eq(variable, c), None) for c in self._values[variable])
            else:
                found[predicate] = None
        return tuple(found)

    def _execute(self, program: Program, name: str, op: object) -> None:
        if isinstance(op, Assign):
            pairs = list(zip(op.targets, op.values, strict=True))
        elif isinstance(op, Return):
            pairs = list(zip(program.procedures[name].results, op.values, strict=True))
        elif isinstance(op, Call):
            callee = program.procedures[op.procedure]
            pairs = list(zip(callee.parameters, op.arguments, strict=True))
            pairs += zip(op.targets, callee.results, strict=False)
        elif isinstance(op, Havoc):
            self._inputs.update(dict.fromkeys(op.targets))
            return
        elif isinstance(op, Assume):
            for term in postorder(op.condition):
                if term.kind is Kind.EQ and (variable := _compared(term)) is not None:
                    self._values.setdefault(variable, {})[_constant(term)] = None
            return
        else:
            return
        for target, value in pairs:
            self._assign(target, value)

    def _assign(self, variable: Expr, value: Expr) -> None:
        if variable.sort is BOOL:
            return
        for end in _ends(value):
            if end.kind is Kind.CONST:
                self._values.setdefault(variable, {})[end] = None
            elif end.kind is Kind.VAR and end.sort is variable.sort:
                self._copied.setdefault(variable, {})[end] = None
            else:
                self._computed[variable] = None

    def _close(self) -> None:
        """Values go where their variables are assigned to."""
        changed = True
        while changed:
            changed = False
            for variable, sources in self._copied.items():
                mine = self._values.setdefault(variable, {})
                before = len(mine)
                for source in sources:
                    mine.update(self._values.get(source, {}))
                    for kind in (self._computed, self._inputs):
                        if source in kind and variable not in kind:
                            kind[variable] = None
                            changed = True
                changed |= len(mine) > before
        for variable in self._computed:
            self._values.pop(variable, None)


def _ends(value: Expr) -> Iterator[Expr]:
    """What a value may be, by its conditions."""
    stack = [value]
    while stack:
        term = stack.pop()
        if term.kind is Kind.ITE:
            stack.extend(term.args[1:])
        else:
            yield term


def _compared(predicate: Expr) -> Expr | None:
    """The variable that a predicate compares with a constant."""
    if predicate.kind not in (Kind.EQ, Kind.LE):
        return None
    kinds = [a.kind for a in predicate.args]
    if sorted(kinds, key=lambda k: k is Kind.VAR) != [Kind.CONST, Kind.VAR]:
        return None
    return predicate.args[kinds.index(Kind.VAR)]


def _constant(equation: Expr) -> Expr:
    return equation.args[0] if equation.args[0].kind is Kind.CONST else equation.args[1]
