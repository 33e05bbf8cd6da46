"""From a C file through LLVM IR to the `Program` that the rest of Certus works on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from certus.core.budget import Budget
from certus.core.errors import Unsupported
from certus.frontend.c.compile import Compiled, compile_file
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.text import NotUnderstood
from certus.frontend.c.library.models import LibraryModels
from certus.frontend.c.load import collection_paused, error_rules
from certus.frontend.c.model.program import lower_program
from certus.frontend.c.model.sources import Sources
from certus.frontend.c.model.unit import Rules, Unit, refused
from certus.frontend.c.types import LP64, DataModel
from certus.frontend.loaded import LoadedProgram
from certus.frontend.properties import UNREACH_CALL, Property, property_of
from certus.frontend.source import read_source


def load_ir(
    path: str | Path,
    *,
    property: str | Property = UNREACH_CALL,
    model: DataModel = LP64,
    arguments: Sequence[str] = (),
    budget: Budget | None = None,
    entry: str = "main",
) -> LoadedProgram:
    """Return the program of a C file; `arguments` are for Clang. It begins with the function `entry`.

    Raises `InputError` for what Clang refuses and for an unknown property, `Unsupported` for what Certus
    does not model, and `BudgetExceeded`."""
    path, budget = Path(path), budget or Budget()
    found = error_rules(property_of(property) if isinstance(property, str) else property)
    rules = Rules(found.kind, found.functions)
    compiled = compile_file(path, property=rules.kind, model=model.name, arguments=arguments, budget=budget)
    with collection_paused():
        return _lowered(path, compiled, rules, model, budget, entry)


def _lowered(
    path: Path, compiled: Compiled, rules: Rules, model: DataModel, budget: Budget, entry: str
) -> LoadedProgram:
    sources: Sources | None = None
    try:
        module = Module(compiled.text)
        text = read_source(path).text
        sources = Sources(module.debug, compiled.main, str(path), text, blanked=compiled.blanked)
        models = LibraryModels(module.types, model=model.name, property=rules.kind)
        unit = Unit(module, sources, models, rules, budget, entry)
        lowered = lower_program(unit, str(path), hashlib.sha256(path.read_bytes()).hexdigest(), entry)
    except NotUnderstood as error:
        raise Unsupported(refused(error, sources, str(path))) from error
    return LoadedProgram(lowered.program, lowered.warnings)
