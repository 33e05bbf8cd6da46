"""Functions that Clang itself calls (`llvm.*`), atomic operations and inline assembly."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import UNSPECIFIED, Access, Store
from certus.core.terms import BOOL, Expr, Kind, MachineSort, machine
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Operand
from certus.frontend.c.ir.types import PointerType, StructType, Type, VoidType
from certus.frontend.c.model import (
    checks,
    external_calls,
    math_functions,
    memory,
    nondeterminism,
    operations,
    terms,
)
from certus.frontend.c.model.checks import check, end
from certus.frontend.c.model.initialisers import copy_constant
from certus.frontend.c.model.operands import address_of, assembled, term_of, value_of, variable_at
from certus.frontend.c.model.terms import Pieces, Unmodelled, Value, as_sort, machine_sort, signed, sort_of

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

_COMMENT: Final = re.compile(r"/\*.*?\*/|#[^\n]*", re.DOTALL)
_ROUNDING: Final = re.compile(  # instructions that may set the rounding mode
    r"ldmxcsr|fldcw|fldenv|rstor|fn?init|fn?save", re.IGNORECASE
)
_CALLED: Final = re.compile(r"\b(?:call|j[a-z]+)\s+([*$]|[a-z_]\w*)|\bl?(ret)[flqw]?\b", re.IGNORECASE)
_STOPPING: Final = re.compile(r"(?<![.\w])(?:ud[012]|hlt|int3?|syscall|sysenter)\b", re.IGNORECASE)
_CLOBBERS: Final = (
    "This assembly has the clobber `memory`: it is assumed to write only objects that its operands point to, "
    "and to make no invalid access."
)
_IGNORED: Final = re.compile(
    r"llvm\.(?:dbg\.|va_end|prefetch|donothing|var\.annotation|pseudoprobe"
    r"|experimental\.noalias\.scope\.decl)"
)
_SAME: Final = re.compile(
    r"llvm\.(?:expect|ptr\.annotation|annotation|(?:launder|strip)\.invariant\.group|ssa\.copy"
    r"|threadlocal\.address|preserve\.)"
)
_OVERFLOW: Final = re.compile(r"llvm\.[su](?:add|sub|mul)\.with\.overflow\.")


def lower(body: Body, instruction: ir.Call, name: str) -> None:
    """Lower a call of an intrinsic."""
    if _IGNORED.match(name):
        return
    arguments = [argument.operand for argument in instruction.arguments]
    if name.startswith(("llvm.lifetime.", "llvm.stackrestore")):
        body.locals.pass_marker(instruction, name)
    elif name == "llvm.assume":
        fails = build.not_(body.truth(value_of(body, arguments[0])))
        body.when(fails, lambda: body.undefined("a false condition of `__builtin_assume`"))
    elif _SAME.match(name):
        body.registers.define(instruction, value_of(body, arguments[0]))
    elif name.startswith(("llvm.memcpy.", "llvm.memmove.")):
        to, source, count = arguments[:3]
        if not copy_constant(body, to, source, count):
            moves, members = name.startswith("llvm.memmove."), instruction.attached.get("tbaa.struct")
            memory.copy(body, to, source, term_of(body, count), overlapping=moves, members=members)
    elif name.startswith("llvm.memset."):
        to, byte, count = arguments[:3]
        memory.fill(body, to, term_of(body, byte), term_of(body, count))
    elif name.startswith("llvm.va_start"):
        _va_start(body, address_of(body, arguments[0]))
    elif name.startswith("llvm.va_copy"):
        cells = [(0, 4), (4, 4), (8, 8), (16, 8)] if body.layout.word == 8 else [(0, 4)]
        target, origin = (address_of(body, argument) for argument in arguments[:2])
        check(body, target, sum(cells[-1]), "write")
        check(body, origin, sum(cells[-1]), "read")
        memory.copy_cells(body, target, origin, cells, sum(cells[-1]))
    elif name.startswith("llvm.stacksave"):
        body.registers.define(instruction, terms.NULL)
    elif name.startswith(("llvm.trap", "llvm.debugtrap")):
        end(body)
    elif name.startswith("llvm.is.constant"):
        constant = body.havoc(machine(1, signed=False), UNSPECIFIED)
        body.registers.define(instruction, as_sort(constant, sort_of(instruction.result)))
    elif name.startswith("llvm.objectsize"):
        what = "the result of `__builtin_object_size`, which depends on the compiler"
        body.registers.define(instruction, body.havoc(sort_of(instruction.result), approximates=what))
    elif name == "llvm.get.rounding":
        number = math_functions.rounding_number(body, sort_of(instruction.result))
        body.registers.define(instruction, number)
    elif name.startswith("llvm.vector.reduce."):
        body.registers.define(instruction, _reduced(value_of(body, arguments[0]), name.split(".")[3]))
    else:
        _arithmetic(body, instruction, name)


def _va_start(body: Body, address: Expr) -> None:
    """Mark all registers as used, so that all arguments are in the object that the caller packed."""
    if body.signature.variadic is None:
        raise Unmodelled("unsupported-varargs", "`va_start` in a function that is not variadic")
    check(body, address, 24 if body.layout.word == 8 else 4, "write")
    pointer = machine(body.layout.pointer_bits, signed=False)
    more = build.wrap(body.signature.variadic, pointer)
    if body.layout.word == 4:
        body.emit(Store(address, more))
        return
    registers, floats = build.constant(48, terms.U32), build.constant(304, terms.U32)
    for offset, term in ((0, registers), (4, floats), (8, more), (16, build.constant(0, pointer))):
        body.emit(Store(build.add(address, build.integer(offset)), term))


# ------------------------------------------------------------------------------------ arithmetic


def _arithmetic(body: Body, instruction: ir.Call, name: str) -> None:
    """Lower an operation on numbers, or on vectors element by element."""
    arguments = [value_of(body, operand) for operand in _numbers(instruction)]
    if is_checked(name):
        type_ = instruction.arguments[0].operand.type
        value: Value = _pair(body, type_, *checked(name, *map(body.scalar, arguments)))
    else:
        compute = functools.partial(_computed, body, instruction, name)
        value = operations.lanewise(body, compute, *arguments)
    body.registers.define(instruction, value)


def _numbers(instruction: ir.Call) -> list[Operand]:
    """Return the arguments that are values; with `-frounding-math` words for the compiler follow them."""
    return [each.operand for each in instruction.arguments if not isinstance(each.operand, ir.Metadata)]


def _pair(body: Body, type_: Type, value: Expr, condition: Expr) -> Pieces:
    """Return a record of a value of a type and the bit behind it."""
    size, offset = body.layout.store_size(type_), body.layout.size(type_)
    return Pieces(offset + 1, (terms.Piece(0, size, value), terms.Piece(offset, 1, condition)))


def is_checked(name: str) -> bool:
    """Return whether an intrinsic is an operation that reports an overflow."""
    return _OVERFLOW.match(name) is not None


def checked(name: str, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Return the wrapped result of such an operation, or of a saturating one, and whether the exact result
    differs."""
    sign, operation = name[5], name[6:9]
    width = machine_sort(a).width
    sort = machine(width, signed=sign == "s")
    wide = machine(2 * width + 2 if operation == "mul" else width + 2, signed=True)
    a, b = build.wrap(a, sort), build.wrap(b, sort)
    exact = terms.MODULAR[operation](build.wrap(a, wide), build.wrap(b, wide))
    low, high = build.constant(sort.low, wide), build.constant(sort.high, wide)
    fits = build.and_(build.le(low, exact), build.le(exact, high))
    return terms.MODULAR[operation](a, b), build.not_(fits)


