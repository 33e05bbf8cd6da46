"""Challenge a program: run its binary and its model on the same inputs, and compare.

A proof is checked on the model that the front end made of a C program. If the model is wrong, so may be the
proof. Therefore the program is compiled and run natively on up to `RUNS` inputs, in a fixed order: those of
random runs of the interpreter first, then special values, small numbers, constants of the program, and
numbers by chance. The interpreter runs the model on the same inputs. A run can be compared if the
interpreter finishes it and it depends on nothing but these inputs: no undefined behaviour, no value that
nobody set, no address, no result of a function that nobody defines. Then both must end alike, and ask for
the same inputs in the same order. If gcc is there, its program repeats these runs (`second_opinion`).

Nothing here depends on a proof, so the challenge can run beside the engines.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

from certus.core.budget import Budget
from certus.core.challenge import CONTRADICTION, MODEL_DISAGREES, Challenge, Disagreement
from certus.core.diagnostic import Diagnostic
from certus.core.program import Havoc, Program
from certus.core.sorts import MachineSort, Sort
from certus.validate.build import Compiler, NotBuilt, Wanted
from certus.validate.compiled import CHECKS
from certus.validate.harness import is_input, runs_harness
from certus.validate.inputs import RandomInputs, constants
from certus.validate.model_runs import Behaviour, End, Model, Stream, Values
from certus.validate.native_binary import Binary
from certus.validate.second_opinion import second_opinion

RUNS: Final = 256  # runs, unless the program asks for no input
RANDOM: Final = 100  # of them on the inputs of random runs
SECONDS: Final = 0.5  # for all native runs, and for all runs of the interpreter, at most
SHARE: Final = 0.1  # of the time limit, likewise
_ONE_RUN: Final = 20_000  # microseconds of CPU time for one of many native runs
_ONLY_RUN: Final = 400_000  # of the only run
_LENGTHS: Final = (32, 32, 32, 256)  # how many values a function has in a run, in turn
_SPECIAL: Final = (0, 1, -1, 2)  # every value in a run; so are the least and the greatest of its type
NOT_EXECUTED: Final = "the program was not executed"
_LATE: Final = "it was not finished in time"
_MACHINES: Final = ("x86_64", "amd64", "i386", "i686")


@dataclass(frozen=True, slots=True)
class ErrorCodes:
    """What is an error: the functions whose entry is one, with the exit codes for it; `kind` is the kind of
    error if it is an operation."""

    functions: Mapping[str, int]
    kind: str = ""


def challenge(
    program: Program,
    errors: ErrorCodes,
    *,
    arguments: Sequence[str] = (),
    budget: Budget,
    execute: bool = True,
) -> Challenge:
    """Challenge `program`; `arguments` are the user's flags for Clang. Without `execute` only the interpreter
    runs, which may meet undefined behaviour."""
    functions = _input_functions(program)
    model = Model(program, _seconds(budget), alone=not functions)
    planned = _Plan(program, functions, model)
    why_not = _obstacle(planned) if execute else NOT_EXECUTED
    if not why_not:
        try:
            with tempfile.TemporaryDirectory(prefix="certus-") as name:
                binary = _binary(program, errors, planned, arguments, Path(name))
                return _challenged(program, planned, model, binary, budget)
        except NotBuilt as error:
            why_not = str(error)
    return Challenge(why_not=why_not, warnings=planned.warnings)


def _challenged(program: Program, planned: _Plan, model: Model, binary: Binary, budget: Budget) -> Challenge:
    """Compare native runs with those of the interpreter, and those that agree with the ones of gcc's program.
    gcc comes last, since it may take time that another answer needs."""
    natives = binary.runs(planned.supplies, Compiler.CLANG, seconds=_seconds(budget))
    found, agreed = _compared(planned, model, natives, budget)
    if not agreed:
        return found
    runs = [(planned.supplies[number], natives[number]) for number in agreed]
    return second_opinion(program, found, binary, runs, budget=budget, seconds=_seconds(budget))


def _seconds(budget: Budget) -> float:
    """What native runs, or runs of the interpreter, may take."""
    return budget.part(SHARE, at_most=SECONDS).remaining() or 0.0


def _obstacle(planned: _Plan) -> str:
    if platform.machine().lower() not in _MACHINES:
        return f"this machine is {platform.machine()}, not x86"
    return planned.obstacle


# ------------------------------------------------------------------------------------- the inputs


def _input_functions(program: Program) -> dict[str, Sort]:
    """The functions that give inputs, with the sort of their values."""
    ops = (edge.op for edge in program.edge.values())
    named = ((op.function, op.targets[0].sort) for op in ops if isinstance(op, Havoc) and op.function)
    return {name: sort for name, sort in named if is_input(name) and not name.startswith("$")}


def _unknown_functions(program: Program) -> frozenset[str]:
    """The functions for which the model has no exact meaning, though runtime.c may have one of that name."""
    ops = (edge.op for edge in program.edge.values())
    return frozenset(op.function for op in ops if isinstance(op, Havoc) and op.function)


class _Plan:
    """The inputs of all runs, and how the interpreter's runs on the first of them ended."""

    def __init__(self, program: Program, functions: Mapping[str, Sort], model: Model) -> None:
        self.functions = functions
        self._known = constants(program)
        self._bits = program.pointer_bits
        self.behaviours: dict[int, Behaviour] = {}
        self.supplies: list[Values] = []
        for number in range(RUNS if functions else 1):
            drawn = self._drawn(number)
            if number < RANDOM and model.has_time:
                self.behaviours[number] = model.run(drawn, number)
            self.supplies.append({f: s.upto(_LENGTHS[number % 4]) for f, s in drawn.items()})

    @property
    def obstacle(self) -> str:
        """Why the compiled program cannot be given these inputs, if so."""
        wide = [n for n, s in self.functions.items() if isinstance(s, MachineSort) and s.width > 128]
        return f"`{wide[0]}` gives values of more than 128 bits" if wide else ""

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """That of the first run with undefined behaviour, if there is one."""
        return tuple(b.warning for b in self.behaviours.values() if b.warning is not None)[:1]

    def words(self) -> dict[str, int]:
        """How many words of 64 bits a value of each function has."""
        return {n: 2 if isinstance(s, MachineSort) and s.width > 64 else 1 for n, s in self.functions.items()}

    def _drawn(self, number: int) -> dict[str, Stream]:
        """One stream of values for each function in a run, the same for the same number."""
        special = number - RANDOM
        chance = RandomInputs(Random(f"0/{number}"), self._known)
        made = {}
        for name, sort in self.functions.items():
            values = chance.values(sort) if special < 0 else self._later(special, sort, name)
            made[name] = Stream(map(self._fitting(sort), values))
        return made

    def _fitting(self, sort: Sort) -> Callable[[int], int]:
        """From any number to a value of the sort; addresses have as many bits as pointers."""
        return sort.wrap if isinstance(sort, MachineSort) else lambda number: number % (1 << self._bits)

    def _later(self, number: int, sort: Sort, name: str) -> Iterator[int]:
        """The values in the runs after the random ones, number `number` of them."""
        low, high = (sort.low, sort.high) if isinstance(sort, MachineSort) else (0, (1 << self._bits) - 1)
        fixed = (*_SPECIAL, low, high)
        random = Random(f"{name}/{number}")
        known = [int(v) for v in self._known.get(sort, ())] or [0]
        while True:
            if number < len(fixed):
                value = fixed[number]
            elif number % 3 == 0:
                value = random.randint(-number, number)
            elif number % 3 == 1:
                value = random.choice(known) + random.randint(-1, 1)
            else:
                value = random.randint(low, high)
            yield value


