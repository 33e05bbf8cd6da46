"""`auto`: engines side by side in processes, the first checked answer wins. One engine is a race of one.

Each member of the portfolio works in a child of its own, passes and validation included, so that what
comes back is checked and a crash or a hang costs nobody else anything. Passes are cheap and repeated; ranges,
which are not, and invariants found on the way are sent here and given to those that start later (`exchange`).
Who runs when is in `plan`. The first member has a head start, so that a small program costs one process; it
runs the program before anything else (`looks`). When nobody waits and a processor is free, those that only
their share of the time ended have another turn.

A HOLDS of a C program has to stand up to native runs first (`challenge`).

Two checked answers that contradict each other are a defect of ours: UNKNOWN, loudly, both saved.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import BudgetExceeded
from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.core.task import Task
from certus.core.verdict import Safe, Unknown
from certus.frontend import Question
from certus.pipeline.advice import advised, needs_time
from certus.pipeline.apart import Limit, outcome_of, saved, work
from certus.pipeline.challenge import (
    AT_MOST,
    NAME,
    NOT_DETERMINED,
    RESERVE,
    Challenger,
    is_challenged,
    judged,
)
from certus.pipeline.exchange import Exchange, sender
from certus.pipeline.plan import SEARCH, Turn, plan_for, turns
from certus.pipeline.settings import AUTO, Settings
from certus.system.child import Children, ChildResult
from certus.system.usage import cpu_seconds

HEAD_START = 1.0  # seconds of the first member alone: it answers most small programs
NOTED = frozenset({"engine-crashed", "internal-contradiction", "second-solver-missing"})  # of the search
UNLIMITED = 60.0  # seconds that shares are taken of if there is no limit


@dataclass(slots=True, eq=False)
class Portfolio:
    """A race. `seconds` is how much is left of the time limit, `cpu` where CPU time ends, as `cpu_seconds`
    counts it. `given_up`: why the members that ended without an answer did. `known`: what members have sent
    for others, by who found it. `given`: how long each may run. `looks`: what members begin with. `rest`: who
    has to rest, and when."""

    task: Task
    settings: Settings
    on_progress: Callable[[str], None] | None
    question: Question | None = None
    cpu: float | None = None
    seconds: float | None = None
    budget: Budget = field(init=False)
    processes: int = field(init=False)
    given_up: dict[str, Outcome] = field(default_factory=dict)
    known: dict[str, bytes] = field(default_factory=dict)
    given: dict[str, Limit] = field(default_factory=dict)
    looks: Iterator[str] = field(default_factory=lambda: iter(("runs",)))
    rest: tuple[str, Budget] | None = None
    challenger: Challenger | None = None
    again: list[Turn] = field(default_factory=list)

    def run(self) -> Outcome:
        whole = Budget(self.seconds)
        self.budget = whole
        cores = self.settings.cores or len(os.sched_getaffinity(0))
        try:
            waiting = turns(self.settings, cores, plan_for(self.task.subject, whole))
        except BudgetExceeded:
            message = f"no engine was started within {Limit(self.settings.timeout)}"
            reason = Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")
            return Outcome(self.task.subject, self.task.property_name, Unknown(reason), self.settings.engine)
        if self.question is not None and is_challenged(self.task.subject):
            assert isinstance(self.task.subject, Program)
            self.challenger = Challenger(self.task.subject, self.question.property, self.settings, whole)
            if cores == 1 and self.seconds is not None:
                self.budget = Budget(self.seconds - min(RESERVE * self.seconds, AT_MOST))
        self.processes = min(cores, len(waiting))
        with Children(cpu=self.cpu, memory=self.settings.memory) as children:
            self._start(children, waiting.popleft())
            if self.challenger is not None and cores > 1:
                self.challenger.start(children)
            found = self._result_within(children, HEAD_START) if waiting else None
            while True:
                if found is not None:
                    name, result = found
                    outcome = self._outcome(name, result)
                    answer = self._answer(name, outcome, children)
                    if answer is not None:
                        return answer
                if children.interrupted or self._is_over():
                    break
                while self.again:
                    waiting.appendleft(self.again.pop())
                while len(_engines(children)) < cores and (waiting := waiting or self._more_turns()):
                    self._start(children, waiting.popleft())
                if not _engines(children):
                    break
                found = self._next_result(children)
            late = self._last_words(children)
            if late is not None:
                return late
        told = advised(list(self.given_up.values()), self.settings)
        if self.challenger is not None:
            told = replace(told, diagnostics=(*self.challenger.warnings, *told.diagnostics))
        return replace(told, engine=AUTO) if len(self.given_up) > 1 else told

    def _answer(self, name: str, outcome: Outcome, children: Children) -> Outcome | None:
        """What a member's outcome means for the whole, after its challenge; None if others go on."""
        if not isinstance(outcome.verdict, Unknown):
            outcome = self._challenged(outcome, children)
            if not isinstance(outcome.verdict, Unknown):
                return self._unless_contradicted(outcome, children)
            if outcome.verdict.reason.code != NOT_DETERMINED:
                return outcome  # the model is wrong, or the proof: nobody else is asked
            self.given[name] = replace(self.given[name], shared=True)
            self.again.append(Turn(name, 1.0))  # it has run the program so far, and its engine not yet
        self._note(name, outcome)
        return None

    def _challenged(self, outcome: Outcome, children: Children) -> Outcome:
        """A HOLDS after its challenge, if there is one."""
        if self.challenger is None or not isinstance(outcome.verdict, Safe):
            return outcome
        start = time.monotonic()
        found = self.challenger.result(children)
        seconds = {**outcome.seconds, "challenge": time.monotonic() - start}
        return judged(replace(outcome, seconds=seconds), found, self.settings.evidence)

    def _next_result(self, children: Children) -> tuple[str, ChildResult] | None:
        """That of the next member that ends; None if one rests before."""
        if self.rest is None or self.rest[0] not in children.running:
            return self._result_within(children, math.inf)
        name, until = self.rest
        found = self._result_within(children, until.remaining() or 0.0)
        if found is None:
            children.rest(name)
            self.rest = None
        return found

    def _result_within(self, children: Children, seconds: float) -> tuple[str, ChildResult] | None:
        """The result of the next engine that ends within so many seconds; that of a challenge is kept."""
        if self.challenger is not None and self.challenger.arrived:
            return self.challenger.arrived.popleft()
        until = time.monotonic() + seconds
        while (found := children.result_within(until - time.monotonic())) is not None:
            if self.challenger is None or not self.challenger.takes(*found):
                return found
        return None

    def _start(self, children: Children, turn: Turn) -> None:
        """Begin a turn, unless it is of one who has given up in an earlier one that was not too short."""
        engine = turn.engine
        if children.wake(engine) or (engine in self.given_up and not self.given[engine].shared):
            return
        self.given_up.pop(engine, None)
        seconds, limit = self.budget.remaining(), Limit(self.settings.timeout)
        if turn.share < 1.0:
            share = max(0.1, turn.share * self._to_share(seconds))
            if turn.rests:
                self.rest = (engine, Budget(share))
            else:
                seconds, limit = share, Limit(share, shared=True)
        self.given[engine] = limit
        settings = replace(self.settings, engine=engine, timeout=seconds, evidence=None)
        looks = next(self.looks, None) if self.settings.engine == AUTO else None
        known = dict(self.known)
        children.start(
            engine,
            lambda reporter: work(
                self.task, settings, reporter, looks=looks, exchange=Exchange(known, reporter.found)
            ),
            seconds=seconds,
            on_progress=self._said_by(engine),
            on_found=self._keep,
        )

    def _more_turns(self) -> deque[Turn]:
        """Those that only their share of the time ended, if more of it is left."""
        left = self.budget.remaining()
        late = [name for name, outcome in self.given_up.items() if needs_time(outcome)]
        return deque(Turn(name, 1.0) for name in late if self.given[name].is_part_of(left))

    def _note(self, name: str, outcome: Outcome) -> None:
        """Remember why a member has no answer. The search is expected to find nothing; remember of it only
        that it crashed, or that something it found was not confirmed."""
        reason = outcome.verdict.reason if isinstance(outcome.verdict, Unknown) else None
        if name != SEARCH or (reason is not None and (reason.code in NOTED or needs_time(outcome))):
            self.given_up[name] = outcome

    def _is_over(self) -> bool:
        return self.budget.remaining() == 0.0 or (self.cpu is not None and cpu_seconds() >= self.cpu)

    def _to_share(self, left: float | None) -> float:
        """Seconds that turns are shares of: as many processes side by side use up the CPU time sooner."""
        seconds = UNLIMITED if left is None else left
        return seconds if self.cpu is None else min(seconds, (self.cpu - cpu_seconds()) / self.processes)

    def _said_by(self, engine: str) -> Callable[[str], None] | None:
        tell = self.on_progress
        return None if tell is None else lambda line: tell(f"{engine}: {line}")

    def _keep(self, data: bytes) -> None:
        self.known[sender(data)] = data

    def _outcome(self, name: str, result: ChildResult) -> Outcome:
        return outcome_of(self.task, name, result, self.given[name])

    def _last_words(self, children: Children) -> Outcome | None:
        """The time is up, or we were interrupted: an answer that has just arrived, if there is one. Otherwise
        remember what those still running were doing."""
        while _engines(children) and (found := self._ready_result(children)) is not None:
            answer = self._answer(found[0], self._outcome(*found), children)
            if answer is not None:
                return answer
        return None

    def _ready_result(self, children: Children) -> tuple[str, ChildResult] | None:
        """The result of an engine that has ended, if there is one."""
        if self.challenger is None:
            return children.ready_result()
        if self.challenger.arrived:
            return self.challenger.arrived.popleft()
        while (found := children.ready_result()) is not None and self.challenger.takes(*found):
            pass
        return found

    def _unless_contradicted(self, first: Outcome, children: Children) -> Outcome:
        """The answer, if no other that has arrived meanwhile is its opposite."""
        while (found := self._ready_result(children)) is not None:
            other = self._outcome(*found)
            if not isinstance(other.verdict, Unknown) and other.answer != first.answer:
                return self._contradiction(first, other)
        crashes = [o.verdict.reason for o in self.given_up.values() if isinstance(o.verdict, Unknown)]
        told = tuple(reason for reason in crashes if reason.code == "engine-crashed")
        return replace(first, diagnostics=(*first.diagnostics, *told))

    def _contradiction(self, first: Outcome, other: Outcome) -> Outcome:
        message = f"{first.engine} says {first.answer}, {other.engine} says {other.answer}, both checked"
        hint = "please report this program"
        if self.question is not None:
            place = self.settings.evidence or Path(tempfile.mkdtemp(prefix="certus-contradiction-"))
            for each in (first, other):
                saved(each, self.question, replace(self.settings, evidence=place / each.engine))
            hint = f"please report this program, with the evidence of both in {place}"
        reason = Diagnostic("internal-contradiction", message, hint=hint)
        return replace(first, verdict=Unknown(reason), check=None, engine=AUTO)


def _engines(children: Children) -> list[str]:
    """The engines that run."""
    return [name for name in children.running if name != NAME]
