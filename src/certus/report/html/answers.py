"""The tab with the answers to the default question, one for each kind of checks."""

from __future__ import annotations

from certus.core.evidence import Unknown, Unsafe
from certus.core.outcome import Outcome
from certus.report.html.markup import code, table, text
from certus.report.outcome_view import answer_parts, proved_lines, sentence_of
from certus.report.text import answer_lines


def panel(outcome: Outcome) -> str:
    """Return a table of the answers, then the evidence of each; nothing if one property was asked for."""
    if not outcome.answers:
        return ""
    rows = [(code(each.kind), text(each.answer), _summary(outcome, each)) for each in outcome.answers]
    parts = [f"<section><h2>Answers</h2>{table(('checks', 'answer', 'what'), rows)}</section>"]
    for part, kinds in answer_parts(outcome):
        title = text(f"{part.answer}: {', '.join(kinds)}")
        lines = text("\n".join(answer_lines(outcome, part, kinds)))
        parts.append(f"<section><h2>{title}</h2><pre>{lines}</pre></section>")
    return "\n".join(parts)


def summary(outcome: Outcome) -> str:
    """Return all answers in one line."""
    return ", ".join(f"{text(', '.join(kinds))}: {part.answer}" for part, kinds in answer_parts(outcome))


def _summary(outcome: Outcome, answer: Outcome) -> str:
    if isinstance(answer.verdict, Unsafe):
        return text(sentence_of(answer))
    if answer.answer == "HOLDS":
        return text("; ".join(proved_lines(outcome, [answer.kind])))
    return text(answer.verdict.reason.message) if isinstance(answer.verdict, Unknown) else ""
