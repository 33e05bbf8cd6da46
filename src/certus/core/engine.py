"""The question that engines answer (`Task`), the passes that simplify it, and the interface of engines.

An engine describes itself, so that no table elsewhere names engines: the schedule, the advice after UNKNOWN,
the command line and the contract tests read what it says about itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from math import prod
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Protocol, TypeVar

from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.effects import has_floats, terms, uses_memory
from certus.core.evidence import Point, Proof, Refutation, Safe, Unrolling, Unsafe, Verdict
from certus.core.horn import HornSystem
from certus.core.loops import LoopBound, loop_forest, recursive
from certus.core.outcome import PassSize, Size
from certus.core.program import Location, Procedure, Program
from certus.core.terms import BITS, ArraySort, Expr, is_product
from certus.core.vocabulary import PART_OF_KIND
from certus.core.walk import postorder

if TYPE_CHECKING:
    from certus.core.heap import NumberedObjects


class LateFacts(Mapping[Point, Expr]):
    """Facts that are computed when they are first read: many engines never read them."""

    def __init__(self, compute: Callable[[], Mapping[Point, Expr]]) -> None:
        self._compute = compute
        self._facts: Mapping[Point, Expr] | None = None

    def _all(self) -> Mapping[Point, Expr]:
        if self._facts is None:
            self._facts = self._compute()
        return self._facts

    def __getitem__(self, point: Point) -> Expr:
        return self._all()[point]

    def __iter__(self) -> Iterator[Point]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


@dataclass(frozen=True, slots=True)
class Frames:
    """The call strings of locations and locals that were copied from inlined procedures."""

    locations: Mapping[Location, tuple[int, ...]] = field(default_factory=dict)
    variables: Mapping[Expr, tuple[int, ...]] = field(default_factory=dict)

    def has(self, at: Location, x: Expr) -> bool:
        """Return whether a variable has a value in the original program when control is at a location."""
        calls = self.variables.get(x, ())
        return self.locations.get(at, ())[: len(calls)] == calls


@dataclass(frozen=True, slots=True)
class Task:
    """Does `subject` have the property? `facts` are checked invariants that an engine may rely on.
    `bounds`, of loops by the names of their heads, are hints that have not been checked. `objects` names the
    variables that describe objects on the heap, by region, if memory operations have been replaced; `frames`
    says which variables have values where, if calls have been inlined."""

    subject: Program | HornSystem
    property_name: str = "unreach-call"
    facts: Mapping[Point, Expr] = field(default_factory=dict)
    bounds: Mapping[str, LoopBound] = field(default_factory=dict)
    objects: Mapping[int, NumberedObjects] = field(default_factory=dict)
    frames: Frames = field(default_factory=Frames)


@dataclass(frozen=True, slots=True)
class BackMap:
    """Carries evidence about a transformed task back to the task that the pass got."""

    proof: Callable[[Proof], Proof]
    refutation: Callable[[Refutation], Refutation]

    @staticmethod
    def identity() -> BackMap:
        return BackMap(lambda proof: proof, lambda refutation: refutation)

    def after(self, earlier: BackMap) -> BackMap:
        """Return the back map of the pass `earlier` followed by the pass of this one."""
        return BackMap(
            lambda proof: earlier.proof(self.proof(proof)),
            lambda refutation: earlier.refutation(self.refutation(refutation)),
        )

    def verdict(self, verdict: Verdict) -> Verdict:
        if isinstance(verdict, Safe):
            return Safe(self.proof(verdict.proof))
        if isinstance(verdict, Unsafe):
            return Unsafe(self.refutation(verdict.refutation))
        return verdict


def unrolling_before(before: Program, after: Program, proof: Unrolling) -> Unrolling:
    """Turn a proof of the program `after` a pass into a proof of the program `before` it."""
    loops: dict[str, int] = {}
    for name, procedure in before.procedures.items():
        reduced = after.procedures.get(name)
        if reduced is None:
            continue  # never called
        forest, present = loop_forest(reduced), frozenset(reduced.locations)
        for loop in loop_forest(procedure).loops:
            visits = (
                prod(
                    proof.loops.get(new.head.name, 0) for new in forest.around(entry) if new.head in loop.body
                )
                for entry in loop.entries
                if entry in present
            )
            loops[loop.head.name] = sum(visits)
    still = frozenset(name for group in recursive(after) for name in group)
    once = {name: 1 for group in recursive(before) for name in group if name not in still}
    return Unrolling(loops, {**once, **proof.recursion})


class Pass(Protocol):
    """A transformation that keeps the verdict."""

    @property
    def name(self) -> str: ...

    def apply(self, task: Task) -> tuple[Task, BackMap]: ...


def apply_passes(task: Task, passes: Sequence[Pass]) -> tuple[Task, BackMap, tuple[PassSize, ...]]:
    """Apply the passes in order; return the task, the composed back map, and the sizes for
    `--show-passes`."""
    back = BackMap.identity()
    sizes = []
    before = size(task.subject)
    for pass_ in passes:
        task, pass_back = pass_.apply(task)
        back = pass_back.after(back)
        after = size(task.subject)
        sizes.append(PassSize(pass_.name, before, after))
        before = after
    return task, back, tuple(sizes)


def size(subject: Program | HornSystem) -> Size:
    """Count locations and edges, or relations and clauses."""
    if isinstance(subject, HornSystem):
        return Size(len(subject.relations), len(subject.clauses))
    procedures = subject.procedures.values()
    return Size(sum(len(p.locations) for p in procedures), sum(len(p.edges) for p in procedures))


# ---------------------------------------------------------------------------------------- engines

Options = TypeVar("Options")


class ProgramKind(StrEnum):
    """What decides which engines `auto` starts, and when. The first kind that fits a program is its kind."""

    BOOLEAN = "Boolean"
    ACYCLIC = "without loops"
    ACYCLIC_FLOATS = "floating point without loops"
    RECURSIVE = "recursive"
    FLOATS = "floating point"
    LARGE = "large"
    LINEAR = "linear"
    MEMORY = "memory safety"
    ARRAYS = "arrays"
    OTHER = "other"
    CLAUSES = "Horn clauses"


LARGE: Final = 300  # edges
REFERENCE: Final = {"reference": True}  # metadata of an option that only selects variants kept for comparison
PROGRAMS = tuple(kind for kind in ProgramKind if kind is not ProgramKind.CLAUSES)


def kind_of(subject: Program | HornSystem, budget: Budget | None = None) -> ProgramKind:
    """Return the kind of a program. Raises `BudgetExceeded`."""
    if isinstance(subject, HornSystem):
        return ProgramKind.CLAUSES
    budget = budget or Budget()
    if subject.is_boolean:
        return ProgramKind.BOOLEAN
    recursion = bool(recursive(subject))
    if not recursion and not any(_has_cycle(p, budget) for p in subject.procedures.values()):
        return ProgramKind.ACYCLIC_FLOATS if has_floats(subject) else ProgramKind.ACYCLIC
    if recursion:
        return ProgramKind.RECURSIVE
    if has_floats(subject):
        return ProgramKind.FLOATS
    if len(subject.edge) >= LARGE:
        return ProgramKind.LARGE
    if any(site.kind in PART_OF_KIND for site in subject.errors):
        return ProgramKind.MEMORY
    arrays = uses_memory(subject) or any(isinstance(x.sort, ArraySort) for x in subject.globals)
    linear = True
    for term in postorder(*(t for edge in subject.edge.values() for t in terms(edge.op))):
        budget.check()
        arrays = arrays or isinstance(term.sort, ArraySort)
        linear = linear and term.kind not in BITS and not is_product(term)
    if arrays:
        return ProgramKind.ARRAYS
    return ProgramKind.LINEAR if linear else ProgramKind.OTHER


def _has_cycle(procedure: Procedure, budget: Budget) -> bool:
    """Return whether the control flow has a cycle: then removing locations without predecessors, one after
    the other, does not remove all."""
    predecessors = {procedure.entry: 0}
    targets: dict[Location, list[Location]] = {}
    for edge in procedure.edges:
        budget.check()
        predecessors.setdefault(edge.source, 0)
        predecessors[edge.target] = predecessors.get(edge.target, 0) + 1
        targets.setdefault(edge.source, []).append(edge.target)
    free = [location for location, number in predecessors.items() if number == 0]
    removed = 0
    while free:
        budget.check()
        removed += 1
        for target in targets.get(free.pop(), ()):
            predecessors[target] -= 1
            if predecessors[target] == 0:
                free.append(target)
    return removed < len(predecessors)


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
