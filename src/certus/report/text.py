"""Render an outcome as text: one line with the answer, then its evidence. Render diagnostics as text:
`file:line:col: error[code]: sentence`, the source line, a caret, a hint.

Only warnings about undefined behaviour, which the answer does not cover, come before the answer. The report
on the default question starts with a sentence for each violation, and has a part for each answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Literal

from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.evidence import Execution, KInductive, Safe, Unknown, Unrolling, Unsafe
from certus.core.horn import Model
from certus.core.outcome import CONFIRMED, UNDEFINED, DerivationCheck, Outcome, ProofCheck, Replay
from certus.core.program import Program
from certus.core.values import Datum
from certus.report.memory_names import legend
from certus.report.outcome_view import (
    Invariant,
    answer_parts,
    assumptions,
    bounds,
    counted,
    derivation,
    file_of,
    invariants,
    nothing_to_check,
    proof_of,
    proved_lines,
    relations,
    sentence_of,
    solver_text,
    summaries,
    title_of,
    total_seconds,
    value_text,
)

if TYPE_CHECKING:
    from certus.report.counterexample import Counterexample, Move

Detail = Literal["quiet", "normal", "verbose"]
_ANSWER_COLOURS: Final = {"HOLDS": "green", "VIOLATED": "red", "UNKNOWN": "yellow"}
_FIRST: Final = 20  # lines of a long counterexample at its start that are shown
_LAST: Final = 40  # and at its end
_PLACE_WIDTH: Final = 6  # at least
_STATEMENT_WIDTH: Final = 60  # at most; longer statements push their effect to the right
_EFFECT_WIDTH: Final = 32
_EXCERPT_WIDTH: Final = 100  # columns shown of a source line
_CODES: Final = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "grey": "90",
    "bold": "1",
}
_SEVERITY_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours text for a terminal; a plain palette (the default) leaves text unchanged."""

    coloured: bool = False

    def paint(self, text: str, colour: str) -> str:
        """Return the text in a colour."""
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.coloured and text else text


PLAIN: Final = Palette()


def render_text(
    outcome: Outcome, *, detail: Detail = "normal", palette: Palette = PLAIN, full_trace: bool = False
) -> str:
    """Render the report, without a final newline. A quiet report is a single line. A counterexample has only
    the steps that matter, or with `full_trace` all steps."""
    if outcome.answers:
        return _render_answers(outcome, detail=detail, palette=palette, full_trace=full_trace)
    answer = _first_line(outcome, palette)
    if detail == "quiet":
        return answer
    lines = [_shown(outcome, d, palette) for d in outcome.diagnostics if d.code == UNDEFINED]
    lines.append(answer)
    if outcome.contradicted:
        lines.append(f"  expected: {value_text(bool(outcome.expected))} (the task file says so)")
    lines += _evidence(outcome, detail, palette, full_trace=full_trace)
    lines += [_shown(outcome, d, palette) for d in outcome.diagnostics if d.code != UNDEFINED]
    if detail == "verbose":
        lines += finding_lines(outcome)
        lines += statistics_lines(outcome)
    return "\n".join(lines)


def _evidence(outcome: Outcome, detail: Detail, palette: Palette, *, full_trace: bool) -> Iterator[str]:
    """Yield the reason of UNKNOWN, or the evidence and how it was checked."""
    if isinstance(outcome.verdict, Unknown):
        yield _reason(outcome, outcome.verdict.reason, palette)
    elif proof_of(outcome) is not None:
        yield from _proof(outcome, every_point=detail == "verbose")
    else:
        yield from refutation_lines(outcome, palette, full_trace=full_trace)
    yield from check_lines(outcome)


