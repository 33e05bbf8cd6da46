"""The counterexample of a violation, to step through.

The list of steps is plain HTML, readable without the script and on paper. The page also contains the data
that the script shows at each step: values, call stack, and the reason for a branch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final

from certus.core.diagnostic import Span
from certus.core.program import Call, Program
from certus.report.counterexample import Counterexample, Move, effect_of
from certus.report.html.markup import Key, code, line_key, text
from certus.report.outcome_view import counted, function_name, value_text
from certus.report.source_text import condition_of
from certus.report.trace_state import Change

_Frame = tuple[int, str, Key | None]  # the number of the caller's, the function, where it is called
_ICONS: Final = {
    name: f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="{shape}"/></svg>'
    for name, shape in {
        "first": "M3 3h2v10H3zM13 3v10L6 8z",
        "back": "M11 3v10L4 8z",
        "forth": "M5 3v10l7-5z",
        "last": "M11 3h2v10h-2zM3 3v10l7-5z",
    }.items()
}


# ------------------------------------------------------------------------------------------ data


def trace_data(program: Program, trace: Counterexample) -> dict[str, Any]:
    """Return the data for the script: for each step its line, the top of its call stack (a number in
    `frames`), the changes as [scope, key, name, value], and the values that decided a branch."""
    frames: dict[_Frame, int] = {}
    files = list(program.texts)
    steps = [_step_data(move, files, frames) for move in trace.moves]
    site = trace.error
    return {
        "claim": f"{'violated' if site.kind == 'assertion' else site.kind.replace('-', ' ')}: "
        f"{trace.wrong or site.text}",
        "folds": any(not move.reason for move in trace.moves),
        "initially": [_change_data(change) for change in trace.initially],
        "files": [PurePath(file).name for file in files],
        "frames": [list(frame) for frame in frames],
        "scopes": _scopes(program, trace),
        "steps": steps,
    }


def _step_data(move: Move, files: Sequence[str], frames: dict[_Frame, int]) -> dict[str, Any]:
    scene = move.scene
    step: dict[str, Any] = {
        "at": move.edge.target.name,
        "line": line_key(move.span, files),
        "stack": _stack(scene.stack, files, frames),
        "set": [_change_data(change) for change in scene.changes if not change.before],
    }
    if isinstance(move.edge.op, Call):
        step["call"] = True  # its frame is new, even if it equals the frame before
    if move.noticed:
        step["noticed"] = [n if isinstance(n, str) else _change_data(n) for n in move.noticed]
    if move.reason:
        step["reason"] = move.reason
    if move.omitted:
        step["gap"] = True
    if move.branch is not None:
        step["why"] = [condition_of(move.statement), move.branch, list(scene.because)]
    if move.span is not None and (place := _elsewhere(move.span, files)):
        step["in"] = place
    return step


def _change_data(change: Change) -> list[int | str]:
    return [change.scope, change.key, change.name, change.value]


def _stack(stack: Sequence[tuple[str, Span | None]], files: Sequence[str], frames: dict[_Frame, int]) -> int:
    """Return the number of the top frame. A frame refers to that of its caller, so that stacks share
    frames."""
    number = -1
    for procedure, place in stack:
        frame = (number, function_name(procedure), line_key(place, files) or None)
        number = frames.setdefault(frame, len(frames))
    return number


def _scopes(program: Program, trace: Counterexample) -> dict[str, tuple[int, int]]:
    """Return the lines where the names of local variables are in scope, as far as they are known."""
    changed = {change.key for move in trace.moves for change in move.scene.changes if change.scope >= 0}
    return {
        variable.name: (span.line, span.end_line)
        for variable, span in program.scopes.items()
        if variable.name in changed and span.file == program.file
    }


def _elsewhere(span: Span, files: Sequence[str]) -> str:
    """Return the original place of a span in a header or in a preprocessed file; '' if the page shows it."""
    if span.file not in files:
        return f"{span.file}:{span.line}"
    if span.presumed_file not in (None, span.file):
        return f"{span.presumed_file}:{span.presumed_line}"
    return ""


# ---------------------------------------------------------------------------------------- markup


def panel(trace: Counterexample, files: Sequence[str]) -> str:
    """Return the panel beside the source: controls, the current step, values, call stack, all steps."""
    return f"""
<section class="stepper" aria-label="Counterexample">
<div class="controls" role="toolbar" aria-label="Steps">
<button id="first" title="First step (Home)" aria-label="First step">{_ICONS["first"]}</button>
<button id="back" title="One step back (←)" aria-label="One step back">{_ICONS["back"]}</button>
<button id="forth" title="One step forward (→)" aria-label="One step forward">{_ICONS["forth"]}</button>
<button id="last" title="The violation (End)" aria-label="The violation">{_ICONS["last"]}</button>
<input id="slider" type="range" min="0" value="0" aria-label="Step">
<output id="position"></output>
</div>
<p class="choices"><label><input type="checkbox" id="all"> show steps that do not matter</label></p>
<div id="now" aria-live="polite"></div>
<div id="state"></div>
</section>
<section class="steps">
<h2>Steps</h2>
<p class="quiet">{_about(trace)}</p>
<ol id="steps" role="listbox" tabindex="0" aria-label="Steps of the counterexample">
{"".join(_item(n, move, files) for n, move in enumerate(trace.moves))}</ol>
</section>
"""


def _about(trace: Counterexample) -> str:
    folded = sum(1 for move in trace.moves if not move.reason)
    matter = "" if trace.matter is None else f", {trace.matter:,} of which matter"
    hidden = f"; {folded:,} hidden" if folded else ""
    kept = f"; {trace.omitted:,} not recorded" if trace.omitted else ""
    return f"{counted(trace.steps, 'step')}{matter}{hidden}{kept}. Use the arrow keys to step through them."


def _item(number: int, move: Move, files: Sequence[str]) -> str:
    gap = (
        f'<li class="gap" role="presentation">{counted(move.omitted, "step")} not recorded</li>\n'
        if move.omitted
        else ""
    )
    key = line_key(move.span, files)
    place = str(key) if isinstance(key, int) and key else _short(move.span)
    effect = "" if move.branch is None else f'<em class="{_word(move)}">{_word(move)}</em>'
    changes = "".join(f"<span>{text(effect_of(c, move.statement))}</span>" for c in move.scene.changes)
    depth = f' data-depth="{min(move.depth, 12)}"' if move.depth else ""
    folded = "" if move.reason else ' class="folded"'
    return (
        f'{gap}<li role="option" id="S{number}"{depth}{folded}><span class="at">{place}</span>'
        f'{code(move.statement)}<span class="effect">{effect}{changes}</span></li>\n'
    )


def _short(span: Span | None) -> str:
    """Return a place in another file, without its directory."""
    if span is None:
        return ""
    name = f"{PurePath(span.file).name}:{span.line}"
    return f'<span title="{text(span.file)}">{text(name)}</span>'


def _word(move: Move) -> str:
    return value_text(bool(move.branch))
