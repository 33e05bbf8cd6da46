"""Expressions: from Clang's nodes to typed syntax, with its conversions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from certus.frontend.c import ast
from certus.frontend.c.ast import Conversion
from certus.frontend.c.reader_constants import evaluate, wrap
from certus.frontend.c.reader_core import (
    Handler,
    Part,
    Reading,
    expression,
    expressions,
    nothing,
)
from certus.frontend.c.reader_lengths import after, fixed, is_variable
from certus.frontend.c.reader_literals import literal_bytes
from certus.frontend.c.reader_names import Node
from certus.frontend.c.reader_static import NO_PROTOTYPE, want_function, want_variable
from certus.frontend.c.typenames import refusal
from certus.frontend.c.types import (
    ArrayType,
    CType,
    FloatType,
    FunctionType,
    IntegerType,
    OtherType,
    PointerType,
    Qualified,
    RecordType,
    VariableArrayType,
    unqualified,
)
from certus.frontend.c.typetext import qualify

CASTS: Final = {
    "LValueToRValue": Conversion.LOAD,
    "IntegralCast": Conversion.INTEGER,
    "IntegralToBoolean": Conversion.TO_BOOL,
    "PointerToBoolean": Conversion.TO_BOOL,
    "NullToPointer": Conversion.NULL,
    "BitCast": Conversion.POINTER,
    "ArrayToPointerDecay": Conversion.DECAY,
    "FunctionToPointerDecay": Conversion.FUNCTION_DECAY,
    "BuiltinFnToFnPtr": Conversion.FUNCTION_DECAY,
    "NoOp": Conversion.NONE,
    "AtomicToNonAtomic": Conversion.NONE,
    "NonAtomicToAtomic": Conversion.NONE,
    "ToVoid": Conversion.TO_VOID,
    "IntegralToPointer": Conversion.INTEGER_TO_POINTER,
    "PointerToIntegral": Conversion.POINTER_TO_INTEGER,
}
ARITHMETIC: Final = frozenset(
    ["+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "^", "|"]
)


def modelled(reading: Reading, node: Node, built: ast.Expression, parts: Sequence[Part]) -> ast.Expression:
    """`built`, unless it is of a type that Certus does not compute with, or made of what is refused."""
    for part in parts:
        if isinstance(part, ast.Node) and (refused := _refused_part(reading, node, part, parts)) is not None:
            return refused
    type_ = unqualified(built.type)
    if isinstance(type_, OtherType):
        return refuse_type(reading, node, type_, parts)
    if isinstance(type_, FloatType) and node.get("valueCategory") == "prvalue":
        return reading.refuse(node, "float", "floating-point arithmetic", parts)
    return built


def _refused_part(
    reading: Reading, node: Node, part: ast.Expression, parts: Sequence[Part]
) -> ast.Unmodelled | None:
    """Refuse an expression at the part of it whose type is unknown."""
    type_ = unqualified(part.type)
    if not isinstance(type_, OtherType):
        return None
    if isinstance(part, ast.Unmodelled):
        return reading.refuse(node, part.code.removeprefix("unsupported-"), part.what, parts)
    return refuse_type(reading, node, type_, parts)


def confused(reading: Reading, node: Node, parts: Sequence[Part]) -> ast.Unmodelled:
    """A refusal where the types that were read do not fit together."""
    what = "an expression whose type is not certain"
    return reading.refuse(node, "ambiguous-type", what, parts)


def agree(first: CType, second: CType) -> bool:
    """Whether two operands that Clang has converted to one type have that type here too."""
    a, b = unqualified(first), unqualified(second)
    if isinstance(a, IntegerType) and isinstance(b, IntegerType):
        return (a.width, a.signed, a.boolean) == (b.width, b.signed, b.boolean)
    if isinstance(a, RecordType) or isinstance(b, RecordType):
        return a == b
    return type(a) is type(b)


def refuse_tag(reading: Reading, node: Node, tag: str, parts: Sequence[Part]) -> ast.Unmodelled:
    return reading.refuse(node, "tag", f"`{tag}`, which may be defined inside an expression,", parts)


def refuse_type(reading: Reading, node: Node, type_: OtherType, parts: Sequence[Part]) -> ast.Unmodelled:
    code, what = refusal(type_)
    return reading.refuse(node, code.removeprefix("unsupported-"), what, parts)


# ----------------------------------------------------------------------------------- literals


def _integer(reading: Reading, node: Node, _: list[Part]) -> Part:
    return ast.IntegerConstant(reading.type(node), reading.at(node), int(node["value"]))


def _character(reading: Reading, node: Node, _: list[Part]) -> Part:
    type_ = reading.type(node)
    value = int(node["value"])
    if isinstance(type_, IntegerType):
        value = wrap(value, type_)
    return ast.IntegerConstant(type_, reading.at(node), value)


def _floating(reading: Reading, node: Node, _: list[Part]) -> Part:
    return reading.refuse(node, "float", "a floating-point number")


def _data(reading: Reading, node: Node) -> bytes | None:
    type_ = unqualified(reading.type(node))
    if not isinstance(type_, ArrayType) or type_.length is None:
        return None
    element = unqualified(type_.element)
    if not isinstance(element, IntegerType):
        return None
    return literal_bytes(node["value"], element.width // 8, type_.length)


def _string(reading: Reading, node: Node, _: list[Part]) -> Part:
    data = _data(reading, node)
    if data is None:
        return reading.refuse(node, "string", "a string literal of this kind")
    return ast.StringLiteral(reading.type(node), reading.at(node), data)


def _predefined(reading: Reading, node: Node, parts: list[Part]) -> Part:
    if len(parts) != 1 or not isinstance(parts[0], ast.StringLiteral):
        return reading.refuse(node, "predefined-name", f"`{node.get('name')}`")
    return ast.ChooseConstant(reading.type(node), reading.at(node), parts[0].data)


# --------------------------------------------------------------------------------- references


def _reference(reading: Reading, node: Node, _: list[Part]) -> Part:
    declaration = node["referencedDecl"]
    kind = declaration["kind"]
    span = reading.at(node)
    if kind == "EnumConstantDecl":
        constant = reading.constants.get(declaration["id"])
        if constant is None:
            return reading.refuse(node, "enum", f"the constant `{declaration['name']}`")
        return ast.IntegerConstant(reading.type(node), span, constant[0])
    if kind == "FunctionDecl":
        type_ = want_function(reading, declaration)
        doubtful = reading.functions[declaration["name"]].doubtful
        if doubtful is not None:
            return reading.refuse(node, "attribute", doubtful)
        return ast.FunctionReference(type_, span, declaration["name"])
    if kind in ("VarDecl", "ParmVarDecl"):
        variable = want_variable(reading, declaration)
        if isinstance(unqualified(variable.type), OtherType):
            other = unqualified(variable.type)
            assert isinstance(other, OtherType)
            return refuse_type(reading, node, other, ())
        return ast.VariableReference(variable.type, span, variable)
    return reading.refuse(node, "reference", f"a reference to `{declaration.get('name')}`")


def _member(reading: Reading, node: Node, parts: list[Part]) -> Part:
    base = expression(parts[0])
    found = reading.fields.get(node["referencedMemberDecl"])
    span = reading.at(node)
    if found is None:
        return reading.refuse(node, "member", f"the member `{node.get('name')}`", parts)
    record, field = found
    if node["isArrow"]:
        base = ast.Dereference(_target(base.type), base.span, base)
    built = ast.Member(_inherited(field.type, base.type), span, base, field)
    refused = modelled(reading, node, built, (base,))
    if refused is built and unqualified(base.type) != record:
        return confused(reading, node, parts)
    return refused


def _inherited(type_: CType, record: CType) -> CType:
    """The type of a member: a qualified record has qualified members."""
    if isinstance(record, Qualified):
        return qualify(type_, const=record.const, volatile=record.volatile)
    return type_


def _target(type_: CType) -> CType:
    type_ = unqualified(type_)
    return type_.target if isinstance(type_, PointerType) else OtherType("no pointer")


def _subscript(reading: Reading, node: Node, parts: list[Part]) -> Part:
    first, second = expressions(parts)
    index_first = not isinstance(unqualified(first.type), PointerType)
    if index_first:
        first, second = second, first
    built = ast.Subscript(_target(first.type), reading.at(node), first, second, index_first)
    return modelled(reading, node, built, parts)


# ---------------------------------------------------------------------------------- operators


# Operators whose operands Clang converts to one type.
_LIKE: Final = ARITHMETIC - {"<<", ">>"} | {"="}


def _transparent(_: Reading, node: Node, parts: list[Part]) -> Part:
    return parts[-1]


def _constant(reading: Reading, node: Node, parts: list[Part]) -> Part:
    if "value" in node and isinstance(unqualified(reading.type(node)), IntegerType):
        return ast.IntegerConstant(reading.type(node), reading.at(node), int(node["value"]))
    return parts[0]


def _cast(reading: Reading, node: Node, parts: list[Part]) -> Part:
    operand = expression(parts[0])
    kind = node["castKind"]
    conversion = CASTS.get(kind)
    if kind == "ToUnion":
        return _to_union(reading, node, operand)
    if conversion is None:
        code = "float" if "Float" in kind else "atomic" if "Atomic" in kind else "cast"
        what = "a floating-point conversion" if code == "float" else f"a conversion ({kind})"
        return reading.refuse(node, code, what, parts)
    type_ = _converted(reading, node, conversion, unqualified(operand.type))
    if conversion is Conversion.POINTER and not isinstance(unqualified(type_), PointerType):
        return reading.refuse(node, "cast", "a conversion of representations", parts)
    explicit = node["kind"] == "CStyleCastExpr"
    if explicit and (tag := reading.defined_tag(node, node["type"])) is not None:
        return refuse_tag(reading, node, tag, parts)
    if explicit and is_variable(type_):
        type_, lengths = fixed(reading, type_, reading.at(node))
        return after(lengths, ast.Cast(type_, reading.at(node), conversion, operand, explicit))
    built = ast.Cast(type_, reading.at(node), conversion, operand, explicit)
    if conversion is Conversion.POINTER_TO_INTEGER and _starts_with_address(operand):
        value = evaluate(built, reading.layout)
        if value is not None:
            return ast.IntegerConstant(type_, built.span, value)
    return modelled(reading, node, built, parts)


def _to_union(reading: Reading, node: Node, operand: ast.Expression) -> ast.Expression:
    """`(union u)value` is `({ union u new; new.member = value; new; })`, for the first member of its type."""
    type_, span = reading.type(node), reading.at(node)
    plain = unqualified(type_)
    record = reading.types.records.get(plain.identity) if isinstance(plain, RecordType) else None
    for field in record.fields if record is not None else ():
        if field.name and unqualified(field.type) == unqualified(operand.type):
            break
    else:
        return reading.refuse(node, "cast", "this conversion to a union", [operand])
    name = reading.unique(f"{reading.function}.$union")
    variable = ast.Variable(name, "", plain, ast.Storage.AUTOMATIC, span, reading.function)
    new = ast.VariableReference(plain, span, variable)
    member = ast.Member(field.type, span, new, field)
    assigned = ast.Assignment(unqualified(field.type), span, member, operand)
    statements = (
        ast.Declaration(variable, None, span),
        ast.ExpressionStatement(assigned, span),
        ast.ExpressionStatement(ast.Cast(plain, span, Conversion.LOAD, new), span),
    )
    return ast.StatementExpression(plain, span, ast.Block(statements, span))


def _converted(reading: Reading, node: Node, conversion: Conversion, operand: CType) -> CType:
    """The type of a conversion: where the operand's type decides, names need not be looked up again."""
    if conversion is Conversion.LOAD and not isinstance(operand, OtherType):
        return operand
    if conversion is Conversion.DECAY and isinstance(operand, ArrayType | VariableArrayType):
        return PointerType(operand.element)
    if conversion is Conversion.FUNCTION_DECAY:
        return PointerType(operand)
    known: CType | None = node.get("$type")
    return reading.type(node) if known is None else known


