"""A generated C program as a tree of text, its three renderings, and its reduction.

The tree makes reduction simple: any part may be dropped, and the compiler decides whether the rest is still a
program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

Values = Mapping[int, tuple[int, ...]]  # the distinct values of each observation, by number, in order

PRELUDE: Final = (
    "extern void reach_error(void);",
    "extern void __VERIFIER_assume(int);",
    "#define CHECK(c) do { if (!(c)) { reach_error(); } } while (0)",
    "#define FAIL() reach_error()",
    "static void must_hold(int holds) { if (!holds) reach_error(); }",
)
PROBE: Final = "extern void observe(unsigned number, unsigned long long value);"
STYLES: Final = ("if", "macro", "fail", "function", "conditional", "cast")
INPUTS: Final = {  # suffixes of the input functions, by type
    "_Bool": "bool",
    "char": "char",
    "signed char": "schar",
    "unsigned char": "uchar",
    "short": "short",
    "unsigned short": "ushort",
    "int": "int",
    "unsigned int": "uint",
    "long": "long",
    "unsigned long": "ulong",
    "long long": "longlong",
    "unsigned long long": "ulonglong",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text; `family` names the feature of C that it tests."""

    text: str
    family: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Parts between two lines. The parts of a `loose` group may also occur without these lines. A `macro` is
    one logical line: its physical lines end in backslashes."""

    head: str
    parts: tuple[Part, ...]
    tail: str
    family: str = ""
    loose: bool = False
    macro: bool = False


@dataclass(frozen=True, slots=True)
class Observation:
    """An integer expression whose value is observed; `style` is the form in which the value is asserted."""

    number: int
    text: str
    family: str
    style: str = "if"


@dataclass(frozen=True, slots=True)
class Input:
    """A variable initialised by an input function; the rest of the program assumes that it is `value`."""

    name: str
    type: str
    value: int
    assumed: bool = True  # by __VERIFIER_assume; otherwise `main` returns for other values
    family: str = "inputs"


Part = Line | Group | Observation | Input


@dataclass(frozen=True, slots=True)
class CornerProgram:
    """A generated program; `headers` are the files that it includes, by name."""

    model: str
    body: tuple[Part, ...]
    headers: tuple[tuple[str, tuple[Part, ...]], ...] = ()

    @property
    def parts(self) -> Iterator[Part]:
        """Yield all parts, outer ones first."""
        yield from _all(self.body)
        for _, parts in self.headers:
            yield from _all(parts)

    @property
    def observations(self) -> list[Observation]:
        return [part for part in self.parts if isinstance(part, Observation)]

    @property
    def inputs(self) -> list[Input]:
        """Return the inputs in the order in which the program reads them: once each, at the top of `main`."""
        return [part for part in self.parts if isinstance(part, Input)]


def _all(parts: Sequence[Part]) -> Iterator[Part]:
    for part in parts:
        yield part
        if isinstance(part, Group):
            yield from _all(part.parts)


def has_directive(parts: Sequence[Part]) -> bool:
    """Say whether a line is a preprocessor directive, so that the parts cannot be in a macro."""
    return any(
        text.lstrip().startswith("#")
        for part in _all(parts)
        for text in (
            [part.text] if isinstance(part, Line) else [part.head] if isinstance(part, Group) else ()
        )
    )


# ------------------------------------------------------------------------------------- renderings


class Claim(Enum):
    """How a rendering treats observations."""

    PROBE = "report them"
    HOLD = "assert the values of the compiled program"
    WRONG = "deny the value of one of them"


@dataclass(frozen=True, slots=True)
class Rendering:
    """The texts of a program's files. `lines` are the parts that the lines of the main file come from."""

    main: str
    headers: Mapping[str, str]
    lines: tuple[Part | None, ...]

    def part_at(self, line: int | None) -> Part | None:
        """Return the part that a line of the main file comes from."""
        return self.lines[line - 1] if line and line <= len(self.lines) else None


