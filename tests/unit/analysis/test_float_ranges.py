"""Ranges of floating-point numbers hold: of single operations and comparisons, and in runs of programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.laws.float_hardware import random_bits
from tests.laws.observed_ranges import OutOfRange, Watch, observe, run_observed

from certus.analysis.ranges import float_operations as operations
from certus.analysis.ranges.facts import facts
from certus.analysis.ranges.float_constraints import (
    AT_LEAST,
    AT_MOST,
    DIFFERENT,
    EQUAL,
    GREATER,
    LESS,
    NAN,
    Compared,
    Step,
)
from certus.analysis.ranges.float_order import FloatOrder, range_formula
from certus.analysis.ranges.operations import Bounds
from certus.core import build, float_terms, floats
from certus.core.accounting import Budget, Statistics
from certus.core.effects import targets
from certus.core.floats import FORMATS, MODES, Format
from certus.core.program import Edge, Program, leaves
from certus.core.terms import Expr, Kind, machine
from certus.core.values import evaluate, fold_float
from certus.frontend.c.load import load_c
from certus.interpreter.interpreter import Machine
from certus.report.ranges import RangeReport, VariableRange
from certus.run.ranges import numeric_report, without_memory
from certus.run.sharing import are_inductive

COUNT = 400  # of each operation and format
ANY_MODE = (0, 255)
_OPERANDS = {Kind.F_FMA: 3, Kind.F_SQRT: 1, Kind.F_RTI: 1}
_ARITHMETIC = (Kind.F_ADD, Kind.F_SUB, Kind.F_MUL, Kind.F_DIV, Kind.F_REM, *_OPERANDS)
formats = pytest.mark.parametrize("format", FORMATS.values(), ids=lambda f: f.name)


def interval(order: FloatOrder, random: Random) -> tuple[Bounds, list[int]]:
    """Return bounds of ranks, and patterns within them."""
    ends = sorted(order.rank(random_bits(order.format, random)) for _ in range(2))
    ranks = [ends[0], ends[1], *(random.randint(*ends) for _ in range(3))]
    ranks += [rank for rank in (-1, 0, 1) if ends[0] <= rank <= ends[1]]
    return (ends[0], ends[1]), [order.pattern(rank) for rank in ranks]


@formats
def test_ranks_are_ordered_as_numbers_are(format: Format) -> None:
    order, random = FloatOrder(format), Random(format.name)
    for _ in range(COUNT):
        a, b = random_bits(format, random), random_bits(format, random)
        assert order.pattern(order.rank(a)) == a
        if floats.less(format, a, b):
            assert order.rank(a) < order.rank(b)
        assert (order.split((order.rank(a), order.rank(a)))[1]) == floats.is_nan(format, a)


@formats
@pytest.mark.parametrize("kind", _ARITHMETIC, ids=lambda k: k.name)
def test_results_of_operations_lie_in_their_range(kind: Kind, format: Format) -> None:
    order, random = FloatOrder(format), Random(f"{kind.name}/{format.name}")
    for _ in range(COUNT):
        drawn = [interval(order, random) for _ in range(_OPERANDS.get(kind, 2))]
        mode = random.choice(MODES)
        bounds = [each for each, _ in drawn]
        if kind is not Kind.F_REM:
            bounds.append(random.choice(((mode, mode), ANY_MODE)))
        low, high = operations.operate(kind, (order,), bounds)
        for _ in range(6):
            operands = [random.choice(patterns) for _, patterns in drawn]
            modes = [] if kind is Kind.F_REM else [mode]
            result = fold_float(kind, format.name, [*operands, *modes], machine(8, signed=False))
            assert result is not None
            assert low <= order.rank(int(result)) <= high, (kind, operands, mode, bounds)


@formats
def test_conversions_lie_in_their_range(format: Format) -> None:
    random = Random(f"conversions/{format.name}")
    order = FloatOrder(format)
    for _ in range(COUNT):
        (bounds, patterns), mode = interval(order, random), random.choice(MODES)
        target = FloatOrder(random.choice(tuple(FORMATS.values())))
        low, high = operations.operate(Kind.F_CONVERT, (order, target), (bounds, (mode, mode)))
        sort = machine(random.choice((8, 32, 64)), signed=random.random() < 0.5)
        least, most = operations.operate(Kind.F_TO, (order,), (bounds,))
        for bits in patterns:
            assert low <= target.rank(floats.convert(format, target.format, bits, mode)) <= high
            number = floats.to_integer(format, bits, sort.low, sort.high)
            assert number is None or least <= number <= most
        ends = sorted(random.choice((0, 1, -1, sort.low, sort.high, random.getrandbits(9))) for _ in "ab")
        low, high = operations.operate(Kind.F_FROM, (order,), ((ends[0], ends[1]), ANY_MODE))
        number = random.randint(*ends)
        assert low <= order.rank(floats.from_integer(format, number, mode)) <= high


@formats
def test_bit_operations_lie_in_their_range(format: Format) -> None:
    order, random = FloatOrder(format), Random(f"bits/{format.name}")
    computed: dict[str, Callable[[int], int]] = {
        operations.NEGATION: lambda bits: bits ^ format.sign,
        operations.MAGNITUDE: lambda bits: bits & ~format.sign,
        operations.SIGNED: lambda bits: bits ^ random.choice((0, format.sign)),
    }
    for _ in range(COUNT):
        bounds, patterns = interval(order, random)
        for rule, compute in computed.items():
            low, high = operations.operate(rule, (order,), (bounds,))
            assert all(low <= order.rank(compute(bits)) <= high for bits in patterns)
        low, high = operations.operate(operations.PATTERN, (order,), (bounds,))
        assert all(low <= bits <= high for bits in patterns)
        ends = sorted((patterns[0], patterns[1]))
        low, high = operations.operate(operations.RANK, (order,), ((ends[0], ends[1]),))
        assert all(low <= order.rank(random.randint(*ends)) <= high for _ in range(3))


@formats
def test_formulas_of_ranges_say_what_the_ranges_do(format: Format) -> None:
    order, random = FloatOrder(format), Random(f"formulas/{format.name}")
    x = build.var("x", float_terms.float_sort(format))
    for _ in range(COUNT):
        bounds, patterns = interval(order, random)
        formula = range_formula(x, order, bounds)
        for bits in (*patterns, random_bits(format, random)):
            inside = bounds[0] <= order.rank(bits) <= bounds[1]
            open_ = format.explicit and order.split(bounds)[1]
            assert bool(evaluate(formula, {x: bits})) == (inside or open_), (bounds, bits)


# ---------------------------------------------------------------------------------------- conditions


_TRUE: dict[str, Callable[[Format, int, int], bool]] = {
    AT_MOST: floats.less_equal,
    LESS: floats.less,
    AT_LEAST: lambda format, a, b: floats.less_equal(format, b, a),
    GREATER: lambda format, a, b: floats.less(format, b, a),
    EQUAL: floats.equal,
}
_NEGATIONS = {AT_MOST: GREATER, LESS: AT_LEAST, AT_LEAST: LESS, GREATER: AT_MOST, EQUAL: DIFFERENT}


@formats
@pytest.mark.parametrize("relation", _TRUE)
def test_values_that_satisfy_a_comparison_stay(relation: str, format: Format) -> None:
    order, random = FloatOrder(format), Random(f"{relation}/{format.name}")
    kept = 0
    for _ in range(2 * COUNT):
        steps, source = drawn_steps(order, random)
        if source is None:
            values = sorted(random.choice((0, 9, -3, 2**40, random.getrandbits(9))) for _ in "abc")
            of, starts = (values[0], values[2]), values
        else:
            of, starts = interval(source, random)
        other, patterns = interval(order, random)
        negated = random.random() < 0.5
        name = _NEGATIONS[relation] if negated else relation
        low, high = Compared(0, 1, name, order, steps, negated=negated).restrict(of, other)
        for start in starts:
            value = stepped(start, steps)
            for bits in patterns:
                if _TRUE[relation](format, value, bits) is not negated:
                    number = start if source is None else source.rank(start)
                    assert low <= number <= high, (name, start, bits, of, other, steps)
                    kept += 1
    assert kept > COUNT


def drawn_steps(order: FloatOrder, random: Random) -> tuple[tuple[Step, ...], FloatOrder | None]:
    """Return how a compared value is computed, and the order of what it is computed from."""
    dice = random.randrange(6)
    source = FloatOrder(random.choice(tuple(FORMATS.values())))
    if dice < 2:
        return (), order
    if dice == 2:
        return (Step(Kind.F_FROM, (order,)),), None
    if dice == 3:
        return (Step(random.choice((operations.NEGATION, operations.MAGNITUDE)), (order,)),), order
    convert = Step(Kind.F_CONVERT, (source, order))
    if dice == 4:
        return (convert,), source
    return (Step(operations.MAGNITUDE, (order,)), convert), source


def stepped(value: int, steps: tuple[Step, ...]) -> int:
    for step in reversed(steps):
        format = step.orders[-1].format
        if step.rule is Kind.F_FROM:
            value = floats.from_integer(format, value)
        elif step.rule is Kind.F_CONVERT:
            value = floats.convert(step.orders[0].format, format, value)
        else:
            value = value ^ format.sign if step.rule == operations.NEGATION else value & ~format.sign
    return value


@formats
def test_a_value_that_is_not_equal_to_itself_is_nan(format: Format) -> None:
    order, random = FloatOrder(format), Random(format.name)
    for _ in range(COUNT):
        of, patterns = interval(order, random)
        low, high = Compared(0, 0, NAN, order, negated=True).restrict(of, of)
        for bits in patterns:
            if floats.is_nan(format, bits):
                assert low <= order.rank(bits) <= high
        if not order.split(of)[1]:
            assert low > high


# ------------------------------------------------------------------------------------------- programs


PROLOGUE = """
    double nondet(void); float nondet_float(void); int nondet_int(void); void abort(void);
    double fabs(double); double sqrt(double); double floor(double); double fmin(double, double);
    extern void reach_error(void);
    #define assert(c) do { if (!(c)) reach_error(); } while (0)
    #define assume(c) do { if (!(c)) abort(); } while (0)