def _starts_with_address(operand: ast.Expression) -> bool:
    while isinstance(operand, ast.Cast) and operand.conversion in (Conversion.POINTER, Conversion.NONE):
        operand = operand.operand
    return isinstance(operand, ast.AddressOf | ast.Cast)


def _unary(reading: Reading, node: Node, parts: list[Part]) -> Part:
    operand = expression(parts[0])
    operator = node["opcode"]
    span = reading.at(node)
    built: ast.Expression
    if operator == "__extension__":
        return operand
    type_ = reading.type(node)
    if operator == "&":
        built = ast.AddressOf(PointerType(operand.type), span, operand)
    elif operator == "*":
        built = ast.Dereference(_target(operand.type), span, operand)
    elif operator in ("++", "--"):
        type_ = unqualified(operand.type)
        built = ast.Increment(type_, span, operand, 1 if operator == "++" else -1, node["isPostfix"])
    elif operator in ("-", "~", "!", "+"):
        built = ast.Unary(type_, span, operator, operand)
    else:
        code = "float" if operator in ("__real", "__imag") else "operator"
        return reading.refuse(node, code, f"the operator `{operator}`", parts)
    return modelled(reading, node, built, parts)


def _binary(reading: Reading, node: Node, parts: list[Part]) -> Part:
    left, right = expressions(parts)
    operator = node["opcode"]
    type_, span = reading.type(node), reading.at(node)
    built: ast.Expression
    pointers = [side for side in (left, right) if isinstance(unqualified(side.type), PointerType)]
    if operator in ("+", "-") and len(pointers) == 1:
        type_ = unqualified(pointers[0].type)  # names in it need not be looked up again
    elif operator in _LIKE and not agree(left.type, right.type):
        return confused(reading, node, parts)
    if operator == ",":
        built = ast.Comma(right.type, span, left, right)
    elif operator == "=":
        built = ast.Assignment(unqualified(left.type), span, left, right)
    elif operator in ("&&", "||"):
        built = ast.Logical(type_, span, operator, left, right)
    elif operator in ARITHMETIC:
        built = ast.Binary(type_, span, operator, left, right)
    else:
        return reading.refuse(node, "operator", f"the operator `{operator}`", parts)
    return modelled(reading, node, built, parts)