def _render_answers(outcome: Outcome, *, detail: Detail, palette: Palette, full_trace: bool) -> str:
    """Render the answers to the default question: a sentence for each violation, then a part for each answer.
    Kinds with the same evidence, or the same reason for UNKNOWN, share a part."""
    parts = answer_parts(outcome)
    lines = [
        printable(f"{sentence_of(part)}{_weakness(part)}")
        for part, _ in parts
        if isinstance(part.verdict, Unsafe)
    ]
    said: list[Diagnostic] = [] if detail == "quiet" else list(_undefined(outcome))
    lines += [_shown(outcome, diagnostic, palette) for diagnostic in said]
    for part, kinds in parts:
        lines.append(_first_line(part, palette, ", ".join(kinds), cause=_cause(outcome, part)))
        if detail == "quiet":
            continue
        lines += answer_lines(outcome, part, kinds, detail=detail, palette=palette, full_trace=full_trace)
        news = [diagnostic for diagnostic in part.diagnostics if diagnostic not in said]
        lines += [_shown(part, diagnostic, palette) for diagnostic in news]
        said += news
        if detail == "verbose":
            lines += finding_lines(part)
            lines += statistics_lines(part)
    if detail != "quiet":
        lines += [_shown(outcome, d, palette) for d in outcome.diagnostics if d not in said]
    return lines[0] if detail == "quiet" else "\n".join(lines)


def answer_lines(
    whole: Outcome,
    part: Outcome,
    kinds: Sequence[str],
    *,
    detail: Detail = "normal",
    palette: Palette = PLAIN,
    full_trace: bool = False,
) -> Iterator[str]:
    """Yield what was proved about these kinds of checks, and the evidence."""
    if isinstance(part.verdict, Safe):
        yield from (f"  {line}" for line in proved_lines(whole, kinds))
    yield from _evidence(part, detail, palette, full_trace=full_trace)


def _undefined(outcome: Outcome) -> Iterator[Diagnostic]:
    """Yield the warnings about undefined behaviour, which no answer covers."""
    diagnostics = (d for each in (outcome, *outcome.answers) for d in each.diagnostics)
    yield from dict.fromkeys(d for d in diagnostics if d.code == UNDEFINED)


def _cause(whole: Outcome, part: Outcome) -> str:
    """Return the cause of UNKNOWN, or that there is nothing to check at all."""
    if isinstance(part.verdict, Unknown):
        return part.verdict.reason.code
    return "nothing to check" if whole.vacuous else ""


def _first_line(outcome: Outcome, palette: Palette, asked: str = "", *, cause: str | None = None) -> str:
    answer = palette.paint(outcome.answer, _ANSWER_COLOURS[outcome.answer])
    if cause is None:
        unknown = isinstance(outcome.verdict, Unknown)
        cause = _cause(outcome, outcome) if unknown else outcome.subproperty or nothing_to_check(outcome)
    seconds = f"{total_seconds(outcome):.2f} s"
    file = printable(title_of(outcome))
    return (
        f"{answer}  {file}  {asked or outcome.property_name}{'  ' * bool(cause)}{cause}"
        f"  ({outcome.engine}, {seconds})"
    )


def _reason(outcome: Outcome, reason: Diagnostic, palette: Palette) -> str:
    source = _source(outcome, reason.span)
    return render_diagnostic(reason, source, palette=palette, label="unknown", colour="yellow")


def _shown(outcome: Outcome, diagnostic: Diagnostic, palette: Palette) -> str:
    return render_diagnostic(diagnostic, _source(outcome, diagnostic.span), palette=palette)


def _source(outcome: Outcome, span: Span | None) -> str | None:
    """Return the text that a span points into; None for a header or a task file."""
    subject = outcome.subject
    if span is None or span.file == subject.file:
        return subject.source
    return subject.texts.get(span.file) if isinstance(subject, Program) else None


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
    formulas: list[str] = []
    for invariant in invariants(outcome):
        if every_point or (invariant.location.loop is not None and not outcome.vacuous):
            formula = invariant.formula if every_point else invariant.brief
            if len(formula) <= _WIDE or len(invariant.conjuncts) == 1:
                yield f"  {_place(invariant)}: {formula}"
            else:
                yield f"  {_place(invariant)}:"
                yield from (f"    {part}" for part in invariant.conjuncts)
            formulas.append(formula)
    for name, formula in summaries(outcome) if every_point or not outcome.vacuous else ():
        yield f"  procedure {name}: {formula}"
        formulas.append(formula)
    if formulas and (explained := legend(formulas)):
        yield f"  where {explained}"
    yield from (f"  assuming: {assumption}" for assumption in assumptions(outcome))


