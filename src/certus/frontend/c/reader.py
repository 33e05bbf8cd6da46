"""Read a C file: Clang's tree becomes an `ast.Unit`.

First all declarations of the file are collected and those of one name merged; then `main`, and whatever
it refers to directly or indirectly, is read. Headers declare and define much that no program uses.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import CertusError, InputError, Unsupported
from certus.frontend.c import (
    ast,
    reader_declarations,
    reader_expressions,
    reader_initialisers,
    reader_sizes,
    reader_statements,
)
from certus.frontend.c.ast import Storage, Variable
from certus.frontend.c.edits import EditedText
from certus.frontend.c.layout import NoSize, Outline
from certus.frontend.c.positions import Positions, fill_files
from certus.frontend.c.reader_attributes import (
    ALIASES,
    PROMISES,
    attributes,
    has_attribute,
    refused_attribute,
)
from certus.frontend.c.reader_census import Census
from certus.frontend.c.reader_core import FunctionDraft, Reading
from certus.frontend.c.reader_declarations import (
    declare_enumeration,
    declare_record,
    declare_typedef,
    declare_va_list,
    local_variable,
    refused_alignment,
    variable_alignment,
)
from certus.frontend.c.reader_names import Node, ScopedNames
from certus.frontend.c.reader_static import (
    declare_function,
    declare_global,
    unknown_initialiser,
    want_function,
)
from certus.frontend.c.reader_text import type_of_text
from certus.frontend.c.typenames import HINTS
from certus.frontend.c.types import DataModel
from certus.frontend.source import read_source
from certus.system.clang import ClangMissing, layout_text, run_clang
from certus.system.jsonlines import Tree
from certus.system.tools import ToolFailed

_MESSAGE: Final = re.compile(
    r"^(?:(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): )?(?:fatal )?error: (?P<text>.*)$"
)

_PLAIN_SECTION: Final = re.compile(
    r'(?:__)?section(?:__)?\s*\(\s*"(?!\.(?:(?:pre)?init_array|fini_array|[cd]tors))[^"\\]*"\s*\)'
)
_PRIORITY: Final = re.compile(r"(?:__)?(?:con|de)structor(?:__)?\s*(?:\(\s*([1-9]\d*)\s*\)|[^\s(]|\(\s*\))")
_LAYOUT: Final = re.compile(
    r"^Type: (.*)\n\nLayout: <ASTRecordLayout\n *Size:(\d+)\n *DataSize:\d+\n *Alignment:(\d+)\n"
    r"(?: *\w+:\d+\n)* *FieldOffsets: \[([\d, ]*)\]>$",
    re.MULTILINE,
)
_PLACE: Final = re.compile(r"\((?:unnamed|anonymous)\b[^()]*? at (.*)\)$")
_LAST: Final = 65535  # the priority of constructors without one


def read_unit(
    path: Path,
    *,
    model: DataModel,
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
    entry: str = ast.MAIN,
) -> ast.Unit:
    """The translation unit of a file, as a program that begins with `entry`. Raises `InputError` with Clang's
    own messages."""
    budget = budget or Budget()
    source = read_source(path)
    tree, files = _tree(path, model, arguments, budget)
    main = os.path.abspath(path)
    if any(file != main for file in files):
        fill_files(tree, main)
    data = path.read_bytes()
    budget.check()
    layouts = _Layouts(path, model, arguments, budget)
    positions = Positions(main, str(path), data)
    unit = _Unit(positions, model, tree, layouts.of, budget, entry).read(str(path), source.text)
    budget.check()
    return replace(unit, digest=hashlib.sha256(data).hexdigest())


def _tree(
    path: Path, model: DataModel, arguments: Sequence[str], budget: Budget
) -> tuple[Tree, tuple[str, ...]]:
    """Clang's tree of a file, and the files that its positions are in."""
    try:
        result = run_clang(path, model=model.name, arguments=arguments, budget=budget)
    except ClangMissing as error:
        hint = "Install the package `ziglang`."
        raise InputError([Diagnostic("no-clang", str(error), hint=hint)]) from error
    except ToolFailed as error:
        budget.check()
        raise InputError([Diagnostic("clang-failed", str(error))]) from error
    if result.tree is None:
        raise _refused_by_clang(clang_diagnostics(result.messages, str(path)))
    budget.check()
    return result.tree, result.files


