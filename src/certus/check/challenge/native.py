"""Challenge the model of a C program: run the compiled program and the model on the same inputs and compare.

A proof is checked on the model that the front end built from a C program. If the model is wrong, the proof
may be worthless. Therefore the program is compiled and run natively on up to `RUNS` inputs, in a fixed order:
those of random runs of the interpreter first, then special values, small numbers, constants of the program,
and random numbers. The interpreter runs the model on the same inputs. A run can be compared if the
interpreter finishes it and it depends on these inputs only: no undefined behaviour, no uninitialised value,
no address, no result of an undefined function. Then both runs must end alike, and request the same inputs in
the same order. If gcc is installed, the program that it compiles repeats these runs (`second_opinion`). For
a memory property, the program with checks of all accesses repeats a few of them (`memory`).

The runs that gcc's program repeats depend on their inputs only, and have no undefined behaviour. The text is
the same for both compilers, so they must end alike, unless they depend on a choice that C leaves to the
compiler. The most common one is the evaluation order of operands: then the same inputs go to other places.
That is harmless, since other inputs have the same effect, unless gcc's program reaches the error: with a
proof, no inputs lead Clang's program to it.

The challenge does not depend on a proof, so it can run in parallel with the engines.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

from certus.check.challenge.memory import memory_errors
from certus.check.challenge.runs import Behaviour, Binary, End, Model, Stream, Values, inputs_text
from certus.check.replay.build import Compiler, NotBuilt, Wanted, no_gcc
from certus.check.replay.compiled import CHECKS
from certus.check.replay.harness import CHECK_CODES, is_input, runs_harness
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.outcome import (
    CLANG,
    COMPILERS_DISAGREE,
    CONTRADICTION,
    EVALUATION_ORDER,
    GCC,
    MODEL_DISAGREES,
    Challenge,
    Compilers,
    Disagreement,
)
from certus.core.program import Havoc, Program
from certus.core.terms import MachineSort, Sort
from certus.core.vocabulary import PART_OF_KIND
from certus.interpreter.inputs import RandomInputs, constants

RUNS: Final = 256  # runs, unless the program has no input
RANDOM: Final = 100  # of them on inputs of random runs
SECONDS: Final = 0.5  # for all native runs, and for all runs of the interpreter, at most
SHARE: Final = 0.1  # of the time limit, likewise
_ONE_RUN: Final = 20_000  # microseconds of CPU time for one of many native runs
_ONLY_RUN: Final = 400_000  # of the only run
_LENGTHS: Final = (32, 32, 32, 256)  # the number of values of a function in a run, in turn
_SPECIAL: Final = (0, 1, -1, 2)  # all values of a run, likewise the least and the greatest of a type
NOT_EXECUTED: Final = "the program was not executed"
_LATE: Final = "it did not finish in time"
_MACHINES: Final = ("x86_64", "amd64", "i386", "i686")


@dataclass(frozen=True, slots=True)
class ErrorCodes:
    """The functions whose entry is an error, with their exit codes; `kinds` are the kinds of errors that are
    operations."""

    functions: Mapping[str, int]
    kinds: tuple[str, ...] = ()

    @property
    def codes(self) -> frozenset[int]:
        """The exit codes that mean an error."""
        checks = (code for kind in self.kinds for code in CHECK_CODES.get(kind, ()))
        return frozenset(map(int, (*self.functions.values(), *checks)))

    @property
    def checks(self) -> tuple[str, ...]:
        """The flags that make such operations end the program with one of these codes."""
        return tuple(dict.fromkeys(flag for kind in self.kinds for flag in CHECKS.get(kind, ())))


def challenge(
    program: Program,
    errors: ErrorCodes,
    *,
    arguments: Sequence[str] = (),
    budget: Budget,
    execute: bool = True,
) -> Challenge:
    """Challenge `program`; `arguments` are the user's flags for Clang. Without `execute` only the interpreter
    runs, which may find undefined behaviour."""
    functions = _input_functions(program)
    model = Model(program, _seconds(budget), single=not functions)
    plan = _Plan(program, functions, model)
    why_not = _obstacle(plan) if execute else NOT_EXECUTED
    if not why_not:
        try:
            with tempfile.TemporaryDirectory(prefix="certus-") as name:
                binary = _binary(program, errors, plan, arguments, Path(name))
                result, runs = _challenged(program, plan, model, binary, budget)
                kinds = [*dict.fromkeys(s.kind for s in program.errors if s.kind in PART_OF_KIND)]
                if not kinds:
                    return result
                place = _subdirectory(name)
                reached = memory_errors(
                    program, kinds, runs, plan.formats, arguments=arguments, directory=place
                )
                return replace(result, reached={**reached, **result.reached})
        except NotBuilt as error:
            why_not = str(error)
    return Challenge(why_not=why_not, warnings=plan.warnings)


def _subdirectory(directory: str) -> Path:
    path = Path(directory, "sanitized")
    path.mkdir()
    return path


def _challenged(
    program: Program, plan: _Plan, model: Model, binary: Binary, budget: Budget
) -> tuple[Challenge, list[tuple[Values, Behaviour]]]:
    """Compare native runs with those of the interpreter, then the runs that agree with those of gcc's
    program. gcc comes last because it may take time that another answer needs. Return the runs that agree,
    too."""
    natives = binary.runs(plan.supplies, Compiler.CLANG, seconds=_seconds(budget))
    result, agreed = _compared(plan, model, natives, budget)
    runs = [(plan.supplies[number], natives[number]) for number in agreed]
    if runs:
        result = second_opinion(program, result, binary, runs, budget=budget, seconds=_seconds(budget))
    return result, runs


def _seconds(budget: Budget) -> float:
    """Return the time limit of all native runs, and of all runs of the interpreter."""
    return budget.part(SHARE, at_most=SECONDS).remaining() or 0.0


def _obstacle(plan: _Plan) -> str:
    """Return why the program cannot run natively; empty if it can."""
    if platform.machine().lower() not in _MACHINES:
        return f"this machine is {platform.machine()}, not x86"
    return plan.obstacle


# ------------------------------------------------------------------------------------- the inputs


def _input_functions(program: Program) -> dict[str, Sort]:
    """Return the input functions, with the sort of their values."""
    ops = (edge.op for edge in program.edge.values())
    named = ((op.function, op.targets[0].sort) for op in ops if isinstance(op, Havoc) and op.function)
    return {name: sort for name, sort in named if is_input(name) and not name.startswith("$")}


def _formats(program: Program) -> dict[str, str]:
    """Return the formats of the input functions that return floating-point numbers."""
    ops = (edge.op for edge in program.edge.values())
    named = ((op.function, op.targets[0]) for op in ops if isinstance(op, Havoc) and op.function)
    return {name: program.formats[x] for name, x in named if x in program.formats}


def _unknown_functions(program: Program) -> frozenset[str]:
    """Return the functions that the model does not define exactly; runtime.c may define their names."""
    ops = (edge.op for edge in program.edge.values())
    return frozenset(op.function for op in ops if isinstance(op, Havoc) and op.function)


class _Plan:
    """The inputs of all runs, and the behaviour of the model on the first of them."""

    def __init__(self, program: Program, functions: Mapping[str, Sort], model: Model) -> None:
        self.functions = functions
        self._constants = constants(program)
        self.formats = _formats(program)
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
        """Why the compiled program cannot receive these inputs; empty if it can."""
        wide = [n for n, s in self.functions.items() if isinstance(s, MachineSort) and s.width > 128]
        return f"`{wide[0]}` returns values of more than 128 bits" if wide else ""

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warning of the first run with undefined behaviour, if there is one."""
        return tuple(b.warning for b in self.behaviours.values() if b.warning is not None)[:1]

    def words(self) -> dict[str, int]:
        """Return the number of 64-bit words in the result of each function."""
        return {n: 2 if isinstance(s, MachineSort) and s.width > 64 else 1 for n, s in self.functions.items()}

    def _drawn(self, number: int) -> dict[str, Stream]:
        """Return a stream of values for each function; it depends on the number of the run only."""
        special = number - RANDOM
        random = RandomInputs(Random(f"0/{number}"), self._constants)
        streams = {}
        for name, sort in self.functions.items():
            format = self.formats.get(name, "")
            if special < 0 or format:
                values = random.values(sort, format)
            else:
                values = self._later(special, sort, name)
            streams[name] = Stream(map(self._fitting(sort), values))
        return streams

    def _fitting(self, sort: Sort) -> Callable[[int], int]:
        """Return a function from integers to values of the sort; addresses have the bits of a pointer."""
        return sort.wrap if isinstance(sort, MachineSort) else lambda number: number % (1 << self._bits)

    def _later(self, number: int, sort: Sort, name: str) -> Iterator[int]:
        """Yield the values for run `number` after the random runs."""
        low, high = (sort.low, sort.high) if isinstance(sort, MachineSort) else (0, (1 << self._bits) - 1)
        fixed = (*_SPECIAL, low, high)
        random = Random(f"{name}/{number}")
        numbers = [int(v) for v in self._constants.get(sort, ())] or [0]
        while True:
            if number < len(fixed):
                value = fixed[number]
            elif number % 3 == 0:
                value = random.randint(-number, number)
            elif number % 3 == 1:
                value = random.choice(numbers) + random.randint(-1, 1)
            else:
                value = random.randint(low, high)
            yield value