def _compound_assignment(reading: Reading, node: Node, parts: list[Part]) -> Part:
    target, value = expressions(parts)
    computation = reading.names.of(node["computeResultType"])
    type_ = unqualified(target.type)
    if isinstance(type_, PointerType):
        computation = type_
    built = ast.CompoundAssignment(
        type_, reading.at(node), node["opcode"].removesuffix("="), target, value, computation
    )
    if isinstance(unqualified(computation), FloatType):
        return reading.refuse(node, "float", "floating-point arithmetic", parts)
    return modelled(reading, node, built, parts)


def _conditional(reading: Reading, node: Node, parts: list[Part]) -> Part:
    condition, then, otherwise = expressions(parts)
    same = unqualified(then.type) == unqualified(otherwise.type)
    type_ = unqualified(then.type) if same else reading.type(node)
    built = ast.Conditional(type_, reading.at(node), condition, then, otherwise)
    return modelled(reading, node, built, parts)


def _elvis_children(_: Reading, node: Node) -> Sequence[Node]:
    """`a ?: b`: the common operand and the alternative; the rest repeats the operand."""
    return (node["inner"][0], node["inner"][-1])


def _elvis(reading: Reading, node: Node, parts: list[Part]) -> Part:
    condition, otherwise = expressions(parts)
    type_, span = unqualified(reading.type(node)), reading.at(node)
    given = unqualified(condition.type)
    if given != type_:  # the common type: conversion to it keeps zero zero and the rest not zero
        kinds = {IntegerType: Conversion.INTEGER, PointerType: Conversion.POINTER}
        conversion = kinds.get(type(type_)) if type(type_) is type(given) else None
        if conversion is None:
            return reading.refuse(node, "operator", "`?:` without a middle of these types", parts)
        condition = ast.Cast(type_, condition.span, conversion, condition)
    built = ast.Conditional(type_, span, condition, None, otherwise)
    return modelled(reading, node, built, parts)