def chosen(operation: str, a: Expr, b: Expr) -> Expr:
    """Return the smaller or the larger of two numbers: `smin`, `umax` and so on."""
    convert = signed if operation[0] == "s" else terms.unsigned
    x, y = convert(a), convert(b)
    less = build.lt(x, y)
    return build.ite(less, x, y) if operation.endswith("min") else build.ite(less, y, x)


def _reduced(value: Value, operation: str) -> Expr:
    """Combine all elements of a vector by an operation."""
    combine = chosen if operation in ("smin", "smax", "umin", "umax") else terms.binary
    return functools.reduce(lambda a, b: combine(operation, a, b), operations.lanes(value))


def _computed(body: Body, instruction: ir.Call, name: str, *numbers: Expr) -> Expr:
    if math_functions.is_float_intrinsic(name):
        types = [operations.element_of(operand.type) for operand in _numbers(instruction)]
        result = operations.element_of(instruction.result)
        return math_functions.intrinsic(body, name, numbers, types, result, instruction.name)
    match name.split(".")[1:]:
        case ["abs", *_]:
            a = signed(numbers[0])
            return build.ite(build.lt(a, build.constant(0, a.sort)), build.neg(a), a)
        case [("smin" | "smax" | "umin" | "umax") as operation, *_]:
            return chosen(operation, numbers[0], numbers[1])
        case ["sadd" | "ssub" | "uadd" | "usub", "sat", *_]:
            return _saturated(name, numbers[0], numbers[1])
        case [("ctpop" | "ctlz" | "cttz" | "bswap" | "bitreverse" | "fshl" | "fshr") as operation, *_]:
            return body.registers.in_temporary(_bits(body, operation, numbers))
        case ["ptrmask", *_]:
            return _masked(numbers[0], numbers[1])
        case ["readcyclecounter" | "readsteadycounter", *_]:
            return body.havoc(sort_of(instruction.result))
    raise Unmodelled("unsupported-builtin", f"the builtin `{name}`")