def read_edited(
    path: Path, edited: EditedText, *, model: DataModel, arguments: Sequence[str], budget: Budget
) -> ast.Unit:
    """The unit of a file with insertions. Its places and its source text are those of the file itself."""
    source = read_source(path)
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        file = Path(directory) / path.name
        file.write_bytes(edited.data)
        beside = ("-iquote", os.path.abspath(path.parent))
        tree, files = _tree(file, model, (*arguments, *beside), budget)
        main = os.path.abspath(file)
        if any(each != main for each in files):
            fill_files(tree, main)
        positions = Positions(main, str(path), edited.data, edited)
        layouts = _Layouts(file, model, (*arguments, *beside), budget)
        return _Unit(positions, model, tree, layouts.of, budget).read(str(path), source.text)


class _Layouts:
    """The layouts that Clang gives the records of a file, asked for when the first one is needed."""

    def __init__(self, path: Path, model: DataModel, arguments: Sequence[str], budget: Budget) -> None:
        self._path = path
        self._model = model
        self._arguments = arguments
        self._budget = budget
        self._known: dict[str, set[Outline]] | None = None

    def of(self, name: str) -> frozenset[Outline]:
        """The layouts of the records with a name (`struct s`, a typedef's) or at a place."""
        if self._known is None:
            self._known = self._ask()
        return frozenset(self._known.get(name, ()))

    def _ask(self) -> dict[str, set[Outline]]:
        found: dict[str, set[Outline]] = {}
        try:
            seconds = self._budget.remaining()
            text = layout_text(self._path, model=self._model.name, arguments=self._arguments, seconds=seconds)
        except ToolFailed:
            self._budget.check()
            return found
        for name, size, align, offsets in _LAYOUT.findall(text):
            starts = tuple(int(offset) for offset in offsets.split(",") if offset.strip())
            place = _PLACE.search(name)
            found.setdefault(place[1] if place else name, set()).add(Outline(int(size), int(align), starts))
        return found


def _refused_by_clang(errors: list[Diagnostic]) -> CertusError:
    """What GNU C allows and Clang does not is a lack of ours, not a mistake of the user's."""
    for error in errors:
        if "variable length array in structure" in error.message:
            message = "A variable-length array in a structure is not modelled."
            return Unsupported(Diagnostic("unsupported-vla-in-struct", message, span=error.span))
    return InputError(errors)


def clang_diagnostics(messages: str, file: str) -> list[Diagnostic]:
    """One diagnostic for each error Clang reports, in its own words."""
    found: list[Diagnostic] = []
    for line in messages.splitlines():
        match = _MESSAGE.match(line)
        if match is None:
            continue
        span = None
        if match.group("file") is not None:
            at_line, column = int(match.group("line")), int(match.group("column"))
            name = match.group("file")
            span = Span(name, at_line, column, at_line, column + 1, name, at_line)
        found.append(Diagnostic("clang-error", match.group("text"), span=span))
    if not found:
        text = messages.strip() or f"Clang refused {file} without saying why."
        found.append(Diagnostic("clang-error", text))
    return found


