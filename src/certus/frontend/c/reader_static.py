"""Functions and static objects: one for all declarations of a name, made when something refers to it."""

from __future__ import annotations

import re
from typing import Final

from certus.frontend.c import ast
from certus.frontend.c.ast import Storage, Variable
from certus.frontend.c.reader_core import FunctionDraft, Reading, VariableDraft
from certus.frontend.c.reader_names import Node
from certus.frontend.c.types import ArrayType, CType, FunctionType, OtherType, VoidType, unqualified

NO_PROTOTYPE = FunctionType(VoidType(), None)


def declare_function(reading: Reading, node: Node) -> FunctionDraft:
    """Merge a declaration into what is known of its function."""
    name = node["name"]
    found = unqualified(reading.type(node))
    type_ = found if isinstance(found, FunctionType) else NO_PROTOTYPE
    draft = reading.functions.get(name)
    if draft is None:
        draft = reading.functions[name] = FunctionDraft(name, type_, node)
    if isinstance(found, OtherType) and not node.get("isImplicit"):
        draft.doubtful = f"the function `{name}`, whose type is not modelled,"
    body = any(child.get("kind") == "CompoundStmt" for child in node.get("inner", ()))
    if body:
        if draft.definition is not None:
            draft.doubtful = f"`{name}`, which is defined twice,"
        draft.definition = node
        draft.node = node
    if draft.node.get("isImplicit") and (
        type_.parameters is not None or type_.result != draft.type.result
    ):  # Clang knows a function of this name, but the user says something else
        draft.node, draft.type = node, type_
    if body or (draft.type.parameters is None and type_.parameters is not None):
        draft.type = type_
    draft.noreturn |= _never_returns(node.get("type", {}).get("qualType", ""))
    return draft


def _never_returns(text: str) -> bool:
    """Whether a function's type has the attribute `noreturn`, and not only some pointer in it."""
    attributes = _TRAILING.search(text)
    return attributes is not None and "noreturn" in attributes[0] and "(*(" not in text


_TRAILING: Final = re.compile(r"\)(?: __attribute__\(\([^()]*(?:\([^()]*\))?\)\))+$")


def want_function(reading: Reading, declaration: Node) -> FunctionType:
    """The type of a function that is referred to; it will be read."""
    name = declaration["name"]
    draft = reading.functions.get(name)
    if draft is None:
        draft = declare_function(reading, declaration)
    reading.wanted.setdefault(name)
    return draft.type


def declare_global(reading: Reading, node: Node) -> VariableDraft:
    """Merge the declaration of a static object of the file."""
    name = node["name"]
    type_ = reading.type(node)
    draft = reading.globals.get(name)
    if draft is None:
        draft = reading.globals[name] = VariableDraft(name, type_, node)
    elif isinstance(draft.type, ArrayType) and draft.type.length is None:
        draft.type = type_
    if "init" in node:
        draft.initialiser = node
        draft.type = type_
    if node.get("storageClass") != "extern" or "init" in node:
        if not draft.defined:
            draft.node = node
        draft.defined = True
    draft.thread_local |= "tls" in node
    return draft


def want_variable(reading: Reading, declaration: Node) -> Variable:
    """The variable that a reference names. Globals are made when first referred to."""
    known = reading.variables.get(declaration["id"])
    if known is not None:
        return known
    name = declaration["name"]
    variable = want_global(reading, name, declaration)
    reading.variables[declaration["id"]] = variable
    return variable


def want_global(reading: Reading, name: str, declaration: Node) -> Variable:
    variable = reading.statics.get(name)
    if variable is None:
        draft = reading.globals.get(name) or VariableDraft(name, reading.type(declaration), declaration)
        reading.globals.setdefault(name, draft)
        variable = Variable(
            reading.unique(name),
            name,
            _complete(draft.type, defined=draft.defined),
            Storage.STATIC,
            reading.positions.span(draft.node),
            None,
            draft.defined,
            draft.thread_local,
            draft.align,
        )
        reading.statics[name] = variable
        reading.needed.setdefault(name)
    return variable


def _complete(type_: CType, *, defined: bool) -> CType:
    """A tentative definition of an array without length has one element."""
    if defined and isinstance(type_, ArrayType) and type_.length is None:
        return ArrayType(type_.element, 1)
    return type_


def unknown_initialiser(variable: Variable, what: str) -> ast.Unmodelled:
    return ast.Unmodelled(variable.type, variable.span, "unsupported-attribute", what)
