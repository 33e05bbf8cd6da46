"""Random runs against a proof: none may reach an error or contradict what the proof claims.

A second opinion for which no solver is asked. Run number k depends on the seed and k only; of long
runs fewer than `MOST` may fit into the time, which is all that varies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Inductive, KInductive, Partitioned, Proof, Trace, Unrolling
from certus.core.program import Edge, Location, Program
from certus.validate.claims import Bounds, Contradicted, Formulas
from certus.validate.compile import Compiled, compile_program
from certus.validate.inputs import RandomInputs, constants
from certus.validate.interpreter import Ending, Machine, Observer, run

MOST: Final = 100  # runs
CONTRADICTION: Final = "internal-contradiction"
_LENGTHS: Final = (1, 5, 1, 50)  # limits on the steps of runs, in turn, as multiples of the least
_LEAST: Final = 300  # steps; or what may pass every edge twice, if that is more
_HINT: Final = "this is a defect of Certus, not of the program; please report it with the saved evidence"


@dataclass(frozen=True, slots=True)
class ChallengeResult:
    """How many `runs` were made that support the proof, as they meet no undefined behaviour; the first
    contradiction, with the inputs that lead to it; the names of
    the error locations whose conditions some run came to, in order."""

    runs: int
    contradiction: Diagnostic | None = None
    trace: Trace | None = None
    reached: tuple[str, ...] = ()


def challenge(program: Program, proof: Proof, *, seconds: float = 0.2, seed: int = 0) -> ChallengeResult:
    """Try to contradict `proof` by `MOST` runs, or those that fit into `seconds`, but at least one."""
    compiled, known = compile_program(program), constants(program)
    guards = _Guards(program)
    observer = _All((guards, *_observers(compiled, proof)))
    compiled.code(observer.watched).require(program.main)
    least = max(_LEAST, 2 * len(program.edge))
    budget = Budget(seconds)
    runs, number = 0, 0
    while number == 0 or (number < MOST and budget.remaining()):
        inputs = RandomInputs(Random(f"{seed}/{number}"), known)
        length = _LENGTHS[number % len(_LENGTHS)]
        try:
            end = run(compiled, inputs, step_limit=length * least, budget=budget, observer=observer)
            if end.ending is Ending.ERROR:
                raise Contradicted(_failure(program, end.location, end.steps), end.location)
        except Contradicted as found:
            told = Diagnostic(CONTRADICTION, str(found), span=found.location.span, hint=_HINT)
            return ChallengeResult(runs + 1, told, inputs.trace(found.location.name), guards.reached())
        except BudgetExceeded:
            break
        number += 1
        runs += end.ending is not Ending.UNDEFINED
        if not inputs.asked and (end.ending is not Ending.LIMIT or length == max(_LENGTHS)):
            break  # there is only this run
    return ChallengeResult(runs, reached=guards.reached())


def _failure(program: Program, location: Location, steps: int) -> str:
    site = program.error_at(location)
    return (
        f"a run of {steps} steps reaches the error {location.name} ({site.kind}), where the proof claims none"
    )


def _observers(compiled: Compiled, proof: Proof) -> tuple[Observer, ...]:
    if isinstance(proof, Partitioned):  # claims about cells and addresses are left out: no run knows them
        return _observers(compiled, proof.proof)
    if isinstance(proof, (Inductive, KInductive)):
        return (Formulas(compiled, proof),)
    return (Bounds(compiled, proof),) if isinstance(proof, Unrolling) else ()


class _Guards:
    """Records which claims some run begins to evaluate; where the front end does not say where that is, the
    sources of the edges into the error count."""

    def __init__(self, program: Program) -> None:
        self._visited: dict[Location, bool] = {}
        self._sites: list[tuple[str, tuple[Location, ...]]] = []
        for site in program.errors:
            into = program.procedures[site.location.procedure].predecessors[site.location]
            starts = tuple(e.source for e in into) if site.start is None else (site.start,)
            self._sites.append((site.location.name, starts))
            self._visited.update(dict.fromkeys(starts, False))
        self.watched = frozenset(self._visited)

    def reached(self) -> tuple[str, ...]:
        return tuple(name for name, starts in self._sites if any(self._visited[s] for s in starts))

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if machine.location in self._visited:
            self._visited[machine.location] = True

    def start(self, machine: Machine) -> None:
        """Nothing to do: visits of all runs count."""

    def enter(self, machine: Machine, edge: Edge) -> None:
        """Nothing to do."""

    def leave(self, machine: Machine, edge: Edge) -> None:
        """Nothing to do."""


class _All:
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self.watched = frozenset().union(*(o.watched for o in observers))

    def start(self, machine: Machine) -> None:
        for observer in self._observers:
            observer.start(machine)

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        for observer in self._observers:
            observer.arrive(machine, edge)

    def enter(self, machine: Machine, edge: Edge) -> None:
        for observer in self._observers:
            observer.enter(machine, edge)

    def leave(self, machine: Machine, edge: Edge) -> None:
        for observer in self._observers:
            observer.leave(machine, edge)
