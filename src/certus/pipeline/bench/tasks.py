"""Tasks: task definitions, `.set` files, directories, and programs without any of these.

A file that the user names has to be readable. Among the many of a set or a directory, what cannot be read, or
asks for no property that is wanted, is skipped and listed.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certus.core.diagnostic import Diagnostic
from certus.core.errors import InputError, Unsupported
from certus.frontend.properties import CHECK_SAT, SUPPORTED
from certus.frontend.task_files import C_SUFFIXES, CHC_SUFFIXES, SUFFIXES, read_question, read_task_file

SET: Final = ".set"
PROGRAMS: Final = (*C_SUFFIXES, *CHC_SUFFIXES, ".lp")
PROPERTIES: Final = (*SUPPORTED, CHECK_SAT)


@dataclass(frozen=True, slots=True)
class BenchTask:
    """One question. `name` is the file as the user came to it; `file` is what our engines are given (the task
    definition if there is one), `program` what it is about, with `others` if it is in several files; all
    absolute. `digest` changes when they do."""

    name: str
    file: str
    program: str
    property_name: str
    data_model: str | None
    expected: bool | None
    digest: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Tasks, and sentences on those that were skipped."""

    tasks: tuple[BenchTask, ...]
    skipped: tuple[str, ...]


def select(paths: Sequence[Path], properties: Sequence[str] = ()) -> Selection:
    """The tasks that `paths` lead to, each once, that ask for one of `properties` (by default: any that
    Certus supports). Raises `InputError` for a path that leads nowhere."""
    wanted = tuple(properties) or PROPERTIES
    tasks: dict[tuple[str, str], BenchTask] = {}
    skipped: dict[str, str] = {}
    for path in paths:
        several = path.is_dir() or path.suffix == SET
        for file in _files(path):
            try:
                found = list(_questions(file, wanted))
            except (InputError, Unsupported) as error:
                if not several:
                    raise
                skipped[str(file)] = f"{file}: {_first(error).message}"
                continue
            if not found:
                skipped[str(file)] = f"{file}: asks for none of {', '.join(wanted)}"
            tasks |= {(task.file, task.property_name): task for task in found}
    if not tasks:
        message = f"there is no task in {', '.join(map(str, paths))}"
        hint = next(
            iter(skipped.values()), "give task definitions (.yml), .set files, programs or directories"
        )
        raise InputError([Diagnostic("no-tasks", message, hint=hint)])
    return Selection(tuple(tasks.values()), tuple(skipped.values()))


def sample(tasks: Sequence[BenchTask], number: int, seed: int) -> list[BenchTask]:
    """At most `number` of the tasks, drawn evenly from the directories they are in: one from each in turn."""
    draw = random.Random(seed)
    strata: dict[Path, list[BenchTask]] = {}
    for task in sorted(tasks, key=lambda task: (task.file, task.property_name)):
        strata.setdefault(Path(task.file).parent, []).append(task)
    for stratum in strata.values():
        draw.shuffle(stratum)
    turns = max(map(len, strata.values()), default=0)
    in_turn = [stratum[turn] for turn in range(turns) for stratum in strata.values() if turn < len(stratum)]
    return in_turn[:number]


def _files(path: Path) -> Iterable[Path]:
    if path.is_dir():
        return _files_below(path)
    if path.suffix == SET:
        return _files_of_set(path)
    return [path]


def _files_below(directory: Path) -> list[Path]:
    """The task definitions; in a tree that has none, the programs."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    definitions = [path for path in files if path.suffix in SUFFIXES]
    return definitions or [path for path in files if path.suffix in PROGRAMS]


def _files_of_set(path: Path) -> Iterator[Path]:
    """One pattern a line, relative to the file; `#` starts a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Diagnostic("cannot-read", f"cannot read {path}: {error}")]) from error
    for number, line in enumerate(lines, 1):
        pattern = line.partition("#")[0].strip()
        if pattern:
            found = sorted(path.parent.glob(pattern)) if not os.path.isabs(pattern) else [Path(pattern)]
            if not found:
                message = f"{path}:{number}: no file matches {pattern}"
                raise InputError([Diagnostic("cannot-read", message)])
            yield from found


def _questions(file: Path, wanted: Sequence[str]) -> Iterator[BenchTask]:
    if file.suffix in SUFFIXES:
        task = read_task_file(file)
        for each in task.properties:
            if each.property.name in wanted:
                yield _task(file, task.inputs, each.property.name, task.data_model, each.expected)
        return
    if not file.is_file():
        raise InputError([Diagnostic("cannot-read", f"there is no file {file}")])
    usual = read_question(file).property.name
    possible = [usual] if usual in wanted or usual == CHECK_SAT else SUPPORTED
    for name in (name for name in possible if name in wanted):
        yield _task(file, (file,), name, None, None)


def _task(
    file: Path, programs: Sequence[Path], name: str, model: str | None, expected: bool | None
) -> BenchTask:
    content = hashlib.sha256(b"".join(each.read_bytes() for each in (file, *programs))).hexdigest()[:16]
    places = os.path.abspath(file), os.path.abspath(programs[0])
    others = tuple(os.path.abspath(each) for each in programs[1:])
    return BenchTask(str(file), *places, name, model, expected, content, others)


def _first(error: InputError | Unsupported) -> Diagnostic:
    return error.diagnostic if isinstance(error, Unsupported) else error.diagnostics[0]
