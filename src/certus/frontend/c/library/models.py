"""The models in C, compiled when they are asked for."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from certus.frontend.c.compile import compile_file
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.types import TypeTable
from certus.frontend.c.library.meanings import Model
from certus.frontend.c.library.table import CHECKED_FILE, lookup

_INTERNAL: Final = (
    (re.compile(r"__certus_(?:copy|move|fill|unknown|input)\d"), "memory.c"),
    (re.compile(r"__certus_(?:qsort|bsearch)\w*|__certus_errno"), "stdlib.c"),
    (re.compile(r"__certus_(?:arguments|run_registered|line)"), "world.c"),
)


class LibraryModels:
    """The models for one data model and one property. Their types are those of the program's module."""

    def __init__(self, types: TypeTable, *, model: str, property: str) -> None:
        self._types = types
        self._model = model
        self._property = property
        self._modules: dict[str, Module] = {}

    def defining(self, name: str) -> Module | None:
        """Return the module that defines a function or variable of the models."""
        file = _file_of(name)
        if file is None:
            return None
        found = self._modules.get(file)
        if found is None:
            checks = self._property if file == CHECKED_FILE else ""
            found = self._modules[file] = Module(_compiled(file, self._model, checks), self._types)
        defined = name in found.functions and found.functions[name].defined
        return found if defined or name in found.globals else None


def _file_of(name: str) -> str | None:
    known = lookup(name)
    if known is not None:
        meaning = known.meaning
        return meaning.file if isinstance(meaning, Model) and known.passed is None else None
    return next((file for pattern, file in _INTERNAL if pattern.fullmatch(name)), None)


@cache
def _compiled(file: str, model: str, property: str) -> str:
    path = Path(str(files("certus.frontend.c.library").joinpath("c", file)))
    return compile_file(path, property=property, model=model).text
