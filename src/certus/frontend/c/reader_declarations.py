"""Declarations: typedefs, records, enumerations, variables, at file scope and inside functions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from certus.frontend.c import ast
from certus.frontend.c.ast import Storage, Variable
from certus.frontend.c.layout import Layout, NoSize, Outline
from certus.frontend.c.reader_attributes import (
    aligned_as_type,
    alignment,
    has_attribute,
    refused_attribute,
)
from certus.frontend.c.reader_constants import evaluate
from certus.frontend.c.reader_core import Handler, Part, Reading, is_expression, nothing
from certus.frontend.c.reader_lengths import declarations, fixed
from certus.frontend.c.reader_names import Node
from certus.frontend.c.reader_static import declare_function, declare_global, want_global
from certus.frontend.c.types import (
    INT_TYPE,
    ArrayType,
    CType,
    Field,
    IntegerType,
    OtherType,
    PointerType,
    Record,
    RecordType,
    VoidType,
    unqualified,
)
from certus.frontend.c.typetext import LONG_LONG, UNSIGNED, UNSIGNED_LONG_LONG, long_type

# ------------------------------------------------------------------------------------- typedefs


def declare_typedef(reading: Reading, node: Node) -> tuple[ast.Statement, ...]:
    """A typedef of a variable-length array fixes its length: the statements that do so."""
    tag, kind = _tag_of(reading, node)
    if tag is not None:
        reading.names.bind_alias(kind, node["name"], tag)
    type_, lengths = fixed(reading, reading.type(node), reading.span)
    owned = _owner(node)
    if owned is not None and tag is not None and owned.get("kind") in ("RecordType", "EnumType"):
        type_ = tag
    refused = refused_alignment(reading, node)
    if refused is not None:
        type_ = OtherType(node["name"], "unsupported-alignment", refused)
    align = alignment(node) or _type_alignment(reading, node)
    reading.names.types_by_id[node["id"]] = type_
    reading.names.bind_typedef(node["name"], type_, align)
    return tuple(declarations(lengths, reading.span))


def _owner(node: Node) -> Node | None:
    """The description of a typedef's own type, if it is one node without qualifiers or declarators."""
    children = [child for child in node.get("inner", ()) if not child.get("kind", "").endswith("Attr")]
    return children[0] if children else None


def _tag_of(reading: Reading, node: Node) -> tuple[CType | None, str]:
    """The unnamed record or enumeration that a typedef names."""
    current = _owner(node)
    while current is not None and current.get("kind") in ("ElaboratedType", "QualType"):
        current = _owner(current)
    if current is None or current.get("kind") not in ("RecordType", "EnumType"):
        return None, ""
    declaration = current.get("decl", {})
    if declaration.get("name"):
        return None, ""
    tag = reading.tags.get(declaration.get("id", ""))
    if current["kind"] == "EnumType":
        return tag, "enum"
    record = reading.types.records.get(tag.identity) if isinstance(tag, RecordType) else None
    return tag, "union" if record is not None and record.union else "struct"


def _type_alignment(reading: Reading, node: Node) -> int | None:
    """What an `aligned` typedef makes of the alignment of a declaration's type."""
    word = _typedef_name(node.get("type", {}).get("qualType", ""))
    return (reading.names.aligned(word) or None) if word is not None else None


def _typedef_name(text: str) -> str | None:
    """The name of a typedef that an object's type, or that of its elements, is; None if it is none."""
    if "*" in text or "(" in text or _TAGGED.search(text):
        return None
    words = text.split("[", maxsplit=1)[0].split()
    return words[-1] if words else None


_TAGGED: Final = re.compile(r"\b(?:struct|union|enum)\b")


def refused_alignment(reading: Reading, node: Node) -> str | None:
    """Why the alignment that a declaration asks for is not certain; None if it is."""
    if aligned_as_type(node):
        return "`_Alignas` with a type"
    word = _typedef_name(node.get("type", {}).get("qualType", ""))
    if word is None or reading.names.aligned(word) is None or not reading.names.doubt("typedef", word):
        return None
    return f"the alignment of `{word}`, which is declared several times,"


