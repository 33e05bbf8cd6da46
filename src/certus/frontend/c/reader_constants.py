"""Constant expressions: case labels, enumeration constants, `offsetof` written as an address.

An lvalue evaluates to its address, anything else to its value; only addresses that start from a constant
(`&((struct s *)0)->m`) have one.
"""

from __future__ import annotations

from certus.frontend.c import ast
from certus.frontend.c.ast import Conversion
from certus.frontend.c.layout import Layout, NoSize
from certus.frontend.c.types import ArrayType, CType, IntegerType, PointerType, RecordType, unqualified


def wrap(value: int, type_: IntegerType) -> int:
    """`value` converted to the type."""
    if type_.boolean:
        return int(value != 0)
    value &= (1 << type_.width) - 1
    if type_.signed and value >> (type_.width - 1):
        value -= 1 << type_.width
    return value


def evaluate(root: ast.Expression, layout: Layout) -> int | None:
    """The value of a constant expression, None if it has none. Iterative."""
    values: list[int | None] = []
    stack: list[tuple[ast.Expression, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        operands = _operands(node)
        if operands and not ready:
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(operands))
            continue
        arguments = values[len(values) - len(operands) :]
        del values[len(values) - len(operands) :]
        values.append(_apply(node, arguments, layout))
    return values[0]


def _operands(node: ast.Expression) -> tuple[ast.Expression, ...]:
    if isinstance(node, ast.Cast | ast.Unary | ast.AddressOf):
        return (node.operand,)
    if isinstance(node, ast.Binary | ast.Logical):
        return (node.left, node.right)
    if isinstance(node, ast.Conditional):
        then = node.condition if node.then is None else node.then
        return (node.condition, then, node.otherwise)
    if isinstance(node, ast.Member):
        return (node.base,)
    if isinstance(node, ast.Subscript):
        return (node.pointer, node.index)
    if isinstance(node, ast.Dereference):
        return (node.pointer,)
    return ()


def _apply(node: ast.Expression, arguments: list[int | None], layout: Layout) -> int | None:
    if isinstance(node, ast.IntegerConstant):
        return node.value
    if isinstance(node, ast.Call):
        return _asked(node)
    if isinstance(node, ast.Logical):
        return _logical(node, arguments)
    if isinstance(node, ast.Conditional):
        condition, then, otherwise = arguments
        return None if condition is None else then if condition else otherwise
    known = [value for value in arguments if value is not None]
    if not arguments or len(known) < len(arguments):
        return None
    if isinstance(node, ast.Cast):
        return _cast(node, known[0])
    if isinstance(node, ast.Unary):
        results = {"-": -known[0], "~": ~known[0], "!": int(not known[0]), "+": known[0]}
        return _fit(results[node.operator], node.type)
    if isinstance(node, ast.Binary):
        return _binary(node, known[0], known[1], layout)
    if isinstance(node, ast.AddressOf | ast.Dereference):
        return known[0]
    try:
        if isinstance(node, ast.Member):
            record = unqualified(node.base.type)
            if not isinstance(record, RecordType):
                return None
            return known[0] + layout.field_offset(record.identity, node.field.identity).offset
        if isinstance(node, ast.Subscript):
            return known[0] + known[1] * layout.size(node.type)
    except NoSize:
        return None
    return None


def _asked(node: ast.Call) -> int | None:
    """Where a constant is needed, what is none by then is none."""
    function = node.function
    named = isinstance(function, ast.FunctionReference) and function.name == "__builtin_constant_p"
    return 0 if named else None


def _logical(node: ast.Logical, arguments: list[int | None]) -> int | None:
    left, right = arguments
    deciding = node.operator == "||"
    if left is None:
        return None
    if bool(left) == deciding:
        return int(deciding)
    return None if right is None else int(right != 0)


def _cast(node: ast.Cast, value: int) -> int | None:
    conversion = node.conversion
    if conversion is Conversion.LOAD or conversion is Conversion.TO_VOID:
        return None
    if conversion is Conversion.TO_BOOL:
        return int(value != 0)
    if conversion is Conversion.DECAY and not isinstance(unqualified(node.operand.type), ArrayType):
        return None
    return _fit(value, node.type)


def _fit(value: int, type_: CType) -> int:
    type_ = unqualified(type_)
    return wrap(value, type_) if isinstance(type_, IntegerType) else value


def _binary(node: ast.Binary, left: int, right: int, layout: Layout) -> int | None:
    operator = node.operator
    comparisons = {
        "<": left < right,
        ">": left > right,
        "<=": left <= right,
        ">=": left >= right,
        "==": left == right,
        "!=": left != right,
    }
    if operator in comparisons:
        return int(comparisons[operator])
    if not isinstance(unqualified(node.type), IntegerType) or isinstance(
        unqualified(node.left.type), PointerType
    ):
        return _pointer_arithmetic(node, left, right, layout)
    if operator in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _fit(quotient if operator == "/" else left - quotient * right, node.type)
    if operator in ("<<", ">>"):
        type_ = unqualified(node.type)
        if not isinstance(type_, IntegerType) or not 0 <= right < type_.width:
            return None
        return _fit(left << right if operator == "<<" else left >> right, node.type)
    results = {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "&": left & right,
        "^": left ^ right,
        "|": left | right,
    }
    return _fit(results[operator], node.type)


def _pointer_arithmetic(node: ast.Binary, left: int, right: int, layout: Layout) -> int | None:
    first, second = unqualified(node.left.type), unqualified(node.right.type)
    try:
        if isinstance(first, PointerType) and isinstance(second, PointerType) and node.operator == "-":
            size = layout.size(first.target)
            return None if size == 0 else (left - right) // size
        if isinstance(first, PointerType) and node.operator in ("+", "-"):
            step = right * layout.size(first.target)
            return left + step if node.operator == "+" else left - step
        if isinstance(second, PointerType) and node.operator == "+":
            return left * layout.size(second.target) + right
    except NoSize:
        return None
    return None
