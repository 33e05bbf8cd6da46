"""Explicate an unsatisfiable trace, so that the abstraction excludes it: ETC of Flanagan 2004, section 6.

Tree interpolants prove that a trace is unsatisfiable: each node has a formula over its relation's parameters
that follows from the node's constraint and the formulas of its children; the formula of the root is false.
Each of these implications is a hygienic clause, explicated for the node's clause. The atoms of the formulas
become interface predicates; of a formula that is valid for all variants of a relation, the conjuncts. Only
conjuncts of an unsatisfiable core are used.
"""

from __future__ import annotations

from certus.core import build
from certus.core.errors import Inconsistent
from certus.core.horn import Clause, Derivation, clause_of
from certus.core.intervals import conjuncts
from certus.core.solver import Answer
from certus.core.terms import BOOL, ArraySort, Expr, Function, Kind
from certus.core.walk import substitute, substitute_all, variables
from certus.encoding.canonical_atoms import canonical
from certus.engines.clp.abstraction import (
    Abstraction,
    Knowledge,
    atoms,
    collapse,
    formals,
    instance,
    replicate,
)
from certus.engines.clp.fixpoint import Prover
from certus.engines.clp.traces import Node, Trace, derived, keep_all
from certus.interpolation.interpolants import Interpolants, interpolants, invariants_or_facts, path_system


def explicate(trace: Trace, prover: Prover, *, effort: int = 0) -> Abstraction | Derivation | None:
    """Return predicates and formulas that exclude an unsatisfiable trace; None if there are no interpolants.

    If a relation occurs above itself in the trace and `effort` (resource limit of z3) is not 0, this first
    tries one formula for all variants of a relation, which excludes more than this trace. If the clauses of
    the trace derive false in another way, it returns that derivation."""
    meanings = _shared_interpolants(trace, prover, effort) if effort and trace.has_cycles else None
    if isinstance(meanings, Derivation):
        return meanings
    parts = conjuncts  # a formula for all variants is inductive as it is: its atoms add nothing
    if meanings is None:
        meanings, parts = _tree_interpolants(trace, prover), atoms
    else:
        prover.statistics.count("clp.collapsed")
        keep_all(trace)
    if meanings is None:
        return None
    knowledge: dict[int, Knowledge] = {}
    for number, node in enumerate(trace.nodes):
        clause = trace.clause(node)
        premises = [instance(meanings[c], a.args) for a, c in zip(clause.body, node.children, strict=True)]
        conclusion = build.FALSE if clause.head is None else instance(meanings[number], clause.head.args)
        fact = build.implies(build.and_(*node.kept, *premises), conclusion)
        meaning = meanings.get(number, build.TRUE)
        interface = () if meaning.kind is Kind.CONST else parts(meaning)
        knowledge[number] = Knowledge(interface, () if fact is build.TRUE else (fact,))
    return collapse(knowledge, trace.variants())


def _tree_interpolants(trace: Trace, prover: Prover) -> dict[int, Expr] | None:
    """Return for each node but the root a formula over its relation's parameters."""
    plain = {n: f for n, node in enumerate(trace.nodes) if (f := _plain(trace, node)) is not None}
    relations = {
        n: Function(f"@{n}", base.parameters, BOOL) for n, base in trace.relations().items() if n not in plain
    }
    numbers = [n for n in range(len(trace.nodes)) if n not in plain]
    solution = interpolants(
        path_system(tuple(_node_clause(trace, n, relations, plain) for n in numbers)),
        budget=prover.budget,
        statistics=prover.statistics,
        terms=prover.terms,
    )
    if solution is None:
        return None
    return plain | {n: _over_formals(relation, solution) for n, relation in relations.items()}


