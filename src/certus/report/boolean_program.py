"""Render a Boolean program in the small language, in the notation of Wolff 2015, Listing 2.

A comment after each statement shows the original one. The text can be verified like any other program.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from textwrap import wrap
from typing import Final

from certus.core.boolean import (
    BooleanProcedure,
    BooleanProgram,
    Choose,
    Condition,
    Cube,
    Guard,
    Invoke,
    Predicate,
    Statement,
)
from certus.core.program import Edge, Location
from certus.core.terms import Expr
from certus.report.control_structure import Line, structured
from certus.report.text import printable

_INDENT: Final = "    "
_COLUMN: Final = 44  # where comments begin, if there is room
_WIDTH: Final = 100  # of a line, without comments
_TOGETHER: Final = re.compile(r"(?<=, )|(?<== )|(?<=\) && )")  # where long statements are divided


def render_boolean(abstraction: BooleanProgram) -> str:
    """Render a Boolean program."""
    lines = [
        f"// The abstraction of {abstraction.program.file}: a variable is true where its predicate is true.",
    ]
    for variable, value in abstraction.shared.items():
        lines.append(_declaration(variable, value, abstraction.predicates, 0))
    names = _procedure_names(abstraction)
    for procedure in abstraction.procedures.values():
        lines += ["", *_Text(procedure, abstraction, names).lines()]
    return "\n".join(lines) + "\n"


def _variable_names(abstraction: BooleanProgram) -> set[str]:
    own = (x for p in abstraction.procedures.values() for x in (*p.predicates, *p.received))
    return {x.name for x in (*abstraction.predicates, *own)}


def _procedure_names(abstraction: BooleanProgram) -> dict[str, str]:
    """Choose names for procedures: execution starts in `main`, and names must be identifiers."""
    first = abstraction.program.main
    names = {first: "main"}
    taken = _variable_names(abstraction) | {"main"}
    for name in abstraction.procedures:
        if name != first:
            plain = re.sub(r"\W", "_", name).strip("_") or "procedure"
            candidates = (plain if n == 1 else f"{plain}_{n}" for n in count(1))
            names[name] = next(candidate for candidate in candidates if candidate not in taken)
            taken.add(names[name])
    return names


class StructuredText(ABC):
    """Renders the body of one procedure in the small language. `errors` are the error locations, `results`
    the names of its results."""

    def __init__(self, errors: Collection[Location], results: Iterable[str]) -> None:
        self._errors, self._results = errors, ", ".join(results)
        self._labels: dict[Location, str] = {}

    @abstractmethod
    def _condition(self, edge: Edge) -> str:
        """Return the condition of a branch or a loop."""

    @abstractmethod
    def _step(self, edge: Edge, depth: int) -> Iterator[str]:
        """Yield the statements of an edge."""

    @abstractmethod
    def _label(self) -> str:
        """Return a new name for a label."""

    def body(self, lines: Sequence[Line]) -> Iterator[str]:
        """Yield the text of the lines, and the return at their end."""
        for line in lines:
            yield from self._line(line)
        if self._results and (not lines or lines[-1].kind not in ("return", "stop", "goto")):
            yield self._return(1)

    def _line(self, line: Line) -> Iterator[str]:
        depth, edge, at = line.depth, line.edge, line.location
        if line.kind in ("if", "while"):
            assert edge is not None
            yield commented(f"{line.kind} ({self._condition(edge)}) {{", edge.text, depth)
        elif line.kind == "else":
            yield commented("} else {", "", depth)
        elif line.kind == "end":
            yield commented("}", "", depth)
        elif line.kind == "step":
            assert edge is not None
            yield from self._step(edge, depth)
        elif line.kind == "return":
            yield self._return(depth)
        elif line.kind == "stop":
            yield commented("assert(false);" if at in self._errors else "assume(false);", "", depth)
        else:
            assert at is not None
            if at not in self._labels:
                self._labels[at] = self._label()
            name = self._labels[at]
            yield commented(f"goto {name};" if line.kind == "goto" else f"{name}:", "", depth)

    def _return(self, depth: int) -> str:
        return commented(f"return {self._results};" if self._results else "return;", "", depth)


class _Text(StructuredText):
    """Renders one procedure."""

    def __init__(self, procedure: BooleanProcedure, whole: BooleanProgram, names: Mapping[str, str]) -> None:
        super().__init__(whole.program.error_locations, (x.name for x in procedure.results))
        self._procedure = procedure
        self._names = names
        taken = _variable_names(whole)
        self._numbers = (name for n in count(1) if (name := f"L{n}") not in taken)

    def lines(self) -> Iterator[str]:
        p = self._procedure
        results = ", ".join("bool" for _ in p.results) or "void"
        name = self._names[p.procedure.name]
        comment = "" if name == p.procedure.name else p.procedure.name
        yield commented(f"{results} {name}(" + ("" if p.parameters else ") {"), comment, 0)
        if p.parameters:
            for n, x in enumerate(p.parameters):
                end = ") {" if n == len(p.parameters) - 1 else ","
                yield commented(f"bool {x.name}{end}", p.predicates[x].text, 2)
        for x, value in p.declared.items():
            yield _declaration(x, value, p.predicates, 1)
        for x, predicate in p.received.items():
            yield commented(f"bool {x.name};", f"returned: {predicate.text}", 1)
        for statement in p.start:
            yield commented(self._statement(statement), "no predicates contradict each other", 1)
        yield from self.body(structured(p.procedure, lambda edge: not p.steps[edge]))
        yield "}"

    def _condition(self, edge: Edge) -> str:
        return "unknown"

    def _label(self) -> str:
        return next(self._numbers)

    def _step(self, edge: Edge, depth: int) -> Iterator[str]:
        statements = self._procedure.steps[edge]
        branching = edge.branch is not None or len(self._procedure.procedure.successors[edge.source]) > 1
        text = "" if branching else edge.text  # the line that opens a branch has its comment
        if not statements and not branching:
            yield commented(";", text, depth)
        for n, statement in enumerate(statements):
            yield commented(self._statement(statement), "" if n else text, depth)

    def _statement(self, statement: Statement) -> str:
        if isinstance(statement, Guard):
            return f"assume({condition_text(statement.condition)});"
        if isinstance(statement, Invoke):
            call = f"{self._names[statement.procedure]}({_listed(statement.arguments)});"
            return f"{_listing(statement.targets)} = {call}" if statement.targets else call
        return f"{_listing(statement.targets)} = {_listed(statement.values)};"


def _declaration(x: Expr, value: Choose, predicates: Mapping[Expr, Predicate], depth: int) -> str:
    return commented(f"bool {x.name} = {choice_text(value)};", predicates[x].text, depth)


def commented(code: str, comment: str, depth: int) -> str:
    """Return a line with its comment; a long line is split, with the comment before it."""
    margin = _INDENT * depth
    if len(margin) + len(code) <= _WIDTH:
        code = margin + code
        return f"{code:<{_COLUMN}}  // {printable(comment)}" if comment else code
    lines = [f"{margin}// {printable(comment)}"] if comment else []
    line = margin
    for part in _TOGETHER.split(code):
        if len(line) + len(part) > _WIDTH and line.strip():
            lines.append(line.rstrip())
            line = margin + 2 * _INDENT
        line += part
    lines.append(line)
    return "\n".join(piece for line in lines for piece in _folded(line, margin + 3 * _INDENT))


def _folded(line: str, margin: str) -> list[str]:
    """Split a line that is still too long."""
    if len(line) <= _WIDTH or line.lstrip().startswith("//"):
        return [line]
    return wrap(
        line,
        _WIDTH,
        subsequent_indent=margin,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )


# ---------------------------------------------------------------------------------- values as text


def _listing(variables: Iterable[Expr]) -> str:
    return ", ".join(x.name for x in variables)


def _listed(values: Iterable[Choose]) -> str:
    return ", ".join(map(choice_text, values))


def choice_text(value: Choose) -> str:
    """Return `F ? true : G ? false : unknown`, without superfluous parts."""
    if value.determined or value.yes.always:
        return condition_text(value.yes)
    if value.no.always:
        return "false"
    parts = []
    if not value.yes.never:
        parts.append(f"{condition_text(value.yes)} ? true : ")
    if not value.no.never:
        parts.append(f"{condition_text(value.no)} ? false : ")
    return "".join(parts) + "unknown"


def condition_text(condition: Condition) -> str:
    """Return a disjunction of conjunctions or, if it is negated, a conjunction of disjunctions."""
    if condition.always or condition.never:
        return "true" if condition.always else "false"
    if not condition.negated:
        return " || ".join(_joined(cube, " && ", value=True) for cube in condition.cubes)
    parts = [_joined(cube, " || ", value=False) for cube in condition.cubes]
    if len(parts) == 1:
        return parts[0]
    return " && ".join(f"({p})" if " " in p else p for p in parts)


def _joined(cube: Cube, operator: str, *, value: bool) -> str:
    """Join the literals of a cube, or their negations."""
    return operator.join(x.name if wanted is value else f"!{x.name}" for x, wanted in cube)
