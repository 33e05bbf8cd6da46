"""The result of one run: everything that reports use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from certus.core.accounting import Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Safe, Unsafe, Verdict
from certus.core.horn import HornSystem
from certus.core.program import Call, ErrorSite, Program
from certus.core.terms import Expr, Value
from certus.core.vocabulary import part_of

if TYPE_CHECKING:
    from certus.core.memory_defects import MemoryDefect

MODEL_DISAGREES: Final = "model-disagrees"
UNDEFINED: Final = "undefined-behaviour"
CONTRADICTION: Final = "internal-contradiction"
COMPILERS_DISAGREE: Final = "compilers-disagree"
EVALUATION_ORDER: Final = "evaluation-order"
CLANG: Final = "clang"
GCC: Final = "gcc"


class Role(Enum):
    """What a step of a counterexample contributes to a later relevant step."""

    CLAIM = "claim"  # it is the last step: the claim is violated
    VALUE = "value"  # it gives a variable the value that the later step reads
    MEMORY = "memory"  # it writes bytes that the later step reads
    BRANCH = "branch"  # it takes the side of a branch that leads to the later step
    LIFETIME = "lifetime"  # it begins or ends the object that the later step accesses, or loses it
    KEEP = "keep"  # it takes the side of a branch that does not overwrite what the later step reads
    CALL = "call"  # it calls the procedure of the later step
    UNKNOWN = "unknown"  # not analysed: the run is too long


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a step is relevant: what it contributes to the later step number `by`, which takes the edge `at`.
    `variable` is the variable read there, if any. The last step is its own `by`."""

    role: Role
    by: int
    at: int
    variable: Expr | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One executed edge of a replayed trace: its number in the run, from 0, the index of the edge, the call
    depth, the variables that it changed with their new values, and why it is relevant: None if the violation
    does not depend on it."""

    number: int
    edge: int
    depth: int
    changes: tuple[tuple[Expr, Value], ...]
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Compilers:
    """The compilers whose programs `agreed` with the model. If gcc is not among them, `absent` says why its
    program was not run, or `differs` how its program ended instead."""

    agreed: tuple[str, ...] = ()
    absent: str = ""
    differs: str = ""

    @property
    def sentence(self) -> str:
        """The sentence for reports; empty if no compiled program was run to its end."""
        if not self.agreed:
            return ""
        return f"compilers: {', '.join(self.agreed)}" + (f" ({GCC}: {self.differs})" if self.differs else "")

    def json(self) -> dict[str, object]:
        """Return the fields that all JSON reports share."""
        return {"compilers": list(self.agreed), "gcc": self.differs or self.absent or None}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A native run that contradicts HOLDS: its `inputs` by the function that returned them, and how the
    `native` run and the interpreter's run of the `model` ended. If compilers disagree, `gcc` is how the run
    of its program ended, and `asked` are the functions that returned inputs, in order, by compiler."""

    code: str
    inputs: Mapping[str, tuple[int, ...]]
    native: str
    model: str
    gcc: str = ""
    asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Challenge:
    """The result of comparing native runs with runs of the interpreter.

    `compared` runs agreed, `not_compared` ones could not be compared. `why_not` says why the program was not
    run natively. `only_run_ended`: the program reads no input, and its only run also ended natively.
    `warnings` report a run with undefined behaviour, and inputs that gcc reads in another order.
    `gcc_compared` of the compared runs were repeated with the program that gcc compiled, and agreed.
    `reached` has, by the kind of error, a run that reaches such an error: natively and in the model, or, for
    memory errors, in the model or natively with checks of all accesses."""

    compared: int = 0
    not_compared: int = 0
    why_not: str = ""
    only_run_ended: bool = False
    warnings: tuple[Diagnostic, ...] = ()
    disagreement: Disagreement | None = None
    compilers: Compilers = field(default_factory=Compilers)
    gcc_compared: int = 0
    reached: Mapping[str, Disagreement] = field(default_factory=dict)

    @property
    def ran(self) -> bool:
        """Return whether the program was run natively at all."""
        return self.compared + self.not_compared > 0

    @property
    def sentence(self) -> str:
        """The sentence for reports."""
        if self.why_not:
            return f"not challenged: {self.why_not}"
        runs = f"{self.compared:,} native run{'' if self.compared == 1 else 's'}"
        agree = "agrees" if self.compared == 1 else "agree"
        others = f", {self.not_compared:,} could not be compared" if self.not_compared else ""
        agreement = f"challenged: {runs} of the compiled program {agree} with the model{others}"
        return "; ".join(filter(None, (agreement, self.compilers.sentence)))


def challenge_json(challenge: Challenge) -> dict[str, object]:
    """Return the fields that all JSON reports share."""
    return {
        "compared": challenge.compared,
        "not_compared": challenge.not_compared,
        "why_not": challenge.why_not or None,
        **challenge.compilers.json(),
        "gcc_compared": challenge.gcc_compared,
    }


CONFIRMED: Final = "confirmed"


