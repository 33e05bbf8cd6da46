"""`ranges`: the ranges of a program's variables, as a report. Nothing is verified here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial, reduce
from pathlib import Path
from typing import Final

from certus.analysis.ranges.bounded import BoundedRanges, bounded_ranges
from certus.analysis.ranges.float_order import FloatOrder
from certus.analysis.ranges.members import FewValues
from certus.analysis.ranges.offsets import Offsets, Pointing
from certus.analysis.ranges.result import (
    Ranges,
    analyse,
    converted,
    declared_bits,
    needed_bits,
    patterns,
    type_range,
)
from certus.analysis.ranges.system import limits
from certus.core import build, float_terms
from certus.core.accounting import Budget
from certus.core.c_text import c_text
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.effects import uses_memory
from certus.core.engine import Task, apply_passes
from certus.core.errors import BudgetExceeded, CertusError, Inconsistent, InputError, Unsupported
from certus.core.intervals import Interval
from certus.core.program import Location, Program
from certus.core.terms import BOOL, REAL, ArraySort, Expr, Kind, MachineSort, Sort
from certus.encoding.addresses import Mistyped
from certus.encoding.memory import lower_memory
from certus.engines.ranges import Options, system_solver
from certus.engines.registry import ENGINES
from certus.frontend import C_SUFFIXES, Question, load_question, read_question
from certus.passes.constants import Constants
from certus.passes.memory import find_partition, pointers_unsupported
from certus.passes.pointer_flow import scan_types
from certus.passes.slice import Slice, declared
from certus.report.ranges import (
    NotLinear,
    RangeReport,
    SymbolicBound,
    VariableRange,
    ranges_from_json,
    ranges_json,
)
from certus.run.settings import Settings, bad_usage, check_owners, engine_options
from certus.system.child import Kind as Ending
from certus.system.child import run_limited

ASSUME: Final = "--assume"  # what positions in an assumption refer to
RETURNED: Final = "(returned)"  # the name of a result
_LONGEST: Final = 60  # characters of an operation in a list


@dataclass(frozen=True, slots=True)
class Wanted:
    """The question: one procedure by itself, an assumption at its entry, a bound on the entries of loops."""

    function: str | None = None
    assume: str | None = None
    bound: int | None = None


def ranges(
    path: str | Path,
    wanted: Wanted,
    settings: Settings | None = None,
    *,
    on_progress: Callable[[str], None] | None = None,
) -> RangeReport:
    """Return the ranges of the program in a file. Raises `InputError` for malformed input, `Unsupported` if
    the program cannot be modelled or the limits are too tight."""
    settings = settings or Settings()
    start, budget = time.monotonic(), Budget(settings.timeout)
    _check(wanted)
    check_owners(settings, ENGINES)
    options = engine_options(ENGINES["ranges"], settings)
    question = read_question(Path(path), property=settings.property_name, data_model=settings.data_model)
    try:
        program = _loaded(question, wanted.function, settings, budget)
        budget.check()
    except BudgetExceeded:
        raise _no_ranges("timeout", "", settings) from None
    lowered, offsets = without_memory(program)
    assumption = build.TRUE
    if wanted.function is not None:
        assumption = _assumption(lowered, wanted.function, wanted.assume)
    limit = budget.remaining()
    result = run_limited(
        lambda _: _work(lowered, offsets, wanted, assumption, options, Budget(limit), start),
        seconds=limit,
        memory=settings.memory,
        on_progress=on_progress,
    )
    if result.payload is None:
        raise _no_ranges(result.kind, result.detail, settings)
    return ranges_from_json(json.loads(result.payload))


def _loaded(question: Question, function: str | None, settings: Settings, budget: Budget) -> Program:
    """Return the program; it starts with `function` if `main` does not call that function, or is missing."""
    load = partial(load_question, question, arguments=settings.clang_arguments, budget=budget)
    try:
        program = load().program
        if (
            function is None
            or function in program.procedures
            or question.file.suffix.lower() not in C_SUFFIXES
        ):
            return program
    except InputError as error:
        if function is None or error.diagnostics[0].code != "no-main":
            raise
    return load(entry=function).program


def _check(wanted: Wanted) -> None:
    if wanted.assume is not None and wanted.function is None:
        raise bad_usage("--assume says what holds at the entry of a function", "add --function NAME")
    if wanted.function is not None and wanted.bound is not None:
        raise bad_usage("--bound is for whole programs, not for --function", "leave one of them out")


def without_memory(program: Program) -> tuple[Program, Offsets | None]:
    """Return the program without memory operations, and where its pointers point."""
    if not uses_memory(program):
        return program, None
    partition = find_partition(program)
    try:
        leaks = scan_types(program, partition).leaks
        return lower_memory(program, partition), Offsets(program, partition, leaks)
    except Mistyped as wrong:
        raise pointers_unsupported(str(wrong)) from wrong


def _assumption(program: Program, function: str, text: str | None) -> Expr:
    """Return the user's assumption as a formula over the parameters and globals of a procedure."""
    if function not in program.procedures:
        listed = ", ".join(name for name in program.procedures if not name.startswith("$"))
        raise bad_usage(f"there is no function {function!r}", f"functions: {listed}")
    if text is None:
        return build.TRUE
    from certus.frontend.lp.annotation import parse_expression
    from certus.frontend.predicates import in_machine_arithmetic, names_in

    allowed = {*program.procedures[function].parameters, *program.globals}
    names = {
        name: term
        for name, term in names_in(program, function).items()
        if term in allowed or (term.args and term.args[0] in allowed)
    }
    return in_machine_arithmetic(parse_expression(text, names, sort=BOOL, file=ASSUME))


