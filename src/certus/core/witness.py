"""Verification witnesses, format 2.0: evidence that tools exchange.

A violation witness is a list of segments. An execution matches it if it passes the last waypoint of each
segment, its *follow*, in order, and between two of these none of the *avoid* waypoints before it. A
correctness witness is a set of invariants. Places are lines and columns, from 1, of the file on the command
line, regardless of its line markers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.core.diagnostic import Span

PROBE: Final = "__certus_probe"  # the function that expressions of a witness are passed to in C
FORMAT_VERSION: Final = "2.0"
C_EXPRESSION: Final = "c_expression"
EXTENDED_C_EXPRESSION: Final = "ext_c_expression"  # of format 2.1; read as far as it is C
ACSL_EXPRESSION: Final = "acsl_expression"
_PROBE: Final = "witness-"


def probe_kind(number: int) -> str:
    """Return the kind of the error site for the failure of an expression of a witness. It is also the text of
    the steps that evaluate the expression."""
    return f"{_PROBE}{number}"


UNDEFINED: Final = "undefined evaluation"  # the text of error sites for expressions that must be defined
BRANCH: Final = f"{_PROBE}branch"  # the text of the steps of `?:` that exist only to be observed


def is_of_witness(text: str) -> bool:
    """Return whether a step of this text exists only because of a witness."""
    return text == BRANCH or probe_number(text) is not None


def probe_number(name: str) -> int | None:
    """Return the number in a name that `probe_kind` returned; None for any other name."""
    number = name.removeprefix(_PROBE)
    return int(number) if number != name and number.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the program. Without a column it is the first matching one of the line."""

    file: str
    line: int
    column: int | None = None
    function: str | None = None

    def __str__(self) -> str:
        return f"{self.line}" if self.column is None else f"{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Waypoint:
    """An event of an execution: an `assumption` that is true before a statement, the side of a `branching`,
    `function_enter`, `function_return`, or the `target`, the violation itself. `span` is its position in the
    witness."""

    kind: str
    place: Place
    action: str = "follow"
    constraint: str | None = None
    format: str | None = None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class WitnessInvariant:
    """A C expression that is not 0 whenever control comes to the place: a loop (`loop_invariant`), before its
    condition is evaluated, or any statement (`location_invariant`)."""

    kind: str
    place: Place
    value: str
    format: str = C_EXPRESSION
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class WitnessTask:
    """The subject of a witness. `hashes` are SHA-256 sums by file; the specification may be empty."""

    files: tuple[str, ...]
    hashes: Mapping[str, str]
    specification: str
    data_model: str
    language: str = "C"
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ViolationWitness:
    """A witness that the property is violated."""

    task: WitnessTask
    segments: tuple[tuple[Waypoint, ...], ...]


@dataclass(frozen=True, slots=True)
class CorrectnessWitness:
    """A witness that the property holds."""

    task: WitnessTask
    invariants: tuple[WitnessInvariant, ...]


Witness = ViolationWitness | CorrectnessWitness
