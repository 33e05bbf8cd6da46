"""A counterexample as a user reads it: the one sequence of steps that every report is made from.

Each step has its statement, what it did, in the user's names, and why it matters. Steps in which there is
nothing to see are left out: reading memory into a variable of ours, the beginning and the end of objects,
what goes on before the user's main procedure. All counts are of the steps that are left, and of those that
the replay did not keep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from certus.core import build
from certus.core.ctext import c_text
from certus.core.diagnostic import Span
from certus.core.evidence import Trace
from certus.core.outcome import Outcome, Replay, Role, Step
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    ErrorSite,
    Free,
    Havoc,
    Load,
    Program,
    Return,
    Store,
)
from certus.core.terms import Value
from certus.core.verdict import Unsafe
from certus.report.cfa import statement
from certus.report.content import INPUT, RESULT, Names, function_name, value_text
from certus.report.playback import MEMORY, Change, Playback, Scene
from certus.report.wording import condition_of, without_markers

_TEMPORARY: Final = re.compile(r"temporary\b")
_UNNAMED: Final = re.compile(r" \(\+\d+\)$| \+ \d+ bytes$")
_LITERAL: Final = re.compile(r'\w*"')  # text that begins as a string does


@dataclass(frozen=True, slots=True)
class Move:
    """One step: its number in the run, from 0, its edge, the statement, and the state after it. `depth`
    counts calls of the user's procedures; `branch` is the side of a condition that it takes. `changes` are
    those of variables, with plain values. `reason` says in words why the step matters, and is empty if the
    violation does not depend on it. `noticed` is what became known, or unknown, since the move before, in
    order; `omitted` is the number of steps just before it that nothing is known of."""

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
        """What it did, or which values decided it."""
        if self.branch is None:
            results = [change.value for change in self.scene.changes if change.name == RESULT]
            parts = len(results) > 1  # of a record
            told = [f"returns {{{', '.join(results)}}}"] if parts else []
            told += [
                effect_of(change, self.statement)
                for change in self.scene.changes
                if not parts or change.name != RESULT
            ]
            return ", ".join(words for words in told if words)
        because = self.scene.because
        if [name for name, _ in because] == [condition_of(self.statement)]:
            return f"{value_text(self.branch)}, as it is {because[0][1]}"
        said = ", ".join(f"{name} = {value}" for name, value in because)
        return f"{value_text(self.branch)}, as {said}" if said else value_text(self.branch)


@dataclass(frozen=True, slots=True)
class Path:
    """A counterexample. `matter` of its steps influence the violation (None: it is not known which), and
    all that do are among the moves if it is `complete`. The values of globals at the start are in two
    parts: those that matter, and the others."""

    initial: tuple[tuple[str, Value], ...]
    unimportant: tuple[tuple[str, Value], ...]
    initially: tuple[Change, ...]  # all that is known of globals at the start
    moves: tuple[Move, ...]
    error: ErrorSite
    matter: int | None
    complete: bool

    @property
    def steps(self) -> int:
        return len(self.moves) + self.omitted

    @property
    def omitted(self) -> int:
        return sum(move.omitted for move in self.moves)


def effect_of(change: Change, statement: str) -> str:
    """`x = 3`; of a value that is that of the statement itself, `= 3`, unless it says so."""
    if change.name == RESULT:
        return f"returns {change.value}"
    if change.name == statement or (change.name.endswith("()") and statement.startswith(change.name[:-1])):
        return f"= {change.value}" if change.value != statement else ""
    return f"{'still ' * change.before}{change.name} = {change.value}"


def path(outcome: Outcome) -> Path | None:
    """The replayed counterexample of a violated program."""
    program, check, verdict = outcome.subject, outcome.check, outcome.verdict
    if not isinstance(program, Program) or not isinstance(check, Replay) or not isinstance(verdict, Unsafe):
        return None
    trace = verdict.refutation
    if not isinstance(trace, Trace):
        return None
    playback = Playback(program, trace)
    names, initially = playback.names, playback.initially
    moves = _told_once(_ending(list(_moves(check, program, playback))))
    matters = frozenset(trace.initial if check.initial is None else check.initial)
    hidden = 0 if check.matter is None else check.matter - sum(s.reason is not None for s in check.kept)
    return Path(
        names.values((v, value) for v, value in trace.initial.items() if v in matters),
        names.values((v, value) for v, value in trace.initial.items() if v not in matters),
        initially,
        tuple(moves),
        program.error_at(program.location[check.error]),
        None if check.matter is None else sum(bool(move.reason) for move in moves) + hidden,
        check.matter is not None and hidden == 0,
    )


def _moves(check: Replay, program: Program, playback: Playback) -> Iterator[Move]:
    """The steps but for those in which there is nothing to see; what was omitted before one of these counts
    for the next."""
    names = playback.names
    outside = 1 if program.main.startswith("$") else 0  # calls around the user's main procedure
    noticed: list[Change | str] = []
    awaited, omitted = 0, 0
    for step in check.kept:
        edge = program.edge[step.edge]
        if step.number != awaited:
            playback.forget(edge.source.procedure, step.depth)
        omitted += step.number - awaited
        awaited = step.number + 1
        words = _statement(edge, playback)
        scene = playback.play(step)
        changes = names.changes(edge, step)
        noticed += scene.noticed
        if not _is_visible(edge, scene, changes) or _is_copy(step, edge, scene, program):
            noticed += [change for change in scene.changes if change.scope == MEMORY]
            continue
        yield Move(
            step.number,
            edge,
            _named(words, edge, scene, changes),
            max(0, step.depth - outside),
            edge.branch,
            changes,
            scene,
            reason_text(step, scene, program, names),
            tuple(noticed),
            omitted,
        )
        noticed, omitted = [], 0


def _named(words: str, edge: Edge, scene: Scene, changes: tuple[tuple[str, Value], ...]) -> str:
    """An input into a variable of ours is shown as the `*` in the source that stands for it, an element of an
    initialiser as an assignment."""
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
    """Whether there is something to see in a step; of those in procedures of ours, which have a `$` in their
    names, initialisers of globals, not of literals, and calls of the user's procedures but the main one."""
    op, ours = edge.op, edge.source.procedure.startswith("$")
    if any(not ours or name != RESULT for name, _ in changes):
        return True
    if isinstance(op, Load) or (isinstance(op, Alloc | Free) and op.storage != "heap"):
        return False
    if ours:
        initialises = isinstance(op, Store) and not _LITERAL.match(edge.text)
        known = initialises or (isinstance(op, Call) and not op.procedure.startswith(("$", "main")))
        return edge.span is not None and bool(edge.text) and known
    if edge.text or edge.span is None:
        return bool(edge.text)
    seen = any(change.scope == MEMORY for change in scene.changes)
    return seen or edge.branch is not None or isinstance(op, Call | Return)