# -------------------------------------------------------------------------------- the compiled program


def _binary(
    program: Program, errors: ErrorCodes, plan: _Plan, arguments: Sequence[str], directory: Path
) -> Binary:
    """Return the compiled program for the planned inputs."""
    inputs = plan.words()
    texts = {edge.text for edge in program.edge.values()}

    def harness(undefined: Sequence[str]) -> str:
        others = [name for name in undefined if name not in inputs and any(name in text for text in texts)]
        return runs_harness(undefined, errors.functions, inputs, others, plan.formats)

    unknown = _unknown_functions(program)
    return Binary(
        program,
        Wanted(errors.functions, harness, errors.checks, unknown=unknown),
        arguments=arguments,
        directory=directory,
        words=inputs,
        microseconds=_ONE_RUN if plan.functions else _ONLY_RUN,
        codes=errors.codes,
    )


# ------------------------------------------------------------------------------------------ comparison


def _compared(
    plan: _Plan, model: Model, natives: Sequence[Behaviour], budget: Budget
) -> tuple[Challenge, list[int]]:
    """Compare native runs with those of the interpreter: first those that reached an error, then the others
    as time permits. Return the result, and the numbers of the runs that agree."""
    agreed: list[int] = []
    reached: dict[str, Disagreement] = {}
    obstacle = ""
    warnings: dict[int, Diagnostic] = {}
    for number in sorted(range(len(natives)), key=lambda n: natives[n].end is not End.ERROR):
        native, values = natives[number], plan.supplies[number]
        modelled = plan.behaviours.get(number)
        if modelled is None and model.has_time:
            modelled = model.run(values, number)
        unfinished = modelled is None or not (modelled.comparable or modelled.goes_on)
        if native.end is End.ERROR and not native.stubbed and unfinished:
            modelled = _completed(model, values, modelled, _seconds(budget))
        if modelled is not None and modelled.warning is not None:
            warnings[number] = modelled.warning
            continue
        if modelled is not None and modelled.goes_on:
            used = modelled.used(values)
            silent = Disagreement(CONTRADICTION, used, native.detail, modelled.detail)
            reached.setdefault(modelled.error, silent)
        disagreement = _disagreement(native, modelled, values)
        if disagreement is not None and disagreement.code == CONTRADICTION:
            assert modelled is not None
            reached.setdefault(modelled.error, disagreement)
            disagreement = None
        if disagreement is not None:
            return Challenge(disagreement=disagreement, warnings=plan.warnings), []
        why_incomparable = _why_incomparable(native, modelled)
        if not why_incomparable:
            agreed.append(number)
        obstacle = obstacle or why_incomparable
    first = plan.warnings or tuple(warnings[n] for n in sorted(warnings))[:1]
    ended = not plan.functions and natives[0].end in (End.RETURNED, End.STOPPED, End.ERROR)
    why_not = "" if agreed else f"no run could be compared: {obstacle or 'all meet undefined behaviour'}"
    others = (len(plan.supplies) if natives[0].count else 1) - len(agreed)
    result = Challenge(len(agreed), others, why_not, only_run_ended=ended, warnings=first, reached=reached)
    return result, agreed


