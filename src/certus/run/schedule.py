"""Run engines side by side, each in a child process; the first checked answer wins.

A child does everything for its engine, from the passes to the check of the evidence (`run.worker`), so that
what arrives here is checked, and a crash or a hang costs no other engine anything. Passes are cheap and
repeated. Ranges, which are not, and invariants found on the way are sent here and given to engines that start
later (`run.sharing`). The first engine has a head start, so that a small program costs one process. When no
engine waits and a core is free, engines that were stopped by their share of the time run again.

A HOLDS of a C program has to stand up to native runs first (`run.publish`). Two checked answers that
contradict each other are a defect of Certus: the answer is UNKNOWN, and both are saved.

Each engine says when it wants to run for which kind of program (`core.engine.Slot`); ADR 11 has the
measurements that the slots rest on. `turns` gives the engines their order and their shares of the time.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from certus.codec.outcomes import decode_outcome
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import Engine, ProgramKind, Role, Slot, Task, kind_of
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Safe, Unknown
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.engines.registry import ENGINES
from certus.frontend import Question
from certus.run.publish import (
    AT_MOST,
    NAME,
    NOT_DETERMINED,
    RESERVE,
    Challenger,
    is_challenged,
    judge,
)
from certus.run.settings import AUTO, Settings
from certus.system.child import Children, ChildResult, Reporter
from certus.system.child_main import lasting_directory
from certus.system.supervise import cpu_seconds

HEAD_START = 1.0  # seconds of the first engine alone: it answers most small programs
TOO_LATE = frozenset({"time-limit", "evidence-not-checked"})  # reasons that more time could change
DEFECTS = frozenset({"engine-crashed", "internal-contradiction", "second-solver-missing"})
EARLIER = "earlier "  # before the source of facts from an earlier question about the same program
HARDLY = 2.0  # seconds: an engine keeps half of them for the check, and with fewer it says nothing
GRACE = 1.0  # seconds at most, for children to end after the time limit
UNLIMITED = 60.0  # seconds that shares refer to if there is no time limit


@dataclass(frozen=True, slots=True)
class Allowance:
    """The seconds that a child had: the whole time limit or that `part` of it that its question had, or its
    share of this time. `left`: the seconds until it had to end when it started."""

    seconds: float | None
    shared: bool = False
    part: bool = False
    left: float | None = None

    def is_less_than(self, left: float | None) -> bool:
        """Return whether it was a share, and less than what is left."""
        return self.shared and self.seconds is not None and (left is None or self.seconds < left)

    def __str__(self) -> str:
        if self.seconds is None:
            return "its time"
        if self.shared:
            return f"its share of the time, {self.seconds:.1f} s"
        return f"{self.seconds:.1f} s" if self.part else f"{self.seconds:g} s"


@dataclass(slots=True, eq=False)
class Schedule:
    """One task and the engines that work on it.

    `seconds` is what is left of the time limit, `cpu` where CPU time ends, as `cpu_seconds` counts it. If
    they are only a `part` of the time left, messages say so. `allowances`: how long each engine may run.
    `failures`: why engines ended without an answer. `facts`: what engines have sent for others, by source.
    `pause`: the engine to suspend, and when."""

    task: Task
    settings: Settings
    on_progress: Callable[[str], None] | None = None
    question: Question | None = None
    cpu: float | None = None
    seconds: float | None = None
    part: bool = False
    budget: Budget = field(init=False)
    processes: int = field(init=False, default=1)
    waiting: deque[Turn] = field(init=False, default_factory=deque)
    allowances: dict[str, Allowance] = field(default_factory=dict)
    failures: dict[str, Outcome] = field(default_factory=dict)
    facts: dict[str, bytes] = field(default_factory=dict)
    pause: tuple[str, Budget] | None = None
    challenger: Challenger | None = None

    def run(self, children: Children | None = None) -> Outcome:
        """Return the first checked answer, or UNKNOWN with advice. The engines run among `children`, if there
        are any, and have ended afterwards; a challenge may go on."""
        self.budget = Budget(self.seconds)
        cores = self.settings.cores or len(os.sched_getaffinity(0))
        try:
            self.waiting = turns(self.settings, cores, kind_of(self.task.subject, self.budget))
        except BudgetExceeded:
            message = f"no engine was started within {self._whole}"
            reason = Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
            return Outcome(self.task.subject, self.task.property_name, Unknown(reason), self.settings.engine)
        self._prepare_challenge(cores)
        self.processes = min(cores, len(self.waiting))
        if children is not None:
            answer = self._race(children, cores)
            children.end_others(NAME)
        else:
            with Children(cpu=self.cpu, memory=self.settings.memory) as own:
                answer = self._race(own, cores)
        return answer or self._no_answer()

    @property
    def _whole(self) -> Allowance:
        """The time of an engine that runs for as long as there is time."""
        return Allowance(self.seconds, part=True) if self.part else Allowance(self.settings.timeout)

    def _prepare_challenge(self, cores: int) -> None:
        """On a single core, keep time for a challenge that has to wait for a proof."""
        if self.question is None or not is_challenged(self.task.subject):
            return
        assert isinstance(self.task.subject, Program)
        if self.challenger is None:
            self.challenger = Challenger(
                self.task.subject, self.question.property, self.settings, self.budget
            )
        self.challenger.arrived.clear()
        if cores == 1 and self.seconds is not None and not self.challenger.is_finished:
            self.budget = Budget(self.seconds - min(RESERVE * self.seconds, AT_MOST))

    def _race(self, children: Children, cores: int) -> Outcome | None:
        """Start engines as cores get free until one has an answer, the time is over, or none is left."""
        self._start(children, self.waiting.popleft())
        if self.challenger is not None and cores > 1:
            self.challenger.start(children)
        arrived = self._result_within(children, HEAD_START) if self.waiting else None
        while True:
            if arrived is not None and (answer := self._answer(*arrived, children)) is not None:
                return answer
            if children.interrupted or self._is_over():
                return self._late_answer(children)
            while len(_engines(children)) < cores and (self.waiting or self._add_turns()):
                self._start(children, self.waiting.popleft())
            if not _engines(children):
                return None
            arrived = self._next_result(children)

    def _no_answer(self) -> Outcome:
        """Return UNKNOWN with the reasons of the engines. That a tentative engine finds nothing is none,
        unless it crashed or lacked time; nor is that an engine which hardly ran lacked time."""
        reasons = [o for name, o in self.failures.items() if not _is_tentative(name) or _is_reason(o)]
        brief = [n for n, each in self.allowances.items() if each.left is not None and each.left < HARDLY]
        reasons = [o for o in reasons if not (_needs_time(o) and o.engine in brief)] or reasons
        from certus.run.advice import advise

        outcome = advise(reasons or list(self.failures.values()), self.settings)
        if self.challenger is not None:
            outcome = replace(outcome, diagnostics=(*self.challenger.warnings, *outcome.diagnostics))
        return replace(outcome, engine=AUTO) if len(reasons) > 1 else outcome

    # ---------------------------------------------------------------------------------- starting

    def _start(self, children: Children, turn: Turn) -> None:
        """Begin a turn, unless its engine has given up in an earlier one that was long enough."""
        engine = turn.engine
        if children.resume(engine) or (engine in self.failures and not self.allowances[engine].shared):
            return
        self.failures.pop(engine, None)
        seconds, allowance = self.budget.remaining(), self._whole
        if turn.share < 1.0:
            share = max(0.1, turn.share * self._to_share(seconds))
            if turn.pauses:
                self.pause = (engine, Budget(share))
            else:
                seconds, allowance = share, Allowance(share, shared=True)
        self.allowances[engine] = replace(allowance, left=seconds)
        settings = replace(self.settings, engine=engine, timeout=seconds, evidence=None)
        received = dict(self.facts)

        def work(reporter: Reporter) -> bytes:
            whole = Budget(seconds)
            from certus.run import worker  # imports take time, too
            from certus.run.sharing import Exchange

            return worker.work(
                self.task,
                replace(settings, timeout=whole.remaining()),
                reporter,
                quick=turn.quick,
                exchange=Exchange(received, reporter.share),
            )

        on_progress = self._progress_of(engine)
        children.start(engine, work, seconds=seconds, on_progress=on_progress, on_shared=self._keep_facts)

    def _add_turns(self) -> bool:
        """Queue engines that were stopped by their share of the time, if more than that is left."""
        left = self.budget.remaining()
        late = [name for name, outcome in self.failures.items() if _needs_time(outcome)]
        self.waiting.extend(Turn(name) for name in late if self.allowances[name].is_less_than(left))
        return bool(self.waiting)

    def _to_share(self, left: float | None) -> float:
        """Return the seconds that shares refer to: several processes use up the CPU time sooner."""
        seconds = UNLIMITED if left is None else left
        return seconds if self.cpu is None else min(seconds, (self.cpu - cpu_seconds()) / self.processes)

    def _is_over(self) -> bool:
        return self.budget.remaining() == 0.0 or (self.cpu is not None and cpu_seconds() >= self.cpu)

    def _progress_of(self, engine: str) -> Callable[[str], None] | None:
        report = self.on_progress
        return None if report is None else lambda line: report(f"{engine}: {line}")

    def _keep_facts(self, data: bytes) -> None:
        from certus.run.sharing import source_of

        self.facts[source_of(data)] = data

    # ----------------------------------------------------------------------------------- results

    def _next_result(self, children: Children) -> tuple[str, ChildResult] | None:
        """Wait for the next engine to end; return None if one is suspended before."""
        if self.pause is None or self.pause[0] not in children.running:
            return self._result_within(children, math.inf)
        name, until = self.pause
        arrived = self._result_within(children, until.remaining() or 0.0)
        if arrived is None:
            children.suspend(name)
            self.pause = None
        return arrived

    def _result_within(self, children: Children, seconds: float) -> tuple[str, ChildResult] | None:
        """Return the result of the next engine that ends within `seconds`; keep that of a challenge."""
        if self.challenger is not None and self.challenger.arrived:
            return self.challenger.arrived.popleft()
        until = time.monotonic() + seconds
        while (arrived := children.result_within(until - time.monotonic())) is not None:
            if self.challenger is None or not self.challenger.takes(*arrived):
                return arrived
        return None

    def _ready_result(self, children: Children) -> tuple[str, ChildResult] | None:
        """Return the result of an engine that has ended, if there is one."""
        if self.challenger is None:
            return children.ready_result()
        if self.challenger.arrived:
            return self.challenger.arrived.popleft()
        while (arrived := children.ready_result()) is not None and self.challenger.takes(*arrived):
            pass
        return arrived

    def _answer(self, name: str, result: ChildResult, children: Children) -> Outcome | None:
        """Return what an engine's result means for the whole, after its challenge; None if others go on."""
        outcome = self._outcome(name, result)
        if not isinstance(outcome.verdict, Unknown):
            answered_by = outcome.engine
            outcome = self._challenged(outcome, children)
            if not isinstance(outcome.verdict, Unknown):
                return self._unless_contradicted(outcome, children)
            if outcome.verdict.reason.code != NOT_DETERMINED:
                return outcome  # the model is wrong, or the proof: no other engine is asked
            if answered_by != name:  # by a quick engine; the engine itself has not run yet
                self.allowances[name] = replace(self.allowances[name], shared=True)
                self.waiting.appendleft(Turn(name))
        self.failures[name] = outcome
        return None

    def _outcome(self, name: str, result: ChildResult) -> Outcome:
        """Return what a child answered, or why it did not. If it crashed after its proof was complete,
        both."""
        reason = None if result.kind == "done" else _reason(result, self.allowances[name])
        if result.payload is None:
            assert reason is not None
            return Outcome(self.task.subject, self.task.property_name, Unknown(reason), name)
        outcome = decode_outcome(json.loads(result.payload), self.task.subject)
        if result.kind != "crashed" or reason is None:
            return outcome
        return replace(outcome, diagnostics=(*outcome.diagnostics, reason))

    def _challenged(self, outcome: Outcome, children: Children) -> Outcome:
        """Return a HOLDS after its challenge, if there is one."""
        if self.challenger is None or not isinstance(outcome.verdict, Safe):
            return outcome
        start = time.monotonic()
        challenge = self.challenger.result(children)
        seconds = {**outcome.seconds, "challenge": time.monotonic() - start}
        return judge(replace(outcome, seconds=seconds), challenge, self.settings.evidence)

    def _late_answer(self, children: Children) -> Outcome | None:
        """After the time limit or an interruption, return an answer that has just arrived, if there is one.
        Otherwise record what the engines still running were doing. The limit of a child counts from its
        start, so the last ones reach it a moment later than this process."""
        while _engines(children) and (arrived := self._result_within(children, GRACE)) is not None:
            answer = self._answer(*arrived, children)
            if answer is not None:
                return answer
        return None

    def _unless_contradicted(self, first: Outcome, children: Children) -> Outcome:
        """Return the answer, if no other that has arrived meanwhile is its opposite."""
        while (arrived := self._ready_result(children)) is not None:
            other = self._outcome(*arrived)
            if not isinstance(other.verdict, Unknown) and other.answer != first.answer:
                return self._contradiction(first, other)
        reasons = [o.verdict.reason for o in self.failures.values() if isinstance(o.verdict, Unknown)]
        crashes = tuple(reason for reason in reasons if reason.code == "engine-crashed")
        return replace(first, diagnostics=(*first.diagnostics, *crashes))

    def _contradiction(self, first: Outcome, other: Outcome) -> Outcome:
        message = f"{first.engine} says {first.answer}, {other.engine} says {other.answer}, both checked"
        hint = "please report this program"
        if self.question is not None:
            from certus.run.evidence import saved

            place = self.settings.evidence or lasting_directory("certus-contradiction-")
            for each in (first, other):
                saved(each, self.question, replace(self.settings, evidence=place / each.engine))
            hint = f"please report this program, with the evidence of both in {place}"
        reason = Diagnostic("internal-contradiction", message, hint=hint)
        return replace(first, verdict=Unknown(reason), check=None, engine=AUTO)


