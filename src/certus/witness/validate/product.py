"""The product of a program with a violation witness: it follows the witness and fails only at its target.

A global variable counts the segments that were passed. Where an edge passes a waypoint of the current
segment, the counter increases if the waypoint is to be followed, and the execution ends if it is to be
avoided. A waypoint may also be passed later than at its first opportunity: edges that pass none of the
current waypoints change nothing. At the target, the execution fails if all segments before were passed; the
other errors of the program are removed.

These edges pass a waypoint:

- an assumption: the probe at its place (`frontend.c.source.probes`), if its condition holds;
- a branching: the edges of its side; for a `switch`, those with the number of the case;
- a function entry or return: the edge of the call, subject to the constraint on the result.

Edges keep their indices, so a trace of the product is a trace of the program except for the error's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from typing import Final, NoReturn

from certus.core import build
from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported
from certus.core.evidence import Trace
from certus.core.float_terms import float_term
from certus.core.floats import FORMATS, NEAREST, Format, from_fraction
from certus.core.program import (
    Assign,
    Assume,
    Call,
    Edge,
    ErrorSite,
    Havoc,
    Location,
    Procedure,
    Program,
    called,
)
from certus.core.terms import Expr, Kind, MachineSort, machine
from certus.core.witness import Place, ViolationWitness, Waypoint, probe_kind, probe_number

SEGMENT: Final = "$segment"
_RESULT: Final = re.compile(
    r"\(*\s*\\result\s*(==|!=|<=|>=|<|>)\s*\(?\s*"
    r"(-?\s*(?:0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]+(?:[pP][-+]?\d+)?|\d*\.?\d+(?:[eE][-+]?\d+)?))[uUlLfF]*\s*\)*"
)
_INTEGER: Final = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9]\d*))")
_BASES: Final = (16, 8, 10)  # of its groups
_COMPARE: Final = {
    "==": build.eq,
    "!=": build.ne,
    "<=": build.le,
    "<": build.lt,
    ">=": build.ge,
    ">": build.gt,
}


@dataclass(frozen=True, slots=True)
class Passing:
    """An edge that passes a waypoint if `condition` holds: after the edge was taken or, if `early`,
    before."""

    edge: int
    condition: Expr = build.TRUE
    early: bool = False


@dataclass(slots=True)
class _Events:
    """The waypoints at one edge: by segment, the conditions to avoid and to follow."""

    avoid: dict[int, list[Expr]] = field(default_factory=dict)
    follow: dict[int, list[Expr]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WitnessProduct:
    """The product; `errors` maps the names of its error locations to those of the program."""

    program: Program
    errors: dict[str, str]

    def trace(self, trace: Trace) -> Trace:
        """Turn a trace of the product into one of the program."""
        return replace(trace, error=self.errors[trace.error])


def witness_product(program: Program, witness: ViolationWitness) -> WitnessProduct:
    """Build the product. Raises `InputError` for a waypoint at a place where the program has nothing of its
    kind, and `Unsupported` for one that corresponds to no edge."""
    before: dict[int, _Events] = {}
    after: dict[int, _Events] = {}
    number = 0
    for segment, waypoints in enumerate(witness.segments):
        for waypoint in waypoints:
            if waypoint.kind == "target":
                continue
            for passing in _passings(program, waypoint, number):
                events = (before if passing.early else after).setdefault(passing.edge, _Events())
                conditions = events.follow if waypoint.action == "follow" else events.avoid
                conditions.setdefault(segment, []).append(passing.condition)
            number += 1
    target = witness.segments[-1][-1]
    sites = [site for site in program.errors if _is_target(site, target.place)]
    sites = sites or _targets_in_models(program, target.place)
    if not sites:
        message = f"At the target, line {target.place}, nothing can violate the property."
        raise Unsupported(Diagnostic("no-target", message, span=target.span))
    return _ProductBuilder(program, len(witness.segments) - 1, before, after, sites).build()


# ------------------------------------------------------------------------------------------- waypoints


def _passings(program: Program, waypoint: Waypoint, number: int) -> list[Passing]:
    if waypoint.kind == "assumption":
        return _assumption(program, number)
    if waypoint.kind == "branching":
        return _branching(program, waypoint)
    return _calls(program, waypoint)


def _assumption(program: Program, number: int) -> list[Passing]:
    """Both edges of the probe leave one location; the edge on which it holds passes the waypoint."""
    text = probe_kind(number)
    return [Passing(e.index) for e in program.edge.values() if e.text == text and e.branch is True]


def _branching(program: Program, waypoint: Waypoint) -> list[Passing]:
    place, value = waypoint.place, waypoint.constraint
    branches = [e for e in program.edge.values() if e.branch is not None and probe_number(e.text) is None]
    heads = (
        _at_place(((e, e.span) for e in branches if e.span is not None), place)
        or _conditional_operator(program, branches, place)
        or _do_while(branches, place)
    )
    switches = [e for e in heads if e.text.startswith("switch")]
    if not heads:
        _no_edge(program, waypoint, "branching", "?")
    if switches:
        sides = [e for e in branches if any(e.source is s.source for s in switches)]
        if value in ("true", "false"):
            _refuse(waypoint, "A `switch` goes to a number or to `default`, not to true or false.")
        suffix = " default" if value == "default" else f" case {int(value or 0)}"
        return [Passing(e.index) for e in sides if e.text.endswith(suffix)]
    if value not in ("true", "false"):
        _refuse(waypoint, "Only a `switch` goes to a number or to `default`; write true or false here.")
    own = [e for e in heads if e.branch is (value == "true")]
    return [Passing(e.index) for e in (*own, *_short_circuits(branches, heads, own))]


def _conditional_operator(program: Program, branches: Sequence[Edge], place: Place) -> list[Edge]:
    """Return the branches of `?:` whose `?` is at `place`, which is after the condition."""
    line = program.source.split("\n")[place.line - 1 : place.line]
    if place.column is None or not line or line[0][place.column - 1 : place.column] != "?":
        return []
    return [
        e
        for e in branches
        if e.span is not None
        and e.span.end_line == place.line
        and e.span.end_column <= place.column
        and not line[0][e.span.end_column - 1 : place.column - 1].strip(" \t)")
    ]


def _do_while(branches: Sequence[Edge], place: Place) -> list[Edge]:
    """Return the branches after the body of a `do` statement whose `do` is at `place`."""
    repeats = (
        (e, e.target.loop) for e in branches if e.text.startswith("while") and e.target.loop is not None
    )
    sources = {e.source for e in _at_place(((e, span) for e, span in repeats if span is not None), place)}
    return [e for e in branches if e.source in sources]


def _short_circuits(branches: Sequence[Edge], heads: Sequence[Edge], own: Sequence[Edge]) -> list[Edge]:
    """Return the branches inside a condition with `&&` or `||` that lead directly to the side of `own`."""
    others = {e.target for e in heads if e not in own}
    targets = {e.target for e in own} - others
    spans = [e.span for e in heads if e.span is not None]
    return [
        e
        for e in branches
        if e.target in targets and e not in heads and any(_inside(e.span, span) for span in spans)
    ]


def _inside(inner: Span | None, outer: Span) -> bool:
    return inner is not None and (outer.line, outer.column) < (inner.line, inner.column) <= (
        outer.end_line,
        outer.end_column,
    )


def _calls(program: Program, waypoint: Waypoint) -> list[Passing]:
    calls = ((e, _closing(e.call)) for e in program.edge.values() if e.call is not None)
    edges = _at_place(calls, waypoint.place)
    if not edges:
        _no_edge(program, waypoint, "call", ")")
    early = waypoint.kind == "function_enter"
    if waypoint.constraint is None:
        return [Passing(e.index, early=early and isinstance(e.op, Call | Havoc)) for e in edges]
    return [Passing(e.index, _result(program, waypoint, e)) for e in edges]


def _closing(call: Span) -> Span:
    """Return the span of the last character of a call."""
    return Span(call.file, call.end_line, max(call.end_column - 1, 1), call.end_line, call.end_column)


def _result(program: Program, waypoint: Waypoint, edge: Edge) -> Expr:
    r"""Translate `\result op constant`, or several of these joined by `&&`, to a condition after the call."""
    targets = edge.op.targets if isinstance(edge.op, Call | Havoc) else ()
    if len(targets) != 1:
        message = "The program does not use the result of this call, so its value is not modelled."
        raise Unsupported(Diagnostic("unsupported-waypoint", message, span=waypoint.span))
    (target,) = targets
    value = build.to_int(target) if isinstance(target.sort, MachineSort) else target
    parts: list[Expr] = []
    for text in (waypoint.constraint or "").split("&&"):
        match = _RESULT.fullmatch(text.strip())
        if match is None or text.count("(") != text.count(")"):
            _refuse(waypoint, r"The constraint is not of the form `\result == constant`.")
        number = match[2].replace(" ", "")
        if target in program.formats:
            parts.append(_float_comparison(match[1], target, FORMATS[program.formats[target]], number))
        elif (constant := _integer(number)) is None:
            _refuse(waypoint, "An integer is compared with something else.")
        else:
            parts.append(_COMPARE[match[1]](value, build.integer(constant)))
    return build.conjunction(parts)


def _integer(number: str) -> int | None:
    """Return the value of an integer constant of C; None if the text is none."""
    match = _INTEGER.fullmatch(number)
    if match is None:
        return None
    sign, *forms = match.groups()
    value = next(int(form, base) for form, base in zip(forms, _BASES, strict=True) if form)
    return -value if sign else value


def _bits(format: Format, number: str) -> int:
    """Return the bits of a constant, which is rounded once."""
    if number.lower().removeprefix("-").startswith("0x"):
        sign, _, digits = number.lower().rpartition("0x")
        mantissa, _, power = digits.partition("p")
        whole, _, fraction = mantissa.partition(".")
        value = Fraction(int(f"{sign}{whole or 0}{fraction}", 16)) / 16 ** len(fraction)
        value *= Fraction(2) ** int(power or 0)
    else:
        value = Fraction(number)
    return from_fraction(format, NEAREST, value, negative=number.startswith("-"))


def _float_comparison(operator: str, target: Expr, format: Format, number: str) -> Expr:
    constant = build.constant(_bits(format, number), target.sort)
    left, right = (constant, target) if operator in (">", ">=") else (target, constant)
    kind = {"<": Kind.F_LT, ">": Kind.F_LT, "<=": Kind.F_LE, ">=": Kind.F_LE}.get(operator, Kind.F_EQ)
    condition = float_term(kind, format.name, (left, right))
    return build.not_(condition) if operator == "!=" else condition


def named_result(program: Program, waypoint: Waypoint) -> tuple[int, int] | None:
    r"""If a waypoint demands `\result == constant` after a call of a function without a body, return the edge
    of that input and the constant."""
    if waypoint.kind != "function_return" or waypoint.constraint is None:
        return None
    match = _RESULT.fullmatch(waypoint.constraint.strip())
    for passing in _calls(program, waypoint):
        edge = program.edge[passing.edge]
        if match is not None and match[1] == "==" and isinstance(edge.op, Havoc):
            number, (target, *_) = match[2].replace(" ", ""), edge.op.targets
            if target in program.formats:
                return edge.index, _bits(FORMATS[program.formats[target]], number)
            constant = _integer(number)
            return None if constant is None else (edge.index, constant)
    return None


def _at_place(candidates: Iterable[tuple[Edge, Span]], place: Place) -> list[Edge]:
    """Return the edges at a place; without a column, the leftmost ones of the line."""
    in_line = [(span.column, edge) for edge, span in candidates if span.line == place.line]
    wanted = place.column or min((column for column, _ in in_line), default=None)
    return [edge for column, edge in in_line if column == wanted]


def _is_target(site: ErrorSite, place: Place) -> bool:
    if probe_number(site.kind) is not None:
        return False
    spans = [span for span in (site.statement, site.span) if span is not None]
    return any(span.line == place.line and place.column in (None, span.column) for span in spans)


def _targets_in_models(program: Program, place: Place) -> list[ErrorSite]:
    """Return the error sites without a place in the source, in models of library functions that are called at
    `place`, perhaps by another model. The same model may be called elsewhere, too: a violation there counts
    as well."""
    entered: dict[str, None] = {}
    for edge in program.edge.values():
        spans = [span for span in (edge.call, edge.span, edge.source.statement) if span is not None]
        if any(span.line == place.line and place.column in (None, span.column) for span in spans):
            entered.update((call.procedure, None) for call in called(edge.op))
    work = list(entered)
    while work:
        for edge in program.procedures[work.pop()].edges:
            inner = [call.procedure for call in called(edge.op) if call.procedure not in entered]
            entered.update(dict.fromkeys(inner))
            work += inner
    return [site for site in program.errors if site.span is None and site.location.procedure in entered]


def _no_edge(program: Program, waypoint: Waypoint, what: str, character: str) -> NoReturn:
    """Refuse a waypoint without an edge: as unsupported if the source has such a construct there, and
    otherwise as an error of the witness."""
    place, lines = waypoint.place, program.source.split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    there = line if place.column is None else line[place.column - 1 : place.column]
    if character in there:
        message = f"The {what} in line {place} corresponds to no step of the program, or is never reached."
        raise Unsupported(Diagnostic("unsupported-waypoint", message, span=waypoint.span))
    _refuse(waypoint, f"There is no {what} in line {place}, or `main` cannot reach it.")


def _refuse(waypoint: Waypoint, message: str) -> NoReturn:
    raise InputError([Diagnostic("bad-witness", message, span=waypoint.span)])


# --------------------------------------------------------------------------------------------- product


class _ProductBuilder:
    """Builds a product; `before` and `after` are the waypoints at edges, and `sites` are the targets."""

    def __init__(
        self,
        program: Program,
        last: int,
        before: dict[int, _Events],
        after: dict[int, _Events],
        sites: Sequence[ErrorSite],
    ) -> None:
        self.program = program
        self.last = last
        self.before = before
        self.after = after
        self.sites = sites
        width = 8 if last < 256 else 16 if last < 65536 else 32
        self.segment = build.var(SEGMENT, machine(width, signed=False))
        self._edges = count(max(program.edge) + 1)
        self._locations = count(max(at.index for at in program.location.values()) + 1)

    def build(self) -> WitnessProduct:
        program = self.program
        errors: dict[str, str] = {}
        sites: list[ErrorSite] = []
        procedures = {name: self._procedure(p, errors, sites) for name, p in program.procedures.items()}
        product = replace(
            program,
            procedures=procedures,
            globals=(*program.globals, self.segment),
            initial={**program.initial, self.segment: self._number(0)},
            errors=tuple(sites),
        )
        return WitnessProduct(product, errors)

    def _procedure(self, procedure: Procedure, errors: dict[str, str], sites: list[ErrorSite]) -> Procedure:
        edges: list[Edge] = []
        probes = self.program.error_locations - {site.location for site in self.sites}
        for edge in procedure.edges:
            source, target = edge.source, edge.target
            if target in probes and edge.branch is False:
                target = _after_probe(procedure, edge)
            if edge.index in self.before:
                source = self._count(edges, edge, source, None, self.before[edge.index])
            if edge.index in self.after:
                own = self._location(edge)
                edges.append(replace(edge, source=source, target=own))
                self._count(edges, edge, own, target, self.after[edge.index])
            else:
                edges.append(replace(edge, source=source, target=target))
        for site in self.sites:
            if site.location.procedure == procedure.name:
                failed = Location(next(self._locations), procedure.name, site.span)
                reached = Assume(build.eq(self.segment, self._number(self.last)))
                edges.append(Edge(next(self._edges), site.location, reached, failed, site.span))
                errors[failed.name] = site.location.name
                sites.append(replace(site, location=failed))
        return replace(procedure, edges=tuple(edges))

    def _count(
        self, edges: list[Edge], edge: Edge, source: Location, target: Location | None, events: _Events
    ) -> Location:
        """Add steps from `source` to `target`, or to a new location, that end executions which pass a
        waypoint to avoid, and count those to follow."""
        at = source
        avoided = [
            build.and_(self._is(k), build.disjunction(parts)) for k, parts in sorted(events.avoid.items())
        ]
        end = target or self._location(edge)
        if avoided:
            allowed = Assume(build.not_(build.disjunction(avoided)))
            onwards = self._location(edge) if events.follow else end
            edges.append(Edge(next(self._edges), at, allowed, onwards, edge.span))
            at = onwards
        if events.follow:
            value: Expr = self.segment
            for k, parts in sorted(events.follow.items(), reverse=True):
                passed = build.and_(self._is(k), build.disjunction(parts))
                value = build.ite(passed, self._number(k + 1), value)
            op = Assign((self.segment,), (value,))
            edges.append(Edge(next(self._edges), at, op, end, edge.span))
        return end

    def _is(self, segment: int) -> Expr:
        return build.eq(self.segment, self._number(segment))

    def _number(self, value: int) -> Expr:
        return build.constant(value, self.segment.sort)

    def _location(self, edge: Edge) -> Location:
        return Location(next(self._locations), edge.source.procedure, edge.span)


def _after_probe(procedure: Procedure, failed: Edge) -> Location:
    """Return the location after a probe that failed, the same as after one that holds; for the edge to any
    other error, its own target."""
    for edge in procedure.successors[failed.source]:
        if edge.branch is True and edge.text == failed.text and probe_number(edge.text) is not None:
            return edge.target
    return failed.target