def _call(reading: Reading, node: Node, parts: list[Part]) -> Part:
    function, *arguments = expressions(parts)
    span = reading.at(node)
    if isinstance(function, ast.Cast) and isinstance(function.operand, ast.FunctionReference):
        function = function.operand
        if function.name == "__builtin_constant_p" and _is_constant(reading, *arguments):
            return ast.IntegerConstant(reading.type(node), span, 1)
    if isinstance(function, ast.FunctionReference) and _about_floats(function.name, arguments):
        return reading.refuse(node, "float", f"`{function.name}`", parts)
    called = unqualified(function.type)
    if isinstance(called, PointerType):
        called = unqualified(called.target)
    known_result = isinstance(called, FunctionType) and function.type is not NO_PROTOTYPE
    type_ = called.result if isinstance(called, FunctionType) and known_result else reading.type(node)
    built = ast.Call(type_, span, function, tuple(arguments))
    return modelled(reading, node, built, (built,))


def _is_constant(reading: Reading, argument: ast.Expression) -> bool:
    """Whether any compiler takes the argument of `__builtin_constant_p` for a constant."""
    if evaluate(argument, reading.layout) is not None:
        return True
    while isinstance(argument, ast.Cast):
        argument = argument.operand
    return isinstance(argument, ast.StringLiteral)


