"""Encode machine integers as mathematical ones.

Each machine integer becomes an Int within the range of its sort, each operation one on Int followed by a
wrap. The wrap is omitted where the interval of the operand shows that it changes nothing; intervals come from
sorts, constants, and the conjuncts of the same formula. So every formula is encoded by itself, and any
selection of them may be used, always with `ranges`.

Soundness: a model of the formulas yields one of their encoding and `ranges`, with the same numbers. Arrays
are extended beyond their index sort by the value of the constant array below, or by 0. Conversely, if
`exact`, a model of the encoding yields one of the formulas. It need not where an operation has become a
function symbol (bits of two variables, shifts by a variable), or where the formulas distinguish arrays that
differ only at indices outside the index sort (see `_distinguishes_arrays`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from certus.core import build
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Unsupported
from certus.core.intervals import ANY, Interval, bounds, conjuncts, of_operation, of_sort, point
from certus.core.terms import FLOATS, INT, ArraySort, Expr, Function, Kind, MachineSort, Sort, array
from certus.core.walk import QUANTIFIERS, postorder, rebuild
from certus.encoding import machine_words as ops
from certus.encoding.machine_words import Loose

Style = Literal["mod", "ite"]

_ROUNDS: Final = 3  # of carrying bounds through equations
_FILLABLE: Final = 32  # index sorts below this width might be filled by the stores of a formula


@dataclass(frozen=True, slots=True)
class Encoded:
    """The encoding of some formulas, one by one. `ranges` hold in every model that is a model of the
    original."""

    formulas: tuple[Expr, ...]
    ranges: tuple[Expr, ...]
    exact: bool
    symbols: Mapping[Expr, Expr]  # variable with machine integers -> the variable in its place


def eliminate_machine(
    formulas: Sequence[Expr], style: Style = "mod", *, budget: Budget | None = None
) -> Encoded:
    """Encode the formulas over Int alone. `style` says how to wrap: by `mod`, or by conditional corrections
    (`ite`) where a few multiples of the modulus are enough. Long chains of bit operations take long: raises
    `BudgetExceeded` when the budget runs out of time."""
    shared = _Shared(style, budget or Budget())
    plain = _Encoder(shared, {})
    shared.constant_arrays = not _stores_under_binders(formulas)
    encoded = []
    for formula in formulas:
        parts = conjuncts(formula)
        stated = bounds(parts)
        facts = _carried(parts, stated, shared.budget) if stated else stated
        encoder = _Encoder(shared, facts) if facts else plain
        derived = [_fact(shared, v, i) for v, i in facts.items() if stated.get(v) != i]
        encoded.append(build.and_(encoder.formula(formula), *derived))
    exact = shared.exact and not _distinguishes_arrays(formulas)
    return Encoded(tuple(encoded), tuple(shared.ranges), exact, dict(shared.symbols))


def encode_terms(terms: Sequence[Expr], style: Style = "mod") -> Encoded:
    """Encode terms of any sort one by one, as `eliminate_machine` encodes formulas."""
    shared = _Shared(style, Budget())
    encoder = _Encoder(shared, {})
    encoded = tuple(encoder.value(term) for term in terms)
    return Encoded(encoded, tuple(shared.ranges), shared.exact, dict(shared.symbols))


def encoded_variable(variable: Expr) -> tuple[Expr, tuple[Expr, ...]]:
    """Return the variable in place of `variable` in every encoding, and the formulas for its range."""
    shared = _Shared("mod", Budget())
    return shared.variable(variable), tuple(shared.ranges)


def _carried(parts: Sequence[Expr], stated: Mapping[Expr, Interval], budget: Budget) -> dict[Expr, Interval]:
    """Return the stated bounds, and those that follow for variables equal to bounded terms."""
    facts = dict(stated)
    equations = [
        (variable, other)
        for part in parts
        if part.kind is Kind.EQ
        for variable, other in (part.args, reversed(part.args))
        if variable.kind is Kind.VAR and other.kind is not Kind.CONST and _is_number(variable.sort)
    ]
    for _ in range(_ROUNDS if equations else 0):
        encoder = _Encoder(_Shared("mod", budget), facts)
        tighter: dict[Expr, Interval] = {}
        for variable, other in equations:
            bound = tighter.get(variable, facts.get(variable, of_sort(variable.sort)))
            met = bound.meet(encoder.span(other))
            if met is not None and met != bound:
                tighter[variable] = met
        if not tighter:
            break
        facts.update(tighter)
    return facts


def _fact(shared: _Shared, variable: Expr, interval: Interval) -> Expr:
    """Return the formula that a variable is in an interval."""
    term = shared.variable(variable)
    low = build.TRUE if interval.low is None else build.le(build.integer(interval.low), term)
    high = build.TRUE if interval.high is None else build.le(term, build.integer(interval.high))
    return build.and_(low, high)


def _is_number(sort: Sort) -> bool:
    return sort is INT or isinstance(sort, MachineSort)


# ------------------------------------------------------------------------------------- sorts


def encoded_sort(sort: Sort) -> Sort:
    """Return the sort with Int for every machine sort in it."""
    if isinstance(sort, MachineSort):
        return INT
    if isinstance(sort, ArraySort):
        return array(encoded_sort(sort.index), encoded_sort(sort.element))
    return sort


def _is_encoded(sort: Sort) -> bool:
    return encoded_sort(sort) is not sort


def _encoded_function(function: Function) -> Function:
    """Return a function over the encoded sorts. Its name contains the old sorts, so that functions that
    differ only in these stay different."""
    sorts = (*function.parameters, function.result)
    if not any(_is_encoded(s) for s in sorts):
        return function
    *parameters, result = (encoded_sort(s) for s in sorts)
    old = ",".join(s.name for s in function.parameters)
    return Function(f"{function.name}:{old}->{function.result.name}", tuple(parameters), result)


# ----------------------------------------------------------------------------------- encoding


@dataclass(slots=True)
class _Shared:
    """The state that the encoders of several formulas share."""

    style: Style
    budget: Budget
    exact: bool = True
    constant_arrays: bool = True  # whether a constant array may become one over all of Int
    ranges: dict[Expr, None] = field(default_factory=dict)
    symbols: dict[Expr, Expr] = field(default_factory=dict)

    def variable(self, variable: Expr) -> Expr:
        """Return the variable in place of `variable`, and record its range."""
        if not _is_encoded(variable.sort):
            return variable
        symbol = self.symbols.get(variable)
        if symbol is None:
            sort = variable.sort
            symbol = build.var(f"{variable.name}:{sort.name}", encoded_sort(sort))
            self.symbols[variable] = symbol
            if isinstance(sort, MachineSort):
                self.ranges[ops.in_range(symbol, sort)] = None
        return symbol


class _Encoder:
    """An encoding of terms under bounds on their variables.

    `_done` has for each machine term a loose value, for each Int term its encoding and interval, for
    any other term its encoding alone."""

    def __init__(self, shared: _Shared, facts: Mapping[Expr, Interval]) -> None:
        self._shared: Final = shared
        self._facts: Final = facts
        self._done: Final[dict[Expr, Loose]] = {}
        self._reduced: Final[dict[Expr, Loose]] = {}  # machine term -> its value within the sort
        self._open: Final[dict[Expr, int]] = {}  # how many of the binders around a term it refers to or past

    def formula(self, formula: Expr) -> Expr:
        """Return the encoding of a formula."""
        self._encode(formula)
        return self._done[formula].term

    def value(self, term: Expr) -> Expr:
        """Return the encoding of a term of any sort."""
        self._encode(term)
        return self._exact(term).term

    def span(self, term: Expr) -> Interval:
        """Return an interval of the values of an Int or machine term."""
        self._encode(term)
        return self._exact(term).span

    def _encode(self, root: Expr) -> None:
        if root in self._done:
            return
        for term in postorder(root):
            if term not in self._done:
                self._shared.budget.check()
                self._open[term] = self._binders(term)
                self._done[term] = self._term(term)

    def _binders(self, term: Expr) -> int:
        if term.kind is Kind.BOUND:
            assert isinstance(term.data, int)
            return term.data + 1
        deepest = max((self._open[a] for a in term.args), default=0)
        return max(0, deepest - len(term.bound_sorts)) if term.kind in QUANTIFIERS else deepest

    def _exact(self, term: Expr) -> Loose:
        """Return the encoding of a term: for a machine integer the number itself."""
        if not isinstance(term.sort, MachineSort):
            return self._done[term]
        reduced = self._reduced.get(term)
        if reduced is None:
            reduced = ops.reduce(self._done[term], term.sort, self._shared.style)
            self._reduced[term] = reduced
        return reduced

    def _term(self, term: Expr) -> Loose:
        kind = term.kind
        special = _SPECIAL.get(kind)
        if special is not None:
            return special(self, term)
        if isinstance(term.sort, MachineSort):
            return _MACHINE[kind](self, term, term.sort)
        args = [self._exact(a) for a in term.args]
        span = of_operation(term.kind, [a.span for a in args]) if term.sort is INT else ANY
        return Loose(rebuild(term, [a.term for a in args]), span)

    # ---- leaves, structure

    def _constant(self, term: Expr) -> Loose:
        if not _is_number(term.sort):
            return Loose(term, ANY)
        return Loose(build.integer(int(term.value)), point(int(term.value)))

    def _variable(self, term: Expr) -> Loose:
        span = self._facts.get(term, of_sort(term.sort))
        return Loose(self._shared.variable(term), span)

    def _bound(self, term: Expr) -> Loose:
        return Loose(build.bound(_index(term), encoded_sort(term.sort)), of_sort(term.sort))

    def _ite(self, term: Expr) -> Loose:
        condition, then, otherwise = (self._done[a] for a in term.args)

        def choose(a: Loose, b: Loose) -> Loose:
            return Loose(build.ite(condition.term, a.term, b.term), a.span.hull(b.span))

        if isinstance(term.sort, MachineSort):
            return ops.combine(choose, then, otherwise, term.sort, self._shared.style)
        return choose(then, otherwise)

    def _apply(self, term: Expr) -> Loose:
        args = [self._exact(a).term for a in term.args]
        return self._measured(term, build.apply(_encoded_function(term.function), args))

    def _select(self, term: Expr) -> Loose:
        return self._measured(term, build.select(*(self._exact(a).term for a in term.args)))

    def _measured(self, term: Expr, encoded: Expr) -> Loose:
        """Restrict an encoded read or application to the range of its sort. Under a binder, a number outside
        the range is replaced by 0."""
        if not isinstance(term.sort, MachineSort):
            return Loose(encoded, ANY)
        inside = ops.in_range(encoded, term.sort)
        if self._open[term]:
            encoded = build.ite(inside, encoded, build.integer(0))
        else:
            self._shared.ranges[inside] = None
        return Loose(encoded, of_sort(term.sort))

    def _float(self, term: Expr) -> Loose:
        """Return an operation on floating-point numbers: a function of the numbers that their bits are."""
        self._shared.exact = False
        args = [self._exact(a).term for a in term.args]
        sorts = ",".join(a.sort.name for a in term.args)
        name = f"{term.kind.name.lower()}:{term.data}:{sorts}->{term.sort.name}"
        symbol = Function(name, (INT,) * len(args), encoded_sort(term.sort))
        return self._measured(term, build.apply(symbol, args))

    def _const_array(self, term: Expr) -> Loose:
        assert isinstance(term.sort, ArraySort)
        element, index = self._exact(term.args[0]).term, term.sort.index
        is_small = isinstance(index, MachineSort) and index.width < _FILLABLE
        nested = isinstance(index, ArraySort) and _is_encoded(index)
        if nested or is_small or (_is_encoded(index) and not self._shared.constant_arrays):
            self._shared.exact = False
            maker = Function(f"const:{term.sort.name}", (element.sort,), encoded_sort(term.sort))
            return Loose(build.apply(maker, (element,)), ANY)
        return Loose(build.const_array(encoded_sort(index), element), ANY)

    def _quantifier(self, term: Expr) -> Loose:
        sorts = term.bound_sorts
        if any(isinstance(s, ArraySort) and _is_encoded(s) for s in sorts):
            message = "a quantified array of machine integers has no encoding in mathematical integers"
            raise Unsupported(Diagnostic(code="unsupported-quantified-array", message=message))
        guards = [
            ops.in_range(build.bound(len(sorts) - 1 - position, INT), sort)
            for position, sort in enumerate(sorts)
            if isinstance(sort, MachineSort)
        ]
        body, inner = self._done[term.args[0]].term, tuple(encoded_sort(s) for s in sorts)
        if term.kind is Kind.FORALL:
            return Loose(build.forall(inner, build.implies(build.conjunction(guards), body)), ANY)
        return Loose(build.exists(inner, build.and_(*guards, body)), ANY)

    # ---- machine integers

    def _ring(self, operation: Callable[[Loose, Loose], Loose], term: Expr, sort: MachineSort) -> Loose:
        a, b = (self._done[x] for x in term.args)
        return ops.combine(operation, a, b, sort, self._shared.style)

    def _neg(self, term: Expr, sort: MachineSort) -> Loose:
        zero = Loose(build.integer(0), point(0))
        return ops.combine(ops.minus, zero, self._done[term.args[0]], sort, self._shared.style)

    def _bit_not(self, term: Expr, sort: MachineSort) -> Loose:
        ones = -1 if sort.signed else sort.high
        return ops.minus(Loose(build.integer(ones), point(ones)), self._exact(term.args[0]))

    def _divide(self, term: Expr, sort: MachineSort) -> Loose:
        a, b = (self._exact(x) for x in term.args)
        zero = build.integer(0)
        if not point(0).within(b.span):
            return ops.divide(term.kind, a, b)
        undefined = self._symbol(f"{term.kind.name.lower()}0", term, sort)
        if b.span == point(0):
            return undefined
        defined = ops.divide(term.kind, a, b)
        value = build.ite(build.eq(b.term, zero), undefined.term, defined.term)
        return Loose(value, undefined.span.hull(defined.span))

    def _shift(self, term: Expr, sort: MachineSort) -> Loose:
        amount = term.args[1]
        if amount.kind is Kind.CONST and 0 <= amount.value < sort.width:
            places = int(amount.value)
            if term.kind is Kind.SHR:
                return ops.shift_right(self._exact(term.args[0]), places)
            factor = Loose(build.integer(1 << places), point(1 << places))
            return ops.combine(ops.times, self._done[term.args[0]], factor, sort, self._shared.style)
        shifted = self._symbol(term.kind.name.lower(), term, sort)
        if amount.kind is not Kind.CONST:  # an oversized constant amount has an arbitrary value
            a, b = (self._exact(x).term for x in term.args)
            self._approximate(term, ops.shift_axioms(term.kind, a, b, shifted.term, sort))
        return shifted

    def _bits(self, term: Expr, sort: MachineSort) -> Loose:
        a, b = (self._exact(x) for x in term.args)
        both = None
        for one, other in ((a, term.args[1]), (b, term.args[0])):
            if other.kind is Kind.CONST:
                both = ops.masked(one, int(other.value))
        if both is None:
            both = self._symbol("bit_and", term, sort)
            self._approximate(term, ops.and_axioms(a.term, b.term, both.term, sort))
        return Loose(ops.joined(term.kind, a.term, b.term, both.term), of_sort(sort))

    def _symbol(self, name: str, term: Expr, sort: MachineSort) -> Loose:
        """Return an operation as a function symbol applied to its arguments."""
        args = [self._exact(a).term for a in term.args]
        return self._measured(term, build.apply(ops.symbol(name, sort), args))

    def _approximate(self, term: Expr, axioms: Sequence[Expr]) -> None:
        """Record that a function symbol stands for `term`, and what is true of it."""
        self._shared.exact = False
        if not self._open[term]:
            for axiom in axioms:
                self._shared.ranges[axiom] = None

    def _wrap(self, term: Expr, sort: MachineSort) -> Loose:
        source = term.args[0].sort
        if isinstance(source, MachineSort) and source.width < sort.width:
            return self._exact(term.args[0])
        return self._done[term.args[0]]


def _index(term: Expr) -> int:
    assert isinstance(term.data, int)
    return term.data


_SPECIAL: Final[dict[Kind, Callable[[_Encoder, Expr], Loose]]] = {
    Kind.CONST: _Encoder._constant,
    Kind.VAR: _Encoder._variable,
    Kind.BOUND: _Encoder._bound,
    Kind.ITE: _Encoder._ite,
    Kind.TO_INT: lambda e, t: e._exact(t.args[0]),
    Kind.APPLY: _Encoder._apply,
    Kind.SELECT: _Encoder._select,
    Kind.CONST_ARRAY: _Encoder._const_array,
    Kind.FORALL: _Encoder._quantifier,
    Kind.EXISTS: _Encoder._quantifier,
    **dict.fromkeys(FLOATS, _Encoder._float),
}

_MACHINE: Final[dict[Kind, Callable[[_Encoder, Expr, MachineSort], Loose]]] = {
    Kind.ADD: lambda e, t, s: e._ring(ops.plus, t, s),
    Kind.SUB: lambda e, t, s: e._ring(ops.minus, t, s),
    Kind.MUL: lambda e, t, s: e._ring(ops.times, t, s),
    Kind.NEG: _Encoder._neg,
    Kind.QUOT: _Encoder._divide,
    Kind.REM: _Encoder._divide,
    Kind.BIT_AND: _Encoder._bits,
    Kind.BIT_OR: _Encoder._bits,
    Kind.BIT_XOR: _Encoder._bits,
    Kind.BIT_NOT: _Encoder._bit_not,
    Kind.SHL: _Encoder._shift,
    Kind.SHR: _Encoder._shift,
    Kind.WRAP: _Encoder._wrap,
}


# ------------------------------------------------------------------------------------- arrays


def _stores_under_binders(formulas: Sequence[Expr]) -> bool:
    """Return whether a store into an array indexed by machine integers depends on a bound variable. Only such
    stores, one for each value of the variable, could fill an index sort of 32 bits."""
    open_terms: dict[Expr, int] = {}
    for term in postorder(*formulas):
        deepest = max((open_terms[a] for a in term.args), default=0)
        if term.kind is Kind.BOUND:
            deepest = _index(term) + 1
        elif term.kind in QUANTIFIERS:
            deepest = max(0, deepest - len(term.bound_sorts))
        open_terms[term] = deepest
        if term.kind is Kind.STORE and deepest and _is_encoded(term.args[1].sort):
            return True
    return False


def _distinguishes_arrays(formulas: Sequence[Expr]) -> bool:
    """Return whether the truth of the formulas may depend on two arrays with machine integers being
    different: they are compared other than positively, or are arguments of functions or indices."""
    done: set[tuple[Expr, bool]] = set()
    stack = [(formula, True) for formula in formulas]
    while stack:
        term, positive = stack.pop()
        if (term, positive) in done:
            continue
        done.add((term, positive))
        kind = term.kind
        if kind is Kind.EQ and not positive and _is_machine_array(term.args[0].sort):
            return True
        keys = term.args if kind is Kind.APPLY else term.args[1:2] if kind in _INDEXED else ()
        if any(_is_machine_array(a.sort) for a in keys):
            return True
        if kind is Kind.NOT:
            stack.append((term.args[0], not positive))
        elif kind in _MONOTONE:
            stack.extend((a, positive) for a in term.args)
        else:
            stack.extend((a, sign) for a in term.args for sign in (True, False))
    return False


def _is_machine_array(sort: Sort) -> bool:
    return isinstance(sort, ArraySort) and _is_encoded(sort)


_INDEXED: Final = (Kind.SELECT, Kind.STORE)
_MONOTONE: Final = (Kind.AND, Kind.OR, *QUANTIFIERS)
