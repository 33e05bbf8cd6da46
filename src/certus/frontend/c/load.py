"""From a C file to the `Program` that the rest of Certus works on."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

from certus.core.budget import Budget
from certus.core.errors import InputError
from certus.core.program import Program
from certus.frontend.c.ast import MAIN
from certus.frontend.c.lower import lower_unit
from certus.frontend.c.lower.probing import Impure
from certus.frontend.c.lower.world import ErrorRules
from certus.frontend.c.probes import edited_text
from certus.frontend.c.reader import read_edited, read_unit
from certus.frontend.c.source.probes import Probe, refuse
from certus.frontend.c.types import LP64, DataModel
from certus.frontend.loaded import LoadedProgram
from certus.frontend.properties import UNREACH_CALL, Property, check_supported, property_of

_ERRORS: Final = {
    "reach_error": "reach-error",
    "__VERIFIER_error": "reach-error",
    "__assert_fail": "assertion",
    "__assert_rtn": "assertion",
    "__assert": "assertion",
}


def load_c(
    path: str | Path,
    *,
    property: str | Property = UNREACH_CALL,
    model: DataModel = LP64,
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
    entry: str = MAIN,
) -> LoadedProgram:
    """The program of a C file; `arguments` are for Clang. It begins with the function `entry`.

    Raises `InputError` for what Clang refuses and for an unknown property, `Unsupported` for what Certus
    does not model, and `BudgetExceeded`."""
    wanted = property_of(property) if isinstance(property, str) else property
    rules = error_rules(wanted)
    budget = budget or Budget()
    with collection_paused():
        unit = read_unit(Path(path), model=model, arguments=arguments, budget=budget, entry=entry)
        lowered = lower_unit(unit, rules, budget)
    return LoadedProgram(lowered.program, lowered.warnings)


def load_probed(
    path: Path,
    probes: Sequence[Probe],
    watched: frozenset[tuple[int, int | None]] = frozenset(),
    *,
    property: Property,
    model: DataModel,
    arguments: Sequence[str] = (),
    budget: Budget,
    invariants: bool = False,
) -> tuple[LoadedProgram, Program]:
    """The program of a C file, and the same with probes, and with branches where `watched` has the `?` of a
    `?:`. With `invariants`, probes claim that their evaluation is defined. Raises `InputError`, at the place
    of the probe, for one that has no place or is no expression; otherwise as `load_c`."""
    rules = error_rules(property)
    with collection_paused():
        unit = read_unit(path, model=model, arguments=arguments, budget=budget)
        lowered = lower_unit(unit, rules, budget)
        original = LoadedProgram(lowered.program, lowered.warnings)

        def probed(some: Sequence[Probe]) -> Program:
            edited = edited_text(unit, path.read_bytes(), some)
            read = read_edited(path, edited, model=model, arguments=arguments, budget=budget)
            return lower_unit(read, rules, budget, watched, invariants=invariants).program

        if not probes:
            plain = lower_unit(unit, rules, budget, watched).program if watched else lowered.program
            return original, plain
        try:
            return original, probed(probes)
        except Impure as error:
            refuse(next(p for p in probes if p.number == error.number), str(error))
        except InputError as error:
            blame(probes, probed, error)


def blame(
    probes: Sequence[Probe], probed: Callable[[Sequence[Probe]], Program], error: InputError
) -> NoReturn:
    """Say which of the probes it is that Clang refuses."""
    if any(d.code != "clang-error" for d in error.diagnostics):
        raise error
    for probe in probes:
        try:
            probed([probe])
        except InputError as own:
            refuse(probe, f"Clang refuses this expression there: {own.diagnostics[0].message}.")
    raise error


@contextmanager
def collection_paused() -> Iterator[None]:
    """Trees have no cycles, and looking for some in hundreds of thousands of nodes takes half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def error_rules(wanted: Property) -> ErrorRules:
    """What is an error under a property."""
    check_supported(wanted)
    if wanted.name == "no-overflow":
        return ErrorRules("no-overflow", {})
    if wanted.name == "no-div-zero":
        return ErrorRules("no-div-zero", {})
    if wanted.function is not None:
        kind = _ERRORS.get(wanted.function, "reach-error")
        return ErrorRules("unreach-call", {wanted.function: kind})
    return ErrorRules("unreach-call", _ERRORS)
