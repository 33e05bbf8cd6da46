"""Proofs and refutations as JSON-able data; the part of `certus.core.codec` that knows about evidence.

Nothing here says whether evidence is right. Decoding makes sure that it speaks of things the subject has:
its locations, calls, procedures, inputs, relations and clauses, with formulas and values of their sorts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from certus.core.evidence import (
    Execution,
    Inductive,
    KInductive,
    Partitioned,
    Point,
    Proof,
    Refutation,
    Trace,
    Unrolling,
)
from certus.core.horn import Derivation, HornSystem, Model, Step
from certus.core.memory import decode_partition, encode_partition
from certus.core.program import Alloc, Call, Havoc, Program
from certus.core.reading import mapping, natural, position, sequence, shown, text
from certus.core.sorts import BOOL, machine
from certus.core.terms import Expr, Function, Kind, Value
from certus.core.wire import (
    decode_datum,
    decode_terms,
    decode_value,
    encode_datum,
    encode_terms,
    encode_value,
)

Subject = Program | HornSystem
Json = dict[str, Any]
K = TypeVar("K")
_BYTE = machine(8, signed=False)

# --------------------------------------------------------------------------------------- proofs


def encode_proof(proof: Proof) -> Json:
    if isinstance(proof, Inductive):
        invariants, names = list(proof.invariants.items()), list(proof.summaries)
        return {
            "kind": "inductive",
            "points": [_encode_point(point) for point, _ in invariants],
            "summaries": names,
            "terms": encode_terms([f for _, f in invariants] + [proof.summaries[name] for name in names]),
        }
    if isinstance(proof, KInductive):
        return {
            "kind": "k-inductive",
            "k": proof.k,
            "points": [_encode_point(point) for point in proof.invariants],
            "terms": encode_terms(list(proof.invariants.values())),
        }
    if isinstance(proof, Unrolling):
        return {"kind": "unrolling", "loops": dict(proof.loops), "recursion": dict(proof.recursion)}
    if isinstance(proof, Execution):
        return {"kind": "execution", "steps": proof.steps}
    if isinstance(proof, Partitioned):
        partition = encode_partition(proof.partition)
        return {"kind": "partitioned", "partition": partition, "proof": encode_proof(proof.proof)}
    return _encode_model(proof)


def decode_proof(data: object, subject: Subject) -> Proof:
    kind = mapping(data, "a proof", ("kind",))["kind"]
    if kind == "model":
        return _decode_model(data, subject)
    program = require_program(subject, "this proof")
    if kind == "inductive":
        found = mapping(data, "an inductive proof", ("points", "summaries", "terms"))
        points = [_decode_point(p, program) for p in sequence(found["points"], "the points of a proof")]
        names = [
            require_procedure(n, program) for n in sequence(found["summaries"], "the summaries of a proof")
        ]
        formulas = _formulas(found["terms"], len(points) + len(names))
        split = len(points)
        return Inductive(_distinct(points, formulas[:split]), _distinct(names, formulas[split:]))
    if kind == "k-inductive":
        found = mapping(data, "a k-inductive proof", ("k", "points", "terms"))
        points = [_decode_point(p, program) for p in sequence(found["points"], "the points of a proof")]
        return KInductive(natural(found["k"], "k"), _distinct(points, _formulas(found["terms"], len(points))))
    if kind == "unrolling":
        found = mapping(data, "an unrolling", ("loops", "recursion"))
        loops = mapping(found["loops"], "the loops of an unrolling")
        recursion = mapping(found["recursion"], "the recursion of an unrolling")
        return Unrolling(
            {require_location(name, program): natural(bound, "a bound") for name, bound in loops.items()},
            {
                require_procedure(name, program): natural(bound, "a bound")
                for name, bound in recursion.items()
            },
        )
    if kind == "execution":
        found = mapping(data, "an execution", ("steps",))
        return Execution(natural(found["steps"], "the length of an execution"))
    if kind == "partitioned":
        found = mapping(data, "a partitioned proof", ("partition", "proof"))
        inner = mapping(found["proof"], "a proof", ("kind",))
        if inner["kind"] == kind:
            raise ValueError("a program is partitioned once")
        return Partitioned(decode_partition(found["partition"]), decode_proof(inner, program))
    raise ValueError(f"there is no kind of proof {shown(kind)}")


def _encode_point(point: Point) -> Json:
    return {"location": point.location.name, "calls": list(point.calls)}


def _decode_point(data: object, program: Program) -> Point:
    found = mapping(data, "a point", ("location", "calls"))
    location = program.location[require_location(found["location"], program)]
    calls = sequence(found["calls"], "the calls of a point")
    for call in calls:
        edge = program.edge.get(natural(call, "a call"))
        if edge is None or not isinstance(edge.op, Call):
            raise ValueError(f"the program has no call at edge number {call}")
    return Point(location, tuple(calls))


def _formulas(table: object, count: int) -> tuple[Expr, ...]:
    formulas = decode_terms(table)
    if len(formulas) != count:
        raise ValueError(f"{count} formulas were expected, not {len(formulas)}")
    for formula in formulas:
        if formula.sort is not BOOL:
            raise ValueError(f"a formula was expected, not {shown(formula)}")
    return formulas


def _distinct(keys: Sequence[K], formulas: Sequence[Expr]) -> dict[K, Expr]:
    found = dict(zip(keys, formulas, strict=True))
    if len(found) != len(keys):
        raise ValueError("a proof has two formulas for one place")
    return found


def _encode_model(model: Model) -> Json:
    """Each relation applied to its parameters, and the formula it stands for."""
    roots: list[Expr] = []
    for relation, (parameters, formula) in model.relations.items():
        roots += (Expr(Kind.APPLY, parameters, relation, BOOL), formula)
    return {"kind": "model", "terms": encode_terms(roots)}


def _decode_model(data: object, subject: Subject) -> Model:
    known = _horn(subject, "a model").relations
    roots = decode_terms(mapping(data, "a model", ("terms",))["terms"])
    if len(roots) % 2:
        raise ValueError("a model has a formula for each relation")
    found: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
    for head, formula in zip(roots[::2], roots[1::2], strict=True):
        if head.kind is not Kind.APPLY or head.function not in known or head.function in found:
            raise ValueError(f"a model interprets each relation of the system once, unlike {shown(head)}")
        if any(p.kind is not Kind.VAR for p in head.args) or len(set(head.args)) != len(head.args):
            raise ValueError(f"the parameters of a relation must be distinct variables: {shown(head)}")
        if formula.sort is not BOOL:
            raise ValueError(f"a formula was expected, not {shown(formula)}")
        found[head.function] = (head.args, formula)
    return Model(found)


# ---------------------------------------------------------------------------------- refutations


def encode_refutation(refutation: Refutation) -> Json:
    return encode_trace(refutation) if isinstance(refutation, Trace) else _encode_derivation(refutation)


def decode_refutation(data: object, subject: Subject) -> Refutation:
    kind = mapping(data, "a refutation", ("kind",))["kind"]
    if kind == "trace":
        return decode_trace(data, require_program(subject, "a trace"))
    if kind == "derivation":
        return _decode_derivation(data, _horn(subject, "a derivation"))
    raise ValueError(f"there is no kind of refutation {shown(kind)}")


def encode_trace(trace: Trace) -> Json:
    return {
        "kind": "trace",
        "error": trace.error,
        "variables": encode_terms(list(trace.initial)),
        "initial": [encode_value(value) for value in trace.initial.values()],
        "inputs": {str(edge): [_encode_values(v) for v in runs] for edge, runs in trace.inputs.items()},
    }


def decode_trace(data: object, program: Program) -> Trace:
    found = mapping(data, "a trace", ("error", "variables", "initial", "inputs"))
    variables = decode_terms(found["variables"])
    for variable in variables:
        if variable not in program.globals:
            raise ValueError(f"the program has no global variable {shown(variable)}")
    initial = _decode_values(found["initial"], variables)
    inputs = mapping(found["inputs"], "the inputs of a trace")
    return Trace(
        require_location(found["error"], program),
        dict(zip(variables, initial, strict=True)),
        dict(_decode_inputs(edge, runs, program) for edge, runs in inputs.items()),
    )


def _decode_inputs(edge: str, runs: object, program: Program) -> tuple[int, tuple[tuple[Value, ...], ...]]:
    op = program.edge[int(edge)].op if edge.isdecimal() and int(edge) in program.edge else None
    executions = sequence(runs, "the inputs at an edge")
    if isinstance(op, Alloc):
        return int(edge), tuple(_decode_bytes(contents) for contents in executions)
    if not isinstance(op, Havoc):
        raise ValueError(f"the program has no input at edge number {edge}")
    return int(edge), tuple(_decode_values(values, op.targets) for values in executions)


def _decode_bytes(data: object) -> tuple[Value, ...]:
    return tuple(decode_value(each, _BYTE) for each in sequence(data, "the contents of an object"))


def _encode_derivation(derivation: Derivation) -> Json:
    steps = [[s.clause, [encode_datum(v) for v in s.values], list(s.premises)] for s in derivation.steps]
    return {"kind": "derivation", "steps": steps}


def _decode_derivation(data: object, system: HornSystem) -> Derivation:
    found: list[Step] = []
    for entry in sequence(mapping(data, "a derivation", ("steps",))["steps"], "the steps of a derivation"):
        number, values, premises = sequence(entry, "a step of a derivation", 3)
        clause = system.clauses[position(number, len(system.clauses), "clause")]
        earlier = sequence(premises, "the premises of a step", len(clause.body))
        found.append(
            Step(
                number,
                tuple(
                    decode_datum(value, v.sort)
                    for value, v in zip(
                        sequence(values, "the values of variables", len(clause.variables)),
                        clause.variables,
                        strict=True,
                    )
                ),
                tuple(position(p, len(found), "earlier step") for p in earlier),
            )
        )
    return Derivation(tuple(found))


def _encode_values(values: Sequence[Value]) -> list[Any]:
    return [encode_value(value) for value in values]


def _decode_values(data: object, variables: Sequence[Expr]) -> tuple[Value, ...]:
    coded = sequence(data, "the values of variables", len(variables))
    return tuple(decode_value(value, v.sort) for value, v in zip(coded, variables, strict=True))


# -------------------------------------------------------------------------------------- subject


def require_program(subject: Subject, what: str) -> Program:
    if not isinstance(subject, Program):
        raise ValueError(f"{what} is about a program, not about Horn clauses")
    return subject


def _horn(subject: Subject, what: str) -> HornSystem:
    if not isinstance(subject, HornSystem):
        raise ValueError(f"{what} is about Horn clauses, not about a program")
    return subject


def require_location(name: object, program: Program) -> str:
    """The name of a location that the program has."""
    if text(name, "a location") not in program.location:
        raise ValueError(f"the program has no location {shown(name)}")
    return str(name)


def require_procedure(name: object, program: Program) -> str:
    """The name of a procedure that the program has."""
    if text(name, "a procedure") not in program.procedures:
        raise ValueError(f"the program has no procedure {shown(name)}")
    return str(name)
