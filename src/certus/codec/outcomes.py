"""Encode outcomes and their parts as JSON, for other processes and for evidence files, and read them back.

Terms are saved in tables (`certus.codec.terms`), locations by name, edges by index. Decoding checks all data
against the subject it is about, and raises ValueError with a sentence that says what is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from certus.codec.evidence import (
    Subject,
    decode_proof,
    decode_refutation,
    encode_proof,
    encode_refutation,
    require_location,
    require_program,
)
from certus.codec.reading import (
    Json,
    JsonObject,
    integer,
    mapping,
    natural,
    position,
    seconds,
    sequence,
    shown,
    text,
)
from certus.codec.terms import decode_terms, decode_value, encode_terms, encode_value
from certus.core.accounting import Finding, Refinement, Statistics
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.evidence import Safe, Unknown, Unsafe, Verdict
from certus.core.outcome import (
    Challenge,
    Check,
    Compilers,
    DerivationCheck,
    Disagreement,
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
from certus.core.program import Program
from certus.core.terms import Expr, Kind

if TYPE_CHECKING:
    from certus.core.memory_defects import MemoryDefect

VERSION: Final = 2

# -------------------------------------------------------------------------------------- outcome


def encode_outcome(outcome: Outcome) -> JsonObject:
    """Encode an outcome without its subject and the expected answer, which the reader has already."""
    return {
        "version": VERSION,
        "property": outcome.property_name,
        "engine": outcome.engine,
        "verdict": encode_verdict(outcome.verdict),
        "check": encode_check(outcome.check),
        "statistics": encode_statistics(outcome.statistics),
        "diagnostics": [encode_diagnostic(d) for d in outcome.diagnostics],
        "seconds": dict(outcome.seconds),
        "passes": [_encode_pass(p) for p in outcome.passes],
    }


def decode_outcome(data: object, subject: Subject) -> Outcome:
    """Read an outcome about `subject`."""
    answer = ("version", "property", "engine", "verdict", "check")
    entry = mapping(data, "an outcome", (*answer, "statistics", "diagnostics", "seconds", "passes"))
    if entry["version"] != VERSION:
        raise ValueError(f"an outcome of version {VERSION} was expected, not {shown(entry['version'])}")
    return Outcome(
        subject,
        text(entry["property"], "the property"),
        decode_verdict(entry["verdict"], subject),
        text(entry["engine"], "the engine"),
        decode_check(entry["check"], subject),
        decode_statistics(entry["statistics"]),
        tuple(decode_diagnostic(d) for d in sequence(entry["diagnostics"], "the diagnostics")),
        _decode_seconds(entry["seconds"]),
        tuple(_decode_pass(p) for p in sequence(entry["passes"], "the passes")),
    )


def _encode_pass(item: PassSize) -> JsonObject:
    before, after = ([size.locations, size.edges] for size in (item.before, item.after))
    return {"name": item.name, "before": before, "after": after}


def _decode_pass(data: object) -> PassSize:
    entry = mapping(data, "a pass", ("name", "before", "after"))
    before, after = (
        Size(*(natural(n, "a size") for n in sequence(entry[key], "a size", 2)))
        for key in ("before", "after")
    )
    return PassSize(text(entry["name"], "the name of a pass"), before, after)


def encode_statistics(statistics: Statistics) -> JsonObject:
    """Encode counters, times and what an engine reported."""
    return {
        "counters": dict(statistics.counters),
        "seconds": dict(statistics.seconds),
        "findings": [[item.kind, item.place, item.text] for item in statistics.findings],
        "refinements": [[list(r.path), [list(pair) for pair in r.added]] for r in statistics.refinements],
    }


def decode_statistics(data: object) -> Statistics:
    """Read counters, times and what an engine reported."""
    entry = mapping(data, "statistics", ("counters", "seconds", "findings", "refinements"))
    counters = mapping(entry["counters"], "the counters")
    counted = Counter({key: natural(value, f"the counter {key}") for key, value in counters.items()})
    findings = [_decode_finding(item) for item in sequence(entry["findings"], "the findings")]
    refinements = [_decode_refinement(item) for item in sequence(entry["refinements"], "the refinements")]
    return Statistics(counted, _decode_seconds(entry["seconds"]), findings, refinements)


def _decode_finding(data: object) -> Finding:
    kind, place, words = (text(item, "a finding") for item in sequence(data, "a finding", 3))
    return Finding(kind, place, words)


def _decode_refinement(data: object) -> Refinement:
    path, added = sequence(data, "a refinement", 2)
    pairs = [sequence(pair, "a predicate", 2) for pair in sequence(added, "predicates")]
    return Refinement(
        tuple(text(place, "a place") for place in sequence(path, "a path")),
        tuple((text(place, "a place"), text(words, "a predicate")) for place, words in pairs),
    )


def _decode_seconds(data: object) -> dict[str, float]:
    return {key: seconds(value, f"the time {key}") for key, value in mapping(data, "times").items()}


# ---------------------------------------------------------------------------------- diagnostics


def encode_diagnostic(diagnostic: Diagnostic) -> JsonObject:
    """Encode a diagnostic."""
    return {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "severity": diagnostic.severity.value,
        "span": None if diagnostic.span is None else encode_span(diagnostic.span),
        "hint": diagnostic.hint,
    }


def decode_diagnostic(data: object) -> Diagnostic:
    """Read a diagnostic."""
    entry = mapping(data, "a diagnostic", ("code", "message", "severity", "span", "hint"))
    severities = {s.value: s for s in Severity}
    severity = text(entry["severity"], "a severity")
    if severity not in severities:
        raise ValueError(f"there is no severity {shown(severity)}")
    return Diagnostic(
        text(entry["code"], "the code of a diagnostic"),
        text(entry["message"], "the message of a diagnostic"),
        severities[severity],
        None if entry["span"] is None else decode_span(entry["span"]),
        None if entry["hint"] is None else text(entry["hint"], "the hint of a diagnostic"),
    )


def encode_span(span: Span) -> JsonObject:
    """Encode a stretch of source text."""
    return {f.name: getattr(span, f.name) for f in fields(Span)}


def decode_span(data: object) -> Span:
    """Read a stretch of source text."""
    entry = mapping(data, "a span", [f.name for f in fields(Span)])
    file, line = entry["presumed_file"], entry["presumed_line"]
    return Span(
        text(entry["file"], "the file of a span"),
        natural(entry["line"], "the line of a span"),
        natural(entry["column"], "the column of a span"),
        natural(entry["end_line"], "the last line of a span"),
        natural(entry["end_column"], "the last column of a span"),
        None if file is None else text(file, "the presumed file of a span"),
        None if line is None else natural(line, "the presumed line of a span"),
    )


# -------------------------------------------------------------------------------------- verdict


def encode_verdict(verdict: Verdict) -> JsonObject:
    """Encode a verdict with its evidence, or with the reason why there is none."""
    if isinstance(verdict, Safe):
        return {"answer": "holds", "proof": encode_proof(verdict.proof)}
    if isinstance(verdict, Unsafe):
        return {"answer": "violated", "refutation": encode_refutation(verdict.refutation)}
    return {"answer": "unknown", "reason": encode_diagnostic(verdict.reason)}


def decode_verdict(data: object, subject: Subject) -> Verdict:
    """Read a verdict about `subject`."""
    answer = mapping(data, "a verdict", ("answer",))["answer"]
    if answer == "holds":
        return Safe(decode_proof(mapping(data, "a verdict", ("proof",))["proof"], subject))
    if answer == "violated":
        refutation = mapping(data, "a verdict", ("refutation",))["refutation"]
        return Unsafe(decode_refutation(refutation, subject))
    if answer == "unknown":
        return Unknown(decode_diagnostic(mapping(data, "a verdict", ("reason",))["reason"]))
    raise ValueError(f"there is no answer {shown(answer)}")


# ---------------------------------------------------------------------------------------- check


def encode_check(check: Check | None) -> JsonObject | None:
    """Encode how evidence was checked."""
    if check is None:
        return None
    if isinstance(check, DerivationCheck):
        return {"kind": "derivation-check", "steps": check.steps}
    if isinstance(check, ProofCheck):
        return {
            "kind": "proof-check",
            "clauses": check.clauses,
            "discharged": dict(check.discharged),
            "runs": check.runs,
            "undecided": encode_undecided(check),
            "by_one": check.by_one,
        }
    return encode_replay(check)


def encode_challenge(challenge: Challenge) -> JsonObject:
    """Encode a challenge for another process."""
    return {
        "compared": challenge.compared,
        "not_compared": challenge.not_compared,
        "why_not": challenge.why_not,
        "only_run_ended": challenge.only_run_ended,
        "warnings": [encode_diagnostic(warning) for warning in challenge.warnings],
        "disagreement": _encode_disagreement(challenge.disagreement),
        "compilers": encode_compilers(challenge.compilers),
        "gcc_compared": challenge.gcc_compared,
        "reached": {kind: _encode_disagreement(run) for kind, run in challenge.reached.items()},
    }


def _encode_disagreement(run: Disagreement | None) -> Json:
    if run is None:
        return None
    inputs = {name: list(map(int, values)) for name, values in run.inputs.items()}
    asked = {compiler: list(functions) for compiler, functions in run.asked.items()}
    return [run.code, inputs, run.native, run.model, run.gcc, asked]


def decode_challenge(data: object) -> Challenge:
    """Read a challenge."""
    names = ("compared", "not_compared", "why_not", "only_run_ended", "warnings", "disagreement")
    entry = mapping(data, "a challenge", (*names, "compilers", "gcc_compared", "reached"))
    disagreement = entry["disagreement"]
    return Challenge(
        natural(entry["compared"], "the compared runs"),
        natural(entry["not_compared"], "the other runs"),
        text(entry["why_not"], "a reason"),
        entry["only_run_ended"] is True,
        tuple(decode_diagnostic(warning) for warning in sequence(entry["warnings"], "warnings")),
        None if disagreement is None else _decode_disagreement(disagreement),
        decode_compilers(entry["compilers"]),
        natural(entry["gcc_compared"], "the runs of gcc's program"),
        {kind: _decode_disagreement(run) for kind, run in mapping(entry["reached"], "errors").items()},
    )


def _decode_disagreement(data: object) -> Disagreement:
    code, inputs, native, model, gcc, asked = sequence(data, "a disagreement", 6)
    values = {
        name: tuple(integer(value, "an input") for value in sequence(entries, "inputs"))
        for name, entries in mapping(inputs, "inputs").items()
    }
    functions = {
        compiler: tuple(text(name, "a function") for name in sequence(entries, "functions"))
        for compiler, entries in mapping(asked, "functions").items()
    }
    code, native, model, gcc = (text(part, "a disagreement") for part in (code, native, model, gcc))
    return Disagreement(code, values, native, model, gcc, functions)


def encode_undecided(check: ProofCheck) -> JsonObject:
    """Encode, by solver and reason, the number of clauses that the solver did not decide."""
    return {
        solver: {reason.value: number for reason, number in reasons.items()}
        for solver, reasons in check.undecided.items()
    }


def _decode_undecided(data: object) -> dict[str, dict[Undecided, int]]:
    reasons = {reason.value: reason for reason in Undecided}
    undecided: dict[str, dict[Undecided, int]] = {}
    for solver, numbers in mapping(data, "the undecided clauses").items():
        undecided[solver] = {}
        for reason, number in mapping(numbers, "the undecided clauses of a solver").items():
            if reason not in reasons:
                raise ValueError(f"there is no reason {shown(reason)} for an undecided clause")
            undecided[solver][reasons[reason]] = natural(number, "a number of clauses")
    return undecided


def decode_check(data: object, subject: Subject) -> Check | None:
    """Read how evidence about `subject` was checked."""
    if data is None:
        return None
    kind = mapping(data, "a check", ("kind",))["kind"]
    if kind == "derivation-check":
        entry = mapping(data, "a derivation check", ("steps",))
        return DerivationCheck(natural(entry["steps"], "the number of steps"))
    if kind == "proof-check":
        entry = mapping(data, "a proof check", ("clauses", "discharged", "runs", "undecided", "by_one"))
        discharged = mapping(entry["discharged"], "the discharged clauses")
        return ProofCheck(
            natural(entry["clauses"], "the number of clauses"),
            {solver: natural(n, "a number of clauses") for solver, n in discharged.items()},
            natural(entry["runs"], "the number of runs"),
            _decode_undecided(entry["undecided"]),
            natural(entry["by_one"], "the number of clauses by one solver"),
        )
    if kind == "replay":
        return decode_replay(data, require_program(subject, "a replay"))
    raise ValueError(f"there is no kind of check {shown(kind)}")


def encode_replay(check: Replay) -> JsonObject:
    """Encode a replay; steps refer to variables by their position in one table."""
    mentioned = [v for step in check.kept for v in _mentioned(step)]
    numbers = {v: number for number, v in enumerate(dict.fromkeys((*mentioned, *(check.initial or ()))))}
    return {
        "kind": "replay",
        "steps": check.steps,
        "kept": [_encode_step(step, numbers) for step in check.kept],
        "error": check.error,
        "compiled": check.compiled,
        "compilers": encode_compilers(check.compilers),
        "matter": check.matter,
        "finding": check.finding,
        "initial": None if check.initial is None else [numbers[v] for v in check.initial],
        "variables": encode_terms(list(numbers)),
        "defect": _encode_defect(check.defect),
    }


def _mentioned(step: Step) -> Iterator[Expr]:
    yield from (variable for variable, _ in step.changes)
    if step.reason is not None and step.reason.variable is not None:
        yield step.reason.variable


def _encode_step(step: Step, numbers: Mapping[Expr, int]) -> Json:
    changes = [[numbers[v], encode_value(value)] for v, value in step.changes]
    return [step.number, step.edge, step.depth, changes, _encode_reason(step.reason, numbers)]


def _encode_reason(reason: Reason | None, numbers: Mapping[Expr, int]) -> Json:
    if reason is None:
        return None
    read = None if reason.variable is None else numbers[reason.variable]
    return [reason.role.value, reason.by, reason.at, read]


def decode_replay(data: object, program: Program) -> Replay:
    """Read a replay of a trace of `program`."""
    keys = (
        *("steps", "kept", "error", "compiled", "compilers", "matter", "finding", "initial"),
        *("variables", "defect"),
    )
    fields = mapping(data, "a replay", keys)
    variables = decode_terms(fields["variables"])
    if any(v.kind is not Kind.VAR for v in variables):
        raise ValueError("only variables change in a replay")
    kept = sequence(fields["kept"], "the steps of a replay")
    matter, initial = fields["matter"], fields["initial"]
    return Replay(
        natural(fields["steps"], "the number of steps"),
        tuple(_decode_step(step, variables, program) for step in kept),
        require_location(fields["error"], program),
        text(fields["compiled"], "the result of the compiled program"),
        None if matter is None else natural(matter, "the number of relevant steps"),
        None
        if initial is None
        else tuple(_variable(v, variables) for v in sequence(initial, "the relevant initial values")),
        decode_compilers(fields["compilers"]),
        text(fields["finding"], "what is wrong at the error"),
        _decode_defect(fields["defect"], program),
    )


def _encode_defect(defect: MemoryDefect | None) -> Json:
    if defect is None:
        return None
    from certus.codec.defects import encode_defect

    return encode_defect(defect)


def _decode_defect(data: object, program: Program) -> MemoryDefect | None:
    if data is None:
        return None
    from certus.codec.defects import decode_defect

    return decode_defect(data, program)


def encode_compilers(compilers: Compilers) -> Json:
    """Encode the compilers that took part in native runs."""
    return [list(compilers.agreed), compilers.absent, compilers.differs]


def decode_compilers(data: object) -> Compilers:
    """Read the compilers that took part in native runs."""
    agreed, absent, differs = sequence(data, "the compilers", 3)
    return Compilers(
        tuple(text(name, "a compiler") for name in sequence(agreed, "the compilers that agreed")),
        text(absent, "a reason"),
        text(differs, "the result of a program"),
    )


def _variable(number: object, variables: Sequence[Expr]) -> Expr:
    return variables[position(number, len(variables), "variable")]


def _decode_step(data: object, variables: Sequence[Expr], program: Program) -> Step:
    number, edge, depth, changes, reason = sequence(data, "a step", 5)
    changed = []
    for change in sequence(changes, "the changes of a step"):
        index, value = sequence(change, "a change", 2)
        variable = _variable(index, variables)
        changed.append((variable, decode_value(value, variable.sort)))
    return Step(
        natural(number, "the number of a step"),
        _edge(edge, program),
        natural(depth, "the call depth of a step"),
        tuple(changed),
        None if reason is None else _decode_reason(reason, variables, program),
    )


def _decode_reason(data: object, variables: Sequence[Expr], program: Program) -> Reason:
    role, by, at, read = sequence(data, "a reason", 4)
    roles = {r.value: r for r in Role}
    name = text(role, "the role of a step")
    if name not in roles:
        raise ValueError(f"there is no role {shown(role)} of a step")
    return Reason(
        roles[name],
        natural(by, "the number of a step"),
        _edge(at, program),
        None if read is None else _variable(read, variables),
    )


def _edge(data: object, program: Program) -> int:
    """Return the index of an edge of the program."""
    index = natural(data, "the edge of a step")
    if index not in program.edge:
        raise ValueError(f"the program has no edge number {index}")
    return index
