"""What the rooms of the reader share: the tables of one translation unit and the walk over its tree.

The walk is iterative: `enter` of a node's kind says which children to read, and `build` makes the node
from what they became. Children are read from left to right, so declarations come before their uses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from certus.core.budget import Budget
from certus.core.diagnostic import Span
from certus.frontend.c import ast
from certus.frontend.c.layout import Layout, Outline
from certus.frontend.c.positions import Positions
from certus.frontend.c.reader_names import Node, ScopedNames
from certus.frontend.c.types import CType, Field, FunctionType, OtherType, RecordType, Types

# What a node becomes: `None` for what is left out, a tuple for the variables of one declaration.
Part = ast.Expression | ast.Statement | tuple[ast.Statement, ...] | None


@dataclass(slots=True)
class FunctionDraft:
    """What the declarations of one function say together; `definition` has the body."""

    name: str
    type: FunctionType
    node: Node
    definition: Node | None = None
    noreturn: bool = False
    promising: bool = False  # attributes say something of its results
    weak: bool = False
    refused: str | None = None  # an attribute that is not modelled
    doubtful: str | None = None  # why it may be another function, or none


@dataclass(slots=True)
class VariableDraft:
    """What the declarations of one static object say together."""

    name: str
    type: CType
    node: Node
    initialiser: Node | None = None
    defined: bool = False
    thread_local: bool = False
    weak: bool = False
    refused: str | None = None
    align: int | None = None


# Expressions in which a type is written.
_SPELLED: Final = frozenset(("CStyleCastExpr", "CompoundLiteralExpr", "VAArgExpr"))
_DECLARED: Final = ("VarDecl", "FieldDecl", "TypedefDecl")
_TYPEOF: Final = re.compile(
    r"(?:(?:const|volatile|static|register|__extension__|__const|__volatile__)\s+)*(?:__)?typeof"
)
_TAG: Final = re.compile(r"\b(?:struct|union|enum) [A-Za-z_]\w*")


class Reading:
    """The state of reading one unit.

    `wanted` lists the functions, and `needed` the static variables, that what was read so far refers to:
    only these are read."""

    def __init__(self, names: ScopedNames, positions: Positions, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self.names = names
        self.positions = positions
        self.functions: dict[str, FunctionDraft] = {}
        self.globals: dict[str, VariableDraft] = {}
        self.fields: dict[str, tuple[RecordType, Field]] = {}  # by Clang's id
        self.constants: dict[str, tuple[int, CType]] = {}  # enumeration constants by Clang's id
        self.tags: dict[str, CType] = {}  # records and enumerations by Clang's id
        self.variables: dict[str, ast.Variable] = {}  # by Clang's id
        self.statics: dict[str, ast.Variable] = {}  # globals by name
        self.labels: dict[str, str] = {}  # names by Clang's id
        self.lengths: dict[str, ast.Variable] = {}  # of variable-length arrays, by identity
        self.declared_lengths: dict[str, list[ast.Statement]] = {}  # by Clang's id of the declaration
        self.initialisers: list[tuple[ast.Variable, ast.Expression]] = []
        self.local_statics: list[ast.Variable] = []
        self.wanted: dict[str, None] = {}
        self.needed: dict[str, None] = {}
        self.function: str | None = None  # the one being read
        self.span: Span = positions.nowhere  # of the last node that had one
        self.layouts: Callable[[str], frozenset[Outline]] = lambda _: frozenset()  # Clang's, of a record
        self.aliases: dict[str, str] = {}  # typedef names of unnamed records and enumerations, by Clang's id
        self.uncertain = 0  # how many expressions were refused so far since their type is not certain
        self.unknown_labels = 0  # how many case labels were not understood so far
        self._numbers: dict[str, int] = {}
        self.handlers: dict[str, Handler] = {}

    @property
    def types(self) -> Types:
        return self.names.types

    @property
    def layout(self) -> Layout:
        return self.names.layout

    def unique(self, name: str) -> str:
        """`name`, with a number if it was given out before."""
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        return name if number == 1 else f"{name}#{number}"

    def type(self, node: Node) -> CType:
        described = node.get("type")
        if described is None:
            return OtherType("no type")
        kind = node["kind"]
        spelled = kind in _SPELLED or ("valueCategory" not in node and kind != "FunctionDecl")
        if kind == "VarDecl" and "init" in node and "typeof" in described["qualType"]:
            spelled = _TYPEOF.match(self.positions.source_of(node) or "") is not None  # no `__auto_type`
        if kind in _DECLARED and "typeof" in described["qualType"]:
            tag = self.defined_tag(node, described)
            if tag is not None:
                what = f"`{tag}`, which may be defined inside `typeof`,"
                return OtherType(described["qualType"], "unsupported-tag", what)
        return self.names.of(described, spelled=spelled)

    def defined_tag(self, node: Node, described: Node) -> str | None:
        """The tag in a type that a node is written with, if it may be defined right there."""
        for tag in _TAG.findall(described["qualType"]):
            if self.positions.defines_tag(node, tag, lambda word: self.names.typedef(word) is not None):
                return str(tag)
        return None

    def at(self, node: Node) -> Span:
        """The span of a node; what has no place of its own stands where the last node stood."""
        self.span = self.positions.span(node, self.span)
        return self.span

    def refuse(self, node: Node, code: str, what: str, operands: Sequence[Part] = ()) -> ast.Unmodelled:
        self.uncertain += code in ("tag", "ambiguous-type")
        kept = tuple(part for part in operands if is_expression(part))
        return ast.Unmodelled(self.type(node), self.at(node), f"unsupported-{code}", what, kept)

    def read(self, root: Node) -> Part:
        """What a node becomes."""
        node = root
        stack: list[tuple[Node, Handler, Iterator[Node], list[Part]]] = []
        while True:
            self.budget.check()
            part: Part = None
            kind = node.get("kind")
            if kind is not None:
                handler = self.handlers.get(kind, UNKNOWN)
                children = iter(handler.enter(self, node))
                child = next(children, None)
                if child is not None:
                    stack.append((node, handler, children, []))
                    node = child
                    continue
                part = handler.build(self, node, [])
            while stack:
                parent, handler, children, parts = stack[-1]
                parts.append(part)
                child = next(children, None)
                if child is not None:
                    node = child
                    break
                stack.pop()
                part = handler.build(self, parent, parts)
            else:
                return part

    def read_expression(self, node: Node) -> ast.Expression:
        part = self.read(node)
        assert is_expression(part), node.get("kind")
        return part


Build = Callable[[Reading, Node, list[Part]], Part]
Enter = Callable[[Reading, Node], Sequence[Node]]


def inner(_: Reading, node: Node) -> Sequence[Node]:
    """The children as Clang lists them."""
    children: Sequence[Node] = node.get("inner", ())
    return children


def nothing(_: Reading, node: Node) -> Sequence[Node]:
    return ()


@dataclass(frozen=True, slots=True)
class Handler:
    build: Build
    enter: Enter = inner


def is_expression(part: Part) -> TypeGuard[ast.Expression]:
    return isinstance(part, ast.Node)


def expression(part: Part) -> ast.Expression:
    assert is_expression(part), part
    return part


def expressions(parts: Sequence[Part]) -> list[ast.Expression]:
    return [expression(part) for part in parts]


def _unknown(reading: Reading, node: Node, _: list[Part]) -> Part:
    """A kind that is not on the list of those that are understood."""
    kind = str(node["kind"])
    code = "node-" + "".join("-" + c.lower() if c.isupper() else c for c in kind).strip("-")
    if "valueCategory" in node:
        return reading.refuse(node, code, f"`{kind}`")
    reading.unknown_labels += 1  # there may be some in it
    return ast.UnmodelledStatement(f"unsupported-{code}", f"`{kind}`", reading.at(node))


UNKNOWN: Final = Handler(_unknown, nothing)
