"""`certus validate`: is a witness right about a program?

Nothing that the witness says is believed, and no answer about the program that was made of it: a violation
counts if it is replayed on the program itself, a proof if it is checked there.

A *violation witness* guides the search (`transform.guide`). First the inputs that it names are tried as they
are; then engines look for an execution that follows it. If it is proved that none does, it is refuted.

A *correctness witness* has invariants. First they are tried as a proof, as they are. Then engines prove the
program in which every invariant is an assertion: that all of them hold, and with their help the property. An
execution that violates one refutes the witness, and so does one that violates the property.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from certus.core import build
from certus.core.budget import Budget
from certus.core.callstrings import CallStrings
from certus.core.challenge import CONTRADICTION
from certus.core.codec import decode_outcome, encode_outcome
from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.errors import BudgetExceeded, Unsupported
from certus.core.evidence import Inductive, Partitioned, Point, Proof, Trace, in_frame
from certus.core.memory import Partition, uses_memory
from certus.core.outcome import Outcome, Replay
from certus.core.program import Assume, Edge, Load, Location, Program
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.terms import Expr
from certus.core.validation import Answer, Kind, Validation
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.core.walk import substitute, variables
from certus.core.witness import UNDEFINED, CorrectnessWitness, ViolationWitness, Witness, probe_number
from certus.frontend import DEFAULT_MODEL, load_probed
from certus.frontend.c.source.probes import Probe, conjuncts
from certus.frontend.properties import Property, check_supported
from certus.frontend.witness import read_witness
from certus.logic.memoryterms import ConditionReader
from certus.pipeline.auto import Portfolio
from certus.pipeline.challenge import Challenger, judged
from certus.pipeline.confirm import confirm
from certus.pipeline.settings import Settings
from certus.pipeline.witness_question import question_of
from certus.system.child import Children, Reporter, run_limited
from certus.transform.guide import Guided, guide
from certus.transform.likeness import Likeness, likeness

FIRST_SHARE: Final = 0.3  # of the time, for what the witness says as it is
RESERVE: Final = 0.15  # of the time, for checks on the program itself
EXPLICIT: Final = ("predicate", "linear")  # engines whose proofs say all that they rely on


def validate_witness(
    witness: Path, file: Path, settings: Settings, *, on_progress: Callable[[str], None] | None = None
) -> Validation:
    """Raises `InputError` if the witness is malformed or not about this program."""
    start, budget = time.monotonic(), Budget(settings.timeout)
    found = read_witness(witness)
    wanted = question_of(found, file, settings)
    kind: Kind = "violation" if isinstance(found, ViolationWitness) else "correctness"

    def answer(said: Answer, reason: Diagnostic, outcome: Outcome | None = None) -> Validation:
        seconds = time.monotonic() - start
        return Validation(str(witness), str(file), wanted.name, kind, said, reason, outcome, seconds)

    try:
        check_supported(wanted)
        case = _load(found, file, wanted, settings, budget, on_progress)
        said = _violation(case, found) if isinstance(found, ViolationWitness) else _correctness(case, found)
        return answer(*_challenged(case, wanted, said))
    except Unsupported as refusal:
        return answer("UNKNOWN", refusal.diagnostic)
    except BudgetExceeded:
        message = f"there is no answer within {settings.timeout:g} s"
        return answer("UNKNOWN", Diagnostic("time-limit", message, hint="try a larger --timeout"))


Said = tuple[Answer, Diagnostic, Outcome | None]


def _note(code: str, message: str, span: Span | None = None) -> Diagnostic:
    return Diagnostic(code, message, Severity.NOTE, span)


# --------------------------------------------------------------------------------------- what is asked


@dataclass(slots=True)
class _Case:
    """The program, the same with probes for the expressions of the witness, and how they are alike."""

    program: Program
    probed: Program
    alike: Likeness
    probes: dict[int, Probe]
    property_name: str
    settings: Settings
    budget: Budget
    on_progress: Callable[[str], None] | None

    def task(self, program: Program) -> Task:
        return Task(program, self.property_name)


def _load(
    witness: Witness,
    file: Path,
    wanted: Property,
    settings: Settings,
    budget: Budget,
    on_progress: Callable[[str], None] | None,
) -> _Case:
    probes = _probes(witness)
    model = settings.data_model or witness.task.data_model or DEFAULT_MODEL
    loaded, probed = load_probed(
        file,
        probes,
        _watched(witness),
        property=wanted,
        model=model,
        arguments=settings.clang_arguments,
        budget=budget,
        invariants=isinstance(witness, CorrectnessWitness),
    )
    settings = replace(settings, data_model=model)
    alike = likeness(probed, loaded.program)
    by_number = {probe.number: probe for probe in probes}
    return _Case(loaded.program, probed, alike, by_number, wanted.name, settings, budget, on_progress)


def _watched(witness: Witness) -> frozenset[tuple[int, int | None]]:
    """Where branches are told of."""
    if isinstance(witness, CorrectnessWitness):
        return frozenset()
    waypoints = (each for segment in witness.segments for each in segment)
    return frozenset((w.place.line, w.place.column) for w in waypoints if w.kind == "branching")


def _probes(witness: Witness) -> list[Probe]:
    """What the program is made to evaluate: each conjunct of an invariant by itself, and the assumptions of a
    violation witness, numbered as its waypoints are."""
    if isinstance(witness, CorrectnessWitness):
        parts = [(each, part) for each in witness.invariants for part in conjuncts(each.value)]
        return [
            Probe(number, each.place, part, each.kind == "loop_invariant", each.span)
            for number, (each, part) in enumerate(parts)
        ]
    waypoints = [each for segment in witness.segments for each in segment]
    return [
        Probe(number, each.place, each.constraint or "", span=each.span)
        for number, each in enumerate(waypoints)
        if each.kind == "assumption"
    ]


# ------------------------------------------------------------------------------------------ violation


def _violation(case: _Case, witness: ViolationWitness) -> Said:
    guided = guide(case.probed, witness)
    trace = _named_inputs(guided.program, witness)
    first = _apart(case, case.program, FIRST_SHARE, lambda budget: _try_inputs(case, guided, trace, budget))
    if first is not None and isinstance(first.verdict, Unsafe):
        return "CONFIRMED", _note("witness-confirmed", "the inputs it names lead to the violation"), first
    found = _search(case, guided.program)
    if isinstance(found.verdict, Unsafe):
        assert isinstance(found.verdict.refutation, Trace)
        own = case.alike.trace(guided.trace(found.verdict.refutation))
        if own is None:
            message = "the violation that was found is not one of the program itself"
            return "UNKNOWN", _note("trace-not-carried-back", message), None
        checked = _checked(case, Unsafe(own), found)
        if isinstance(checked.verdict, Unsafe):
            message = "an execution that follows it violates the property"
            return "CONFIRMED", _note("witness-confirmed", message), checked
        return "UNKNOWN", _reason(checked), None
    if isinstance(found.verdict, Safe):
        message = "no execution that follows it violates the property at its target"
        return "REFUTED", _note("witness-refuted", message), found
    return "UNKNOWN", _reason(found), None


def _named_inputs(program: Program, witness: ViolationWitness) -> Trace:
    r"""The trace that gives calls the results of `\result == constant`, in order, as far as it can be told:
    those of one call are its first, second, ... results."""
    from certus.transform.guide import named_result

    inputs: dict[int, list[tuple[int, ...]]] = {}
    for segment in witness.segments:
        named = named_result(program, segment[-1])
        if named is not None:
            inputs.setdefault(named[0], []).append((named[1],))
    return Trace(program.errors[0].location.name, {}, {e: tuple(values) for e, values in inputs.items()})


def _try_inputs(case: _Case, guided: Guided, trace: Trace, budget: Budget) -> Outcome | None:
    """The violation that these inputs lead to, if they follow the witness."""
    from certus.validate.compile import compile_program
    from certus.validate.inputs import ReplayInputs
    from certus.validate.interpreter import Ending, run

    end = run(compile_program(guided.program), ReplayInputs(guided.program, trace), budget=budget)
    if end.ending is not Ending.ERROR:
        return None
    own = case.alike.trace(guided.trace(replace(trace, error=end.location.name)))
    return None if own is None else _examined(case, Unsafe(own), "replay", budget)


# ---------------------------------------------------------------------------------------- correctness


def _correctness(case: _Case, witness: CorrectnessWitness) -> Said:
    if case.probes:
        first = _apart(case, case.program, FIRST_SHARE, lambda budget: _try_proof(case, budget))
        if first is not None and isinstance(first.verdict, Safe):
            return "CONFIRMED", _note("witness-confirmed", "its invariants are a proof"), first
    refused: Diagnostic | None = None
    for engines in ((), EXPLICIT):
        found = _search(case, case.probed, engines)
        if isinstance(found.verdict, Unsafe):
            return _counterexample(case, found)
        if isinstance(found.verdict, Unknown):
            return "UNKNOWN", refused or _reason(found), None
        checked = _carried_back(case, found)
        if isinstance(checked.verdict, Safe):
            held = "its invariants hold, and with them the property is proved"
            message = held if witness.invariants else "it has no invariants; the property was proved"
            return "CONFIRMED", _note("witness-confirmed", message), checked
        refused = _reason(checked)
    assert refused is not None
    return "UNKNOWN", refused, None


def _carried_back(case: _Case, found: Outcome) -> Outcome:
    """The proof about the program with probes as one of the program itself, checked there."""
    assert isinstance(found.verdict, Safe)
    if case.probed is case.program:
        return found
    proof: Proof | None = found.verdict.proof
    partition = case.alike.partition(proof.partition) if isinstance(proof, Partitioned) else None
    known, _ = _claims(case, partition)
    proof = case.alike.proof(found.verdict.proof, known)
    if proof is None:
        nothing = _note("proof-not-carried-back", "the proof says nothing of the program itself")
        return replace(found, subject=case.program, verdict=Unknown(nothing), check=None)
    return _checked(case, Safe(proof), found)


def _counterexample(case: _Case, found: Outcome) -> Said:
    """An execution that violates an invariant, replayed on the program with probes, or the property."""
    assert isinstance(found.verdict, Unsafe)
    assert isinstance(found.verdict.refutation, Trace)
    site = case.probed.error_at(case.probed.location[found.verdict.refutation.error])
    number = probe_number(site.kind)
    if number is not None:
        probe = case.probes[number]
        shown = _shown(found, case)
        if site.text == UNDEFINED:
            what = "it divides by zero, shifts by a wrong amount, or overflows"
            message = f"`{probe.text}` has no defined value in an execution at line {probe.place}: {what}"
            return "REFUTED", _note("invariant-undefined", message, probe.span), shown
        message = f"`{probe.text}` does not always hold at line {probe.place}"
        return "REFUTED", _note("invariant-violated", message, probe.span), shown
    own = case.alike.trace(found.verdict.refutation)
    checked = found if own is None else _checked(case, Unsafe(own), found)
    if isinstance(checked.verdict, Unsafe):
        return "REFUTED", _note("witness-refuted", "the property is violated"), checked
    return "UNKNOWN", _reason(checked), None


def _claims(case: _Case, partition: Partition | None) -> tuple[dict[Point, Expr], frozenset[int]]:
    """The invariants that are terms over the program's variables (or, with a partition, over what they have
    become where memory operations are replaced) at all points of their locations; and the numbers of these.
    An expression that branches is none; neither is one in a procedure that is called in too many ways. An
    invariant has two claims if its evaluation could be undefined, and both must be terms."""
    strings = CallStrings(case.program, frozenset({case.program.main}))
    reader = None if partition is None else ConditionReader(case.program, partition)
    inner = reader.locals if reader is not None else frozenset(x.name for x in strings.locals)
    found: dict[Point, list[Expr]] = {}
    claimed: dict[int, bool] = {}
    errors = case.probed.error_locations
    deciding = frozenset(e.source for e in case.probed.edge.values() if e.target in errors)
    for edge in case.probed.edge.values():
        number = probe_number(edge.text)
        if number is None or edge.branch is not True or edge.source not in deciding:
            continue
        is_claimed, claimed[number] = claimed.get(number, True), False
        location, formula = case.alike.locations.get(edge.source), _condition(case, edge, reader, deciding)
        if location is None or formula is None:
            continue
        ways = strings.of(location.procedure)
        if ways is None:
            continue
        claimed[number] = is_claimed
        for string in ways:
            own = [x for x in variables(formula) if x.name in inner]
            frames = {x: in_frame(x, len(string)) for x in own}
            found.setdefault(Point(location, string), []).append(substitute(formula, frames))
    told = frozenset(number for number, is_claimed in claimed.items() if is_claimed)
    return {point: build.conjunction(parts) for point, parts in found.items()}, told


def _condition(
    case: _Case, edge: Edge, reader: ConditionReader | None, deciding: frozenset[Location]
) -> Expr | None:
    """What a probe tests, about the program itself; None if it is about variables of the probe's own, other
    than those it has read from memory."""
    assert isinstance(edge.op, Assume)
    images, loads = case.alike.variables, _loads(case.probed, edge, deciding)
    if loads is None:
        return None
    read = [load.target for load in loads]
    mentioned = variables(edge.op.condition, *(load.address for load in loads))
    if not all(x in images or x in read for x in variables(edge.op.condition)):
        return None
    if not all(x in images for load in loads for x in variables(load.address)):
        return None
    own = {x: images[x] for x in mentioned if x in images and x not in read}
    condition = substitute(edge.op.condition, own)
    if reader is None:
        return None if loads else condition
    return reader.term(condition, [replace(load, address=substitute(load.address, own)) for load in loads])


def _loads(program: Program, edge: Edge, deciding: frozenset[Location]) -> list[Load] | None:
    """What a probe reads from memory before it tests, in order; None if control can come there in several
    ways. Between its reads it may claim something, at one of the `deciding` locations."""
    found: list[Load] = []
    procedure = program.procedures[edge.source.procedure]
    at = edge.source
    while any(e.text == edge.text for e in procedure.predecessors[at]):
        if len(procedure.predecessors[at]) != 1:
            return None
        (before,) = procedure.predecessors[at]
        if isinstance(before.op, Load):
            found.append(before.op)
        elif before.branch is not True or before.source not in deciding:
            return None
        at = before.source
    return found[::-1]


def _try_proof(case: _Case, budget: Budget) -> Outcome | None:
    """The invariants as a proof, if all of them can be told as terms."""
    from certus.transform.memory import find_partition

    partition = find_partition(case.program) if uses_memory(case.program) else None
    known, claimed = _claims(case, partition)
    if len(claimed) < len(case.probes):
        return None
    proof: Proof = Inductive(known)
    if partition is not None:
        proof = Partitioned(partition, proof)
    return _examined(case, Safe(proof), "witness", budget)


# ------------------------------------------------------------------------------------------ processes


def _search(case: _Case, program: Program, engines: tuple[str, ...] = ()) -> Outcome:
    """What the engines (these, or all) say of a program made from the witness. Their evidence is checked
    there."""
    case.budget.check()
    left = case.budget.remaining()
    seconds = None if left is None else (1 - RESERVE) * left
    options = {"bmc.shortest": "false", **case.settings.options}  # any violation will do
    settings = replace(
        case.settings, execute=False, harness=None, evidence=None, options=options, engines=engines
    )
    return Portfolio(case.task(program), settings, case.on_progress, seconds=seconds).run()


def _challenged(case: _Case, wanted: Property, said: Said) -> Said:
    """What is said because of a proof, if native runs of the program do not speak against it. A proof that
    refutes a violation witness says that no execution follows it: others may reach the error."""
    answer, _, outcome = said
    if outcome is None or not isinstance(outcome.verdict, Safe):
        return said
    challenger = Challenger(case.program, wanted, case.settings, case.budget)
    with Children(memory=case.settings.memory) as children:
        found = challenger.result(children)
    if answer == "REFUTED" and (found.disagreement is None or found.disagreement.code == CONTRADICTION):
        return said
    outcome = judged(outcome, found)
    if isinstance(outcome.verdict, Unknown):
        return "UNKNOWN", outcome.verdict.reason, None
    return said[0], said[1], outcome


def _checked(case: _Case, verdict: Verdict, found: Outcome) -> Outcome:
    """Evidence about the program itself, checked in a child."""
    checked = _apart(case, case.program, 1.0, lambda budget: _examined(case, verdict, found.engine, budget))
    if checked is None:
        reason = Diagnostic("evidence-not-checked", "evidence was found, but not checked within the limits")
        return Outcome(case.program, case.property_name, Unknown(reason), found.engine)
    return checked


def _examined(case: _Case, verdict: Verdict, engine: str, budget: Budget) -> Outcome:
    statistics = Statistics()
    verdict, check = confirm(
        case.program, verdict, budget=budget, statistics=statistics, solvers=case.settings.solvers
    )
    if isinstance(verdict, Unsafe) and isinstance(check, Replay) and case.settings.execute:
        from certus.pipeline.compiled import replay_compiled

        verdict, check = replay_compiled(case.program, verdict, check, case.settings, budget=budget)
    return Outcome(case.program, case.property_name, verdict, engine, check, statistics)


def _apart(
    case: _Case, program: Program, share: float, work: Callable[[Budget], Outcome | None]
) -> Outcome | None:
    """What a child answers about `program` within its share of the time; None if it does not."""
    case.budget.check()
    budget = case.budget.part(share)

    def encoded(_: Reporter) -> bytes:
        found = work(budget)
        return json.dumps(None if found is None else encode_outcome(found)).encode()

    result = run_limited(encoded, seconds=budget.remaining(), memory=case.settings.memory)
    if result.kind == "interrupted":
        raise KeyboardInterrupt
    data = None if result.payload is None else json.loads(result.payload)
    return None if data is None else decode_outcome(data, program)


def _reason(outcome: Outcome) -> Diagnostic:
    assert isinstance(outcome.verdict, Unknown)
    return outcome.verdict.reason


def _shown(found: Outcome, case: _Case) -> Outcome:
    """The outcome about the program with probes, where people read the expressions instead of their names."""
    program = case.probed

    def text(name: str) -> str:
        number = probe_number(name)
        return name if number is None else f"invariant {case.probes[number].text}"

    procedures = {
        name: replace(p, edges=tuple(replace(e, text=text(e.text)) for e in p.edges))
        for name, p in program.procedures.items()
    }
    errors = tuple(
        site
        if probe_number(site.kind) is None
        else replace(site, kind="invariant", text=text(site.kind).removeprefix("invariant "))
        for site in program.errors
    )
    return replace(found, subject=replace(program, procedures=procedures, errors=errors))
