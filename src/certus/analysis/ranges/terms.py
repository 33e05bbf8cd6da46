"""Terms and conditions as quantities.

A term becomes a *form*: a linear combination of quantities over the integers that is congruent to the term's
value modulo its type. Sums, differences and multiples of forms are forms, whatever wraps in between; only
where the value itself is needed does the form become a `Sum`, which may wrap once. Arrays are as one
element: reading gives that quantity, writing joins the value to it. Variables whose bits are read as signed
are kept as signed numbers (`views`), and what is chosen or read from them stays so until it is used.

A condition is solved for each of its variables (seed 002, section 3.3): `x + 2 * y <= z` bounds x and y from
above and z from below. If a side may wrap, nothing follows for the variables in it. What it says of a
variable is true of all that have the same quantity: of the cell of memory that it was just read from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from certus.analysis.ranges.conditions import Comparison, fixed_choice, literals
from certus.analysis.ranges.control import mentioned
from certus.analysis.ranges.forms import Form
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
    element,
    limits,
)
from certus.core import build
from certus.core.sorts import BOOL, INT, MachineSort, Sort
from certus.core.terms import Expr, Kind
from certus.core.walk import variables

LONGEST: Final = 8  # terms of a form
ALTERNATIVES: Final = 8  # of a disjunction that is looked at

Environment = Mapping[Expr, int]  # from a variable to its quantity


class Translation:
    """Adds the quantities of terms to a system. `views` are the variables that are kept as another sort;
    `opaque` collects the terms that are not linear."""

    def __init__(
        self, system: System, views: Mapping[Expr, MachineSort] | None = None, *, elements: bool = True
    ) -> None:
        self.system = system
        self.views = views or {}
        self.elements = elements  # whether elements of arrays have bounds
        self.limits: dict[int, tuple[int, int]] = {}  # of quantities, as far as their type is known
        self.opaque: dict[int, Expr] = {}
        self._shared: set[int] = set()  # quantities that were given on, as they are

    # ------------------------------------------------------------------------------------- values

    def kept(self, x: Expr) -> Sort:
        """The sort that the quantities of a variable are of; of an array, that of elements."""
        return self.views.get(x, x.sort)

    def given(self, x: Expr, term: Expr, environment: Environment) -> int:
        """The quantity that a variable becomes by being given the value of a term. A choice whose condition
        says something of what is chosen is as good as a branch."""
        parts: list[int] = []
        gates: list[int] = []
        way = self.system.open
        while len(parts) < ALTERNATIVES and (choice := _chosen(term)) is not None:
            condition, then, term = choice
            changed, needs = self.assume(condition, environment)
            parts.append(self._value(x, then, _changed(environment, changed)))
            gates.append(self.system.add(Gate(way, tuple(dict.fromkeys(needs)))))
            changed, needs = self.assume(build.not_(condition), environment)
            environment = _changed(environment, changed)
            way = self.system.add(Gate(way, tuple(dict.fromkeys(needs))))
        last = self._value(x, term, environment)
        return (
            self._added(self.system.add(Join([*parts, last], [*gates, way])), self.kept(x)) if parts else last
        )

    def _value(self, x: Expr, term: Expr, environment: Environment) -> int:
        form = self.form(term, environment, self.views.get(x))
        quantity = self.settle(form.of(self.kept(x)))
        if form.terms == ((1, quantity),):
            self._shared.add(quantity)
        return quantity

    def settle(self, form: Form) -> int:
        """The quantity that is the value of a form."""
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
        return self._added(self.system.add(Sum(form.constant, form.terms, least, greatest)), form.sort)

    def _added(self, quantity: int, sort: Sort) -> int:
        self.limits[quantity] = limits(sort)
        return quantity

    def arbitrary(self, sort: Sort) -> int:
        """A new quantity that may be any value of a sort. It is not shared: one quantity is one value."""
        return self._added(self.system.add(Fixed(*limits(sort))), sort)

    def copied(self, quantity: int, sort: Sort) -> int:
        """A new quantity with the bounds of another, for a value that need not be the same."""
        return self._added(self.system.add(Sum(0, ((1, quantity),), *limits(sort))), sort)

    def form(self, term: Expr, environment: Environment, view: MachineSort | None = None) -> Form:
        """A term; what is chosen in it is better kept in a view, if it has no other."""
        forms: dict[Expr, Form] = {}
        if not term.args:
            return self._form(term, forms, environment, view)
        for part in _values(term):
            forms[part] = self._form(part, forms, environment, view)
        return forms[term]

    def _form(
        self, term: Expr, forms: Mapping[Expr, Form], environment: Environment, view: MachineSort | None
    ) -> Form:
        kind, sort = term.kind, term.sort
        if kind is Kind.CONST:
            return (
                Form(sort, int(term.value), ())
                if _integral(sort)
                else self._alone(self.arbitrary(sort), sort)
            )
        if kind is Kind.VAR:
            found = environment.get(term)
            if found is None:
                return self._alone(self.arbitrary(sort), sort)
            return self._alone(found, sort, self.views.get(term))
        if sort is BOOL or not _integral(sort):
            return self._whole(term, forms, view)
        given = [forms[a] for a in term.args if a in forms]
        if kind is Kind.ADD:
            return self._short(_total(given))
        if kind is Kind.SUB:
            return self._short(given[0].plus(given[1], -1))
        if kind is Kind.NEG:
            return given[0].times(-1)
        if kind is Kind.WRAP:
            return self._converted(given[0], sort)
        if kind is Kind.TO_INT:
            return self._alone(self.settle(given[0]), sort)
        if kind is Kind.MUL:
            return self._product(term, given)
        if kind is Kind.SHL and _shifts(given[1], sort):
            return given[0].times(1 << given[1].constant)
        return self._other(term, given, view)

    def _alone(self, quantity: int, sort: Sort, view: MachineSort | None = None) -> Form:
        return Form(sort, 0, ((1, quantity),), view)

    def _short(self, form: Form) -> Form:
        return form if len(form.terms) <= LONGEST else self._alone(self.settle(form), form.sort)

    def _converted(self, form: Form, sort: Sort) -> Form:
        """To a machine type: congruence survives if it is not wider."""
        assert isinstance(sort, MachineSort)
        if form.sort is INT or (isinstance(form.sort, MachineSort) and sort.width <= form.sort.width):
            return form.of(sort)
        return self._alone(self.settle(form), sort)

    def _product(self, term: Expr, given: Sequence[Form]) -> Form:
        product = given[0]
        for factor in given[1:]:
            if not product.terms:
                product = factor.times(product.constant)
            elif not factor.terms:
                product = product.times(factor.constant)
            else:
                product = self._operation(term, [product, factor])
        return product

    def _other(self, term: Expr, given: Sequence[Form], view: MachineSort | None) -> Form:
        if term.kind is Kind.ITE:
            return self._joined(term.sort, given[-2:], view)
        if term.kind is Kind.SELECT:
            if not self.elements:
                return self._alone(self.arbitrary(term.sort), term.sort)
            own = given[0].view
            whole = self.settle(given[0].seen_as(own))
            return self._alone(self.copied(whole, own or term.sort), term.sort, own)
        return self._operation(term, given)

    def _joined(self, sort: Sort, given: Sequence[Form], view: MachineSort | None) -> Form:
        """One of several, in the view that one of them has; if none has one, in the given one if it fits."""
        kept = element(sort)
        if not isinstance(kept, MachineSort) or view is None or kept.width != view.width or kept.signed:
            view = None
        view = next((each.view for each in given if each.view is not None), view)
        parts = [self.settle(each.seen_as(view)) for each in given]
        if len(parts) == 1:
            return self._alone(parts[0], sort, view)
        join = self.system.add(Join(parts, [self.system.open] * len(parts)))
        return self._alone(self._added(join, view or sort), sort, view)

    def _operation(self, term: Expr, given: Sequence[Form]) -> Form:
        arguments = [self.settle(each) for each in given]
        if term.kind is Kind.MUL and arguments[0] == arguments[1]:
            arguments = arguments[:1]
        least, greatest = limits(term.sort)
        width = term.sort.width if isinstance(term.sort, MachineSort) else 0
        added = self.system.add(Operation(term.kind, tuple(arguments), least, greatest, width))
        self.opaque[added] = term
        return self._alone(self._added(added, term.sort), term.sort)

    def _whole(self, term: Expr, forms: Mapping[Expr, Form], view: MachineSort | None) -> Form:
        """Booleans, arrays and what has no number."""
        if term.kind in (Kind.STORE, Kind.CONST_ARRAY, Kind.ITE, Kind.SELECT):
            return self._joined(term.sort, [forms[a] for a in _parts(term)], view)
        return self._alone(self.arbitrary(term.sort), term.sort)

    # --------------------------------------------------------------------------------- conditions

    def assume(self, condition: Expr, environment: Environment) -> tuple[dict[Expr, int], list[int]]:
        """What variables become where a condition is true, and the quantities that must have a value then."""
        changed: dict[Expr, int] = {}
        needs: list[int] = []
        for literal, positive in literals(condition):
            now = _changed(environment, changed)
            if literal.kind is (Kind.OR if positive else Kind.AND):
                met, possible = self._alternatives(literal, now, positive=positive)
                needs.append(possible)
            else:
                met = self._literal(literal, now, positive=positive)
            if met is None:
                return changed, [*needs, self.system.shut]
            changed.update(met)
            needs.extend(met.values())
        return changed, needs

    def _alternatives(
        self, term: Expr, environment: Environment, *, positive: bool
    ) -> tuple[dict[Expr, int] | None, int]:
        """One of several conditions is true: what becomes of variables that all of them say something of, and
        what has a value if one of them can be true."""
        if len(term.args) > ALTERNATIVES:
            return {}, self.system.open
        found: list[dict[Expr, int]] = []
        for part in term.args:
            changed: dict[Expr, int] | None = {}
            for literal, sign in literals(part, positive=positive):
                if literal.kind is (Kind.OR if sign else Kind.AND):
                    continue
                met = self._literal(literal, _changed(environment, changed or {}), positive=sign)
                if met is None:
                    changed = None
                    break
                assert changed is not None
                changed.update(met)
            if changed is not None:
                found.append(changed)
        if not found:
            return None, self.system.shut
        gates = [self.system.add(Gate(self.system.open, tuple(each.values()))) for each in found]
        common = [x for x in found[0] if all(x in each for each in found)]
        joined: dict[Expr, int] = {}
        for x in common:
            parts = [each[x] for each in found]
            join = self.system.add(Join(parts, [self.system.open] * len(parts)))
            joined[x] = self._added(join, self.kept(x))
        return joined, self.system.add(Join(gates, [self.system.open] * len(gates)))

    def _literal(self, literal: Expr, environment: Environment, *, positive: bool) -> dict[Expr, int] | None:
        if literal.kind is Kind.CONST:
            return {} if bool(literal.value) is positive else None
        if literal.kind is Kind.VAR:
            return self._met(literal, environment, [Bound(int(positive), ())], [Bound(int(positive), ())], [])
        if literal.kind is Kind.EQ:
            choice = fixed_choice(literal)
            if choice is not None:
                term, value = choice
                if value is None:
                    return None if positive else {}
                inner = next(literals(term, positive=value is positive))
                simple = inner[0].kind not in (Kind.AND, Kind.OR)
                return self._literal(inner[0], environment, positive=inner[1]) if simple else {}
        if literal.kind not in (Kind.EQ, Kind.LE, Kind.LT) or not _number(literal.args[0].sort):
            return {}
        a, b = literal.args
        left, right = self.form(a, environment), self.form(b, environment)
        if literal.kind is Kind.EQ:  # of bits, in whatever view
            view = left.view or right.view
            left, right = left.seen_as(view), right.seen_as(view)
        names = {environment[x]: x for x in mentioned(literal) if x in environment}
        sides = (left, self.settle(left)), (right, self.settle(right))
        compared = Comparison(*sides, names)
        if literal.kind is Kind.EQ:
            met = compared.equal() if positive else compared.different()
        elif positive:
            met = compared.at_most(strict=literal.kind is Kind.LT)
        else:
            met = Comparison(*sides[::-1], names).at_most(strict=literal.kind is Kind.LE)
        changed: dict[Expr, int] = {}
        for x, bounds in met.items():
            changed.update(self._met(x, environment, *bounds))
        return changed

    def _met(
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
        met = self.system.add(Meet(of, tuple(uppers), tuple(lowers), tuple(excluded)))
        self.limits[met] = self.limits.get(of, limits(self.kept(variable)))
        found = {variable: met}
        if of in self._shared:
            found.update((x, met) for x, each in environment.items() if each == of and _number(x.sort))
        return found


# -------------------------------------------------------------------------------------------- shapes


def _chosen(term: Expr) -> tuple[Expr, Expr, Expr] | None:
    """A choice, converted or not, whose condition and values have a variable in common: its parts."""
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
    """The subterms whose value the term is made of, arguments first: no conditions, no indexes."""
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
    """Whether an amount to shift by is a constant that is not too large."""
    return not amount.terms and isinstance(sort, MachineSort) and 0 <= amount.constant < sort.width


def _changed(environment: Environment, changed: Mapping[Expr, int]) -> Environment:
    return {**environment, **changed} if changed else environment


def _total(given: Sequence[Form]) -> Form:
    total = given[0]
    for each in given[1:]:
        total = total.plus(each)
    return total


def _number(sort: Sort) -> bool:
    return sort is INT or isinstance(sort, MachineSort)


def _integral(sort: Sort) -> bool:
    """Whether values, or those of elements, are integers or Booleans."""
    return _number(sort) or sort is BOOL
