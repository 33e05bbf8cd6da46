"""Instructions of LLVM IR, one class for each form, and the debug records that stand between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.frontend.c.ir.operands import Operand
from certus.frontend.c.ir.types import FunctionType, Type

NOTHING: Final[Mapping[str, int]] = {}


class Instruction:
    """`name` is that of the result; `location` is the number of its debug location; `attached` are the
    numbers of other metadata by kind; `text` is the line."""

    __slots__ = ("attached", "location", "name", "text")

    name: str | None
    location: int | None
    attached: Mapping[str, int]
    text: str


def complete(
    made: Instruction,
    name: str | None = None,
    location: int | None = None,
    attached: Mapping[str, int] = NOTHING,
    text: str = "",
) -> None:
    """Fill in what all instructions have."""
    made.name, made.location, made.attached, made.text = name, location, attached, text


@dataclass(slots=True, eq=False)
class Alloca(Instruction):
    type: Type
    count: Operand | None
    align: int


@dataclass(slots=True, eq=False)
class Load(Instruction):
    type: Type
    pointer: Operand
    volatile: bool
    align: int


@dataclass(slots=True, eq=False)
class Store(Instruction):
    value: Operand
    pointer: Operand
    volatile: bool
    align: int


@dataclass(slots=True, eq=False)
class GetElementPointer(Instruction):
    source: Type
    base: Operand
    indices: list[Operand]


@dataclass(slots=True, eq=False)
class Binary(Instruction):
    """`add`, `sdiv`, `fmul` and so on; `flags` are promises (`nsw`) that change no value."""

    operation: str
    left: Operand
    right: Operand
    flags: frozenset[str]


@dataclass(slots=True, eq=False)
class Negate(Instruction):
    """`fneg`."""

    operand: Operand


@dataclass(slots=True, eq=False)
class Convert(Instruction):
    """`trunc`, `zext`, `ptrtoint`, `sitofp` and so on."""

    operation: str
    operand: Operand
    type: Type


@dataclass(slots=True, eq=False)
class Compare(Instruction):
    """`icmp` or, if `floating`, `fcmp`."""

    predicate: str
    left: Operand
    right: Operand
    floating: bool


@dataclass(slots=True, eq=False)
class Select(Instruction):
    condition: Operand
    then: Operand
    otherwise: Operand


@dataclass(slots=True, eq=False)
class Freeze(Instruction):
    operand: Operand


@dataclass(slots=True, eq=False)
class Phi(Instruction):
    """The value by the block that control comes from."""

    type: Type
    ways: list[tuple[Operand, str]]


@dataclass(slots=True, eq=False)
class ExtractValue(Instruction):
    aggregate: Operand
    indices: list[int]


@dataclass(slots=True, eq=False)
class InsertValue(Instruction):
    aggregate: Operand
    value: Operand
    indices: list[int]


@dataclass(slots=True, eq=False)
class ExtractElement(Instruction):
    vector: Operand
    index: Operand


@dataclass(slots=True, eq=False)
class InsertElement(Instruction):
    vector: Operand
    value: Operand
    index: Operand


@dataclass(slots=True, eq=False)
class ShuffleVector(Instruction):
    """Elements of two vectors one behind the other, by number; None for any value."""

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


@dataclass(slots=True, eq=False)
class Argument:
    operand: Operand
    passing: Passing


@dataclass(slots=True, eq=False)
class Assembly:
    """Inline assembly as a callee."""

    template: str
    constraints: str
    sideeffect: bool


@dataclass(slots=True, eq=False)
class Call(Instruction):
    """A call of an operand or of assembly. `declared` is the type of the callee if the call writes it, as it
    does for variadic functions; `words` are attributes that are single words (`noreturn`)."""

    result: Type
    callee: Operand | Assembly
    arguments: list[Argument]
    declared: FunctionType | None
    words: frozenset[str]
    targets: list[str] = field(default_factory=list)  # of `callbr`: the way on, then labels


@dataclass(slots=True, eq=False)
class AtomicUpdate(Instruction):
    """`atomicrmw`: the result is the old value."""

    operation: str
    pointer: Operand
    value: Operand
    align: int


@dataclass(slots=True, eq=False)
class CompareExchange(Instruction):
    """`cmpxchg`: the result is the old value, and whether it was replaced. A weak one may fail at will."""

    pointer: Operand
    expected: Operand
    new: Operand
    weak: bool
    align: int


@dataclass(slots=True, eq=False)
class Fence(Instruction):
    pass


@dataclass(slots=True, eq=False)
class VariableArgument(Instruction):
    """`va_arg`."""

    pointer: Operand
    type: Type


@dataclass(slots=True, eq=False)
class Jump(Instruction):
    target: str


@dataclass(slots=True, eq=False)
class Branch(Instruction):
    condition: Operand
    then: str
    otherwise: str


@dataclass(slots=True, eq=False)
class Switch(Instruction):
    value: Operand
    default: str
    cases: list[tuple[int, str]]


@dataclass(slots=True, eq=False)
class IndirectJump(Instruction):
    address: Operand
    targets: list[str]


@dataclass(slots=True, eq=False)
class Return(Instruction):
    value: Operand | None


@dataclass(slots=True, eq=False)
class Unreachable(Instruction):
    pass


@dataclass(slots=True, eq=False)
class Declare(Instruction):
    """`#dbg_declare`: the debug variable of this number is the object at an address from here on."""

    address: Operand
    variable: int


@dataclass(slots=True, eq=False)
class DebugRecord(Instruction):
    """`#dbg_value`, `#dbg_label`, `#dbg_assign`: nothing is done here."""


Terminator = Jump | Branch | Switch | IndirectJump | Return | Unreachable


def successors(last: Instruction) -> list[str]:
    """Return the labels that control may go to behind the last instruction of a block, in order."""
    if isinstance(last, Jump):
        return [last.target]
    if isinstance(last, Branch):
        return [last.then, last.otherwise]
    if isinstance(last, Switch):
        return list(dict.fromkeys([last.default, *(label for _, label in last.cases)]))
    if isinstance(last, IndirectJump):
        return list(dict.fromkeys(last.targets))
    if isinstance(last, Call):
        return list(last.targets)
    return []


def operands(instruction: Instruction) -> list[Operand]:
    """Return all operands of an instruction, in order."""
    match instruction:
        case Alloca():
            return [] if instruction.count is None else [instruction.count]
        case Load() | VariableArgument():
            return [instruction.pointer]
        case Store():
            return [instruction.value, instruction.pointer]
        case GetElementPointer():
            return [instruction.base, *instruction.indices]
        case Binary() | Compare() | ShuffleVector():
            return [instruction.left, instruction.right]
        case Convert() | Freeze() | Negate():
            return [instruction.operand]
        case Select():
            return [instruction.condition, instruction.then, instruction.otherwise]
        case Phi():
            return [value for value, _ in instruction.ways]
        case ExtractValue():
            return [instruction.aggregate]
        case InsertValue():
            return [instruction.aggregate, instruction.value]
        case ExtractElement():
            return [instruction.vector, instruction.index]
        case InsertElement():
            return [instruction.vector, instruction.value, instruction.index]
        case Call():
            called = [] if isinstance(instruction.callee, Assembly) else [instruction.callee]
            return called + [argument.operand for argument in instruction.arguments]
        case AtomicUpdate():
            return [instruction.pointer, instruction.value]
        case CompareExchange():
            return [instruction.pointer, instruction.expected, instruction.new]
        case Branch():
            return [instruction.condition]
        case Switch():
            return [instruction.value]
        case IndirectJump() | Declare():
            return [instruction.address]
        case Return():
            return [] if instruction.value is None else [instruction.value]
    return []
