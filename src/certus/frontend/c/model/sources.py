"""Map debug locations to positions and words of the source, and follow the position of the lowering.

A load stands for the place that is read (`p->next`), a store for the assignment, a call for the call. A
branch stands for the head of its statement, unless it belongs to `&&`, `||` or `?:` in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from certus.core.diagnostic import Span
from certus.core.witness import probe_kind
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.debug import Debug, DebugVariable, Place
from certus.frontend.c.ir.instructions import Local, Operand, Symbol
from certus.frontend.c.ir.module import Alias, Definition, Function
from certus.frontend.c.library.models import SYSTEM_HEADERS
from certus.frontend.c.source import expressions
from certus.frontend.c.source.statements import Statements, Written

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body
    from certus.frontend.c.source.probes import ProbedText

Finder = Callable[[Statements, int], tuple[int, int] | None]
_DEEPEST: Final = 100  # subscripts that are counted


class SourceFile(Statements):
    """One file, as Clang knows it (`main`) and as the user does (`shown`). `blanked`: line markers were
    blanked out before Clang read it; `probed`: it contains probes."""

    def __init__(
        self, main: str, shown: str, text: str, *, blanked: bool, probed: ProbedText | None = None
    ) -> None:
        super().__init__(shown, text)
        self._main = main
        self._blanked = blanked
        self.probed = probed
        self._lines_before = 0 if probed is None else 1
        self._ends = [*(marked for marked, _, _ in self.markers[1:]), text.count("\n") + 2]

    def written_at(self, line: int, column: int) -> Written:
        """Return what is written at a position, or in a line if the column is 0."""
        token = self.tokens.at(line, column) if column else self.named("", line)
        written = None if token is None else self.written(token)
        if written is None:
            span = self.presuming(line, max(column, 1), line, max(column, 1) + 1)
            return Written(span, "}", span)
        return written

    def physical(self, file: str, line: int) -> int | None:
        """Return the line of this file that a position of Clang's is in; None if it is in another file."""
        if self._blanked or not self.markers:
            line -= self._lines_before
            return line if file == self._main and line > 0 else None
        for end, (marked, claimed_file, claimed) in zip(self._ends, self.markers, strict=True):
            same = file == claimed_file or file.endswith("/" + claimed_file)
            if same and claimed <= line < claimed + end - marked - 1:
                return marked + 1 + line - claimed
        return line if line < self.markers[0][0] and file == self._main else None

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Return line and column, in characters, for a line and a column, in bytes, of Clang's. Column 0
        means none."""
        if column and self.probed is not None:
            line, column = self.probed.place(line + self._lines_before, column)
        return line, self.tokens.column(line, column) if column else 0

    def span_at(self, file: str, line: int, column: int) -> Span | None:
        """Return the span of the token at a position of Clang's; None if it is in another file."""
        physical = self.physical(file, line)
        if physical is None:
            return None
        at, character = self.place(physical, column)
        token = self.tokens.at(at, character)
        return self.presuming(at, character, at, character + 1) if token is None else self.span(token, token)

    def probe(self, line: int, column: int) -> int | None:
        """Return the number of the probe that a position of Clang's belongs to."""
        return None if self.probed is None else self.probed.probe(line + self._lines_before, column)

    def named(self, name: str, line: int) -> int | None:
        """Return the first token in a line that is a name; without a name, the first."""
        texts = self.tokens.texts
        return next((each for each in self.tokens.in_line(line) if name in ("", texts[each])), None)


Located = tuple[SourceFile, int]  # a file and the number of a token in it


