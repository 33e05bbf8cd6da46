"""Render ranges as text and JSON: a table of variables, the bits that ranges save, and symbolic bounds.

A `RangeReport` is all that this module needs; its encoding is the JSON of `certus ranges --json`
(docs/json.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from certus.core import float_text, floats
from certus.core.values import decimal
from certus.core.version import VERSION

FORMAT: Final = 2
_NAMED, _LONGEST = 3, 32  # objects of a pointer that are named, and characters of a name
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariableRange:
    """One variable: its range (None means no bound), the bits of its type (`declared`) and of the range
    (`needed`). `given` is false if the variable never has a value; `ours` says that the name is internal. If
    it has only a few `values`, and numbering them needs fewer bits than the range, they are listed. The range
    of a pointer is that of offsets into its `objects`; it may be `null`. An `input` may have any value of its
    type. The type of a floating-point number is its format; `low` and `high` are the bits of the least and of
    the greatest number, and it may also be `nan`."""

    name: str
    procedure: str | None
    type: str
    given: bool
    low: int | None
    high: int | None
    declared: int | None
    needed: int | None
    ours: bool
    values: tuple[int, ...] | None = None
    objects: tuple[str, ...] = ()
    null: bool = False
    input: bool = False
    nan: bool = False

    @property
    def saved(self) -> int:
        if self.declared is None or self.needed is None:
            return 0
        return max(self.declared - self.needed, 0)

    @property
    def numbered(self) -> int:
        """Return the bits saved if the few values are numbered."""
        if self.declared is None or self.values is None:
            return self.saved
        return max(self.saved, self.declared - (len(self.values) - 1).bit_length())


@dataclass(frozen=True, slots=True)
class SymbolicBound:
    """Bounds of a variable at a place of the procedure, under the condition of its case."""

    case: str
    place: str
    name: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class NotLinear:
    """An operation that the analysis does not model, and the range of its result."""

    line: int | None
    text: str
    low: int | None
    high: int | None
    anything: bool


@dataclass(frozen=True, slots=True)
class RangeReport:
    """The ranges of a program. With a `bound`, they hold for executions up to that bound; with a `function`,
    that procedure was analysed on its own."""

    file: str
    variables: tuple[VariableRange, ...] = ()
    not_linear: tuple[NotLinear, ...] = ()
    symbolic: tuple[SymbolicBound, ...] = ()
    bound: int | None = None
    function: str | None = None
    left_out: int = 0  # variables that the property does not depend on
    seconds: float = 0.0
    counters: dict[str, int] = field(default_factory=dict)
    assumes_order: bool = False  # offsets hold if only pointers into one object are ordered, as C demands

    @property
    def declared(self) -> int:
        return sum(each.declared or 0 for each in self.variables)

    @property
    def saved(self) -> int:
        return sum(each.saved for each in self.variables)

    @property
    def numbered(self) -> int:
        return sum(each.numbered for each in self.variables)

    @property
    def inputs(self) -> int:
        """Return the bits of inputs, which no analysis can save."""
        return sum(each.declared or 0 for each in self.variables if each.input)


# ------------------------------------------------------------------------------------------- text


def render_ranges(report: RangeReport) -> str:
    """Render the report as text."""
    parts = [_heading(report)]
    if report.function is not None:
        rows = [
            ("case", "place", "variable", "range"),
            *((s.case, s.place, s.name, f"[{s.low}, {s.high}]") for s in report.symbolic),
        ]
        parts.append("\n".join(_table(rows)))
    else:
        if any(not each.ours for each in report.variables):
            parts.append("\n".join(_table(_rows(report))))
        parts.append("\n".join(_total(report)))
    if report.not_linear:
        parts.append("\n".join(_listed(report.not_linear)))
    return "\n\n".join(parts)


def _heading(report: RangeReport) -> str:
    if report.function is not None:
        return f"{report.file}: bounds in the parameters of {report.function}"
    if report.bound is not None:
        return f"{report.file}: ranges in executions that enter each loop head at most {report.bound} times"
    return f"{report.file}: ranges in all executions"


def _rows(report: RangeReport) -> Iterator[Row]:
    yield "variable", "type", "range", "declared bits", "needed bits"
    for each in report.variables:
        if not each.ours:
            name = each.name if each.procedure is None else f"{each.procedure}: {each.name}"
            yield (
                _cut(name, 2 * _LONGEST),
                each.type,
                range_text(each),
                _bits(each.declared),
                _bits(each.needed),
            )


def range_text(each: VariableRange | NotLinear) -> str:
    """Return a range as text."""
    if isinstance(each, VariableRange):
        if not each.given:
            return "no value"
        if each.objects:
            return _pointer_text(each)
        if each.values is not None:
            return "{" + ", ".join(map(decimal, each.values)) + "}"
        if each.type in floats.FORMATS:
            return _float_text(each, floats.FORMATS[each.type])
    return f"[{_number(each.low, '-inf')}, {_number(each.high, '+inf')}]"


def _float_text(each: VariableRange, format: floats.Format) -> str:
    """Return the range of a floating-point number, in the decimals of C: `[-1.0, 1.0] or nan`."""
    if each.low is None or each.high is None:
        return "nan"
    low, high = (float_text.literal(format, end) for end in (each.low, each.high))
    return f"[{low}, {high}]{' or nan' if each.nan else ''}"


def _pointer_text(each: VariableRange) -> str:
    """Return the range of a pointer, with offsets in bytes: `null or t + [0, 12]`."""
    null = "null or " if each.null else ""
    offset = "any offset" if each.low is None else f"[{decimal(each.low)}, {_number(each.high, '+inf')}]"
    return f"{null}{'/'.join(_few(each.objects))} + {offset}"


def _few(names: Sequence[str]) -> list[str]:
    """Return the first names and the number of the others."""
    shown = [_cut(name, _LONGEST) for name in names[:_NAMED]]
    return shown if len(names) <= _NAMED else [*shown, f"{len(names) - _NAMED} more"]


def _cut(name: str, most: int) -> str:
    """Shorten a long name in its middle."""
    return name if len(name) <= most else f"{name[: most // 2 - 3]}...{name[-(most // 2) :]}"


def _number(value: int | None, none: str) -> str:
    return none if value is None else decimal(value)


def _bits(count: int | None) -> str:
    return "-" if count is None else str(count)


def _total(report: RangeReport) -> Iterator[str]:
    ours = sum(1 for each in report.variables if each.ours)
    if ours:
        yield f"not shown: {_variables(ours)} without a name in the source"
    if report.assumes_order and any(each.objects for each in report.variables):
        yield "offsets assume: only pointers into one object are compared by order"
    if report.left_out:
        yield f"left out: {_variables(report.left_out)} that the property does not depend on"
    declared, saved = report.declared, report.saved
    share = f" ({_share(saved, declared)})" if declared else ""
    yield f"variables: {len(report.variables)}, bits saved: {saved} of {declared}{share}"
    others = declared - report.inputs
    if report.inputs:
        without = _share(saved, others)
        yield f"bits of inputs, which may have any value: {report.inputs}; saved of the others: {without}"
    if report.numbered > saved:
        without = _share(report.numbered, others)
        share = f"{_share(report.numbered, declared)}; of those that are no inputs: {without}"
        yield f"bits saved if few values are numbered: {report.numbered} ({share})"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _variables(count: int) -> str:
    return "1 variable" if count == 1 else f"{count} variables"


def _listed(operations: Sequence[NotLinear]) -> Iterator[str]:
    yield "not linear:"
    for each in operations:
        place = "" if each.line is None else f"line {each.line}: "
        values = "any value of its type" if each.anything else range_text(each)
        yield f"  {place}{each.text} is {values}"


def _table(rows: Iterator[Row] | Sequence[Row]) -> Iterator[str]:
    rows = list(rows)
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


# ------------------------------------------------------------------------------------------- JSON


def render_ranges_json(report: RangeReport) -> str:
    """Render the report as JSON text."""
    return json.dumps(ranges_json(report), indent=2)


def ranges_json(report: RangeReport) -> dict[str, Any]:
    """Return the report as JSON data."""
    header = {"format": FORMAT, "certus": VERSION, "command": "ranges"}
    totals = {name: getattr(report, name) for name in ("declared", "saved", "numbered", "inputs")}
    return {**header, **asdict(report), **totals}


def ranges_from_json(data: dict[str, Any]) -> RangeReport:
    """Return the report from JSON data."""
    return RangeReport(
        data["file"],
        tuple(_variable(each) for each in data["variables"]),
        tuple(NotLinear(**each) for each in data["not_linear"]),
        tuple(SymbolicBound(**each) for each in data["symbolic"]),
        data["bound"],
        data["function"],
        data["left_out"],
        data["seconds"],
        data["counters"],
        data["assumes_order"],
    )


def _variable(data: dict[str, Any]) -> VariableRange:
    values = data["values"]
    lists = {"values": None if values is None else tuple(values), "objects": tuple(data["objects"])}
    return VariableRange(**{**data, **lists})
