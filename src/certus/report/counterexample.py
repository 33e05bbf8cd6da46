"""A counterexample for users: the sequence of steps from which all report formats are rendered.

Each step has its statement, its effect in the user's names, and the reason why it matters. Steps without a
visible effect are left out: loads into internal variables, the begin and end of objects, questions about
memory whose answer is yes, initialisation before `main`. All counts are of the remaining steps and of those
that the replay did not keep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.c_text import c_text
from certus.core.diagnostic import Span
from certus.core.evidence import Trace, Unsafe
from certus.core.outcome import Outcome, Replay, Role, Step, violated_site
from certus.core.program import (
    UNSPECIFIED,
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    ErrorSite,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    MarkBits,
    Program,
    Return,
    Store,
)
from certus.core.terms import Value
from certus.core.vocabulary import ARGUMENT, ARGUMENT_BYTE, ARGUMENT_LENGTH
from certus.core.walk import variables
from certus.report.outcome_view import INPUT, RESULT, Names, function_name, value_text
from certus.report.source_text import condition_of, string_literal, without_markers
from certus.report.trace_state import MEMORY, Change, Scene, TraceState

if TYPE_CHECKING:
    from certus.core.memory_defects import MemoryDefect

_QUESTIONS: Final = (Inspect, InspectHeap, InspectBits, MarkBits)  # no steps of the source
_TEMPORARY: Final = re.compile(r"temporary\b")
_UNNAMED: Final = re.compile(r" \(\+\d+\)$| \+ \d+ bytes$")
_MOST_INPUTS: Final = 8  # values of inputs that one step shows
_VERSION: Final = re.compile(r"^__isoc\d+_")  # by which headers distinguish versions of `scanf`
_LITERAL: Final = re.compile(r'\w*"')  # text that starts with a string literal


@dataclass(frozen=True, slots=True)
class Move:
    """One shown step: its number in the run, from 0, its edge, its statement, and the state after it
    (`scene`). `depth` is the number of open calls; `branch` is the side of a condition that it takes.
    `changes` are the changes of variables, with plain values. `reason` says why the step matters, and is
    empty if the violation does not depend on it. `noticed` lists in order the memory cells whose values
    became known or unknown since the move before; `omitted` is the number of steps just before it that the
    replay did not keep."""

    number: int
    edge: Edge
    statement: str
    depth: int
    branch: bool | None
    changes: tuple[tuple[str, Value], ...]
    scene: Scene
    reason: str
    noticed: tuple[Change | str, ...] = ()
    omitted: int = 0

    @property
    def span(self) -> Span | None:
        return self.edge.span

    @property
    def effect(self) -> str:
        """Return the effect of the step or, for a branch, the values that decided it."""
        if self.branch is None:
            results = [change.value for change in self.scene.changes if change.name == RESULT]
            parts = len(results) > 1  # of a record
            effects = [f"returns {{{', '.join(results)}}}"] if parts else []
            effects += [
                effect_of(change, self.statement)
                for change in self.scene.changes
                if not parts or change.name != RESULT
            ]
            return ", ".join(effect for effect in effects if effect)
        because = self.scene.because
        if [name for name, _ in because] == [condition_of(self.statement)]:
            return f"{value_text(self.branch)}, as it is {because[0][1]}"
        values = ", ".join(f"{name} = {value}" for name, value in because)
        return f"{value_text(self.branch)}, as {values}" if values else value_text(self.branch)


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A counterexample. `matter` is the number of steps that influence the violation (None: unknown); if it
    is `complete`, they are all among the moves. `initial` are the values of globals at the start that matter,
    and `unimportant` are the others. `defect` is what is wrong with memory, and `wrong` says so in a phrase;
    it is empty for other violations."""

    initial: tuple[tuple[str, Value], ...]
    unimportant: tuple[tuple[str, Value], ...]
    initially: tuple[Change, ...]  # all known values of globals at the start
    moves: tuple[Move, ...]
    error: ErrorSite
    matter: int | None
    complete: bool
    defect: MemoryDefect | None = None
    wrong: str = ""

    @property
    def steps(self) -> int:
        return len(self.moves) + self.omitted

    @property
    def omitted(self) -> int:
        return sum(move.omitted for move in self.moves)


def effect_of(change: Change, statement: str) -> str:
    """Return the effect of a change: `x = 3`, or `= 3` if the statement itself names what changes."""
    if change.name == RESULT:
        return f"returns {change.value}"
    called = _VERSION.sub("", change.name).removesuffix(")") if change.name.endswith("()") else None
    if change.name == statement or (called is not None and statement.startswith(called)):
        return f"= {change.value}" if change.value != statement else ""
    return f"{'still ' * change.before}{change.name} = {change.value}"


