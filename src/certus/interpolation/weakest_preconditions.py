"""Compute weakest preconditions along a path of Horn clauses (see `interpolants`).

The rest of a path after a position is the conjunction of the constraints of all later steps, over the values
that earlier steps assign. Its negation is the weakest precondition that excludes the end of the path. Only
the constraints of an unsatisfiable core are used, so that it mentions what matters. This needs substitution
alone and no theory.
"""

from __future__ import annotations

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.horn import Clause, HornSystem, Model
from certus.core.solver import Answer
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import substitute, substitute_all, variables
from certus.solvers.z3.solver import Z3Solver
from certus.solvers.z3.terms import Z3Terms

_PURPOSE = "interpolation.core"
Part = tuple[int, int]  # the numbers of a step, counted from the last, and of a conjunct


def preconditions(
    system: HornSystem, *, budget: Budget, statistics: Statistics, terms: Z3Terms | None = None
) -> Model | None:
    """Return candidates for interpolants; None if a step has two premises, or no core is found.

    They exclude the end of the path. Constraints on later inputs or choices are left out, so callers must
    check that the steps before a position imply its candidate."""
    chain = chain_of(system)
    if chain is None:
        return None
    following: list[dict[Part, Expr]] = []  # for each step, its constraint and those of all later ones
    after: dict[Part, Expr] = {}
    premise: tuple[Expr, ...] = ()  # the premise variables of the next step
    for number, clause in enumerate(chain):
        mine = clause.body[0].args if clause.body else ()
        fresh = {x: build.var(f"{x.name}#{number}", x.sort) for x in clause.variables if x not in mine}
        written = () if clause.head is None else substitute_all(clause.head.args, fresh)
        values = dict(zip(premise, written, strict=True))
        after = dict(zip(after, substitute_all(after.values(), values), strict=True))
        constraint = clause.constraint
        own = enumerate(constraint.args if constraint.kind is Kind.AND else (constraint,))
        mine_now = {(number, n): substitute(part, fresh) for n, part in own}
        after = {**mine_now, **after}
        following.append(after)
        premise = mine
    solver = Z3Solver(statistics, terms=terms)
    if solver.check(tuple(after.values()), budget=budget, purpose=_PURPOSE) is not Answer.UNSAT:
        return None
    needed = set(solver.core())
    core = {part for part, constraint in after.items() if constraint in needed}
    candidates: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
    for clause, constraints in zip(chain, following, strict=True):
        for atom in clause.body:
            parts = [constraint for part, constraint in constraints.items() if part in core]
            if solver.check(parts, budget=budget, purpose=_PURPOSE) is Answer.UNSAT:
                candidates[atom.function] = (atom.args, build.TRUE)  # no state reaches the end
            else:
                kept = [c for c in parts if set(atom.args).issuperset(variables(c))]
                candidates[atom.function] = (atom.args, build.not_(build.conjunction(kept)))
    return Model(candidates)


def chain_of(system: HornSystem) -> list[Clause] | None:
    """Return the clauses from the one without head to the one without premise; None if they are not a chain:
    if two clauses have the same conclusion, or a clause has several premises."""
    derived: dict[Function | None, Clause] = {}
    for clause in system.clauses:
        conclusion = None if clause.head is None else clause.head.function
        if conclusion in derived or len(clause.body) > 1:
            return None
        derived[conclusion] = clause
    chain: list[Clause] = []
    after: Function | None = None
    while after in derived:
        chain.append(derived.pop(after))
        if not chain[-1].body:
            return None if derived else chain
        after = chain[-1].body[0].function
    return None
