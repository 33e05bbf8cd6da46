"""Laws of abstractions (Flanagan 2004, section 4.3), and CAR against Spacer on random clauses."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from certus.check.proofs.horn import check_derivation, check_model
from certus.codec.smtlib_horn import horn_script
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Safe, Unsafe, Verdict
from certus.core.horn import Clause, Derivation, HornSystem, Model
from certus.core.intervals import conjuncts
from certus.core.outcome import DerivationCheck, ProofCheck
from certus.core.terms import BOOL, INT, Expr, Function, Kind
from certus.core.walk import substitute, variables
from certus.engines.clp import ConstraintLogic, Options
from certus.engines.clp.abstraction import Abstraction, Knowledge, Variant, collapse, formals, replicate
from certus.engines.spacer import Options as SpacerOptions
from certus.engines.spacer import Spacer
from certus.frontend.chc.load import load_chc
from certus.frontend.clp.load import load_clp
from certus.frontend.clp.writer import clp_text
from certus.frontend.source import Source
from certus.passes.horn.intervals import argument_intervals, facts

RELATIONS = tuple(Function(f"R{n}", (INT, INT), BOOL) for n in range(3))


CLAUSES = 4  # the n-th derives a relation, the last one false
BASES = (*(Variant(relation, n) for n, relation in enumerate(RELATIONS)), Variant(None, CLAUSES - 1))
ATOMS = st.builds(
    lambda v, n: build.le(v, build.integer(n)), st.sampled_from(formals((INT, INT))), st.integers(-3, 3)
)


@st.composite
def abstractions(draw: st.DrawFn) -> Abstraction:
    found = Abstraction()
    for known, keys in ((found.interface, RELATIONS), (found.explicated, range(CLAUSES))):
        for key in keys:
            atoms = draw(st.lists(ATOMS, max_size=3))
            if atoms:
                known[key] = dict.fromkeys(atoms)  # type: ignore[index]
    return found


@settings(derandomize=True, deadline=None, max_examples=35)
@given(abstractions(), st.lists(st.sampled_from(BASES), min_size=0, max_size=6))
def test_collapse_undoes_replicate(abstraction: Abstraction, copies: list[Variant]) -> None:
    """With a variant of every relation (each is a variant of itself), collapse(replicate(a)) = a."""
    variants = dict(enumerate((*BASES, *copies)))
    back = collapse(replicate(abstraction, variants), variants)
    assert (back.interface, back.explicated) == (abstraction.interface, abstraction.explicated)


@settings(derandomize=True, deadline=None, max_examples=35)
@given(st.data())
def test_replicate_of_collapse_knows_at_least_as_much(data: st.DataObject) -> None:
    variants = dict(enumerate((*BASES, *BASES)))
    own = {}
    for number, base in variants.items():
        interface = () if base.relation is None else tuple(data.draw(st.lists(ATOMS, max_size=3)))
        own[number] = Knowledge(interface, tuple(data.draw(st.lists(ATOMS, max_size=3))))
    back = replicate(collapse(own, variants), variants)
    for number, known in own.items():
        assert set(known.interface) <= set(back[number].interface)
        assert set(known.explicated) <= set(back[number].explicated)


X, Y = build.var("x", INT), build.var("y", INT)
TERMS = st.sampled_from((X, Y, build.add(X, build.integer(1)), build.sub(X, Y), build.integer(0)))
COMPARISONS = st.builds(
    lambda make, a, n: make(a, build.integer(n)),
    st.sampled_from((build.le, build.eq, build.ge)),
    TERMS,
    st.integers(-2, 3),
)


@st.composite
def systems(draw: st.DrawFn) -> HornSystem:
    """A few clauses over three relations: a start, some steps with one or two premises, queries."""
    clauses = []
    for number in range(draw(st.integers(3, 6))):
        premises = draw(st.lists(st.sampled_from(RELATIONS), max_size=0 if number == 0 else 2))
        body = tuple(build.apply(r, (X, Y) if n == 0 else (Y, X)) for n, r in enumerate(premises))
        constraint = build.conjunction(draw(st.lists(COMPARISONS, max_size=2)))
        last = number > 0 and draw(st.integers(0, 3)) == 0
        head = None if last else build.apply(draw(st.sampled_from(RELATIONS)), (draw(TERMS), draw(TERMS)))
        terms = (constraint, *body, *(() if head is None else (head,)))
        clauses.append(Clause(variables(*terms), body, constraint, head))
    query = build.apply(draw(st.sampled_from(RELATIONS)), (X, Y))
    clauses.append(Clause((X, Y), (query,), draw(COMPARISONS), None))
    return HornSystem(RELATIONS, tuple(clauses))


@settings(derandomize=True, deadline=None, max_examples=25)
@given(systems())
def test_no_clause_leaves_the_intervals(system: HornSystem) -> None:
    """The intervals of arguments are a model of all clauses but the queries."""
    derived = tuple(clause for clause in system.clauses if clause.head is not None)
    known = argument_intervals(system, Budget(60))
    assert known is not None
    found = {}
    for relation in RELATIONS:
        names = formals(relation.parameters)
        within = build.conjunction(facts(names, known[relation])) if relation in known else build.FALSE
        found[relation] = (names, within)
    check = check_model(
        HornSystem(RELATIONS, derived), Model(found), budget=Budget(60), statistics=Statistics()
    )
    assert isinstance(check, ProofCheck), check


def checked(system: HornSystem, verdict: Verdict) -> str:
    """The answer, once its evidence has been checked."""
    if isinstance(verdict, Safe):
        assert isinstance(verdict.proof, Model)
        model = check_model(system, verdict.proof, budget=Budget(60), statistics=Statistics())
        assert isinstance(model, ProofCheck), model
        return "sat"
    if isinstance(verdict, Unsafe):
        assert isinstance(verdict.refutation, Derivation)
        found = check_derivation(system, verdict.refutation, budget=Budget(60))
        assert isinstance(found, DerivationCheck), found
        return "unsat"
    return "unknown"


@settings(derandomize=True, deadline=None, max_examples=15)
@given(systems(), st.booleans())
def test_answers_check_and_agree(system: HornSystem, preprocess: bool) -> None:
    ours = Options("cores", 4, preprocess, effort=100_000)
    theirs = SpacerOptions(preprocess, effort=200_000)
    one = ConstraintLogic().run(Task(system), ours, Budget(60), Statistics())
    other = Spacer().run(Task(system), theirs, Budget(60), Statistics())
    answers = {checked(system, one), checked(system, other)} - {"unknown"}
    assert len(answers) <= 1


@settings(derandomize=True, deadline=None, max_examples=60)
@given(systems())
def test_printed_rules_are_read_as_the_same_clauses(system: HornSystem) -> None:
    """Both formats give the same clauses. Variables get capitals; a shared subterm is the value of another
    variable, which the law replaces."""
    again = load_clp(Source(clp_text(system), "law.clp"), Budget(60))
    script = load_chc(Source(horn_script(system), "law.smt2"), Budget(60))
    assert again.relations == script.relations
    capitals = {X: build.var("X", INT), Y: build.var("Y", INT)}
    for ours, theirs in zip(script.clauses, again.clauses, strict=True):
        shared = {}
        for conjunct in conjuncts(theirs.constraint):
            for one, other in (conjunct.args, conjunct.args[::-1]) if conjunct.kind is Kind.EQ else ():
                if one.kind is Kind.VAR and one.name not in ("X", "Y") and other.args:
                    shared[one] = other
        for part in ("body", "head", "constraint"):
            assert renamed(theirs, part, shared) == renamed(ours, part, capitals)


def renamed(clause: Clause, part: str, names: dict[Expr, Expr]) -> object:
    value = getattr(clause, part)
    if isinstance(value, tuple):
        return {substitute(atom, names) for atom in value}  # terms order them
    return value and substitute(value, names)
