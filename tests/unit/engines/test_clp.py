"""CAR: the paper's example to the letter, its lemmas, and answers that check."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.check.proofs.horn import check_derivation, check_model
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.errors import Inconsistent
from certus.core.evidence import Safe, Unknown, Unsafe, Verdict
from certus.core.horn import Derivation, HornSystem, Model
from certus.core.outcome import DerivationCheck, ProofCheck
from certus.core.terms import INT, Function
from certus.engines.clp import ConstraintLogic, Options, engine, traces
from certus.engines.clp.abstraction import Abstraction, Skeletons, formals
from certus.engines.clp.explication import check_refinement, explicate
from certus.engines.clp.fixpoint import Fixpoint, Manner, Prover
from certus.engines.clp.traces import satisfied, trace_of, unfold
from certus.frontend import load_clauses, read_question
from certus.frontend.chc.load import load_chc
from certus.frontend.source import Source

PROGRAMS = Path(__file__).parents[2] / "programs" / "chc"
MANNERS: tuple[Manner, ...] = ("proofs", "cores", "exhaustive")

COUNTER = """(declare-fun P (Int Int) Bool)
(assert (P 0 0))
(assert (forall ((x Int) (y Int)) (=> (and (P x y) (< x 10)) (P (+ x 1) (+ y 1)))))
(assert (forall ((x Int) (y Int)) (=> (and (P x y) (not (= y {}))) false)))"""

FIBONACCI = """(declare-fun F (Int Int) Bool)
(assert (forall ((n Int)) (=> (<= n 1) (F n 1))))
(assert (forall ((n Int) (a Int) (b Int)) (=> (and (> n 1) (F (- n 1) a) (F (- n 2) b)) (F n (+ a b)))))
(assert (forall ((n Int) (a Int)) (=> (and (F n a) {}) false)))"""


def load(text: str) -> HornSystem:
    return load_chc(Source(f"{text}\n(check-sat)", "test.smt2"), Budget(60))


def decide(
    system: HornSystem, manner: Manner = "cores", refinements: int = 0, *, preprocess: bool = False
) -> tuple[Verdict, Statistics]:
    statistics = Statistics()
    options = Options(manner, refinements, preprocess)
    return ConstraintLogic().run(Task(system), options, Budget(60), statistics), statistics


def check(system: HornSystem, verdict: Verdict) -> None:
    if isinstance(verdict, Safe):
        assert isinstance(verdict.proof, Model)
        check = check_model(system, verdict.proof, budget=Budget(60), statistics=Statistics())
        assert isinstance(check, ProofCheck), check
    else:
        assert isinstance(verdict, Unsafe)
        assert isinstance(verdict.refutation, Derivation)
        again = check_derivation(system, verdict.refutation, budget=Budget(60))
        assert isinstance(again, DerivationCheck), again


# ------------------------------------------------------------------------------ the paper's example


def rational(name: str, bound: int = 100_000) -> HornSystem:
    return load((PROGRAMS / name).read_text().replace("100000", str(bound)))


@pytest.mark.parametrize("manner", MANNERS)
def test_rational_takes_two_iterations(manner: Manner) -> None:
    system = rational("rational.smt2")
    verdict, statistics = decide(system, manner)
    assert isinstance(verdict, Safe)
    assert statistics.counters["clp.iterations"] == 2
    check(system, verdict)


@pytest.mark.parametrize("manner", MANNERS)
def test_the_bug_takes_one(manner: Manner) -> None:
    system = rational("rational_bug.smt2")
    verdict, statistics = decide(system, manner)
    assert isinstance(verdict, Unsafe)
    assert statistics.counters["clp.iterations"] == 1
    check(system, verdict)


def test_the_abstraction_is_delta() -> None:
    """Section 4: the interfaces of Etrunc, Eloop and TRat, and one explicated clause, for Emain."""
    _, statistics = decide(rational("rational.smt2"), "proofs")
    assert [(f.kind, f.place, f.text) for f in statistics.findings] == [
        ("interface", "TRat", "x6 == x3[x8 := x1]"),
        ("interface", "Etrunc", "x2[x0] == 0"),
        ("interface", "Eloop", "x3[x0] == 0"),
        ("explicated", "clause 5, of Emain", "!(d2[this] == 0 && y != 0 && d2 == d[this := y])"),
    ]


def test_the_bound_of_the_loop_does_not_matter() -> None:
    def effort(bound: int) -> tuple[int, ...]:
        _, statistics = decide(rational("rational.smt2", bound), "proofs")
        return tuple(statistics.counters[key] for key in ("clp.iterations", "solver.clp.prover", "clp.facts"))

    assert effort(10) == effort(1000) == effort(100_000)


def test_explication_asks_the_prover_less_than_enumeration() -> None:
    """The paper's claim, on its own example."""
    asked = {}
    for manner in MANNERS:
        _, statistics = decide(rational("rational.smt2"), manner)
        asked[manner] = statistics.counters["solver.clp.prover"]
    assert asked["proofs"] < asked["cores"] < asked["exhaustive"]


