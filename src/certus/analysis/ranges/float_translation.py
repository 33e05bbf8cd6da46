"""Translate floating-point terms and comparisons to quantities that are ranks (`float_order`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from certus.analysis.ranges.conditions import Form
from certus.analysis.ranges.float_constraints import (
    AT_LEAST,
    AT_MOST,
    DIFFERENT,
    EQUAL,
    GREATER,
    LESS,
    NAN,
    Compared,
    FloatOperation,
    Step,
)
from certus.analysis.ranges.float_operations import MAGNITUDE, NEGATION, PATTERN, RANK, SIGNED, operate
from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.system import Bound, Meet, limits
from certus.core import floats
from certus.core.terms import Expr, Kind, MachineSort

if TYPE_CHECKING:
    from certus.analysis.ranges.terms import Environment, Translation

_ORDERS: Final = {name: FloatOrder(format) for name, format in floats.FORMATS.items()}
_RELATIONS: Final = {  # of the first and the second operand: if the comparison is true, and if it is false
    (Kind.F_LE, True): (AT_MOST, AT_LEAST),
    (Kind.F_LT, True): (LESS, GREATER),
    (Kind.F_EQ, True): (EQUAL, EQUAL),
    (Kind.F_LE, False): (GREATER, LESS),
    (Kind.F_LT, False): (AT_LEAST, AT_MOST),
    (Kind.F_EQ, False): (DIFFERENT, DIFFERENT),
}


class FloatTranslation:
    """The floating-point part of a translation. `constants` are the patterns that the program mentions."""

    def __init__(self, translation: Translation) -> None:
        self.translation, self.system = translation, translation.system
        self.constants: dict[FloatOrder, dict[int, None]] = {}

    def marks(self) -> dict[FloatOrder, list[int]]:
        """Return the ranks at which widening stops: constants, also those of other formats."""
        result = {}
        for order in _ORDERS.values():
            patterns = dict(self.constants.get(order, {}))
            for other, constants in self.constants.items():
                if other != order:
                    patterns.update((floats.convert(other.format, order.format, c), None) for c in constants)
            result[order] = order.marks(patterns)
        return result

    # ------------------------------------------------------------------------------------ values

    def ranked(self, form: Form, order: FloatOrder) -> int:
        """Return the rank of the pattern that a form stands for."""
        if form.view == order:
            return form.terms[0][1]
        if not form.terms:
            bits = form.constant % (2 * order.format.sign)
            self.constants.setdefault(order, {})[bits] = None
            return self.system.fixed(order.rank(bits), order.rank(bits))
        return self._operation(RANK, (order,), (self.translation.settle(form),), order)

    def plain(self, form: Form) -> Form:
        """Return a form of the pattern itself, for a form of its rank."""
        if not isinstance(form.view, FloatOrder):
            return form
        quantity = self._operation(PATTERN, (form.view,), (form.terms[0][1],), form.sort)
        return Form(form.sort, 0, ((1, quantity),))

    def _operation(
        self,
        rule: Kind | str,
        orders: tuple[FloatOrder, ...],
        arguments: tuple[int, ...],
        result: FloatOrder | MachineSort | object,
    ) -> int:
        assert isinstance(result, FloatOrder | MachineSort)
        definition = FloatOperation(rule, orders, arguments, *limits(result))
        return self.translation.typed(self.system.add(definition), result)

    def form(self, term: Expr, arguments: Sequence[Form]) -> Form:
        """Return the form of an operation on floating-point numbers."""
        assert isinstance(term.data, str)
        orders = tuple(_ORDERS[name] for name in term.data.split())
        count = len(arguments) - (term.kind not in (Kind.F_REM, Kind.F_TO))
        values = [*arguments[:count]]
        if term.kind is Kind.F_FROM:
            quantities = [self.translation.settle(self.plain(each)) for each in values]
        else:
            quantities = [self.ranked(each, orders[0]) for each in values]
        quantities += [self.translation.settle(self.plain(each)) for each in arguments[count:]]
        if term.kind is Kind.F_TO:
            quantity = self._operation(term.kind, orders, tuple(quantities), term.sort)
            return Form(term.sort, 0, ((1, quantity),))
        quantity = self._operation(term.kind, orders, tuple(quantities), orders[-1])
        return Form(term.sort, 0, ((1, quantity),), orders[-1])

    def of_bits(self, term: Expr, arguments: Sequence[Form]) -> Form | None:
        """Return the form of an operation on patterns that is a negation, a magnitude, or a change of sign;
        None for others."""
        views = [each.view for each in arguments if isinstance(each.view, FloatOrder)]
        rule = _rule(term, views[0]) if views else None
        if rule is None:
            return None
        chosen = next(each for each in arguments if isinstance(each.view, FloatOrder))
        quantity = self._operation(rule, (views[0],), (chosen.terms[0][1],), views[0])
        return Form(term.sort, 0, ((1, quantity),), views[0])

    # -------------------------------------------------------------------------------- conditions

    def compared(self, literal: Expr, environment: Environment, *, positive: bool) -> dict[Expr, int]:
        """Return the quantities of variables under a comparison. If it compares a value that is no variable,
        the comparison itself has one, which has no value if the comparison cannot have this outcome."""
        assert isinstance(literal.data, str)
        order = _ORDERS[literal.data]
        sides = [self.ranked(self.translation.form(each, environment), order) for each in literal.args]
        relations = _RELATIONS[literal.kind, positive]
        if literal.args[0] is literal.args[1] and literal.kind is Kind.F_EQ and not positive:
            relations = (NAN, NAN)
        changed: dict[Expr, int] = {}
        direct = False
        for number, term in enumerate(literal.args):
            steps, inner = _steps(term, order)
            variable = self._variable(inner, steps, order, environment)
            if variable is not None:
                definition = Compared(
                    environment[variable],
                    sides[1 - number],
                    relations[number],
                    order,
                    steps,
                    negated=not positive,
                )
                changed.update(self.translation.restricted(variable, environment, definition))
                direct = direct or not steps
        if not direct:
            definition = Compared(sides[0], sides[1], relations[0], order, negated=not positive)
            changed[literal] = self.translation.typed(self.system.add(definition), order)
        return changed

    def _variable(
        self, term: Expr, steps: Sequence[Step], order: FloatOrder, environment: Environment
    ) -> Expr | None:
        """Return a variable that has the value of a term from which the steps start."""
        form = self.translation.form(term, environment)
        if len(form.terms) != 1 or form.constant or form.terms[0][0] != 1:
            return None
        quantity = form.terms[0][1]
        if steps and steps[-1].rule is Kind.F_FROM:
            if isinstance(form.view, FloatOrder) or self.translation.settle(form) != quantity:
                return None
        elif form.view != (steps[-1].orders[0] if steps else order):
            return None
        names = (x for x, each in environment.items() if each == quantity and x.kind is Kind.VAR)
        return next(names, None)

    def by_pattern(
        self, literal: Expr, environment: Environment, *, positive: bool
    ) -> dict[Expr, int] | None:
        """Return the quantities under a comparison of a pattern with a constant, as an integer or bit by bit;
        None for others. This is how signs are tested."""
        for number, (term, constant) in enumerate((literal.args, literal.args[::-1])):
            if term.kind is not Kind.VAR or constant.kind is not Kind.CONST or term not in environment:
                continue
            order = self.translation.views.get(term)
            if not isinstance(order, FloatOrder) or not isinstance(term.sort, MachineSort):
                return None
            allowed = _patterns(literal.kind, number, int(constant.value), term.sort, positive=positive)
            if allowed is None:
                return {}
            if allowed[0] > allowed[1]:
                return {term: self.system.shut}
            low, high = operate(RANK, (order,), (allowed,))
            definition = Meet(environment[term], (Bound(high, ()),), (Bound(low, ()),))
            return self.translation.restricted(term, environment, definition)
        return None


def _patterns(
    kind: Kind, number: int, constant: int, sort: MachineSort, *, positive: bool
) -> tuple[int, int] | None:
    """Return the integers that a comparison with a constant allows for the other operand, the first one if
    `number` is 0; None if they are no interval."""
    if kind is Kind.EQ:
        return (constant, constant) if positive else None
    strict = (kind is Kind.LT) is positive
    upper = (number == 0) is positive
    if upper:
        return sort.low, constant - strict
    return constant + strict, sort.high


def _rule(term: Expr, order: FloatOrder) -> str | None:
    """Return which operation on numbers an operation on their patterns is."""
    sign = order.format.sign
    values = [int(a.value) for a in term.args if a.kind is Kind.CONST]
    if term.kind is Kind.BIT_XOR and values == [sign]:
        return NEGATION
    if term.kind is Kind.BIT_AND and values == [sign - 1]:
        return MAGNITUDE
    if term.kind is Kind.BIT_OR and any(
        a.kind is Kind.BIT_AND and sign in (b.value for b in a.args if b.kind is Kind.CONST)
        for a in term.args
    ):
        return SIGNED
    return None


def _steps(term: Expr, order: FloatOrder) -> tuple[tuple[Step, ...], Expr]:
    """Return how a compared value is computed, last step first, and what from."""
    steps: list[Step] = []
    while True:
        if term.kind is Kind.F_CONVERT:
            assert isinstance(term.data, str)
            source, target = (_ORDERS[name] for name in term.data.split())
            steps.append(Step(term.kind, (source, target)))
            order, term = source, term.args[0]
        elif term.kind is Kind.F_FROM:
            steps.append(Step(term.kind, (order,)))
            return tuple(steps), term.args[0]
        elif (rule := _rule(term, order)) in (NEGATION, MAGNITUDE):
            steps.append(Step(str(rule), (order,)))
            term = next(a for a in term.args if a.kind is not Kind.CONST)
        else:
            return tuple(steps), term
