"""A module: type definitions, global variables, functions, aliases and metadata, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from certus.frontend.c.ir.bodies import Block, BodyReader
from certus.frontend.c.ir.debug import Debug
from certus.frontend.c.ir.instructions import Bytes, Operand, Passing, Symbol
from certus.frontend.c.ir.reader import CALLING_CONVENTIONS
from certus.frontend.c.ir.types import (
    LAYOUTS,
    FunctionType,
    Layout,
    NotUnderstood,
    Record,
    StructType,
    Type,
    TypeTable,
    name_of,
    refusal,
    text_of,
    tokens,
    word_set,
)

_LINKAGES: Final = word_set(
    "private internal available_externally linkonce weak common appending extern_weak linkonce_odr weak_odr "
    "external"
)
_STYLE: Final = CALLING_CONVENTIONS | word_set(
    "dso_local dso_preemptable default hidden protected dllimport dllexport unnamed_addr local_unnamed_addr "
    "externally_initialized no_sanitize_address no_sanitize_hwaddress sanitize_memtag "
    "sanitize_address_dyninit"
)
_KINDS: Final = word_set("global constant alias ifunc")
SYMBOL: Final = re.compile(r'@(?:"[^"]*"|[-\w$.]+)')
_CONTINUED: Final = re.compile(
    r"\n {4,}(?=i\d+ -?\w+, label |to label )|\n  (?=\])"
)  # lines of one instruction
_COMPILER: Final = re.compile(r'"clang version (\d+)\.(\d+)\.(\d+)')
TESTED: Final = frozenset((22,))  # the versions of Clang whose IR this reader has been tested on


class Definition(Record):
    """A symbol that a module defines or declares."""

    name: str
    defined: bool
    linkage: str = ""
    thread_local: bool = False
    align: int = 0
    section: str = ""
    debug: int | None = None
    attributes: frozenset[str] = frozenset()

    def read_clauses(self, reader: BodyReader) -> None:
        """Read the clauses before or after the type of a symbol, with or without commas."""
        while True:
            start = reader.at
            reader.accept(",")
            word = reader.words[reader.at]
            if word in _LINKAGES:
                self.linkage = reader.take()
            elif word in _STYLE:
                reader.at += 1
            elif word in ("thread_local", "comdat"):
                self.thread_local |= reader.take() == "thread_local"
                if reader.words[reader.at] == "(":
                    reader.parenthesis()
            elif reader.accept("align"):
                self.align = int(reader.take())
            elif word in ("section", "partition", "gc"):
                reader.at += 1
                self.section = text_of(reader.take())
            elif word[:1] == "!":  # metadata: `!kind !7`
                kind, number = reader.take(), int(reader.take()[1:])
                self.debug = number if kind == "!dbg" else self.debug
            else:
                behind = reader.at
                self.attributes |= reader.attributes()
                if reader.at == behind:
                    reader.at = start
                    return


class GlobalVariable(Definition):
    """A variable with static storage. `initialiser` are the tokens of its constant, if it is defined here."""

    constant: bool = False
    type: Type = field(init=False)
    initialiser: list[str] | None = None


class Alias(Definition):
    """Another name of a symbol; the target of an `ifunc` is computed when the program starts."""

    ifunc: bool = False
    target: Operand = field(init=False)


class Parameter(Record):
    name: str  # empty in a declaration
    type: Type
    passing: Passing


class Function(Definition):
    """A function; only a definition has lines."""

    lines: list[str] | None = None
    type: FunctionType = field(init=False)
    parameters: list[Parameter] = field(init=False)


class Module:
    """The IR of one file. `types` may be shared with another module."""

    def __init__(self, text: str, types: TypeTable | None = None) -> None:
        self.types = TypeTable(types)
        self.globals: dict[str, GlobalVariable] = {}
        self.functions: dict[str, Function] = {}
        self.aliases: dict[str, Alias] = {}
        self.assembly: list[str] = []
        self.debug = Debug()
        self.layout: Layout = Layout(64)
        self._reader = BodyReader(self.types)
        self._bodies: dict[str, list[Block]] = {}
        self._read(_CONTINUED.sub(" ", text).split("\n"))
        self._check_version()

    # ---------------------------------------------------------------------------- on demand

    def blocks(self, function: Function) -> list[Block]:
        """Return the blocks of a function that is defined."""
        if function.name not in self._bodies:
            assert function.lines is not None
            self._bodies[function.name] = self._reader.read(function.lines)
        return self._bodies[function.name]

    def initialiser(self, variable: GlobalVariable) -> Operand | None:
        """Return the initial value of a variable; None if it is not defined here."""
        if variable.initialiser is None:
            return None
        self._reader.start(variable.initialiser)
        try:
            constant = self._reader.operand(variable.type)
            self._reader.end()
        except (ValueError, IndexError) as error:
            raise NotUnderstood(f"the initial value of {variable.name}") from error
        return constant

    def literal(self, operand: Operand) -> str | None:
        """Return the string literal that an operand points to."""
        variable = self.globals.get(operand.name) if isinstance(operand, Symbol) else None
        constant = None if variable is None else self.initialiser(variable)
        return constant.data.rstrip(b"\0").decode("utf-8", "replace") if isinstance(constant, Bytes) else None

    def result_type(self, name: str) -> int | None:
        """Return the C type of a declared function's result."""
        function = self.functions.get(name)
        types = [] if function is None else self.debug.signature(function.debug)
        return types[0] if types else None

    def mentioned(self, function: Function) -> Iterator[str]:
        """Yield the names of the symbols in the text of a function, with repetitions."""
        for line in function.lines or ():
            if "@" in line:
                yield from map(name_of, SYMBOL.findall(line))

    # ------------------------------------------------------------------------------ top level

    def _read(self, lines: list[str]) -> None:
        for line in lines:
            if line.startswith("attributes #"):  # they follow on the functions that refer to them
                self._line(line, None)
        rest = iter(lines)
        for line in rest:
            body = list(iter(rest.__next__, "}")) if line.startswith("define ") else None
            if line[:1] == "!":
                self.debug.add(line)
            elif line[:1] not in ("", ";", "$"):
                self._line(line, body)

    def _line(self, line: str, body: list[str] | None) -> None:
        try:
            self._reader.start(tokens(line))
            first = self._reader.take()
            if first[0] == "@":
                self._symbol(name_of(first))
            elif first[0] == "%":
                self._structure(first)
            elif first in ("define", "declare"):
                self._function(body)
            else:
                self._property(first)
            self._reader.end()
        except (NotUnderstood, ValueError, IndexError) as error:
            raise refusal(line, error) from error

    def _property(self, first: str) -> None:
        reader, second = self._reader, self._reader.take()
        if (first, second) == ("module", "asm"):
            self.assembly.append(text_of(reader.take()))
        elif first == "attributes":
            reader.expect("=", "{")
            reader.groups[second] = reader.attributes()
            reader.expect("}")
        elif (first, second) == ("target", "datalayout"):
            reader.expect("=")
            layout = text_of(reader.take())
            if layout not in LAYOUTS:
                raise NotUnderstood(f"the data layout {layout}")
            self.layout = Layout(LAYOUTS[layout])
        elif (first, second) in (("target", "triple"), ("source_filename", "=")):
            reader.accept("=")
            text_of(reader.take())
        else:
            raise NotUnderstood(f"`{first} {second}`")

    def _check_version(self) -> None:
        """Refuse the IR of a Clang version that this reader has not been tested with."""
        version = _COMPILER.search(self.debug.text("llvm.ident"))
        if version is None:
            raise NotUnderstood("IR that no known Clang wrote")
        if int(version[1]) not in TESTED:
            tested = ", ".join(map(str, sorted(TESTED)))
            raise NotUnderstood(
                f"IR of Clang {'.'.join(version.groups())} (versions that are read: {tested})"
            )

    def _structure(self, token: str) -> None:
        self._reader.expect("=", "type")
        structure = self.types.structure(token)
        if not self._reader.accept("opaque"):
            body = self._reader.type()
            if not isinstance(body, StructType):
                raise NotUnderstood(f"the type {token}")
            structure.fields, structure.packed, structure.opaque = body.fields, body.packed, False

    def _symbol(self, name: str) -> None:
        reader = self._reader
        reader.expect("=")
        kind = next((word for word in reader.words if word in _KINDS), "global")
        if kind in ("alias", "ifunc"):
            alias = self.aliases[name] = Alias(name, defined=True, ifunc=kind == "ifunc")
            alias.read_clauses(reader)
            reader.expect(kind)
            reader.callee_type()
            reader.expect(",")
            alias.target = reader.value()
            alias.read_clauses(reader)
            return
        variable = self.globals[name] = GlobalVariable(name, defined=False, constant=kind == "constant")
        variable.read_clauses(reader)
        reader.expect(kind)
        variable.type, start = reader.type(), reader.at
        variable.defined = variable.linkage not in ("external", "extern_weak")
        if variable.defined:
            reader.skip_to(",", "")
            variable.initialiser = [*reader.words[start : reader.at], ""]
        variable.read_clauses(reader)
        variable.align = variable.align or self.layout.align(variable.type)

    def _function(self, lines: list[str] | None) -> None:
        reader, function = self._reader, Function("", lines is not None, lines=lines)
        function.read_clauses(reader)
        start = reader.at
        reader.passing()
        promised = frozenset(reader.words[start : reader.at]) & {"nonnull"}
        result, function.name = reader.type(), reader.name()
        reader.expect("(")
        listed = reader.listed(")", self._parameter)
        function.parameters = [each for each in listed if each is not None]
        function.type = reader.function_type(result, [None if each is None else each.type for each in listed])
        function.read_clauses(reader)
        if lines is not None:
            reader.expect("{")
            if not all(parameter.name for parameter in function.parameters):
                raise NotUnderstood("a parameter without a name")
        function.attributes |= promised
        self.functions[function.name] = function

    def _parameter(self) -> Parameter | None:
        """Read a parameter; None for `...`."""
        if self._reader.accept("..."):
            return None
        type_, passing = self._reader.type(), self._reader.passing()
        named = self._reader.words[self._reader.at][:1] == "%"
        return Parameter(self._reader.name() if named else "", type_, passing)
