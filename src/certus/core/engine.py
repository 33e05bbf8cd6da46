"""The interface of engines.

An engine describes itself, so that no table elsewhere names engines: the schedule, the advice after UNKNOWN,
the command line and the contract tests read what it says about itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import ClassVar, Final, Generic, TypeVar

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.evidence import Proof, Refutation, Verdict
from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.core.statistics import Statistics
from certus.core.task import Task

Options = TypeVar("Options")


class ProgramKind(StrEnum):
    """What decides which engines `auto` starts, and when. The first kind that fits a program is its kind."""

    BOOLEAN = "Boolean"
    ACYCLIC = "without loops"
    RECURSIVE = "recursive"
    FLOATS = "floating point"
    LARGE = "large"
    LINEAR = "linear"
    ARRAYS = "arrays"
    OTHER = "other"
    CLAUSES = "Horn clauses"


REFERENCE: Final = {"reference": True}  # metadata of an option that only selects variants kept for comparison
PROGRAMS = tuple(kind for kind in ProgramKind if kind is not ProgramKind.CLAUSES)


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the schedule of `auto`: engines start in the order of `rank`, each for `share` of the time
    that is left when it starts. Engines after one with all of the time start when that one gives up."""

    rank: int
    share: float = 1.0


class Role(Enum):
    """How an engine takes part in the schedule."""

    QUICK = auto()  # needs milliseconds: runs in the first child process, before the engine of that process
    STEADY = auto()  # keeps its core; on a single core it pauses while the other engines have their turns
    TURNS = auto()  # runs for its share of the time
    TENTATIVE = auto()  # likewise, but usually without an answer: no cause of UNKNOWN beside other engines


class ProgramForm(Enum):
    """In which form an engine gets a program."""

    ORIGINAL = auto()  # as the front end built it
    PROCEDURES = auto()  # after all passes, with its calls
    INLINED = auto()  # after all passes, with calls inlined where that is cheap


class Facts(Enum):
    """When an engine gets the ranges of variables and the invariants of engines that ran before."""

    NEVER = auto()
    AT_START = auto()
    ON_DEMAND = auto()  # computed when the engine first reads them


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of an engine that has none."""


class Engine(ABC, Generic[Options]):
    """A decision procedure and its description.

    `options` is the frozen dataclass `Options`; `run` gets an instance. `evidence` lists the kinds of proofs
    and refutations that it gives. `properties`: those it decides; None means all, since every property of a
    program is the unreachability of error locations. `explicit_proofs`: its proofs state every invariant that
    they rely on, so that they can be read as invariants of the source. `watches`: it gets programs in which
    lost objects are found by watching an arbitrary one, instead of counting all. An engine without a slot in
    `schedule` runs only if the user names it."""

    name: ClassVar[str]
    summary: ClassVar[str]
    evidence: ClassVar[tuple[type[Proof] | type[Refutation], ...]]
    options: ClassVar[type] = NoOptions
    subjects: ClassVar[tuple[type[Program] | type[HornSystem], ...]] = (Program,)
    properties: ClassVar[frozenset[str] | None] = None
    form: ClassVar[ProgramForm] = ProgramForm.INLINED
    facts: ClassVar[Facts] = Facts.NEVER
    explicit_proofs: ClassVar[bool] = False
    watches: ClassVar[bool] = False
    role: ClassVar[Role] = Role.TURNS
    schedule: ClassVar[Mapping[ProgramKind, Slot]] = {}

    @abstractmethod
    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        """Answer the task. May raise `BudgetExceeded`; never answers without evidence."""

    def facts_wanted(self, options: Options) -> Facts:
        """Return when the engine gets facts if it runs with these options."""
        return self.facts

    def unsupported(self, task: Task) -> Diagnostic | None:
        """Return why this engine cannot decide the task, if so."""
        if not isinstance(task.subject, self.subjects):
            kinds = ("programs", "Horn clauses")
            decided, other = kinds if self.subjects == (Program,) else reversed(kinds)
            message = f"{self.name} decides {decided}, not {other}"
            return Diagnostic("unsupported-subject", message, Severity.NOTE, hint="try --engine auto")
        if self.properties is not None and task.property_name not in self.properties:
            message = f"{self.name} does not decide the property {task.property_name}"
            return Diagnostic("unsupported-property", message, Severity.NOTE, hint="try --engine auto")
        return None