def _engines(children: Children) -> list[str]:
    """Return the engines that run."""
    return [name for name in children.running if name != NAME]


def _needs_time(outcome: Outcome) -> bool:
    """Return whether the engine only lacked time."""
    return isinstance(outcome.verdict, Unknown) and outcome.verdict.reason.code in TOO_LATE


def _is_tentative(name: str) -> bool:
    return ENGINES[name].role is Role.TENTATIVE


def _is_reason(outcome: Outcome) -> bool:
    """Return whether a tentative engine failed for a reason that the user has to know."""
    reason = outcome.verdict.reason if isinstance(outcome.verdict, Unknown) else None
    return reason is not None and (reason.code in DEFECTS or _needs_time(outcome))


def _reason(result: ChildResult, allowance: Allowance) -> Diagnostic:
    """Return why a child ended without a result."""
    latest = f"; last: {result.progress}" if result.progress else ""
    if result.kind == "timeout":
        message = f"no answer within {allowance}{latest}"
        return Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
    if result.kind == "cpu":
        message = f"{result.detail}{latest}"
        hint = "raise that limit" if "ulimit" in result.detail else "try a larger --cpu-time"
        return Diagnostic("cpu-limit", message, Severity.NOTE, hint=hint)
    if result.kind == "memory":
        message = f"{result.detail}{latest}"
        return Diagnostic("memory-limit", message, Severity.NOTE, hint="try a larger --memory")
    if result.kind == "interrupted":
        return Diagnostic("interrupted", f"interrupted{latest}", Severity.NOTE)
    message = f"the engine crashed: {result.detail}{latest}"
    return Diagnostic("engine-crashed", message, hint="this is a defect of Certus: please report it")


