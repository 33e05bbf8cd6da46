"""`certus engines`: what there is to choose from with `--engine` and `--set`."""

from __future__ import annotations

import argparse
from dataclasses import MISSING, Field, fields
from typing import Any

from certus.cli.exits import Exit


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "engines",
        help="list the engines and their options",
        description="List the engines with the options that `--set ENGINE.FIELD=VALUE` takes.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from certus.cli.terminal import emit
    from certus.engines.registry import ENGINES

    lines = []
    for name, engine in ENGINES.items():
        lines.append(f"{name:<12} {engine.summary}")
        lines += [
            f"{'':<12}   --set {name}.{field.name}={_default(field)}" for field in fields(engine.options)
        ]
    emit("\n".join(lines))
    return Exit.HOLDS


def _default(field: Field[Any]) -> object:
    if field.default is not MISSING:
        return field.default
    return field.type if field.default_factory is MISSING else field.default_factory()
