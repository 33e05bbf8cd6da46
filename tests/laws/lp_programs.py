"""Random programs of the small language.

    programs()       well-typed, terminating programs over a small domain, each with an assertion:
                     loops, procedures, recursion, jumps, divisions and a few nondeterministic values,
                     which are booleans or integers from DOMAIN; few enough to try all of them
    syntax_trees()   any syntax tree, sensible or not, for laws about printing and parsing
    expressions()    any expression

All give syntax trees of `certus.frontend.lp.ast`; `print_lp` turns them into text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hypothesis import strategies as st

from certus.frontend.lp import ast

DOMAIN = range(-1, 3)  # the integers that inputs range over
MAX_INPUTS = 4  # an execution meets about this many nondeterministic values at most


# ------------------------------------------------------------------------- well-typed programs


def number(value: int) -> ast.Expression:
    return ast.Number(value) if value >= 0 else ast.Unary("-", ast.Number(-value))


def conjunction(first: ast.Expression, second: ast.Expression) -> ast.Expression:
    return ast.Binary("&&", first, second)


@dataclass(frozen=True)
class Scope:
    """Variables that may be used, and procedures that may be called with their signatures."""

    ints: tuple[str, ...]
    bools: tuple[str, ...]
    calls: tuple[str, ...] = ()
    in_loop: bool = False


class Writer:
    """Draws the statements of a program."""

    def __init__(self, draw: Callable) -> None:
        self.draw = draw
        self.inputs = MAX_INPUTS
        self.names = 0

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # -- expressions

    def integer(self, scope: Scope, depth: int = 2) -> ast.Expression:
        kinds = ["constant", "variable", "variable"]
        if depth:
            kinds += ["sum", "sum", "product", "quotient", "negation", "conditional"]
        kind = self.draw(st.sampled_from(kinds))
        if kind == "constant":
            return number(self.draw(st.integers(-3, 3)))
        if kind == "variable":
            return ast.Name(self.draw(st.sampled_from(scope.ints)))
        if kind == "negation":
            return ast.Unary("-", self.integer(scope, depth - 1))
        if kind == "conditional":
            condition = self.boolean(scope, depth - 1)
            return ast.Conditional(condition, self.integer(scope, depth - 1), self.integer(scope, depth - 1))
        operators = {"sum": "+-", "product": "*", "quotient": "/%"}[kind]
        operator = self.draw(st.sampled_from(operators))
        right = number(self.draw(st.integers(-3, 3))) if kind == "product" else self.integer(scope, depth - 1)
        return ast.Binary(operator, self.integer(scope, depth - 1), right)

    def boolean(self, scope: Scope, depth: int = 2) -> ast.Expression:
        kinds = ["constant", "variable", "comparison", "comparison"]
        if depth:
            kinds += ["logical", "logical", "negation", "conditional", "equality"]
        kind = self.draw(st.sampled_from(kinds))
        if kind == "constant":
            return ast.Truth(self.draw(st.booleans()))
        if kind == "variable":
            return ast.Name(self.draw(st.sampled_from(scope.bools)))
        if kind == "negation":
            return ast.Unary("!", self.boolean(scope, depth - 1))
        if kind == "conditional":
            condition = self.boolean(scope, depth - 1)
            return ast.Conditional(condition, self.boolean(scope, depth - 1), self.boolean(scope, depth - 1))
        operators, operand = {
            "comparison": (("<", "<=", ">", ">=", "==", "!="), self.integer),
            "equality": (("==", "!="), self.boolean),
            "logical": (("&&", "||"), self.boolean),
        }[kind]
        operator = self.draw(st.sampled_from(operators))
        below = max(depth - 1, 0)
        return ast.Binary(operator, operand(scope, below), operand(scope, below))

    # -- statements

    def body(self, scope: Scope, depth: int, weight: int = 1) -> tuple[ast.Statement, ...]:
        """`weight` says how often the body is executed at most."""
        statements: list[ast.Statement] = []
        for _ in range(self.draw(st.integers(1, 3))):
            statements += self.statement(scope, depth, weight)
        return tuple(statements)

    def statement(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        kinds = ["assign", "assign", "parallel", "assert", "assume"]
        if self.inputs >= weight:
            kinds += ["input", "input"]
        if scope.calls:
            kinds += ["call", "call"]
        if depth:
            kinds += ["if", "if", "while", "jump", "block"]
        if scope.in_loop:
            kinds.append("break")
        kind = self.draw(st.sampled_from(kinds))
        made: list[ast.Statement] = getattr(self, f"_{kind}")(scope, depth, weight)
        return made

    def _assign(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        if self.draw(st.booleans()):
            return [ast.Assignment((self._int(scope),), (self.integer(scope),))]
        return [ast.Assignment((self._bool(scope),), (self.boolean(scope),))]

    def _parallel(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        targets = (self._int(scope), self._bool(scope))
        values = (self.integer(scope, 1), self.boolean(scope, 1))
        return [ast.Assignment(targets, values)]

    def _int(self, scope: Scope) -> ast.Name:
        return ast.Name(self.draw(st.sampled_from([n for n in scope.ints if n not in ("n", "i")])))

    def _bool(self, scope: Scope) -> ast.Name:
        return ast.Name(self.draw(st.sampled_from(scope.bools)))

    def _assert(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        return [ast.Assert(self.boolean(scope))]

    def _assume(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        return [ast.AssumeStatement(ast.Binary("||", self.boolean(scope, 1), self.boolean(scope, 1)))]

    def _input(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        self.inputs -= weight
        if self.draw(st.booleans()):
            chosen = ast.Conditional(ast.Nondet(), self.boolean(scope, 1), self.boolean(scope, 1))
            return [ast.Assignment((self._bool(scope),), (chosen,))]
        target = self._int(scope)
        low = ast.Binary("<=", number(DOMAIN.start), target)
        high = ast.Binary("<=", target, number(DOMAIN.stop - 1))
        havoc = ast.Assignment((target,), (ast.Nondet(),))
        return [havoc, ast.AssumeStatement(conjunction(low, high))]

    def _call(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        name = self.draw(st.sampled_from(scope.calls))
        fuel: ast.Expression = number(self.draw(st.integers(0, 2)))
        if "n" in scope.ints:
            fuel = ast.Binary("-", ast.Name("n"), ast.Number(1))
        call = ast.Invocation(name, (fuel, self.integer(scope, 1)))
        if self.draw(st.booleans()):
            return [ast.CallStatement(call)]
        return [ast.Assignment((self._int(scope), self._bool(scope)), (call,))]

    def _if(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        otherwise = self.body(scope, depth - 1, weight) if self.draw(st.booleans()) else ()
        return [ast.If(self.boolean(scope), self.body(scope, depth - 1, weight), otherwise)]

    def _while(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        """A loop that counts to 2 in a variable of its own."""
        counter = self.fresh("i")
        condition: ast.Expression = ast.Binary("<", ast.Name(counter), ast.Number(2))
        if self.draw(st.booleans()):
            condition = conjunction(condition, self.boolean(scope, 1))
        step = ast.Binary("+", ast.Name(counter), ast.Number(1))
        body = self.body(replace(scope, in_loop=True), depth - 1, 2 * weight)
        return [
            ast.Declaration("int", (ast.Declarator(counter, ast.Number(0)),)),
            ast.While(condition, (ast.Assignment((ast.Name(counter),), (step,)), *body)),
        ]

    def _jump(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        """A jump forward over some statements."""
        label = self.fresh("L")
        jump = ast.If(self.boolean(scope, 1), (ast.Goto(label),))
        return [jump, ast.Block(self.body(scope, depth - 1, weight)), ast.Label(label), ast.Skip()]

    def _block(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        local = self.fresh("v")
        declared = ast.Declaration("int", (ast.Declarator(local, self.integer(scope, 1)),))
        inner = replace(scope, ints=(*scope.ints, local))
        return [ast.Block((declared, *self.body(inner, depth - 1, weight)))]

    def _break(self, scope: Scope, depth: int, weight: int) -> list[ast.Statement]:
        word = self.draw(st.sampled_from((ast.Break, ast.Continue)))
        return [ast.If(self.boolean(scope, 1), (word(),))]

    # -- procedures

    def procedure(self, name: str, calls: Sequence[str]) -> ast.ProcedureDefinition:
        """`int, bool name(int n, int x)`, which calls others, or itself, only with a smaller n > 0."""
        scope = Scope(("g", "h", "x", "n"), ("p", "b"))
        recursive = replace(scope, calls=tuple(calls))
        positive = ast.Binary(">", ast.Name("n"), ast.Number(0))
        body = (
            ast.Declaration("bool", (ast.Declarator("b", self.boolean(Scope(("g", "x"), ("p",)), 1)),)),
            *self.body(scope, 1, 4),
            ast.If(positive, self.body(recursive, 1, 4)),
            ast.ReturnStatement((self.integer(scope, 1), self.boolean(scope, 1))),
        )
        parameters = (ast.Parameter("int", "n"), ast.Parameter("int", "x"))
        return ast.ProcedureDefinition(("int", "bool"), name, parameters, body)

    def main(self, calls: Sequence[str]) -> ast.ProcedureDefinition:
        scope = Scope(("g", "h", "x", "y"), ("p", "b"), tuple(calls))
        declared = (
            ast.Declaration("int", (ast.Declarator("x", ast.Number(0)), ast.Declarator("y", ast.Number(1)))),
            ast.Declaration("bool", (ast.Declarator("b", ast.Truth(False)),)),
        )
        claim = ast.Assert(self.boolean(scope))
        return ast.ProcedureDefinition((), "main", (), (*declared, *self.body(scope, 2), claim))


@st.composite
def programs(draw: Callable) -> ast.ProgramText:
    writer = Writer(draw)
    names = ["f", "k"][: draw(st.integers(0, 2))]
    globals_ = (
        ast.Declaration("int", (ast.Declarator("g", number(draw(st.integers(-2, 2)))),)),
        ast.Declaration("int", (ast.Declarator("h", number(draw(st.integers(-2, 2)))),)),
        ast.Declaration("bool", (ast.Declarator("p", ast.Truth(draw(st.booleans()))),)),
    )
    main = writer.main(names)
    return ast.ProgramText((*globals_, main, *(writer.procedure(name, names) for name in names)))


# ---------------------------------------------------------------------------- any syntax trees

NAMES = st.sampled_from(["x", "y", "main", "f", "_a1", "integer", "truex"])
TYPES = st.sampled_from(["int", "bool", "real"])
LEAVES = st.one_of(
    NAMES.map(ast.Name),
    st.one_of(st.integers(0, 9), st.integers(0, 10**30)).map(ast.Number),
    st.integers(0, 10**6).map(lambda n: ast.Number(Fraction(n, 1000))),
    st.booleans().map(ast.Truth),
    st.just(ast.Nondet()),
)


def expressions() -> st.SearchStrategy[ast.Expression]:
    return st.recursive(
        LEAVES,
        lambda e: st.one_of(
            st.builds(ast.Unary, st.sampled_from("!-"), e),
            st.builds(ast.Binary, st.sampled_from(sorted(ast.PRECEDENCE)), e, e),
            st.builds(ast.Conditional, e, e, e),
            st.builds(ast.Invocation, NAMES, st.lists(e, max_size=2).map(tuple)),
        ),
        max_leaves=12,
    )


def _statements() -> st.SearchStrategy[ast.Statement]:
    values = st.lists(expressions(), min_size=1, max_size=3).map(tuple)
    declarator = st.builds(ast.Declarator, NAMES, st.none() | expressions())
    call = st.builds(ast.Invocation, NAMES, st.lists(expressions(), max_size=2).map(tuple))
    simple = st.one_of(
        st.builds(ast.Declaration, TYPES, st.lists(declarator, min_size=1, max_size=2).map(tuple)),
        st.sampled_from([ast.Skip(), ast.Break(), ast.Continue()]),
        st.builds(ast.Label, NAMES),
        st.builds(ast.Goto, NAMES),
        st.builds(ast.Assignment, st.lists(NAMES.map(ast.Name), min_size=1, max_size=3).map(tuple), values),
        st.builds(ast.CallStatement, call),
        st.builds(ast.Assert, expressions()),
        st.builds(ast.AssumeStatement, expressions()),
        st.builds(ast.ReturnStatement, st.just(()) | values),
    )
    return st.recursive(
        simple,
        lambda s: st.one_of(
            st.builds(ast.Block, _bodies(s)),
            st.builds(ast.While, expressions(), _bodies(s).map(_without_braces)),
            st.builds(
                ast.If, expressions(), _bodies(s).map(_without_braces), _bodies(s).map(_without_braces)
            ),
        ),
        max_leaves=6,
    )


def _bodies(statement: st.SearchStrategy[ast.Statement]) -> st.SearchStrategy[tuple[ast.Statement, ...]]:
    return st.lists(statement, max_size=3).map(tuple)


def _without_braces(body: tuple[ast.Statement, ...]) -> tuple[ast.Statement, ...]:
    """Braces around the whole body of an `if` or `while` leave no trace in a syntax tree."""
    while len(body) == 1 and isinstance(body[0], ast.Block):
        body = body[0].body
    return body


def syntax_trees() -> st.SearchStrategy[ast.ProgramText]:
    declarator = st.builds(ast.Declarator, NAMES, st.none() | expressions())
    declaration = st.builds(ast.Declaration, TYPES, st.lists(declarator, min_size=1, max_size=3).map(tuple))
    procedure = st.builds(
        ast.ProcedureDefinition,
        st.lists(TYPES, max_size=3).map(tuple),
        NAMES,
        st.lists(st.builds(ast.Parameter, TYPES, NAMES), max_size=3).map(tuple),
        _bodies(_statements()),
    )
    return st.lists(declaration | procedure, max_size=3).map(lambda units: ast.ProgramText(tuple(units)))
