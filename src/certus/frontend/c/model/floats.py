"""Operations on floating-point numbers as terms on their bit patterns (`core.floats`).

The standard leaves the sign and the payload of a NaN result open, and processors and compilers choose
differently. So the bits of such a result are a value that nothing determines (`core.program.NAN_BITS`), but
only where the program can see them: most programs only compare floating-point numbers and compute with them,
and no such operation depends on the sign or the payload of a NaN. A value is *visible* if it may reach a
conversion to an integer by its bits, a store to memory, the second operand of `copysign`, or a function that
is not known. The analysis (`VisibleNans`) follows values through variables, parameters and results of the
program; everything else counts as visible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from certus.core import build, float_terms, floats
from certus.core.floats import Format
from certus.core.program import NAN_BITS
from certus.core.terms import BOOL, Expr, Kind, MachineSort, machine
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Local, Operand, Symbol, symbols_in
from certus.frontend.c.ir.module import Function, Module
from certus.frontend.c.ir.types import FloatType, IntegerType, Type, VectorType
from certus.frontend.c.model.terms import FORMATS, Unmodelled, as_sort, no_value, signed, unsigned

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

ARITHMETIC: Final = {"fadd": Kind.F_ADD, "fsub": Kind.F_SUB, "fmul": Kind.F_MUL, "fdiv": Kind.F_DIV}


def format_of(type_: Type) -> Format:
    """Return the format of a floating-point type; refuse a type without one."""
    if not isinstance(type_, FloatType) or type_.text not in FORMATS:
        raise no_value(type_)
    return floats.FORMATS[FORMATS[type_.text]]


def pattern(value: Expr, format: Format) -> Expr:
    """Return a value as a bit pattern of the format."""
    return as_sort(value, float_terms.float_sort(format))


def constant(bits: int, format: Format) -> Expr:
    return build.constant(bits, float_terms.float_sort(format))


def literal(operand: ir.Float) -> Expr:
    """Return a constant of the IR: a decimal or hexadecimal double, which a float is converted from without
    loss, or the bits of another format."""
    format, text = format_of(operand.type), operand.text
    if text[:3] in ("0xK", "0xH", "f0x"):
        return constant(int(text[3:], 16), format)
    if text[:2] == "0x":
        if not text[2:3].isdigit() and text[2:3] not in "ABCDEF":
            raise no_value(operand.type)
        bits = int(text[2:], 16)
    else:
        bits = floats.from_fraction(floats.F64, floats.NEAREST, Fraction(text), negative=text.startswith("-"))
    if format is floats.F64:
        return constant(bits, format)
    if floats.is_nan(floats.F64, bits):  # the payload is at the upper end of both formats
        shift = floats.F64.precision - format.precision
        sign = format.sign if bits & floats.F64.sign else 0
        payload = bits & ((1 << (floats.F64.precision - 1)) - 1)
        return constant(sign | format.infinity | payload >> shift, format)
    return constant(floats.convert(floats.F64, format, bits), format)


def is_valid(value: Expr) -> Expr:
    """Return the condition that the leading bit of an extended number is that of its exponent: the hardware
    makes no others."""
    format = floats.X87
    exponent = build.bit_and(value, constant(((1 << format.exponent) - 1) << format.fraction, format))
    leading = build.bit_and(value, constant(1 << (format.precision - 1), format))
    zero = constant(0, format)
    return build.eq(build.eq(exponent, zero), build.eq(leading, zero))


# ------------------------------------------------------------------------------------ operations


def operation(kind: Kind, format: Format, *operands: Expr, mode: Expr = float_terms.TO_NEAREST) -> Expr:
    """Return an operation that rounds."""
    return float_terms.float_term(kind, format.name, (*operands, mode))


def equal(format: Format, a: Expr, b: Expr) -> Expr:
    return float_terms.float_term(Kind.F_EQ, format.name, (a, b))


def less(format: Format, a: Expr, b: Expr) -> Expr:
    return float_terms.float_term(Kind.F_LT, format.name, (a, b))


def less_equal(format: Format, a: Expr, b: Expr) -> Expr:
    return float_terms.float_term(Kind.F_LE, format.name, (a, b))


def is_number(format: Format, a: Expr) -> Expr:
    """Return the condition that a value is not NaN."""
    return equal(format, a, a)


def compare(predicate: str, format: Format, a: Expr, b: Expr) -> Expr:
    """Return a comparison of `fcmp`: the ordered ones are false if an operand is NaN, the others true."""
    if predicate in ("true", "false"):
        return build.boolean(predicate == "true")
    if predicate in _NEGATED:
        return build.not_(compare(_NEGATED[predicate], format, a, b))
    if predicate == "oeq":
        return equal(format, a, b)
    if predicate == "one":
        return build.or_(less(format, a, b), less(format, b, a))
    if predicate == "ord":
        return build.and_(is_number(format, a), is_number(format, b))
    first, second = (a, b) if predicate[1] == "l" else (b, a)
    return (less if predicate[2] == "t" else less_equal)(format, first, second)


_NEGATED: Final = {
    **{"une": "oeq", "ueq": "one", "uno": "ord"},
    **{"ult": "oge", "ule": "ogt", "ugt": "ole", "uge": "olt"},
}


def negated(format: Format, a: Expr) -> Expr:
    """Return a value with the other sign; also a NaN has one."""
    return build.bit_xor(a, constant(format.sign, format))


def magnitude(format: Format, a: Expr) -> Expr:
    """Return a value without its sign."""
    return build.bit_and(a, constant(format.sign - 1, format))


def with_sign(format: Format, a: Expr, b: Expr) -> Expr:
    """Return `copysign(a, b)`."""
    return build.bit_or(magnitude(format, a), build.bit_and(b, constant(format.sign, format)))


def is_negative(format: Format, a: Expr) -> Expr:
    """Return the condition that the sign bit is set."""
    return build.le(constant(format.sign, format), a)


def remainder_of_division(format: Format, a: Expr, b: Expr) -> Expr:
    """Return `fmod(a, b)` from the remainder of IEEE 754: where that is negative for the magnitudes, one more
    divisor belongs to it. Both are exact."""
    x, y = magnitude(format, a), magnitude(format, b)
    rest = float_terms.float_term(Kind.F_REM, format.name, (x, y))
    more = operation(Kind.F_ADD, format, rest, y)
    below = less(format, rest, constant(0, format))
    return with_sign(format, build.ite(below, more, rest), a)


def minimum(body: Body, format: Format, a: Expr, b: Expr, *, largest: bool) -> Expr:
    """Return `fmin` or `fmax`: the other operand if one is NaN, and either one of two equal zeros. C fixes
    nothing for a signalling NaN; the C library of GNU returns a NaN."""
    first, second = (b, a) if largest else (a, b)
    zeros = build.and_(equal(format, a, b), build.ne(a, b))
    signalling = build.or_(is_class(format, a, 1), is_class(format, b, 1))
    chosen = build.ite(less(format, first, second), a, b)
    result = build.ite(is_number(format, a), build.ite(is_number(format, b), chosen, a), b)
    is_open = build.or_(zeros, signalling)
    if is_open is build.FALSE:
        return result
    open_result = f"the result of `{'fmax' if largest else 'fmin'}` for zeros and signalling NaNs"
    either = body.havoc(machine(1, signed=False), approximates=open_result)
    other = build.ite(signalling, constant(format.nan, format), a)
    chosen = build.ite(build.eq(either, build.constant(0, either.sort)), other, result)
    return build.ite(is_open, chosen, result)  # a run does not depend on `either` where nothing is open


def convert(operation_name: str, term: Expr, source: Type, type_: Type, mode: Expr) -> Expr:
    """Return a conversion from or to a floating-point type."""
    if operation_name in ("fpext", "fptrunc"):
        old, new = format_of(source), format_of(type_)
        names = f"{old.name} {new.name}"
        return float_terms.float_term(Kind.F_CONVERT, names, (pattern(term, old), mode))
    if operation_name in ("sitofp", "uitofp"):
        format = format_of(type_)
        if term.sort is BOOL:
            number = machine(8, signed=True)
            one = -1 if operation_name == "sitofp" else 1
            integer = build.ite(term, build.constant(one, number), build.constant(0, number))
        else:
            integer = signed(term) if operation_name == "sitofp" else unsigned(term)
        return operation(Kind.F_FROM, format, integer, mode=mode)
    if operation_name in ("fptosi", "fptoui") and isinstance(type_, IntegerType) and type_.bits > 1:
        format, sort = format_of(source), machine(type_.bits, signed=operation_name == "fptosi")
        return to_integer(format, pattern(term, format), sort)
    raise no_value(type_)


def to_integer(format: Format, a: Expr, sort: MachineSort) -> Expr:
    """Return a number without its fraction as an integer; undefined if it is out of range."""
    return float_terms.float_term(Kind.F_TO, format.name, (a,), sort)


def is_class(format: Format, a: Expr, mask: int) -> Expr:
    """Return whether a value belongs to one of the classes that `llvm.is.fpclass` numbers by bits."""
    size, negative = magnitude(format, a), is_negative(format, a)
    infinite = equal(format, size, constant(format.infinity, format))
    least = constant(1 << format.fraction | (1 << (format.precision - 1) if format.explicit else 0), format)
    zero = equal(format, size, constant(0, format))
    nan = build.not_(is_number(format, a))
    small = build.and_(less(format, size, least), build.not_(zero))
    normal = build.and_(
        less_equal(format, least, size), less(format, size, constant(format.infinity, format))
    )
    quiet = build.ne(build.bit_and(a, constant(format.quiet, format)), constant(0, format))
    nans = (build.FALSE, build.and_(nan, build.not_(quiet)), build.and_(nan, quiet), nan)
    conditions = [nans[mask & 3]]
    for below, above, condition in ((4, 512, infinite), (8, 256, normal), (16, 128, small), (32, 64, zero)):
        if mask & below and mask & above:
            conditions.append(condition)
        elif mask & below:
            conditions.append(build.and_(condition, negative))
        elif mask & above:
            conditions.append(build.and_(condition, build.not_(negative)))
    return build.disjunction(conditions)


def returned(body: Body, type_: FloatType, a: Expr, function: str | None = None) -> Expr:
    """Return the result of a function, of the program if it is named, as the caller gets it: i386 returns
    floating-point numbers in a register that makes a signalling NaN quiet."""
    quiets = body.layout.pointer_bits == 32 and type_.text in ("float", "double")
    if not quiets or not body.unit.sees_nans(body.module, function):
        return a
    format = format_of(type_)
    return build.ite(is_number(format, a), a, build.bit_or(a, constant(format.quiet, format)))


# -------------------------------------------------------------------------------------- results


def opened(body: Body, result: Expr, format: Format, name: str | None) -> Expr:
    """Return the result `name` of an operation, with open bits if it is NaN and the program may see them;
    without a name, it may."""
    if result.kind is Kind.CONST and not floats.is_nan(format, int(result.value)):
        return result
    if name is not None and not body.unit.sees_nans(body.module, body.name, name):
        return result
    if body.registers.folding:
        raise Unmodelled("unsupported-float", "the bits of a NaN")
    result = body.registers.in_temporary(result)
    choice = body.havoc(float_terms.float_sort(format), approximates=NAN_BITS)
    free = constant(format.sign | (format.quiet - 1), format)
    bits = build.bit_or(constant(format.nan, format), build.bit_and(choice, free))
    return build.ite(is_number(format, result), result, bits)


# -------------------------------------------------------------------------------------- visible NaNs

Place = tuple[str, str]  # a value of a function, its result (""), or a global variable (of no function)
_COMPUTED: Final = (ir.Binary, ir.Compare)


class VisibleNans:
    """The visible values of a module, for the functions that the program may reach. `computing` are library
    functions whose result depends only on what a NaN argument is, not on its bits; `passing` are those that
    may return an argument."""

    def __init__(
        self, module: Module, reached: Iterable[str], computing: frozenset[str], passing: frozenset[str]
    ) -> None:
        self._module = module
        self._computing, self._passing = computing, passing
        self._sources = defaultdict[Place, list[Place]](list)  # from a place to those whose values come there
        self._visible: set[Place] = set()
        self._types: dict[Place, Type] = {}  # of local variables
        self._work: list[Place] = []
        for name in sorted(reached):
            function = module.functions.get(name)
            if function is not None and function.defined:
                self._function(function)
            variable = module.globals.get(name)
            if variable is not None and variable.initialiser is not None:
                self._mentioned(module.initialiser(variable))
        while self._work:
            for source in self._sources[self._work.pop()]:
                self._see(source)
        self.any = bool(self._visible)

    def sees(self, function: str, name: str) -> bool:
        """Return whether a value of a function is visible."""
        return (function, name) in self._visible

    def _see(self, place: Place) -> None:
        if place not in self._visible:
            self._visible.add(place)
            self._work.append(place)

    def _flow(self, home: str, operands: Iterable[Operand], target: Place) -> None:
        """Note that the values of operands may come to a place."""
        places = [(home, operand.name) for operand in operands if isinstance(operand, Local)]
        self._sources[target] += places

    def _mentioned(self, constant: Operand | None) -> None:
        """See everything whose address a constant contains."""
        for name in symbols_in(constant):
            self._see(("", name))
            self._see((name, ""))

    def _function(self, function: Function) -> None:
        for block in self._module.blocks(function):
            for instruction in block.instructions:
                self._instruction(function.name, instruction)

    def _instruction(self, home: str, instruction: ir.Instruction) -> None:
        result = (home, instruction.name or "")
        match instruction:
            case ir.Load(pointer=pointer, type=type_):
                variable = self._variable(home, pointer, type_)
                if variable is None or not isinstance(type_, FloatType):
                    self._use(home, (pointer,))
                else:
                    self._sources[result].append(variable)
            case ir.Store(value=value, pointer=pointer):
                target = self._variable(home, pointer, value.type)
                if target is None or not isinstance(value.type, FloatType):
                    self._use(home, (value, pointer))
                else:
                    self._flow(home, (value,), target)
            case ir.Negate() | ir.Freeze() | ir.Select() | ir.Phi():  # nothing comes to a condition
                self._flow(home, instruction.operands, result)
            case ir.Return():
                self._flow(home, instruction.operands, (home, ""))
            case ir.Convert(operation=operation, operand=operand):
                if operation == "bitcast":
                    self._use(home, (operand,))
            case ir.Call():
                self._call(home, instruction)
            case ir.Alloca(type=type_, count=None):  # it comes before the uses
                self._types[result] = type_
            case ir.Declare() | ir.DebugRecord() | ir.Alloca():
                pass
            case _ if not isinstance(instruction, _COMPUTED):
                self._use(home, instruction.operands)

    def _variable(self, home: str, pointer: Operand, type_: Type) -> Place | None:
        """Return the variable of this type that a pointer leads to. Uses other than loads and stores make a
        variable visible by themselves."""
        if isinstance(pointer, Local):
            return (home, pointer.name) if self._types.get((home, pointer.name)) is type_ else None
        owner = self._module.globals.get(pointer.name) if isinstance(pointer, Symbol) else None
        return ("", owner.name) if owner is not None and owner.type is type_ else None

    def _use(self, home: str, operands: Iterable[Operand]) -> None:
        """See all operands of an instruction, by value or by address."""
        for operand in operands:
            if isinstance(operand, Local):
                self._see((home, operand.name))
            else:
                self._mentioned(operand)

    def _call(self, home: str, call: ir.Call) -> None:
        operands = [argument.operand for argument in call.arguments]
        name = call.callee.name if isinstance(call.callee, Symbol) else ""
        result = (home, call.name or "")
        called = self._module.functions.get(name)
        floating = [each for each in operands if isinstance(each.type, FloatType)]
        others = [each for each in operands if not isinstance(each.type, FloatType)]
        if called is not None and called.defined:
            count = len(called.parameters)
            for operand, parameter in zip(operands, called.parameters, strict=False):
                if isinstance(operand.type, FloatType) and operand.type is parameter.type:
                    self._flow(home, (operand,), (name, parameter.name))
                else:
                    self._use(home, (operand,))
            self._use(home, operands[count:])
            if isinstance(call.result, FloatType):
                self._sources[result].append((name, ""))
            return
        self._use(home, others)
        if name.startswith("llvm.is.fpclass."):  # it may tell signalling NaNs from quiet ones
            masks = [each.value & 3 for each in others if isinstance(each, ir.Integer)]
            self._use(home, floating if masks not in ([0], [3]) else ())
        elif name.startswith("llvm.copysign.") or name in ("copysign", "copysignf", "copysignl"):
            self._use(home, floating[1:])
            self._flow(home, floating[:1], result)
        elif name.startswith("llvm.fabs.") or name in self._passing:
            self._flow(home, floating, result)
        elif not name.startswith("llvm.") and name not in self._computing:
            self._use(home, floating)
        if any(isinstance(each.type, VectorType) for each in operands):
            self._use(home, operands)