class _Unit:
    """The two rounds over one tree."""

    def __init__(
        self,
        positions: Positions,
        model: DataModel,
        tree: Node,
        layouts: Callable[[str], frozenset[Outline]],
        budget: Budget,
        entry: str = ast.MAIN,
    ) -> None:
        self.tree = tree
        self.entry = entry
        self.names = ScopedNames(model)
        self.reading = Reading(self.names, positions, budget)
        self.census = Census(positions, tree)
        self.reading.aliases = self.census.aliases
        self.reading.layouts = layouts
        self.reading.handlers = {
            **reader_expressions.HANDLERS,
            **reader_initialisers.HANDLERS,
            **reader_sizes.HANDLERS,
            **reader_statements.HANDLERS,
            **reader_declarations.HANDLERS,
        }
        declare_va_list(self.reading)
        self.names.expression_type = lambda text: type_of_text(self.reading, text)
        self.functions: dict[str, ast.Function] = {}
        self.refused: list[ast.Statement] = []  # what is not modelled of the parameters of a function
        self.refusals: list[ast.UnmodelledStatement] = []  # what happens before `main`
        self.constructors: dict[str, int] = {}  # with their priorities, the least is first
        self.destructors: dict[str, int] = {}

    def read(self, file: str, source: str) -> ast.Unit:
        """Raises `Unsupported` for a type whose size nothing tells, where no handler refuses it."""
        try:
            return self._read(file, source)
        except NoSize as reason:
            what = f"{str(reason)[:1].upper()}{str(reason)[1:]} is not modelled."
            hint = HINTS.get(reason.code)
            refusal = Diagnostic(reason.code, what, span=self.reading.span, hint=hint)
            raise Unsupported(refusal) from reason

    def _read(self, file: str, source: str) -> ast.Unit:
        self.names.doubtful = self.census.doubtful
        self._collect()
        self._doubt()
        self._follow()
        order = {name: number for number, name in enumerate(self.reading.globals)}
        variables = sorted(self.reading.statics.values(), key=lambda one: order[one.name])
        variables += self.reading.local_statics
        positions = {variable.identity: number for number, variable in enumerate(variables)}
        initialisers = sorted(self.reading.initialisers, key=lambda pair: positions[pair[0].identity])
        self.names.expression_type = lambda _: None  # so that nothing holds on to Clang's tree any more
        return ast.Unit(
            self.reading.types,
            self.functions,
            tuple(variables),
            tuple(initialisers),
            file,
            source,
            tuple(sorted(self.constructors, key=lambda name: self.constructors[name])),
            tuple(sorted(self.destructors, key=lambda name: self.destructors[name]))[::-1],
            entry=self.entry,
        )

    # -------------------------------------------------------------------- collecting declarations

    def _collect(self) -> None:
        reading = self.reading
        for node in self.tree.get("inner", ()):
            kind = node.get("kind")
            if kind == "FunctionDecl":
                self._function(declare_function(reading, node), node)
            elif kind == "VarDecl":
                draft = declare_global(reading, node)
                draft.refused = draft.refused or refused_attribute(node) or refused_alignment(reading, node)
                draft.weak |= has_attribute(node, "WeakAttr")
                align = variable_alignment(reading, node, draft.type)
                uncertain = 0 in (draft.align, align)
                draft.align = 0 if uncertain else max(draft.align or 0, align or 0) or None
                self._section(node)
            elif kind == "TypedefDecl":
                declare_typedef(reading, node)
            elif kind == "RecordDecl":
                declare_record(reading, node)
            elif kind == "EnumDecl":
                declare_enumeration(reading, node)
            elif kind not in ("StaticAssertDecl", "EmptyDecl", "PragmaCommentDecl", None):
                what = "assembly outside functions" if kind == "FileScopeAsmDecl" else f"`{kind}`"
                code = "asm" if kind == "FileScopeAsmDecl" else "declaration"
                self.refusals.append(
                    ast.UnmodelledStatement(f"unsupported-{code}", what, reading.positions.span(node))
                )

    def _function(self, draft: FunctionDraft, node: Node) -> None:
        draft.noreturn |= has_attribute(node, "NoReturnAttr", "C11NoReturnAttr")
        draft.promising |= has_attribute(node, *PROMISES)
        draft.weak |= has_attribute(node, "WeakAttr")
        draft.refused = draft.refused or refused_attribute(node)
        if has_attribute(node, *ALIASES):
            draft.doubtful = draft.refused
        for attribute in attributes(node):
            if attribute["kind"] in ("ConstructorAttr", "DestructorAttr"):
                first = attribute["kind"] == "ConstructorAttr"
                runs = self.constructors if first else self.destructors
                runs[node["name"]] = self._priority(node, attribute)

    def _doubt(self) -> None:
        """What is weak and not defined here may be null; what has the symbol of something else is that."""
        functions, variables = self.reading.functions, self.reading.globals
        for function in functions.values():
            if function.weak and function.definition is None:
                function.doubtful = f"the weak function `{function.name}`, which is not defined here,"
        for variable in variables.values():
            if variable.weak and not variable.defined:
                variable.refused = f"the weak variable `{variable.name}`, which is not defined here,"
        for symbol, names in self._symbols().items():
            made = [functions[name] for name in names if name in functions]
            objects = [variables[name] for name in names if name in variables]
            if len(names) > 1 and (objects or any(one.definition is not None for one in made)):
                what = f"the symbol `{symbol}`, which has several names,"
                for function in made:
                    function.doubtful = what
                for variable in objects:
                    variable.refused = what

    def _symbols(self) -> dict[str, dict[str, None]]:
        """By symbol of the linker, the names of functions and variables that the file declares."""
        found: dict[str, dict[str, None]] = {}
        for node in self.tree.get("inner", ()):
            if node.get("kind") in ("FunctionDecl", "VarDecl") and not node.get("isImplicit"):
                found.setdefault(node.get("mangledName", node["name"]), {})[node["name"]] = None
        return found

    def _priority(self, node: Node, attribute: Node) -> int:
        """The N of `constructor(N)`, which the tree does not tell."""
        text = self.reading.positions.source_of(attribute)
        match = None if text is None else _PRIORITY.match(text)
        if match is None:
            what = f"the order in which `{node['name']}` runs"
            span = self.reading.positions.span(node)
            self.refusals.append(ast.UnmodelledStatement("unsupported-attribute", what, span))
            return 0
        return int(match.group(1) or _LAST)

    def _section(self, node: Node) -> None:
        """A pointer that is put into some sections is called at the start or at the end."""
        for attribute in attributes(node):
            if attribute["kind"] == "SectionAttr":
                text = self.reading.positions.source_of(attribute)
                if text is None or not _PLAIN_SECTION.match(text):
                    what, span = "this section", self.reading.positions.span(node)
                    self.refusals.append(ast.UnmodelledStatement("unsupported-attribute", what, span))

    # ------------------------------------------------------------------------ reading what is used

    def _follow(self) -> None:
        reading = self.reading
        if self.entry in reading.functions:
            for name in (self.entry, *self.constructors, *self.destructors):
                want_function(reading, reading.functions[name].node)
        else:
            for name, draft in reading.functions.items():
                if draft.definition is not None:
                    reading.wanted.setdefault(name)
        done_functions = done_variables = 0
        while done_functions < len(reading.wanted) or done_variables < len(reading.needed):
            names = list(reading.wanted)[done_functions:]
            needed = list(reading.needed)[done_variables:]
            done_functions, done_variables = len(reading.wanted), len(reading.needed)
            for name in names:
                self.functions[name] = self._read_function(reading.functions[name])
            for name in needed:
                self._read_initialiser(name)

    def _read_initialiser(self, name: str) -> None:
        draft, variable = self.reading.globals[name], self.reading.statics[name]
        if draft.refused is not None:
            self.reading.initialisers.append((variable, unknown_initialiser(variable, draft.refused)))
            return
        if draft.initialiser is None:
            return
        self.reading.function = None
        for child in draft.initialiser.get("inner", ()):
            if "valueCategory" in child:
                self.reading.initialisers.append((variable, self.reading.read_expression(child)))
                return

    def _read_function(self, draft: FunctionDraft) -> ast.Function:
        reading = self.reading
        node = draft.node if draft.definition is None else draft.definition
        span = reading.positions.span(node)
        reading.function = draft.name
        reading.span = span
        self.names.enter_function(self.census.of_function(node))
        given = [child for child in node.get("inner", ()) if child.get("kind") == "ParmVarDecl"]
        self.refused.clear()
        parameters = tuple(self._parameter(child) for child in given)
        lengths = [one for child in given for one in reading.declared_lengths.pop(child["id"], ())]
        lengths += self.refused
        body: ast.Statement | None = None
        if draft.definition is not None:
            _name_labels(reading, node)
            for child in node["inner"]:
                if child.get("kind") == "CompoundStmt":
                    made = reading.read(child)
                    assert isinstance(made, ast.Block)
                    body = ast.Block((*lengths, *made.statements), made.span) if lengths else made
        self.names.leave_function(self.census.doubtful)
        if draft.refused is not None:
            body = ast.UnmodelledStatement("unsupported-attribute", draft.refused, span)
        if draft.name == self.entry and self.refusals and isinstance(body, ast.Block):
            body = ast.Block((*self.refusals, *body.statements), body.span)
        return ast.Function(draft.name, draft.type, parameters, body, span, draft.noreturn, draft.promising)

    def _parameter(self, node: Node) -> Variable:
        variable = local_variable(self.reading, node, Storage.PARAMETER)
        refused = None
        if not all(_is_plain_length(self.reading, text) for text in self.reading.positions.brackets(node)):
            refused = "vla", "an array parameter whose length is computed"
        elif (tag := self.reading.defined_tag(node, node["type"])) is not None:
            refused = "tag", f"`{tag}`, which may be defined in a list of parameters,"
        if refused is not None:
            code, what = refused
            self.refused.append(ast.UnmodelledStatement(f"unsupported-{code}", what, variable.span))
        self.reading.variables[node["id"]] = variable
        if variable.name:
            self.names.bind_variable(variable)
        return variable


