"""Lower the syntax tree of a procedure to its control-flow graph, and check it.

A statement becomes a few steps between two nodes: its inputs (`Havoc`), its divisions (each divisor is not
zero), and the statement itself. Under the property `unreach-call` a division by zero ends the execution;
under `no-div-zero` it is the error, and a failing assertion or a reached `ERROR` label ends the execution
instead.

Nested blocks use a stack of pending work instead of recursion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import Final

from certus.core import build
from certus.core.program import Assign, Assume, Call, Havoc, Return
from certus.core.terms import BOOL, INT, Expr, Sort
from certus.frontend.lp import ast
from certus.frontend.lp.draft import TreeDraft
from certus.frontend.lp.expressions import Arguments, Elaborated, Elaborator, type_name
from certus.frontend.lp.messages import Findings
from certus.frontend.lp.scope import ProcedureScope
from certus.frontend.lp.symbols import SORTS, Symbols

UNREACH_CALL: Final = "unreach-call"
NO_DIV_ZERO: Final = "no-div-zero"
ERROR_LABEL: Final = "ERROR"
_TEXT_LIMIT: Final = 500
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def one_line(text: str) -> str:
    """Return source text without comments and line breaks, truncated if it is long."""
    text = " ".join(_COMMENT.sub(" ", text).split())
    return text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 3] + "..."


def plural(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'s' if count > 1 else ''}"


class Lowering:
    """The lowering of one procedure. After `run`, `draft` is its graph and `scope` has its variables; the
    body goes from the node `body_start` to `body_end`."""

    def __init__(
        self, unit: ast.ProcedureDefinition, symbols: Symbols, findings: Findings, property_name: str
    ) -> None:
        self.unit = unit
        self.draft = TreeDraft(unit, findings.source)
        self.scope = ProcedureScope(unit, symbols, findings)
        self.results = tuple(
            build.var(f"{unit.name}.$result{i}", SORTS[kind]) for i, kind in enumerate(unit.results)
        )
        self.body_start = self.draft.node()
        self.body_end = self.draft.node()
        self._symbols = symbols
        self._findings = findings
        self._property = property_name
        self._expressions = Elaborator(self.scope, findings)
        self._labels: dict[str, int] = {}
        self._loops: list[tuple[int, int]] = []  # head and exit of the loops around the statement
        self._todo: list[Callable[[], None]] = []

    def run(self) -> None:
        self._collect_labels()
        self.draft.skip(TreeDraft.ENTRY, self.body_start)
        self._fall_off_the_end()
        self._body(self.unit.body, self.body_start, self.body_end)
        while self._todo:
            self._todo.pop()()

    def _fall_off_the_end(self) -> None:
        """Lead control from the end of the body to the exit; results without `return` are
        nondeterministic."""
        if self.results:
            brace = ast.Node(start=self.unit.end - 1, end=self.unit.end)
            text = f"return {', '.join('*' for _ in self.results)};"
            op = Havoc(self.results)
            self.draft.step(self.body_end, op, TreeDraft.EXIT, brace, text, order=TreeDraft.LAST)
        else:
            self.draft.skip(self.body_end, TreeDraft.EXIT)

    def _collect_labels(self) -> None:
        for statement in _statements(self.unit.body):
            if isinstance(statement, ast.Label):
                if statement.name in self._labels:
                    message = f"The label `{statement.name}` occurs twice in `{self.unit.name}`."
                    hint = "Rename one of them."
                    self._findings.error("duplicate-label", message, statement.start, statement.end, hint)
                self._labels[statement.name] = self.draft.node()

    def _text(self, start: int, end: int) -> str:
        return one_line(self._findings.source.text[start:end])

    # ------------------------------------------------------------------------ structure

    def _later(self, step: Callable[[*Arguments], None], *arguments: *Arguments) -> None:
        self._todo.append(partial(step, *arguments))

    def _body(self, statements: Sequence[ast.Statement], at: int, after: int) -> None:
        """Lower the statements of a block in a scope of their own."""
        self.scope.enter()
        self._later(self.scope.leave)
        if not statements:
            self.draft.skip(at, after)
        target = after
        for statement in reversed(statements[1:]):
            source = self.draft.node()
            self._later(self._statement, statement, source, target)
            target = source
        if statements:
            self._later(self._statement, statements[0], at, target)

    def _statement(self, statement: ast.Statement, at: int, after: int) -> None:
        _CASES[type(statement)](self, statement, at, after)

    def _skip(self, _: ast.Skip, at: int, after: int) -> None:
        self.draft.skip(at, after)

    def _block(self, block: ast.Block, at: int, after: int) -> None:
        self._body(block.body, at, after)

    def _label(self, label: ast.Label, at: int, after: int) -> None:
        node = self._labels[label.name]
        self.draft.skip(at, node)
        if label.name != ERROR_LABEL:
            self.draft.skip(node, after)
            return
        self.draft.end(node, label)
        if self._property == UNREACH_CALL:
            self.draft.claim(node, "error-label", label, label.name)

    def _goto(self, goto: ast.Goto, at: int, after: int) -> None:
        node = self._labels.get(goto.label)
        if node is None:
            message = f"There is no label `{goto.label}` in `{self.unit.name}`."
            hint = f"Add `{goto.label}:` before a statement, or check its spelling."
            self._findings.error("unknown-label", message, goto.start, goto.end, hint)
        else:
            self.draft.goto(at, node, goto)

    def _break(self, statement: ast.Break | ast.Continue, at: int, after: int) -> None:
        if not self._loops:
            word = "break" if isinstance(statement, ast.Break) else "continue"
            message, hint = f"`{word}` is outside of any loop.", "Remove it, or use `goto` or `return`."
            self._findings.error(f"misplaced-{word}", message, statement.start, statement.end, hint)
            return
        head, end = self._loops[-1]
        self.draft.skip(at, end if isinstance(statement, ast.Break) else head)

    def _if(self, statement: ast.If, at: int, after: int) -> None:
        then, otherwise = self.draft.node(), self.draft.node()
        self._branch(statement, at, then, otherwise)
        self._later(self._body, statement.otherwise, otherwise, after)
        self._later(self._body, statement.then, then, after)

    def _while(self, statement: ast.While, at: int, after: int) -> None:
        body = self.draft.node()
        self.draft.loop(at, statement)
        self._branch(statement, at, body, after)
        self._loops.append((at, after))
        self._later(self._leave_loop)
        self._later(self._body, statement.body, body, at)

    def _leave_loop(self) -> None:
        self._loops.pop()

    def _branch(self, statement: ast.If | ast.While, at: int, then: int, otherwise: int) -> None:
        header = ast.Node(start=statement.start, end=statement.header)
        text = self._text(header.start, header.end)
        (condition,), at = self._values(header, [(statement.condition, BOOL)], at)
        self.draft.step(at, Assume(condition), then, header, text, branch=True)
        self.draft.step(at, Assume(build.not_(condition)), otherwise, header, text, branch=False)

    # ------------------------------------------------------------------- values and divisions

    def _values(
        self, node: ast.Node, parts: Sequence[tuple[ast.Expression, Sort]], at: int
    ) -> tuple[list[Expr], int]:
        """Return the terms of the expressions of a statement, and the node where they can be used."""
        self.scope.begin_statement()
        values = [self._expressions.elaborate(expression, sort) for expression, sort in parts]
        if self.scope.reads:
            self.draft.reads[at] = self.scope.reads
        if self.scope.inputs:
            text = ", ".join(v.name.partition(".")[2] for v in self.scope.inputs)
            stars = ", ".join("*" for _ in self.scope.inputs)
            at = self._step(at, Havoc(tuple(self.scope.inputs)), node, f"{text} = {stars};")
        return [value.term for value in values], self._divide(node, values, at)

    def _step(self, at: int, op: Assume | Havoc, node: ast.Node, text: str) -> int:
        after = self.draft.node()
        self.draft.step(at, op, after, node, text)
        return after

    def _divide(self, node: ast.Node, values: Sequence[Elaborated], at: int) -> int:
        """Assume or check, depending on the property, that no divisor is zero."""
        divisions = [d for value in values for d in value.divisions if d[1] is not build.TRUE]
        claims = [f"{self._text(d.right.start, d.right.end)} != 0" for d, _ in divisions]
        if divisions and self._property == UNREACH_CALL:
            guard = build.conjunction(guard for _, guard in divisions)
            return self._step(at, Assume(guard), node, f"assume({' && '.join(dict.fromkeys(claims))});")
        for (division, guard), claim in zip(divisions, claims, strict=True):
            after = self.draft.node()
            self._check(division, guard, at, after, ("division-by-zero", claim))
            at = after
        return at

    def _check(self, node: ast.Node, claim: Expr, at: int, after: int, error: tuple[str, str]) -> None:
        """Continue where the claim is true; lead to an error, with kind and text, where it is not."""
        text = self._text(node.start, node.end)
        failed = self.draft.node()
        self.draft.claim(failed, error[0], node, error[1], start=at)
        self.draft.step(at, Assume(claim), after, node, text, branch=True)
        self.draft.step(at, Assume(build.not_(claim)), failed, node, text, branch=False)

    # ----------------------------------------------------------------------- simple statements

    def _assert(self, statement: ast.Assert, at: int, after: int) -> None:
        (claim,), at = self._values(statement, [(statement.condition, BOOL)], at)
        if self._property == UNREACH_CALL:
            claimed = self._text(statement.condition.start, statement.condition.end)
            self._check(statement, claim, at, after, ("assertion", claimed))
        else:
            text = self._text(statement.start, statement.end)
            self.draft.step(at, Assume(claim), after, statement, text)

    def _assume(self, statement: ast.AssumeStatement, at: int, after: int) -> None:
        (condition,), at = self._values(statement, [(statement.condition, BOOL)], at)
        text = self._text(statement.start, statement.end)
        self.draft.step(at, Assume(condition), after, statement, text)

    def _declaration(self, declaration: ast.Declaration, at: int, after: int) -> None:
        sort = SORTS[declaration.type]
        text = self._text(declaration.start, declaration.end)
        plain: list[Expr] = []  # consecutive variables without a value
        for declarator in declaration.declarators:
            if declarator.value is None:
                plain.append(self.scope.declare(declarator.name, sort, declarator.start))
                continue
            at = self._without_value(declaration, plain, at, text)
            plain = []
            node = self.draft.node()
            self._initialise(declarator, declarator.value, sort, at, node)
            at = node
        self.draft.skip(self._without_value(declaration, plain, at, text), after)

    def _without_value(self, node: ast.Node, plain: Sequence[Expr], at: int, text: str) -> int:
        if not plain:
            return at
        after = self.draft.node()
        self.draft.step(at, Havoc(tuple(plain)), after, node, text, declares=True)
        return after

    def _initialise(
        self, declarator: ast.Declarator, value: ast.Expression, sort: Sort, at: int, after: int
    ) -> None:
        """Lower `int x = value;`, where `value` is outside the scope of the variable."""
        text = f"{self._text(declarator.start, declarator.end)};"
        if isinstance(value, ast.Invocation):
            target = self.scope.pending(declarator.name, sort)
            self._invoke(declarator, value, [(declarator, target)], at, after)
            self.scope.declare(declarator.name, sort, declarator.start)
            return
        if isinstance(value, ast.Nondet):
            target = self.scope.declare(declarator.name, sort, declarator.start)
            self.draft.step(at, Havoc((target,)), after, declarator, text)
            return
        (term,), at = self._values(declarator, [(value, sort)], at)
        target = self.scope.declare(declarator.name, sort, declarator.start)
        self.draft.step(at, Assign((target,), (term,)), after, declarator, text)

    def _assignment(self, statement: ast.Assignment, at: int, after: int) -> None:
        targets = self._targets(statement.targets)
        values = statement.values
        if len(values) == 1 and isinstance(values[0], ast.Invocation):
            self._invoke(statement, values[0], list(zip(statement.targets, targets, strict=True)), at, after)
            return
        if len(values) != len(targets):
            left, right = plural(len(targets), "variable"), plural(len(values), "value")
            message = f"The left-hand side has {left}, but the right-hand side {right}."
            hint = "Write one value for each variable."
            self._findings.error("wrong-arity", message, statement.start, statement.end, hint)
        text = self._text(statement.start, statement.end)
        declared = tuple(target for target in targets if target is not None)
        if all(isinstance(value, ast.Nondet) for value in values):
            self.draft.step(at, Havoc(declared), after, statement, text)
            return
        parts = [
            (value, target.sort if target is not None else self._expressions.natural_sort(value) or INT)
            for value, target in zip_longest(values, targets[: len(values)])
        ]
        terms, at = self._values(statement, parts, at)
        self.draft.step(at, Assign(declared, tuple(terms)), after, statement, text)

    def _targets(self, names: Sequence[ast.Name]) -> list[Expr | None]:
        """Return the targets of an assignment; None for those that are not declared."""
        seen: set[str] = set()
        for name in names:
            if name.name in seen:
                message = f"`{name.name}` occurs twice on the left-hand side."
                hint = "Assign to each variable once."
                self._findings.error("repeated-target", message, name.start, name.end, hint)
            seen.add(name.name)
        return [self.scope.target(name) for name in names]

    def _call(self, statement: ast.CallStatement, at: int, after: int) -> None:
        self._invoke(statement, statement.call, None, at, after)

    def _invoke(
        self,
        statement: ast.Node,
        call: ast.Invocation,
        targets: Sequence[tuple[ast.Node, Expr | None]] | None,
        at: int,
        after: int,
    ) -> None:
        """Lower `targets = call`, each target with its position; without targets the results are not used."""
        signature = self._symbols.signatures.get(call.procedure)
        if signature is None:
            message = f"There is no procedure `{call.procedure}`."
            name_end = call.start + len(call.procedure)
            hint = "Define it, or check its spelling."
            self._findings.error("undeclared-procedure", message, call.start, name_end, hint)
            return
        if len(call.arguments) != len(signature.parameters):
            takes, passed = plural(len(signature.parameters), "argument"), len(call.arguments) or "none"
            message = f"`{call.procedure}` takes {takes}, but this call passes {passed}."
            hint = "Pass one argument for each parameter."
            self._findings.error("wrong-arity", message, call.start, call.end, hint)
        parts = list(zip(call.arguments, signature.parameters, strict=False))
        arguments, at = self._values(statement, parts, at)
        if targets is None:
            targets = [(call, self.scope.fresh(sort)) for sort in signature.results]
        self._check_results(call, signature.results, targets)
        text = self._text(statement.start, statement.end).removesuffix(";") + ";"
        declared = tuple(target for _, target in targets if target is not None)
        self.draft.step(at, Call(call.procedure, tuple(arguments), declared), after, statement, text)

    def _check_results(
        self,
        call: ast.Invocation,
        results: Sequence[Sort],
        targets: Sequence[tuple[ast.Node, Expr | None]],
    ) -> None:
        name = call.procedure
        if len(results) != len(targets):
            returns, wanted = plural(len(results), "value"), plural(len(targets), "variable")
            message = f"`{name}` returns {returns}, but the left-hand side has {wanted}."
            hint = "Write one variable for each value."
            self._findings.error("wrong-arity", message, call.start, call.end, hint)
        for sort, (place, target) in zip(results, targets, strict=False):
            if target is not None and target.sort is not sort:
                kinds = f"{type_name(target.sort)}, but `{name}` returns {type_name(sort)}"
                message, hint = f"This variable is {kinds}.", "Use a variable of the same type."
                self._findings.error("type-mismatch", message, place.start, place.end, hint)

    def _return(self, statement: ast.ReturnStatement, at: int, after: int) -> None:
        sorts = self._symbols.signatures[self.unit.name].results
        values = statement.values
        if len(values) == 1 and isinstance(values[0], ast.Invocation):
            self.scope.invocation(values[0])
            return
        if len(values) != len(sorts):
            returns, actual = plural(len(sorts), "value"), len(values) or "none"
            message = f"`{self.unit.name}` returns {returns}, but this statement returns {actual}."
            hint = "Return as many values as the procedure declares."
            self._findings.error("wrong-arity", message, statement.start, statement.end, hint)
        parts = list(zip(values, [*sorts, *(INT for _ in values)], strict=False))
        terms, at = self._values(statement, parts, at)
        text = self._text(statement.start, statement.end)
        self.draft.step(at, Return(tuple(terms)), TreeDraft.EXIT, statement, text)


def _statements(body: Sequence[ast.Statement]) -> Iterator[ast.Statement]:
    """Yield all statements of a body, including nested ones, in source order."""
    stack = list(reversed(body))
    while stack:
        statement = stack.pop()
        yield statement
        if isinstance(statement, ast.If):
            stack += [*reversed(statement.otherwise), *reversed(statement.then)]
        elif isinstance(statement, (ast.While, ast.Block)):
            stack += reversed(statement.body)


_CASES: Final[dict[type, Callable[..., None]]] = {
    ast.Declaration: Lowering._declaration,
    ast.Skip: Lowering._skip,
    ast.Block: Lowering._block,
    ast.Label: Lowering._label,
    ast.Assignment: Lowering._assignment,
    ast.CallStatement: Lowering._call,
    ast.If: Lowering._if,
    ast.While: Lowering._while,
    ast.Goto: Lowering._goto,
    ast.Break: Lowering._break,
    ast.Continue: Lowering._break,
    ast.Assert: Lowering._assert,
    ast.AssumeStatement: Lowering._assume,
    ast.ReturnStatement: Lowering._return,
}