def counterexample(outcome: Outcome) -> Counterexample | None:
    """Return the replayed counterexample of a violated program; None for other outcomes."""
    program, check, verdict = outcome.subject, outcome.check, outcome.verdict
    if not isinstance(program, Program) or not isinstance(check, Replay) or not isinstance(verdict, Unsafe):
        return None
    trace = verdict.refutation
    if not isinstance(trace, Trace):
        return None
    state = TraceState(program, trace)
    names, initially = state.names, state.initially
    moves = _stored_inputs(_merge_inputs(_with_arguments(_moves(check, program, state))))
    moves = _without_repetitions(_merge_ending(moves))
    matters = frozenset(trace.initial if check.initial is None else check.initial)
    hidden = 0 if check.matter is None else check.matter - sum(s.reason is not None for s in check.kept)
    return Counterexample(
        names.values((v, value) for v, value in trace.initial.items() if v in matters),
        names.values((v, value) for v, value in trace.initial.items() if v not in matters),
        initially,
        tuple(moves),
        violated_site(program, check),
        None if check.matter is None else sum(bool(move.reason) for move in moves) + hidden,
        check.matter is not None and hidden == 0,
        check.defect,
        "" if check.defect is None else check.defect.sentence(program),
    )


def _moves(check: Replay, program: Program, state: TraceState) -> Iterator[Move]:
    """Yield the visible steps. Steps omitted before an invisible one count for the next visible one."""
    names = state.names
    outer_calls = 1 if program.main.startswith("$") else 0  # internal calls around `main`
    noticed: list[Change | str] = []
    expected, omitted = 0, 0
    for step in check.kept:
        edge = program.edge[step.edge]
        if step.number != expected:
            state.forget(edge.source.procedure, step.depth)
        omitted += step.number - expected
        expected = step.number + 1
        words = _statement(edge, state)
        scene = state.advance(step)
        changes = names.changes(edge, step)
        noticed += scene.noticed
        if edge.index in state.answers or isinstance(edge.op, _QUESTIONS):
            visible = edge.index in state.answers and edge.target in program.error_locations
        else:
            hidden = _is_copy(step, edge, scene, program) or _is_open(edge, program)
            visible = _is_visible(edge, scene, changes) and not hidden
        if not visible:
            noticed += [change for change in scene.changes if change.scope == MEMORY]
            continue
        yield Move(
            step.number,
            edge,
            _named(words, edge, scene, changes),
            max(0, step.depth - outer_calls),
            None if edge.index in state.answers else edge.branch,
            changes,
            scene,
            reason_text(step, scene, program, names),
            tuple(noticed),
            omitted,
        )
        noticed, omitted = [], 0


def _named(words: str, edge: Edge, scene: Scene, changes: tuple[tuple[str, Value], ...]) -> str:
    """Return the statement to show: `*` for an input into an internal variable, and an assignment for an
    element of an initialiser."""
    if INPUT in (name for name, _ in changes):
        return INPUT
    if isinstance(edge.op, Store) and len(scene.changes) == 1:
        name, value = scene.changes[0].name, scene.changes[0].value
        if value.removeprefix("&") == words.lstrip("&"):
            return f"{name} = {words}"
        if words.isdecimal():  # the bits of a number
            return f"{name} = {value}"
    return words


def _is_visible(edge: Edge, scene: Scene, changes: tuple[tuple[str, Value], ...]) -> bool:
    """Say whether a step is shown. In internal procedures, whose names start with `$`, only initialisers of
    globals (other than string literals) and calls of user procedures (other than `main`) are."""
    op, is_internal = edge.op, edge.source.procedure.startswith("$")
    if any(not is_internal or name != RESULT for name, _ in changes):
        return True
    if isinstance(op, Load) or (isinstance(op, Alloc | Free) and op.storage != "heap"):
        return False
    if is_internal:
        initialises = isinstance(op, Store) and not _LITERAL.match(edge.text)
        shown = initialises or (isinstance(op, Call) and not op.procedure.startswith(("$", "main")))
        return edge.span is not None and bool(edge.text) and shown
    if edge.text or edge.span is None:
        return bool(edge.text)
    seen = any(change.scope == MEMORY for change in scene.changes)
    return seen or edge.branch is not None or isinstance(op, Call | Return)