# ------------------------------------------------------------------------------------ its lemmas


def refuted_trace() -> tuple[HornSystem, Prover, Fixpoint]:
    system = rational("rational.smt2")
    prover = Prover(Budget(60), Statistics())
    return system, prover, Fixpoint(system, Abstraction(), "proofs", prover)


def test_a_refinement_excludes_its_trace() -> None:
    """Lemma 8; and an abstraction that lacks an explicated clause does not pass for one."""
    system, prover, fixpoint = refuted_trace()
    error = fixpoint.error()
    assert error is not None
    trace = trace_of(system, error)
    assert satisfied(trace, prover) is False
    gained = explicate(trace, prover)
    assert isinstance(gained, Abstraction)
    assert check_refinement(trace, gained, prover)
    with pytest.raises(Inconsistent, match="does not exclude"):
        check_refinement(trace, Abstraction(gained.interface), prover)


def test_what_is_explicated_must_be_valid() -> None:
    system, prover, fixpoint = refuted_trace()
    error = fixpoint.error()
    assert error is not None
    trace = trace_of(system, error)
    x = build.var("x", INT)
    wrong = Abstraction({}, {0: {build.le(x, build.integer(3)): None}})
    with pytest.raises(Inconsistent, match="not valid"):
        check_refinement(trace, wrong, prover)