def _masked(pointer: Expr, mask: Expr) -> Expr:
    """Return a pointer rounded down to a multiple of a power of two."""
    step = -int(signed(mask).value) if mask.kind is Kind.CONST else 0
    if step <= 0 or step & (step - 1):
        raise Unmodelled("unsupported-builtin", "an address that is masked")
    return build.sub(pointer, build.mod(pointer, build.integer(step)))


def _saturated(name: str, a: Expr, b: Expr) -> Expr:
    result, exceeds = checked(name, a, b)
    sort, adds = machine_sort(result), name[6:9] == "add"
    down = build.boolean(not adds)
    if sort.signed:
        negative = build.lt(build.wrap(b, sort), build.constant(0, sort))
        down = negative if adds else build.not_(negative)
    limit = build.ite(down, build.constant(sort.low, sort), build.constant(sort.high, sort))
    return build.ite(exceeds, limit, result)


def _bits(body: Body, operation: str, numbers: Sequence[Expr]) -> Expr:
    """Count, reverse or shift the bits of a number."""
    if operation in ("fshl", "fshr"):
        return _funnel(operation, numbers)
    a = terms.unsigned(numbers[0])
    sort = machine_sort(a)
    width = sort.width

    def constant(number: int) -> Expr:
        return build.constant(sort.wrap(number), sort)

    def bits(start: int, count: int) -> Expr:
        return build.bit_and(build.shr(a, constant(start)), constant((1 << count) - 1))

    total = constant(0)
    if operation == "ctpop":
        for number in range(width):
            total = build.add(total, bits(number, 1))
    elif operation in ("ctlz", "cttz"):
        total = constant(width)
        if numbers[1] is build.TRUE and build.eq(a, constant(0)) is not build.FALSE:
            total = body.havoc(sort, approximates="the number of zeros in 0, which is undefined")
        leading = operation == "ctlz"
        for number in range(width) if leading else reversed(range(width)):
            count = width - 1 - number if leading else number
            total = build.ite(build.ne(bits(number, 1), constant(0)), constant(count), total)
    else:
        step = 8 if operation == "bswap" else 1
        for number in range(0, width, step):
            moved = build.shl(bits(number, step), constant(width - step - number))
            total = build.bit_or(total, moved)
    return total


