"""A naive interpreter of syntax trees: a second definition of the small language.

It shares nothing with the front end but the syntax tree: variables are looked up by name, `&&`, `||` and
`?:` evaluate only what C would, and control flow is Python's own.

    outcome(tree, inputs, "unreach-call")    ->   "end", or the stretch of text where the error is
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from certus.frontend.lp import ast

Outcome = str | tuple[int, int]


class _Ended(Exception):
    pass


class _Violated(Exception):
    pass


class _Jump(Exception):
    pass


class _Return(Exception):
    pass


def outcome(tree: ast.ProgramText, inputs: Iterator[tuple[int, bool]], property_name: str) -> Outcome:
    """How the run with these inputs ends; each input is given as an integer and as a bool."""
    interpreter = Interpreter(tree, inputs, property_name)
    try:
        interpreter.call("main", ())
    except _Ended:
        return "end"
    except _Violated as violated:
        start, end = violated.args
        return start, end
    return "end"


class Interpreter:
    def __init__(self, tree: ast.ProgramText, inputs: Iterator[tuple[int, bool]], property_name: str) -> None:
        self.inputs = inputs
        self.property_name = property_name
        self.procedures = {u.name: u for u in tree.units if isinstance(u, ast.ProcedureDefinition)}
        self.globals: dict[str, Any] = {}
        for unit in tree.units:
            if isinstance(unit, ast.Declaration):
                for d in unit.declarators:
                    assert d.value is not None
                    self.globals[d.name] = self.value(d.value, {}, unit.type)

    # -- expressions

    def value(self, node: ast.Expression, local: dict[str, Any], kind: str) -> Any:
        match node:
            case ast.Name(name):
                return local[name] if name in local else self.globals[name]
            case ast.Number(value) | ast.Truth(value):
                return value
            case ast.Nondet():
                return next(self.inputs)[kind == "bool"]
            case ast.Unary("!", operand):
                return not self.value(operand, local, "bool")
            case ast.Unary(_, operand):
                return -self.value(operand, local, "int")
            case ast.Conditional(condition, then, otherwise):
                chosen = then if self.value(condition, local, "bool") else otherwise
                return self.value(chosen, local, kind)
            case ast.Binary("&&", left, right):
                return self.value(left, local, "bool") and self.value(right, local, "bool")
            case ast.Binary("||", left, right):
                return self.value(left, local, "bool") or self.value(right, local, "bool")
        assert isinstance(node, ast.Binary)
        left, right = self.value(node.left, local, "int"), self.value(node.right, local, "int")
        return self.operation(node, left, right)

    def operation(self, node: ast.Binary, a: Any, b: Any) -> Any:
        if node.operator in "/%":
            if b == 0:
                self.violation("no-div-zero", node)
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return quotient if node.operator == "/" else a - b * quotient
        table = {
            "+": a + b,
            "-": a - b,
            "*": a * b,
            "<": a < b,
            "<=": a <= b,
            ">": a > b,
            ">=": a >= b,
            "==": a == b,
            "!=": a != b,
        }
        return table[node.operator]

    def violation(self, property_name: str, node: ast.Node) -> None:
        if self.property_name == property_name:
            raise _Violated(node.start, node.end)
        raise _Ended

    # -- statements

    def call(self, name: str, arguments: Sequence[Any]) -> tuple[Any, ...]:
        unit = self.procedures[name]
        local = {p.name: a for p, a in zip(unit.parameters, arguments, strict=True)}
        try:
            self.run(unit.body, local)
        except _Return as returned:
            results: tuple[Any, ...] = returned.args
            return results
        return ()

    def run(self, body: Sequence[ast.Statement], local: dict[str, Any]) -> None:
        at = 0
        while at < len(body):
            try:
                self.step(body[at], local)
                at += 1
            except _Jump as jump:
                labels = [i for i, s in enumerate(body) if s == ast.Label(jump.args[0])]
                if not labels:
                    raise
                at = labels[0]

    def step(self, statement: ast.Statement, local: dict[str, Any]) -> None:
        match statement:
            case ast.Declaration(kind, declarators):
                for d in declarators:
                    assert d.value is not None
                    local[d.name] = self.value(d.value, local, kind)
            case ast.Assignment(targets, values):
                self.assign(targets, values, local)
            case ast.CallStatement(call):
                self.invoke(call, local)
            case ast.Block(body):
                self.run(body, local)
            case ast.If(condition, then, otherwise):
                self.run(then if self.value(condition, local, "bool") else otherwise, local)
            case ast.While():
                self.loop(statement, local)
            case ast.Goto(label):
                raise _Jump(label)
            case ast.Break():
                raise _Jump("break")
            case ast.Continue():
                raise _Jump("continue")
            case ast.Assert(condition):
                if not self.value(condition, local, "bool"):
                    self.violation("unreach-call", statement)
            case ast.AssumeStatement(condition):
                if not self.value(condition, local, "bool"):
                    raise _Ended
            case ast.ReturnStatement(values):
                raise _Return(*(self.value(v, local, "int") for v in values))

    def loop(self, statement: ast.While, local: dict[str, Any]) -> None:
        while self.value(statement.condition, local, "bool"):
            try:
                self.run(statement.body, local)
            except _Jump as jump:
                if jump.args[0] == "break":
                    return
                if jump.args[0] != "continue":
                    raise

    def invoke(self, call: ast.Invocation, local: dict[str, Any]) -> tuple[Any, ...]:
        return self.call(call.procedure, [self.value(a, local, "int") for a in call.arguments])

    def assign(
        self, targets: Sequence[ast.Name], values: Sequence[ast.Expression], local: dict[str, Any]
    ) -> None:
        computed: Sequence[Any]
        if isinstance(values[0], ast.Invocation):
            computed = self.invoke(values[0], local)
        else:
            kinds = ["bool" if t.name in ("p", "b") else "int" for t in targets]
            computed = [self.value(v, local, k) for v, k in zip(values, kinds, strict=True)]
        for target, value in zip(targets, computed, strict=True):
            (local if target.name in local else self.globals)[target.name] = value
