"""The abstract syntax of C after Clang: names resolved, conversions explicit, every node typed.

What Clang leaves implicit in its tree is explicit here: the value of `sizeof`, of enumeration constants and
case labels, the computation type of compound assignments. Nodes that Certus does not model become
`Unmodelled`, with the reason and the place, so that lowering can refuse them where they matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from certus.core.diagnostic import Span
from certus.frontend.c.types import CType, Field, FunctionType, Types

MAIN: Final = "main"  # the function that a program begins with

# ------------------------------------------------------------------------------- declarations


class Storage(Enum):
    """Where an object lives. STATIC covers globals, static locals and `extern` objects."""

    STATIC = "static"
    AUTOMATIC = "automatic"
    PARAMETER = "parameter"


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """An object. Redeclarations are one Variable; `identity` is unique in the unit.

    `defined`: a definition or tentative definition exists (an `extern` object without one has arbitrary
    contents)."""

    identity: str
    name: str
    type: CType
    storage: Storage
    span: Span
    function: str | None  # the function it is local to
    defined: bool = True
    thread_local: bool = False
    align: int | None = None  # if attributes ask for one


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function; `body` is None if it is only declared. By its attributes it is `noreturn`, or `promising`:
    they say something of its results."""

    name: str
    type: FunctionType
    parameters: tuple[Variable, ...]
    body: Statement | None
    span: Span
    noreturn: bool = False
    promising: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit. `initialisers` of static objects, in order, static locals included.

    `constructors` and `destructors`: the functions that run before `main`, and after it, in that order.
    `digest` is the SHA-256 sum of the file. `entry`: the function that the program begins with."""

    types: Types
    functions: dict[str, Function]
    variables: tuple[Variable, ...]
    initialisers: tuple[tuple[Variable, Expression], ...]
    file: str
    source: str
    constructors: tuple[str, ...] = ()
    destructors: tuple[str, ...] = ()
    digest: str = ""
    entry: str = MAIN


# -------------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Every expression has a type and a place. An lvalue expression denotes an object."""

    type: CType
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class IntegerConstant(Node):
    """Integer and character literals, enumeration constants, `sizeof`, `_Alignof`, `offsetof`."""

    value: int


@dataclass(frozen=True, slots=True, eq=False)
class StringLiteral(Node):
    """An lvalue of array type; `data` has the terminating zero (elements in little-endian bytes)."""

    data: bytes


@dataclass(frozen=True, slots=True, eq=False)
class VariableReference(Node):
    """An lvalue."""

    variable: Variable


