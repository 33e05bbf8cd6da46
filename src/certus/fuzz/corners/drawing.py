"""The common base for drawing corner programs: random choices, scopes, shadowed names, and buffers of
text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar

from certus.fuzz.corners.c_types import (
    Array,
    Integer,
    Named,
    Pointer,
    Qualified,
    Record,
    Type,
    integers,
    stripped,
)
from certus.fuzz.corners.program_tree import STYLES, Group, Line, Observation, Part, has_directive

# Few names, so that inner ones shadow outer ones; some are keywords of other dialects or compilers.
TAGS: Final = ("S", "T", "U", "node", "bool", "half", "pair", "unnamed", "E", "at")
ALIASES: Final = (
    "T",
    "S",
    "bool",
    "half",
    "byte",
    "uint",
    "word",
    "string",
    "size_t",
    "E",
    "vector",
    "anonymous",
)
VARIABLES: Final = ("x", "y", "z", "a", "b", "S", "T", "bool", "half", "n", "p", "q", "at", "byte", "item")
CONSTANTS: Final = ("RED", "GREEN", "BLUE", "x", "T", "true", "false", "A", "B", "half")
MEMBERS: Final = (*"abcdefghijklmnopqrstuvwxyz", "T", "S", "bool", "half")
Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; `const` if the program must not write to it, `external` if other scopes can declare it
    again with `extern`."""

    name: str
    type: Type
    const: bool = False
    external: bool = False


@dataclass(frozen=True, slots=True)
class Constant:
    """An enumerator."""

    name: str


@dataclass(frozen=True, slots=True)
class Routine:
    """A function that can be called, with the types of its parameters and result."""

    name: str
    parameters: tuple[Type, ...]
    result: Type


Binding = Variable | Constant | Routine | Named


