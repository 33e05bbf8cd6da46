"""HOLDS, UNKNOWN, and answers about Horn clauses: what stands beside the source and between its lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.evidence import Execution, KInductive, Unrolling
from certus.core.outcome import CONFIRMED, DerivationCheck, Outcome, ProofCheck, Replay
from certus.core.program import Program
from certus.core.verdict import Unknown
from certus.report.content import (
    Invariant,
    assumptions,
    bounds,
    counted,
    derivation,
    invariants,
    proof_of,
    relations,
    summaries,
    value_text,
)
from certus.report.html.markup import code, line_link, sentence, table, text
from certus.report.html.source import Notes
from certus.report.solvers import silent_texts

SHOWN: Final = 8  # invariants at one line; the others are counted


def notes(outcome: Outcome) -> Notes:
    """What is known at the lines of the source, as HTML."""
    found = Notes(defaultdict(list), defaultdict(list))
    program, proof = outcome.subject, proof_of(outcome)
    told = list(outcome.diagnostics)
    if isinstance(outcome.verdict, Unknown):
        told.insert(0, outcome.verdict.reason)
    for diagnostic in told:
        line = _line(diagnostic, program.file)
        if line:
            found.below[line].append(_diagnostic_note(diagnostic))
    if proof is None or not isinstance(program, Program):
        return found
    by_line: defaultdict[tuple[int, bool], list[Invariant]] = defaultdict(list)
    for invariant in invariants(proof, program):
        if invariant.span is not None and invariant.span.file == program.file:
            by_line[invariant.span.line, invariant.location.loop is not None].append(invariant)
    for (line, is_loop), group in by_line.items():
        (found.below if is_loop else found.above)[line] += _invariant_notes(group)
    for name, formula in summaries(proof, program):
        span = program.procedures[name].span
        if span is not None and span.file == program.file:
            found.below[span.line].append(_note("summary", f"every call of {code(name)}", [code(formula)]))
    for bound in bounds(proof, program)[0]:
        if bound.span is not None and bound.span.file == program.file:
            words = f"entered at most {counted(bound.count, 'time')}"
            found.below[bound.span.line].append(_note("bound", words, []))
    return found


def _line(diagnostic: Diagnostic, file: str) -> int:
    """The line that a diagnostic is about: of its span, or of the first loop that it names; 0 for none."""
    if diagnostic.span is not None:
        return diagnostic.span.line if diagnostic.span.file == file else 0
    named = re.search(r"\bloop at line (\d+)", diagnostic.message)
    return int(named[1]) if named else 0


def _invariant_notes(group: Sequence[Invariant]) -> Iterator[str]:
    for invariant in group[:SHOWN]:
        where = "".join(f", called from line {line}" for line in reversed(invariant.calls))
        title = f"{'loop invariant' if invariant.location.loop is not None else 'always holds here'}{where}"
        yield _note("invariant", title, [code(part) for part in invariant.conjuncts])
    if len(group) > SHOWN:
        yield _note("invariant", f"{len(group) - SHOWN:,} more, for other ways here", [])


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
    """What backs the answer, if it is not a counterexample."""
    verdict = outcome.verdict
    parts: list[str] = []
    if isinstance(verdict, Unknown):
        parts.append(_section("Why there is no answer", _card(verdict.reason, outcome.subject.file)))
    else:
        parts.append(_section("Why it holds", "".join(_proof(outcome))) if proof_of(outcome) else "")
        parts.append(_derivation(outcome))
    return "".join(parts)


def checked(outcome: Outcome) -> str:
    """Who checked the evidence, and what else is to be said."""
    inside = "".join(f"<li>{line}</li>" for line in _checks(outcome))
    parts = [_section("How it was checked", f'<ul class="checks">{inside}</ul>') if inside else ""]
    taken = "".join(f"<li>{text(words)}</li>" for words in assumptions(outcome))
    parts.append(_section("Assuming", f"<ul>{taken}</ul>") if taken else "")
    cards = "".join(_card(d, outcome.subject.file) for d in outcome.diagnostics)
    parts.append(_section("Remarks", cards) if cards else "")
    return "".join(parts)


def _section(title: str, inside: str) -> str:
    return f"<section><h2>{text(title)}</h2>{inside}</section>\n"


def _card(diagnostic: Diagnostic, file: str) -> str:
    hint = f'<p class="hint">{sentence(diagnostic.hint)}</p>' if diagnostic.hint else ""
    place = line_link(diagnostic.span, file)
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
        yield table(("loop", "#entries at most"), rows) if rows else "<p>No loop is entered.</p>"
    else:
        yield from _inductive(outcome, program)


def _inductive(outcome: Outcome, program: Program) -> Iterator[str]:
    proof = proof_of(outcome)
    assert proof is not None
    found = invariants(proof, program)
    if isinstance(proof, KInductive) and proof.k > 1:
        yield f"<p>What holds in {proof.k} visits of a loop holds in the next ({proof.k}-induction).</p>"
    elif found:
        yield "<p>These formulas hold whenever control is there; each survives every step of the program.</p>"
    else:
        yield "<p>No execution reaches an error; no invariant is needed.</p>"
    inner = [i for i in found if i.location.loop is not None]
    for invariant in inner[:40]:
        parts = "".join(f"<li>{code(part)}</li>" for part in invariant.conjuncts)
        calls = "".join(f", called from line {line}" for line in reversed(invariant.calls))
        place = _place(invariant.span, invariant.location.name, program)
        yield f'<div class="card proof"><p class="label">loop at {place}{calls}</p><ul>{parts}</ul></div>'
    for name, formula in summaries(proof, program):
        place = line_link(program.procedures[name].span, program.file)
        title = f'<p class="label">procedure {code(name)} {place}</p>'
        yield f'<div class="card proof">{title}{code(formula)}</div>'
    others = len(found) - len(inner[:40])
    if others:
        yield f'<p class="quiet">{counted(others, "more formula")} in the source.</p>'


def _place(span: Span | None, name: str, program: Program) -> str:
    return line_link(span, program.file) or code(name)


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
    check = outcome.check
    if isinstance(proof_of(outcome), Execution):
        yield "run to its end by the interpreter"
    elif isinstance(check, ProofCheck):
        if not check.clauses:
            yield "no clause needs a solver"
        for solver, number in check.discharged.items():
            meter = f'<meter min="0" max="{max(check.clauses, 1)}" value="{number}"></meter>'
            yield f"{text(solver)} proved {number:,} of {counted(check.clauses, 'clause')}{meter}"
        yield from map(text, silent_texts(check))
        if check.by_one:
            were = "was" if check.by_one == 1 else "were"
            yield f"{counted(check.by_one, 'clause')} {were} proved by one solver only"
        if check.discharged:
            yield "every clause was proved by a solver, and none was refuted"
        if isinstance(outcome.subject, Program):
            yield f"{counted(check.runs, 'random run')} did not contradict it"
    elif isinstance(check, DerivationCheck):
        yield f"all {counted(check.steps, 'step')} were evaluated again"
    elif isinstance(check, Replay):
        yield f"replayed by the interpreter, {counted(check.steps, 'step')}"
        if check.compiled == CONFIRMED:
            said = ("replayed by the compiled program", check.compilers.sentence)
            yield text("; ".join(filter(None, said)))
        elif check.compiled:
            yield f"not replayed by the compiled program: {text(check.compiled)}"
    if outcome.challenge is not None:
        yield text(outcome.challenge.sentence)