@dataclass(frozen=True, slots=True, eq=False)
class FunctionReference(Node):
    """A function designator, of function type."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Member(Node):
    """`base.field`, where `base` is an lvalue or a value of record type; `->` is a Dereference inside."""

    base: Expression
    field: Field


@dataclass(frozen=True, slots=True, eq=False)
class Subscript(Node):
    """`pointer[index]`, an lvalue; `pointer` has pointer type whichever side it stood on. `index_first`: it
    is written `index[pointer]`, and evaluated in that order."""

    pointer: Expression
    index: Expression
    index_first: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Dereference(Node):
    """`*pointer`: an lvalue, or a function designator."""

    pointer: Expression


@dataclass(frozen=True, slots=True, eq=False)
class AddressOf(Node):
    """`&lvalue`, `&function`."""

    operand: Expression


class Conversion(Enum):
    """What an implicit or explicit cast does."""

    LOAD = "load"  # the value of an lvalue
    INTEGER = "integer"  # between integer types, enumerations and _Bool included
    TO_BOOL = "to-bool"  # integer or pointer to _Bool: != 0
    DECAY = "decay"  # array lvalue to pointer to its first element
    FUNCTION_DECAY = "function-decay"
    POINTER = "pointer"  # between pointer types
    INTEGER_TO_POINTER = "integer-to-pointer"
    POINTER_TO_INTEGER = "pointer-to-integer"
    NULL = "null"  # a null pointer constant to a pointer
    TO_VOID = "to-void"
    NONE = "none"  # no change of value


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Node):
    conversion: Conversion
    operand: Expression
    explicit: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Node):
    """`operator` is one of `- ~ ! +`."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Increment(Node):
    """`++x --x x++ x--` on integers and pointers."""

    operand: Expression
    delta: int  # 1 or -1
    postfix: bool


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """`operator` is one of `+ - * / % << >> < > <= >= == != & ^ |`; pointers may be operands."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Logical(Node):
    """`&&` or `||`, with short circuit."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Conditional(Node):
    """`condition ? then : otherwise`; `then` is None for `condition ?: otherwise`."""

    condition: Expression
    then: Expression | None
    otherwise: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Comma(Node):
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Assignment(Node):
    """`target = value`, of scalars or whole records."""

    target: Expression
    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class CompoundAssignment(Node):
    """`target op= value`: computed in `computation` type, converted back to the target's type."""

    operator: str
    target: Expression
    value: Expression
    computation: CType


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """`function` is a FunctionReference (direct call) or a pointer to a function."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class StatementExpression(Node):
    """`({ ... })`: the value is that of the last statement, if it is an expression."""

    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class InitialiserList(Node):
    """Initialisers in order of members or elements, one each (designators resolved); `filler` initialises
    the elements an array has beyond them. For a union, `field` is the member initialised."""

    items: tuple[Expression, ...]
    filler: Expression | None = None
    field: Field | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ZeroInitialiser(Node):
    """All zero, of any object type."""


@dataclass(frozen=True, slots=True, eq=False)
class CompoundLiteral(Node):
    """An lvalue: an unnamed object, initialised where it stands."""

    variable: Variable
    initialiser: Expression


@dataclass(frozen=True, slots=True, eq=False)
class ChooseConstant(Node):
    """A predefined string such as `__func__`, as an lvalue of array type."""

    data: bytes


@dataclass(frozen=True, slots=True, eq=False)
class VaArg(Node):
    """`va_arg(list, type)`."""

    operand: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Unmodelled(Node):
    """Something Certus does not model: `code` is `unsupported-...`, `what` names it for people."""

    code: str
    what: str
    operands: tuple[Expression, ...] = ()


Expression = (
    IntegerConstant
    | StringLiteral
    | VariableReference
    | FunctionReference
    | Member
    | Subscript
    | Dereference
    | AddressOf
    | Cast
    | Unary
    | Increment
    | Binary
    | Logical
    | Conditional
    | Comma
    | Assignment
    | CompoundAssignment
    | Call
    | StatementExpression
    | InitialiserList
    | ZeroInitialiser
    | CompoundLiteral
    | ChooseConstant
    | VaArg
    | Unmodelled
)


# --------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    statements: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """Local variables with their initialisers, in order; static locals are in `Unit.initialisers`."""

    variable: Variable
    initialiser: Expression | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionStatement:
    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class If:
    condition: Expression
    then: Statement
    otherwise: Statement | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class While:
    condition: Expression
    body: Statement
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class DoWhile:
    body: Statement
    condition: Expression
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """`init` may be declarations (a Block without a scope of its own is wrapped)."""

    init: Statement | None
    condition: Expression | None
    step: Expression | None
    body: Statement
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Switch:
    condition: Expression
    body: Statement
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """`case low:` (then `high` is `low`) or `case low ... high:`."""

    low: int
    high: int
    body: Statement
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Default:
    body: Statement
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Continue:
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Goto:
    label: str
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    name: str
    body: Statement
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    value: Expression | None
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Empty:
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class UnmodelledStatement:
    """A statement Certus does not model: inline assembly, computed goto."""

    code: str
    what: str
    span: Span


Statement = (
    Block
    | Declaration
    | ExpressionStatement
    | If
    | While
    | DoWhile
    | For
    | Switch
    | Case
    | Default
    | Break
    | Continue
    | Goto
    | Label
    | Return
    | Empty
    | UnmodelledStatement
)