"""
PROGRAMS = {
    "a filter": """
        int main(void) {
            double s = 0; for (int i = 0; i < 1000; i++) {
                double e = nondet(); assume(e >= -1 && e <= 1); s = 0.9 * s + e; assert(s <= 100); } }""",
    "a counter": """
        int main(void) { float x = 0; while (x < 10) x += 0.1f; assert(x >= 10); return (int)x; }""",
    "promotion and integers": """
        int main(void) {
            float f = nondet_float(); int n = 0; if (f > 1.5 && f < 1e6) { n = f; f = n / 2; }
            double d = n; for (int i = 0; i < d && i < 50; i++) d -= 0.5; assert(n >= 0); }""",
    "signs and zeros": """
        int main(void) {
            double x = nondet(), y = 1; assume(x >= 0); y = -x; double z = fabs(y) + 0.0;
            if (x != 0) y = 1 / x; else y = 1 / z;
            for (int i = 0; i < 4; i++) { z = -z; y = fmin(y, z); } assert(x == x); }""",
    "nan": """
        int main(void) {
            double x = nondet(), y = 0; if (x != x) y = x; else y = x - x;
            double s = sqrt(x); if (s == s) y = floor(s); assert(y != y || y >= 0); }""",
    "arrays and callees": """
        float t[4];
        float half(float x) { return x / 2; }
        int main(void) {
            for (int i = 0; i < 4; i++) t[i] = i;
            for (int i = 0; i < 20; i++) { int k = nondet_int() & 3; t[k] = half(t[k]) + 1; }
            assert(t[0] <= 5); }""",
    "overflow": """
        int main(void) { double x = 1; for (int i = 0; i < 3000; i++) x = x * -2; assert(x == x); }""",
}
PROVED = ("a filter", "a counter", "promotion and integers")


class WatchFloats(Watch):
    """Compares each float that is written with the row of the report that stands for its variable."""

    def __init__(self, program: Program, rows: dict[Expr, VariableRange]) -> None:
        super().__init__(program, {})
        self._rows = rows

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        for op in () if edge is None else leaves(edge):
            for x in targets(op):
                row = self._rows.get(x)
                value = None if row is None else machine.value(x)
                if row is None or not isinstance(value, int):
                    continue
                order = FloatOrder(FORMATS[row.type])
                if floats.is_nan(order.format, value):
                    self.seen += 1
                    if not row.nan:
                        raise OutOfRange(f"{x.name} is NaN")
                else:
                    assert row.low is not None
                    assert row.high is not None
                    self.compare(
                        x, order.rank(value), order.rank(row.low), order.rank(row.high), machine.location
                    )


def printed(path: Path, text: str) -> tuple[Program, RangeReport, WatchFloats]:
    path.write_text(PROLOGUE + text)
    lowered, offsets = without_memory(load_c(path).program)
    report = numeric_report(lowered, None, Budget(60), offsets)
    by_name = {
        (row.procedure, row.name): row for row in report.variables if row.given and row.type in FORMATS
    }
    owners = {x: name for name, p in lowered.procedures.items() for x in p.variables}
    rows = {}
    for x in (*lowered.globals, *owners):
        name = lowered.source_names.get(x)
        field = offsets.field(x) if offsets is not None and name is None else None
        row = by_name.get((owners.get(x), name or "")) or by_name.get((None, field or ""))
        if row is not None:
            rows[x] = row
    return lowered, report, WatchFloats(lowered, rows)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_written_lies_in_the_printed_range(name: str, tmp_path: Path) -> None:
    program, _, watch = printed(tmp_path / "program.c", PROGRAMS[name])
    assert run_observed(program, watch, runs=40, steps=400) >= 40


def test_a_printed_range_that_is_too_narrow_is_noticed(tmp_path: Path) -> None:
    program, report, watch = printed(tmp_path / "program.c", PROGRAMS["a counter"])
    (row,) = (row for row in report.variables if row.name == "x")
    object.__setattr__(row, "high", row.low)
    with pytest.raises(OutOfRange):
        run_observed(program, watch, runs=1, steps=400)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_of_runs_lie_in_their_ranges(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(PROLOGUE + PROGRAMS[name])
    program, _ = without_memory(load_c(path).program)
    assert observe(program, runs=20, steps=300) > 100


@pytest.mark.parametrize("name", PROVED)
def test_facts_are_inductive(name: str, tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(PROLOGUE + PROGRAMS[name])
    program, _ = without_memory(load_c(path).program)
    stated = facts(program)
    assert any(Kind.F_LE in {part.kind for part in formula.args} for formula in stated.values())
    assert are_inductive(program, stated, Budget(120), Statistics())
