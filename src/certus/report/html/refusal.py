"""The page for input that was refused: there is no answer, and it says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from certus.core.diagnostic import Diagnostic
from certus.core.version import VERSION
from certus.report.diagnostics import render_diagnostic
from certus.report.html.markup import text
from certus.report.html.page import policy, style_sheet


def render_refusal(
    file: str, diagnostics: Sequence[Diagnostic], source_of: Callable[[str], str | None]
) -> str:
    """Each diagnostic as it is printed, with an excerpt if `source_of` knows the file."""
    style = style_sheet()
    said = "\n".join(_said(diagnostic, source_of) for diagnostic in diagnostics)
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
{said}
</main>
<footer>Certus {VERSION}</footer>
</body>
</html>
"""


def _said(diagnostic: Diagnostic, source_of: Callable[[str], str | None]) -> str:
    source = None if diagnostic.span is None else source_of(diagnostic.span.file)
    return f"<pre>{text(render_diagnostic(diagnostic, source))}</pre>"