class Sources:
    """All files of a program. `bases` are the numbers at which the metadata of each file starts."""

    def __init__(self, debug: Debug, files: Sequence[SourceFile], bases: Sequence[int] = (0,)) -> None:
        self._debug = debug
        self.files = tuple(files)
        self._bases = tuple(bases)
        self._has_probes = any(source.probed is not None for source in self.files)
        self._written: dict[Place, Written] = {}
        self._tokens: dict[Place, Located | None] = {}

    def start(self) -> Span:
        """Return the start of the first file: the span of what has no place."""
        shown = self.files[0].shown
        return Span(shown, 1, 1, 1, 1, shown, 1)

    def find(self, file: str, line: int, number: int | None) -> tuple[SourceFile, int] | None:
        """Return the file, and the line in it, of a position of Clang's; None if it is in a header. `number`
        is the number of metadata at the position: its file is tried first, since line markers of several
        files may claim the same position."""
        files = self.files
        if number is not None and len(files) > 1:
            files = (files[bisect_right(self._bases, number) - 1], *files)
        for source in files:
            physical = source.physical(file, line)
            if physical is not None:
                return source, physical
        return None

    def of_library(self, debug: Debug, function: int) -> bool:
        """Return whether a declaration is part of the C library."""
        file, line = debug.position(function)
        position = self.find(file, line, function)
        names = (file,) if position is None else (file, position[0].presumed(position[1])[0])
        return any(part in name for part in SYSTEM_HEADERS for name in names)

    # ----------------------------------------------------------------------------------- places

    def _position(self, place: Place) -> tuple[SourceFile, int, int] | None:
        """Return file, line and column, in characters, of a place; None if it is in a header."""
        position = self.find(self._debug.file(place.scope), place.line, place.scope) if place.line else None
        if position is None:
            return None
        source, line = position
        return (source, *source.place(line, place.column))

    def at(self, place: Place) -> Located | None:
        """Return the token at a place."""
        position = self._position(place)
        if position is None:
            return None
        source, line, column = position
        token = source.tokens.at(line, column)
        return None if token is None else (source, token)

    def token(self, number: int | None) -> Located | None:
        """Return the token at a debug location."""
        place = self._debug.place(number)
        if place is None:
            return None
        if place not in self._tokens:
            self._tokens[place] = self.at(place)
        return self._tokens[place]

    def probe(self, number: int | None) -> int | None:
        """Return the number of the probe that a debug location belongs to."""
        place = self._debug.place(number) if self._has_probes else None
        if place is None or not place.column:
            return None
        position = self.find(self._debug.file(place.scope), place.line, place.scope)
        return None if position is None else position[0].probe(position[1], place.column)

    def written(self, number: int | None) -> Written | None:
        """Return what is written at a debug location."""
        place = self._debug.place(number)
        if place is None or not place.line:
            return None
        if place not in self._written:
            self._written[place] = self._find(place)
        return self._written[place]

    def _find(self, place: Place) -> Written:
        position = self._position(place)
        if position is None:
            file, column = self._debug.file(place.scope), max(place.column, 1)
            span = Span(file, place.line, column, place.line, column + 1, file, place.line)
            return Written(span, "", span)
        source, line, column = position
        return source.written_at(line, column)

    def statement(self, place: Located | None) -> Span | None:
        """Return the span of the statement at a token."""
        written = None if place is None else place[0].written(place[1])
        return None if written is None else written.statement

    def part(self, number: int | None, find: Finder) -> tuple[Span, str] | None:
        """Return span and text of the part of the source that `find` returns at a debug location."""
        place = self.token(number)
        part = None if place is None else find(*place)
        return None if place is None or part is None else (place[0].span(*part), place[0].quoted(*part))

    def watched(self, number: int | None, places: frozenset[tuple[int, int | None]]) -> bool:
        """Return whether the `?` of the condition at a debug location is at one of some places."""
        place = self.token(number) if places else None
        mark = None if place is None else expressions.question_mark(*place)
        if place is None or mark is None:
            return False
        line, column = place[0].tokens.place(place[0].tokens.starts[mark])
        return (line, column) in places or (line, None) in places

    def line_span(self, file: str, line: int, number: int | None) -> Span:
        """Return the span of a line, of one of the files or a header."""
        position = self.find(file, line, number)
        if position is None:
            return Span(file, max(line, 1), 1, max(line, 1), 2, file, max(line, 1))
        source, at = position
        return source.presuming(at, 1, at, 2)

    def function_span(self, function: Function) -> Span | None:
        """Return the span of a function."""
        if function.debug is None:
            return None
        position = (*self._debug.position(function.debug), function.debug)
        place = self._named(self._debug.node(function.debug).string("name"), *position)
        return self.statement(place) or self.line_span(*position)

    def scope(self, variable: DebugVariable, number: int | None) -> Span | None:
        """Return where the name of a variable is visible; `number` is the location of its declaration."""
        place = self._declared_at(variable) if number is None else self.token(number)
        return None if place is None else place[0].scope(place[1])

    def declaration(self, variable: DebugVariable) -> tuple[Span, str]:
        """Return span and text of the declaration of a static variable."""
        place = self._declared_at(variable)
        written = None if place is None else place[0].written(place[1])
        if written is None:
            return self.line_span(variable.file, variable.line, variable.scope), variable.name
        return written.span, written.text

    def _declared_at(self, variable: DebugVariable) -> Located | None:
        """Return the first token with the name of a variable in the line of its declaration."""
        place = (variable.name, variable.file, variable.line, variable.scope)
        return self._named(*place) if variable.line else None

    def _named(self, name: str, file: str, line: int, number: int | None) -> Located | None:
        position = self.find(file, line, number)
        token = None if position is None else position[0].named(name, position[1])
        return None if position is None or token is None else (position[0], token)

    def symbol_span(self, name: str, symbol: Definition) -> Span:
        """Return where the first file declares or defines a name. Debug information does not contain
        variables that are only declared, nor aliases: for these it is the first line with the name."""
        source, number = self.files[0], None if isinstance(symbol, Alias) else symbol.debug
        if number is None:
            match = re.search(rf"\b{re.escape(name)}\b", source.text)
            line = 1 if match is None else source.text.count("\n", 0, match.start()) + 1
            span = source.presuming(line, 1, line, 2)
        else:
            span = self.line_span(*self._debug.position(number), None)
        token = source.named(name, span.line) if span.file == source.shown else None
        return span if token is None else source.span(token, token)


