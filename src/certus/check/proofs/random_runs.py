"""Try to contradict a proof by random runs: none may reach an error or falsify a claim of the proof.

This check uses the interpreter and no solver. Run number k depends on the seed and k only; just the number
of runs, up to `MOST`, depends on the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from certus.check.proofs.claims import Bounds, Contradicted, Formulas
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded
from certus.core.evidence import Inductive, KInductive, Partitioned, Proof, Trace, Unrolling
from certus.core.program import Edge, Location, Program
from certus.interpreter.compile import Compiled, compile_program
from certus.interpreter.inputs import RandomInputs, constants
from certus.interpreter.interpreter import Ending, Machine, Observer, run

MOST: Final = 100  # runs
CONTRADICTION: Final = "internal-contradiction"
_LENGTHS: Final = (1, 5, 1, 50)  # limits on the steps of runs, in turn, as multiples of the least
_LEAST: Final = 300  # steps; or what may pass every edge twice, if that is more
_HINT: Final = "this is a defect of Certus, not of the program; please report it with the saved evidence"


@dataclass(frozen=True, slots=True)
class ChallengeResult:
    """The number of `runs` without undefined behaviour, the first contradiction with the inputs that lead to
    it, and the names of the error locations whose conditions some run evaluates."""

    runs: int
    contradiction: Diagnostic | None = None
    trace: Trace | None = None
    reached: tuple[str, ...] = ()


def challenge(program: Program, proof: Proof, *, seconds: float = 0.2, seed: int = 0) -> ChallengeResult:
    """Run the program against `proof` up to `MOST` times or for `seconds`, but at least once."""
    compiled, numbers = compile_program(program), constants(program)
    guards = _Guards(program)
    observer = _All((guards, *_observers(compiled, proof)))
    compiled.code(observer.watched).require(program.main)
    least = max(_LEAST, 2 * len(program.edge))
    budget = Budget(seconds)
    runs, number = 0, 0
    while number == 0 or (number < MOST and budget.remaining()):
        inputs = RandomInputs(Random(f"{seed}/{number}"), numbers, program.formats)
        length = _LENGTHS[number % len(_LENGTHS)]
        try:
            end = run(compiled, inputs, step_limit=length * least, budget=budget, observer=observer)
            if end.ending is Ending.ERROR:
                raise Contradicted(_failure(program, end.location, end.steps), end.location)
        except Contradicted as error:
            reason = Diagnostic(CONTRADICTION, str(error), span=error.location.span, hint=_HINT)
            return ChallengeResult(runs + 1, reason, inputs.trace(error.location.name), guards.reached())
        except BudgetExceeded:
            break
        number += 1
        runs += end.ending is not Ending.UNDEFINED
        if not inputs.asked and (end.ending is not Ending.LIMIT or length == max(_LENGTHS)):
            break  # the program has no other run
    return ChallengeResult(runs, reached=guards.reached())


def _failure(program: Program, location: Location, steps: int) -> str:
    site = program.error_at(location)
    return (
        f"a run of {steps} steps reaches the error {location.name} ({site.kind}), where the proof claims none"
    )


def _observers(compiled: Compiled, proof: Proof) -> tuple[Observer, ...]:
    if isinstance(proof, Partitioned):  # claims about cells and addresses are ignored: runs have none
        return _observers(compiled, proof.proof)
    if isinstance(proof, (Inductive, KInductive)):
        return (Formulas(compiled, proof),)
    return (Bounds(compiled, proof),) if isinstance(proof, Unrolling) else ()


class _Guards(Observer):
    """An observer that records the error sites whose conditions some run evaluates. If the front end gives
    no start of the condition, the sources of the edges into the error count as its start."""

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
        """Return the names of these error sites."""
        return tuple(name for name, starts in self._sites if any(self._visited[s] for s in starts))

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if machine.location in self._visited:
            self._visited[machine.location] = True


class _All(Observer):
    """Several observers combined into one."""

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
