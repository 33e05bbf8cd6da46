"""The syntax tree of the small language.

Every node knows the stretch of text it came from (`start` and `end` are offsets); equality ignores
it, so that a printed and re-parsed tree is equal to the original. Parentheses and the braces of `if`
and `while` leave no trace: a body is a tuple of statements.

Trees can be deep (a sum of 200,000 terms leans that far to the left): walk them with a stack of
your own. Comparing, hashing and `repr` are recursive and meant for small trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field


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
    value: int  # never negative: `-5` is a Unary


@dataclass(frozen=True, slots=True)
class Truth(Node):
    value: bool


@dataclass(frozen=True, slots=True)
class Nondet(Node):
    """`*` or `unknown`: any value of the type its place asks for."""


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
    """`targets = values`, all at once; or the results of the one invocation on the right."""

    targets: tuple[Name, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class CallStatement(Node):
    call: Invocation


@dataclass(frozen=True, slots=True)
class If(Node):
    """`header` is the end of `if (condition)`, whose text the two branches carry."""

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
