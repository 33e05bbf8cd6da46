"""Save the sources that were verified in a directory of evidence, and for C the user's own headers.

A program with headers, or in several files, keeps its shape: sources and headers lie below `source/` as
they lay below the innermost directory that they share, and the flags for Clang point there. So the evidence
needs no other file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from certus.core.horn import HornSystem
from certus.core.program import Program
from certus.frontend import C_SUFFIXES, DEFAULT_MODEL

FOLDER: Final = "source"
FLAGS: Final = ("-I", "-D", "-U", "-std=")  # the only flags for Clang that evidence may contain


@dataclass(frozen=True, slots=True)
class SavedSources:
    """The paths of saved sources, relative to the directory, the SHA-256 of every header, and the flags that
    Clang needs to read them there."""

    files: tuple[str, ...]
    headers: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


def save_sources(
    directory: Path, subject: Program | HornSystem, *, data_model: str | None, arguments: Sequence[str]
) -> SavedSources:
    """Write the sources that were verified, and the headers that they include."""
    texts = {Path(file): text for file, text in texts_of(subject).items()}
    included = (_headers(file, data_model or DEFAULT_MODEL, arguments) for file in texts)
    headers = {os.path.abspath(each): each.read_bytes() for some in included for each in some}
    shutil.rmtree(directory / FOLDER, ignore_errors=True)
    if not headers and len(texts) == 1:
        kept = tuple(each for each in arguments if not each.startswith("-I"))
        source = f"source{Path(subject.file).suffix}"
        _write(directory / source, subject.source)
        return SavedSources((source,), {}, kept)
    places = [*map(os.path.abspath, texts), *headers]
    root = os.path.commonpath([os.path.dirname(each) for each in places])
    files = {_placed(file, root): text for file, text in texts.items()}
    digests: dict[str, str] = {}
    for header, content in headers.items():
        name = _placed(header, root)
        if name not in files:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(content)
            digests[name] = hashlib.sha256(content).hexdigest()
    for name, text in files.items():
        _write(directory / name, text)
    return SavedSources(tuple(files), digests, tuple(_moved(arguments, root)))


def texts_of(subject: Program | HornSystem) -> Mapping[str, str]:
    """Return the texts that were verified, by their files."""
    return subject.texts if isinstance(subject, Program) else {subject.file: subject.source}


def _headers(file: Path, model: str, arguments: Sequence[str]) -> list[Path]:
    if file.suffix.lower() not in C_SUFFIXES:
        return []
    from certus.system.tools import own_headers

    return own_headers(file, model=model, arguments=arguments)


def _placed(file: str | Path, root: str) -> str:
    return str(Path(FOLDER) / os.path.relpath(os.path.abspath(file), root))


def _moved(arguments: Sequence[str], root: str) -> list[str]:
    """Return the flags with directories below `root` replaced by those of the evidence. No header is in any
    other directory."""
    flags = []
    for argument in arguments:
        if not argument.startswith("-I"):
            flags.append(argument)
            continue
        relative = os.path.relpath(os.path.abspath(argument[2:]), root)
        if not relative.startswith(os.pardir):
            flags.append(f"-I{Path(FOLDER) / relative}")
    return flags


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def is_inside(name: str) -> bool:
    """Return whether a name in the manifest leads to a file in its directory."""
    return _is_word(name) and not Path(name).is_absolute() and ".." not in Path(name).parts


def _is_word(text: str) -> bool:
    """Return whether the system can take a text as a file name or an argument."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def flags_in(directory: Path, arguments: Sequence[str]) -> list[str] | None:
    """Return the flags for Clang, with directories below `directory`; None if one of them is not allowed."""
    if not all(each.startswith(FLAGS) and _is_word(each) for each in arguments):
        return None
    if any(each.startswith("-I") and not is_inside(each[2:]) for each in arguments):
        return None
    return [f"-I{directory / each[2:]}" if each.startswith("-I") else each for each in arguments]


def changed_headers(directory: Path, headers: dict[str, str]) -> list[str]:
    """Return the headers that differ from those that were read when the program was verified."""
    return [name for name, digest in headers.items() if _digest(directory / name) != digest]


def _digest(path: Path) -> str:
    """Return the SHA-256 sum of a file; an empty text if it cannot be read."""
    with suppress(OSError):
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return ""