# ----------------------------------------------------------------------------- turns of engines

STEADY_SHARE: Final = 0.2  # of the time, before a steady engine pauses on a single core
MOST: Final = 0.6  # of the time left, for an engine after which the steady one continues
UNSCHEDULED: Final = Slot(100, 0.5)  # of an engine that the user named and that has no slot of its own


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of an engine for a share of the time left, after the `quick` engines in the same process.
    `pauses`: it is suspended after its share and continues at its next turn."""

    engine: str
    share: float = 1.0
    pauses: bool = False
    quick: tuple[str, ...] = ()


def turns(settings: Settings, cores: int, kind: ProgramKind) -> deque[Turn]:
    """Return the turns of engines in their order."""
    if settings.engine != AUTO:
        return deque([Turn(settings.engine)])
    chosen = [ENGINES[name] for name in settings.engines] or _scheduled(kind)
    if settings.bound is not None and not settings.engines and kind is not ProgramKind.CLAUSES:
        chosen = [engine for engine in chosen if _is_quick(engine) or _has_bound(engine)]
    quick = tuple(engine.name for engine in chosen if _is_quick(engine))
    members = [engine for engine in chosen if not _is_quick(engine)]
    if not members:  # only quick engines: the last of them has the process
        return deque([Turn(quick[-1], quick=quick[:-1])])
    first, *others = _shared(members, cores, kind)
    return deque([replace(first, quick=quick), *others])


def _shared(members: list[Engine[Any]], cores: int, kind: ProgramKind) -> list[Turn]:
    """Return the turns of engines that have processes of their own."""
    slots = {engine.name: engine.schedule.get(kind, UNSCHEDULED) for engine in members}
    if len(members) <= cores:
        return [Turn(name) for name in slots]
    steady = next((engine.name for engine in members if engine.role is Role.STEADY), None)
    if steady is not None and cores == 1:
        others = [name for name in slots if name != steady]
        late = next((n for n, name in enumerate(others, 1) if slots[name].share == 1.0), len(others))
        parts = [Turn(name, MOST if slots[name].share == 1.0 else slots[name].share) for name in others]
        return [Turn(steady, STEADY_SHARE, pauses=True), *parts[:late], Turn(steady), *parts[late:]]
    *earlier, last = [Turn(name, 1.0 if name == steady else slot.share) for name, slot in slots.items()]
    return [*earlier, replace(last, share=1.0)]


def _scheduled(kind: ProgramKind) -> list[Engine[Any]]:
    """Return the engines that have a slot for programs of a kind, in the order of their ranks."""
    slotted = [engine for engine in ENGINES.values() if kind in engine.schedule]
    return sorted(slotted, key=lambda engine: engine.schedule[kind].rank)


def _is_quick(engine: Engine[Any]) -> bool:
    return engine.role is Role.QUICK


def _has_bound(engine: Engine[Any]) -> bool:
    return any(option.name == "bound" for option in dataclasses.fields(engine.options))
