"""`certus engines`: list the engines for `--engine` and their options for `--set`."""

from __future__ import annotations

import argparse
from dataclasses import MISSING, Field, fields
from typing import Any

from certus.cli.terminal import Exit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of the command."""
    parser.description = "List the engines, with the options that `--set ENGINE.FIELD=VALUE` takes."
    parser.add_argument(
        "--reference", action="store_true", help="also list options kept for comparison with the papers"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print each engine with its summary and the default values of its options."""
    from certus.cli.terminal import emit
    from certus.engines.registry import ENGINES

    lines = []
    for name, engine in ENGINES.items():
        lines.append(f"{name:<12} {engine.summary}")
        lines += [
            f"{'':<12}   --set {name}.{field.name}={_default(field)}"
            for field in fields(engine.options)
            if arguments.reference or "reference" not in field.metadata
        ]
    emit("\n".join(lines))
    return Exit.HOLDS


def _default(field: Field[Any]) -> object:
    if field.default is not MISSING:
        return field.default
    return field.type if field.default_factory is MISSING else field.default_factory()
