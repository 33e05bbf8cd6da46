"""What excludes an unsatisfiable trace: the algorithm ETC (seed 003, section 6).

Tree interpolants are the proof that a trace is unsatisfiable: a formula for each node, over the relation's
parameters, which follows from the node's constraint and the formulas of its children; false at the root.
Each of these implications is a hygienic clause; it is explicated for the node's clause, and the atoms of the
formulas become interface predicates, or the conjuncts of a formula that serves all variants of a relation.
Only conjuncts in an unsatisfiable core take part.
"""

from __future__ import annotations

from certus.core import build
from certus.core.errors import Inconsistent
from certus.core.horn import Clause, Derivation
from certus.core.sorts import BOOL, ArraySort
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import substitute, substitute_all, variables
from certus.engines.clp.abstraction import Abstraction, Knowledge, atoms, collapse, formals, instance
from certus.engines.clp.fixpoint import Prover
from certus.engines.clp.traces import Node, Trace, derived, keep_all
from certus.logic.canonical import canonical
from certus.logic.clauses import with_variables_in_body
from certus.logic.interpolation import Interpolants, interpolants, invariants_or_facts, path_system
from certus.logic.intervals import conjuncts
from certus.logic.solver import Answer


def explicate(trace: Trace, prover: Prover, *, effort: int = 0) -> Abstraction | Derivation | None:
    """What excludes an unsatisfiable trace (the algorithm ETC); None if no interpolants were found.

    If variants of a relation come up below one another and `effort` (z3's unit of work) is given, a formula
    that serves all variants of a relation is tried first: it excludes more than this trace. If there is none
    because the clauses of the trace derive false otherwise than it does, that derivation is the answer."""
    meanings = _shared_meanings(trace, prover, effort) if effort and trace.has_cycles else None
    if isinstance(meanings, Derivation):
        return meanings
    parts = conjuncts  # a formula for all variants is inductive as it stands: its atoms would say no more
    if meanings is None:
        meanings, parts = _meanings(trace, prover), atoms
    else:
        prover.statistics.count("clp.collapsed")
        keep_all(trace)
    if meanings is None:
        return None
    known: dict[int, Knowledge] = {}
    for number, node in enumerate(trace.nodes):
        clause = trace.clause(node)
        premises = [instance(meanings[c], a.args) for a, c in zip(clause.body, node.children, strict=True)]
        conclusion = build.FALSE if clause.head is None else instance(meanings[number], clause.head.args)
        fact = build.implies(build.and_(*node.kept, *premises), conclusion)
        mine = meanings.get(number, build.TRUE)
        said = () if mine.kind is Kind.CONST else parts(mine)
        known[number] = Knowledge(said, () if fact is build.TRUE else (fact,))
    return collapse(known, trace.variants())


def _meanings(trace: Trace, prover: Prover) -> dict[int, Expr] | None:
    """Tree interpolants: for each node but the root a formula over its relation's parameters."""
    plain = {n: f for n, node in enumerate(trace.nodes) if (f := _plain(trace, node)) is not None}
    relations = {
        n: Function(f"@{n}", base.parameters, BOOL) for n, base in trace.relations().items() if n not in plain
    }
    numbers = [n for n in range(len(trace.nodes)) if n not in plain]
    found = interpolants(
        path_system(tuple(_node_clause(trace, n, relations, plain) for n in numbers)),
        budget=prover.budget,
        statistics=prover.statistics,
        terms=prover.terms,
    )
    if found is None:
        return None
    return plain | {n: _over_formals(relation, found) for n, relation in relations.items()}