@dataclass(slots=True)
class Drawing:
    """The state of a program that is being drawn. `scopes` map a name space and a name to a declaration,
    innermost scope last."""

    random: Random
    model: str
    scopes: list[dict[tuple[str, str], Binding]] = field(default_factory=lambda: [{}])
    buffers: list[list[Part]] = field(default_factory=lambda: [[]])
    headers: list[tuple[str, tuple[Part, ...]]] = field(default_factory=list)
    family: str = "program"
    pending: list[Named] = field(default_factory=list)  # tags defined inside a record that is not placed yet
    numbers: dict[str, int] = field(default_factory=dict)
    integers: dict[str, Integer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.integers = integers(self.model)

    # -- chance

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, choices: Sequence[Choice]) -> Choice:
        return self.random.choice(choices)

    def weighted(self, choices: Sequence[tuple[float, Choice]]) -> Choice:
        return self.random.choices([c for _, c in choices], [w for w, _ in choices])[0]

    def number(self, kind: str) -> int:
        """Return 0, 1, 2, ... for each kind."""
        self.numbers[kind] = self.numbers.get(kind, -1) + 1
        return self.numbers[kind]

    # -- text

    @property
    def at_file_scope(self) -> bool:
        return len(self.scopes) == 1

    def say(self, text: str) -> None:
        if self.chance(0.03) and not text.startswith("#"):
            text = self.pick(("/* \u00fc\u20ac */ ", "/* } */ ", "\t", "/* \U0001f600 */")) + text
        self.buffers[-1].append(Line(text, self.family))

    def add(self, *parts: Part) -> None:
        self.buffers[-1].extend(parts)

    def observe(self, text: str, family: str = "") -> None:
        number, style = self.number("observation"), self.pick(STYLES)
        self.buffers[-1].append(Observation(number, text, family or self.family, style))

    @contextmanager
    def gathered(self) -> Iterator[list[Part]]:
        """Collect the parts added inside the context in a list."""
        self.buffers.append([])
        try:
            yield self.buffers[-1]
        finally:
            self.buffers.pop()

    @contextmanager
    def block(self, head: str = "{", tail: str = "}", *, loose: bool = False) -> Iterator[None]:
        """Add a block with its own scope."""
        self.scopes.append({})
        try:
            with self.gathered() as parts:
                yield
        finally:
            self.scopes.pop()
        self.add(Group(head, tuple(parts), tail, self.family, loose=loose))

    @contextmanager
    def as_family(self, name: str) -> Iterator[None]:
        before, self.family = self.family, name
        try:
            yield
        finally:
            self.family = before

    # -- names

    def new(self, space: str, pool: Sequence[str]) -> str:
        """Return a name that the current scope does not declare, often one that an outer scope declares."""
        here = self.scopes[-1]
        free = [name for name in pool if (space, name) not in here]
        outer = [name for name in free if self.lookup(space, name) is not None]
        if outer and self.chance(0.7):
            return self.pick(outer)
        return self.pick(free) if free else f"{pool[0]}{self.number('name')}"

    def bind(self, space: str, name: str, binding: Binding) -> None:
        self.scopes[-1][space, name] = binding

    def bind_pending(self) -> None:
        """Make the tags visible that were defined inside a record."""
        for named in self.pending:
            self.bind("tag", named.name, named)
        self.pending.clear()

    def lookup(self, space: str, name: str) -> Binding | None:
        return next((s[space, name] for s in reversed(self.scopes) if (space, name) in s), None)

    def visible(self) -> Iterator[tuple[tuple[str, str], Binding]]:
        """Yield the declarations that are not shadowed, innermost first."""
        seen: set[tuple[str, str]] = set()
        for scope in reversed(self.scopes):
            for key, binding in reversed(scope.items()):
                if key not in seen:
                    seen.add(key)
                    yield key, binding

    def variables(self, wanted: Callable[[Variable], bool] = lambda _: True) -> list[Variable]:
        return [b for _, b in self.visible() if isinstance(b, Variable) and wanted(b)]

    def constants(self) -> list[Constant]:
        return [b for _, b in self.visible() if isinstance(b, Constant)]

    def functions(self) -> list[Routine]:
        return [b for _, b in self.visible() if isinstance(b, Routine)]

    def types(self, wanted: Callable[[Named], bool] = lambda _: True) -> list[Named]:
        """Return the types whose names are visible here."""
        return [b for _, b in self.visible() if isinstance(b, Named) and wanted(b)]

    def records(self) -> list[Named]:
        return self.types(lambda t: isinstance(stripped(t), Record))

    def spelled(self, type: Type) -> bool:
        """Say whether the spelling of a type denotes that type here."""
        match type:
            case Named(space=space, name=name):
                return not space or self.lookup(space, name) == type
            case Pointer(target=inner) | Array(element=inner) | Qualified(type=inner):
                return self.spelled(inner)
            case Record():
                return False
            case _:
                return True

    # -- where text is placed

    def place(self, parts: Sequence[Part]) -> None:
        """Add parts directly, by a macro, as a macro argument, in a header, or after `#line`."""
        ways: list[tuple[float, Callable[[Sequence[Part]], None]]] = [
            (6, lambda those: self.add(*those)),
            (1, self._from_header),
            (1.5, self._behind_line),
        ]
        if parts and not has_directive(parts):
            ways += [(3, self._from_macro), (2, self._through_argument), (1, self._from_nested_macro)]
        self.weighted(ways)(parts)

    def _from_macro(self, parts: Sequence[Part]) -> None:
        name = f"M{self.number('macro')}"
        self.add(Group(f"#define {name}", tuple(parts), "", f"{self.family}/macro", macro=True))
        self.say(name)

    def _from_nested_macro(self, parts: Sequence[Part]) -> None:
        name = f"M{self.number('macro')}"
        self.add(
            Group(f"#define {name}_(...)", tuple(parts), "__VA_ARGS__", f"{self.family}/macro", macro=True)
        )
        self.say(f"#define {name}(a) {name}_(a)")
        self.say(f"{name}()")

    def _through_argument(self, parts: Sequence[Part]) -> None:
        name = f"ID{self.number('macro')}"
        self.say(f"#define {name}(...) __VA_ARGS__")
        self.add(Group(f"{name}(", tuple(parts), ")", f"{self.family}/argument", loose=True))

    def _from_header(self, parts: Sequence[Part]) -> None:
        name = f"part{self.number('header')}.h"
        self.headers.append((name, tuple(parts)))
        self.say(f'#include "{name}"')

    def _behind_line(self, parts: Sequence[Part]) -> None:
        file = self.pick(("", "", ' "program.c"', ' "other.h"'))
        self.add(Line(f"#line {self.pick((1, 7, 7, 7, 40))}{file}", f"{self.family}/line"))
        self.add(*parts)
