"""Translate executions into formulas: the checker's own translation, independent of the engines'.

A `Flow` represents the executions that reach some place: its `literal` is true of them, and `values` are the
variables there, as terms. The formula of a goal consists of the definitions that its literals depend on.

Soundness: definitions are implications from a literal to its meaning. Every execution satisfies all of them,
if each literal is true exactly when the execution reaches its place. So if a goal is unsatisfiable, no
execution reaches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from certus.core import build
from certus.core.terms import BOOL, Expr
from certus.core.walk import variables


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """The executions that reach some place: a literal, and the values of variables there."""

    literal: Expr
    values: Mapping[Expr, Expr]


@dataclass(frozen=True, slots=True)
class Clause:
    """A proof obligation: the conjunction of `formulas` is unsatisfiable. `title` names the claim, `cause`
    the reason for UNKNOWN if it is refuted."""

    title: str
    formulas: tuple[Expr, ...]
    cause: str = "proof-refuted"


@dataclass(slots=True)
class Formula:
    """The definitions of literals: one formula under construction."""

    meanings: dict[Expr, list[Expr]] = field(default_factory=dict)  # literal -> its implications
    _numbers: count[int] = field(default_factory=count)

    def assume(self, flow: Flow, *conditions: Expr) -> Flow | None:
        """Return the part of a flow that satisfies conditions over its values; None if there is none."""
        parts = [c for c in conditions if c is not build.TRUE]
        if build.FALSE in parts:
            return None
        if not parts:
            return flow
        literal = self.literal()
        self.meanings[literal] = [flow.literal, *parts]
        return Flow(literal, flow.values)

    def merge(self, flows: Sequence[Flow], *, only: Sequence[Expr] | None = None) -> Flow:
        """Return the union of flows. `only` lists the variables to keep; by default all are kept."""
        if len(flows) == 1:
            return flows[0]
        selectors = [self.literal() for _ in flows]
        literal = self.literal()
        self.meanings[literal] = [build.disjunction(selectors)]
        names = dict.fromkeys(x for flow in flows for x in flow.values) if only is None else only
        values: dict[Expr, Expr] = {}
        parts: list[list[Expr]] = [[flow.literal] for flow in flows]
        for x in names:
            choices = [flow.values.get(x, x) for flow in flows]
            if all(choice is choices[0] for choice in choices):
                values[x] = choices[0]
                continue
            values[x] = self.fresh(x)
            for part, choice in zip(parts, choices, strict=True):
                part.append(build.eq(values[x], choice))
        for selector, part in zip(selectors, parts, strict=True):
            self.meanings[selector] = part
        return Flow(literal, values)

    def havoc(self, flow: Flow, names: Iterable[Expr]) -> Flow:
        """Return the flow with arbitrary values for some variables."""
        return Flow(flow.literal, {**flow.values, **{x: self.fresh(x) for x in names}})

    def clause(self, title: str, flow: Flow, conclusion: Expr = build.FALSE) -> Clause | None:
        """Return the obligation that `conclusion`, over the values of the flow, holds; None if trivial."""
        refuted = build.not_(conclusion)
        if refuted is build.FALSE or flow.literal is build.FALSE:
            return None
        return Clause(title, (*self.definitions(flow.literal), flow.literal, refuted))

    def definitions(self, *literals: Expr) -> list[Expr]:
        """Return the definitions that the literals depend on."""
        done: dict[Expr, None] = {}
        implications: list[Expr] = []
        stack = list(literals)
        while stack:
            literal = stack.pop()
            if literal in done or literal not in self.meanings:
                continue
            done[literal] = None
            for meaning in self.meanings[literal]:
                implications.append(build.implies(literal, meaning))
                stack.extend(x for x in variables(meaning) if x.sort is BOOL)
        return implications

    def literal(self) -> Expr:
        """Return a new literal."""
        return build.var(f"@{next(self._numbers)}", BOOL)

    def fresh(self, variable: Expr) -> Expr:
        """Return a new variable for an arbitrary value of `variable`."""
        return build.var(f"{variable.name}@{next(self._numbers)}", variable.sort)