def _work(
    program: Program,
    offsets: Offsets | None,
    wanted: Wanted,
    assumption: Expr,
    options: Options,
    budget: Budget,
    start: float,
) -> bytes:
    """Compute the ranges in the child process."""
    if wanted.function is not None:
        report = _symbolic(program, wanted.function, assumption, budget)
    else:
        report = numeric_report(program, wanted.bound, budget, offsets, options)
    data = ranges_json(report) | {"seconds": round(time.monotonic() - start, 3)}
    return json.dumps(data).encode()


def _no_ranges(kind: Ending, detail: str, settings: Settings) -> CertusError:
    if kind == "timeout":
        message = f"no ranges within {settings.timeout:g} s"
        return Unsupported(Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout"))
    if kind == "memory":
        return Unsupported(Diagnostic("memory-limit", detail, Severity.NOTE, hint="try a larger --memory"))
    if kind == "interrupted":
        return Unsupported(Diagnostic("interrupted", "interrupted before the ranges were computed"))
    return Inconsistent(f"range analysis failed: {detail}")


# ------------------------------------------------------------------------------------------ numeric


def numeric_report(
    program: Program,
    bound: int | None,
    budget: Budget,
    offsets: Offsets | None = None,
    options: Options | None = None,
) -> RangeReport:
    """Return the ranges of a program without memory operations, in all executions or within a bound."""
    prepared = apply_passes(Task(program), [Constants(), Slice()] if program.errors else [Constants()])[
        0
    ].subject
    assert isinstance(prepared, Program)
    options = options or Options()
    if options.calls == "unique":
        from certus.reference.unique_inlining import merge

        merged = merge(prepared)
        prepared = prepared if merged is None else merged.program
    analysed = analyse(prepared, budget=budget, solver=system_solver(options))
    shown = _within(analysed, bound, budget)
    pointing = _pointing(program, shown, bound, budget, offsets)
    left_out = len(tuple(declared(program))) - len(tuple(declared(prepared)))
    few = FewValues(analysed.essa.system, shown.values, budget)
    return RangeReport(
        program.file,
        (
            *_variables(replace(prepared, initial=program.initial), shown, few, pointing),
            *_memory(program, prepared, shown, offsets, lambda: _unsliced(program, bound, budget, options)),
        ),
        () if bound is not None else tuple(_not_linear(prepared, analysed)),
        (),
        bound,
        None,
        left_out if program.errors else 0,
        0.0,
        {"quantities": len(analysed.essa.system), "linear programs": analysed.linear_programs},
        assumes_order=offsets is not None and offsets.overlays,
    )


def _within(analysed: Ranges, bound: int | None, budget: Budget) -> Ranges | BoundedRanges:
    return analysed if bound is None else bounded_ranges(analysed, bound, budget=budget)


def _pointing(
    program: Program,
    shown: Ranges | BoundedRanges,
    bound: int | None,
    budget: Budget,
    offsets: Offsets | None,
) -> Callable[[Expr], Pointing | None]:
    """Return where pointers point: by an analysis of its own, if objects share an address for it."""
    if offsets is None:
        return lambda x: None
    if offsets.overlays:
        shown = _within(analyse(offsets.overlaid(program), budget=budget), bound, budget)
    return lambda x: offsets.of(x, shown.of(x))


def _variables(
    program: Program,
    shown: Ranges | BoundedRanges,
    few: FewValues,
    pointing: Callable[[Expr], Pointing | None],
) -> Iterator[VariableRange]:
    owners: list[tuple[str | None, tuple[Expr, ...]]] = [(None, program.globals)]
    owners += [(name, p.variables) for name, p in program.procedures.items()]
    for owner, names in owners:
        for x in names:
            range_, order = shown.quantity_range(x), shown.quantity_sort(x)
            initial = _initial_value(program, x, order)
            if initial is not None:  # passes replace reads of it
                single = Interval(initial, initial)
                range_ = single if range_ is None else range_.hull(single)
            sort = x.sort if isinstance(x.sort, ArraySort) or isinstance(order, FloatOrder) else order
            row = VariableRange(
                program.source_names.get(x, x.name),
                owner,
                sort.name,
                range_ is not None,
                None if range_ is None else range_.low,
                None if range_ is None else range_.high,
                declared_bits(x.sort),
                needed_bits(range_),
                x not in program.source_names,
                input=shown.is_input(x),
            )
            place = pointing(x)
            if isinstance(order, FloatOrder):
                yield _floating(row, order, range_)
            elif place is not None:
                yield _pointer(row, place)
            else:
                values = few.of(shown.essa.defined.get(x, ()))
                if values is not None and initial is not None:
                    values = tuple(sorted({*values, initial}))
                numbered = replace(row, values=values) if values else row
                yield numbered if numbered.numbered > row.saved else row


def _initial_value(program: Program, x: Expr, sort: Sort | FloatOrder) -> int | None:
    """Return the initial value of a global in the sort of its quantities; None if it has none, or is no
    integer."""
    value = program.initial.get(x)
    if value is None or value.kind is not Kind.CONST or value.sort is REAL:
        return None
    number = int(value.value)
    if isinstance(sort, FloatOrder):
        return sort.rank(number)
    return sort.wrap(number) if isinstance(sort, MachineSort) else number


def _floating(row: VariableRange, order: FloatOrder, range_: Interval | None) -> VariableRange:
    """Return the range of a floating-point number: the patterns of the least and the greatest number."""
    single = range_ is None or range_.low == range_.high
    row = replace(row, type=order.format.name, needed=0 if single else row.declared, low=None, high=None)
    if range_ is None or range_.low is None or range_.high is None:
        return row
    numbers, nan = order.split((range_.low, range_.high))
    if numbers is None:
        return replace(row, nan=nan)
    return replace(row, low=order.pattern(numbers[0]), high=order.pattern(numbers[1]), nan=nan)


def _pointer(row: VariableRange, pointing: Pointing) -> VariableRange:
    """Return the range of a pointer's offset. Its bits are those of the offset and of the choice of
    object."""
    offset, choices = pointing.offset, pointing.choices
    bits = needed_bits(offset) if offset is not None else None
    needed = row.declared if bits is None or choices is None else bits + (choices - 1).bit_length()
    return replace(
        row,
        type="pointer",
        low=None if offset is None else offset.low,
        high=None if offset is None else offset.high,
        needed=needed,
        objects=pointing.objects.names,
        null=pointing.null,
    )


def _unsliced(
    program: Program, bound: int | None, budget: Budget, options: Options
) -> Ranges | BoundedRanges:
    """Return the ranges of the program with the variables that the property does not depend on."""
    return _within(analyse(program, budget=budget, solver=system_solver(options)), bound, budget)


def _memory(
    program: Program,
    prepared: Program,
    shown: Ranges | BoundedRanges,
    offsets: Offsets | None,
    unsliced: Callable[[], Ranges | BoundedRanges],
) -> Iterator[VariableRange]:
    """Yield one range for the elements of each array, and one for each field, if a cell of it is left in the
    `prepared` program. Where some cells are left and others are not, the range comes from the `unsliced`
    analysis, since it has to contain the values of all cells. The bits of cells are counted one by one, as
    those of variables that the source does not name."""
    if offsets is None:
        return
    left = frozenset(declared(prepared))
    fields: dict[str, list[Expr]] = {}
    for x in declared(program):
        if (name := offsets.field(x)) is not None and x not in program.source_names:
            fields.setdefault(name, []).append(x)
    whole: Ranges | BoundedRanges | None = None
    for name, cells in fields.items():
        if not any(x in left for x in cells):
            continue
        ranges_ = shown
        if not all(x in left for x in cells):
            ranges_ = whole = whole or unsliced()
        known = [(ranges_.quantity_sort(x), r) for x in cells if (r := ranges_.quantity_range(x)) is not None]
        if known:
            yield _field(name, known)


def _field(name: str, known: list[tuple[Sort | FloatOrder, Interval]]) -> VariableRange:
    """Return one range for all cells of a field, from the sort and the range of each."""
    orders = [sort for sort, _ in known if isinstance(sort, FloatOrder)]
    if orders and all(sort == orders[0] for sort, _ in known):
        row = VariableRange(name, None, "", True, None, None, None, None, ours=False)
        whole = reduce(Interval.hull, (range_ for _, range_ in known))
        return replace(_floating(row, orders[0], whole), needed=None)
    plain = [(sort, r) if not isinstance(sort, FloatOrder) else _pattern(sort, r) for sort, r in known]
    sort = min((sort for sort, _ in plain), key=lambda sort: limits(sort)[0])  # signed if one is
    hull = reduce(Interval.hull, (converted(range_, sort) for _, range_ in plain))
    return VariableRange(name, None, sort.name, True, hull.low, hull.high, None, None, ours=False)


def _pattern(order: FloatOrder, range_: Interval) -> tuple[Sort, Interval]:
    """Return the range of the bits of a floating-point number."""
    return float_terms.float_sort(order.format), patterns(order, range_)


def _not_linear(program: Program, analysed: Ranges) -> Iterator[NotLinear]:
    """Yield each operation of the source once, although cells of an array, and both outcomes of a condition,
    repeat it. Variables without a name in the source are shown as dots."""
    names = {x: program.source_names.get(x, "...") for x in declared(program)}
    listed: dict[NotLinear, None] = {}
    for edge, term, range_ in analysed.opaque():
        line = None if edge.span is None else edge.span.line
        text = c_text(term, names=names, limit=_LONGEST)
        listed[NotLinear(line, text, range_.low, range_.high, range_ == type_range(term.sort))] = None
    yield from listed


def _names(program: Program) -> dict[Expr, str]:
    return {x: program.source_names.get(x, x.name) for x in declared(program)}


# ----------------------------------------------------------------------------------------- symbolic


def _symbolic(program: Program, function: str, assumption: Expr, budget: Budget) -> RangeReport:
    from certus.analysis.ranges.symbolic import Affine, symbolic_ranges

    returned = dict.fromkeys(program.procedures[function].results, RETURNED)
    names = _names(program) | returned

    def bound(sum_: Affine | None, none: str) -> str:
        return none if sum_ is None else affine_text(sum_.constant, [(c, names[x]) for c, x in sum_.terms])

    rows = []
    for case in symbolic_ranges(program, function, assumption, budget=budget):
        narrowed = ((x, r) for x, r in case.parameters.items() if r != type_range(x.sort))
        condition = " && ".join(_condition(names[x], r.low, r.high) for x, r in narrowed)
        for at, at_location in case.at.items():
            for x, range_ in at_location.items():
                at_exit = at is program.procedures[function].exit
                if x in program.source_names or (x in returned and at_exit):
                    low, high = bound(range_.low, "-inf"), bound(range_.high, "+inf")
                    rows.append(
                        SymbolicBound(
                            condition or "always", _place(program, function, at), names[x], low, high
                        )
                    )
    return RangeReport(program.file, symbolic=tuple(rows), function=function)


def _condition(name: str, low: int | None, high: int | None) -> str:
    if low is None:
        return f"{name} <= {high}" if high is not None else name
    return f"{low} <= {name}" if high is None else f"{low} <= {name} <= {high}"


def _place(program: Program, function: str, at: Location) -> str:
    if at is program.procedures[function].exit:
        return "exit"
    span = at.loop or at.span
    return at.name if span is None else f"loop in line {span.line}"


def affine_text(constant: int | Fraction, terms: list[tuple[int | Fraction, str]]) -> str:
    """Return a linear expression as people write it, such as `2 * n - 1` or `n/2 + 1`."""
    text = ""
    for coefficient, name in terms:
        factor, divisor = abs(coefficient.numerator), coefficient.denominator
        size = name if factor == 1 else f"{factor} * {name}"
        size += "" if divisor == 1 else f"/{divisor}"
        if text:
            text += f" {'-' if coefficient < 0 else '+'} {size}"
        else:
            text = f"-{size}" if coefficient < 0 else size
    if not text:
        return str(constant)
    return text if constant == 0 else f"{text} {'-' if constant < 0 else '+'} {abs(constant)}"