def rendered(
    program: CornerProgram, claim: Claim, values: Values | None = None, denied: int | None = None
) -> Rendering:
    """Render the program with its observations as `claim` says; `denied` is the number of the denied one."""
    writer = _Writer(claim, values or {}, denied)
    types = dict.fromkeys(part.type for part in program.inputs)
    first = [*PRELUDE, *(f"extern {t} __VERIFIER_nondet_{INPUTS[t]}(void);" for t in types)]
    if claim is Claim.PROBE:
        first.append(PROBE)
    lines: list[tuple[str, Part | None]] = [(text, None) for text in first]
    lines += writer.lines(program.body, 0)
    headers = {
        name: "".join(f"{text}\n" for text, _ in writer.lines(parts, 0)) for name, parts in program.headers
    }
    return Rendering("".join(f"{text}\n" for text, _ in lines), headers, tuple(part for _, part in lines))


@dataclass(frozen=True, slots=True)
class _Writer:
    claim: Claim
    values: Values
    denied: int | None

    def lines(self, parts: Sequence[Part], depth: int) -> Iterator[tuple[str, Part | None]]:
        indent = "    " * depth
        for part in parts:
            match part:
                case Line(text):
                    yield (text if text.startswith("#") else indent + text), part
                case Observation():
                    yield indent + self.observation(part), part
                case Input():
                    yield indent + self.input(part), part
                case Group():
                    yield from self.group(part, depth)

    def group(self, group: Group, depth: int) -> Iterator[tuple[str, Part | None]]:
        indent = "" if group.head.startswith("#") else "    " * depth
        inner = list(self.lines(group.parts, depth + 1))
        whole: list[tuple[str, Part | None]] = [(indent + group.head, group)] if group.head else []
        whole += inner
        if group.tail:
            whole.append((indent + group.tail, group))
        for number, (text, part) in enumerate(whole):
            yield (f"{text} \\" if group.macro and number < len(whole) - 1 else text), part

    def input(self, part: Input) -> str:
        name, call = part.name, f"__VERIFIER_nondet_{INPUTS[part.type]}()"
        value = literal(part.value % (1 << 64))
        fixed = (
            f"__VERIFIER_assume({name} == {value});" if part.assumed else f"if ({name} != {value}) return 0;"
        )
        return f"{part.type} {name} = {call}; {fixed}"

    def observation(self, part: Observation) -> str:
        text = part.text
        if self.claim is Claim.PROBE:
            return f"observe({part.number}, {text});"
        values = self.values.get(part.number)
        if values is None or (self.claim is Claim.WRONG and self.denied != part.number):
            return f"(void)({text});"
        if self.claim is Claim.WRONG:
            failure = "FAIL()" if part.style == "fail" else "reach_error()"
            return f"if (({text}) == {literal(values[0])}) {failure};"
        if len(values) > 1:
            any_of = " || ".join(f"seen == {value}ULL" for value in values)
            return f"{{ unsigned long long seen = {text}; if (!({any_of})) reach_error(); }}"
        return _asserted(text, values[0], part.style)


def _asserted(text: str, value: int, style: str) -> str:
    condition = f"({text}) == {literal(value)}"
    match style:
        case "macro":
            return f"CHECK({condition});"
        case "fail":
            return f"if (!({condition})) FAIL();"
        case "function":
            return f"must_hold({condition});"
        case "conditional":
            return f"({condition}) ? (void)0 : reach_error();"
        case "cast":
            return f"if ((unsigned long long)({text}) != {value}ULL) reach_error();"
        case _:
            return f"if (!({condition})) reach_error();"


def literal(value: int) -> str:
    """Return a constant that equals any integer expression whose conversion to 64 bits is `value`."""
    if value < 1 << 31:
        return str(value)
    if value < 1 << 63:
        return f"{value}LL"
    negative = value - (1 << 64)
    return f"({negative}LL)" if negative > -(1 << 63) else "(-9223372036854775807LL - 1)"


# -------------------------------------------------------------------------------------- reduction

_TOKEN: Final = re.compile(r'\s+|\w+|"(?:[^"\\]|\\.)*"|.')


def reduced(program: CornerProgram, still: Callable[[CornerProgram], bool]) -> CornerProgram:
    """Return a smaller program that `still` accepts: parts are dropped, then words. `still` must refuse texts
    that are no programs, and every program once its time is over."""
    before: CornerProgram | None = None
    while program != before:
        before = program
        program = _with_fewer_parts(program, still)
    return _with_fewer_words(program, still)