def _is_copy(step: Step, edge: Edge, scene: Scene, program: Program) -> bool:
    """Whether a step only keeps the value of the user's variable in one of ours, or writes what the source
    has no name for, and nothing depends on it."""
    op, names = edge.op, program.source_names
    if isinstance(op, Assign):
        return not any(v in names for v in op.targets) and all(value in names for value in op.values)
    if not isinstance(op, Store) or not scene.changes:
        return False
    names_of = [change.name for change in scene.changes]
    if all(_TEMPORARY.match(name) for name in names_of):
        return True
    return step.reason is None and all(_UNNAMED.search(name) for name in names_of)


def _told_once(moves: list[Move]) -> list[Move]:
    """Without those that have no effect and stand beside another of the same statement, but for the last."""
    told: list[Move] = []
    waiting: tuple[Change | str, ...] = ()
    omitted = 0
    for n, move in enumerate(moves):
        beside = [*told[-1:], *moves[n + 1 : n + 2]]
        silent = not move.effect and not isinstance(move.edge.op, Call | Return) and n < len(moves) - 1
        if silent and any((m.span, m.statement) == (move.span, move.statement) for m in beside):
            waiting, omitted = waiting + move.noticed, omitted + move.omitted
            continue
        told.append(replace(move, noticed=waiting + move.noticed, omitted=omitted + move.omitted))
        waiting, omitted = (), 0
    return told


def _ending(moves: list[Move]) -> list[Move]:
    """The step into the error itself decides nothing: where the one before it takes the side on which the
    same claim is violated, they are one."""
    if len(moves) < 2:
        return moves
    *rest, before, last = moves
    same = before.span == last.span and before.statement == last.statement and not last.omitted
    if last.branch is not None or last.scene.changes or before.branch is None or not same:
        return moves
    scene = replace(last.scene, because=before.scene.because)
    noticed = before.noticed + before.scene.changes + last.noticed
    return [*rest, replace(last, branch=before.branch, scene=scene, noticed=noticed, omitted=before.omitted)]


def _statement(edge: Edge, playback: Playback) -> str:
    """The statement as in the source; of one whose source is not at hand, what it does."""
    if edge.text:
        return without_markers(edge.text)
    if edge.span is None:
        return "(start)"
    names = playback.spoken(edge)
    if isinstance(edge.op, Assume):
        condition = edge.op.condition if edge.branch is not False else build.not_(edge.op.condition)
        return c_text(condition, names=names, limit=200)  # the side that is taken is said beside it
    return statement(edge, names)


# ----------------------------------------------------------------------------------------- reasons


def reason_text(step: Step, scene: Scene, program: Program, names: Names) -> str:
    """Why a step matters, in words; empty if it does not."""
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
        called = edge.op.procedure if isinstance(edge.op, Call) else "$"  # a name with `$` is not the user's
        known = f"calls {function_name(called)}, which" if not called.startswith("$") else "what it calls"
        return f"{known} matters at {line}"
    if reason.role is Role.BRANCH:
        return f"decides {_continuation(edge, reader, line)}"
    read = None if reason.variable is None else names.known(reason.variable)
    if reason.role is Role.KEEP:
        return f"keeps {read} as {line} reads it" if read else f"keeps what {line} reads"
    if isinstance(edge.op, Havoc):
        return f"an input, read at {line}"
    if read == RESULT:
        return f"its result is read at {line}"
    if read is None:
        written = [change.name for change in scene.changes if change.scope == MEMORY]
        read = written[0] if len(written) == 1 else None
    return f"computes what {line} reads" if read is None else f"gives {read} the value read at {line}"


def _continuation(edge: Edge, reader: Edge, line: str) -> str:
    here, there = edge.span, reader.span
    same = here is not None and there is not None and (here.file, here.line) == (there.file, there.line)
    return f"how {line} goes on" if same else f"that {line} is reached"


def _line(span: Span | None, program: Program) -> str:
    if span is None:
        return "a later step"
    elsewhere = "" if span.file == program.file else f" of {PurePath(span.file).name}"
    return f"line {span.line}{elsewhere}"
