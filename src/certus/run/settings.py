"""The settings of a run, and the options of engines that they contain."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_type_hints

from certus.core.diagnostic import Diagnostic
from certus.core.engine import Engine
from certus.core.errors import InputError

if TYPE_CHECKING:
    from certus.passes.large_blocks import LargeBlocks

AUTO = "auto"
SOLVERS = (1, 2)  # how many of them may be asked to discharge a clause
BLOCKS = "blocks"  # owner of the options of blocks
Blocks = Literal["single", "large", "advanced", "adjustable"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user can choose for one run.

    `engine` is a name from `certus engines` or "auto", which runs `engines` (default: its own choice) side by
    side on `cores` (default: all). `options` are pairs such as "bmc.bound" and "10". `timeout` is in seconds
    of wall time, `cpu_time` in seconds of CPU time of all processes together, `memory` in bytes.
    `property_name` is a name or a property file. Without it a task file brings its own property, of a C
    program the kinds of checks `checks` are asked for (default: all; empty: only unreach-call), and of
    anything else unreach-call. `data_model` is ILP32 or LP64 (default: that of the task file, else LP64);
    `clang_arguments` are flags for Clang. `execute`: whether the program may be compiled and run; `harness`
    is where the inputs of a violation are saved. `ranges`: whether engines get the ranges of variables as
    facts. `inline`: whether calls are inlined for engines that want it. `solvers`: how many solvers, 1 or 2,
    have to discharge each clause of a proof. `malloc_may_fail`: whether allocations in C may return null."""

    engine: str = AUTO
    engines: tuple[str, ...] = ()
    cores: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    blocks: Blocks = "large"
    bound: int | None = None
    property_name: str | None = None
    checks: tuple[str, ...] | None = None
    data_model: str | None = None
    clang_arguments: tuple[str, ...] = ()
    timeout: float | None = 60.0
    cpu_time: float | None = None
    memory: int | None = None
    evidence: Path | None = None
    log_queries: Path | None = None
    execute: bool = True
    harness: Path | None = None
    ranges: bool = True
    inline: bool = True
    solvers: int = 1
    malloc_may_fail: bool = False


def engine_options(engine: Engine[Any], settings: Settings) -> Any:
    """Return the options of `engine` as the settings have them. Raises `InputError` for one that does not
    fit."""
    hints = get_type_hints(engine.options)
    types = {f.name: hints[f.name] for f in dataclasses.fields(engine.options)}
    bound = {"bound": settings.bound} if settings.bound is not None and "bound" in types else {}
    return engine.options(**bound | _values(settings, engine.name, types))


def block_pass(settings: Settings) -> LargeBlocks:
    """Return the pass that makes the blocks of the settings. Raises `InputError` for a bad threshold."""
    from certus.passes.large_blocks import LargeBlocks

    return LargeBlocks(settings.blocks, **_block_options(settings))


def _block_options(settings: Settings) -> dict[str, Any]:
    values = _values(settings, BLOCKS, {"threshold": int})
    if values and settings.blocks != "adjustable":
        raise bad_usage("--set blocks.threshold is for adjustable blocks", "add --blocks adjustable")
    if values.get("threshold", 1) < 1:
        raise bad_usage("--set blocks.threshold: a block has at least one edge", "write a number from 1")
    return values


def _values(settings: Settings, owner: str, types: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `owner` in the settings, with values of their types."""
    values: dict[str, Any] = {}
    for key, text in settings.options.items():
        prefix, _, name = key.partition(".")
        if prefix != owner:
            continue
        if name not in types:
            subject = owner if owner == BLOCKS else f"the engine {owner}"
            verb = "have" if owner == BLOCKS else "has"
            raise bad_usage(f"{subject} {verb} no option {name!r}", f"the options: {', '.join(types)}")
        values[name] = _converted(text, types[name], key)
    return values


def check_owners(settings: Settings, engines: Mapping[str, Engine[Any]]) -> None:
    """Raise `InputError` for engines that do not exist, and for impossible blocks or numbers of solvers."""
    choices = ", ".join((AUTO, *engines))
    if settings.solvers not in SOLVERS:
        raise bad_usage(f"proofs cannot be checked by {settings.solvers} solvers", "choose 1 or 2 solvers")
    if settings.engine not in (AUTO, *engines):
        raise bad_usage(f"there is no engine {settings.engine!r}", f"choose from: {choices}")
    if settings.engines and settings.engine != AUTO:
        raise bad_usage("--engine and --engines cannot be combined", "use one of them")
    for name in settings.engines:
        if name not in engines:
            raise bad_usage(f"there is no engine {name!r}", f"choose from: {', '.join(engines)}")
    _block_options(settings)
    for key in settings.options:
        if key.partition(".")[0] not in (BLOCKS, *engines):
            raise bad_usage(
                f"--set {key}: there is no engine {key.partition('.')[0]!r}", f"engines: {choices}"
            )


def _converted(text: str, wanted: Any, key: str) -> Any:
    if wanted is bool:
        if text.lower() in ("true", "yes", "on", "1"):
            return True
        if text.lower() in ("false", "no", "off", "0"):
            return False
        raise bad_usage(f"--set {key}: {text!r} is neither true nor false", "write true or false")
    if wanted is int:
        try:
            return int(text)
        except ValueError:
            raise bad_usage(
                f"--set {key}: {text!r} is not a whole number", "write a number such as 10"
            ) from None
    choices = get_args(wanted)
    if choices and text not in choices:
        raise bad_usage(f"--set {key}: {text!r} is not possible", f"choose from: {', '.join(choices)}")
    return text


def bad_usage(message: str, hint: str) -> InputError:
    """Return the error of a user who asks for something impossible."""
    return InputError([Diagnostic("usage", message, hint=hint)])
