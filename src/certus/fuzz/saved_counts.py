"""Save the counts of a campaign, so that a later run with the same seed can continue."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certus.run.settings import bad_usage

_HINT = "choose another directory with -o"


def save_counts(file: Path, numbers: Mapping[str, float], counts: Mapping[str, Counter[str]]) -> None:
    """Save numbers, among them the seed, and counts; an interruption does not damage the file."""
    state = {**numbers, **{name: dict(sorted(each.items())) for name, each in counts.items()}}
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f"{file.name}.new")
    new.write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
    new.replace(file)


def load_counts(
    file: Path, numbers: Mapping[str, float], counts: Mapping[str, Counter[str]]
) -> dict[str, Any] | None:
    """Add saved counts to `counts`, and return the saved numbers by the names in `numbers`; None if there is
    no file. Raises `InputError` if it is from a run with another seed."""
    if not file.exists():
        return None
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
        saved = {name: state[name] for name in numbers}
        for name, each in counts.items():
            each.update(state[name])
    except (ValueError, KeyError, TypeError) as error:
        raise bad_usage(f"{file} is not the state of a run: {error}", _HINT) from error
    if saved["seed"] != numbers["seed"]:
        raise bad_usage(f"{file} is from a run with another seed", _HINT)
    return saved
