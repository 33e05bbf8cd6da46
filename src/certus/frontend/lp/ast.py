"""Define the syntax tree of the small language.

Every node has its offsets in the text (`start` and `end`). Equality ignores them, so that a printed and
re-parsed tree is equal to the original. Trees have no parentheses and no braces of `if` and `while`: a body
is a tuple of statements.

Trees can be deep (a sum of 200,000 terms is nested as deeply): traverse them with a stack. Comparing, hashing
and `repr` are recursive and intended for small trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final


@dataclass(frozen=True, slots=True)
class Node:
    start: int = field(default=0, compare=False, repr=False, kw_only=True)
    end: int = field(default=0, compare=False, repr=False, kw_only=True)


# --------------------------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Number(Node):
    value: int | Fraction  # a fraction if it has a decimal point; never negative: `-5` is a Unary


@dataclass(frozen=True, slots=True)
class Truth(Node):
    value: bool


@dataclass(frozen=True, slots=True)
class Nondet(Node):
    """`*` or `unknown`: a nondeterministic value of the type that its position requires."""


@dataclass(frozen=True, slots=True)
class Unary(Node):
    operator: str  # `!` or `-`
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`condition ? then : otherwise`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Invocation(Node):
    """`procedure(arguments)`: allowed as a statement and as the whole right-hand side of one."""

    procedure: str
    arguments: tuple[Expression, ...]


Expression = Name | Number | Truth | Nondet | Unary | Binary | Conditional | Invocation

PRECEDENCE = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
}


# ---------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Declarator(Node):
    name: str
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Declaration(Node):
    """`int x, y = 1;`, of globals or of locals."""

    type: str
    declarators: tuple[Declarator, ...]


@dataclass(frozen=True, slots=True)
class Skip(Node):
    pass


@dataclass(frozen=True, slots=True)
class Block(Node):
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Label(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Assignment(Node):
    """`targets = values`, simultaneously, or the results of a single invocation on the right."""

    targets: tuple[Name, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class CallStatement(Node):
    call: Invocation


@dataclass(frozen=True, slots=True)
class If(Node):
    """An `if`; `header` is the end of `if (condition)`, which is the text of both branches."""

    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    header: int = field(default=0, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class While(Node):
    condition: Expression
    body: tuple[Statement, ...]
    header: int = field(default=0, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Goto(Node):
    label: str


@dataclass(frozen=True, slots=True)
class Break(Node):
    pass


@dataclass(frozen=True, slots=True)
class Continue(Node):
    pass


@dataclass(frozen=True, slots=True)
class Assert(Node):
    condition: Expression


@dataclass(frozen=True, slots=True)
class AssumeStatement(Node):
    condition: Expression


@dataclass(frozen=True, slots=True)
class ReturnStatement(Node):
    values: tuple[Expression, ...]


Statement = (
    Declaration
    | Skip
    | Block
    | Label
    | Assignment
    | CallStatement
    | If
    | While
    | Goto
    | Break
    | Continue
    | Assert
    | AssumeStatement
    | ReturnStatement
)


# ------------------------------------------------------------------------------------ programs


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class ProcedureDefinition(Node):
    """`results name(parameters) { body }`; no results means `void`. `header` is the end of the part
    before the body, `name_start` the offset of the name."""

    results: tuple[str, ...]
    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    header: int = field(default=0, compare=False, repr=False, kw_only=True)
    name_start: int = field(default=0, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class ProgramText(Node):
    units: tuple[Declaration | ProcedureDefinition, ...]


_CHUNK: Final = 4000  # digits within Python's limit


def read_numeral(digits: str) -> int:
    """Return the number that decimal digits denote."""
    if len(digits) <= _CHUNK:
        return int(digits)
    first = len(digits) % _CHUNK
    parts = [int(digits[:first] or "0")]
    parts += [int(digits[at : at + _CHUNK]) for at in range(first, len(digits), _CHUNK)]
    width = _CHUNK
    while len(parts) > 1:  # join neighbours; all but the first have `width` digits
        base = 10**width
        odd = len(parts) % 2
        parts = parts[:odd] + [parts[i] * base + parts[i + 1] for i in range(odd, len(parts), 2)]
        width *= 2
    return parts[0]


def read_number(text: str) -> int | Fraction:
    """Return the number that decimal digits, possibly with a point, denote."""
    whole, point, decimals = text.partition(".")
    if not point:
        return read_numeral(whole)
    return Fraction(read_numeral(whole + decimals), 10 ** len(decimals))


def decimal_text(value: Fraction) -> str:
    """Return a non-negative fraction with a finite decimal expansion as text with a point."""
    places = 1
    while value * 10**places != int(value * 10**places):
        places += 1
    digits = numeral(int(value * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def numeral(value: int) -> str:
    """Return the decimal digits of a non-negative number."""
    if value < 10**_CHUNK:
        return str(value)
    width = _CHUNK
    while 10 ** (2 * width) <= value:
        width *= 2
    parts = [value]
    while width >= _CHUNK:  # split every part into two of `width` digits
        base = 10**width
        parts = [half for part in parts for half in divmod(part, base)]
        width //= 2
    return "".join(str(part).zfill(_CHUNK) for part in parts).lstrip("0")
