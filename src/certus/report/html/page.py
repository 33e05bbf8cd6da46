"""Render an outcome as one HTML file: the source with the evidence, automata, findings and statistics.

The page is self-contained. Its content security policy forbids every request, and permits only the style and
the script in the page, by their hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Unknown
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.core.version import VERSION
from certus.report.counterexample import Counterexample, counterexample
from certus.report.html import answers, automata, evidence, memory, statistics, trace
from certus.report.html.markup import Key, code, data, line_key, line_link, sentence, text
from certus.report.html.source import Notes, listing
from certus.report.outcome_view import files_of, nothing_to_check, title_of, total_seconds, value_text
from certus.report.text import render_diagnostic

_HERE: Final = Path(__file__).parent
_TABS: Final = {
    "source": "Source",
    "answers": "Answers",
    "automata": "Automata",
    "findings": "Findings",
    "statistics": "Statistics",
}


def render_html(outcome: Outcome) -> str:
    """Render the page."""
    violation = counterexample(outcome)
    style, script = style_sheet(), _HERE.joinpath("script.js").read_text(encoding="utf-8")
    tabs = {
        "source": _source(outcome, violation),
        "answers": answers.panel(outcome),
        "automata": automata.panel(outcome),
        "findings": statistics.findings(outcome),
        "statistics": statistics.statistics(outcome),
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
{_header(outcome, violation)}
{_tab_list(shown)}
<main>
{"".join(_panel(name, inside) for name, inside in shown.items())}</main>
<footer>Certus {VERSION}, {text(outcome.property_name)}, {text(outcome.engine)}</footer>
{data("trace", _trace(outcome, violation))}
<script>{script}</script>
</body>
</html>
"""


def _trace(outcome: Outcome, violation: Counterexample | None) -> object:
    program = outcome.subject
    return (
        trace.trace_data(program, violation)
        if violation is not None and isinstance(program, Program)
        else None
    )


def style_sheet() -> str:
    """Return the style of all pages."""
    return _HERE.joinpath("style.css").read_text(encoding="utf-8")


def policy(style: str, script: str = "") -> str:
    """Return a content security policy that allows only this style and this script."""
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(words.encode()).digest()).decode() for words in (style, script)
    )
    scripts = f"script-src 'sha256-{script_hash}'; " if script else ""
    styles = f"style-src 'sha256-{style_hash}'"
    return f"default-src 'none'; {styles}; {scripts}base-uri 'none'; form-action 'none'"


# ---------------------------------------------------------------------------------------- header


def _header(outcome: Outcome, violation: Counterexample | None) -> str:
    contradicted = ""
    if outcome.contradicted:
        expected = value_text(bool(outcome.expected))
        contradicted = f'<p class="contradicted">The task file expects {expected}.</p>'
    return f"""<header>
<div class="title">
<h1><span class="answer">{outcome.answer}</span> <span class="file">{text(title_of(outcome))}</span></h1>
<p class="claim">{_claim(outcome, violation)}</p>{_answers(outcome)}{contradicted}</div>
<button id="theme" type="button" title="Light or dark" aria-label="Switch between light and dark">◐</button>
</header>"""


def _answers(outcome: Outcome) -> str:
    """Return the answers to the default question in one line."""
    return f'<p class="claim">{answers.summary(outcome)}</p>' if outcome.answers else ""


def _claim(outcome: Outcome, violation: Counterexample | None) -> str:
    """Return the answer as a sentence."""
    source = f"{text(outcome.engine)}, {total_seconds(outcome):.2f} s"
    name = code(outcome.property_name)
    if isinstance(outcome.verdict, Unknown):
        return f"No answer about {name}: {code(outcome.verdict.reason.code)} ({source})"
    if violation is not None:
        place = line_link(violation.error.span, files_of(outcome))
        claim = f" {code(violation.error.text)}" if violation.error.text else ""
        kind = text(violation.error.kind.replace("-", " "))
        if violation.wrong:
            return f"{name} is violated {place}: {sentence(violation.wrong)} ({source})"
        return f"{name} is violated: {kind}{claim} {place} ({source})"
    if outcome.answer == "VIOLATED":
        return f"The clauses contradict each other ({source})"
    if outcome.vacuous:
        nothing = nothing_to_check(outcome)
        return f"{text(nothing[:1].upper() + nothing[1:])}. So {name} holds ({source})"
    subject = "for all executions" if isinstance(outcome.subject, Program) else "the clauses have a model"
    return f"{name} holds: {subject} ({source})"


