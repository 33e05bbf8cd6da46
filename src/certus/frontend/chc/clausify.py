"""Convert assertions to Horn clauses.

The disjunctions of an assertion in conjunctive normal form are its clauses. Only formulas with a relation or
a quantifier are decomposed; all others are constraints. A quantifier that is universal for the assertion
(also an `exists` in a body) adds variables to its clause. A clause with more than one positive relation, or
with a quantifier of the other kind, is not a Horn clause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from certus.core import build
from certus.core.errors import CertusError
from certus.core.horn import Clause
from certus.core.terms import BOOL, Expr, Function, Kind, Sort
from certus.core.walk import QUANTIFIERS, instantiate, postorder, variables

_MOST: Final = 20_000  # most clauses of one assertion

Literal = tuple[Expr, bool]  # a formula, and whether it is positive


class NotHorn(CertusError):
    """The assertion is not a set of Horn clauses; the message is a sentence."""


class Clausifier:
    """A converter of assertions. `fresh` creates a variable, `names` has the variables of quantifiers."""

    def __init__(
        self,
        relations: Mapping[Function, None],
        names: Mapping[Expr, tuple[str, ...]],
        fresh: Callable[[str, Sort], Expr],
    ) -> None:
        self._relations: Final = relations
        self._names: Final = names
        self._fresh: Final = fresh
        self._plain: Final[dict[Expr, bool]] = {}

    def clauses(self, assertion: Expr, free: tuple[Expr, ...]) -> list[Clause]:
        """Return the clauses of an assertion over the universal variables `free`."""
        clauses: list[Clause] = []
        waiting: list[tuple[list[Literal], list[Literal]]] = [([(assertion, True)], [])]
        while waiting:
            pending, done = waiting.pop()
            while pending:
                parts = self._parts(*pending[-1])
                if parts is None:
                    done.append(pending.pop())
                    continue
                pending.pop()
                if len(parts) + len(waiting) + len(clauses) > _MOST:
                    raise NotHorn(f"This assertion has more than {_MOST} clauses.")
                for other in reversed(parts[1:]):
                    waiting.append(([*pending, *reversed(other)], list(done)))
                if not parts:
                    break  # one of its disjuncts is true
                pending.extend(reversed(parts[0]))
            else:
                clause = self._clause(done, free)
                if clause is not None:
                    clauses.append(clause)
        return clauses

    def _is_plain(self, formula: Expr) -> bool:
        """Tell whether a formula has neither relations nor quantifiers."""
        plain = self._plain
        if formula not in plain:
            for term in postorder(formula):
                if term not in plain:
                    own = term.kind in QUANTIFIERS or (
                        term.kind is Kind.APPLY and term.function in self._relations
                    )
                    plain[term] = not own and all(plain[a] for a in term.args)
        return plain[formula]

    def _parts(self, formula: Expr, holds: bool) -> list[list[Literal]] | None:
        """Return a literal as a conjunction of disjunctions; None if it is not decomposed."""
        kind, args = formula.kind, formula.args
        if self._is_plain(formula):
            return None
        if kind is Kind.NOT:
            return [[(args[0], not holds)]]
        if kind in (Kind.AND, Kind.OR):
            literals = [(a, holds) for a in args]
            return [[each] for each in literals] if (kind is Kind.AND) == holds else [literals]
        if kind is Kind.ITE and formula.sort is BOOL:
            condition, then, otherwise = args
            return [[(condition, False), (then, holds)], [(condition, True), (otherwise, holds)]]
        if kind is Kind.EQ and args[0].sort is BOOL:
            a, b = args
            return [[(a, False), (b, holds)], [(a, True), (b, not holds)]]
        if kind in QUANTIFIERS:
            return [[(self._instance(formula, holds), holds)]]
        if kind is Kind.APPLY and all(map(self._is_plain, args)):
            return None
        raise NotHorn("A relation inside a term is not allowed in a Horn clause.")

    def _instance(self, formula: Expr, holds: bool) -> Expr:
        if (formula.kind is Kind.FORALL) != holds:
            word = "forall" if formula.kind is Kind.FORALL else "exists"
            place = "head" if holds else "body"
            raise NotHorn(f"`{word}` in the {place} of a clause is not supported.")
        names = self._names.get(formula) or tuple("q" for _ in formula.bound_sorts)
        own = [self._fresh(n, s) for n, s in zip(names, formula.bound_sorts, strict=True)]
        return instantiate(formula, own)

    def _clause(self, literals: list[Literal], free: tuple[Expr, ...]) -> Clause | None:
        """Return the clause of a disjunction; None if it is trivially true."""
        heads: dict[Expr, None] = {}
        body: dict[Expr, None] = {}
        constraint: list[Expr] = []
        for formula, holds in literals:
            if self._is_plain(formula):
                constraint.append(build.not_(formula) if holds else formula)
            elif holds:
                heads[formula] = None
            else:
                body[formula] = None
        if len(heads) > 1:
            shown = " and ".join(f"`{h.function.name}`" for h in list(heads)[:2])
            raise NotHorn(f"This clause is not Horn: it has more than one head, {shown}.")
        condition = build.conjunction(constraint)
        head = next(iter(heads), None)
        if condition is build.FALSE or (head is not None and head in body):
            return None
        occurring = dict.fromkeys(variables(condition, *body, *heads))
        named = [x for x in free if x in occurring]
        declared = set(free)
        others = [x for x in occurring if x not in declared]
        return Clause((*named, *others), tuple(body), condition, head)