# -------------------------------------------------------------------------------- the compiled program


def _binary(
    program: Program, errors: ErrorCodes, planned: _Plan, arguments: Sequence[str], directory: Path
) -> Binary:
    """The compiled program, to be run on planned inputs."""
    inputs = planned.words()
    texts = {edge.text for edge in program.edge.values()}

    def harness(undefined: Sequence[str]) -> str:
        others = [name for name in undefined if name not in inputs and any(name in text for text in texts)]
        return runs_harness(undefined, errors.functions, inputs, others)

    checks, unknown = CHECKS.get(errors.kind, ()), _unknown_functions(program)
    return Binary(
        program,
        Wanted(errors.functions, harness, checks, unknown=unknown),
        arguments=arguments,
        directory=directory,
        words=inputs,
        microseconds=_ONE_RUN if planned.functions else _ONLY_RUN,
        traps=bool(errors.kind),
    )


# ------------------------------------------------------------------------------------------ comparison


def _compared(
    planned: _Plan, model: Model, natives: Sequence[Behaviour], budget: Budget
) -> tuple[Challenge, list[int]]:
    """Compare native runs with those of the interpreter: first those that reached an error, then the others
    as time permits. The challenge, and the numbers of the runs that agree."""
    agreed: list[int] = []
    obstacle = ""
    warnings: dict[int, Diagnostic] = {}
    for number in sorted(range(len(natives)), key=lambda n: natives[n].end is not End.ERROR):
        native, values = natives[number], planned.supplies[number]
        said = planned.behaviours.get(number)
        if said is None and model.has_time:
            said = model.run(values, number)
        if native.end is End.ERROR and not native.stubbed and (said is None or not said.comparable):
            said = _followed(model, values, said, _seconds(budget))
        if said is not None and said.warning is not None:
            warnings[number] = said.warning
            continue
        disagreement = _disagreement(native, said, values)
        if disagreement is not None:
            return Challenge(disagreement=disagreement, warnings=planned.warnings), []
        found = _hindrance(native, said)
        if not found:
            agreed.append(number)
        obstacle = obstacle or found
    first = planned.warnings or tuple(warnings[n] for n in sorted(warnings))[:1]
    ended = not planned.functions and natives[0].end in (End.RETURNED, End.STOPPED)
    why_not = "" if agreed else f"no run could be compared: {obstacle or 'all meet undefined behaviour'}"
    planned_runs = len(planned.supplies) if natives[0].count else 1
    others = planned_runs - len(agreed)
    return Challenge(len(agreed), others, why_not, only_run_ended=ended, warnings=first), agreed