@dataclass(frozen=True, slots=True)
class Replay:
    """A trace replayed by the interpreter in `steps` steps. `kept` are the steps for reports: all of a short
    run; the first, the last and the relevant ones of a long run, with gaps in the numbers.

    `matter` is the number of relevant steps, and `initial` the globals whose initial values are relevant;
    both are None if the run was too long for the analysis. `compiled` is the result of the compiled program:
    CONFIRMED, why it could not confirm the trace, or empty if it was not run. `compilers` are the compilers
    whose programs confirmed it. `finding` says what is wrong at the error, with values, if more is known than
    the claim: `a + b is 2147483648, outside int`. `defect` says what is wrong if the violation is one of
    memory safety."""

    steps: int
    kept: tuple[Step, ...]
    error: str  # the name of the error location reached
    compiled: str = ""
    matter: int | None = None
    initial: tuple[Expr, ...] | None = None
    compilers: Compilers = field(default_factory=Compilers)
    finding: str = ""
    defect: MemoryDefect | None = None


def violated_site(program: Program, replay: Replay) -> ErrorSite:
    """Return the error site that a replay reaches. One in a model of a library function has no place in the
    source: its place is the call of the function."""
    site = program.error_at(program.location[replay.error])
    if site.span is not None or not replay.kept:
        return site
    depth = replay.kept[-1].depth
    for step in reversed(replay.kept):
        edge = program.edge[step.edge]
        if step.depth < depth and isinstance(edge.op, Call) and edge.span is not None:
            statement = edge.source.statement
            return replace(site, span=edge.call or edge.span, statement=statement or site.statement)
    return site


class Undecided(Enum):
    """Why a solver neither discharged nor refuted a clause."""

    OUT_OF_TIME = "out-of-time"  # it ran out of time
    GAVE_UP = "gave-up"  # it answered unknown with time left
    NO_TURN = "no-turn"  # it did not start: no time was left
    UNSUITED = "unsuited"  # it does not support such formulas


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """A proof checked clause by clause: at least one solver discharged each clause, and none refuted it.

    There are `clauses` clauses. `discharged` is the number of clauses that each solver discharged, and
    `undecided` counts the reasons why it did not discharge the others; solvers that support no clause are in
    neither. `by_one` clauses were discharged by one solver only. `runs` random executions did not contradict
    the proof."""

    clauses: int
    discharged: Mapping[str, int]
    runs: int
    undecided: Mapping[str, Mapping[Undecided, int]] = field(default_factory=dict)
    by_one: int = 0


@dataclass(frozen=True, slots=True)
class DerivationCheck:
    """A derivation from Horn clauses whose `steps` were all evaluated again."""

    steps: int


Check = ProofCheck | Replay | DerivationCheck


@dataclass(frozen=True, slots=True)
class Size:
    """Locations and edges of a program, or relations and clauses of a Horn system."""

    locations: int
    edges: int


@dataclass(frozen=True, slots=True)
class PassSize:
    """The sizes of a task before and after one pass."""

    name: str
    before: Size
    after: Size


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict with its evidence, and how that was checked. `seconds` are wall times by phase. `expected` is
    the answer that a task file states (None: it states none), and `specification` the property in the
    notation of property files. `challenge` is the result of native runs that could have contradicted
    HOLDS.

    The default question about a C program has an answer for each of its `kinds` of checks. `answers` are
    outcomes of their own, each about one `kind`; the outcome itself is the first finding: a violation, else
    UNKNOWN, else HOLDS. An execution ends at its first error of any kind; so a HOLDS about one kind assumes
    that there is no error of the kinds `assumed`, those that do not hold, with their answers."""

    subject: Program | HornSystem
    property_name: str
    verdict: Verdict
    engine: str
    check: Check | None = None
    statistics: Statistics = field(default_factory=Statistics)
    diagnostics: tuple[Diagnostic, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    passes: tuple[PassSize, ...] = ()
    expected: bool | None = None
    blocks: Program | None = field(default=None, compare=False)  # the subject in large blocks, on request
    specification: str = ""
    challenge: Challenge | None = None
    error_function: str | None = None  # the function whose call is the error, if a property file names it
    kinds: tuple[str, ...] = ()
    kind: str = ""
    assumed: tuple[tuple[str, str], ...] = ()
    answers: tuple[Outcome, ...] = ()

    @property
    def vacuous(self) -> bool:
        """Return whether the property holds trivially: no check site can be reached from `main`."""
        subject = self.subject
        return isinstance(self.verdict, Safe) and isinstance(subject, Program) and not subject.has_checks

    @property
    def subproperty(self) -> str | None:
        """The part of the property that is violated; None if the property has no parts or is not violated."""
        program, check = self.subject, self.check
        if not isinstance(program, Program) or not isinstance(check, Replay) or self.answer != "VIOLATED":
            return None
        return part_of(self.property_name, program.error_at(program.location[check.error]).kind)

    @property
    def contradicted(self) -> bool:
        """Return whether the answer is the opposite of the expected one."""
        return self.expected is not None and self.answer == ("VIOLATED" if self.expected else "HOLDS")

    @property
    def answer(self) -> str:
        """HOLDS, VIOLATED or UNKNOWN."""
        if isinstance(self.verdict, Safe):
            return "HOLDS"
        return "VIOLATED" if isinstance(self.verdict, Unsafe) else "UNKNOWN"