def _shared_meanings(trace: Trace, prover: Prover, effort: int) -> dict[int, Expr] | Derivation | None:
    """One formula for all variants of a relation, or a derivation by the clauses of the trace. What took too
    much effort may take four times as much when the same clauses come up again."""
    numbers = tuple(sorted({node.clause for node in trace.nodes}))
    tried = prover.tried[numbers] = prover.tried.get(numbers, -1) + 1
    own = tuple(trace.system.clauses[n] for n in numbers)
    found = invariants_or_facts(
        path_system(tuple(map(with_variables_in_body, own))),
        effort=effort * 4**tried,
        budget=prover.budget,
        statistics=prover.statistics,
        terms=prover.terms,
    )
    if isinstance(found, list):
        return derived(path_system(own), numbers, found, prover)
    if found is None:
        return None
    return {n: _over_formals(relation, found) for n, relation in trace.relations().items()}


def _over_formals(relation: Function, found: Interpolants) -> Expr:
    if relation not in found:
        return build.TRUE
    parameters, formula = found[relation]
    return canonical(substitute(formula, dict(zip(parameters, formals(relation.parameters), strict=True))))


def _plain(trace: Trace, node: Node) -> Expr | None:
    """What a leaf says of arrays, if its literals speak of the relation's parameters alone: they are
    hygienic as they stand, and interpolants of equations between arrays would only take them apart."""
    head = trace.clause(node).head
    if node.children or head is None or not any(map(_equates_arrays, node.kept)):
        return None
    own = dict(zip(head.args, formals([a.sort for a in head.args]), strict=True))
    if len(own) < len(head.args) or not all(x in own for x in variables(*node.kept)):
        return None
    return canonical(substitute(build.conjunction(node.kept), own))


def _equates_arrays(formula: Expr) -> bool:
    return formula.kind is Kind.EQ and isinstance(formula.args[0].sort, ArraySort)


def _node_clause(trace: Trace, number: int, relations: dict[int, Function], plain: dict[int, Expr]) -> Clause:
    node = trace.nodes[number]
    clause = trace.clause(node)
    children = [*zip(clause.body, node.children, strict=True)]
    body = tuple(build.apply(relations[child], atom.args) for atom, child in children if child not in plain)
    given = [instance(plain[child], atom.args) for atom, child in children if child in plain]
    head = None if clause.head is None else build.apply(relations[number], clause.head.args)
    made = Clause(clause.variables, body, build.and_(*node.kept, *given), head)
    return with_variables_in_body(made)


def check_refinement(trace: Trace, gained: Abstraction, prover: Prover) -> bool:
    """Whether every explicated formula is known to be valid. Raises `Inconsistent` if one is not, or if the
    abstract trace is not propositionally unsatisfiable with them (Lemma 8)."""
    known = True
    for number, formulas in gained.explicated.items():
        for formula in formulas:
            answer = prover.refute(formula)
            if answer is Answer.SAT:
                raise Inconsistent(f"a formula explicated for clause {number} is not valid")
            known &= answer is Answer.UNSAT
    solver = prover.solver()
    solver.add(*_abstract(trace, gained, prover))
    answer = solver.check(budget=prover.budget, purpose="clp.boolean")
    if answer is Answer.SAT:
        raise Inconsistent("a refinement does not exclude its trace")
    return known and answer is Answer.UNSAT


def _abstract(trace: Trace, gained: Abstraction, prover: Prover) -> list[Expr]:
    """The trace under an abstraction: boolean variables of a node are its own, but for its interface."""
    skeleton = prover.skeletons.of
    found: list[Expr] = []
    for number, node in enumerate(trace.nodes):
        clause = trace.clause(node)
        known = [skeleton(f) for f in (clause.constraint, *gained.explicated.get(node.clause, ()))]
        places = [*zip(clause.body, node.children, strict=True)]
        if clause.head is not None:
            places.append((clause.head, number))
        for atom, owner in places:
            for position, predicate in enumerate(gained.predicates(atom.function)):
                shared = build.var(f"interface {owner}.{position}", BOOL)
                known.append(build.eq(shared, skeleton(instance(predicate, atom.args))))
        found += _renamed(known, number)
    return found


def _renamed(formulas: list[Expr], number: int) -> list[Expr]:
    own = {x: build.var(f"{number}{x.name}", BOOL) for x in variables(*formulas) if x.name.startswith("[")}
    return list(substitute_all(formulas, own))
