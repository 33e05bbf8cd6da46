"""Relations without the parameters that equations determine by the others.

Where x == y + 5 holds for all tuples of a relation, what is to be found about them can be said of y alone.
Clauses must have the equations in their constraints already: then nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certus.core import build
from certus.core.horn import Clause, HornSystem, Model, clause_of
from certus.core.sorts import INT
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import substitute, variables
from certus.logic.affine import parameters


class Determined:
    """A `system` over fewer parameters, and models of it carried back."""

    def __init__(self, original: HornSystem, equations: Mapping[Function, Sequence[Expr]]) -> None:
        self._kept: dict[Function, tuple[int, ...]] = {}
        self._values: dict[Function, dict[Expr, Expr]] = {}  # of the parameters that are gone
        self._smaller: dict[Function, Function] = {}
        for relation in original.relations:
            gone = self._values[relation] = _determined(relation, equations.get(relation, ()))
            left = tuple(n for n, name in enumerate(parameters(relation)) if name not in gone)
            self._kept[relation] = left
            sorts = tuple(relation.parameters[n] for n in left)
            self._smaller[relation] = Function(relation.name, sorts, relation.result)
        clauses = tuple(self._clause(clause) for clause in original.clauses)
        self.system = HornSystem(tuple(self._smaller.values()), clauses)

    def _clause(self, clause: Clause) -> Clause:
        bound: dict[Expr, Expr] = {}
        for atom in clause.body:
            names = parameters(atom.function)
            read = dict(zip(names, atom.args, strict=True))
            for name, value in self._values[atom.function].items():
                now = substitute(value, {n: substitute(a, bound) for n, a in read.items()})
                if read[name].kind is Kind.VAR and read[name] not in (*bound, *variables(now)):
                    bound = {x: substitute(v, {read[name]: now}) for x, v in bound.items()}
                    bound[read[name]] = now
        body = tuple(substitute(self._atom(atom), bound) for atom in clause.body)
        head = None if clause.head is None else substitute(self._atom(clause.head), bound)
        constraint = substitute(clause.constraint, bound)
        return clause_of(body, constraint, head)

    def _atom(self, atom: Expr) -> Expr:
        arguments = [atom.args[n] for n in self._kept[atom.function]]
        return build.apply(self._smaller[atom.function], arguments)

    def model(self, model: Model) -> Model:
        """A model of the original clauses."""
        found: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
        for relation, smaller in self._smaller.items():
            names, formula = model.relations[smaller]
            whole = [build.var(f"@determined.{n}", sort) for n, sort in enumerate(relation.parameters)]
            for position, name in zip(self._kept[relation], names, strict=True):
                whole[position] = name
            found[relation] = (tuple(whole), formula)
        return Model(found)


def _determined(relation: Function, equations: Sequence[Expr]) -> dict[Expr, Expr]:
    """Parameters that are determined by others, which are not; and their values."""
    found: dict[Expr, Expr] = {}
    used: set[Expr] = set()  # in an equation that determines one
    for equation in equations:
        factors = _factors(equation)
        if factors is None or found.keys() & factors.keys():
            continue
        for name in reversed(parameters(relation)):
            factor = factors.get(name, 0)
            if abs(factor) == 1 and name not in used:
                difference = build.sub(*equation.args)
                found[name] = build.sub(name, build.scale(factor, difference))
                used.update(factors)
                break
    return found


def _factors(equation: Expr) -> dict[Expr, int] | None:
    """The factors of an equation between sums of parameters; None if it is something else."""
    if equation.kind is not Kind.EQ or equation.args[0].sort is not INT:
        return None
    difference = build.sub(*equation.args)
    parts = difference.args if difference.kind is Kind.ADD else (difference,)
    found = {term: int(factor) for factor, term in map(build.monomial, parts) if term.kind is not Kind.CONST}
    return found if all(term.kind is Kind.VAR for term in found) else None
