"""The program state along a replayed trace, as far as it is known.

A replay lists the changes of each step. `TraceState` follows it and keeps the values of globals, of every
frame on the call stack, and of memory. Where the replay omits steps, all values become unknown.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field

from certus.core.diagnostic import Span
from certus.core.effects import written
from certus.core.errors import Undefined
from certus.core.evidence import Trace
from certus.core.outcome import Step
from certus.core.program import (
    UNSPECIFIED,
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    Program,
    Return,
    Store,
)
from certus.core.terms import INT, Expr, Kind, Value
from certus.core.values import ArrayValue, Datum, evaluate
from certus.core.walk import variables
from certus.report.outcome_view import INPUT, RESULT, Names, value_text
from certus.report.source_text import WIDEST, call_text, is_statement, left_side, position_in
from certus.report.trace_memory import Memory, width

GLOBALS, MEMORY, PASSING = -1, -2, -3  # scopes other than frames; PASSING values are in no table


@dataclass(frozen=True, slots=True)
class Change:
    """A value that a step gives to something with a name in the source. `scope` is the number of the frame,
    counted from `main`, or one of the scopes above; `key` identifies the variable or cell in its scope.
    `before` says that the value is the same as before."""

    scope: int
    key: str
    name: str
    value: str
    before: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """The state after one step: the call stack as (procedure, place of the call), and the changes. `noticed`
    precedes the changes: memory cells that were read, and the keys of cells whose values became unknown.
    `because` are the values that decided a branch."""

    stack: tuple[tuple[str, Span | None], ...]
    changes: tuple[Change, ...]
    noticed: tuple[Change | str, ...]
    because: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Frame:
    """A frame of the call stack. For internal variables it also has the addresses from which they were read
    (`source`), and the expressions in the program whose values they hold (`texts`)."""

    procedure: str
    called_at: Span | None
    values: dict[Expr, Datum] = field(default_factory=dict)
    source: dict[Expr, int] = field(default_factory=dict)
    texts: dict[Expr, str] = field(default_factory=dict)


class TraceState:
    """The state between two steps; `globals` and the values in `frames` are exact."""

    def __init__(self, program: Program, trace: Trace) -> None:
        self.program = program
        self.names = Names(program)
        self.globals: dict[Expr, Datum] = {}
        self.frames = [_Frame(program.main, None)]
        self.memory = Memory(program)
        self.answers = answer_edges(program)
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
        """Return the known values of globals at the start."""
        named = ((v, self.program.source_names.get(v)) for v in self.globals)
        return tuple(
            Change(GLOBALS, v.name, name, self.memory.text(v, self.globals[v]))
            for v, name in named
            if name is not None
        )

    def forget(self, procedure: str, depth: int) -> None:
        """Continue after omitted steps, in `procedure` at call depth `depth`."""
        self.globals.clear()
        self.memory.cells.clear()
        self.frames = [*(_Frame("?", None) for _ in range(depth)), _Frame(procedure, None)]

    def advance(self, step: Step) -> Scene:
        """Execute one step."""
        edge = self.program.edge[step.edge]
        del self.frames[step.depth + 1 :]
        top = self.frames[-1]
        top.procedure = edge.source.procedure
        decides = isinstance(edge.op, Assume) and edge.branch is not None and edge.index not in self.answers
        because = self._because(edge) if decides else ()
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
            if scope == len(self.frames) - 1 and not _is_part(edge):  # else it is what a call returned
                self.frames[scope].texts[variable] = edge.text
        if name is None and scope != GLOBALS:
            name = _computed(edge)
        if name is None:
            return None
        shown = scope if variable in self.program.source_names else PASSING
        return Change(shown, variable.name, name, self.memory.text(variable, value))

    def _rewritten(self, edge: Edge, step: Step, top: _Frame) -> list[Change | None]:
        """Return the writes of a step that do not change the value."""
        if not isinstance(edge.op, Assign | Havoc):
            return []
        changed = {variable for variable, _ in step.changes}
        writes: list[Change | None] = []
        for variable in edge.op.targets:
            value = self._values(top).get(variable)
            name = self.names.written(edge, variable)
            if name is None and variable not in self._globals:
                name = _computed(edge)
            if variable in changed or value is None or name is None:
                continue
            named = variable in self.program.source_names
            scope = self._scope(edge, variable) if named else PASSING
            writes.append(Change(scope, variable.name, name, self.memory.text(variable, value), before=named))
        return writes

    def _scope(self, edge: Edge, variable: Expr) -> int:
        """Return the scope of a variable. The targets of a call are listed with the step that returns."""
        if variable in self._globals:
            return GLOBALS
        top = len(self.frames) - 1
        procedure = self.program.procedures[edge.source.procedure]
        returns = isinstance(edge.op, Return) or edge.target is procedure.exit
        if isinstance(edge.op, Call) or not returns or variable in self._results:
            return top
        return top if variable in written(edge.op, procedure) else max(top - 1, 0)

    def _values(self, frame: _Frame) -> Mapping[Expr, Datum]:
        return ChainMap(frame.values, self.globals)

    # ---------------------------------------------------------------------------------- memory

    def _begun(self, op: Alloc, changes: Mapping[Expr, Value], top: _Frame) -> None:
        base = changes.get(op.target)
        if isinstance(base, int):
            self.memory.begin(op, base, _number(op.size, self._values(top)) or 1)

    def _remembered(self, edge: Edge, top: _Frame) -> list[Change | None]:
        """Apply a step to memory, and return the changes."""
        op, memory, values = edge.op, self.memory, self._values(top)
        changes: list[Change | None] = []
        if isinstance(op, Free):
            base = _number(op.address, values)
            if base is not None:
                memory.end(base)
        elif isinstance(op, Load):
            address, value = _number(op.address, values), top.values.get(op.target)
            if address is not None and value is not None:
                top.source[op.target] = address
                self._noticed.append(self._seen(address, op.target, value, edge.text, top))
        elif isinstance(op, Store):
            address, value = _number(op.address, values), _value(op.value, values)
            if address is not None and value is not None:
                memory.meet(edge.text.removeprefix("&"), value)
                changes = [self._seen(address, op.value, value, left_side(edge.text), top)]
            elif address is not None:
                memory.drop(address, width(op.value))
        self._notice_dropped()
        return changes

    def _seen(self, address: int, term: Expr, value: Datum, text: str, top: _Frame) -> Change:
        index, points = lambda name: self._index(name, top), self._points(term, top)
        self.memory.see(address, term, value, text, index, points=points)
        self._notice_dropped()
        cell = self.memory.cells[address]
        return Change(MEMORY, str(address), cell.name, self.memory.cell_text(address, term, cell.value))

    def _points(self, term: Expr, top: _Frame) -> bool:
        """Say whether a term is a pointer: an address, or a value read from a cell that holds one."""
        while term.kind is Kind.WRAP:
            (term,) = term.args
        cell = self.memory.cells.get(top.source.get(term, -1))
        return term.kind is Kind.VAR and (term.sort is INT or (cell is not None and cell.points))

    def _notice_dropped(self) -> None:
        self._noticed += [str(address) for address in self.memory.dropped]
        self.memory.dropped.clear()

    def _index(self, name: str, top: _Frame) -> str | None:
        """Return the value of the variable with this source name; of several locals, the last one written."""
        for values in (top.values, self.globals):
            for variable in reversed(values):
                if self.names.of(variable) == name:
                    return value_text(values[variable])
        return None

    # -------------------------------------------------------------------------------- branches

    def _because(self, edge: Edge) -> tuple[tuple[str, str], ...]:
        """Return the values in the condition of a branch, with their names in the source."""
        assert isinstance(edge.op, Assume)
        top = self.frames[-1]
        state = self._values(top)
        values: dict[str, str] = {}
        for variable in variables(edge.op.condition):
            value = state.get(variable)
            if value is None or isinstance(value, ArrayValue):
                continue
            name, address = self._read_as(variable, edge, top), top.source.get(variable, -1)
            if name and address in self.memory.cells:
                values.setdefault(name, self.memory.cell_text(address, variable, value))
            elif name:
                values.setdefault(name, self.memory.text(variable, value))
        return tuple(sorted(values.items(), key=lambda item: position_in(item[0], edge.text)))

    def names_for(self, edge: Edge) -> Mapping[Expr, str]:
        """Return names for the variables of a step that is about to be executed."""
        top = self.frames[-1]
        names = {v: self._read_as(v, edge, top) for v in (*top.values, *self.globals)}
        return {v: name for v, name in names.items() if name}

    def _read_as(self, variable: Expr, edge: Edge, top: _Frame) -> str:
        """Return the source name of a variable, or the expression whose value an internal variable holds."""
        if variable in self.program.source_names:
            return self.program.source_names[variable]
        cell = self.memory.cells.get(top.source.get(variable, -1))
        if cell is not None:
            return cell.name
        if variable in self._results:
            return RESULT
        text = top.texts.get(variable, "")
        if text.startswith("$"):  # `$bool1 = *;`: an input of the small language that no variable keeps
            return INPUT
        whole = text == edge.text and is_statement(text)
        return text if not whole and len(text) <= WIDEST else ""


def answer_edges(program: Program) -> frozenset[int]:
    """Return the edges that branch on the answer to a question about memory: the source has no such
    branch."""
    answers: list[int] = []
    for procedure in program.procedures.values():
        for edge in procedure.edges:
            if isinstance(edge.op, Inspect | InspectHeap | InspectBits):
                after = procedure.successors[edge.target]
                answers += [e.index for e in after if isinstance(e.op, Assume)]
    return frozenset(answers)


def _is_stack(edge: Edge) -> bool:
    return isinstance(edge.op, Alloc) and edge.op.storage != "heap"


def _is_part(edge: Edge) -> bool:
    """Say whether a step has the text of an expression whose value it does not give: it begins an object on
    the stack, or chooses what C leaves open."""
    is_open = isinstance(edge.op, Havoc) and edge.op.function == UNSPECIFIED
    return _is_stack(edge) or is_open


def _computed(edge: Edge) -> str | None:
    """Return the part of an expression whose value a step keeps in an internal variable."""
    alone = isinstance(edge.op, Assign) and len(edge.op.targets) == 1
    alone = alone or (isinstance(edge.op, Alloc) and not _is_stack(edge))
    if not alone or not 0 < len(edge.text) <= WIDEST or is_statement(edge.text):
        return None
    return edge.text


def _value(term: Expr, values: Mapping[Expr, Datum]) -> Datum | None:
    try:
        return evaluate(term, values)
    except (KeyError, ValueError, Undefined):
        return None


def _number(term: Expr, values: Mapping[Expr, Datum]) -> int | None:
    value = _value(term, values)
    return value if isinstance(value, int) else None
