"""Challenge a proof of memory safety: run the compiled program with checks of every access to memory.

The other native runs show how a program ends, but not whether its accesses were valid. So the sanitized
program (`check.replay.sanitized`) repeats a few of the runs that agree with the model and reach no error. If
it makes a memory error there, no proof that excludes errors of this kind can be right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from certus.check.challenge.runs import Behaviour, End, Values
from certus.check.replay.build import NotBuilt
from certus.check.replay.harness import Supply
from certus.check.replay.sanitized import MemoryFault, SanitizedProgram
from certus.core.outcome import CONTRADICTION, Disagreement
from certus.core.program import Inspect, Program
from certus.core.terms import Kind

RUNS: Final = 4  # each needs a link, about 0.1 s
_SECONDS: Final = 0.5  # for one run


def memory_errors(
    program: Program,
    kinds: Iterable[str],
    runs: Iterable[tuple[Values, Behaviour]],
    formats: Mapping[str, str],
    *,
    arguments: Sequence[str],
    directory: Path,
) -> dict[str, Disagreement]:
    """Return, for each of these kinds, a memory error that the sanitized program makes on the inputs of one
    of these runs."""
    reached: dict[str, Disagreement] = {}
    sanitized = SanitizedProgram(program, arguments=arguments, directory=directory)
    for values, behaviour in _different(runs):
        inputs = behaviour.used(values)
        supply = Supply({name: list(each) for name, each in inputs.items()}, formats=dict(formats))
        try:
            run = sanitized.run(supply, seconds=_SECONDS, about="a challenge")
        except NotBuilt:
            return reached
        for kind in () if run.noted else kinds:
            if (fault := run.fault_of(kind)) is not None and not _is_unit(program, fault):
                reached.setdefault(kind, Disagreement(CONTRADICTION, inputs, str(fault), behaviour.detail))
    return reached


def _is_unit(program: Program, fault: MemoryFault) -> bool:
    """Return whether the fault may be an access to the storage unit of a bit-field. The model asks only about
    the bytes with bits of the field, so such an access has more bytes than any that it asks about in this
    line."""
    if not fault.size or fault.line is None:
        return False
    asked = [
        int(edge.op.size.value)
        for edge in program.edge.values()
        if isinstance(edge.op, Inspect) and edge.op.size.kind is Kind.CONST
        if edge.span is not None and edge.span.line == fault.line.line
    ]
    return bool(asked) and max(asked) < fault.size


def _different(runs: Iterable[tuple[Values, Behaviour]]) -> list[tuple[Values, Behaviour]]:
    """Return the first runs that reach no error, use all their inputs, and differ in these."""
    chosen: dict[tuple[tuple[str, tuple[int, ...]], ...], tuple[Values, Behaviour]] = {}
    for values, behaviour in runs:
        if behaviour.end in (End.RETURNED, End.STOPPED) and behaviour.count == len(behaviour.asked):
            chosen.setdefault(tuple(behaviour.used(values).items()), (values, behaviour))
        if len(chosen) == RUNS:
            break
    return list(chosen.values())