def _about_floats(name: str, arguments: Sequence[ast.Expression]) -> bool:
    """Whether a builtin asks or says something about floating-point numbers."""
    if not name.startswith("__builtin_"):
        return False
    floats = any(isinstance(unqualified(argument.type), FloatType) for argument in arguments)
    return floats or name in ("__builtin_flt_rounds", "__builtin_set_flt_rounds")


# -------------------------------------------------------------------------------------- others


def _statement_expression(reading: Reading, node: Node, parts: list[Part]) -> Part:
    body = parts[0]
    assert isinstance(body, ast.Block)
    last = body.statements[-1] if body.statements else None
    value = last.expression.type if isinstance(last, ast.ExpressionStatement) else reading.type(node)
    built = ast.StatementExpression(unqualified(value), reading.at(node), body)
    return modelled(reading, node, built, ())


def _va_arg(reading: Reading, node: Node, parts: list[Part]) -> Part:
    if (tag := reading.defined_tag(node, node["type"])) is not None:
        return refuse_tag(reading, node, tag, parts)
    built = ast.VaArg(reading.type(node), reading.at(node), expression(parts[0]))
    return modelled(reading, node, built, parts)


def _refusing(code: str, what: str) -> Handler:
    def build(reading: Reading, node: Node, parts: list[Part]) -> Part:
        return reading.refuse(node, code, what, parts)

    return Handler(build, nothing)


def _atomic_operation(reading: Reading, node: Node, parts: list[Part]) -> Part:
    """A call with the pointer and the values: Clang lists them as pointer, order, value, and then, for a
    comparison, the order of its failure, the other value and whether it is weak."""
    name = node.get("name", "")
    if not name:
        return reading.refuse(node, "atomic", "an atomic operation", parts)
    others = parts[4:5] if "compare" in name else parts[3:]
    kept = parts if name.endswith("_init") else (*parts[:1], *parts[2:3], *others)
    given = tuple(expression(part) for part in kept)
    type_ = FunctionType(reading.type(node), None)
    function = ast.FunctionReference(type_, reading.at(node), name)
    return modelled(reading, node, ast.Call(reading.type(node), reading.at(node), function, given), parts)


HANDLERS: Final[dict[str, Handler]] = {
    "IntegerLiteral": Handler(_integer, nothing),
    "CharacterLiteral": Handler(_character, nothing),
    "FloatingLiteral": Handler(_floating, nothing),
    "ImaginaryLiteral": Handler(_floating, nothing),
    "StringLiteral": Handler(_string, nothing),
    "PredefinedExpr": Handler(_predefined),
    "DeclRefExpr": Handler(_reference, nothing),
    "MemberExpr": Handler(_member),
    "ArraySubscriptExpr": Handler(_subscript),
    "ParenExpr": Handler(_transparent),
    "MaterializeTemporaryExpr": Handler(_transparent),
    "ExprWithCleanups": Handler(_transparent),
    "OpaqueValueExpr": Handler(_transparent),
    "ConstantExpr": Handler(_constant),
    "ImplicitCastExpr": Handler(_cast),
    "CStyleCastExpr": Handler(_cast),
    "UnaryOperator": Handler(_unary),
    "BinaryOperator": Handler(_binary),
    "CompoundAssignOperator": Handler(_compound_assignment),
    "ConditionalOperator": Handler(_conditional),
    "BinaryConditionalOperator": Handler(_elvis, _elvis_children),
    "CallExpr": Handler(_call),
    "StmtExpr": Handler(_statement_expression),
    "VAArgExpr": Handler(_va_arg),
    "AtomicExpr": Handler(_atomic_operation),
    "AddrLabelExpr": _refusing("computed-goto", "the address of a label"),
    "OffsetOfExpr": _refusing("offsetof", "`offsetof`"),
    "BlockExpr": _refusing("block", "a block"),
    "ShuffleVectorExpr": _refusing("vector", "vector arithmetic"),
    "ConvertVectorExpr": _refusing("vector", "vector arithmetic"),
    "ExtVectorElementExpr": _refusing("vector", "vector arithmetic"),
    "RecoveryExpr": _refusing("recovery", "code that Clang could not understand"),
}
