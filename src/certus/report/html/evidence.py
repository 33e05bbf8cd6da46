"""The evidence of an answer, beside the source and as notes between its lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.evidence import Execution, KInductive, Unknown, Unrolling
from certus.core.outcome import CONFIRMED, DerivationCheck, Outcome, ProofCheck, Replay
from certus.core.program import Program
from certus.report.html.markup import Key, code, line_key, line_link, sentence, table, text
from certus.report.html.source import Notes
from certus.report.outcome_view import (
    Invariant,
    assumptions,
    bounds,
    counted,
    derivation,
    files_of,
    invariants,
    proof_of,
    relations,
    silent_texts,
    summaries,
    value_text,
)

SHOWN: Final = 8  # invariants shown at one line; the others are only counted


def notes(outcome: Outcome) -> Notes:
    """Return the notes at the lines of the source: diagnostics, invariants, summaries and bounds."""
    lines = Notes(defaultdict(list), defaultdict(list))
    program, proof = outcome.subject, proof_of(outcome)
    diagnostics = list(outcome.diagnostics)
    if isinstance(outcome.verdict, Unknown):
        diagnostics.insert(0, outcome.verdict.reason)
    for diagnostic in diagnostics:
        line = _line(diagnostic, files_of(outcome))
        if line:
            lines.below[line].append(_diagnostic_note(diagnostic))
    if proof is None or not isinstance(program, Program):
        return lines
    files = files_of(outcome)
    by_line: defaultdict[tuple[Key, bool], list[Invariant]] = defaultdict(list)
    for invariant in invariants(outcome):
        if key := line_key(invariant.span, files):
            by_line[key, invariant.location.loop is not None].append(invariant)
    for (line, is_loop), group in by_line.items():
        (lines.below if is_loop else lines.above)[line] += _invariant_notes(group)
    for name, formula in summaries(outcome):
        if key := line_key(program.procedures[name].span, files):
            lines.below[key].append(_note("summary", f"every call of {code(name)}", [code(formula)]))
    for bound in bounds(proof, program)[0]:
        if key := line_key(bound.span, files):
            words = f"entered at most {counted(bound.count, 'time')}"
            lines.below[key].append(_note("bound", words, []))
    return lines


def _line(diagnostic: Diagnostic, files: Sequence[str]) -> Key:
    """Return the line of a diagnostic: that of its span, or of the first loop that it names; 0 for none."""
    if diagnostic.span is not None:
        return line_key(diagnostic.span, files)
    named = re.search(r"\bloop at line (\d+)", diagnostic.message)
    return int(named[1]) if named else 0


def _invariant_notes(group: Sequence[Invariant]) -> Iterator[str]:
    for invariant in group[:SHOWN]:
        where = "".join(f", called from line {line}" for line in reversed(invariant.calls))
        title = f"{'loop invariant' if invariant.location.loop is not None else 'always holds here'}{where}"
        yield _note("invariant", title, [code(part) for part in invariant.conjuncts])
    if len(group) > SHOWN:
        yield _note("invariant", f"{len(group) - SHOWN:,} more, for other calls", [])


def _note(kind: str, title: str, parts: Sequence[str]) -> str:
    inside = "".join(f"<li>{part}</li>" for part in parts)
    listed = f"<ul>{inside}</ul>" if parts else ""
    return f'<div class="note {kind}" role="note"><span class="label">{title}</span>{listed}</div>\n'


def _diagnostic_note(diagnostic: Diagnostic) -> str:
    hint = f"<li>{sentence(diagnostic.hint)}</li>" if diagnostic.hint else ""
    listed = f'<ul class="hints">{hint}</ul>' if hint else ""
    return (
        f'<div class="note {_kind(diagnostic)}" role="note">'
        f'<span class="label">{text(diagnostic.code)}</span>'
        f"<p>{sentence(diagnostic.message)}</p>{listed}</div>\n"
    )


def _kind(diagnostic: Diagnostic) -> str:
    return {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "remark"}[
        diagnostic.severity
    ]


# ------------------------------------------------------------------------------ beside the source


def panel(outcome: Outcome) -> str:
    """Return the evidence beside the source, other than a counterexample."""
    verdict = outcome.verdict
    parts: list[str] = []
    if isinstance(verdict, Unknown):
        parts.append(_section("Why there is no answer", _card(verdict.reason, files_of(outcome))))
    else:
        parts.append(_section("Why it holds", "".join(_proof(outcome))) if proof_of(outcome) else "")
        parts.append(_derivation(outcome))
    return "".join(parts)


def checked(outcome: Outcome) -> str:
    """Return how the evidence was checked, the assumptions of a proof, and remarks."""
    lines = [f"<li>{line}</li>" for line in _checks(outcome)]
    lines += [f'<li class="missing">{line}</li>' for line in _missing_checks(outcome)]
    inside = "".join(lines)
    parts = [_section("How it was checked", f'<ul class="checks">{inside}</ul>') if inside else ""]
    taken = "".join(f"<li>{text(words)}</li>" for words in assumptions(outcome))
    parts.append(_section("Assumptions", f"<ul>{taken}</ul>") if taken else "")
    cards = "".join(_card(d, files_of(outcome)) for d in outcome.diagnostics)
    parts.append(_section("Remarks", cards) if cards else "")
    return "".join(parts)


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{text(title)}</h2>{inside}</section>\n"


def _card(diagnostic: Diagnostic, files: Sequence[str]) -> str:
    hint = f'<p class="hint">{sentence(diagnostic.hint)}</p>' if diagnostic.hint else ""
    place = line_link(diagnostic.span, files)
    return (
        f'<div class="card {_kind(diagnostic)}"><p class="label">{text(diagnostic.code)} {place}</p>'
        f"<p>{sentence(diagnostic.message)}</p>{hint}</div>"
    )


def _proof(outcome: Outcome) -> Iterator[str]:
    proof, program = proof_of(outcome), outcome.subject
    if not isinstance(program, Program):
        if proof is not None:
            yield "<p>The clauses have a model:</p>"
            yield table(("relation", "holds where"), [(code(h), code(f)) for h, f in relations(proof)])
        return
    assert proof is not None
    if isinstance(proof, Execution):
        steps = counted(proof.steps, "step")
        yield f"<p>The program takes no input. Its one execution ends after {steps}.</p>"
    elif isinstance(proof, Unrolling):
        loops, recursion = bounds(proof, program)
        yield "<p>All executions end within these bounds, and none of them fails.</p>"
        rows = [(_place(b.span, b.name, program), f"{b.count:,}") for b in loops]
        rows += [(f"activations of {code(b.name)}", f"{b.count:,}") for b in recursion]
        yield table(("loop", "#largest number of entries"), rows) if rows else "<p>No loop is entered.</p>"
    else:
        yield from _inductive(outcome, program)


def _inductive(outcome: Outcome, program: Program) -> Iterator[str]:
    proof = proof_of(outcome)
    assert proof is not None
    formulas = invariants(outcome)
    if isinstance(proof, KInductive) and proof.k > 1:
        yield f"<p>Formulas that held in {proof.k} visits of a loop hold in the next one.</p>"
    elif formulas:
        yield "<p>These formulas hold whenever control is there; every step preserves them.</p>"
    else:
        yield "<p>No execution reaches an error; no invariant is needed.</p>"
    inner = [i for i in formulas if i.location.loop is not None]
    for invariant in inner[:40]:
        parts = "".join(f"<li>{code(part)}</li>" for part in invariant.conjuncts)
        calls = "".join(f", called from line {line}" for line in reversed(invariant.calls))
        place = _place(invariant.span, invariant.location.name, program)
        yield f'<div class="card proof"><p class="label">loop at {place}{calls}</p><ul>{parts}</ul></div>'
    for name, formula in summaries(outcome):
        place = line_link(program.procedures[name].span, list(program.texts))
        title = f'<p class="label">procedure {code(name)} {place}</p>'
        yield f'<div class="card proof">{title}{code(formula)}</div>'
    others = len(formulas) - len(inner[:40])
    if others:
        yield f'<p class="quiet">{counted(others, "more formula")} in the source.</p>'


def _place(span: Span | None, name: str, program: Program) -> str:
    return line_link(span, list(program.texts)) or code(name)


def _derivation(outcome: Outcome) -> str:
    steps = derivation(outcome)
    if not steps:
        return ""
    rows = [
        (
            str(number),
            f"clause {clause}",
            ", ".join(map(str, premises)),
            code(", ".join(f"{name} = {value_text(value)}" for name, value in values)),
        )
        for number, (clause, values, premises) in enumerate(steps)
    ]
    shown = rows[:500]
    rest = f'<p class="quiet">{len(rows) - 500:,} more steps</p>' if len(rows) > 500 else ""
    return _section("Derivation of a contradiction", table(("#step", "by", "from", "values"), shown) + rest)


def _checks(outcome: Outcome) -> Iterator[str]:
    """Yield the checks that the evidence passed."""
    check = outcome.check
    if isinstance(proof_of(outcome), Execution):
        yield "run to its end by the interpreter"
    elif isinstance(check, ProofCheck):
        if not check.clauses:
            yield "no clause needs a solver"
        for solver, number in check.discharged.items():
            meter = f'<meter min="0" max="{max(check.clauses, 1)}" value="{number}"></meter>'
            yield f"{text(solver)} proved {number:,} of {counted(check.clauses, 'clause')}{meter}"
        if check.discharged:
            yield "every clause was proved by a solver, and none was refuted"
        if isinstance(outcome.subject, Program):
            yield f"{counted(check.runs, 'random run')} did not contradict it"
    elif isinstance(check, DerivationCheck):
        yield f"all {counted(check.steps, 'step')} were evaluated again"
    elif isinstance(check, Replay):
        yield f"replayed by the interpreter, {counted(check.steps, 'step')}"
        if check.compiled == CONFIRMED:
            parts = ("replayed by the compiled program", check.compilers.sentence)
            yield text("; ".join(filter(None, parts)))
    if outcome.challenge is not None and not outcome.challenge.why_not:
        yield text(outcome.challenge.sentence)


def _missing_checks(outcome: Outcome) -> Iterator[str]:
    """Yield what could not be checked, or not by all solvers."""
    check = outcome.check
    if isinstance(check, ProofCheck):
        yield from map(text, silent_texts(check))
        if check.by_one:
            were = "was" if check.by_one == 1 else "were"
            yield f"{counted(check.by_one, 'clause')} {were} proved by one solver only"
    elif isinstance(check, Replay) and check.compiled and check.compiled != CONFIRMED:
        yield f"not replayed by the compiled program: {text(check.compiled)}"
    if outcome.challenge is not None and outcome.challenge.why_not:
        yield text(outcome.challenge.sentence)
