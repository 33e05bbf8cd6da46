"""An outcome for people: one line with the answer, then what backs it.

Before the answer stands only a warning of undefined behaviour, which it does not cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal

from certus.core.challenge import UNDEFINED
from certus.core.diagnostic import Diagnostic, Span
from certus.core.evidence import Execution, KInductive, Unrolling
from certus.core.horn import Model
from certus.core.outcome import CONFIRMED, DerivationCheck, Outcome, ProofCheck, Replay
from certus.core.program import Program
from certus.core.values import Datum
from certus.core.verdict import Unknown
from certus.report.content import (
    Invariant,
    assumptions,
    bounds,
    counted,
    derivation,
    file_of,
    invariants,
    nothing_to_check,
    proof_of,
    relations,
    summaries,
    total_seconds,
    value_text,
)
from certus.report.diagnostics import PLAIN, Palette, excerpt, printable, render_diagnostic
from certus.report.solvers import solver_text
from certus.report.steps import Move, Path, path

Detail = Literal["quiet", "normal", "verbose"]
_ANSWER_COLOURS: Final = {"HOLDS": "green", "VIOLATED": "red", "UNKNOWN": "yellow"}
_PLACE_WIDTH: Final = 6  # at least
_STATEMENT_WIDTH: Final = 60  # at most; longer statements push their effect to the right
_EFFECT_WIDTH: Final = 32


def render_text(
    outcome: Outcome, *, detail: Detail = "normal", palette: Palette = PLAIN, full_trace: bool = False
) -> str:
    """The report, without a final newline. A quiet one is a single line. Of a counterexample the steps that
    matter are shown, with `full_trace` all of them."""
    answer = _first_line(outcome, palette)
    if detail == "quiet":
        return answer
    lines = [_shown(outcome, d, palette) for d in outcome.diagnostics if d.code == UNDEFINED]
    lines.append(answer)
    if outcome.contradicted:
        lines.append(f"  expected: {value_text(bool(outcome.expected))} (the task file says so)")
    if isinstance(outcome.verdict, Unknown):
        lines.append(_reason(outcome, outcome.verdict.reason, palette))
    elif proof_of(outcome) is not None:
        lines += _proof(outcome, every_point=detail == "verbose")
    else:
        lines += refutation_lines(outcome, palette, full_trace=full_trace)
    lines += check_lines(outcome)
    lines += [_shown(outcome, d, palette) for d in outcome.diagnostics if d.code != UNDEFINED]
    if detail == "verbose":
        lines += finding_lines(outcome)
        lines += statistics_lines(outcome)
    return "\n".join(lines)


def _first_line(outcome: Outcome, palette: Palette) -> str:
    answer = palette.paint(outcome.answer, _ANSWER_COLOURS[outcome.answer])
    cause = outcome.verdict.reason.code if isinstance(outcome.verdict, Unknown) else nothing_to_check(outcome)
    seconds = f"{total_seconds(outcome):.2f} s"
    file = printable(file_of(outcome))
    return (
        f"{answer}  {file}  {outcome.property_name}{'  ' * bool(cause)}{cause}  ({outcome.engine}, {seconds})"
    )


def _reason(outcome: Outcome, reason: Diagnostic, palette: Palette) -> str:
    source = _source(outcome, reason.span)
    return render_diagnostic(reason, source, palette=palette, label="unknown", colour="yellow")


def _shown(outcome: Outcome, diagnostic: Diagnostic, palette: Palette) -> str:
    return render_diagnostic(diagnostic, _source(outcome, diagnostic.span), palette=palette)


def _source(outcome: Outcome, span: Span | None) -> str | None:
    """The text that a place is in; none for a place in a header or in a task file."""
    elsewhere = span is not None and span.file != outcome.subject.file
    return None if elsewhere else outcome.subject.source


# ------------------------------------------------------------------------------------------ HOLDS


def _proof(outcome: Outcome, *, every_point: bool) -> Iterator[str]:
    proof, program = proof_of(outcome), outcome.subject
    if isinstance(proof, Model):
        yield from (f"  {head}: {formula}" for head, formula in relations(proof))
    if proof is None or not isinstance(program, Program):
        return
    if isinstance(proof, Execution):
        yield f"  the program has one execution; it ends after {counted(proof.steps, 'step')}"
    elif isinstance(proof, Unrolling):
        yield from _unrolling(proof, program)
    if isinstance(proof, KInductive):
        yield f"  the invariants are {proof.k}-inductive"
    for invariant in invariants(proof, program):
        if every_point or invariant.location.loop is not None:
            yield f"  {_place(invariant)}: {invariant.formula}"
    for name, formula in summaries(proof, program):
        yield f"  procedure {name}: {formula}"
    yield from (f"  assuming: {assumption}" for assumption in assumptions(outcome))


def _unrolling(proof: Unrolling, program: Program) -> Iterator[str]:
    loops, recursion = bounds(proof, program)
    if not loops and not recursion:
        yield "  all executions end without entering a loop or a recursion"
    for bound in loops:
        place = bound.name if bound.span is None else f"line {bound.span.line}"
        entries = counted(bound.count, "loop entry", "loop entries")
        yield f"  loop at {place}: all executions end within {entries}"
    for bound in recursion:
        activations = counted(bound.count, "simultaneous activation")
        yield f"  procedure {bound.name}: all executions end within {activations}"


def _place(invariant: Invariant) -> str:
    kind = "loop at" if invariant.location.loop is not None else "at"
    where = invariant.location.name if invariant.span is None else f"line {invariant.span.line}"
    calls = "".join(f", called from line {line}" for line in reversed(invariant.calls))
    return f"{kind} {where}{calls}"


# --------------------------------------------------------------------------------------- VIOLATED


def refutation_lines(outcome: Outcome, palette: Palette, *, full_trace: bool = False) -> Iterator[str]:
    for number, (clause, values, premises) in enumerate(derivation(outcome)):
        used = f" from {', '.join(map(str, premises))}" if premises else ""
        yield f"  {number}: clause {clause}{used}  {_values(values)}".rstrip()
    found = path(outcome)
    if found is not None:
        yield from _counterexample(found, file_of(outcome), palette, full=full_trace)
        yield from _failed_claim(found, outcome, palette)


def _counterexample(found: Path, file: str, palette: Palette, *, full: bool) -> Iterator[str]:
    """The steps that matter, each with its reason; with `full`, or if it is not known which do, all steps."""
    told, full = "", full or found.matter is None
    if found.matter is not None:
        told = f", {'all' if found.matter == found.steps else f'{found.matter:,}'} of which matter"
    yield f"counterexample, {counted(found.steps, 'step')}{told}:"
    initial = (*found.initial, *found.unimportant) if full else found.initial
    if initial:
        yield f"   initially  {_values(initial)}"
    columns = _columns([m for m in found.moves if full or m.reason], file, reasons=found.matter is not None)
    folded, omitted = 0, 0
    for move in found.moves:
        omitted += move.omitted
        if not full and not move.reason:
            folded += 1
            continue
        if folded or omitted:
            yield palette.paint(f"{'':{columns.place}}  ... {_fold(folded, omitted, found)} ...", "grey")
            folded, omitted = 0, 0
        yield columns.line(move, palette)


def _fold(folded: int, omitted: int, found: Path) -> str:
    """What stands for steps that are not shown: `omitted` of them are not known."""
    steps = counted(folded + omitted, "step")
    if omitted and not found.complete:
        return f"{steps} omitted"
    return f"{steps} that {'does' if folded + omitted == 1 else 'do'} not matter"


@dataclass(frozen=True, slots=True)
class _Columns:
    """How wide places, statements and effects are, and whether reasons stand behind them. Places in another
    file than `file` are told with its name."""

    file: str
    place: int
    statement: int
    effect: int
    reasons: bool

    def line(self, move: Move, palette: Palette) -> str:
        place = palette.paint(f"{_at(move, self.file):>{self.place}}", "grey")
        text = f"{place}  {_statement(move):<{self.statement}}  "
        if not (self.reasons and move.reason):
            return f"{text}{printable(move.effect)}".rstrip()
        reason = palette.paint(f"({printable(move.reason)})", "grey")
        return f"{text}{printable(move.effect):<{self.effect}}  {reason}"


def _columns(shown: Sequence[Move], file: str, *, reasons: bool) -> _Columns:
    return _Columns(
        file,
        max(_PLACE_WIDTH, *(len(_at(move, file)) for move in shown)),
        min(_STATEMENT_WIDTH, max((len(_statement(move)) for move in shown), default=0)),
        min(_EFFECT_WIDTH, max((len(move.effect) for move in shown), default=0)),
        reasons,
    )


def _at(move: Move, file: str) -> str:
    if move.span is None:
        return ""
    name = "" if move.span.file == file else f"{PurePath(move.span.file).name}:"
    return printable(f"{name}{move.span.line}")


def _statement(move: Move) -> str:
    return "  " * move.depth + printable(move.statement)


def _failed_claim(found: Path, outcome: Outcome, palette: Palette) -> Iterator[str]:
    site = found.error
    place = "" if site.span is None else f"{site.span}: "
    yield f"{place}{palette.paint(f'violated[{site.kind}]', 'red')}: {printable(site.text)}"
    source = _source(outcome, site.span)
    if site.span is not None and source is not None:
        yield from excerpt(site.span, source, palette)


def _values(changes: Sequence[tuple[str, Datum]]) -> str:
    return ", ".join(f"{name} = {value_text(value)}" for name, value in changes)


# ---------------------------------------------------------------------------- how it was checked


def check_lines(outcome: Outcome) -> Iterator[str]:
    check = outcome.check
    if isinstance(proof_of(outcome), Execution):
        yield "  checked: run to its end by the interpreter"
    elif isinstance(check, ProofCheck):
        runs = f"; {counted(check.runs, 'random run')}" if isinstance(outcome.subject, Program) else ""
        yield f"  checked: {solver_text(check)}{runs}"
    elif isinstance(check, DerivationCheck):
        yield f"  checked: evaluated again, {counted(check.steps, 'step')}"
    elif isinstance(check, Replay):
        yield f"  checked: replayed on the program, {counted(check.steps, 'step')} of the interpreter"
        if check.compiled:
            yield f"  replayed: interpreter{_compiled_text(check)}"
    if outcome.challenge is not None:
        yield f"  {outcome.challenge.sentence}"


def _compiled_text(check: Replay) -> str:
    if check.compiled != CONFIRMED:
        return f" only; {check.compiled}"
    return "; ".join(filter(None, (", compiled", check.compilers.sentence)))


def finding_lines(outcome: Outcome) -> Iterator[str]:
    kind = ""
    for finding in outcome.statistics.findings:
        if finding.kind != kind:
            kind = finding.kind
            yield f"{kind}:"
        yield f"  {printable(finding.place)}: {printable(finding.text)}"


def statistics_lines(outcome: Outcome) -> Iterator[str]:
    counters = sorted(outcome.statistics.counters.items())
    if counters:
        yield "counters:"
        yield from (f"  {name:<32} {count:>10}" for name, count in counters)
    times = {**outcome.seconds, **outcome.statistics.seconds}
    if times:
        yield "seconds:"
        yield from (f"  {name:<32} {seconds:>10.3f}" for name, seconds in sorted(times.items()))


def render_passes(outcome: Outcome) -> str:
    """The sizes before and after each pass."""
    lines = [f"{'pass':<20} {'locations':>10} {'after':>8} {'edges':>8} {'after':>8}"]
    for made in outcome.passes:
        before, after = made.before, made.after
        lines.append(
            f"{made.name:<20} {before.locations:>10} {after.locations:>8} {before.edges:>8} {after.edges:>8}"
        )
    return "\n".join(lines)
