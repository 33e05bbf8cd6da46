"""Ask Certus about a rendered program: by one run of its interpreter, or by `verify`.

The interpreter runs in a child process, which limits time and memory and contains crashes.
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from certus.core.accounting import Budget
from certus.core.errors import BudgetExceeded, InputError, Unsupported
from certus.core.evidence import Unknown
from certus.core.program import Havoc, Program
from certus.core.terms import Expr, MachineSort
from certus.core.values import Datum, default_value
from certus.frontend import load_question, read_question
from certus.fuzz.campaign import DEFECTS
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import NoInputs, Nondeterministic, unknown
from certus.interpreter.interpreter import Ending, run
from certus.run.settings import Settings
from certus.run.verify import verify
from certus.system.child import Reporter, run_limited

STEPS: Final = 1_000_000
SECONDS: Final = 20.0
MEMORY: Final = 3 << 30
_INPUT: Final = "__VERIFIER_nondet_"
_WRONG: Final = (*DEFECTS, "model-disagrees", "internal-error")


class Said(Enum):
    """The answer of Certus about a program, or the reason why there is none."""

    HOLDS = "no error is reached"
    VIOLATED = "an error is reached"
    UNDEFINED = "undefined behaviour"
    STOPPED = "the run stops where the compiled program continues"
    DEFECT = "defect"
    CRASHED = "internal error"
    MALFORMED = "malformed input"
    REFUSED = "refused"
    UNDETERMINED = "not determined"
    LIMIT = "limit"


_SILENT: Final = (Said.REFUSED, Said.UNDETERMINED, Said.LIMIT)


@dataclass(frozen=True, slots=True)
class Judgement:
    """An answer of Certus; `detail` is a cause or a sentence, `line` its place in the main file."""

    said: Said
    detail: str = ""
    line: int | None = None

    def disagrees(self, *, expected: Said) -> bool:
        """Say whether this is wrong for a program whose compiled run shows `expected`."""
        return self.said not in (expected, *_SILENT)

    @property
    def silent(self) -> bool:
        """Say whether Certus gives no answer."""
        return self.said in _SILENT

    @property
    def kind(self) -> str:
        """Return the kind of answer, without the names and numbers of the program."""
        if self.said in (Said.HOLDS, Said.VIOLATED):
            return str(self.said.value)
        if self.said is Said.CRASHED:
            cause, _, _ = self.detail.partition(": ")
            return f"{self.said.value}: {cause}"
        detail = re.sub(r"\d+", "N", re.sub(r"`[^`]*`|\([^()]*\)", "", self.detail))
        return " ".join(f"{self.said.value}: {detail}".split())


def interpreted(file: Path, model: str, inputs: Sequence[int], *, expected: Said) -> Judgement:
    """Load the program with the front end and run it once. A run that depends on more than its inputs gives
    no answer, unless one choice of the other values gives `expected`."""

    def work(_: Reporter) -> bytes:
        judgement = _interpreted(file, model, inputs, expected)
        return json.dumps((judgement.said.name, judgement.detail, judgement.line)).encode()

    result = run_limited(work, seconds=SECONDS, memory=MEMORY)
    if result.payload is None:
        if result.kind == "interrupted":
            raise KeyboardInterrupt
        if result.kind in ("timeout", "memory"):
            return Judgement(Said.LIMIT, result.kind)
        return Judgement(Said.CRASHED, result.detail or result.kind)
    said, detail, line = json.loads(result.payload)
    return Judgement(Said[said], detail, line)


def _interpreted(file: Path, model: str, inputs: Sequence[int], expected: Said) -> Judgement:
    try:
        question = read_question(file, data_model=model)
        program = load_question(question, budget=Budget(SECONDS)).program
        compiled = compile_program(program)
        try:
            done = run(compiled, _ChosenInputs(program, inputs), step_limit=STEPS, budget=Budget(SECONDS))
        except Nondeterministic as error:
            done = run(compiled, _OthersZero(program, inputs), step_limit=STEPS, budget=Budget(SECONDS))
            if _ENDINGS[done.ending] is not expected:
                what = "an address" if "address" in str(error) else "a value"
                return Judgement(Said.UNDETERMINED, f"the run depends on {what} that nothing determines")
    except Unsupported as refusal:
        span = refusal.diagnostic.span
        here = span is not None and Path(span.file).name == file.name
        return Judgement(Said.REFUSED, refusal.diagnostic.code, span.line if span and here else None)
    except BudgetExceeded as error:
        return Judgement(Said.LIMIT, error.limit)
    except InputError as error:
        return Judgement(Said.MALFORMED, error.diagnostics[0].message)
    except Exception as error:  # any other exception of the front end or the interpreter is a defect
        return Judgement(Said.CRASHED, _where(error))
    line = done.edge.span.line if done.edge is not None and done.edge.span is not None else None
    return Judgement(_ENDINGS[done.ending], done.cause, line)


_ENDINGS: Final = {
    Ending.EXIT: Said.HOLDS,
    Ending.ERROR: Said.VIOLATED,
    Ending.UNDEFINED: Said.UNDEFINED,
    Ending.BLOCKED: Said.STOPPED,
    Ending.UNMODELLED: Said.UNDETERMINED,
    Ending.LIMIT: Said.LIMIT,
}


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    place = f" at {Path(last.filename).name}:{last.name}" if last else ""
    return f"{type(error).__name__}{place}: {str(error)[:200]}"


class _ChosenInputs(NoInputs):
    """The chosen inputs, in the order in which the program reads them; other nondeterministic values
    raise."""

    def __init__(self, program: Program, values: Sequence[int]) -> None:
        self._program = program
        self._values = list(values)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        value = _next(self._program, edge, targets, self._values)
        return tuple(unknown(t.name) for t in targets) if value is None else value


class _OthersZero:
    """The chosen inputs; other nondeterministic values are 0, and addresses are concrete."""

    def __init__(self, program: Program, values: Sequence[int]) -> None:
        self._program = program
        self._values = list(values)

    def initial(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def local(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        value = _next(self._program, edge, targets, self._values)
        return tuple(default_value(t.sort) for t in targets) if value is None else value


def _next(
    program: Program, edge: int, targets: Sequence[Expr], values: list[int]
) -> tuple[Datum, ...] | None:
    """Return the next input, if the edge reads one."""
    operation = program.edge[edge].op
    name = operation.function if isinstance(operation, Havoc) else None
    if name is None or not name.startswith(_INPUT) or len(targets) != 1 or not values:
        return None
    sort, value = targets[0].sort, values.pop(0)
    return (sort.wrap(value) if isinstance(sort, MachineSort) else bool(value),)


def verified(file: Path, model: str, seconds: float) -> Judgement:
    """Ask `verify`, with all engines."""
    try:
        outcome = verify(
            file, Settings(property_name="unreach-call", timeout=seconds, data_model=model, cores=1)
        )
    except InputError as error:
        return Judgement(Said.MALFORMED, error.diagnostics[0].message)
    except Exception as error:  # any other exception of `verify` is a defect
        return Judgement(Said.CRASHED, _where(error))
    if not isinstance(outcome.verdict, Unknown):
        return Judgement(Said[outcome.answer])
    reason = outcome.verdict.reason
    if reason.code == "interrupted":
        raise KeyboardInterrupt
    if reason.code in _WRONG:
        return Judgement(Said.DEFECT, reason.code)
    if reason.code.startswith("unsupported"):
        return Judgement(Said.REFUSED, reason.code)
    return Judgement(Said.LIMIT, reason.code)
