"""Executions as formulas: the checker's own translation, independent of the engines'.

A `Flow` says that control comes to some place: `literal` implies it, `values` are the variables
there, as terms. Everything a literal implies is kept with it, so the formula for a goal consists of
just what the goal's literals depend on. Implications go one way only: an execution satisfies them
all when each literal is true exactly if control comes there, so if a goal is unsatisfiable no
execution reaches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from certus.core import build
from certus.core.sorts import BOOL
from certus.core.terms import Expr
from certus.core.walk import variables


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """Control at some place of a formula."""

    literal: Expr
    values: Mapping[Expr, Expr]


@dataclass(frozen=True, slots=True)
class Clause:
    """A claim of a proof: `formulas` together have no model. `title` says what is claimed."""

    title: str
    formulas: tuple[Expr, ...]


@dataclass(slots=True)
class Formula:
    """The definitions of literals, one formula under construction."""

    meanings: dict[Expr, list[Expr]] = field(default_factory=dict)  # literal -> what it implies
    _numbers: count[int] = field(default_factory=count)

    def assume(self, flow: Flow, *conditions: Expr) -> Flow | None:
        """The part of a flow where the conditions, already over its values, hold; None if there is none."""
        parts = [c for c in conditions if c is not build.TRUE]
        if build.FALSE in parts:
            return None
        if not parts:
            return flow
        literal = self.literal()
        self.meanings[literal] = [flow.literal, *parts]
        return Flow(literal, flow.values)

    def merge(self, flows: Sequence[Flow], *, only: Sequence[Expr] | None = None) -> Flow:
        """Control comes by one of the flows. `only`: the variables that matter; without it all do."""
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
        """The flow with arbitrary values for the given variables."""
        return Flow(flow.literal, {**flow.values, **{x: self.fresh(x) for x in names}})

    def clause(self, title: str, flow: Flow, conclusion: Expr = build.FALSE) -> Clause | None:
        """The claim that `conclusion`, already over the values of the flow, holds if control comes by it."""
        refuted = build.not_(conclusion)
        if refuted is build.FALSE or flow.literal is build.FALSE:
            return None
        return Clause(title, (*self.definitions(flow.literal), flow.literal, refuted))

    def definitions(self, *literals: Expr) -> list[Expr]:
        """All that the literals imply, as implications."""
        done: dict[Expr, None] = {}
        found: list[Expr] = []
        stack = list(literals)
        while stack:
            literal = stack.pop()
            if literal in done or literal not in self.meanings:
                continue
            done[literal] = None
            for meaning in self.meanings[literal]:
                found.append(build.implies(literal, meaning))
                stack.extend(x for x in variables(meaning) if x.sort is BOOL)
        return found

    def literal(self) -> Expr:
        return build.var(f"@{next(self._numbers)}", BOOL)

    def fresh(self, variable: Expr) -> Expr:
        return build.var(f"{variable.name}@{next(self._numbers)}", variable.sort)
