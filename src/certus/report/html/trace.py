"""VIOLATED: the counterexample to step through.

The list of steps is plain HTML, readable without the script and on paper. What the script shows at each
step (values, call stack, why a branch was taken) goes with the page as data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from certus.core.diagnostic import Span
from certus.core.evidence import Trace
from certus.core.outcome import Outcome, Replay
from certus.core.program import Call, Program
from certus.core.verdict import Unsafe
from certus.report.cfa import statement
from certus.report.content import Move, Path, path, value_text
from certus.report.html.markup import code, text
from certus.report.html.playback import MEMORY, Change, Playback, Scene

_CONDITION: Final = (
    re.compile(r"(?:if|while|switch|assume|assert)\s*\((.*)\)\s*;?", re.DOTALL),
    re.compile(r"for\s*\(;(.*);\)", re.DOTALL),
)

_MARKER: Final = re.compile(r'#\s*\d+ "[^"]*"(?: \d+)*\s*')
_ICONS: Final = {
    name: f'<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d="{shape}"/></svg>'
    for name, shape in {
        "first": "M3 3h2v10H3zM13 3v10L6 8z",
        "back": "M11 3v10L4 8z",
        "forth": "M5 3v10l7-5z",
        "last": "M11 3h2v10h-2zM3 3v10l7-5z",
    }.items()
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One step as it is shown, and the state after it. `depth` counts calls of the user's procedures.
    `noticed` is what became known, or unknown, since the step shown before, in order."""

    move: Move
    scene: Scene
    noticed: tuple[Change | str, ...]
    statement: str
    depth: int

    @property
    def span(self) -> Span | None:
        return self.move.edge.span


def stages(outcome: Outcome) -> tuple[Stage, ...]:
    """All steps of the counterexample that a user can see."""
    program, found, check = outcome.subject, path(outcome), outcome.check
    if found is None or not isinstance(check, Replay) or not isinstance(program, Program):
        return ()
    playback = _playback(outcome, program)
    hidden = 1 if program.main.startswith("$") else 0  # what comes before the user's main procedure
    moves = {move.number: move for move in found.moves if move.is_visible}
    staged: list[Stage] = []
    noticed: list[Change | str] = []
    awaited = 0
    for step in check.kept:
        if step.number != awaited:
            playback.forget(program.edge[step.edge].source.procedure, step.depth)
        awaited = step.number + 1
        scene, move = playback.play(step), moves.get(step.number)
        noticed += scene.noticed
        if move is None:
            noticed += [change for change in scene.changes if change.scope == MEMORY]
        else:
            depth = max(0, move.depth - hidden)
            staged.append(Stage(move, scene, tuple(noticed), _statement(move, program), depth))
            noticed = []
    return tuple(staged)


def _statement(move: Move, program: Program) -> str:
    """The statement as in the source, without line markers that stand in the middle of it; of a step whose
    source is not at hand, what it does."""
    if move.statement:
        return _MARKER.sub("", move.statement)
    return "(start)" if move.edge.span is None else statement(move.edge, program.source_names)


def _playback(outcome: Outcome, program: Program) -> Playback:
    assert isinstance(outcome.verdict, Unsafe)
    trace = outcome.verdict.refutation
    assert isinstance(trace, Trace)
    return Playback(program, trace)


def condition_of(words: str) -> str:
    """The condition in the text of a branch."""
    for form in _CONDITION:
        found = form.fullmatch(words.strip())
        if found is not None:
            return found[1].strip()
    return words.strip().rstrip(";")


# ------------------------------------------------------------------------------------------ data


def trace_data(outcome: Outcome, staged: tuple[Stage, ...]) -> dict[str, Any]:
    """What the script needs: for each step its line, the top of its call stack (a number in `frames`), the
    changes as [scope, key, name, value], and the values that decided a branch."""
    program = outcome.subject
    assert isinstance(program, Program)
    frames: dict[tuple[int, str, int | None], int] = {}
    steps: list[dict[str, Any]] = []
    for stage in staged:
        edge, scene = stage.move.edge, stage.scene
        step: dict[str, Any] = {
            "at": edge.target.name,
            "line": _line(stage.span, program.file),
            "stack": _stack(scene.stack, frames),
            "set": [_told(change) for change in scene.changes],
        }
        if isinstance(edge.op, Call):
            step["call"] = True  # its frame is a new one, even if it looks like the one before
        if stage.noticed:
            step["noticed"] = [n if isinstance(n, str) else _told(n) for n in stage.noticed]
        if stage.move.reason:
            step["reason"] = stage.move.reason
        if stage.move.omitted:
            step["gap"] = True
        if edge.branch is not None:
            step["why"] = [condition_of(stage.statement), edge.branch, list(scene.because)]
        elif stage is staged[-1] and steps and "why" in steps[-1]:
            step["why"] = steps[-1]["why"]  # the step into the error itself decides nothing
        if stage.span is not None and (place := _elsewhere(stage.span, program.file)):
            step["in"] = place
        steps.append(step)
    initially = _playback(outcome, program).initially
    site = program.error_at(program.location[_replay(outcome).error])
    return {
        "claim": f"{'violated' if site.kind == 'assertion' else site.kind.replace('-', ' ')}: {site.text}",
        "folds": any(not stage.move.reason for stage in staged),
        "initially": [_told(change) for change in initially],
        "frames": [list(frame) for frame in frames],
        "scopes": _scopes(program, staged),
        "steps": steps,
    }


