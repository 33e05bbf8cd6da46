"""One HTML file about one outcome: the source first, then what backs the answer, automata, numbers.

The page needs nothing else and may load nothing: its policy forbids every request, and permits exactly
the style and the script that it carries, by their digests."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.core.verdict import Unknown
from certus.core.version import VERSION
from certus.report.content import files_of, nothing_to_check, title_of, total_seconds, value_text
from certus.report.html import answer, automata, numbers, trace
from certus.report.html.markup import Key, code, data, line_key, line_link, text
from certus.report.html.source import Notes, listing
from certus.report.steps import Path as Counterexample
from certus.report.steps import path

_HERE: Final = Path(__file__).parent
_TABS: Final = {
    "source": "Source",
    "automata": "Automata",
    "findings": "Findings",
    "statistics": "Statistics",
}


def render_html(outcome: Outcome) -> str:
    """The page."""
    found = path(outcome)
    style, script = style_sheet(), _HERE.joinpath("script.js").read_text(encoding="utf-8")
    tabs = {
        "source": _source(outcome, found),
        "automata": automata.panel(outcome),
        "findings": numbers.findings(outcome),
        "statistics": numbers.statistics(outcome),
    }
    shown = {name: inside for name, inside in tabs.items() if inside}
    title = f"{outcome.answer}: {title_of(outcome)}"
    return f"""<!DOCTYPE html>
<html lang="en" data-answer="{outcome.answer}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="Certus {VERSION}">
<title>{text(title)}</title>
<style>{style}</style>
</head>
<body>
{_header(outcome, found)}
{_tab_list(shown)}
<main>
{"".join(_panel(name, inside) for name, inside in shown.items())}</main>
<footer>Certus {VERSION}, {text(outcome.property_name)}, {text(outcome.engine)}</footer>
{data("trace", _trace(outcome, found))}
<script>{script}</script>
</body>
</html>
"""


def _trace(outcome: Outcome, found: Counterexample | None) -> object:
    program = outcome.subject
    return trace.trace_data(program, found) if found is not None and isinstance(program, Program) else None


def style_sheet() -> str:
    return _HERE.joinpath("style.css").read_text(encoding="utf-8")


def policy(style: str, script: str = "") -> str:
    """Nothing may be loaded; this style and this script are the only ones."""
    mine, runs = (
        base64.b64encode(hashlib.sha256(words.encode()).digest()).decode() for words in (style, script)
    )
    scripts = f"script-src 'sha256-{runs}'; " if script else ""
    return f"default-src 'none'; style-src 'sha256-{mine}'; {scripts}base-uri 'none'; form-action 'none'"


# ---------------------------------------------------------------------------------------- header


def _header(outcome: Outcome, found: Counterexample | None) -> str:
    contradicted = ""
    if outcome.contradicted:
        expected = value_text(bool(outcome.expected))
        contradicted = f'<p class="contradicted">The task file expects {expected}.</p>'
    return f"""<header>
<div class="title">
<h1><span class="answer">{outcome.answer}</span> <span class="file">{text(title_of(outcome))}</span></h1>
<p class="claim">{_claim(outcome, found)}</p>{contradicted}</div>
<button id="theme" type="button" title="Light or dark" aria-label="Switch between light and dark">◐</button>
</header>"""


def _claim(outcome: Outcome, found: Counterexample | None) -> str:
    """The answer as a sentence."""
    took = f"{text(outcome.engine)}, {total_seconds(outcome):.2f} s"
    asked = code(outcome.property_name)
    if isinstance(outcome.verdict, Unknown):
        return f"No answer to {asked}: {code(outcome.verdict.reason.code)} ({took})"
    if found is not None:
        place = line_link(found.error.span, files_of(outcome))
        claim = f" {code(found.error.text)}" if found.error.text else ""
        kind = text(found.error.kind.replace("-", " "))
        return f"{asked} is violated: {kind}{claim} {place} ({took})"
    if outcome.answer == "VIOLATED":
        return f"The clauses contradict each other ({took})"
    if outcome.vacuous:
        said = nothing_to_check(outcome)
        return f"{text(said[:1].upper() + said[1:])}. So {asked} holds ({took})"
    subject = "for all executions" if isinstance(outcome.subject, Program) else "the clauses have a model"
    return f"{asked} holds: {subject} ({took})"


def _tab_list(shown: Mapping[str, str]) -> str:
    buttons = "".join(
        f'<button role="tab" id="tab-{name}" aria-controls="{name}">{_TABS[name]}</button>' for name in shown
    )
    return f'<div role="tablist" aria-label="Parts of the report">{buttons}</div>'


def _panel(name: str, inside: str) -> str:
    return f'<div role="tabpanel" id="{name}" aria-labelledby="tab-{name}">\n{inside}\n</div>\n'


# ---------------------------------------------------------------------------------------- source


def _start(outcome: Outcome, notes: Notes) -> Key:
    """The line to begin at: the first of the first file that has something to say, else that of the main
    procedure."""
    said = [key for key in (*notes.above, *notes.below) if isinstance(key, int)]
    main = outcome.subject.procedures.get("main") if isinstance(outcome.subject, Program) else None
    span = None if main is None else main.span
    return min(said) if said else line_key(span, files_of(outcome))


def _source(outcome: Outcome, found: Counterexample | None) -> str:
    subject, files = outcome.subject, files_of(outcome)
    marked: dict[Key, str] = {}
    for move in () if found is None else found.moves:
        line = line_key(move.span, files)
        if line:
            marked[line] = "met matters" if move.reason else marked.get(line, "met")
    notes = answer.notes(outcome)
    side = answer.panel(outcome)
    if found is not None:
        side = trace.panel(found, files)
        line = line_key(found.error.span, files)
        if line:
            marked[line] = f"{marked.get(line, 'met')} violated"
    others = subject.others if isinstance(subject, Program) else ()
    lines = listing(subject.source, subject.file, notes, marked)
    if others:
        lines = f'<p class="gap">{text(subject.file)}</p>{lines}'
    for number, other in enumerate(others, 2):
        lines += f'<p class="gap">{text(other.file)}</p>'
        lines += listing(other.text, other.file, notes, marked, number)
    aside = f"<aside>{side}{answer.checked(outcome)}</aside>"
    start = f' data-start="{first}"' if (first := _start(outcome, notes)) else ""
    code_ = f'<div class="code" tabindex="0" role="region" aria-label="Source"{start}>{lines}</div>'
    return f'<div class="split">{code_}\n{aside}</div>'
