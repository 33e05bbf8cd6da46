"""Verification witnesses, format 2.0: what tools tell each other about a verdict.

A violation witness is a list of segments. An execution follows it if it passes the last waypoint of each
segment, its *follow*, in order, and between two of these none of the *avoid* waypoints before it. A
correctness witness is a set of invariants. Places are lines and columns, from 1, of the file that was given
to the verifier, whatever its line markers say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from certus.core.diagnostic import Span

FORMAT_VERSION: Final = "2.0"
C_EXPRESSION: Final = "c_expression"
EXTENDED_C_EXPRESSION: Final = "ext_c_expression"  # of format 2.1; read as far as it is C
ACSL_EXPRESSION: Final = "acsl_expression"
_PROBE: Final = "witness-"


def probe_kind(number: int) -> str:
    """What an error site is called that stands for the failure of an expression of a witness, and the text
    of the steps that evaluate it."""
    return f"{_PROBE}{number}"


UNDEFINED: Final = "undefined evaluation"  # what error sites claim of expressions that must be defined
BRANCH: Final = f"{_PROBE}branch"  # the text of the steps of `?:` that are steps only to be watched


def is_of_witness(text: str) -> bool:
    """Whether a step of this text is there only because of a witness."""
    return text == BRANCH or probe_number(text) is not None


def probe_number(name: str) -> int | None:
    """The number in such a name; None if it is another one."""
    number = name.removeprefix(_PROBE)
    return int(number) if number != name and number.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the program. Without a column it is the first fitting one of the line."""

    file: str
    line: int
    column: int | None = None
    function: str | None = None

    def __str__(self) -> str:
        return f"{self.line}" if self.column is None else f"{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Waypoint:
    """Something an execution may pass: an `assumption` that is true before a statement, the side of a
    `branching`, `function_enter`, `function_return`, or the `target`, the violation itself.
    `span` is where the witness says so."""

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
    """What the witness is about. `hashes` are SHA-256 sums by file; the specification may be empty."""

    files: tuple[str, ...]
    hashes: Mapping[str, str]
    specification: str
    data_model: str
    language: str = "C"
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ViolationWitness:
    task: WitnessTask
    segments: tuple[tuple[Waypoint, ...], ...]


@dataclass(frozen=True, slots=True)
class CorrectnessWitness:
    task: WitnessTask
    invariants: tuple[WitnessInvariant, ...]


Witness = ViolationWitness | CorrectnessWitness
