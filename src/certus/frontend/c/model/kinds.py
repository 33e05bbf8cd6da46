"""The C types of functions that are only declared, as letters (see `library/signatures.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certus.frontend.c.ir.debug import Debug

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def declared_kinds(body: Body, name: str) -> tuple[str, str | None] | None:
    """Return the kinds of a declared function's result and parameters, which are None if it was declared
    without a prototype. None if it is declared by a header of the system, or nothing is known."""
    module = body.module
    function = module.functions.get(name)
    if function is None or function.debug is None or not body.unit.is_program(module):
        return None
    node = module.debug.node(function.debug)
    if body.unit.sources.of_library(module.debug.file(function.debug), node.number("line")):
        return None
    types = module.debug.signature(function.debug)
    if not types:
        return None
    parameters = types[1:]
    prototyped = "DIFlagPrototyped" in node.fields.get("flags", "")
    if parameters and parameters[-1] is None:
        parameters = parameters[:-1]
    letters = "".join(kind(module.debug, each) for each in parameters)
    return kind(module.debug, types[0]), letters if prototyped else None


def kind(debug: Debug, type_: int | None) -> str:
    """Return the letter of a type."""
    node = debug.plain(type_)
    if node is None:
        return "v"
    tag = node.fields.get("tag", "")
    if tag in ("DW_TAG_structure_type", "DW_TAG_union_type"):
        return "a" if node.string("name") == "__va_list_tag" else "s"
    if tag == "DW_TAG_pointer_type":
        return _pointer(debug, node.reference("baseType"))
    if tag == "DW_TAG_enumeration_type":
        return "i"
    if debug.signed(type_) is not None:
        return "h" if node.number("size") < 32 else "i"
    return "f"


def _pointer(debug: Debug, target: int | None) -> str:
    node = debug.plain(target)
    if node is None:
        return "*"
    if node.kind == "DISubroutineType":
        return "F"
    tag = node.fields.get("tag", "")
    if tag in ("DW_TAG_structure_type", "DW_TAG_union_type"):
        name = node.string("name")
        if name == "__va_list_tag":
            return "a"
        return "u" if name.startswith("sockaddr") else "r"
    return "p"


def leads_to_functions(debug: Debug, type_: int | None) -> bool:
    """Whether a value of a type is, or leads through pointers and members to, a pointer to a function or to
    what is not known."""
    stack, seen = [type_], set[int | None]()
    while stack:
        number = stack.pop()
        if number in seen:
            continue
        seen.add(number)
        node = debug.plain(number)
        if node is None:
            return True
        tag = node.fields.get("tag", "")
        if node.kind == "DISubroutineType":
            return True
        if tag in ("DW_TAG_pointer_type", "DW_TAG_array_type"):
            stack.append(node.reference("baseType"))
        elif tag in ("DW_TAG_structure_type", "DW_TAG_union_type"):
            members = [m for m in debug.elements(node.reference("elements")) if m is not None]
            stack += [debug.node(member).reference("baseType") for member in members]
    return False