def _funnel(operation: str, numbers: Sequence[Expr]) -> Expr:
    """Shift two concatenated numbers; return the high or the low half."""
    width = machine_sort(numbers[0]).width
    wide, sort = machine(2 * width, signed=False), machine(width, signed=False)
    high, low, amount = (build.wrap(terms.unsigned(term), wide) for term in numbers)
    both = build.bit_or(build.shl(high, build.constant(width, wide)), low)
    amount = build.rem(amount, build.constant(width, wide))
    if operation == "fshl":
        return build.wrap(build.shr(build.shl(both, amount), build.constant(width, wide)), sort)
    return build.wrap(build.shr(both, amount), sort)


# --------------------------------------------------------------------------------------- atomics


def _read(body: Body, pointer: Operand, type_: Type) -> Expr:
    """Read the operand of an atomic operation; without threads it is a plain access."""
    value: Value | None = variable_at(body, pointer)
    if value is None:
        address = address_of(body, pointer)
        check(body, address, body.layout.store_size(type_), "write")  # it is written next
        value = memory.read(body, address, type_, None)
        if body.initialisation is not None:
            body.initialisation.check_operand()
    return body.registers.in_temporary(body.scalar(value))


def _write(body: Body, pointer: Operand, type_: Type, term: Expr) -> None:
    variable = variable_at(body, pointer)
    if variable is None:
        memory.write(body, address_of(body, pointer), term, type_, None)
    else:
        body.registers.assign(variable, as_sort(term, variable.sort))


def update(body: Body, instruction: ir.AtomicUpdate) -> Value:
    """Lower `atomicrmw`."""
    operation, type_ = instruction.operation, instruction.value.type
    value = term_of(body, instruction.value)
    old = _read(body, instruction.pointer, type_)
    if operation == "xchg":
        new = value
    elif operation in ("add", "sub", "and", "or", "xor"):
        new = terms.binary(operation, old, value)
    elif operation == "nand":
        new = build.bit_not(terms.binary("and", old, value))
    elif operation in ("max", "min", "umax", "umin"):
        new = chosen(operation if operation[0] == "u" else f"s{operation}", old, value)
    else:
        raise Unmodelled("unsupported-atomic", f"the atomic operation `{operation}`")
    _write(body, instruction.pointer, type_, new)
    return old


def exchange(body: Body, instruction: ir.CompareExchange) -> Value:
    """Lower `cmpxchg`; a weak one may fail although the values are equal."""
    type_ = instruction.new.type
    expected, new = term_of(body, instruction.expected), term_of(body, instruction.new)
    old = _read(body, instruction.pointer, type_)
    same = body.fresh(BOOL)
    holds = terms.compare("eq", old, expected)
    if instruction.weak:
        fails = body.havoc(machine(1, signed=False), approximates="a weak exchange that fails")
        holds = build.and_(holds, build.eq(fails, build.constant(0, fails.sort)))
    body.registers.assign(same, holds)
    _write(body, instruction.pointer, type_, build.ite(same, new, as_sort(old, new.sort)))
    return _pair(body, type_, old, same)


# -------------------------------------------------------------------------------------- assembly