def variable_alignment(reading: Reading, node: Node, type_: CType) -> int | None:
    """The alignment of an object if attributes, of its own or of its typedef, say anything about it; 0 if it
    is not certain what they say."""
    if refused_alignment(reading, node) is not None:
        return 0
    own, inherited = alignment(node), _type_alignment(reading, node)
    if own is None and inherited is None:
        return None
    try:
        least = reading.layout.align(type_) if inherited is None else inherited
    except NoSize:
        least = 1
    return max(own or 1, least)


# -------------------------------------------------------------------------------------- records


def declare_record(reading: Reading, node: Node) -> None:
    """Records inside come first, so that their types are known."""
    pending = [(node, False)]
    while pending:
        current, ready = pending.pop()
        if not ready:
            _name_record(reading, current)
            pending.append((current, True))
            nested = [c for c in current.get("inner", ()) if c.get("kind") in ("RecordDecl", "EnumDecl")]
            for child in reversed(nested):
                if child["kind"] == "EnumDecl":
                    declare_enumeration(reading, child)
                else:
                    pending.append((child, False))
        elif current.get("completeDefinition"):
            _define_record(reading, current)


def declare_va_list(reading: Reading) -> None:
    """What `va_list` is made of on x86-64, where Clang has it built in."""
    type_ = RecordType("struct __va_list_tag", "struct __va_list_tag")
    members: tuple[tuple[str, CType], ...] = (
        ("gp_offset", UNSIGNED),
        ("fp_offset", UNSIGNED),
        ("overflow_arg_area", PointerType(VoidType())),
        ("reg_save_area", PointerType(VoidType())),
    )
    fields = tuple(Field(f"{type_.identity}.{name}", name, member) for name, member in members)
    reading.types.records[type_.identity] = Record(type_.identity, type_.name, False, fields)
    reading.names.bind_tag("struct", "__va_list_tag", type_)


def _name_record(reading: Reading, node: Node) -> None:
    kind, name = node["tagUsed"], node.get("name", "")
    place = reading.positions.claimed(node.get("loc", {}))
    known = reading.tags.get(node.get("previousDecl", ""))
    if known is None:
        shown = f"{kind} {name}" if name else f"{kind} (unnamed at {place})"
        identity = reading.unique(f"{kind} {name}" if name else f"{kind} $unnamed")
        known = RecordType(identity, shown)
    reading.tags[node["id"]] = known
    if name:
        reading.names.bind_tag(kind, name, known)
    else:
        reading.names.bind_place(place, known)


def _define_record(reading: Reading, node: Node) -> None:
    type_ = reading.tags[node["id"]]
    assert isinstance(type_, RecordType)
    refused = refused_attribute(node)
    if refused is None and aligned_as_type(node):
        refused = "`_Alignas` with a type"
    children = [child for child in node.get("inner", ()) if child.get("kind") == "FieldDecl"]
    record = Record(
        type_.identity,
        type_.name,
        node["tagUsed"] == "union",
        tuple(_field(reading, child, type_, refused) for child in children),
        has_attribute(node, "PackedAttr"),
        alignment(node),
    )
    record = _as_laid_out(reading, node, record)
    reading.types.records[type_.identity] = record
    for child, field in zip(children, record.fields, strict=True):
        reading.fields[child["id"]] = (type_, field)


def _as_laid_out(reading: Reading, node: Node, record: Record) -> Record:
    """The record, if its layout is the one that Clang gives it. The tree tells neither the number of
    `#pragma pack`, which is therefore tried out, nor all that attributes say of alignment."""
    packed = has_attribute(node, "MaxFieldAlignmentAttr")
    known = _known_layouts(reading, node)
    if not known and not packed and all(field.type_align is None for field in record.fields):
        return record  # no code depends on it
    if len(known) == 1 or not packed:
        for pack in _PACKINGS if packed else (None,):
            tried = replace(record, pack=pack)
            reading.types.records[record.identity] = tried
            try:
                if Layout(reading.types).outline(record.identity) in known:
                    return tried
            except NoSize:
                return record
    what = f"the layout of `{record.name}`, which pragmas or attributes change,"
    refused = OtherType(record.name, "unsupported-layout", what)
    return replace(record, fields=tuple(replace(field, type=refused) for field in record.fields))