def _completed(model: Model, values: Values, before: Behaviour | None, seconds: float) -> Behaviour:
    """Run the model to the end on the inputs of a native run that reached an error, if the first run took too
    long or depends on more than these inputs."""
    behaviour = model.completed(values, seconds)
    depends = "" if before is None else f" ({before.detail})"
    return replace(behaviour, detail=f"{behaviour.detail}{depends}")


def _why_incomparable(native: Behaviour, modelled: Behaviour | None) -> str:
    """Return why a native run cannot be compared with that of the model; empty if it can."""
    if native.stubbed:
        return "it calls a function that is not defined"
    if not native.comparable:
        return f"natively, {native.detail}"
    if modelled is not None and modelled.comparable:
        return ""
    return f"in the model, {modelled.detail if modelled else _LATE}"


def _disagreement(native: Behaviour, modelled: Behaviour | None, values: Values) -> Disagreement | None:
    """Return how a native run contradicts HOLDS: it reaches an error, or the model behaves differently. A run
    that reaches an error in the model, too, contradicts only a HOLDS about errors of its kind. An error that
    the compiled program does not notice comes first, so the end of that program means nothing."""
    if native.stubbed or not native.comparable or (modelled is not None and modelled.goes_on):
        return None
    if native.end is End.ERROR:
        same = modelled is not None and modelled.end is End.ERROR
    elif modelled is None or not modelled.comparable or modelled.like(native):
        return None
    else:
        same = False
    code = CONTRADICTION if same else MODEL_DISAGREES
    detail = _LATE if modelled is None else modelled.detail
    return Disagreement(code, native.used(values), native.detail, detail)