def _is_copy(step: Step, edge: Edge, scene: Scene, program: Program) -> bool:
    """Say whether a step only copies a user's variable to an internal one, or writes memory that the source
    has no name for and on which nothing depends."""
    op, names = edge.op, program.source_names
    if isinstance(op, Assign):
        return not any(v in names for v in op.targets) and all(value in names for value in op.values)
    if not isinstance(op, Store) or not scene.changes:
        return False
    names_of = [change.name for change in scene.changes]
    if all(_TEMPORARY.match(name) for name in names_of):
        return True
    return step.reason is None and all(_UNNAMED.search(name) for name in names_of)


def _is_open(edge: Edge, program: Program) -> bool:
    """Say whether a step takes a value that the language leaves open: 0 in every run, which needs no step."""
    op = edge.op
    if not isinstance(op, Havoc) or op.function != UNSPECIFIED:
        return False
    return not any(v in program.source_names for v in op.targets)


def _with_arguments(moves: Iterable[Move]) -> Iterator[Move]:
    """Merge the inputs that an argument of the program consists of into one move: `argv[1] = "ab"`."""
    whole: Move | None = None
    number, text = 0, bytearray()
    for move in moves:
        name = move.edge.op.function if isinstance(move.edge.op, Havoc) else None
        value = move.scene.changes[0].value if move.scene.changes else ""
        if whole is not None and name == ARGUMENT_BYTE and value.isdecimal():
            text.append(int(value))
            whole = replace(whole, reason=whole.reason or move.reason)
            continue
        if whole is not None:
            yield _argument(whole, f"argv[{number}]", string_literal(text))
            number, whole = number + 1, None
            text.clear()
        if name == ARGUMENT_LENGTH and not move.omitted:
            whole = move
        elif name is None and move.edge.text.endswith(f" {ARGUMENT}"):
            yield _argument(move, move.edge.text.removesuffix(f" {ARGUMENT}"), value)
        else:
            yield move


def _argument(move: Move, name: str, value: str) -> Move:
    changes = tuple(replace(change, name=name, value=value) for change in move.scene.changes[:1])
    return replace(move, statement=name, scene=replace(move.scene, changes=changes))


def _merge_inputs(moves: Iterable[Move]) -> list[Move]:
    """Merge the inputs that a library function reads one after the other, such as the bytes of a line."""
    merged: list[Move] = []
    for reader, group in groupby(moves, _library_reader):
        inputs = list(group)
        if reader is None or len(inputs) == 1:
            merged += inputs
            continue
        values = [change.value for move in inputs for change in move.scene.changes]
        shown = ", ".join(values[:_MOST_INPUTS])
        if len(values) > _MOST_INPUTS:
            shown += f", ... ({len(values)} inputs)"
        scene = inputs[-1].scene
        whole = tuple(replace(change, value=shown) for change in scene.changes[:1])
        merged.append(
            replace(
                inputs[0],
                changes=tuple(change for move in inputs for change in move.changes),
                scene=replace(scene, changes=whole),
                reason=next((move.reason for move in inputs if move.reason), ""),
                noticed=tuple(cell for move in inputs for cell in move.noticed),
                omitted=sum(move.omitted for move in inputs),
            )
        )
    return merged


def _stored_inputs(moves: Sequence[Move]) -> list[Move]:
    """Merge an input with the step that stores it, as in `scanf("%d", &n)`."""
    merged: list[Move] = []
    for move in moves:
        before = merged[-1] if merged else None
        if before is None or not _stores(move, before):
            merged.append(move)
            continue
        merged[-1] = replace(
            move,
            changes=before.changes + move.changes,
            reason=f"an input; {move.reason}" if move.reason else before.reason,
            noticed=before.noticed + move.noticed,
            omitted=before.omitted,
        )
    return merged


def _stores(move: Move, before: Move) -> bool:
    """Say whether a step only stores the input that the step before it reads."""
    read, op = before.edge.op, move.edge.op
    if before.statement != INPUT or move.span != before.span or move.omitted or not isinstance(read, Havoc):
        return False
    stored = (op.value,) if isinstance(op, Store) else op.values if isinstance(op, Assign) else ()
    return len(stored) == 1 and variables(*stored) == read.targets


def _library_reader(move: Move) -> tuple[str, int] | None:
    """Return the library function and its depth, if the step is an input that it reads."""
    reads = move.statement == INPUT and move.span is None and isinstance(move.edge.op, Havoc)
    return (move.edge.source.procedure, move.depth) if reads else None