_WIDE: Final = 200  # characters of a formula in one line


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
    """Yield the lines of a derivation or counterexample."""
    for number, (clause, values, premises) in enumerate(derivation(outcome)):
        used = f" from {', '.join(map(str, premises))}" if premises else ""
        yield f"  {number}: clause {clause}{used}  {_values(values)}".rstrip()
    if not isinstance(outcome.verdict, Unsafe):
        return
    from certus.report.counterexample import counterexample

    trace = counterexample(outcome)
    if trace is not None:
        if not outcome.kind:  # with several kinds, the report begins with this sentence
            yield from _defect(trace, outcome)
        yield from _counterexample(trace, file_of(outcome), palette, full=full_trace)
        yield from _failed_claim(trace, outcome, palette)


def _defect(trace: Counterexample, outcome: Outcome) -> Iterator[str]:
    """Yield what is wrong with memory, in one line."""
    if trace.defect is not None:
        place = "" if trace.error.span is None else f"{trace.error.span.file}:{trace.error.span.line}: "
        yield f"  {printable(f'{place}{trace.wrong}{_weakness(outcome)}')}"


def _weakness(outcome: Outcome) -> str:
    """Return the weakness that a memory error is; empty for other answers."""
    defect = outcome.check.defect if isinstance(outcome.check, Replay) else None
    return "" if defect is None or defect.cwe is None else f" (CWE-{defect.cwe})"


def _counterexample(trace: Counterexample, file: str, palette: Palette, *, full: bool) -> Iterator[str]:
    """Yield the steps that matter, each with its reason; if these are unknown, all steps. Unless `full` asks
    for all steps, the middle of a long counterexample is left out."""
    matter = ""
    if trace.matter is not None:
        matter = f", {'all' if trace.matter == trace.steps else f'{trace.matter:,}'} of which matter"
    yield f"counterexample, {counted(trace.steps, 'step')}{matter}:"
    initial = (*trace.initial, *trace.unimportant) if full else trace.initial
    if initial:
        yield f"   initially  {_values(initial)}"
    steps = [*_steps(trace, file, palette, full=full or trace.matter is None)]
    left_out = len(steps) - _FIRST - _LAST
    if left_out > 1 and not full:
        words = f"... {left_out:,} more lines: --full-trace or --html shows all steps ..."
        steps[_FIRST:-_LAST] = [palette.paint(f"{'':{_PLACE_WIDTH}}  {words}", "grey")]
    yield from steps


def _steps(trace: Counterexample, file: str, palette: Palette, *, full: bool) -> Iterator[str]:
    columns = _columns([m for m in trace.moves if full or m.reason], file, reasons=trace.matter is not None)
    folded, omitted = 0, 0
    for move in trace.moves:
        omitted += move.omitted
        if not full and not move.reason:
            folded += 1
            continue
        if folded or omitted:
            yield palette.paint(f"{'':{columns.place}}  ... {_fold(folded, omitted, trace)} ...", "grey")
            folded, omitted = 0, 0
        yield columns.line(move, palette)


def _fold(folded: int, omitted: int, trace: Counterexample) -> str:
    """Say how many steps are not shown; the replay did not keep `omitted` of them."""
    steps = counted(folded + omitted, "step")
    if omitted and not trace.complete:
        return f"{steps} omitted"
    return f"{steps} that {'does' if folded + omitted == 1 else 'do'} not matter"


@dataclass(frozen=True, slots=True)
class _Columns:
    """The widths of places, statements and effects, and whether reasons follow. Places in another file than
    `file` include the file's name."""

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