def _tab_list(shown: Mapping[str, str]) -> str:
    buttons = "".join(
        f'<button role="tab" id="tab-{name}" aria-controls="{name}">{_TABS[name]}</button>' for name in shown
    )
    return f'<div role="tablist" aria-label="Parts of the report">{buttons}</div>'


def _panel(name: str, inside: str) -> str:
    return f'<div role="tabpanel" id="{name}" aria-labelledby="tab-{name}">\n{inside}\n</div>\n'


# ---------------------------------------------------------------------------------------- source


def _start(outcome: Outcome, notes: Notes) -> Key:
    """Return the line to show first: the first line of the first file with a note, or else that of `main`."""
    noted = [key for key in (*notes.above, *notes.below) if isinstance(key, int)]
    main = outcome.subject.procedures.get("main") if isinstance(outcome.subject, Program) else None
    span = None if main is None else main.span
    return min(noted) if noted else line_key(span, files_of(outcome))


def _source(outcome: Outcome, violation: Counterexample | None) -> str:
    subject, files = outcome.subject, files_of(outcome)
    marked: dict[Key, str] = {}
    for move in () if violation is None else violation.moves:
        line = line_key(move.span, files)
        if line:
            marked[line] = "met matters" if move.reason else marked.get(line, "met")
    notes = evidence.notes(outcome)
    side = evidence.panel(outcome)
    if violation is not None:
        assert isinstance(subject, Program)
        side = memory.panel(violation.defect, subject, files) + trace.panel(violation, files)
        line = line_key(violation.error.span, files)
        if line:
            marked[line] = f"{marked.get(line, 'met')} violated"
    others = subject.others if isinstance(subject, Program) else ()
    lines = listing(subject.source, subject.file, notes, marked)
    if others:
        lines = f'<p class="gap">{text(subject.file)}</p>{lines}'
    for number, other in enumerate(others, 2):
        lines += f'<p class="gap">{text(other.file)}</p>'
        lines += listing(other.text, other.file, notes, marked, number)
    aside = f"<aside>{side}{evidence.checked(outcome)}</aside>"
    start = f' data-start="{first}"' if (first := _start(outcome, notes)) else ""
    code_ = f'<div class="code" tabindex="0" role="region" aria-label="Source"{start}>{lines}</div>'
    return f'<div class="split">{code_}\n{aside}</div>'


# --------------------------------------------------------------------------------------- refusal


def render_refusal(
    file: str, diagnostics: Sequence[Diagnostic], source_of: Callable[[str], str | None]
) -> str:
    """Render a page for refused input: each diagnostic as on a terminal, with an excerpt of the source."""
    style = style_sheet()
    texts = "\n".join(_refused(diagnostic, source_of) for diagnostic in diagnostics)
    return f"""<!DOCTYPE html>
<html lang="en" data-answer="REFUSED">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy(style)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Certus {VERSION}">
<title>{text(f"no answer: {file}")}</title>
<style>{style}</style>
</head>
<body>
<header>
<div class="title">
<h1><span class="answer">NO ANSWER</span> <span class="file">{text(file)}</span></h1>
<p class="claim">The input is malformed: nothing was verified.</p></div>
</header>
<main>
{texts}
</main>
<footer>Certus {VERSION}</footer>
</body>
</html>
"""


def _refused(diagnostic: Diagnostic, source_of: Callable[[str], str | None]) -> str:
    source = None if diagnostic.span is None else source_of(diagnostic.span.file)
    return f"<pre>{text(render_diagnostic(diagnostic, source))}</pre>"