def _without_repetitions(moves: list[Move]) -> list[Move]:
    """Drop moves without an effect next to a move of the same statement, except for the last move."""
    kept: list[Move] = []
    waiting: tuple[Change | str, ...] = ()
    omitted = 0
    for n, move in enumerate(moves):
        beside = [*kept[-1:], *moves[n + 1 : n + 2]]
        silent = not move.effect and not isinstance(move.edge.op, Call | Return) and n < len(moves) - 1
        if silent and any((m.span, m.statement) == (move.span, move.statement) for m in beside):
            waiting, omitted = waiting + move.noticed, omitted + move.omitted
            continue
        kept.append(replace(move, noticed=waiting + move.noticed, omitted=omitted + move.omitted))
        waiting, omitted = (), 0
    return kept


def _merge_ending(moves: list[Move]) -> list[Move]:
    """Merge the step into the error with the step before it, if that is the branch of the same claim."""
    if len(moves) < 2:
        return moves
    *rest, before, last = moves
    same = before.span == last.span and before.statement == last.statement and not last.omitted
    if last.branch is not None or last.scene.changes or before.branch is None or not same:
        return moves
    scene = replace(last.scene, because=before.scene.because)
    noticed = before.noticed + before.scene.changes + last.noticed
    return [*rest, replace(last, branch=before.branch, scene=scene, noticed=noticed, omitted=before.omitted)]


def _statement(edge: Edge, state: TraceState) -> str:
    """Return the statement as in the source; without source text, a description of the step."""
    if edge.text:
        return without_markers(edge.text)
    if edge.span is None:
        return "(start)"
    names = state.names_for(edge)
    if isinstance(edge.op, Assume):
        condition = edge.op.condition if edge.branch is not False else build.not_(edge.op.condition)
        return c_text(condition, names=names, limit=200)  # the effect says which side is taken
    from certus.report.cfa import statement

    return statement(edge, names)


# ----------------------------------------------------------------------------------------- reasons


def reason_text(step: Step, scene: Scene, program: Program, names: Names) -> str:
    """Say why a step matters; empty if it does not."""
    reason, edge = step.reason, program.edge[step.edge]
    if reason is None:
        return ""
    if reason.role is Role.UNKNOWN:
        return "may matter: the execution is too long to tell"
    if reason.role is Role.CLAIM:
        return "the violated claim"
    reader = program.edge[reason.at]
    line = _line(reader.span, program)
    if reason.role is Role.CALL:
        called = edge.op.procedure if isinstance(edge.op, Call) else "$"  # internal names start with `$`
        subject = (
            f"calls {function_name(called)}, which" if not called.startswith("$") else "the called function"
        )
        return f"{subject} matters at {line}"
    if reason.role is Role.BRANCH:
        return f"decides {_continuation(edge, reader, line)}"
    if reason.role is Role.LIFETIME:
        return _lifetime(edge, reader, line)
    read = None if reason.variable is None else names.visible(reason.variable)
    if reason.role is Role.KEEP and isinstance(reader.op, _QUESTIONS):
        return "does not free the object"
    if reason.role is Role.KEEP:
        return f"keeps {read} as {line} reads it" if read else f"keeps a value that {line} reads"
    if isinstance(edge.op, Havoc):
        return f"an input, read at {line}"
    if read == RESULT:
        return f"its result is read at {line}"
    if read is None:
        written = [change.name for change in scene.changes if change.scope == MEMORY]
        read = written[0] if len(written) == 1 else None
    return f"computes a value that {line} reads" if read is None else f"gives {read} the value read at {line}"


def _lifetime(edge: Edge, reader: Edge, line: str) -> str:
    """Say what a step does to the object that the question at `reader` is about."""
    leaks = isinstance(reader.op, InspectHeap)
    if isinstance(edge.op, Alloc):
        return "creates the object" if leaks else f"creates the object of {line}"
    if isinstance(edge.op, Free) and not leaks:
        return f"ends the object that {line} uses"
    return "after it no pointer leads to the object"


def _continuation(edge: Edge, reader: Edge, line: str) -> str:
    here, there = edge.span, reader.span
    same = here is not None and there is not None and (here.file, here.line) == (there.file, there.line)
    return f"how {line} continues" if same else f"that {line} is reached"


def _line(span: Span | None, program: Program) -> str:
    if span is None:
        return "a later step"
    elsewhere = "" if span.file == program.file else f" of {PurePath(span.file).name}"
    return f"line {span.line}{elsewhere}"