def assembly(body: Body, instruction: ir.Call, callee: ir.Assembly) -> None:
    """Lower inline assembly by its constraints: a template without instructions has no effect, any other
    gives arbitrary values to everything it may write. No counterexample may depend on these. Pointers among
    them may lead where operands do."""
    constraints = [c.strip() for c in callee.constraints.split(",") if c.strip()]
    template = _COMMENT.sub("", callee.template)
    empty = not template.strip()
    arguments, result = instruction.arguments, instruction.result
    if instruction.targets or _leaves(body, template, arguments):
        raise Unmodelled("unsupported-asm", "assembly that jumps")
    if _ROUNDING.search(callee.template):
        raise Unmodelled("unsupported-asm", "assembly that changes how floating-point numbers are rounded")
    pointed = [c for c in constraints if c.startswith("=") and "*" in c]
    for number, (operand, passing) in () if empty else enumerate(arguments):
        _take_addresses(body, operand, passing.element)
        if body.initialisation is not None:
            if number < len(pointed):
                body.initialisation.take()  # which is only written
            else:
                body.initialisation.check_operand(sure=False)
    if "~{memory}" in constraints and not empty:
        _write_memory(body, arguments)
    if _STOPPING.search(template):
        body.bar_counterexamples("what happens after assembly that may end the program")
    outputs = [c for c in constraints if c.startswith("=")]
    inputs = [c for c in constraints if not c.startswith(("=", "~"))]
    for constraint, argument in () if empty else zip(pointed, arguments, strict=False):
        type_ = argument.passing.element
        if type_ is None:
            raise Unmodelled("unsupported-asm", f"assembly with the constraint `{constraint}`")
        address = address_of(body, argument.operand)
        _access(body, address, type_, "write")
        memory.write(body, address, _written(body, type_), type_, None)
    if isinstance(result, VoidType):
        return
    tied = {int(c): arguments[len(pointed) + n] for n, c in enumerate(inputs) if c.isdigit()}
    registers = [number for number, c in enumerate(outputs) if "*" not in c]
    types = result.fields if isinstance(result, StructType) else (result,)
    values = [
        value_of(body, tied[number].operand) if empty and number in tied else _written(body, type_)
        for number, type_ in zip(registers, types, strict=True)
    ]
    record = isinstance(result, StructType)
    body.registers.define(instruction, assembled(body, result, values) if record else values[0])


def _leaves(body: Body, template: str, arguments: Sequence[ir.Argument]) -> bool:
    """Return whether assembly may call a function of the program, or go on elsewhere. Other functions that it
    calls are assumed to be part of it."""
    own = {name for name, function in body.module.functions.items() if function.defined}
    own.update(body.unit.rules.functions)
    called = [match[1] or match[2] for match in _CALLED.finditer(template)]
    passed = [each.operand.name for each in arguments if isinstance(each.operand, ir.Symbol)]
    return any(each in ("*", "ret") or each in own for each in called) or bool(called and own & {*passed})


def _write_memory(body: Body, arguments: list[ir.Argument]) -> None:
    """Give arbitrary contents to all objects that the operands of assembly with the clobber `memory` point
    to. That it writes no other objects is an assumption."""
    body.unit.warn("assembly", "inline-assembly", _CLOBBERS, body.cursor.span)
    for operand, passing in arguments:
        if isinstance(operand.type, PointerType):
            size = 1 if passing.element is None else body.layout.store_size(passing.element)
            external_calls.write_around(body, "assembly", address_of(body, operand), size)


def _take_addresses(body: Body, operand: Operand, element: Type | None) -> None:
    """Note that assembly knows the address that an operand is, and what it reads at this address."""
    known = [value_of(body, operand)]
    if element is not None:
        address = address_of(body, operand)
        _access(body, address, element, "read")
        known.append(memory.read(body, address, element, None))
    for each in known:
        if isinstance(each, Expr):
            nondeterminism.make_number(body, each)


def _access(body: Body, address: Expr, type_: Type, access: Access) -> None:
    """Check an access of assembly to an operand in memory, which may be to a part of it."""
    size = build.integer(body.layout.store_size(type_))
    if checks.is_checked(body, access) and not checks.is_valid(body, address, size, access):
        nondeterminism.check_some(body, address, size, access, "what assembly accesses")


def _written(body: Body, type_: Type) -> Value:
    if not terms.is_scalar(type_):
        raise terms.no_value(type_)
    sort = body.unit.pointer_sort if isinstance(type_, PointerType) else sort_of(type_)
    value = body.havoc(sort, approximates="what assembly computes")
    number = build.bit_not(value) if isinstance(sort, MachineSort) else value  # perhaps a known address
    return as_sort(number, sort_of(type_))
