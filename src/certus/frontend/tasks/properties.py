"""Read properties, by name or from property files (`.prp`) as used by SV-COMP.

Each line of a property file has the form `CHECK( init(main()), LTL(F) )` with a formula `F` of
`core.vocabulary.FORMULAS`. A property of several lines (valid-memsafety) is recognised by the set of its
formulas.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported
from certus.core.vocabulary import FORMULAS, KNOWN, MEMORY_SAFETY, PARTS, SUPPORTED, UNREACH_CALL, Property
from certus.frontend.source import Source, read_source

_CHECK: Final = re.compile(r"CHECK\(init\((\w+)\(\)\),LTL\((.*)\)\)")
_CALL: Final = re.compile(r"G!call\((\w+)\(\)\)")


def property_of(text: str) -> Property:
    """Return the property with this name, or in this property file."""
    if text.endswith(".prp"):
        return read_property_file(Path(text))
    if text not in KNOWN:
        hint = f"Choose one of {', '.join(SUPPORTED)}, or name a property file (.prp)."
        raise InputError([Diagnostic("unknown-property", f"There is no property `{text}`.", hint=hint)])
    return Property(text)


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
    if names == PARTS[MEMORY_SAFETY]:
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
        hint = f"Use `G ! call(f())`, {', '.join(f'`{each}`' for each in FORMULAS)}."
        raise InputError([Diagnostic("unknown-property", message, span=span, hint=hint)])
    return Property(name)


def _compact(text: str) -> str:
    """Remove the white space that does not separate words."""
    return re.sub(r"\s*([^\w\s-])\s*", r"\1", " ".join(text.split()))


_COMPACT_FORMULAS: Final = {_compact(formula): name for formula, name in FORMULAS.items()}


def _whole_line(source: Source, number: int, line: str) -> Span:
    start = len(line) - len(line.lstrip()) + 1
    return Span(source.file, number, start, number, len(line.rstrip()) + 1, source.file, number)


def _second(source: Source) -> Span:
    lines = [(number, line) for number, line in enumerate(source.text.split("\n"), 1) if line.strip()]
    return _whole_line(source, *lines[1])
