"""Read properties, by name or from property files (`.prp`) as used by SV-COMP.

Each line of a property file has the form `CHECK( init(main()), LTL(F) )`. The table `_FORMULAS` lists the
formulas `F`. A property of several lines (valid-memsafety) is recognised by the set of its formulas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported
from certus.core.vocabulary import KINDS, PARTS
from certus.frontend.source import Source, read_source

UNREACH_CALL: Final = "unreach-call"
CHECK_SAT: Final = "check-sat"  # of Horn clauses
MEMORY_SAFETY: Final = "valid-memsafety"
_MEMORY: Final = PARTS[MEMORY_SAFETY]
SUPPORTED: Final = (
    *(UNREACH_CALL, "no-overflow", "no-div-zero", MEMORY_SAFETY, *_MEMORY, "valid-memcleanup"),
    *("array-bounds", "float-cast-overflow", "float-divide-by-zero", "no-uninitialised-read"),
)

_FORMULAS: Final = {
    "G ! overflow": "no-overflow",
    "G ! div-zero": "no-div-zero",
    "F end": "termination",
    "G sat": CHECK_SAT,
    "G ! data-race": "no-data-race",
    "G ! label(ERROR)": "unreach-label",
    "G valid-memcleanup": "valid-memcleanup",
    **{f"G {name}": name for name in _MEMORY},
}
KNOWN: Final = (*SUPPORTED, *dict.fromkeys(n for n in _FORMULAS.values() if n not in SUPPORTED))

_CHECK: Final = re.compile(r"CHECK\(init\((\w+)\(\)\),LTL\((.*)\)\)")
_CALL: Final = re.compile(r"G!call\((\w+)\(\)\)")


@dataclass(frozen=True, slots=True)
class Property:
    """A property. `function` is the error function if a property file names one; otherwise `unreach-call`
    refers to all the usual ones (`reach_error`, `__VERIFIER_error`, a failing `assert`). The default question
    about C programs has the kinds of checks `kinds` (`core.vocabulary`), and `name` lists them."""

    name: str = UNREACH_CALL
    function: str | None = None
    kinds: tuple[str, ...] = ()


def default_kinds() -> tuple[str, ...]:
    """Return the kinds of checks of the default question."""
    return tuple(kind.name for kind in KINDS.values() if kind.usual)


def property_of_kinds(names: Sequence[str]) -> Property:
    """Return the question for several kinds of checks. Raises `InputError` for names that do not exist."""
    choices = f"Choose from: {', '.join(KINDS)}."
    for name in names:
        if name not in KINDS:
            message = f"There is no kind of checks `{name}`."
            raise InputError([Diagnostic("usage", message, hint=choices)])
    kinds = tuple(name for name in KINDS if name in names)
    if not kinds:
        raise InputError([Diagnostic("usage", "--checks names no kind of checks.", hint=choices)])
    return Property(",".join(kinds), kinds=kinds)


def property_of(text: str) -> Property:
    """Return the property with this name, or in this property file."""
    if text.endswith(".prp"):
        return read_property_file(Path(text))
    if text not in KNOWN:
        hint = f"Choose one of {', '.join(SUPPORTED)}, or name a property file (.prp)."
        raise InputError([Diagnostic("unknown-property", f"There is no property `{text}`.", hint=hint)])
    return Property(text)


def check_line(wanted: Property) -> str:
    """Return the property as in a property file: a line, or one for each of its parts."""
    if wanted.name in PARTS:
        return "\n".join(check_line(Property(part)) for part in PARTS[wanted.name])
    formulas = {name: formula for formula, name in _FORMULAS.items()}
    formula = formulas.get(wanted.name, f"G {wanted.name}")
    if wanted.name == UNREACH_CALL:
        formula = f"G ! call({wanted.function or 'reach_error'}())"
    return f"CHECK( init(main()), LTL({formula}) )"


def property_of_line(text: str, span: Span) -> Property:
    """Return the property of a line of a property file, of its formula alone, or of the lines of all parts of
    a property."""
    lines = [line for line in text.split("\n") if line.strip()] or [text]
    whole = (
        line if _compact(line).startswith("CHECK(") else f"CHECK( init(main()), LTL({line}) )"
        for line in lines
    )
    properties = [_checked(line, span) for line in whole]
    names = tuple(sorted({each.name for each in properties}))
    if len(names) > 1:
        parts = [name for name, parts in PARTS.items() if names == parts]
        if not parts:
            message = f"These are several properties: {', '.join(names)}."
            raise InputError([Diagnostic("bad-property-file", message, span=span, hint=_FORM)])
        return Property(parts[0])
    return properties[0]


def check_supported(wanted: Property, span: Span | None = None) -> None:
    """Raise `Unsupported` for a property that Certus recognises but cannot verify."""
    if not wanted.kinds and wanted.name not in SUPPORTED:
        message = f"The property {wanted.name} is not supported yet."
        hint = f"Supported: {', '.join(SUPPORTED)}."
        raise Unsupported(Diagnostic("unsupported-property", message, span=span, hint=hint))


def read_property_file(path: Path) -> Property:
    """Read a property file; raise `InputError` if Certus does not recognise its property."""
    source = read_source(path)
    properties: list[Property] = []
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            properties.append(_checked(line, _whole_line(source, number, line)))
    if not properties:
        span = Span(source.file, 1, 1, 1, 1, source.file, 1)
        raise InputError(
            [Diagnostic("bad-property-file", "The property file is empty.", span=span, hint=_FORM)]
        )
    names = tuple(sorted({each.name for each in properties}))
    if names == _MEMORY:
        return Property(MEMORY_SAFETY)
    if len(set(properties)) > 1:
        message = f"{path} has several properties: {', '.join(names)}."
        hint = "Write one property file for each."
        raise InputError([Diagnostic("bad-property-file", message, span=_second(source), hint=hint)])
    return properties[0]


_FORM: Final = "Write a property as `CHECK( init(main()), LTL(G ! call(reach_error())) )`."


def _checked(line: str, span: Span) -> Property:
    """Return the property of one line."""
    match = _CHECK.fullmatch(_compact(line))
    if match is None:
        message = "This line does not have the form `CHECK( init(main()), LTL(F) )`."
        raise InputError([Diagnostic("bad-property-file", message, span=span, hint=_FORM)])
    entry, formula = match.groups()
    if entry != "main":
        message = f"The property starts in `{entry}`, but Certus supports only `main` here."
        raise Unsupported(Diagnostic("unsupported-property", message, span=span, hint=_FORM))
    call = _CALL.fullmatch(formula)
    if call is not None:
        return Property(UNREACH_CALL, call[1])
    name = _COMPACT_FORMULAS.get(formula)
    if name is None:
        message = "Certus does not recognise the formula of this property."
        hint = f"Use `G ! call(f())`, {', '.join(f'`{each}`' for each in _FORMULAS)}."
        raise InputError([Diagnostic("unknown-property", message, span=span, hint=hint)])
    return Property(name)


def _compact(text: str) -> str:
    """Remove the white space that does not separate words."""
    return re.sub(r"\s*([^\w\s-])\s*", r"\1", " ".join(text.split()))


_COMPACT_FORMULAS: Final = {_compact(formula): name for formula, name in _FORMULAS.items()}


def _whole_line(source: Source, number: int, line: str) -> Span:
    start = len(line) - len(line.lstrip()) + 1
    return Span(source.file, number, start, number, len(line.rstrip()) + 1, source.file, number)


def _second(source: Source) -> Span:
    lines = [(number, line) for number, line in enumerate(source.text.split("\n"), 1) if line.strip()]
    return _whole_line(source, *lines[1])
