"""What a user may ask for in one run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError
from certus.core.task import Engine

AUTO = "auto"
SOLVERS = (1, 2)  # how many of them a clause may be asked to be discharged by
Blocks = Literal["single", "large", "advanced"]


@dataclass(frozen=True, slots=True)
class Settings:
    """`engine` is a name from `certus engines` or "auto", which runs `engines` (by default its choice) side
    by side on `cores` (by default all there are); `options` are raw pairs ("bmc.bound" -> "10");
    `timeout` is in seconds of wall time, `cpu_time` in seconds of CPU time of all processes together,
    `memory` in bytes. `property_name` is a name or a property file (by default what
    the task file says, else unreach-call), `data_model` ILP32 or LP64 (by default what the task file says,
    else LP64), `clang_arguments` are flags for Clang. A violation of a C program is replayed by the compiled
    program if `execute`; `harness` is where its inputs are saved. Engines get the ranges of
    variables as facts if `ranges`. Each clause of a proof has to be discharged by at least `solvers` of the
    solvers, 1 or 2."""

    engine: str = AUTO
    engines: tuple[str, ...] = ()
    cores: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    blocks: Blocks = "large"
    bound: int | None = None
    property_name: str | None = None
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
    solvers: int = 1


def engine_options(engine: Engine, settings: Settings) -> Any:
    """The options of `engine` as the settings have them; raises `InputError` for what does not fit."""
    hints = get_type_hints(engine.options)
    names = [f.name for f in dataclasses.fields(engine.options)]
    given: dict[str, Any] = {}
    if settings.bound is not None and "bound" in names:
        given["bound"] = settings.bound
    for key, text in settings.options.items():
        owner, _, name = key.partition(".")
        if owner != engine.name:
            continue
        if name not in names:
            raise bad_usage(f"the engine {owner} has no option {name!r}", f"its options: {', '.join(names)}")
        given[name] = _converted(text, hints[name], key)
    return engine.options(**given)


def check_owners(settings: Settings, engines: Mapping[str, Engine]) -> None:
    """Raise `InputError` for engines that do not exist, and for a number of solvers that is not possible."""
    choices = ", ".join((AUTO, *engines))
    if settings.solvers not in SOLVERS:
        raise bad_usage(f"proofs cannot be checked by {settings.solvers} solvers", "choose 1 or 2 solvers")
    if settings.engine not in (AUTO, *engines):
        raise bad_usage(f"there is no engine {settings.engine!r}", f"choose one of: {choices}")
    if settings.engines and settings.engine != AUTO:
        raise bad_usage("both one engine and several are asked for", "give either --engine or --engines")
    for name in settings.engines:
        if name not in engines:
            raise bad_usage(f"there is no engine {name!r}", f"choose of: {', '.join(engines)}")
    for key in settings.options:
        if key.partition(".")[0] not in engines:
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
        raise bad_usage(f"--set {key}: {text!r} is not possible", f"choose one of: {', '.join(choices)}")
    return text


def bad_usage(message: str, hint: str) -> InputError:
    return InputError([Diagnostic("usage", message, hint=hint)])
