"""What was verified, in a directory of evidence: its source, and for C the headers of the user's.

A program with headers keeps its shape: source and headers stand below `source/` as they stood below the
innermost directory that they share, and the flags for Clang point there. So the evidence needs nothing else.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.frontend import DEFAULT_MODEL
from certus.frontend.task_files import C_SUFFIXES

FOLDER: Final = "source"
FLAGS: Final = ("-I", "-D", "-U", "-std=")  # all that evidence may give to Clang


@dataclass(frozen=True, slots=True)
class SavedSources:
    """Where the source is, relative to the directory, and the SHA-256 of every header; the flags that Clang
    needs to read it there."""

    source: str
    headers: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


def save_sources(
    directory: Path, subject: Program | HornSystem, *, data_model: str | None, arguments: Sequence[str]
) -> SavedSources:
    """Write the text of what was verified, and the headers it includes."""
    shutil.rmtree(directory / FOLDER, ignore_errors=True)
    file = Path(subject.file)
    headers = _headers(file, data_model or DEFAULT_MODEL, arguments)
    if not headers:
        kept = tuple(each for each in arguments if not each.startswith("-I"))
        source = f"source{file.suffix}"
        _write(directory / source, subject.source)
        return SavedSources(source, {}, kept)
    root = os.path.commonpath([os.path.abspath(each.parent) for each in (file, *headers)])
    source = _placed(file, root)
    _write(directory / source, subject.source)
    digests: dict[str, str] = {}
    for header in headers:
        name = _placed(header, root)
        content = header.read_bytes()
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
        digests[name] = hashlib.sha256(content).hexdigest()
    return SavedSources(source, digests, tuple(_moved(arguments, root)))


def _headers(file: Path, model: str, arguments: Sequence[str]) -> list[Path]:
    if file.suffix.lower() not in C_SUFFIXES:
        return []
    from certus.system.headers import own_headers

    return own_headers(file, model=model, arguments=arguments)


def _placed(file: Path, root: str) -> str:
    return str(Path(FOLDER) / os.path.relpath(os.path.abspath(file), root))


def _moved(arguments: Sequence[str], root: str) -> list[str]:
    """The flags, where directories below `root` are those of the evidence. No header is in any other."""
    found = []
    for argument in arguments:
        if not argument.startswith("-I"):
            found.append(argument)
            continue
        relative = os.path.relpath(os.path.abspath(argument[2:]), root)
        if not relative.startswith(os.pardir):
            found.append(f"-I{Path(FOLDER) / relative}")
    return found


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def is_inside(name: str) -> bool:
    """Whether a name of the manifest leads to a file in its directory."""
    return not Path(name).is_absolute() and ".." not in Path(name).parts


def flags_in(directory: Path, arguments: Sequence[str]) -> list[str] | None:
    """The flags for Clang, with directories below `directory`; None if there is one that evidence may
    not have."""
    if any(not each.startswith(FLAGS) for each in arguments):
        return None
    if any(each.startswith("-I") and not is_inside(each[2:]) for each in arguments):
        return None
    return [f"-I{directory / each[2:]}" if each.startswith("-I") else each for each in arguments]


def changed_headers(directory: Path, headers: dict[str, str]) -> list[str]:
    """The headers that are not those that were read when the program was verified."""
    return [name for name, digest in headers.items() if _digest(directory / name) != digest]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