def _known_layouts(reading: Reading, node: Node) -> frozenset[Outline]:
    """The layouts that Clang has for records with the name, or at the place, of a record."""
    place = reading.positions.claimed(node.get("loc", {}))
    kind, name = node["tagUsed"], node.get("name", "")
    if reading.names.doubt(kind if name else "", name or f"(unnamed at {place})"):
        return frozenset()
    return reading.layouts(f"{kind} {name}" if name else reading.aliases.get(node["id"]) or place)


_PACKINGS: Final = (1, 2, 4, 8, 16, 32, 64, 128, None)


def _field(reading: Reading, node: Node, record: RecordType, refused: str | None) -> Field:
    type_ = reading.type(node)
    refused = refused or refused_attribute(node) or refused_alignment(reading, node)
    if refused is not None:
        type_ = OtherType("?", "unsupported-attribute", f"a member with {refused}")
    bits: int | None = None
    if node.get("isBitfield"):
        for child in node.get("inner", ()):
            if "valueCategory" in child:
                bits = evaluate(reading.read_expression(child), reading.layout)
                break
        if bits is None:
            type_ = OtherType("a bit-field of unknown width")
    name = node.get("name", "")
    return Field(
        reading.unique(f"{record.identity}.{name}"),
        name,
        type_,
        bits,
        alignment(node),
        has_attribute(node, "PackedAttr"),
        _type_alignment(reading, node),
    )


# --------------------------------------------------------------------------------- enumerations


def declare_enumeration(reading: Reading, node: Node) -> None:
    name = node.get("name", "")
    place = reading.positions.claimed(node.get("loc", {}))
    values: list[int] = []
    unknown = False
    for child in node.get("inner", ()):
        if child.get("kind") != "EnumConstantDecl":
            continue
        value: int | None = values[-1] + 1 if values else 0
        given = [part for part in child.get("inner", ()) if "valueCategory" in part]
        if given:
            value = evaluate(reading.read_expression(given[0]), reading.layout)
        type_ = reading.type(child)
        if value is None:
            unknown = True
            break
        values.append(value)
        reading.constants[child["id"]] = (value, type_)
        reading.names.bind_constant(child["name"], value, type_)
    fixed = node.get("fixedUnderlyingType")
    base = reading.names.of(fixed) if fixed else _underlying(reading, node, values)
    shown = name or f"(unnamed at {place})"
    base = unqualified(base)
    if has_attribute(node, "ModeAttr", "AlignedAttr"):
        base = OtherType(f"enum {shown}", "unsupported-attribute", "an enumeration with `mode` or `aligned`")
    elif unknown:
        base = OtherType(f"enum {shown}", "unsupported-enum", "an enumeration constant of unknown value")
    if isinstance(base, IntegerType):
        base = IntegerType(base.name, base.width, base.signed, base.rank, base.boolean, shown)
    reading.tags[node["id"]] = base
    if name and (values or fixed or unknown or reading.names.tag("enum", name) is None):
        reading.names.bind_tag("enum", name, base)
    elif not name:
        reading.names.bind_place(place, base)


def _underlying(reading: Reading, node: Node, values: Sequence[int]) -> IntegerType:
    """The type Clang chooses: the first that holds all values, unsigned if none is negative."""
    low, high = min(values, default=0), max(values, default=0)
    long, unsigned_long = long_type(reading.names.model), long_type(reading.names.model, signed=False)
    choices = [INT_TYPE, long, LONG_LONG] if low < 0 else [UNSIGNED, unsigned_long, UNSIGNED_LONG_LONG]
    if has_attribute(node, "PackedAttr"):
        small = [("char", 8, 1), ("short", 16, 2)]
        signed = low < 0
        prefix = "signed " if signed else "unsigned "
        choices = [IntegerType(prefix + text, width, signed, rank) for text, width, rank in small] + choices
    for choice in choices:
        least = -(1 << (choice.width - 1)) if choice.signed else 0
        if least <= low and high < 1 << (choice.width - choice.signed):
            return choice
    return choices[-1]