class Cursor:
    """The position of the next step: the block and the instruction that are being lowered, and the part of
    the source that they stand for. `number` is the position of the instruction in the text of the IR; `probe`
    is the number of the probe that the instruction belongs to."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.block = ""
        self.number = 0
        self.probe: int | None = None
        self.span: Span | None = None
        self.text = ""
        self.statement: Span | None = None
        self._location: int | None = None
        self._present: Span | None = None  # the statement of the last instruction that has one
        self._begun: dict[Span, int] = {}  # the first node of each statement
        self._sequence = 0

    def move_to(self, instruction: ir.Instruction | None) -> None:
        """Move to an instruction, or to the start of the function."""
        body = self._body
        if instruction is None:
            self.number, self._location = 0, None
            self.span, self.text, self.statement = body.draft.span, "", body.draft.span
            return
        self.number, self._location = body.flow.number[instruction], instruction.location
        if not body.unit.is_program(body.module):
            self.text = f"{body.name.lstrip('$')}(...)"
            return
        self.probe = body.unit.sources.probe(instruction.location)
        written = body.unit.sources.written(instruction.location)
        if self.probe is not None:
            self.span, self.text = None if written is None else written.span, probe_kind(self.probe)
            return
        if written is not None:
            self.span, self.text, self.statement = written.span, written.text, written.statement
            self._present = written.statement if written.text else None
        if instruction.location is None:
            self.begin()
            self.describe(_parameter(body, instruction))
        elif (find := finder(body, instruction)) is not None:
            self.describe(body.unit.sources.part(instruction.location, find))

    def describe(self, words: tuple[Span | None, str] | None) -> None:
        """Set span and text of the next steps."""
        if words is not None:
            self.span, self.text = words

    def call(self) -> tuple[Span | None, str]:
        """Return span and text of the call that is being lowered; a call in a library model has no span."""
        unit = self._body.unit
        if not unit.is_program(self._body.module):
            return None, self.text
        return unit.sources.part(self._location, expressions.call) or (self.span, self.text)

    def condition_start(self) -> int | None:
        """Return the node where the evaluation began that decided that control comes here: that of the
        statement itself, if it has conditions, and otherwise of the `if` around it."""
        body = self._body
        begun = None if self.statement is None else self._begun.get(self.statement)
        if begun is not None and begun != body.at:
            return begun
        if not body.unit.is_program(body.module):
            return None
        around = body.unit.sources.part(self._location, Statements.enclosing_if)
        return None if around is None else self._begun.get(around[0])

    def begin(self) -> None:
        """Let the present statement begin at the present node, if it has not begun yet."""
        if self._present is not None and self._present not in self._begun:
            self._begun[self._present] = self._body.at
            self._body.draft.starts[self._body.at] = self._present

    def order(self) -> tuple[int, int]:
        """Return the position of the next step among the steps of the function: the order of the text."""
        self.begin()
        self._sequence += 1
        return self.number, self._sequence


def finder(body: Body, instruction: ir.Instruction) -> Finder | None:
    """Return the function that finds the part of the source that an instruction belongs to."""
    if isinstance(instruction, ir.Load):
        return partial(expressions.place, subscripts=_subscripts(body, instruction))
    if isinstance(instruction, ir.Store | ir.AtomicUpdate):
        return expressions.effect
    if isinstance(instruction, ir.Binary | ir.Compare):
        return expressions.operation
    if isinstance(instruction, ir.Call):
        intrinsic = isinstance(instruction.callee, Symbol) and instruction.callee.name.startswith("llvm.")
        return expressions.effect if intrinsic else expressions.call
    return None


def _parameter(body: Body, instruction: ir.Instruction) -> tuple[Span, str] | None:
    """Return the declaration of the parameter that an instruction stores to its variable."""
    pointer = body.flow.base(instruction.pointer) if isinstance(instruction, ir.Store) else None
    declared = body.locals.declared.get(pointer.name) if isinstance(pointer, Local) else None
    return None if declared is None else body.unit.sources.part(declared.location, expressions.parameter)


def chosen_text(body: Body, phis: list[ir.Phi]) -> str:
    """Return the text of `a && b` or `a || b`, if this is the value that a block begins with."""
    location = phis[0].location if len(phis) == 1 else None
    if body.unit.sources.part(location, expressions.left_operand) is None:
        return ""
    operation = body.unit.sources.part(location, expressions.operation)
    return "" if operation is None else operation[1]


def condition_of(body: Body, branch: ir.Branch) -> tuple[Span, str] | None:
    """Return the part of a condition that a branch decides, if blocks of `&&`, `||` or `?:` follow."""
    sources, ways = body.unit.sources, (branch.then, branch.otherwise)
    if all(label.startswith("cond.") for label in ways):
        return sources.part(branch.location, expressions.tested)
    return sources.part(branch.location, expressions.left_operand)


def _subscripts(body: Body, load: ir.Load) -> int:
    """Count the subscripts at the position of a load that lead to what it reads."""
    pointer: Operand = load.pointer
    count = 0
    for _ in range(_DEEPEST):
        definition = body.flow.definition(pointer)
        if isinstance(definition, ir.GetElementPointer):
            count += definition.location == load.location
            pointer = definition.base
        elif isinstance(definition, ir.Load):
            pointer = definition.pointer
        else:
            break
    return count