def _failed_claim(trace: Counterexample, outcome: Outcome, palette: Palette) -> Iterator[str]:
    site = trace.error
    place = "" if site.span is None else f"{site.span}: "
    yield f"{place}{palette.paint(f'violated[{site.kind}]', 'red')}: {printable(site.text)}"
    source = _source(outcome, site.span)
    if site.span is not None and source is not None:
        yield from excerpt(site.span, source, palette)


def _values(changes: Sequence[tuple[str, Datum]]) -> str:
    return ", ".join(f"{name} = {value_text(value)}" for name, value in changes)


# ---------------------------------------------------------------------------- how it was checked


def check_lines(outcome: Outcome) -> Iterator[str]:
    """Yield the lines on how the evidence was checked."""
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
    """Yield the findings of the engine, by kind."""
    kind = ""
    for finding in outcome.statistics.findings:
        if finding.kind != kind:
            kind = finding.kind
            yield f"{kind}:"
        yield f"  {printable(finding.place)}: {printable(finding.text)}"


def statistics_lines(outcome: Outcome) -> Iterator[str]:
    """Yield counters and times."""
    counters = sorted(outcome.statistics.counters.items())
    if counters:
        yield "counters:"
        yield from (f"  {name:<32} {count:>10}" for name, count in counters)
    times = {**outcome.seconds, **outcome.statistics.seconds}
    if times:
        yield "seconds:"
        yield from (f"  {name:<32} {seconds:>10.3f}" for name, seconds in sorted(times.items()))


def render_passes(outcome: Outcome) -> str:
    """Render a table of the program's size before and after each pass."""
    lines = [f"{'pass':<20} {'locations':>10} {'after':>8} {'edges':>8} {'after':>8}"]
    for each in outcome.passes:
        before, after = each.before, each.after
        lines.append(
            f"{each.name:<20} {before.locations:>10} {after.locations:>8} {before.edges:>8} {after.edges:>8}"
        )
    return "\n".join(lines)


# -------------------------------------------------------------------------------------- diagnostics


def render_diagnostic(
    diagnostic: Diagnostic,
    source: str | None = None,
    *,
    palette: Palette = PLAIN,
    label: str | None = None,
    colour: str | None = None,
) -> str:
    """Render a diagnostic. `label` replaces the severity, `source` is the text that the span points into."""
    word = palette.paint(
        f"{label or diagnostic.severity.value}[{diagnostic.code}]",
        colour or _SEVERITY_COLOURS[diagnostic.severity],
    )
    place = "" if diagnostic.span is None else f"{diagnostic.span}: "
    lines = [f"{place}{word}: {printable(diagnostic.message)}"]
    if diagnostic.span is not None and source is not None:
        lines += excerpt(diagnostic.span, source, palette)
    if diagnostic.hint is not None:
        lines.append(f"  {palette.paint('hint', 'blue')}: {printable(diagnostic.hint)}")
    return "\n".join(lines)


def excerpt(span: Span, source: str, palette: Palette = PLAIN) -> list[str]:
    """Return the first source line of a span and a line that marks the part it covers."""
    lines = source.split("\n")
    if not 1 <= span.line <= len(lines):
        return []
    line = lines[span.line - 1].rstrip("\r")
    start = min(max(span.column - 1, 0), len(line))
    stop = min(span.end_column - 1, len(line)) if span.end_line == span.line else len(line.rstrip())
    first = max(0, start - _EXCERPT_WIDTH // 2) if len(line) > _EXCERPT_WIDTH else 0
    shown = printable(line[first : first + _EXCERPT_WIDTH])
    # A tab below a tab keeps the caret in its column, independent of the terminal's tab stops.
    blanks = "".join("\t" if c == "\t" else " " for c in shown[: start - first])
    marks = "^" + "~" * max(0, min(stop, first + _EXCERPT_WIDTH) - start - 1)
    number = f"{span.line:>5} | "
    gutter = " " * (len(number) - 2) + "| "
    return [
        palette.paint(number, "grey") + shown,
        palette.paint(gutter, "grey") + blanks + palette.paint(marks, "green"),
    ]


def printable(text: str) -> str:
    """Replace control characters, which could move the cursor of a terminal."""
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