def _shared_interpolants(trace: Trace, prover: Prover, effort: int) -> dict[int, Expr] | Derivation | None:
    """Return one formula for all variants of each relation, or a derivation by the clauses of the trace. Each
    time the same clauses come up again, the effort is four times as much."""
    numbers = tuple(sorted({node.clause for node in trace.nodes}))
    tried = prover.tried[numbers] = prover.tried.get(numbers, -1) + 1
    own = tuple(trace.system.clauses[n] for n in numbers)
    result = invariants_or_facts(
        path_system(tuple(map(with_variables_in_body, own))),
        effort=effort * 4**tried,
        budget=prover.budget,
        statistics=prover.statistics,
        terms=prover.terms,
    )
    if isinstance(result, list):
        return derived(path_system(own), numbers, result, prover)
    if result is None:
        return None
    return {n: _over_formals(relation, result) for n, relation in trace.relations().items()}


def _over_formals(relation: Function, solution: Interpolants) -> Expr:
    if relation not in solution:
        return build.TRUE
    parameters, formula = solution[relation]
    return canonical(substitute(formula, dict(zip(parameters, formals(relation.parameters), strict=True))))


def _plain(trace: Trace, node: Node) -> Expr | None:
    """Return the constraint of a leaf about arrays, if it only has parameters of the relation: it is hygienic
    as it is, and interpolation would only split equations between arrays."""
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
    constraints = [instance(plain[child], atom.args) for atom, child in children if child in plain]
    head = None if clause.head is None else build.apply(relations[number], clause.head.args)
    result = Clause(clause.variables, body, build.and_(*node.kept, *constraints), head)
    return with_variables_in_body(result)


def with_variables_in_body(clause: Clause) -> Clause:
    """Return the clause with distinct variables as arguments of body atoms, as interpolation requires;
    equations give their values."""
    used: set[Expr] = set()
    equations: list[Expr] = []
    body: list[Expr] = []
    for number, atom in enumerate(clause.body):
        arguments: list[Expr] = []
        for place, argument in enumerate(atom.args):
            variable = argument
            if argument.kind is not Kind.VAR or argument in used:
                variable = build.var(f"@{number}.{place}", argument.sort)
                equations.append(build.eq(variable, argument))
            used.add(variable)
            arguments.append(variable)
        body.append(build.apply(atom.function, arguments))
    if not equations:
        return clause
    return clause_of(body, build.and_(clause.constraint, *equations), clause.head)


def check_refinement(trace: Trace, gained: Abstraction, prover: Prover) -> bool:
    """Return whether the solver proves every explicated formula valid. Raises `Inconsistent` if one is not
    valid, or if the abstract trace is propositionally satisfiable with them (Lemma 8)."""
    valid = True
    for number, formulas in gained.explicated.items():
        for formula in formulas:
            answer = prover.refute(formula)
            if answer is Answer.SAT:
                raise Inconsistent(f"a formula explicated for clause {number} is not valid")
            valid &= answer is Answer.UNSAT
    solver = prover.solver()
    solver.add(*_abstract(trace, gained, prover))
    answer = solver.check(budget=prover.budget, purpose="clp.boolean")
    if answer is Answer.SAT:
        raise Inconsistent("a refinement does not exclude its trace")
    return valid and answer is Answer.UNSAT


def _abstract(trace: Trace, gained: Abstraction, prover: Prover) -> list[Expr]:
    """Return the trace under an abstraction; nodes share only the Boolean variables of interfaces."""
    skeleton = prover.skeletons.of
    knowledge = replicate(gained, trace.variants())
    formulas: list[Expr] = []
    for number, node in enumerate(trace.nodes):
        clause = trace.clause(node)
        own = [skeleton(f) for f in (clause.constraint, *knowledge[number].explicated)]
        places = [*zip(clause.body, node.children, strict=True)]
        if clause.head is not None:
            places.append((clause.head, number))
        for atom, owner in places:
            for position, predicate in enumerate(knowledge[owner].interface):
                shared = build.var(f"interface {owner}.{position}", BOOL)
                own.append(build.eq(shared, skeleton(instance(predicate, atom.args))))
        formulas += _renamed(own, number)
    return formulas


def _renamed(formulas: list[Expr], number: int) -> list[Expr]:
    own = {x: build.var(f"{number}{x.name}", BOOL) for x in variables(*formulas) if x.name.startswith("[")}
    return list(substitute_all(formulas, own))