def test_a_trace_that_comes_up_again_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma 6: with a refinement that adds nothing the first trace would be the second."""
    monkeypatch.setattr(engine, "explicate", lambda *_, **__: Abstraction())
    monkeypatch.setattr(engine, "check_refinement", lambda *_: True)
    with pytest.raises(Inconsistent, match="considered twice"):
        decide(rational("rational.smt2"), "proofs")


def test_joining_only_adds() -> None:
    relation = Function("P", (INT,), build.TRUE.sort)
    (x,) = formals(relation.parameters)
    one = Abstraction({relation: {build.le(x, build.integer(1)): None}})
    other = Abstraction({relation: {build.le(x, build.integer(2)): None}}, {0: {build.TRUE: None}})
    assert one.join(other)
    assert not one.join(other)
    assert one.size == 3


def test_equal_constraints_are_one_boolean_variable() -> None:
    x = build.var("x", INT)
    skeletons = Skeletons()
    less, more = build.le(x, build.integer(3)), build.lt(build.integer(3), x)
    assert skeletons.of(build.not_(less)) is skeletons.of(more)
    assert skeletons.of(build.or_(less, more)) is build.TRUE


# ----------------------------------------------------------------------------------------- DAGs


def doubling(levels: int, relation: str, query: str) -> HornSystem:
    """Each level uses the one before twice: as a tree, a derivation has more than 2 to the `levels` nodes."""
    lines = [f"(declare-fun P{n} (Int) Bool)" for n in range(levels + 1)]
    lines.append("(assert (forall ((x Int)) (=> (and (<= 1 x) (<= x 3)) (P0 x))))")
    for n in range(levels):
        both = f"(and (P{n} x) (P{n} y) ({relation} x y))"
        lines.append(f"(assert (forall ((x Int) (y Int)) (=> {both} (P{n + 1} (+ x y)))))")
    lines.append(f"(assert (forall ((x Int)) (=> (and (P{levels} x) {query}) false)))")
    return load("\n".join(lines))


@pytest.mark.parametrize(
    ("relation", "query", "holds"),
    [
        ("<=", "(< x 0)", True),  # no values at all: the trace is excluded as a DAG
        ("<=", "(> x 200)", False),  # the same values at every use of a level
        ("<", "(> x 200)", False),  # different ones
    ],
)
def test_traces_that_are_no_small_trees(
    relation: str, query: str, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "LARGEST", 100)
    system = doubling(7, relation, query)
    verdict, statistics = decide(system, "proofs")
    assert isinstance(verdict, Safe if holds else Unsafe), verdict
    check(system, verdict)
    if isinstance(verdict, Unsafe):
        assert isinstance(verdict.refutation, Derivation)
        assert len(verdict.refutation.steps) < 50
    else:
        assert statistics.counters["clp.iterations"] > 1


def test_a_trace_as_a_tree() -> None:
    system = doubling(3, "<=", "(< x 0)")
    prover = Prover(Budget(60), Statistics())
    error = Fixpoint(system, Abstraction(), "proofs", prover).error()
    assert error is not None
    trace = trace_of(system, error)
    tree = unfold(trace)
    assert tree is not None
    assert (len(trace.nodes), trace.tree_size, len(tree.nodes)) == (5, 16, 16)
    assert tree.is_tree
    assert not trace.is_tree


def test_fibonacci_is_refuted_by_a_small_derivation() -> None:
    """F(8) = 34 as a tree takes 67 applications of clauses, and one step for each number as a DAG."""
    system = load(FIBONACCI.format("(= n 8) (= a 34)"))
    verdict, _ = decide(system)
    check(system, verdict)
    assert isinstance(verdict, Unsafe)
    assert isinstance(verdict.refutation, Derivation)
    assert len(verdict.refutation.steps) == 10


# -------------------------------------------------------------------------- uninterpreted functions

FUNCTIONS = """(declare-fun f (Int) Int) (declare-fun P (Int Int) Bool)
(assert (forall ((x Int)) (P x {})))
(assert (forall ((x Int) (y Int)) (=> (and (P x y) (> (f y) 3)) (P (+ x 1) y))))
(assert (forall ((x Int) (y Int)) (=> (and (P x y) (> y 3)) false)))"""


@pytest.mark.parametrize("preprocess", [False, True])
def test_a_derivation_for_one_meaning_of_a_function_decides_nothing(preprocess: bool) -> None:
    verdict, _ = decide(load(FUNCTIONS.format("(f x)")), preprocess=preprocess)
    assert isinstance(verdict, Unknown)
    assert verdict.reason.code == "uninterpreted-functions"


@pytest.mark.parametrize(("value", "holds"), [("7", False), ("2", True)])
def test_functions_that_do_not_matter(value: str, holds: bool) -> None:
    system = load(FUNCTIONS.format(value))
    verdict, _ = decide(system)
    assert isinstance(verdict, Safe if holds else Unsafe), verdict
    check(system, verdict)


# -------------------------------------------------------------------------------------- answers


def test_one_formula_for_all_variants_excludes_a_loop() -> None:
    """Round by round there is no end; with a formula for all variants there is."""
    text = COUNTER.replace("(< x 10)", "(< x 1000)").format("x")
    options = Options("proofs", 3, preprocess=False)
    statistics = Statistics()
    verdict = ConstraintLogic().run(Task(load(text)), options, Budget(60), statistics)
    assert isinstance(verdict, Safe)
    check(load(text), verdict)


@pytest.mark.parametrize("preprocess", [False, True])
@pytest.mark.parametrize(
    ("text", "holds"),
    [
        (COUNTER.format("x"), True),
        (COUNTER.format(3), False),
        (FIBONACCI.format("(< a 1)"), True),
        (FIBONACCI.format("(= n 2) (= a 2)"), False),
        ("(declare-fun P () Bool)(assert P)(assert (not P))", False),
        ("(declare-fun P () Bool)(assert (not P))", True),
        ("(assert (forall ((x Int)) (> x 3)))", False),
    ],
)
def test_answers(text: str, holds: bool, preprocess: bool) -> None:
    system = load(text)
    verdict, _ = decide(system, preprocess=preprocess)
    assert isinstance(verdict, Safe if holds else Unsafe), verdict
    check(system, verdict)


def test_it_stops_after_the_refinements_asked_for() -> None:
    text = COUNTER.replace("(not (= y {}))", "(= x 10) (not (= y 10))").replace(
        "(P 0 0)", "(P 0 (ite (< 0 1) 0 1))"
    )
    verdict, statistics = decide(load(text), "proofs", 1)
    assert isinstance(verdict, Unknown)
    assert verdict.reason.code == "refinements-reached"
    assert statistics.counters["clp.refinements"] == 1


def test_the_boolean_rules_of_every_iteration_are_those_of_the_paper() -> None:
    """Flanagan 2004, Figure 1, column 3, after an iteration without predicates."""
    path = Path("examples/papers/flanagan2004/rational.clp")
    system = load_clauses(read_question(path), Budget(60))
    options = Options("proofs", preprocess=False, effort=0, rules=True)
    statistics = Statistics()
    assert isinstance(ConstraintLogic().run(Task(system), options, Budget(60), statistics), Safe)
    rules = [(f.kind, f.text) for f in statistics.findings if f.kind.startswith("Boolean rules")]
    first, second = (f"Boolean rules of iteration {n}" for n in (1, 2))
    assert [kind for kind, _ in rules] == [first] * 7 + [second] * 7
    assert (first, "Eloop() :- Etrunc(), isTrue([I < 100000])") in rules
    assert (second, "Etrunc([D[This] == 0]) :- isTrue([D[This] == 0])") in rules
    (main,) = [text for kind, text in rules if kind == second and text.startswith("Emain()")]
    atoms = ("TreadInt()", "TRat([D2 == D[This := Y]])", "Eloop([D2[This] == 0])", "!isTrue([Y == 0])")
    assert all(atom in main for atom in atoms)
    assert main.count("isTrue") == 4  # three of them in the explicated formula