def _told(change: Change) -> list[int | str]:
    return [change.scope, change.key, change.name, change.value]


def _stack(stack: Sequence[tuple[str, int | None]], frames: dict[tuple[int, str, int | None], int]) -> int:
    """The number of the top frame; a frame is told with that of its caller, so that stacks share their lower
    ends."""
    number = -1
    for procedure, line in stack:
        frame = (number, procedure, line)
        number = frames.setdefault(frame, len(frames))
    return number


def _scopes(program: Program, staged: tuple[Stage, ...]) -> dict[str, tuple[int, int]]:
    """For variables of procedures the lines where their names can be used, as far as that is known."""
    met = {change.key for stage in staged for change in stage.scene.changes if change.scope >= 0}
    return {
        variable.name: (span.line, span.end_line)
        for variable, span in program.scopes.items()
        if variable.name in met and span.file == program.file
    }


def _elsewhere(span: Span, file: str) -> str:
    """The place that a preprocessed file, or one that includes others, was made from."""
    if span.file != file:
        return f"{span.file}:{span.line}"
    if span.presumed_file not in (None, file):
        return f"{span.presumed_file}:{span.presumed_line}"
    return ""


def _replay(outcome: Outcome) -> Replay:
    assert isinstance(outcome.check, Replay)
    return outcome.check


def _line(span: Span | None, file: str) -> int:
    return 0 if span is None or span.file != file else span.line


# ---------------------------------------------------------------------------------------- markup


def panel(found: Path, staged: tuple[Stage, ...], file: str) -> str:
    """What stands beside the source: controls, the present step, values, call stack, all steps."""
    return f"""
<section class="stepper" aria-label="Counterexample">
<div class="controls" role="toolbar" aria-label="Steps">
<button id="first" title="First step (Home)" aria-label="First step">{_ICONS["first"]}</button>
<button id="back" title="One step back (←)" aria-label="One step back">{_ICONS["back"]}</button>
<button id="forth" title="One step on (→)" aria-label="One step on">{_ICONS["forth"]}</button>
<button id="last" title="The violation (End)" aria-label="The violation">{_ICONS["last"]}</button>
<input id="slider" type="range" min="0" value="0" aria-label="Step">
<output id="position"></output>
</div>
<p class="choices"><label><input type="checkbox" id="all"> also steps that do not matter</label></p>
<div id="now" aria-live="polite"></div>
<div id="state"></div>
</section>
<section class="steps">
<h2>Steps</h2>
<p class="quiet">{_about(found, staged)}</p>
<ol id="steps" role="listbox" tabindex="0" aria-label="Steps of the counterexample">
{"".join(_item(n, stage, file) for n, stage in enumerate(staged))}</ol>
</section>
"""


def _about(found: Path, staged: tuple[Stage, ...]) -> str:
    folded = sum(1 for stage in staged if not stage.move.reason)
    told = f"; {folded:,} that do not matter are folded" if folded else ""
    kept = f"; {found.omitted:,} are not kept" if found.omitted else ""
    return f"{found.steps:,} steps{told}{kept}. Arrow keys step through them."


def _item(number: int, stage: Stage, file: str) -> str:
    move = stage.move
    gap = (
        f'<li class="gap" role="presentation">{move.omitted:,} steps are not kept</li>\n'
        if move.omitted
        else ""
    )
    place = str(_line(stage.span, file) or _short(stage.span))
    effect = "" if move.edge.branch is None else f'<em class="{_word(move)}">{_word(move)}</em>'
    changes = "".join(f"<span>{text(c.name)} = {text(c.value)}</span>" for c in stage.scene.changes)
    depth = f' data-depth="{min(stage.depth, 12)}"' if stage.depth else ""
    folded = "" if move.reason else ' class="folded"'
    return (
        f'{gap}<li role="option" id="S{number}"{depth}{folded}><span class="at">{place}</span>'
        f'{code(stage.statement)}<span class="effect">{effect}{changes}</span></li>\n'
    )


def _short(span: Span | None) -> str:
    """A place in another file, whose directory is not worth the room."""
    if span is None:
        return ""
    name = f"{PurePath(span.file).name}:{span.line}"
    return f'<span title="{text(span.file)}">{text(name)}</span>'


def _word(move: Move) -> str:
    return value_text(bool(move.edge.branch))
