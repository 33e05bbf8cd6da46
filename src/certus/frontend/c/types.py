"""C types as Certus sees them: resolved, without typedefs.

Qualifiers matter only where they change meaning: `volatile` (reads may be inputs) and `const` (what an
unknown function cannot write). They stand on the type they qualify.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

BIT_INT_RANK: Final = 7


@dataclass(frozen=True, slots=True)
class VoidType:
    """`void`."""


@dataclass(frozen=True, slots=True)
class IntegerType:
    """An integer type: `width` bits, `rank` as in the integer conversion rank.

    `_Bool` has width 8 in memory, takes the values 0 and 1 only, and `boolean` is true. Enumerations are
    their underlying integer type with the name in `enumeration`. A `_BitInt`, of any width, is not promoted;
    in memory it has bits to spare, whose values mean nothing."""

    name: str
    width: int
    signed: bool
    rank: int
    boolean: bool = False
    enumeration: str | None = None

    @property
    def exact(self) -> bool:
        """Whether it is a `_BitInt`."""
        return self.rank == BIT_INT_RANK


INT_TYPE: Final = IntegerType("int", 32, True, 3)
UNSIGNED_CHAR: Final = IntegerType("unsigned char", 8, False, 1)


@dataclass(frozen=True, slots=True)
class FloatType:
    """`float`, `double`, `long double` and complex numbers: not modelled, but they have a size."""

    name: str
    size: int
    align: int


@dataclass(frozen=True, slots=True)
class PointerType:
    target: CType


@dataclass(frozen=True, slots=True)
class ArrayType:
    """`length` is None for an incomplete array (`int a[]`, a flexible member)."""

    element: CType
    length: int | None


@dataclass(frozen=True, slots=True)
class VariableArrayType:
    """An array whose length, or that of its elements, is not constant; `text` is the length as written.

    `length` is the identity of the variable that has held the number of elements since control passed the
    declaration of the type; None where a type is only spelled, and its size asked by nobody."""

    element: CType
    text: str
    length: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionType:
    """`parameters` is None for a function declared without a prototype."""

    result: CType
    parameters: tuple[CType, ...] | None
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class RecordType:
    """A struct or union, by the identity of its definition; `name` is for people."""

    identity: str
    name: str


@dataclass(frozen=True, slots=True)
class Qualified:
    """A qualified type; never nested, never around an array (the elements are qualified instead)."""

    type: CType
    const: bool = False
    volatile: bool = False


@dataclass(frozen=True, slots=True)
class OtherType:
    """A type Certus does not model (vectors, `_Complex`, blocks); `text` is Clang's name for it.

    `code` and `what`, if there are any, say why it is refused."""

    text: str
    code: str = ""
    what: str = ""


CType = (
    VoidType
    | IntegerType
    | FloatType
    | PointerType
    | ArrayType
    | VariableArrayType
    | FunctionType
    | RecordType
    | Qualified
    | OtherType
)


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a record. `name` is empty for an anonymous member; `bits` is set for bit-fields.

    `align` and `packed` are its attributes; `type_align` replaces the alignment of its type if a typedef
    has the attribute `aligned`."""

    identity: str
    name: str
    type: CType
    bits: int | None = None
    align: int | None = None
    packed: bool = False
    type_align: int | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """The definition of a struct or union."""

    identity: str
    name: str
    union: bool
    fields: tuple[Field, ...]
    packed: bool = False
    align: int | None = None  # of `__attribute__((aligned(N)))`
    pack: int | None = None  # of `#pragma pack(N)`


@dataclass(frozen=True, slots=True)
class DataModel:
    """The sizes that an ABI fixes, in bits."""

    name: str
    long: int
    pointer: int
    long_double: tuple[int, int]  # size and alignment, in bytes
    long_long_align: int  # inside records, in bytes (4 on i386)


ILP32 = DataModel("ILP32", 32, 32, (12, 4), 4)
LP64 = DataModel("LP64", 64, 64, (16, 16), 8)
DATA_MODELS = {model.name: model for model in (ILP32, LP64)}


def unqualified(type_: CType) -> CType:
    return type_.type if isinstance(type_, Qualified) else type_


@dataclass(slots=True)
class Types:
    """All types of one translation unit: the data model and the records by identity."""

    model: DataModel
    records: dict[str, Record] = field(default_factory=dict)
