"""The precision of a Linear Program: what is kept of the nonlinear part of a program.

An *expression* is a nonlinear term over the variables of a procedure that gets a column of its own: in every
step the column is the value of the term before it, and its next value is the term over the values after the
step. Products are multiplied out, so that the next value of `i * i` after `i = i + 1` is linear in the
columns: `i * i + 2 * i + 1`. A *case split* of a variable replaces each nonlinear term that mentions the
variable by the term for each listed number, which often is linear, and itself for all other numbers.

Both keep the meaning of the program, so a proof of the refined Linear Program is a proof of the program, with
each column replaced by its expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from certus.core import build
from certus.core.terms import ArraySort, Expr, Kind, MachineSort, is_linear
from certus.core.walk import Substitution, postorder, rebuild, variables
from certus.encoding.integers import eliminate_machine
from certus.encoding.linear_terms import normal_form, opaque_terms
from certus.engines.linear.blocks import modelled

EXPRESSIONS = 6  # most expressions of a procedure
CASES = 16  # most numbers in the case split of a variable
DIVISIONS = (Kind.QUOT, Kind.REM, Kind.DIV, Kind.MOD)
BY_SECOND = (*DIVISIONS, Kind.SHL, Kind.SHR, Kind.SELECT)


@dataclass(frozen=True, slots=True)
class Precision:
    """Expressions by procedure, each with its column, and case splits by the name of a variable."""

    expressions: Mapping[str, Mapping[Expr, Expr]] = field(default_factory=dict)  # column -> term
    cases: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def size(self) -> tuple[int, int]:
        """The number of expressions and of cases."""
        return sum(map(len, self.expressions.values())), sum(map(len, self.cases.values()))

    def of(self, procedure: str) -> Mapping[Expr, Expr]:
        return self.expressions.get(procedure, {})

    def definitions(self, procedure: str) -> list[Expr]:
        """Return the equations between columns and their expressions."""
        return [build.eq(column, term) for column, term in self.of(procedure).items()]

    def with_expressions(self, procedure: str, terms: Iterable[Expr]) -> Precision:
        own = dict(self.of(procedure))
        known = set(own.values())
        for term in terms:
            if term not in known and len(own) < EXPRESSIONS:
                own[build.var(f"{procedure}.expression{len(own) + 1}", term.sort)] = term
        return replace(self, expressions={**self.expressions, procedure: own})

    def with_cases(self, name: str, numbers: Iterable[int]) -> Precision:
        merged = tuple(dict.fromkeys((*self.cases.get(name, ()), *numbers)))[:CASES]
        return replace(self, cases={**self.cases, name: merged}) if merged else self

    def split(self, formulas: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the formulas with case splits in their nonlinear terms."""
        if not self.cases:
            return tuple(formulas)
        done: dict[Expr, Expr] = {}
        for term in postorder(*formulas):
            plain = rebuild(term, [done[a] for a in term.args]) if term.args else term
            done[term] = self._split(plain) if is_nonlinear(plain) else plain
        return tuple(done[formula] for formula in formulas)

    def _split(self, term: Expr) -> Expr:
        result = term
        for variable in variables(*deciding(term)):
            if modelled(variable.sort):
                for number in reversed(self.cases.get(base_name(variable), ())):
                    if _fits(number, variable):
                        constant = build.constant(number, variable.sort)
                        value = Substitution({variable: constant}).apply(term)
                        result = build.ite(build.eq(variable, constant), value, result)
        return result


def _fits(number: int, variable: Expr) -> bool:
    sort = variable.sort
    return not isinstance(sort, MachineSort) or sort.low <= number <= sort.high


def base_name(variable: Expr) -> str:
    """Return the name of a program variable, also for an input to it."""
    return variable.name.partition("@")[0]


def is_nonlinear(term: Expr) -> bool:
    """Tell whether the operator of a term of the program is not linear."""
    if term.kind is Kind.VAR or term.kind is Kind.STORE:
        return False
    by_variable = term.kind in DIVISIONS and term.args[1].kind is not Kind.CONST
    return by_variable or not is_linear(term)


def deciding(term: Expr) -> tuple[Expr, ...]:
    """Return the operands of a nonlinear term that make it linear where one of them is constant."""
    return term.args[1:2] if term.kind in BY_SECOND else term.args


# ------------------------------------------------------------------------------------ candidates


def nonlinear_terms(formulas: Sequence[Expr]) -> Iterator[Expr]:
    """Yield the nonlinear subterms of formulas, small ones first."""
    yield from (term for term in postorder(*formulas) if is_nonlinear(term))


def candidates(formulas: Sequence[Expr], state: Sequence[Expr]) -> Iterator[Expr]:
    """Yield the expressions over the `state` that would make formulas linear: products of variables, elements
    of arrays at constant indices, and other nonlinear terms."""
    columns = set(state)
    encoded = eliminate_machine(formulas, style="ite")
    numbers = {symbol: build.to_int(x) for x, symbol in encoded.symbols.items() if x in columns}
    numbers.update((x, x) for x in state if not isinstance(x.sort, MachineSort))
    for term in opaque_terms(normal_form(encoded.formulas), ()):
        if term.kind is Kind.MUL and all(factor in numbers for factor in term.args):
            yield Substitution(numbers).apply(term)
    for term in nonlinear_terms(formulas):
        if term.kind is Kind.MUL or isinstance(term.sort, ArraySort):
            continue
        if term.kind is Kind.SELECT:
            below = term.args[0]
            while below.kind is Kind.STORE:
                below = below.args[0]
            if below.kind is Kind.VAR and term.args[1].kind is Kind.CONST and modelled(term.sort):
                yield build.select(below, term.args[1])
        elif columns.issuperset(variables(term)) and modelled(term.sort):
            yield term
