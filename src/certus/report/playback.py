"""The values of variables and of memory along a replayed trace, as far as they are known.

A replay lists what each step changed. `Playback` follows it and keeps the values of globals, of every
frame on the call stack, and of memory. Only what follows from the replay is known: where steps were
omitted, all is forgotten.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field

from certus.core.diagnostic import Span
from certus.core.effects import written
from certus.core.errors import Undefined
from certus.core.evaluate import evaluate
from certus.core.evidence import Trace
from certus.core.outcome import Step
from certus.core.program import Alloc, Assign, Assume, Call, Edge, Free, Havoc, Load, Program, Return, Store
from certus.core.sorts import INT
from certus.core.terms import Expr, Kind, Value
from certus.core.values import ArrayValue, Datum
from certus.core.walk import variables
from certus.report.content import RESULT, Names, value_text
from certus.report.memory import Memory, width
from certus.report.wording import WIDEST, call_text, is_statement, left_side, position_in

GLOBALS, MEMORY, PASSING = -1, -2, -3  # scopes beside the frames: PASSING values belong to no table


@dataclass(frozen=True, slots=True)
class Change:
    """A value that a step gave to something a user has a name for. `scope` is the frame, counted from
    the main procedure, or one of the scopes above; `key` tells things of one scope apart. It may be the value
    that was there `before`."""

    scope: int
    key: str
    name: str
    value: str
    before: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """The state after one step: the call stack as (procedure, place of the call), and the changes. `noticed`
    comes before them: cells of memory that were read, and the keys of cells that are not known any more.
    `because` are the values that decided a branch."""

    stack: tuple[tuple[str, Span | None], ...]
    changes: tuple[Change, ...]
    noticed: tuple[Change | str, ...]
    because: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Frame:
    """Of variables of ours it is known, too, from which cell they were read (`source`), and what stands for
    them in the program (`texts`)."""

    procedure: str
    called_at: Span | None
    values: dict[Expr, Datum] = field(default_factory=dict)
    source: dict[Expr, int] = field(default_factory=dict)
    texts: dict[Expr, str] = field(default_factory=dict)


class Playback:
    """`globals` and the values in `frames` are exact."""

    def __init__(self, program: Program, trace: Trace) -> None:
        self.program = program
        self.names = Names(program)
        self.globals: dict[Expr, Datum] = {}
        self.frames = [_Frame(program.main, None)]
        self.memory = Memory(program)
        self._noticed: list[Change | str] = []  # in the present step
        self._globals = frozenset(program.globals)
        self._results = {v for p in program.procedures.values() for v in p.results}
        for variable, term in program.initial.items():
            value = _value(term, {})
            if value is not None:
                self.globals[variable] = value
        self.globals.update(trace.initial)

    @property
    def initially(self) -> tuple[Change, ...]:
        named = ((v, self.program.source_names.get(v)) for v in self.globals)
        return tuple(
            Change(GLOBALS, v.name, name, self.memory.text(v, self.globals[v]))
            for v, name in named
            if name is not None
        )

    def forget(self, procedure: str, depth: int) -> None:
        """Go on after steps that were omitted, in `procedure` at call depth `depth`."""
        self.globals.clear()
        self.memory.cells.clear()
        self.frames = [*(_Frame("?", None) for _ in range(depth)), _Frame(procedure, None)]

    def play(self, step: Step) -> Scene:
        edge = self.program.edge[step.edge]
        del self.frames[step.depth + 1 :]
        top = self.frames[-1]
        top.procedure = edge.source.procedure
        because = self._because(edge) if isinstance(edge.op, Assume) and edge.branch is not None else ()
        if isinstance(edge.op, Call):
            top.texts.update(dict.fromkeys(edge.op.targets, call_text(edge.op, edge.text)))
            self.frames.append(_Frame(edge.op.procedure, edge.span))
        if isinstance(edge.op, Alloc):
            self._begun(edge.op, dict(step.changes), top)
        changes = [self._written(edge, variable, value) for variable, value in step.changes]
        changes += self._rewritten(edge, step, top)
        changes += self._remembered(edge, top)
        stack = tuple((frame.procedure, frame.called_at) for frame in self.frames)
        noticed, self._noticed = tuple(self._noticed), []
        return Scene(stack, tuple(c for c in changes if c is not None), noticed, because)

    # ------------------------------------------------------------------------------- variables

    def _written(self, edge: Edge, variable: Expr, value: Value) -> Change | None:
        name = self.names.written(edge, variable)
        scope = self._scope(edge, variable)
        if scope == GLOBALS:
            self.globals[variable] = value
        elif scope >= 0:
            self.frames[scope].values[variable] = value
            if scope == len(self.frames) - 1 and not _is_stack(edge):  # else it is what a call returned
                self.frames[scope].texts[variable] = edge.text
        if name is None and scope != GLOBALS:
            name = _computed(edge)
        if name is None:
            return None
        shown = scope if variable in self.program.source_names else PASSING
        return Change(shown, variable.name, name, self.memory.text(variable, value))

    def _rewritten(self, edge: Edge, step: Step, top: _Frame) -> list[Change | None]:
        """What a step gave the value that it had before."""
        if not isinstance(edge.op, Assign | Havoc):
            return []
        changed = {variable for variable, _ in step.changes}
        found: list[Change | None] = []
        for variable in edge.op.targets:
            value = self._known(top).get(variable)
            name = self.names.written(edge, variable)
            if name is None and variable not in self._globals:
                name = _computed(edge)
            if variable in changed or value is None or name is None:
                continue
            named = variable in self.program.source_names
            scope = self._scope(edge, variable) if named else PASSING
            found.append(Change(scope, variable.name, name, self.memory.text(variable, value), before=named))
        return found

    def _scope(self, edge: Edge, variable: Expr) -> int:
        """The frame of a variable. What a call writes on return is listed with the step that returns."""
        if variable in self._globals:
            return GLOBALS
        top = len(self.frames) - 1
        procedure = self.program.procedures[edge.source.procedure]
        returns = isinstance(edge.op, Return) or edge.target is procedure.exit
        if isinstance(edge.op, Call) or not returns or variable in self._results:
            return top
        return top if variable in written(edge.op, procedure) else max(top - 1, 0)

    def _known(self, frame: _Frame) -> Mapping[Expr, Datum]:
        return ChainMap(frame.values, self.globals)

    # ---------------------------------------------------------------------------------- memory

    def _begun(self, op: Alloc, changes: Mapping[Expr, Value], top: _Frame) -> None:
        base = changes.get(op.target)
        if isinstance(base, int):
            self.memory.begin(op, base, _number(op.size, self._known(top)) or 1)

    def _remembered(self, edge: Edge, top: _Frame) -> list[Change | None]:
        """What a step does to memory."""
        op, memory, known = edge.op, self.memory, self._known(top)
        changes: list[Change | None] = []
        if isinstance(op, Free):
            base = _number(op.address, known)
            if base is not None:
                memory.end(base)
        elif isinstance(op, Load):
            address, value = _number(op.address, known), top.values.get(op.target)
            if address is not None and value is not None:
                top.source[op.target] = address
                self._noticed.append(self._seen(address, op.target, value, edge.text, top))
        elif isinstance(op, Store):
            address, value = _number(op.address, known), _value(op.value, known)
            if address is not None and value is not None:
                memory.meet(edge.text.removeprefix("&"), value)
                changes = [self._seen(address, op.value, value, left_side(edge.text), top)]
            elif address is not None:
                memory.drop(address, width(op.value))
        self._notice_dropped()
        return changes

    def _seen(self, address: int, term: Expr, value: Datum, text: str, top: _Frame) -> Change:
        index, points = lambda name: self._index(name, top), self._points(term, top)
        self.memory.see(address, value, width(term), text, index, points=points)
        self._notice_dropped()
        cell = self.memory.cells[address]
        return Change(MEMORY, str(address), cell.name, self.memory.cell_text(address, term))

    def _points(self, term: Expr, top: _Frame) -> bool:
        """Whether a term is a pointer as it is in memory: an address, or read from where one is."""
        while term.kind is Kind.WRAP:
            (term,) = term.args
        cell = self.memory.cells.get(top.source.get(term, -1))
        return term.kind is Kind.VAR and (term.sort is INT or (cell is not None and cell.points))

    def _notice_dropped(self) -> None:
        self._noticed += [str(address) for address in self.memory.dropped]
        self.memory.dropped.clear()

    def _index(self, name: str, top: _Frame) -> str | None:
        """The value of the variable that a user calls by this name; of several locals, the last met."""
        for values in (top.values, self.globals):
            for variable in reversed(values):
                if self.names.of(variable) == name:
                    return value_text(values[variable])
        return None

    # -------------------------------------------------------------------------------- branches

    def _because(self, edge: Edge) -> tuple[tuple[str, str], ...]:
        """The values in the condition of a branch, under names that the source has for them."""
        assert isinstance(edge.op, Assume)
        top = self.frames[-1]
        known = self._known(top)
        found: dict[str, str] = {}
        for variable in variables(edge.op.condition):
            value = known.get(variable)
            if value is None or isinstance(value, ArrayValue):
                continue
            name, address = self._read_as(variable, edge, top), top.source.get(variable, -1)
            if name and address in self.memory.cells:
                found.setdefault(name, self.memory.cell_text(address, variable))
            elif name:
                found.setdefault(name, self.memory.text(variable, value))
        return tuple(sorted(found.items(), key=lambda item: position_in(item[0], edge.text)))

    def spoken(self, edge: Edge) -> Mapping[Expr, str]:
        """Names for the variables that a step is about, before it is played."""
        top = self.frames[-1]
        found = {v: self._read_as(v, edge, top) for v in (*top.values, *self.globals)}
        return {v: name for v, name in found.items() if name}

    def _read_as(self, variable: Expr, edge: Edge, top: _Frame) -> str:
        """What the source has for a variable; of one of ours, the expression whose value it holds."""
        if variable in self.program.source_names:
            return self.program.source_names[variable]
        cell = self.memory.cells.get(top.source.get(variable, -1))
        if cell is not None:
            return cell.name
        if variable in self._results:
            return RESULT
        text = top.texts.get(variable, "")
        whole = text == edge.text and is_statement(text)
        return text if not whole and len(text) <= WIDEST else ""


def _is_stack(edge: Edge) -> bool:
    return isinstance(edge.op, Alloc) and edge.op.storage != "heap"


def _computed(edge: Edge) -> str | None:
    """The part of an expression whose value a step keeps in a variable of ours."""
    alone = isinstance(edge.op, Assign) and len(edge.op.targets) == 1
    alone = alone or (isinstance(edge.op, Alloc) and not _is_stack(edge))
    if not alone or not 0 < len(edge.text) <= WIDEST or is_statement(edge.text):
        return None
    return edge.text


def _value(term: Expr, known: Mapping[Expr, Datum]) -> Datum | None:
    try:
        return evaluate(term, known)
    except (KeyError, ValueError, Undefined):
        return None


def _number(term: Expr, known: Mapping[Expr, Datum]) -> int | None:
    value = _value(term, known)
    return value if isinstance(value, int) else None
