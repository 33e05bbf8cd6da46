"""Print the Boolean rules that an abstraction computes from clauses (Flanagan 2004, Figure 1, column 3).

`[c]` is the Boolean variable of the primitive constraint `c`; the arguments of a relation are the variables
of its interface predicates. Explicated formulas are the last literals of a rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from certus.core import build
from certus.core.accounting import Finding
from certus.core.c_text import c_text
from certus.core.horn import HornSystem
from certus.core.terms import BOOL, Expr, Kind
from certus.engines.clp.abstraction import AbstractClause, Abstraction, abstract_clause, mapped

_LONGEST: Final = 300  # characters of a constraint


def rule_set(system: HornSystem, abstraction: Abstraction, iteration: int) -> Iterator[Finding]:
    """Yield the rules of all clauses, in the order of the clauses."""
    for number in range(len(system.clauses)):
        text = _rule(abstract_clause(system, number, abstraction))
        yield Finding(f"Boolean rules of iteration {iteration}", f"clause {number}", text)


def _rule(abstract: AbstractClause) -> str:
    atoms = [
        f"{atom.function.name}({', '.join(_variable(inst) for _, inst in instances)})"
        for atom, instances in abstract.atoms
    ]
    head = atoms.pop() if abstract.clause.head is not None else "false"
    constraint, *explicated = abstract.formulas
    parts = constraint.args if constraint.kind is Kind.AND else (constraint,)
    literals = [*atoms, *(_skeleton(p) for p in parts if p is not build.TRUE), *map(_skeleton, explicated)]
    return f"{head} :- {', '.join(literals)}" if literals else head


def _variable(constraint: Expr) -> str:
    return f"[{c_text(constraint, limit=_LONGEST)}]"


def _skeleton(formula: Expr) -> str:
    """Return a formula with `isTrue([c])` for each primitive constraint."""
    names: dict[Expr, str] = {}

    def leaf(constraint: Expr) -> Expr:
        if constraint.kind is Kind.CONST:
            return constraint
        variable = build.var(f"@{len(names)}", BOOL)
        names[variable] = f"isTrue({_variable(constraint)})"
        return variable

    return c_text(mapped(formula, leaf), names=names, limit=20 * _LONGEST)
