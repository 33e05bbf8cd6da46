"""`auto`: engines side by side in processes; the first checked answer wins.

Each member of the portfolio works in a child of its own, passes and validation included, so that what
comes back is checked and a crash or a hang costs nobody else anything. One core belongs to `bmc`, which finds
short counterexamples and small proofs and can use all the time there is; the other members take turns on the
rest, each for its share of the time, those that answer quickly or not at all first. On a single core
`bmc` has a turn as well. It has a head start, so that a small program costs one process.

Two checked answers that contradict each other are a defect of ours: UNKNOWN, loudly.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.outcome import Outcome
from certus.core.task import Task
from certus.core.verdict import Unknown
from certus.pipeline.apart import outcome_of, work
from certus.pipeline.settings import AUTO, Settings
from certus.system.child import Children, ChildResult

SHARES: Mapping[str, float] = {"linear": 0.2, "kind": 0.2, "predicate": 1.0}  # of the time left, in order
BMC_SHARE = 0.2  # where bmc has to take turns: its first one; the last turn is its too
HEAD_START = 1.0  # seconds of the first member alone: it answers most small programs
UNLIMITED = 60.0  # seconds that shares are taken of if there is no limit


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of an engine for a share of the time left."""

    engine: str
    share: float


def turns(settings: Settings, cores: int) -> deque[Turn]:
    """Who runs, in order."""
    chosen = settings.engines or ("bmc", *SHARES)
    if settings.bound is not None and not settings.engines:
        chosen = ("bmc",)
    if len(chosen) <= cores:
        return deque(Turn(name, 1.0) for name in chosen)
    if "bmc" in chosen and cores == 1:
        others = [Turn(name, SHARES.get(name, 0.5)) for name in chosen if name != "bmc"]
        others[-1] = replace(others[-1], share=0.6)
        return deque([Turn("bmc", BMC_SHARE), *others, Turn("bmc", 1.0)])
    *earlier, last = chosen
    return deque([*(Turn(name, SHARES.get(name, 1.0)) for name in earlier), Turn(last, 1.0)])


@dataclass(slots=True, eq=False)
class Portfolio:
    """A race. `given_up`: why the members that ended without an answer did."""

    task: Task
    settings: Settings
    on_progress: Callable[[str], None] | None
    budget: Budget = field(init=False)
    given_up: dict[str, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.budget = Budget(self.settings.timeout)

    def run(self) -> Outcome:
        cores = self.settings.cores or len(os.sched_getaffinity(0))
        waiting = turns(self.settings, cores)
        with Children(memory=self.settings.memory) as children:
            self._start(children, waiting.popleft())
            found = children.result_within(HEAD_START) if waiting else None
            while True:
                if found is not None:
                    name, result = found
                    outcome = self._outcome(name, result)
                    if not isinstance(outcome.verdict, Unknown):
                        return self._unless_contradicted(outcome, children)
                    self.given_up[name] = outcome
                if children.interrupted or self.budget.remaining() == 0.0:
                    break
                while waiting and len(children.running) < cores:
                    self._start(children, waiting.popleft())
                if not children.running:
                    break
                found = children.next_result()
        return self._unknown()

    def _start(self, children: Children, turn: Turn) -> None:
        seconds = left = self.budget.remaining()
        if turn.share < 1.0:
            seconds = max(0.1, turn.share * (UNLIMITED if left is None else left))
        settings = replace(self.settings, engine=turn.engine, timeout=seconds, evidence=None)
        looks = turn.engine == "bmc" and turn.engine not in self.given_up
        children.start(
            turn.engine,
            lambda reporter: work(self.task, settings, reporter, looks=looks),
            seconds=seconds,
            on_progress=self._said_by(turn.engine),
        )

    def _said_by(self, engine: str) -> Callable[[str], None] | None:
        tell = self.on_progress
        return None if tell is None else lambda line: tell(f"{engine}: {line}")

    def _outcome(self, name: str, result: ChildResult) -> Outcome:
        limit = self.settings.timeout if self.budget.remaining() == 0.0 else None
        return outcome_of(self.task, name, result, limit)

    def _unless_contradicted(self, first: Outcome, children: Children) -> Outcome:
        """The answer, if no other that has arrived meanwhile is its opposite."""
        while (found := children.ready_result()) is not None:
            other = self._outcome(*found)
            if not isinstance(other.verdict, Unknown) and other.answer != first.answer:
                message = (
                    f"{first.engine} says {first.answer}, {other.engine} says {other.answer}, both checked"
                )
                reason = Diagnostic("internal-contradiction", message, hint="please report this program")
                return replace(first, verdict=Unknown(reason), check=None, engine=AUTO)
        crashes = [o.verdict.reason for o in self.given_up.values() if isinstance(o.verdict, Unknown)]
        told = tuple(reason for reason in crashes if reason.code == "engine-crashed")
        return replace(first, diagnostics=(*first.diagnostics, *told))

    def _unknown(self) -> Outcome:
        """What each engine gave up for; the reason of the whole is that of the one that had the most time."""
        outcomes = list(self.given_up.values())
        whole = outcomes[-1]
        assert isinstance(whole.verdict, Unknown)
        notes = [
            replace(o.verdict.reason, message=f"{o.engine}: {o.verdict.reason.message}")
            for o in outcomes[:-1]
            if isinstance(o.verdict, Unknown)
        ]
        return replace(whole, diagnostics=(*whole.diagnostics, *notes))