def _followed(model: Model, values: Values, said: Behaviour | None, seconds: float) -> Behaviour:
    """The model's run on the inputs of a native run that reached an error, where these are not all that it
    depends on, or where it took too long."""
    done = model.completed(values, seconds)
    depends = "" if said is None else f" ({said.detail})"
    return replace(done, detail=f"{done.detail}{depends}")


def _hindrance(native: Behaviour, said: Behaviour | None) -> str:
    """Why a native run cannot be compared with the model's; empty if it can."""
    if native.stubbed:
        return "it calls a function that is not defined"
    if not native.comparable:
        return f"natively, {native.detail}"
    return "" if said is not None and said.comparable else f"in the model, {said.detail if said else _LATE}"


def _disagreement(native: Behaviour, said: Behaviour | None, values: Values) -> Disagreement | None:
    """What a native run says against HOLDS, if anything: it reached an error, or the model does otherwise."""
    if native.stubbed or not native.comparable:
        return None
    if native.end is End.ERROR:
        same = said is not None and said.end is End.ERROR
    elif said is None or not said.comparable or said.like(native):
        return None
    else:
        same = False
    told = _LATE if said is None else said.detail
    return Disagreement(CONTRADICTION if same else MODEL_DISAGREES, native.used(values), native.detail, told)