def without(program: CornerProgram, dropped: Part) -> CornerProgram:
    """Return the program without one part."""

    def kept(parts: Sequence[Part]) -> tuple[Part, ...]:
        return tuple(
            replace(part, parts=kept(part.parts)) if isinstance(part, Group) else part
            for part in parts
            if part is not dropped
        )

    headers = tuple((name, kept(parts)) for name, parts in program.headers)
    return replace(program, body=kept(program.body), headers=headers)


def _with_fewer_parts(program: CornerProgram, still: Callable[[CornerProgram], bool]) -> CornerProgram:
    body = _fewer(program.body, lambda parts: still(replace(program, body=parts)))
    program = replace(program, body=body)
    for number, (name, parts) in enumerate(program.headers):

        def with_header(
            fewer: tuple[Part, ...], number: int = number, name: str = name, base: CornerProgram = program
        ) -> CornerProgram:
            headers = (*base.headers[:number], (name, fewer), *base.headers[number + 1 :])
            return replace(base, headers=headers)

        program = with_header(_fewer(parts, lambda fewer: still(with_header(fewer))))
    used = "".join(part.text for part in program.parts if isinstance(part, Line))
    return replace(program, headers=tuple(h for h in program.headers if f'"{h[0]}"' in used))


def _fewer(parts: tuple[Part, ...], still: Callable[[tuple[Part, ...]], bool]) -> tuple[Part, ...]:
    size = max(1, len(parts) // 2)
    while size >= 1:
        at = 0
        while at < len(parts):
            fewer = parts[:at] + parts[at + size :]
            if still(fewer):
                parts = fewer
            else:
                at += size
        size //= 2
    at = 0
    while at < len(parts):
        group = parts[at]
        if isinstance(group, Group):
            before, after = parts[:at], parts[at + 1 :]
            if group.loose and still((*before, *group.parts, *after)):
                parts = (*before, *group.parts, *after)
                continue

            def inside(
                inner: tuple[Part, ...],
                group: Group = group,
                before: tuple[Part, ...] = before,
                after: tuple[Part, ...] = after,
            ) -> tuple[Part, ...]:
                return (*before, replace(group, parts=inner), *after)

            parts = inside(_fewer(group.parts, lambda inner: still(inside(inner))))
        at += 1
    return parts


def _with_fewer_words(program: CornerProgram, still: Callable[[CornerProgram], bool]) -> CornerProgram:
    for number in range(sum(1 for _ in program.parts)):
        part = next((p for at, p in enumerate(program.parts) if at == number), None)
        for field in _TEXTS.get(type(part), ()):
            tokens = _TOKEN.findall(getattr(part, field))
            program, part = _shorter(program, part, field, tokens, still)
    return program


def _shorter(
    program: CornerProgram,
    part: Part | None,
    field: str,
    tokens: list[str],
    still: Callable[[CornerProgram], bool],
) -> tuple[CornerProgram, Part | None]:
    for size in (16, 8, 4, 3, 2, 1):
        at = 0
        while part is not None and at < len(tokens):
            fewer = tokens[:at] + tokens[at + size :]
            other = _with_text(part, field, "".join(fewer))
            candidate = _replaced(program, part, other)
            if len(tokens) >= size and "".join(fewer).strip() and still(candidate):
                program, part, tokens = candidate, other, fewer
            else:
                at += size
    return program, part


def _with_text(part: Part, field: str, text: str) -> Part:
    match part, field:
        case ((Line() | Observation()), _):
            return replace(part, text=text)
        case Group(), "head":
            return replace(part, head=text)
        case Group(), _:
            return replace(part, tail=text)
        case _:
            return part


_TEXTS: Final[Mapping[type, tuple[str, ...]]] = {
    Line: ("text",),
    Observation: ("text",),
    Group: ("head", "tail"),
}


def _replaced(program: CornerProgram, old: Part, new: Part) -> CornerProgram:
    def changed(parts: Sequence[Part]) -> tuple[Part, ...]:
        return tuple(
            new
            if part is old
            else replace(part, parts=changed(part.parts))
            if isinstance(part, Group)
            else part
            for part in parts
        )

    headers = tuple((name, changed(parts)) for name, parts in program.headers)
    return replace(program, body=changed(program.body), headers=headers)
