"""Outcomes as JSON: round trips, and sentences for nonsense."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from certus.codec.evidence import (
    decode_proof,
    decode_refutation,
    decode_trace,
    encode_proof,
    encode_refutation,
    encode_trace,
)
from certus.codec.outcomes import (
    decode_check,
    decode_diagnostic,
    decode_outcome,
    decode_statistics,
    decode_verdict,
    encode_check,
    encode_diagnostic,
    encode_outcome,
    encode_statistics,
    encode_verdict,
)
from certus.core import build as b
from certus.core.accounting import Finding, Refinement, Statistics
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.evidence import (
    Execution,
    Inductive,
    KInductive,
    Point,
    Proof,
    Safe,
    Trace,
    Unknown,
    Unrolling,
    Unsafe,
    old,
)
from certus.core.horn import Clause, Derivation, HornSystem, Model
from certus.core.horn import Step as Inference
from certus.core.outcome import (
    Compilers,
    Outcome,
    PassSize,
    ProofCheck,
    Reason,
    Replay,
    Role,
    Size,
    Step,
    Undecided,
)
from certus.core.program import Assign, Call, Edge, ErrorSite, Havoc, Location, Procedure, Program
from certus.core.terms import BOOL, INT, REAL, Function, machine

U8 = machine(8, signed=False)
G, H = b.var("g", INT), b.var("h", U8)
V, W, FLAG = b.var("main.v", INT), b.var("main.w", REAL), b.var("main.flag", BOOL)
AT = [Location(i, "main") for i in range(4)]
INSIDE = [Location(i, "f") for i in range(4, 6)]
EDGES = (
    Edge(0, AT[0], Havoc((V, W, FLAG)), AT[1]),
    Edge(1, AT[1], Call("f", (), ()), AT[2]),
    Edge(2, AT[2], Assign((G,), (V,)), AT[3]),
)
MAIN = Procedure("main", (), (), (V, W, FLAG), AT[0], AT[2], EDGES)
F = Procedure("f", (), (), (), INSIDE[0], INSIDE[1], (Edge(3, INSIDE[0], Assign((), ()), INSIDE[1]),))
PROGRAM = Program({"main": MAIN, "f": F}, "main", (G, H), (ErrorSite(AT[3], "assertion", None, "g > 0"),))

RELATION = Function("inv", (INT, BOOL), BOOL)
X, P = b.var("x", INT), b.var("p", BOOL)
ATOM = b.apply(RELATION, (X, P))
SYSTEM = HornSystem(
    (RELATION,),
    (Clause((X, P), (), b.lt(X, b.integer(0)), ATOM), Clause((X, P), (ATOM,), P, None)),
)

SPAN = Span("a.lp", 1, 2, 3, 4, "b.lp", 9)
DIAGNOSTIC = Diagnostic("some-code", "A sentence.", Severity.WARNING, SPAN, "Try this.")
TRACE = Trace("main:3", {G: -7, H: 255}, {0: ((10**40, Fraction(1, 3), True), (0, Fraction(2), False))})
DERIVATION = Derivation((Inference(0, (-1, True), ()), Inference(1, (-1, True), (0,))))
MODEL = Model({RELATION: ((X, P), b.lt(X, b.integer(0)))})
PROOFS: list[Proof] = [
    Inductive(
        {Point(AT[1]): b.le(G, V), Point(INSIDE[0], (1,)): b.le(old(G), G), Point(AT[2]): b.TRUE},
        {"f": b.eq(G, old(G))},
    ),
    Inductive({}),
    KInductive(3, {Point(AT[1]): b.le(G, V)}),
    Unrolling({"main:1": 4}, {"f": 2}),
    Execution(12),
]
REPLAY = Replay(
    9,
    (
        Step(0, 0, 0, ((V, 3), (FLAG, True)), Reason(Role.VALUE, 7, 3, V)),
        Step(1, 3, 1, ()),
        Step(8, 2, 0, ((G, 3),), Reason(Role.CLAIM, 8, 2)),
    ),
    "main:3",
    "confirmed",
    5,
    (G,),
    Compilers(("clang",), differs="main returned"),
)
CHECK = ProofCheck(31, {"z3": 31, "cvc5": 29}, 100, {"cvc5": {Undecided.GAVE_UP: 2}}, 2)
STATISTICS = Statistics(
    Counter({"solver.bmc": 3}),
    {"solver.bmc": 0.25},
    [Finding("path edges", "main:1", "x >= 0")],
    [Refinement(("line 1", "line 2 (3 times)"), (("line 2", "x >= 0"),)), Refinement((), ())],
)
OUTCOME = Outcome(
    PROGRAM,
    "unreach-call",
    Unsafe(TRACE),
    "bmc",
    REPLAY,
    STATISTICS,
    (DIAGNOSTIC, Diagnostic("other", "Another.")),
    {"parse": 0.5},
    (PassSize("blocks", Size(9, 8), Size(3, 2)),),
)


def through_json(data: object) -> Any:
    return json.loads(json.dumps(data))


class TestRoundTrip:
    @pytest.mark.parametrize("proof", PROOFS, ids=lambda p: type(p).__name__)
    def test_proofs(self, proof: Proof) -> None:
        assert decode_proof(through_json(encode_proof(proof)), PROGRAM) == proof

    def test_models_and_derivations(self) -> None:
        assert decode_proof(through_json(encode_proof(MODEL)), SYSTEM) == MODEL
        assert decode_refutation(through_json(encode_refutation(DERIVATION)), SYSTEM) == DERIVATION

    def test_traces(self) -> None:
        assert decode_trace(through_json(encode_trace(TRACE)), PROGRAM) == TRACE
        assert decode_refutation(through_json(encode_refutation(Trace("main:3"))), PROGRAM) == Trace("main:3")

    @pytest.mark.parametrize("verdict", [Safe(PROOFS[0]), Unsafe(TRACE), Unknown(DIAGNOSTIC)])
    def test_verdicts(self, verdict: Any) -> None:
        assert decode_verdict(through_json(encode_verdict(verdict)), PROGRAM) == verdict

    @pytest.mark.parametrize("check", [None, CHECK, REPLAY])
    def test_checks(self, check: Any) -> None:
        assert decode_check(through_json(encode_check(check)), PROGRAM) == check

    def test_diagnostics_and_statistics(self) -> None:
        assert decode_diagnostic(through_json(encode_diagnostic(DIAGNOSTIC))) == DIAGNOSTIC
        assert decode_statistics(through_json(encode_statistics(STATISTICS))) == STATISTICS

    def test_outcomes(self) -> None:
        assert decode_outcome(through_json(encode_outcome(OUTCOME)), PROGRAM) == OUTCOME


def proof(data: object) -> object:
    return decode_proof(data, PROGRAM)


def refutation(data: object) -> object:
    return decode_refutation(data, PROGRAM)


class TestRefusals:
    @pytest.mark.parametrize(
        ("decode", "data", "sentence"),
        [
            (proof, {"kind": "magic"}, "no kind of proof 'magic'"),
            (proof, {"kind": ["execution"]}, "no kind of proof"),
            (proof, {"kind": "execution", "steps": -1}, "natural number"),
            (proof, {"kind": "execution", "steps": True}, "natural number"),
            (proof, {"kind": "execution"}, "lacks the field 'steps'"),
            (proof, {"kind": "unrolling", "loops": {"main:77": 1}, "recursion": {}}, "no location 'main:77'"),
            (proof, {"kind": "unrolling", "loops": {}, "recursion": {"g": 1}}, "no procedure 'g'"),
            (proof, encode_proof(MODEL), "about Horn clauses"),
            (proof, 5, "must be an object"),
            (refutation, encode_refutation(DERIVATION), "about Horn clauses"),
            (refutation, {"kind": "rumour"}, "no kind of refutation"),
            (refutation, {**encode_trace(TRACE), "error": "main:9"}, "no location 'main:9'"),
            (refutation, {**encode_trace(TRACE), "initial": ["1"]}, "2 parts, not 1"),
            (refutation, {**encode_trace(TRACE), "initial": ["1", "256"]}, "not a value of sort u8"),
            (refutation, {**encode_trace(TRACE), "inputs": {"1": []}}, "no input at edge number 1"),
            (refutation, {**encode_trace(TRACE), "inputs": {"x": []}}, "no input at edge number x"),
            (
                refutation,
                {**encode_trace(TRACE), "inputs": {"0": [["1", "1", True]]}},
                "not a value of sort Real",
            ),
            (
                decode_statistics,
                {"counters": {"a": 1.5}, "seconds": {}, "findings": [], "refinements": []},
                "natural number",
            ),
            (
                decode_statistics,
                {"counters": {}, "seconds": {"a": float("nan")}, "findings": [], "refinements": []},
                "number of seconds",
            ),
            (
                decode_diagnostic,
                {**encode_diagnostic(DIAGNOSTIC), "severity": "fatal"},
                "no severity 'fatal'",
            ),
        ],
    )
    def test_sentences(self, decode: Callable[[object], object], data: object, sentence: str) -> None:
        with pytest.raises(ValueError, match=sentence):
            decode(data)

    def test_points_must_exist_and_be_distinct(self) -> None:
        data = encode_proof(KInductive(1, {Point(INSIDE[0], (1,)): b.TRUE, Point(AT[1]): b.TRUE}))
        no_call = copy.deepcopy(data)
        no_call["points"][0]["calls"] = [0]
        with pytest.raises(ValueError, match="no call at edge number 0"):
            decode_proof(no_call, PROGRAM)
        data["points"][0] = data["points"][1]
        with pytest.raises(ValueError, match="two formulas for one place"):
            decode_proof(data, PROGRAM)

    def test_formulas_must_be_formulas(self) -> None:
        data = encode_proof(KInductive(1, {Point(AT[1]): G}))
        with pytest.raises(ValueError, match="a formula was expected"):
            decode_proof(data, PROGRAM)

    def test_steps_of_a_derivation_rest_on_earlier_ones(self) -> None:
        data = encode_refutation(DERIVATION)
        data["steps"][1][2] = [1]
        with pytest.raises(ValueError, match="no earlier step number 1"):
            decode_refutation(data, SYSTEM)
        data["steps"][1][2] = []
        with pytest.raises(ValueError, match="must have 1 parts"):
            decode_refutation(data, SYSTEM)

    def test_models_interpret_the_relations_of_the_system(self) -> None:
        other = Function("other", (INT,), BOOL)
        with pytest.raises(ValueError, match="each relation of the system"):
            decode_proof(encode_proof(Model({other: ((X,), b.TRUE)})), SYSTEM)
        repeated = Function("two", (INT, INT), BOOL)
        with pytest.raises(ValueError, match="distinct variables"):
            decode_proof(encode_proof(Model({repeated: ((X, X), b.TRUE)})), HornSystem((repeated,), ()))


def damaged(data: Any) -> Iterator[Any]:
    """Every variant of `data` with one part removed or replaced by something of another shape."""
    replacements: tuple[Any, ...] = (None, -1, "?", [], {}, 10**6, [[]], True)
    if isinstance(data, dict):
        for key in data:
            yield {k: v for k, v in data.items() if k != key}
            for other in (*replacements, *damaged(data[key])):
                yield {**data, key: other}
    elif isinstance(data, list):
        for position in range(len(data)):
            for other in (*replacements, *damaged(data[position])):
                yield [*data[:position], other, *data[position + 1 :]]


@pytest.mark.parametrize(
    ("data", "subject"),
    [
        (encode_outcome(OUTCOME), PROGRAM),
        (encode_outcome(Outcome(PROGRAM, "p", Safe(PROOFS[0]), "e", CHECK)), PROGRAM),
        (encode_outcome(Outcome(PROGRAM, "p", Safe(PROOFS[3]), "e")), PROGRAM),
        (encode_outcome(Outcome(SYSTEM, "p", Safe(MODEL), "e")), SYSTEM),
        (encode_outcome(Outcome(SYSTEM, "p", Unsafe(DERIVATION), "e")), SYSTEM),
    ],
)
def test_damage_is_a_value_error_or_still_an_outcome(data: Any, subject: Program | HornSystem) -> None:
    refusals = []
    for variant in damaged(through_json(data)):
        try:
            decoded = decode_outcome(variant, subject)
        except ValueError as error:
            refusals.append(str(error))
        else:
            assert decode_outcome(through_json(encode_outcome(decoded)), subject) == decoded
    assert len(refusals) > 100
    assert all(" " in sentence for sentence in refusals)
