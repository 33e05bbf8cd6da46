"""Walk over terms, and rewrite them: without recursion, visiting each shared subterm once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from certus.core import build, float_terms
from certus.core.terms import FLOATS, ArraySort, Expr, Kind, MachineSort

K = TypeVar("K")
T = TypeVar("T")


def postorder(*roots: Expr) -> Iterator[Expr]:
    """Yield every subterm of the roots once, arguments before the terms that use them."""
    done: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(roots)]
    while stack:
        term, ready = stack.pop()
        if term in done:
            continue
        if ready or not term.args:
            done.add(term)
            yield term
        else:
            stack.append((term, True))
            stack.extend((a, False) for a in reversed(term.args) if a not in done)


def completed(root: Expr, results: dict[Expr, T], compute: Callable[[Expr], T]) -> T:
    """Return the result of `root`. `results` is a cache: `compute` is called for every subterm that is not in
    it, arguments first."""
    stack = [root]
    while stack:
        term = stack[-1]
        if term in results:
            stack.pop()
            continue
        missing = [a for a in term.args if a not in results]
        if missing:
            stack.extend(reversed(missing))
        else:
            stack.pop()
            results[term] = compute(term)
    return results[root]


def bottom_up(
    root: K, parts: Callable[[K], Sequence[K]], compute: Callable[[K, list[T]], T], results: dict[K, T]
) -> T:
    """Return the result of `root`: `compute` gets an item and the results of its parts. `results` is a cache,
    as for `completed`, but not every argument of a term has to be a part."""
    stack = [root]
    while stack:
        item = stack[-1]
        inner = () if item in results else parts(item)
        missing = [part for part in inner if part not in results]
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if item not in results:
            results[item] = compute(item, [results[part] for part in inner])
    return results[root]


def variables(*roots: Expr) -> tuple[Expr, ...]:
    """Return the free variables of the roots, in order of first occurrence."""
    return tuple(t for t in postorder(*roots) if t.kind is Kind.VAR)


def size(*roots: Expr) -> int:
    """Return the number of distinct subterms."""
    return sum(1 for _ in postorder(*roots))


def rebuild(term: Expr, args: Sequence[Expr]) -> Expr:
    """Return `term` with other arguments, simplified again."""
    if all(a is b for a, b in zip(term.args, args, strict=True)):
        return term
    return _BUILDERS[term.kind](term, args)


def substitute(root: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """Return `root` with every free variable in `values` replaced, all at once.

    The values must have no free bound variables (`BOUND` above its quantifiers)."""
    return substitute_all((root,), values)[0]


def substitute_all(roots: Iterable[Expr], values: Mapping[Expr, Expr]) -> tuple[Expr, ...]:
    """Apply `substitute` to several roots that share subterms."""
    roots = tuple(roots)
    if not values:
        return roots
    return Substitution(values).apply_all(roots)


class Substitution:
    """A replacement of variables that remembers the terms it has rewritten."""

    __slots__ = ("_done",)

    def __init__(self, values: Mapping[Expr, Expr]) -> None:
        self._done: dict[Expr, Expr] = dict(values)  # term -> term after replacement

    def replace(self, variable: Expr, value: Expr) -> None:
        """Replace one more variable, which occurs in no term rewritten so far."""
        self._done[variable] = value

    def apply_all(self, roots: Iterable[Expr]) -> tuple[Expr, ...]:
        """Return all roots with their variables replaced."""
        return tuple(self.apply(root) for root in roots)

    def apply(self, root: Expr) -> Expr:
        """Return `root` with its variables replaced."""
        done = self._done
        return completed(root, done, lambda t: rebuild(t, [done[a] for a in t.args]) if t.args else t)


def transform(root: Expr, step: Callable[[Expr, tuple[Expr, ...]], Expr]) -> Expr:
    """Rewrite bottom-up: `step(term, new arguments)` returns the replacement of each term."""
    done: dict[Expr, Expr] = {}
    for term in postorder(root):
        done[term] = step(term, tuple(done[a] for a in term.args))
    return done[root]


def instantiate(quantified: Expr, values: Sequence[Expr]) -> Expr:
    """Return the body of a quantifier with its variables, outermost first, replaced by `values`, which have
    no free `BOUND`."""
    return _shift_in(quantified.args[0], tuple(reversed(values)))


def _shift_in(body: Expr, values: tuple[Expr, ...]) -> Expr:
    """Replace BOUND i (i < len(values)) by values[i] and lower the others; `values` have no free BOUND."""
    count = len(values)
    done: dict[tuple[Expr, int], Expr] = {}
    stack: list[tuple[Expr, int, bool]] = [(body, 0, False)]
    while stack:
        term, depth, ready = stack.pop()
        key = (term, depth)
        if key in done:
            continue
        inner = depth + (len(term.bound_sorts) if term.kind in QUANTIFIERS else 0)
        if term.kind is Kind.BOUND:
            index = term.data
            assert isinstance(index, int)
            if index < depth:
                done[key] = term
            elif index < depth + count:
                done[key] = values[index - depth]
            else:
                done[key] = build.bound(index - count, term.sort)
        elif not term.args:
            done[key] = term
        elif ready:
            done[key] = rebuild(term, [done[(a, inner)] for a in term.args])
        else:
            stack.append((term, depth, True))
            stack.extend((a, inner, False) for a in term.args)
    return done[(body, 0)]


def bind(body: Expr, variables: Sequence[Expr]) -> Expr:
    """Return the formula with the variables as de Bruijn indices of a quantifier around it; the last is 0."""
    index = {v: len(variables) - 1 - i for i, v in enumerate(variables)}
    done: dict[tuple[Expr, int], Expr] = {}
    stack: list[tuple[Expr, int]] = [(body, 0)]
    while stack:
        term, depth = key = stack[-1]
        if key in done:
            stack.pop()
            continue
        inner = depth + (len(term.bound_sorts) if term.kind in QUANTIFIERS else 0)
        missing = [(a, inner) for a in term.args if (a, inner) not in done]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if term in index:
            done[key] = build.bound(index[term] + depth, term.sort)
        else:
            done[key] = rebuild(term, [done[a, inner] for a in term.args]) if term.args else term
    return done[body, 0]


QUANTIFIERS = (Kind.FORALL, Kind.EXISTS)


def _wrap(term: Expr, args: Sequence[Expr]) -> Expr:
    assert isinstance(term.sort, MachineSort)
    return build.wrap(args[0], term.sort)


def _const_array(term: Expr, args: Sequence[Expr]) -> Expr:
    assert isinstance(term.sort, ArraySort)
    return build.const_array(term.sort.index, args[0])


def _product(args: Sequence[Expr]) -> Expr:
    """Multiply factors, the constant one last: it would be distributed over a first factor that is a sum."""
    total = args[-1]
    for factor in reversed(args[:-1]):
        total = build.mul(total, factor)
    return total


def _float(term: Expr, args: Sequence[Expr]) -> Expr:
    assert isinstance(term.data, str)
    return float_terms.float_term(term.kind, term.data, args, term.sort)


_BUILDERS: dict[Kind, Callable[[Expr, Sequence[Expr]], Expr]] = {
    Kind.APPLY: lambda t, a: build.apply(t.function, a),
    Kind.NOT: lambda _, a: build.not_(a[0]),
    Kind.AND: lambda _, a: build.conjunction(a),
    Kind.OR: lambda _, a: build.disjunction(a),
    Kind.ITE: lambda _, a: build.ite(a[0], a[1], a[2]),
    Kind.EQ: lambda _, a: build.eq(a[0], a[1]),
    Kind.LE: lambda _, a: build.le(a[0], a[1]),
    Kind.LT: lambda _, a: build.lt(a[0], a[1]),
    Kind.ADD: lambda _, a: build.add(*a),
    Kind.MUL: lambda _, a: _product(a),
    Kind.SUB: lambda _, a: build.sub(a[0], a[1]),
    Kind.NEG: lambda _, a: build.neg(a[0]),
    Kind.QUOT: lambda _, a: build.quot(a[0], a[1]),
    Kind.REM: lambda _, a: build.rem(a[0], a[1]),
    Kind.DIV: lambda _, a: build.div(a[0], a[1]),
    Kind.MOD: lambda _, a: build.mod(a[0], a[1]),
    Kind.RDIV: lambda _, a: build.rdiv(a[0], a[1]),
    Kind.BIT_AND: lambda _, a: build.bit_and(a[0], a[1]),
    Kind.BIT_OR: lambda _, a: build.bit_or(a[0], a[1]),
    Kind.BIT_XOR: lambda _, a: build.bit_xor(a[0], a[1]),
    Kind.BIT_NOT: lambda _, a: build.bit_not(a[0]),
    Kind.SHL: lambda _, a: build.shl(a[0], a[1]),
    Kind.SHR: lambda _, a: build.shr(a[0], a[1]),
    Kind.WRAP: _wrap,
    Kind.TO_INT: lambda _, a: build.to_int(a[0]),
    Kind.TO_REAL: lambda _, a: build.to_real(a[0]),
    Kind.FLOOR: lambda _, a: build.floor(a[0]),
    Kind.SELECT: lambda _, a: build.select(a[0], a[1]),
    Kind.STORE: lambda _, a: build.store(a[0], a[1], a[2]),
    Kind.CONST_ARRAY: _const_array,
    Kind.FORALL: lambda t, a: build.forall(t.bound_sorts, a[0]),
    Kind.EXISTS: lambda t, a: build.exists(t.bound_sorts, a[0]),
    **dict.fromkeys(FLOATS, _float),
}
