"""Values of variables that follow from the conjuncts of a formula."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from certus.core import build
from certus.core.terms import Expr, Kind
from certus.core.walk import substitute, variables


def bindings(parts: Iterable[Expr], wanted: Callable[[Expr], bool] = lambda _: True) -> dict[Expr, Expr]:
    """Return the values of `wanted` variables that follow if all the parts are true. No variable with a value
    occurs in a value."""
    chosen: dict[Expr, Expr] = {}
    for part in parts:
        for variable, value in _readings(part):
            if wanted(variable) and variable not in chosen and not _leads_to(value, variable, chosen):
                chosen[variable] = value
                break
    resolved: dict[Expr, Expr] = {}
    for root in chosen:
        stack = [root]
        while stack:
            inside = [x for x in variables(chosen[stack[-1]]) if x in chosen]
            missing = [x for x in inside if x not in resolved]
            if missing and stack[-1] not in resolved:
                stack.extend(missing)
                continue
            top = stack.pop()
            if top not in resolved:
                resolved[top] = substitute(chosen[top], {x: resolved[x] for x in inside})
    return resolved


def _readings(part: Expr) -> Iterator[tuple[Expr, Expr]]:
    """Yield each reading of a conjunct as the value of a variable."""
    if part.kind is Kind.VAR:
        yield part, build.TRUE
    elif part.kind is Kind.NOT and part.args[0].kind is Kind.VAR:
        yield part.args[0], build.FALSE
    elif part.kind is Kind.EQ:
        for one, other in (part.args, part.args[::-1]):
            if one.kind is Kind.VAR:
                yield one, other


def _leads_to(value: Expr, variable: Expr, chosen: dict[Expr, Expr]) -> bool:
    """Return whether a value depends on the variable, directly or through the values chosen so far."""
    seen: set[Expr] = set()
    stack = list(variables(value))
    while stack:
        x = stack.pop()
        if x is variable:
            return True
        if x not in seen:
            seen.add(x)
            stack.extend(variables(chosen[x]) if x in chosen else ())
    return False
