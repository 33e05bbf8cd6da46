"""Properties: by name, and as competitions write them in property files (`.prp`).

A property file has one `CHECK( init(main()), LTL(F) )` a line. What `F` may be is the table `_FORMULAS`; a
property that takes several lines (valid-memsafety) is known by all of its formulas together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certus.core.diagnostic import Diagnostic, Span
from certus.core.errors import InputError, Unsupported
from certus.frontend.source import Source, read_source

UNREACH_CALL: Final = "unreach-call"
CHECK_SAT: Final = "check-sat"  # of Horn clauses
SUPPORTED: Final = (UNREACH_CALL, "no-overflow", "no-div-zero")

_MEMORY: Final = ("valid-deref", "valid-free", "valid-memtrack")
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
KNOWN: Final = (
    *SUPPORTED,
    "valid-memsafety",
    *dict.fromkeys(n for n in _FORMULAS.values() if n not in SUPPORTED),
)

_CHECK: Final = re.compile(r"CHECK\(init\((\w+)\(\)\),LTL\((.*)\)\)")
_CALL: Final = re.compile(r"G!call\((\w+)\(\)\)")


@dataclass(frozen=True, slots=True)
class Property:
    """What must hold. `function` is the one whose call is the error, if a property file names it; without
    it `unreach-call` means all the usual ones (`reach_error`, `__VERIFIER_error`, a failing `assert`)."""

    name: str = UNREACH_CALL
    function: str | None = None


def property_of(text: str) -> Property:
    """The property that a user asked for, by name or by property file."""
    if text.endswith(".prp"):
        return read_property_file(Path(text))
    if text not in KNOWN:
        hint = f"Choose one of {', '.join(SUPPORTED)}, or name a property file (.prp)."
        raise InputError([Diagnostic("unknown-property", f"There is no property `{text}`.", hint=hint)])
    return Property(text)


def check_line(wanted: Property) -> str:
    """The property as a line of a property file; the first of them if it takes several."""
    formulas = {name: formula for formula, name in _FORMULAS.items()}
    formula = formulas.get(wanted.name, f"G {_MEMORY[0]}")
    if wanted.name == UNREACH_CALL:
        formula = f"G ! call({wanted.function or 'reach_error'}())"
    return f"CHECK( init(main()), LTL({formula}) )"


def property_of_line(text: str, span: Span) -> Property:
    """The property of a line of a property file, or of the formula in it alone."""
    line = text if _compact(text).startswith("CHECK(") else f"CHECK( init(main()), LTL({text}) )"
    return _checked(line, span)


def check_supported(wanted: Property, span: Span | None = None) -> None:
    """Raise `Unsupported` for a property that Certus knows but cannot verify."""
    if wanted.name not in SUPPORTED:
        message = f"The property {wanted.name} is not supported yet."
        hint = f"Supported: {', '.join(SUPPORTED)}."
        raise Unsupported(Diagnostic("unsupported-property", message, span=span, hint=hint))


def read_property_file(path: Path) -> Property:
    """The property in a file. Raises `InputError` if it is none that Certus knows."""
    source = read_source(path)
    found: list[Property] = []
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            found.append(_checked(line, _whole_line(source, number, line)))
    if not found:
        span = Span(source.file, 1, 1, 1, 1, source.file, 1)
        raise InputError(
            [Diagnostic("bad-property-file", "The property file is empty.", span=span, hint=_FORM)]
        )
    names = tuple(sorted({each.name for each in found}))
    if names == _MEMORY:
        return Property("valid-memsafety")
    if len(set(found)) > 1:
        message = f"{path} asks for several properties together: {', '.join(names)}."
        hint = "Write a property file for each."
        raise InputError([Diagnostic("bad-property-file", message, span=_second(source), hint=hint)])
    return found[0]


_FORM: Final = "A property is written like `CHECK( init(main()), LTL(G ! call(reach_error())) )`."


def _checked(line: str, span: Span) -> Property:
    """The property of one line."""
    match = _CHECK.fullmatch(_compact(line))
    if match is None:
        message = "This line is not of the form `CHECK( init(main()), LTL(F) )`."
        raise InputError([Diagnostic("bad-property-file", message, span=span, hint=_FORM)])
    entry, formula = match.groups()
    if entry != "main":
        message = f"The property starts in `{entry}`; Certus starts in `main`."
        raise Unsupported(Diagnostic("unsupported-property", message, span=span))
    call = _CALL.fullmatch(formula)
    if call is not None:
        return Property(UNREACH_CALL, call[1])
    name = _COMPACT_FORMULAS.get(formula)
    if name is None:
        message = "Certus does not know the formula of this property."
        hint = f"It knows `G ! call(f())`, {', '.join(f'`{known}`' for known in _FORMULAS)}."
        raise InputError([Diagnostic("unknown-property", message, span=span, hint=hint)])
    return Property(name)


def _compact(text: str) -> str:
    """The text without the blanks that separate no words."""
    return re.sub(r"\s*([^\w\s-])\s*", r"\1", " ".join(text.split()))


_COMPACT_FORMULAS: Final = {_compact(formula): name for formula, name in _FORMULAS.items()}


def _whole_line(source: Source, number: int, line: str) -> Span:
    start = len(line) - len(line.lstrip()) + 1
    return Span(source.file, number, start, number, len(line.rstrip()) + 1, source.file, number)


def _second(source: Source) -> Span:
    lines = [(number, line) for number, line in enumerate(source.text.split("\n"), 1) if line.strip()]
    return _whole_line(source, *lines[1])
