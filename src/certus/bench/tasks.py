"""Select tasks from task definitions, `.set` files, directories, and single programs.

A file that the user names must be readable. A file of a set or directory that cannot be read, or has none of
the wanted properties, is skipped and listed.
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
from certus.core.vocabulary import CHECK_SAT, SUPPORTED
from certus.frontend import C_SUFFIXES, CHC_SUFFIXES, SUFFIXES, read_question
from certus.frontend.tasks.task_files import read_task_file

SET: Final = ".set"
PROGRAMS: Final = (*C_SUFFIXES, *CHC_SUFFIXES, ".lp")
PROPERTIES: Final = (*SUPPORTED, CHECK_SAT)


@dataclass(frozen=True, slots=True)
class BenchTask:
    """One program with one property. `name` is the file as the user wrote it; `file` is the task definition,
    or else the program, for engines of Certus; `program` is the program, and `others` are its further files.
    All but `name` are absolute. `digest` is a hash of all files."""

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
    """The selected tasks, and a sentence about each skipped file."""

    tasks: tuple[BenchTask, ...]
    skipped: tuple[str, ...]


def select(paths: Sequence[Path], properties: Sequence[str] = ()) -> Selection:
    """Return the tasks in `paths`, each once, that have one of `properties` (by default: any that Certus
    supports). Raises `InputError` if there are none."""
    wanted = tuple(properties) or PROPERTIES
    tasks: dict[tuple[str, str], BenchTask] = {}
    skipped: dict[str, str] = {}
    for path in paths:
        several = path.is_dir() or path.suffix == SET
        for file in _files(path):
            try:
                selected = list(_tasks_of(file, wanted))
            except (InputError, Unsupported) as error:
                if not several:
                    raise
                skipped[str(file)] = f"{file}: {_first(error).message}"
                continue
            if not selected:
                skipped[str(file)] = f"{file}: has none of the properties {', '.join(wanted)}"
            tasks |= {(task.file, task.property_name): task for task in selected}
    if not tasks:
        message = f"there is no task in {', '.join(map(str, paths))}"
        usual = "give task definitions (.yml), .set files, programs or directories"
        raise InputError([Diagnostic("no-tasks", message, hint=next(iter(skipped.values()), usual))])
    return Selection(tuple(tasks.values()), tuple(skipped.values()))


def sample(tasks: Sequence[BenchTask], number: int, seed: int) -> list[BenchTask]:
    """Return at most `number` of the tasks, drawn evenly from their directories: one from each in turn."""
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
    """Return the task definitions in a directory tree or, if there are none, the programs."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    definitions = [path for path in files if path.suffix in SUFFIXES]
    return definitions or [path for path in files if path.suffix in PROGRAMS]


def _files_of_set(path: Path) -> Iterator[Path]:
    """Yield the files of a `.set` file: one pattern a line, relative to its directory; `#` starts a
    comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Diagnostic("cannot-read", f"cannot read {path}: {error}")]) from error
    for number, line in enumerate(lines, 1):
        pattern = line.partition("#")[0].strip()
        if pattern:
            matches = sorted(path.parent.glob(pattern)) if not os.path.isabs(pattern) else [Path(pattern)]
            if not matches:
                message = f"{path}:{number}: no file matches {pattern}"
                raise InputError([Diagnostic("cannot-read", message)])
            yield from matches


def _tasks_of(file: Path, wanted: Sequence[str]) -> Iterator[BenchTask]:
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
