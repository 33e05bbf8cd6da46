"""Instructions of LLVM IR, one class for each form, and the debug records between them.

The fields of a class are in the order of the text, since the reader fills them from left to right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from certus.frontend.c.ir.types import FunctionType, Record, Type


class Instruction(Record):
    """`name` is the name of the result; `location` the number of the debug location; `attached` the numbers
    of other metadata by kind; `text` the line; `operands` all operands in the order of the text."""

    name: str | None = field(default=None, kw_only=True)
    location: int | None = field(default=None, kw_only=True)
    attached: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    text: str = field(default="", kw_only=True)
    operands: Sequence[Operand] = field(default=(), kw_only=True)


class Alloca(Instruction):
    type: Type
    count: Operand | None
    align: int


class Load(Instruction):
    volatile: bool
    type: Type
    pointer: Operand


class Store(Instruction):
    volatile: bool
    value: Operand
    pointer: Operand


class GetElementPointer(Instruction):
    source: Type
    base: Operand
    indices: list[Operand]


class Binary(Instruction):
    """`add`, `sdiv`, `fmul` and so on; `flags` are promises (`nsw`) that change no value."""

    operation: str
    flags: frozenset[str]
    left: Operand
    right: Operand


class Negate(Instruction):
    """`fneg`: the other sign."""

    operand: Operand


class Convert(Instruction):
    """`trunc`, `zext`, `ptrtoint`, `sitofp` and so on."""

    operation: str
    operand: Operand
    type: Type


class Compare(Instruction):
    """`icmp` or, if `floating`, `fcmp`."""

    floating: bool
    predicate: str
    left: Operand
    right: Operand


class Select(Instruction):
    condition: Operand
    then: Operand
    otherwise: Operand


class Freeze(Instruction):
    operand: Operand


class Phi(Instruction):
    """A value that depends on the block that control comes from: `incoming` has one for each label."""

    type: Type
    incoming: Mapping[str, Operand]


class ExtractValue(Instruction):
    aggregate: Operand
    indices: list[int]


class InsertValue(Instruction):
    aggregate: Operand
    value: Operand
    indices: list[int]


class ExtractElement(Instruction):
    vector: Operand
    index: Operand


class InsertElement(Instruction):
    vector: Operand
    value: Operand
    index: Operand


class ShuffleVector(Instruction):
    """The elements of two concatenated vectors, by number; None for any value."""

    left: Operand
    right: Operand
    mask: list[int | None]


@dataclass(slots=True, frozen=True)
class Passing:
    """How an argument or a parameter is passed: by a copy of an object (`byval`), as the place of the result
    (`sret`), extended to a register (`signext`, `zeroext`), or as an operand of assembly in memory."""

    byval: Type | None = None
    sret: Type | None = None
    extension: str = ""
    element: Type | None = None
    align: int = 0


PLAIN: Final = Passing()


class Argument(NamedTuple):
    operand: Operand
    passing: Passing


class Assembly(Record):
    """Inline assembly as a callee."""

    template: str
    constraints: str


class Call(Instruction):
    """A call of an operand or of assembly. `declared` is the type of the callee, if the call states it, as it
    does for variadic functions; `words` are attributes that are single words (`noreturn`)."""

    result: Type
    callee: Operand | Assembly
    arguments: list[Argument]
    declared: FunctionType | None
    words: frozenset[str]
    targets: list[str] = field(default_factory=list)  # of `callbr`: the way on, then labels


class AtomicUpdate(Instruction):
    """`atomicrmw`: the result is the old value."""

    operation: str
    pointer: Operand
    value: Operand


class CompareExchange(Instruction):
    """`cmpxchg`: the result is the old value, and whether it was replaced. A weak one may fail at will."""

    weak: bool
    pointer: Operand
    expected: Operand
    new: Operand


class Fence(Instruction):
    """`fence`: without threads it does nothing."""


class Other(Instruction):
    """`va_arg`, which is read and then refused."""


class Loose(Instruction):
    """An operation on floating-point numbers whose result a pragma leaves open, or that rounds in a direction
    of its own. It is read and then refused."""


class Jump(Instruction):
    target: str


class Branch(Instruction):
    condition: Operand
    then: str
    otherwise: str


class Switch(Instruction):
    value: Operand
    default: str
    cases: list[tuple[int, str]]


class IndirectJump(Instruction):
    address: Operand
    targets: list[str]


class Return(Instruction):
    value: Operand | None = None


class Unreachable(Instruction):
    """`unreachable`: control never comes here."""


class Declare(Instruction):
    """`#dbg_declare`: the debug variable of this number is the object at an address from here on."""

    address: Operand
    variable: int


class DebugRecord(Instruction):
    """`#dbg_value`, `#dbg_label`, `#dbg_assign`: these do nothing."""


def successors(last: Instruction) -> list[str]:
    """Return the labels that the last instruction of a block may jump to, in order."""
    match last:
        case Jump():
            return [last.target]
        case Branch():
            return [last.then, last.otherwise]
        case Switch():
            return list(dict.fromkeys([last.default, *(label for _, label in last.cases)]))
        case IndirectJump() | Call():
            return list(dict.fromkeys(last.targets))
    return []


def redirected(last: Instruction, label: Callable[[str], str]) -> Instruction:
    """Return a jump, branch or switch with the label that `label` returns for each of its labels."""
    match last:
        case Jump():
            return replace(last, target=label(last.target))
        case Branch():
            return replace(last, then=label(last.then), otherwise=label(last.otherwise))
        case Switch():
            cases = [(number, label(each)) for number, each in last.cases]
            return replace(last, default=label(last.default), cases=cases)
    return last


def with_sources(instruction: Instruction, sources: Callable[[str], Iterable[str]]) -> Instruction:
    """Return a phi with the labels that `sources` returns for each of its labels; any other instruction stays
    as it is."""
    if not isinstance(instruction, Phi):
        return instruction
    incoming = {new: value for label, value in instruction.incoming.items() for new in sources(label)}
    return replace(instruction, incoming=incoming)


def called(instruction: Instruction) -> str:
    """Return the name of the function that an instruction calls; empty if it names none."""
    callee = instruction.callee if isinstance(instruction, Call) else None
    return callee.name if isinstance(callee, Symbol) else ""


class Operand(Record):
    """A value that an instruction takes, or a part of an initialiser."""

    type: Type


class Local(Operand):
    """The result of an instruction, or a parameter: `%name`."""

    name: str


class Integer(Operand):
    value: int


class Float(Operand):
    text: str  # the number as IR writes it


class Null(Operand):
    """The null pointer."""


class Zero(Operand):
    """`zeroinitializer`, or `none` of a token."""


class Undefined(Operand):
    """`undef` or, if `poison`, the result of an operation without a defined value."""

    poison: bool


class Metadata(Operand):
    """A word for the compiler (`metadata !"round.dynamic"`)."""

    text: str


class Symbol(Operand):
    """The address of a global variable, a function or an alias: `@name`."""

    name: str


class Aggregate(Operand):
    """An array, a vector or a structure, part by part."""

    parts: list[Operand]


class Bytes(Operand):
    """An array of bytes: `c"..."`."""

    data: bytes


class Expression(Operand):
    """An operation on constants; `source` is the type that `getelementptr` indexes."""

    operation: str
    operands: list[Operand]
    source: Type | None


class BlockAddress(Operand):
    """The address of a label: `&&label`."""

    function: str
    label: str


def symbols_in(constant: Operand | None) -> Iterator[str]:
    """Yield the names of the symbols that a constant mentions."""
    stack = [] if constant is None else [constant]
    while stack:
        match stack.pop():
            case Symbol(name=name) | BlockAddress(function=name):
                yield name
            case Aggregate(parts=parts) | Expression(operands=parts):
                stack += parts
