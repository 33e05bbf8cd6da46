"""Translate terms and conditions to quantities.

A term becomes a *form*: a linear combination of quantities over the integers that is congruent to the term's
value modulo its type. Sums, differences and multiples of forms are forms, whether or not intermediate values
wrap; only where the value itself is needed does the form become a `Sum`, which may wrap once. An array has
one quantity for all elements: reading copies it, writing joins the value to it. Variables whose bits are read
as signed have signed quantities (`views`), and choices between them and elements of them too, until they are
used.

A condition is solved for each of its variables (`conditions`). What follows for a variable holds for all
variables with the same quantity: for the cell of memory that it was just read from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from certus.analysis.ranges.conditions import Comparison, Form, fixed_choice, literals
from certus.analysis.ranges.control import mentioned
from certus.analysis.ranges.float_constraints import Compared
from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.float_translation import FloatTranslation
from certus.analysis.ranges.operations import INFINITE
from certus.analysis.ranges.system import (
    ANYTHING,
    Bound,
    Fixed,
    Gate,
    Join,
    Meet,
    Operation,
    Sum,
    System,
    View,
    element,
    limits,
)
from certus.core import build
from certus.core.terms import BOOL, FLOATS, INT, Expr, Kind, MachineSort, Sort
from certus.core.walk import variables

LONGEST: Final = 8  # limit of terms of a form
ALTERNATIVES: Final = 8  # longer disjunctions are ignored

Environment = Mapping[Expr, int]  # from a variable to its quantity


class Translation:
    """The translation of terms to quantities of a system. `views`: the variables whose quantities are signed
    numbers or ranks of floating-point numbers. `opaque`: the nonlinear terms, by quantity."""

    def __init__(
        self,
        system: System,
        views: Mapping[Expr, View] | None = None,
        *,
        elements: bool = True,
        ranked: bool = True,
    ) -> None:
        self.system = system
        self.views = views or {}
        self.elements = elements  # whether elements of arrays have bounds
        self.ranked = ranked  # and floating-point numbers
        self.limits: dict[int, tuple[int, int]] = {}  # of quantities with a type
        self.orders: dict[int, FloatOrder] = {}  # of quantities that are ranks
        self.opaque: dict[int, Expr] = {}
        self.floats = FloatTranslation(self)
        self._shared: set[int] = set()  # quantities that several variables have

    # ------------------------------------------------------------------------------------- values

    def quantity_sort(self, x: Expr) -> Sort | FloatOrder:
        """Return the sort of the quantities of a variable: its own, the signed one, or ranks."""
        return self.views.get(x, x.sort)

    def assigned(self, x: Expr, term: Expr, environment: Environment) -> int:
        """Return the quantity of a variable after the assignment of a term. A choice whose condition shares
        variables with its values is treated like a branch."""
        parts: list[int] = []
        gates: list[int] = []
        gate = self.system.open
        while len(parts) < ALTERNATIVES and (choice := _chosen(term)) is not None:
            condition, then, term = choice
            changed, needs = self.assume(condition, environment)
            parts.append(self._value(x, then, _changed(environment, changed)))
            gates.append(self.system.add(Gate(gate, tuple(dict.fromkeys(needs)))))
            changed, needs = self.assume(build.not_(condition), environment)
            environment = _changed(environment, changed)
            gate = self.system.add(Gate(gate, tuple(dict.fromkeys(needs))))
        last = self._value(x, term, environment)
        return (
            self.typed(self.system.add(Join([*parts, last], [*gates, gate])), self.quantity_sort(x))
            if parts
            else last
        )

    def _value(self, x: Expr, term: Expr, environment: Environment) -> int:
        view = self.views.get(x)
        form = self.form(term, environment, view)
        quantity = self._viewed(form, view, x.sort)
        if form.terms == ((1, quantity),):
            self._shared.add(quantity)
        return quantity

    def _viewed(self, form: Form, view: View | None, sort: Sort) -> int:
        """Return the quantity of a form in a view, or in a sort if there is none."""
        if isinstance(view, FloatOrder):
            return self.floats.ranked(form, view)
        return self.settle(self.floats.plain(form).of(view or sort))

    def settle(self, form: Form) -> int:
        """Return the quantity that is the value of a form."""
        form = self.floats.plain(form)
        least, greatest = limits(form.sort)
        if not form.terms:
            value = form.constant
            if isinstance(form.sort, MachineSort):
                value = form.sort.wrap(value)
            return self.system.fixed(min(value, INFINITE), max(value, -INFINITE))
        if form.constant == 0 and len(form.terms) == 1 and form.terms[0][0] == 1:
            quantity = form.terms[0][1]
            low, high = self.limits.get(quantity, ANYTHING)
            if least <= low and high <= greatest:
                return quantity
        return self.typed(self.system.add(Sum(form.constant, form.terms, least, greatest)), form.sort)

    def typed(self, quantity: int, sort: Sort | FloatOrder) -> int:
        """Record the sort of a quantity."""
        self.limits[quantity] = limits(sort)
        if isinstance(sort, FloatOrder):
            self.orders[quantity] = sort
        return quantity

    def arbitrary(self, sort: Sort | FloatOrder) -> int:
        """Return a new quantity that may be any value of a sort."""
        return self.typed(self.system.add(Fixed(*limits(sort))), sort)

    def copied(self, quantity: int, sort: Sort | FloatOrder) -> int:
        """Return a new quantity with the bounds of another, for a value that may be different."""
        return self.typed(self.system.add(Sum(0, ((1, quantity),), *limits(sort))), sort)

    def form(self, term: Expr, environment: Environment, view: View | None = None) -> Form:
        """Return the form of a term; choices in it use `view` if their parts have none."""
        forms: dict[Expr, Form] = {}
        if not term.args:
            return self._form(term, forms, environment, view)
        for part in _values(term):
            forms[part] = self._form(part, forms, environment, view)
        return forms[term]

    def _form(
        self, term: Expr, forms: Mapping[Expr, Form], environment: Environment, view: View | None
    ) -> Form:
        kind, sort = term.kind, term.sort
        if kind is Kind.CONST:
            return (
                Form(sort, int(term.value), ())
                if _integral(sort)
                else self._alone(self.arbitrary(sort), sort)
            )
        if kind is Kind.VAR:
            quantity = environment.get(term)
            if quantity is None:
                return self._alone(self.arbitrary(sort), sort)
            return self._alone(quantity, sort, self.views.get(term))
        if sort is BOOL or not _integral(sort):
            return self._nonnumeric(term, forms, view)
        arguments = [forms[a] for a in term.args if a in forms]
        if kind in FLOATS:
            by_rank = self.floats.form(term, arguments) if self.ranked else None
            return by_rank or self._alone(self.arbitrary(sort), sort)
        if kind in (Kind.ITE, Kind.SELECT):
            return self._copied_value(term, arguments, view)
        by_bits = self.floats.of_bits(term, arguments)
        return by_bits or self._integer(term, [self.floats.plain(each) for each in arguments])

    def _integer(self, term: Expr, arguments: Sequence[Form]) -> Form:
        """Return the form of an operation on integers."""
        kind, sort = term.kind, term.sort
        if kind is Kind.ADD:
            return self._short(_total(arguments))
        if kind is Kind.SUB:
            return self._short(arguments[0].plus(arguments[1], -1))
        if kind is Kind.NEG:
            return arguments[0].times(-1)
        if kind is Kind.WRAP:
            return self._converted(arguments[0], sort)
        if kind is Kind.TO_INT:
            return self._alone(self.settle(arguments[0]), sort)
        if kind is Kind.MUL:
            return self._product(term, arguments)
        if kind is Kind.SHL and _shifts(arguments[1], sort):
            return arguments[0].times(1 << arguments[1].constant)
        return self._operation(term, arguments)

    def _alone(self, quantity: int, sort: Sort, view: View | None = None) -> Form:
        return Form(sort, 0, ((1, quantity),), view)

    def _short(self, form: Form) -> Form:
        return form if len(form.terms) <= LONGEST else self._alone(self.settle(form), form.sort)

    def _converted(self, form: Form, sort: Sort) -> Form:
        """Convert a form to a machine type: it stays congruent if the type is not wider."""
        assert isinstance(sort, MachineSort)
        if form.sort is INT or (isinstance(form.sort, MachineSort) and sort.width <= form.sort.width):
            return form.of(sort)
        return self._alone(self.settle(form), sort)

    def _product(self, term: Expr, factors: Sequence[Form]) -> Form:
        product = factors[0]
        for factor in factors[1:]:
            if not product.terms:
                product = factor.times(product.constant)
            elif not factor.terms:
                product = product.times(factor.constant)
            else:
                product = self._operation(term, [product, factor])
        return product

    def _copied_value(self, term: Expr, arguments: Sequence[Form], view: View | None) -> Form:
        """Return the form of a choice, or of an element of an array."""
        if term.kind is Kind.ITE:
            return self._joined(term.sort, arguments[-2:], view)
        own = arguments[0].view
        if not self.elements:
            return self._alone(self.arbitrary(own or term.sort), term.sort, own)
        whole = self._viewed(arguments[0], own, arguments[0].sort)
        return self._alone(self.copied(whole, own or term.sort), term.sort, own)

    def _joined(self, sort: Sort, forms: Sequence[Form], view: View | None) -> Form:
        """Return one of several forms, in the view that one of them has; otherwise in `view` if it fits."""
        kept = element(sort)
        if not isinstance(kept, MachineSort) or view is None or kept.width != view.width or kept.signed:
            view = None
        view = next((each.view for each in forms if each.view is not None), view)
        parts = [self._viewed(each, view, each.sort) for each in forms]
        if len(parts) == 1:
            return self._alone(parts[0], sort, view)
        join = self.system.add(Join(parts, [self.system.open] * len(parts)))
        return self._alone(self.typed(join, view or sort), sort, view)

    def _operation(self, term: Expr, forms: Sequence[Form]) -> Form:
        arguments = [self.settle(each) for each in forms]
        if term.kind is Kind.MUL and arguments[0] == arguments[1]:
            arguments = arguments[:1]
        least, greatest = limits(term.sort)
        width = term.sort.width if isinstance(term.sort, MachineSort) else 0
        added = self.system.add(Operation(term.kind, tuple(arguments), least, greatest, width))
        self.opaque[added] = term
        return self._alone(self.typed(added, term.sort), term.sort)

    def _nonnumeric(self, term: Expr, forms: Mapping[Expr, Form], view: View | None) -> Form:
        """Return the form of a Boolean, an array or a term without a number."""
        if term.kind in (Kind.STORE, Kind.CONST_ARRAY, Kind.ITE, Kind.SELECT):
            return self._joined(term.sort, [forms[a] for a in _parts(term)], view)
        return self._alone(self.arbitrary(term.sort), term.sort)

    # --------------------------------------------------------------------------------- conditions

    def assume(self, condition: Expr, environment: Environment) -> tuple[dict[Expr, int], list[int]]:
        """Return the quantities of variables under a condition, and those that must have a value then."""
        changed: dict[Expr, int] = {}
        needs: list[int] = []
        for literal, positive in literals(condition):
            now = _changed(environment, changed)
            if literal.kind is (Kind.OR if positive else Kind.AND):
                restricted, possible = self._alternatives(literal, now, positive=positive)
                needs.append(possible)
            else:
                restricted = self._literal(literal, now, positive=positive)
            if restricted is None:
                return changed, [*needs, self.system.shut]
            changed.update(restricted)
            needs.extend(restricted.values())
        return changed, needs

    def _alternatives(
        self, term: Expr, environment: Environment, *, positive: bool
    ) -> tuple[dict[Expr, int] | None, int]:
        """Return the quantities of variables that all of several alternatives restrict, and a quantity that
        has a value if one of the alternatives can be true."""
        if len(term.args) > ALTERNATIVES:
            return {}, self.system.open
        alternatives: list[dict[Expr, int]] = []
        for part in term.args:
            changed: dict[Expr, int] | None = {}
            for literal, sign in literals(part, positive=positive):
                if literal.kind is (Kind.OR if sign else Kind.AND):
                    continue
                restricted = self._literal(literal, _changed(environment, changed or {}), positive=sign)
                if restricted is None:
                    changed = None
                    break
                assert changed is not None
                changed.update(restricted)
            if changed is not None:
                alternatives.append(changed)
        if not alternatives:
            return None, self.system.shut
        gates = [self.system.add(Gate(self.system.open, tuple(each.values()))) for each in alternatives]
        common = [x for x in alternatives[0] if all(x in each for each in alternatives)]
        joined: dict[Expr, int] = {}
        for x in common:
            parts = [each[x] for each in alternatives]
            join = self.system.add(Join(parts, [self.system.open] * len(parts)))
            joined[x] = self.typed(join, self.quantity_sort(x))
        return joined, self.system.add(Join(gates, [self.system.open] * len(gates)))

    def _literal(self, literal: Expr, environment: Environment, *, positive: bool) -> dict[Expr, int] | None:
        if literal.kind is Kind.CONST:
            return {} if bool(literal.value) is positive else None
        if literal.kind is Kind.VAR:
            return self._restrict(
                literal, environment, [Bound(int(positive), ())], [Bound(int(positive), ())], []
            )
        if literal.kind is Kind.EQ:
            choice = fixed_choice(literal)
            if choice is not None:
                term, value = choice
                if value is None:
                    return None if positive else {}
                inner = next(literals(term, positive=value is positive))
                simple = inner[0].kind not in (Kind.AND, Kind.OR)
                return self._literal(inner[0], environment, positive=inner[1]) if simple else {}
        if literal.kind in (Kind.F_EQ, Kind.F_LT, Kind.F_LE) and self.ranked:
            return self.floats.compared(literal, environment, positive=positive)
        if literal.kind not in (Kind.EQ, Kind.LE, Kind.LT) or not _number(literal.args[0].sort):
            return {}
        by_pattern = self.floats.by_pattern(literal, environment, positive=positive)
        return by_pattern or self._comparison(literal, environment, positive=positive)

    def _comparison(self, literal: Expr, environment: Environment, *, positive: bool) -> dict[Expr, int]:
        """Return the quantities of variables under a comparison of integers."""
        a, b = literal.args
        left = self.floats.plain(self.form(a, environment))
        right = self.floats.plain(self.form(b, environment))
        if literal.kind is Kind.EQ:  # equality of bits, in any view
            view = left.view or right.view
            left, right = left.viewed_as(view), right.viewed_as(view)
        names = {environment[x]: x for x in mentioned(literal) if x in environment}
        sides = (left, self.settle(left)), (right, self.settle(right))
        compared = Comparison(*sides, names)
        if literal.kind is Kind.EQ:
            solved = compared.equal() if positive else compared.different()
        elif positive:
            solved = compared.at_most(strict=literal.kind is Kind.LT)
        else:
            solved = Comparison(*sides[::-1], names).at_most(strict=literal.kind is Kind.LE)
        changed: dict[Expr, int] = {}
        for x, bounds in solved.items():
            changed.update(self._restrict(x, environment, *bounds))
        return changed

    def _restrict(
        self,
        variable: Expr,
        environment: Environment,
        uppers: Sequence[Bound],
        lowers: Sequence[Bound],
        excluded: Sequence[Bound],
    ) -> dict[Expr, int]:
        if variable not in environment:
            return {}
        of = environment[variable]
        definition = Meet(of, tuple(uppers), tuple(lowers), tuple(excluded))
        return self.restricted(variable, environment, definition)

    def restricted(
        self, variable: Expr, environment: Environment, definition: Meet | Compared
    ) -> dict[Expr, int]:
        """Return the quantity of a variable under a condition, for all variables with the same value."""
        of, met = environment[variable], self.system.add(definition)
        self.limits[met] = self.limits.get(of, limits(self.quantity_sort(variable)))
        restricted = {variable: met}
        if of in self._shared:
            restricted.update((x, met) for x, each in environment.items() if each == of and _number(x.sort))
        return restricted


# -------------------------------------------------------------------------------------------- shapes


def _chosen(term: Expr) -> tuple[Expr, Expr, Expr] | None:
    """Return the parts of a choice, converted or not, whose condition and values share a variable."""
    conversions: list[MachineSort] = []
    while term.kind is Kind.WRAP and isinstance(term.sort, MachineSort):
        conversions.append(term.sort)
        term = term.args[0]
    if term.kind is not Kind.ITE:
        return None
    condition, then, otherwise = term.args
    if frozenset(mentioned(condition)).isdisjoint(variables(then, otherwise)):
        return None
    for sort in reversed(conversions):
        then, otherwise = build.wrap(then, sort), build.wrap(otherwise, sort)
    return condition, then, otherwise


def _values(term: Expr) -> Iterator[Expr]:
    """Yield the subterms that the value of a term consists of, arguments first; no conditions, no indices."""
    done: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(term, False)]
    while stack:
        part, ready = stack.pop()
        if part in done:
            continue
        inner = _parts(part)
        if ready or not inner:
            done.add(part)
            yield part
        else:
            stack.append((part, True))
            stack.extend((a, False) for a in reversed(inner) if a not in done)


def _parts(term: Expr) -> tuple[Expr, ...]:
    if term.kind is Kind.ITE:
        return term.args[1:]
    if term.kind is Kind.SELECT:
        return term.args[:1]
    if term.kind is Kind.STORE:
        return term.args[0], term.args[2]
    if term.sort is BOOL or term.kind in (Kind.APPLY, Kind.FLOOR):
        return ()
    return term.args


def _shifts(amount: Form, sort: Sort) -> bool:
    """Return whether the amount of a shift is a constant within the width."""
    return not amount.terms and isinstance(sort, MachineSort) and 0 <= amount.constant < sort.width


def _changed(environment: Environment, changed: Mapping[Expr, int]) -> Environment:
    return {**environment, **changed} if changed else environment


def _total(forms: Sequence[Form]) -> Form:
    total = forms[0]
    for each in forms[1:]:
        total = total.plus(each)
    return total


def _number(sort: Sort) -> bool:
    return sort is INT or isinstance(sort, MachineSort)


def _integral(sort: Sort) -> bool:
    """Return whether values are integers or Booleans."""
    return _number(sort) or sort is BOOL