# --------------------------------------------------------------------------------- comparison with gcc

_GCC_SECONDS: Final = 2.0  # for gcc to compile the program
_GCC_SHARE: Final = 0.1  # of the time limit, likewise


def second_opinion(
    program: Program,
    challenge: Challenge,
    binary: Binary,
    runs: Sequence[tuple[Values, Behaviour]],
    *,
    budget: Budget,
    seconds: float,
) -> Challenge:
    """Return the result `challenge`, extended by the comparison with gcc's program. `runs` are the inputs on
    which the model and Clang's program agree, with its behaviour; `seconds` limit all of them."""
    absent = no_gcc(program)
    if not absent:
        limit = budget.part(_GCC_SHARE, at_most=_GCC_SECONDS).remaining() or 0.0
        try:
            supplies = [values for values, _ in runs]
            behaviours = binary.runs(supplies, Compiler.GCC, seconds=seconds, build_seconds=limit)
        except NotBuilt as error:
            absent = str(error)
    if absent:
        return replace(challenge, compilers=Compilers((CLANG,), absent))
    return _with_gcc(challenge, runs, behaviours)


def _with_gcc(
    challenge: Challenge, runs: Sequence[tuple[Values, Behaviour]], behaviours: Sequence[Behaviour]
) -> Challenge:
    agreed, warning = 0, None
    pairs = sorted(zip(runs, behaviours, strict=False), key=lambda pair: pair[1].end is not End.ERROR)
    for (values, clang), gcc in pairs:
        if gcc.stubbed or not gcc.comparable:
            continue
        if gcc.like(clang):
            agreed += 1
            continue
        reordered = _is_reordered(clang, gcc)
        if reordered and warning is None:
            warning = _order_warning(values, clang, gcc)
        if gcc.end is End.ERROR or not (reordered or _order_is_hidden(values, clang)):
            asked = {CLANG: clang.asked, GCC: gcc.asked}
            disagreement = Disagreement(
                COMPILERS_DISAGREE, gcc.used(values), clang.detail, clang.detail, gcc.detail, asked
            )
            return Challenge(disagreement=disagreement, warnings=_with(challenge.warnings, warning))
    compilers = Compilers((CLANG, GCC)) if agreed else Compilers((CLANG,), "no run could be compared")
    warnings = _with(challenge.warnings, warning)
    return replace(challenge, compilers=compilers, gcc_compared=agreed, warnings=warnings)


def _with(warnings: tuple[Diagnostic, ...], more: Diagnostic | None) -> tuple[Diagnostic, ...]:
    return warnings if more is None else (*warnings, more)


def _is_reordered(clang: Behaviour, gcc: Behaviour) -> bool:
    """Return whether gcc's program requests the same inputs in another order: where the two runs first
    differ, each requests an input that the other requests later."""
    for at, (first, second) in enumerate(zip(clang.asked, gcc.asked, strict=False)):
        if first != second:
            return first in gcc.asked[at:] and second in clang.asked[at:]
    return False


def _order_is_hidden(values: Values, clang: Behaviour) -> bool:
    """Return whether another order of the inputs would not be visible: one function returns several different
    values."""
    return any(len(set(inputs)) > 1 for inputs in clang.used(values).values())


def _order_warning(values: Values, clang: Behaviour, gcc: Behaviour) -> Diagnostic:
    inputs = [(name, value) for name, used in clang.used(values).items() for value in used]
    at = next(n for n, (a, b) in enumerate(zip(clang.asked, gcc.asked, strict=False)) if a != b)
    return Diagnostic(
        EVALUATION_ORDER,
        f"an execution{inputs_text(inputs)} asks for `{clang.asked[at]}()` first if Clang compiles the"
        f" program, and for `{gcc.asked[at]}()` if gcc does: C leaves open which operand is evaluated first,"
        " and Certus takes the order of Clang.",
        Severity.WARNING,
        hint="to fix the order, read the inputs in statements of their own",
    )
