"""Encode proofs, partitions of memory and refutations as JSON, and read them back.

Decoding does not check whether evidence is right. It checks that evidence refers to parts the subject has:
its locations, calls, procedures, inputs, relations and clauses, with formulas and values of their sorts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, get_args

from certus.codec.reading import Json, JsonObject, integer, mapping, natural, position, sequence, shown, text
from certus.codec.terms import (
    decode_datum,
    decode_terms,
    decode_value,
    encode_datum,
    encode_terms,
    encode_value,
)
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
from certus.core.memory import WIDTHS, Field, Layout, Partition, Pointer, Region, Storage
from certus.core.program import Alloc, Call, Havoc, Program
from certus.core.terms import BOOL, Expr, Function, Kind, Value, machine

Subject = Program | HornSystem
K = TypeVar("K")
_BYTE = machine(8, signed=False)

# --------------------------------------------------------------------------------------- proofs


def encode_proof(proof: Proof) -> JsonObject:
    """Encode a proof with its `kind`."""
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
    """Read a proof about `subject`."""
    kind = mapping(data, "a proof", ("kind",))["kind"]
    if kind == "model":
        return _decode_model(data, subject)
    program = require_program(subject, "this proof")
    if kind == "inductive":
        fields = mapping(data, "an inductive proof", ("points", "summaries", "terms"))
        points = [_decode_point(p, program) for p in sequence(fields["points"], "the points of a proof")]
        names = [
            require_procedure(n, program) for n in sequence(fields["summaries"], "the summaries of a proof")
        ]
        formulas = _formulas(fields["terms"], len(points) + len(names))
        split = len(points)
        return Inductive(_distinct(points, formulas[:split]), _distinct(names, formulas[split:]))
    if kind == "k-inductive":
        fields = mapping(data, "a k-inductive proof", ("k", "points", "terms"))
        points = [_decode_point(p, program) for p in sequence(fields["points"], "the points of a proof")]
        formulas = _formulas(fields["terms"], len(points))
        return KInductive(natural(fields["k"], "k"), _distinct(points, formulas))
    if kind == "unrolling":
        fields = mapping(data, "an unrolling", ("loops", "recursion"))
        loops = mapping(fields["loops"], "the loops of an unrolling")
        recursion = mapping(fields["recursion"], "the recursion of an unrolling")
        return Unrolling(
            {require_location(name, program): natural(bound, "a bound") for name, bound in loops.items()},
            {
                require_procedure(name, program): natural(bound, "a bound")
                for name, bound in recursion.items()
            },
        )
    if kind == "execution":
        fields = mapping(data, "an execution", ("steps",))
        return Execution(natural(fields["steps"], "the length of an execution"))
    if kind == "partitioned":
        fields = mapping(data, "a partitioned proof", ("partition", "proof"))
        inner = mapping(fields["proof"], "a proof", ("kind",))
        if inner["kind"] == kind:
            raise ValueError("a program is partitioned once")
        return Partitioned(decode_partition(fields["partition"]), decode_proof(inner, program))
    raise ValueError(f"there is no kind of proof {shown(kind)}")


def _encode_point(point: Point) -> JsonObject:
    return {"location": point.location.name, "calls": list(point.calls)}


def _decode_point(data: object, program: Program) -> Point:
    fields = mapping(data, "a point", ("location", "calls"))
    location = program.location[require_location(fields["location"], program)]
    calls = tuple(natural(call, "a call") for call in sequence(fields["calls"], "the calls of a point"))
    for call in calls:
        edge = program.edge.get(call)
        if edge is None or not isinstance(edge.op, Call):
            raise ValueError(f"the program has no call at edge number {call}")
    return Point(location, calls)


def _formulas(table: object, count: int) -> tuple[Expr, ...]:
    """Read a table of `count` formulas."""
    formulas = decode_terms(table)
    if len(formulas) != count:
        raise ValueError(f"{count} formulas were expected, not {len(formulas)}")
    for formula in formulas:
        if formula.sort is not BOOL:
            raise ValueError(f"a formula was expected, not {shown(formula)}")
    return formulas


def _distinct(keys: Sequence[K], formulas: Sequence[Expr]) -> dict[K, Expr]:
    """Return the formulas by key; refuse a key that occurs twice."""
    by_key = dict(zip(keys, formulas, strict=True))
    if len(by_key) != len(keys):
        raise ValueError("a proof has two formulas for one place")
    return by_key


def _encode_model(model: Model) -> JsonObject:
    """Encode each relation applied to its parameters, followed by the formula it stands for."""
    roots: list[Expr] = []
    for relation, (parameters, formula) in model.relations.items():
        roots += (Expr(Kind.APPLY, parameters, relation, BOOL), formula)
    return {"kind": "model", "terms": encode_terms(roots)}


def _decode_model(data: object, subject: Subject) -> Model:
    relations = _horn(subject, "a model").relations
    roots = decode_terms(mapping(data, "a model", ("terms",))["terms"])
    if len(roots) % 2:
        raise ValueError("a model has a formula for each relation")
    meanings: dict[Function, tuple[tuple[Expr, ...], Expr]] = {}
    for head, formula in zip(roots[::2], roots[1::2], strict=True):
        if head.kind is not Kind.APPLY or head.function not in relations or head.function in meanings:
            raise ValueError(f"a model interprets each relation of the system once, unlike {shown(head)}")
        if any(p.kind is not Kind.VAR for p in head.args) or len(set(head.args)) != len(head.args):
            raise ValueError(f"the parameters of a relation must be distinct variables: {shown(head)}")
        if formula.sort is not BOOL:
            raise ValueError(f"a formula was expected, not {shown(formula)}")
        meanings[head.function] = (head.args, formula)
    return Model(meanings)


# ---------------------------------------------------------------------------------- refutations


def encode_refutation(refutation: Refutation) -> JsonObject:
    """Encode a refutation with its `kind`."""
    return encode_trace(refutation) if isinstance(refutation, Trace) else _encode_derivation(refutation)


def decode_refutation(data: object, subject: Subject) -> Refutation:
    """Read a refutation about `subject`."""
    kind = mapping(data, "a refutation", ("kind",))["kind"]
    if kind == "trace":
        return decode_trace(data, require_program(subject, "a trace"))
    if kind == "derivation":
        return _decode_derivation(data, _horn(subject, "a derivation"))
    raise ValueError(f"there is no kind of refutation {shown(kind)}")


def encode_trace(trace: Trace) -> JsonObject:
    """Encode a trace; inputs are keyed by the index of their edge."""
    return {
        "kind": "trace",
        "error": trace.error,
        "variables": encode_terms(list(trace.initial)),
        "initial": [encode_value(value) for value in trace.initial.values()],
        "inputs": {
            str(edge): [[encode_value(value) for value in values] for values in runs]
            for edge, runs in trace.inputs.items()
        },
    }


def decode_trace(data: object, program: Program) -> Trace:
    """Read a trace of `program`."""
    fields = mapping(data, "a trace", ("error", "variables", "initial", "inputs"))
    variables = decode_terms(fields["variables"])
    for variable in variables:
        if variable not in program.globals:
            raise ValueError(f"the program has no global variable {shown(variable)}")
    initial = _decode_values(fields["initial"], variables)
    inputs = mapping(fields["inputs"], "the inputs of a trace")
    return Trace(
        require_location(fields["error"], program),
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


def _encode_derivation(derivation: Derivation) -> JsonObject:
    steps: list[Json] = [
        [step.clause, [encode_datum(value) for value in step.values], list(step.premises)]
        for step in derivation.steps
    ]
    return {"kind": "derivation", "steps": steps}


def _decode_derivation(data: object, system: HornSystem) -> Derivation:
    steps: list[Step] = []
    for entry in sequence(mapping(data, "a derivation", ("steps",))["steps"], "the steps of a derivation"):
        number, values, premises = sequence(entry, "a step of a derivation", 3)
        index = position(number, len(system.clauses), "clause")
        clause = system.clauses[index]
        coded = sequence(values, "the values of variables", len(clause.variables))
        decoded = tuple(decode_datum(d, v.sort) for d, v in zip(coded, clause.variables, strict=True))
        earlier = sequence(premises, "the premises of a step", len(clause.body))
        steps.append(Step(index, decoded, tuple(position(p, len(steps), "earlier step") for p in earlier)))
    return Derivation(tuple(steps))


def _decode_values(data: object, variables: Sequence[Expr]) -> tuple[Value, ...]:
    coded = sequence(data, "the values of variables", len(variables))
    return tuple(decode_value(value, v.sort) for value, v in zip(coded, variables, strict=True))


# -------------------------------------------------------------------------------------- subject


def require_program(subject: Subject, what: str) -> Program:
    """Return the subject, which must be a program."""
    if not isinstance(subject, Program):
        raise ValueError(f"{what} is about a program, not about Horn clauses")
    return subject


def _horn(subject: Subject, what: str) -> HornSystem:
    if not isinstance(subject, HornSystem):
        raise ValueError(f"{what} is about Horn clauses, not about a program")
    return subject


def require_location(name: object, program: Program) -> str:
    """Return the name of a location of the program."""
    location = text(name, "a location")
    if location not in program.location:
        raise ValueError(f"the program has no location {shown(name)}")
    return location


def require_procedure(name: object, program: Program) -> str:
    """Return the name of a procedure of the program."""
    procedure = text(name, "a procedure")
    if procedure not in program.procedures:
        raise ValueError(f"the program has no procedure {shown(name)}")
    return procedure


T = TypeVar("T")


def encode_partition(partition: Partition) -> JsonObject:
    """Encode a partition; the carriers of addresses are a table of terms."""
    return {
        "bits": partition.bits,
        "regions": [_encode_region(region) for region in partition.regions],
        "carriers": encode_terms(list(partition.carriers)),
        "types": [_encode_pointer(pointer) for pointer in partition.carriers.values()],
        "watched": partition.watched,
    }


def decode_partition(data: object) -> Partition:
    """Read a partition. Whether it fits a program is for `check` to decide."""
    fields = mapping(data, "a partition", ("bits", "regions", "carriers", "types"))
    entries = sequence(fields["regions"], "the regions of a partition")
    regions = tuple(_decode_region(entry, len(entries)) for entry in entries)
    carriers = decode_terms(fields["carriers"])
    if any(v.kind is not Kind.VAR for v in carriers) or len(set(carriers)) != len(carriers):
        raise ValueError("the carriers of addresses must be distinct variables")
    types = [
        _decode_pointer(entry, len(entries))
        for entry in sequence(fields["types"], "the types of carriers", len(carriers))
    ]
    typed = {v: t for v, t in zip(carriers, types, strict=True) if t is not None}
    if len(typed) != len(carriers):
        raise ValueError("a carrier of addresses has no type")
    bits = _one_of(fields["bits"], WIDTHS, "the width of pointers")
    watched = _one_of(fields.get("watched", False), (False, True), "the field 'watched' of a partition")
    return Partition(bits, regions, typed, watched)


def _encode_region(region: Region) -> JsonObject:
    fields = None
    if region.fields is not None:
        fields = [[f.offset, f.width, _encode_pointer(f.holds)] for f in region.fields]
    return {
        "stride": region.stride,
        "fields": fields,
        "holds": _encode_pointer(region.holds),
        "layout": region.layout,
        "storage": region.storage,
        "wild": region.wild,
    }


def _decode_region(data: object, regions: int) -> Region:
    keys = ("stride", "fields", "holds", "layout", "storage", "wild")
    entry = mapping(data, "a region", keys)
    fields: tuple[Field, ...] | None = None
    if entry["fields"] is not None:
        fields = tuple(_decode_field(f, regions) for f in sequence(entry["fields"], "the fields of a region"))
    layouts: tuple[Layout, ...] = get_args(Layout)
    storages: tuple[Storage, ...] = get_args(Storage)
    return Region(
        natural(entry["stride"], "a stride"),
        fields,
        _decode_pointer(entry["holds"], regions),
        _one_of(entry["layout"], layouts, "the layout of a region"),
        _one_of(entry["storage"], storages, "the storage of a region"),
        _one_of(entry["wild"], (False, True), "the field `wild` of a region"),
    )


def _one_of(data: object, values: Sequence[T], what: str) -> T:
    """Return the value that equals the data."""
    if data not in values:
        raise ValueError(f"{what} cannot be {shown(data)}")
    return values[values.index(data)]


def _decode_field(data: object, regions: int) -> Field:
    offset, width, holds = sequence(data, "a field", 3)
    return Field(integer(offset, "an offset"), natural(width, "a width"), _decode_pointer(holds, regions))


def _encode_pointer(pointer: Pointer | None) -> Json:
    return None if pointer is None else [pointer.region, pointer.phase]


def _decode_pointer(data: object, regions: int) -> Pointer | None:
    if data is None:
        return None
    region, phase = sequence(data, "the type of an address", 2)
    return Pointer(position(region, regions, "region"), integer(phase, "a phase"))