def _is_plain_length(reading: Reading, text: str, depth: int = 0) -> bool:
    """Whether the length of an array parameter, which the tree does not show although it is computed, is a
    variable or a constant: then computing it does nothing."""
    words = [word for word in _WORDS.findall(text) if word not in _QUALIFIERS]
    if depth > _MACRO_DEPTH or _COMPUTED.search(text):
        return False
    variables = [w for w in words if isinstance(reading.names.meaning(w), Variable) or w in reading.globals]
    if variables:
        return len(words) == 1 and not _OPERATOR.search(text)
    for word in words:
        macro = None if reading.names.meaning(word) is not None else reading.positions.macro(word)
        if reading.names.meaning(word) is None and word not in _TYPE_WORDS and macro is None:
            return False
        if macro is not None and not _is_plain_length(reading, macro, depth + 1):
            return False
    return True


_WORDS: Final = re.compile(r"(?<![\w.])[A-Za-z_$][\w$]*")
_QUALIFIERS: Final = ("static", "const", "restrict", "volatile", "__restrict", "__const", "__restrict__")
_TYPE_WORDS: Final = ("sizeof", "char", "short", "int", "long", "unsigned", "signed", "void")
_COMPUTED: Final = re.compile(r"\+\+|--|(?<![=<>!])=(?!=)|[{;]|\b(?!sizeof\b)[A-Za-z_]\w*\s*\(")
_OPERATOR: Final = re.compile(r"[^\w\s()]")
_MACRO_DEPTH: Final = 5


def _name_labels(reading: Reading, function: Node) -> None:
    """Names for the labels of a function; local labels may share theirs."""
    used: dict[str, int] = {}
    stack: list[Node] = [function]
    while stack:
        node = stack.pop()
        if node.get("kind") == "LabelStmt":
            name = node["name"]
            number = used[name] = used.get(name, 0) + 1
            reading.labels[node["declId"]] = name if number == 1 else f"{name}${number}"
        stack.extend(reversed(node.get("inner", ())))