# ------------------------------------------------------------------------------------ variables


def _local_children(reading: Reading, node: Node) -> Sequence[Node]:
    """Make the variable before its initialiser is read, which may refer to it."""
    storage = node.get("storageClass")
    if storage == "extern":
        declare_global(reading, node)
        variable = want_global(reading, node["name"], node)
    else:
        static = storage == "static" or "tls" in node
        variable = local_variable(reading, node, Storage.STATIC if static else Storage.AUTOMATIC)
    reading.variables[node["id"]] = variable
    reading.names.bind_variable(variable)
    if "init" not in node:
        return ()
    given = [child for child in node.get("inner", ()) if "valueCategory" in child][:1]
    for child in given:
        if child["kind"] == "ImplicitCastExpr" and child["type"] == node["type"]:
            child["$type"] = unqualified(variable.type)  # names in it need not be looked up again
    return given


def local_variable(reading: Reading, node: Node, storage: Storage) -> Variable:
    """The variable; the lengths of its type are noted in `declared_lengths`."""
    name = node.get("name", "")
    function = reading.function
    span = reading.positions.span(node, reading.span)
    type_, lengths = fixed(reading, reading.type(node), span)
    if lengths:
        reading.declared_lengths[node["id"]] = declarations(lengths, span)
    if (
        storage is Storage.STATIC
        and isinstance(type_, ArrayType)
        and type_.length is None
        and "init" not in node
    ):
        type_ = ArrayType(type_.element, 1)
    variable = Variable(
        reading.unique(f"{function}.{name}"),
        name,
        type_,
        storage,
        span,
        function,
        True,
        "tls" in node,
        variable_alignment(reading, node, type_),
    )
    if storage is Storage.STATIC:
        reading.local_statics.append(variable)
    return variable


def _local(reading: Reading, node: Node, parts: list[Part]) -> Part:
    variable = reading.variables[node["id"]]
    span = reading.at(node)
    initialiser = parts[0] if parts and is_expression(parts[0]) else None
    refused = refused_attribute(node) or refused_alignment(reading, node) or _other_symbol(node)
    made = reading.declared_lengths.pop(node["id"], [])
    if refused is not None:
        made.append(ast.UnmodelledStatement("unsupported-attribute", refused, span))
    if variable.storage is Storage.STATIC:
        if initialiser is not None:
            reading.initialisers.append((variable, initialiser))
        if variable.function is None:  # `extern`
            return tuple(made)
        initialiser = None  # nothing happens when control comes here
    made.append(ast.Declaration(variable, initialiser, span))
    return tuple(made)


def _other_symbol(node: Node) -> str | None:
    """A declaration inside a function that gives an object of the file another name."""
    static = node.get("storageClass") in ("extern", "static")
    return "a symbol of the linker" if static and has_attribute(node, "AsmLabelAttr") else None


def _declaring(action: object) -> Handler:
    """A declaration that leaves no statement."""

    def enter(reading: Reading, node: Node) -> Sequence[Node]:
        assert callable(action)
        action(reading, node)
        return ()

    return Handler(lambda reading, node, _: None, enter)


def _ignore(reading: Reading, node: Node) -> None:
    """Assertions are Clang's to check; empty declarations and label declarations say nothing."""


HANDLERS: Final[dict[str, Handler]] = {
    "VarDecl": Handler(_local, _local_children),
    "TypedefDecl": Handler(lambda reading, node, _: declare_typedef(reading, node), nothing),
    "RecordDecl": _declaring(declare_record),
    "EnumDecl": _declaring(declare_enumeration),
    "FunctionDecl": _declaring(declare_function),
    "StaticAssertDecl": _declaring(_ignore),
    "EmptyDecl": _declaring(_ignore),
    "LabelDecl": _declaring(_ignore),
    "FullComment": Handler(lambda reading, node, _: None, nothing),
}
