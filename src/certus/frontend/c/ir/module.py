"""A module: type definitions, global variables, functions, aliases and metadata, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from certus.frontend.c.ir.attributes import CALLING, read_function, read_group, read_parameter
from certus.frontend.c.ir.bodies import Block, BodyReader
from certus.frontend.c.ir.debug import Debug
from certus.frontend.c.ir.instructions import PLAIN, Passing
from certus.frontend.c.ir.operands import Operand, read_operand
from certus.frontend.c.ir.text import NotUnderstood, name_of, text_of, tokens, word_set
from certus.frontend.c.ir.types import LAYOUTS, FunctionType, Layout, Type, TypeTable

LINKAGES: Final = word_set(
    "private internal available_externally linkonce weak common appending extern_weak linkonce_odr weak_odr "
    "external"
)
_STYLE: Final = word_set(
    "dso_local dso_preemptable default hidden protected dllimport dllexport unnamed_addr local_unnamed_addr "
    "externally_initialized"
)
_ATTACHED: Final = re.compile(r"!([A-Za-z][\w.]*) !(\d+)")
_SYMBOL: Final = re.compile(r'@(?:"[^"]*"|[-\w$.]+)')
_COMPILER: Final = re.compile(r'"clang version (\d+)\.(\d+)\.(\d+)')
TESTED: Final = frozenset((22,))  # the versions of Clang whose IR this reader has been tested on


@dataclass(slots=True, eq=False)
class GlobalVariable:
    """A variable with static storage. `initialiser` is the position of its text, if it is defined here."""

    name: str
    type: Type
    linkage: str
    constant: bool
    thread_local: bool
    align: int
    section: str
    debug: int | None
    words: list[str]
    initialiser: int | None


@dataclass(slots=True, eq=False)
class Alias:
    """Another name of a symbol; `ifunc` is one whose target is computed when the program starts."""

    name: str
    linkage: str
    ifunc: bool
    target: Operand


@dataclass(slots=True, eq=False)
class Parameter:
    name: str
    type: Type
    passing: Passing


@dataclass(slots=True, eq=False)
class Function:
    """A definition, or a declaration, which has no lines."""

    name: str
    type: FunctionType
    parameters: list[Parameter]
    result: Passing
    linkage: str
    attributes: frozenset[str]
    debug: int | None
    lines: list[str] | None

    @property
    def defined(self) -> bool:
        return self.lines is not None


@dataclass(slots=True)
class _Header:
    """What stands in front of the type of a symbol."""

    linkage: str = ""
    thread_local: bool = False
    kind: str = ""  # "global", "constant", "alias", "ifunc"
    skipped: list[str] = field(default_factory=list)


class Module:
    """The IR of one file. `types` may be shared with another module."""

    def __init__(self, text: str, types: TypeTable | None = None) -> None:
        self.types = TypeTable(types)
        self.globals: dict[str, GlobalVariable] = {}
        self.functions: dict[str, Function] = {}
        self.aliases: dict[str, Alias] = {}
        self.assembly: list[str] = []
        self.debug = Debug()
        self.source = ""
        self.layout: Layout = Layout(64)
        self._groups: dict[str, frozenset[str]] = {}
        self._bodies: dict[str, list[Block]] = {}
        self._read(text)

    # ---------------------------------------------------------------------------- on demand

    def blocks(self, function: Function) -> list[Block]:
        """Return the blocks of a function that is defined."""
        found = self._bodies.get(function.name)
        if found is None:
            assert function.lines is not None
            found = BodyReader(self.types, self._groups).read(function.lines)
            self._bodies[function.name] = found
        return found

    def initialiser(self, variable: GlobalVariable) -> Operand | None:
        """Return the constant that a variable starts with; None if it is not defined here."""
        if variable.initialiser is None:
            return None
        return read_operand(self.types, variable.words, variable.initialiser, variable.type)[0]

    def mentioned(self, function: Function) -> Iterator[str]:
        """Yield the names of symbols in the text of a function, some several times."""
        for line in function.lines or ():
            if "@" in line:
                for token in _SYMBOL.findall(line):
                    yield name_of(token)

    # ------------------------------------------------------------------------------ top level

    def _read(self, text: str) -> None:
        lines = text.split("\n")
        at, total = 0, len(lines)
        groups = [line for line in lines if line.startswith("attributes #")]
        for line in groups:
            words = tokens(line)
            self._groups[words[1]] = read_group(words, 3)
        while at < total:
            line = lines[at]
            at += 1
            first = line[:1]
            if first in ("", ";", "$"):
                continue
            if first == "!":
                self.debug.add(line)
                continue
            try:
                if first == "@":
                    self._symbol(line)
                elif first == "%":
                    words = tokens(line)
                    if words[1:3] != ["=", "type"]:
                        raise NotUnderstood("a type definition")
                    self.types.define(words[0], words, 3)
                elif line.startswith("define "):
                    start = at
                    while lines[at] != "}":
                        at += 1
                    self._function(line, lines[start:at])
                    at += 1
                elif line.startswith("declare "):
                    self._function(line, None)
                else:
                    self._property(line)
            except NotUnderstood as error:
                raise NotUnderstood(error.what, error.line or line) from error
            except (ValueError, IndexError) as error:
                raise NotUnderstood("a line of the module", line) from error
        self._check_version()

    def _property(self, line: str) -> None:
        words = tokens(line)
        if words[0] == "target" and words[1] == "datalayout":
            bits = LAYOUTS.get(text_of(words[3]))
            if bits is None:
                raise NotUnderstood(f"the data layout {words[3]}")
            self.layout = Layout(bits)
        elif words[0] == "source_filename":
            self.source = text_of(words[2])
        elif words[0] == "module" and words[1] == "asm":
            self.assembly.append(text_of(words[2]))
        elif words[:2] != ["target", "triple"] and words[0] != "attributes":
            raise NotUnderstood(f"`{words[0]} {words[1]}`")

    def _check_version(self) -> None:
        """The text of IR is a format of one version of Clang."""
        found = _COMPILER.search(self.debug.text("llvm.ident"))
        if found is None:
            raise NotUnderstood("IR that no known Clang wrote")
        if int(found[1]) not in TESTED:
            known = ", ".join(map(str, sorted(TESTED)))
            raise NotUnderstood(f"IR of Clang {'.'.join(found.groups())} (versions that are read: {known})")

    def _header(self, words: list[str], at: int, ends: frozenset[str]) -> tuple[_Header, int]:
        found = _Header()
        while words[at] not in ends:
            word = words[at]
            if word in LINKAGES:
                found.linkage = word
            elif word == "thread_local":
                found.thread_local = True
                if words[at + 1] == "(":
                    at += 3
            elif word not in _STYLE:
                raise NotUnderstood(f"`{word}` in front of a symbol")
            at += 1
        found.kind = words[at]
        return found, at + 1

    def _symbol(self, line: str) -> None:
        words = tokens(line)
        name = name_of(words[0])
        header, at = self._header(words, 2, _KINDS)
        if header.kind in ("alias", "ifunc"):
            _, at = self.types.read_callee(words, at)
            if words[at] != ",":
                raise NotUnderstood("an alias")
            target_type, at = self.types.read(words, at + 1)
            target, at = read_operand(self.types, words, at, target_type)
            self._tail(words, at)
            self.aliases[name] = Alias(name, header.linkage, header.kind == "ifunc", target)
            return
        type_, at = self.types.read(words, at)
        initialiser = None
        if header.linkage not in ("external", "extern_weak"):
            initialiser = at
            at = _behind_constant(words, at)
        align, section, debug = self._tail(words, at)
        self.globals[name] = GlobalVariable(
            name,
            type_,
            header.linkage,
            header.kind == "constant",
            header.thread_local,
            align or self._align(type_),
            section,
            debug,
            words,
            initialiser,
        )

    def _align(self, type_: Type) -> int:
        try:
            return self.layout.align(type_)
        except NotUnderstood:
            return 1  # of an object that is only declared

    def _tail(self, words: list[str], at: int) -> tuple[int, str, int | None]:
        """Read what follows on the contents of a variable: section, alignment, debug information."""
        align, section, debug = 0, "", None
        while words[at] == ",":
            word = words[at + 1]
            if word == "align":
                align, at = int(words[at + 2]), at + 3
            elif word in ("section", "partition"):
                section, at = text_of(words[at + 2]), at + 3
            elif word == "comdat":
                at += 5 if words[at + 2] == "(" else 2
            elif word in _SANITIZED:
                at += 2
            elif word[:1] == "!" and words[at + 2][1:].isdigit():
                if word == "!dbg":
                    debug = int(words[at + 2][1:])
                at += 3
            else:
                raise NotUnderstood(f"`{word}` behind a variable")
        if words[at][:1] == "#":
            at += 1
        if words[at]:
            raise NotUnderstood(f"`{words[at]}` behind a variable")
        return align, section, debug

    def _function(self, line: str, lines: list[str] | None) -> None:
        words, at, linkage, debug = tokens(line), 1, "", None
        while True:  # linkage, visibility, calling convention, debug information
            word = words[at]
            if word in LINKAGES:
                linkage = word
            elif word[:1] == "!" and words[at + 1][:1] == "!":
                debug = int(words[at + 1][1:]) if word == "!dbg" else debug
                at += 1
            elif word not in _STYLE and word not in CALLING:
                break
            at += 1
        passing, at = read_parameter(self.types, words, at)
        result, at = self.types.read(words, at)
        name, at = name_of(words[at]), at + 1
        parameters, variadic, at = self._parameters(words, at)
        attributes, at, found = self._behind(words, at)
        debug = found if found is not None else debug
        for group in [a for a in attributes if a[0] == "#"]:
            attributes.remove(group)
            attributes |= self._groups.get(group, frozenset())
        type_ = self.types.function(result, tuple(p.type for p in parameters), variadic=variadic)
        self.functions[name] = Function(
            name, type_, parameters, passing, linkage, frozenset(attributes), debug, lines
        )

    def _parameters(self, words: list[str], at: int) -> tuple[list[Parameter], bool, int]:
        found: list[Parameter] = []
        variadic = False
        if words[at] != "(":
            raise NotUnderstood("a function without parameters")
        at += 1
        while words[at] != ")":
            if words[at] == "...":
                variadic, at = True, at + 1
            else:
                type_, at = self.types.read(words, at)
                passing, at = (
                    (PLAIN, at) if words[at] in (",", ")") else read_parameter(self.types, words, at)
                )
                name = str(len(found))
                if words[at][:1] == "%":
                    name, at = name_of(words[at]), at + 1
                found.append(Parameter(name, type_, passing))
            if words[at] == ",":
                at += 1
            elif words[at] != ")":
                raise NotUnderstood(f"`{words[at]}` in a list of parameters")
        return found, variadic, at + 1

    def _behind(self, words: list[str], at: int) -> tuple[set[str], int, int | None]:
        """Read what follows on the parameters of a function."""
        attributes: set[str] = set()
        debug = None
        while words[at] not in ("{", ""):
            found, at = read_function(words, at)
            attributes |= found
            word = words[at]
            if word in ("unnamed_addr", "local_unnamed_addr"):
                at += 1
            elif word in ("section", "partition", "align", "gc"):
                at += 2
            elif word == "comdat":
                at += 4 if words[at + 1] == "(" else 1
            elif word in ("prefix", "prologue", "personality"):
                raise NotUnderstood(f"`{word}` of a function")
            elif word[:1] == "!" and words[at + 1][1:].isdigit():
                debug = int(words[at + 1][1:]) if word == "!dbg" else debug
                at += 2
            elif word not in ("{", ""):
                raise NotUnderstood(f"`{word}` behind a function")
        return attributes, at, debug


_KINDS: Final = frozenset(("global", "constant", "alias", "ifunc"))
_SANITIZED: Final = word_set(
    "no_sanitize_address no_sanitize_hwaddress sanitize_memtag sanitize_address_dyninit"
)


def _behind_constant(words: list[str], at: int) -> int:
    """Return the position behind a constant, which is read later."""
    depth = 0
    while True:
        word = words[at]
        if word in ("[", "{", "<", "("):
            depth += 1
        elif word in ("]", "}", ">", ")"):
            depth -= 1
        elif not word:
            return at
        at += 1
        if (depth == 0 and words[at] in (",", "", "#0")) or (depth == 0 and words[at][:1] == "#"):
            return at
