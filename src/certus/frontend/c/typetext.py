"""Clang's type strings: from `int (*const [3])(struct s *, ...)` to a `CType`.

Clang prints abstract declarators in C's own syntax, after the specifiers. Tags, typedef names and
`typeof` are looked up in the `Names` of the place where the string stands.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

from certus.frontend.c.types import (
    BIT_INT_RANK,
    INT_TYPE,
    UNSIGNED_CHAR,
    ArrayType,
    CType,
    DataModel,
    FloatType,
    FunctionType,
    IntegerType,
    OtherType,
    PointerType,
    Qualified,
    VariableArrayType,
    VoidType,
    unqualified,
)


class Names(Protocol):
    """What names mean where a type string stands."""

    model: DataModel

    def typedef(self, name: str) -> CType | None: ...

    def tag(self, kind: str, name: str) -> CType | None:
        """The record or enumeration `kind name`; `name` may be `(unnamed at file:line:column)`."""
        ...

    def typeof(self, text: str) -> CType | None:
        """The type of an expression or type name in C's syntax."""
        ...

    def doubt(self, kind: str, name: str) -> bool:
        """Whether a typedef or a tag of this name may mean several types where the string stands."""
        ...


_TOKEN: Final = re.compile(
    r"""\s*(?:
      (?P<unnamed>(?:(?:[\w$]+(?:\([^()]*\))?|\((?:unnamed|anonymous)[^()]*\))::)*
        \((?:unnamed|anonymous)\b[^()]*?\ at\ .*?:\d+:\d+\))
    | (?P<word>[A-Za-z_$][\w$]*)
    | (?P<number>\d+[uUlL]*)
    | (?P<mark>\.\.\.|::|[*&^()\[\],<>.])
    | (?P<other>\S)
    )""",
    re.VERBOSE,
)
_LENGTH: Final = re.compile(r"(?:(?:static|const|volatile|restrict|__restrict)\s+)*(\d+)[uUlL]*$")
_QUALIFIERS: Final = frozenset(
    ("const", "volatile", "restrict", "__restrict", "__restrict__", "__const", "__volatile__", "register")
)
_NULLABILITY: Final = frozenset(("_Nonnull", "_Nullable", "_Null_unspecified", "__extension__"))
_WORDS: Final = frozenset(("void", "char", "short", "int", "long", "signed", "unsigned", "float", "double"))
_HARMLESS: Final = ("noreturn", "nonnull", "may_alias", "noderef", "cdecl", "stdcall", "regparm", "fastcall")
_BUILTIN: Final = frozenset(
    ("_Bool", "bool", "__int128", "_Complex", "__complex__", "_Float16", "__bf16", "__fp16")
)
_COMPLEX: Final = ("_Complex", "__complex__")
_OTHER_FLOATS: Final = {
    "__float128": ("__float128", 16, 16),
    "_Float128": ("__float128", 16, 16),
    "_Float32": ("float", 4, 4),
    "_Float64": ("double", 8, 0),
    "_Float16": ("_Float16", 2, 2),
    "__bf16": ("__bf16", 2, 2),
    "__fp16": ("__fp16", 2, 2),
}

BOOL: Final = IntegerType("_Bool", 8, False, 0, boolean=True)
CHAR: Final = IntegerType("char", 8, True, 1)
UNSIGNED: Final = IntegerType("unsigned int", 32, False, 3)
LONG_LONG: Final = IntegerType("long long", 64, True, 5)
UNSIGNED_LONG_LONG: Final = IntegerType("unsigned long long", 64, False, 5)


def long_type(model: DataModel, *, signed: bool = True) -> IntegerType:
    return IntegerType("long" if signed else "unsigned long", model.long, signed, 4)


def size_type(model: DataModel) -> IntegerType:
    """`size_t`, as Linux has it."""
    return UNSIGNED if model.pointer == 32 else long_type(model, signed=False)


def difference_type(model: DataModel) -> IntegerType:
    """`ptrdiff_t`, as Linux has it."""
    return INT_TYPE if model.pointer == 32 else long_type(model)


def integer_type(words: tuple[str, ...], model: DataModel) -> IntegerType | None:
    """The integer type that the specifiers name, in any order."""
    signed = "unsigned" not in words
    prefix = "" if signed else "unsigned "
    rest = sorted(word for word in words if word not in ("signed", "unsigned", "int"))
    if rest == ["char"]:
        if "signed" in words:
            return IntegerType("signed char", 8, True, 1)
        return CHAR if signed else UNSIGNED_CHAR
    if rest == ["short"]:
        return IntegerType(prefix + "short", 16, signed, 2)
    if not rest:
        return INT_TYPE if signed else UNSIGNED
    if rest == ["long"]:
        return long_type(model, signed=signed)
    if rest == ["long", "long"]:
        return LONG_LONG if signed else UNSIGNED_LONG_LONG
    if rest == ["__int128"]:
        return IntegerType(prefix + "__int128", 128, signed, 6)
    if rest in (["_Bool"], ["bool"]):
        return BOOL
    return None


def float_type(name: str, model: DataModel) -> FloatType:
    if name == "float":
        return FloatType("float", 4, 4)
    if name == "double":
        return FloatType("double", 8, model.long_long_align)
    return FloatType("long double", *model.long_double)


def complex_type(part: CType) -> FloatType:
    """Two numbers of the type `part`."""
    if isinstance(part, FloatType):
        return FloatType(f"_Complex {part.name}", 2 * part.size, part.align)
    if not isinstance(part, IntegerType):
        raise _NotModelled
    return FloatType(f"_Complex {part.name}", part.width // 4, part.width // 8)


def qualify(type_: CType, *, const: bool = False, volatile: bool = False) -> CType:
    """`type_` with qualifiers, which go to the elements of an array and are lost on functions."""
    if not const and not volatile:
        return type_
    if isinstance(type_, ArrayType):
        return ArrayType(qualify(type_.element, const=const, volatile=volatile), type_.length)
    if isinstance(type_, VariableArrayType):
        element = qualify(type_.element, const=const, volatile=volatile)
        return VariableArrayType(element, type_.text, type_.length)
    if isinstance(type_, FunctionType | OtherType):
        return type_
    if isinstance(type_, Qualified):
        return Qualified(type_.type, type_.const or const, type_.volatile or volatile)
    return Qualified(type_, const, volatile)


def parse_type(text: str, names: Names) -> CType:
    """The type of one of Clang's type strings; `OtherType` for what Certus does not model."""
    parser = _Parser(text, names)
    try:
        result = parser.type_name()
    except _Ambiguous:
        return OtherType(text, "unsupported-ambiguous-type", SEVERAL.format(text))
    except _NotModelled:
        return OtherType(text)
    return OtherType(text) if parser.word is not None else result


class _NotModelled(Exception):
    """The string names a type that Certus does not model."""


class _Ambiguous(_NotModelled):
    """The string has a name in it that means several types."""


SEVERAL: Final = "the type `{}`, whose name or place several declarations share,"


class _Parser:
    """A cursor over the tokens of a type string; `word` is the next one, None at the end."""

    def __init__(self, text: str, names: Names) -> None:
        self.text = text
        self.names = names
        self.tokens = [(match.group().strip(), match.start(), match.end()) for match in _tokens(text)]
        self.at = 0

    @property
    def word(self) -> str | None:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else None

    def take(self, expected: str | None = None) -> str:
        word = self.word
        if word is None or (expected is not None and word != expected):
            raise _NotModelled
        self.at += 1
        return word

    def type_name(self) -> CType:
        return self.declarator(self.specifiers())

    # -------------------------------------------------------------------------- specifiers

    def specifiers(self) -> CType:
        words: list[str] = []
        found: CType | None = None
        const = volatile = False
        while (word := self.word) is not None:
            if word in _QUALIFIERS:
                const |= "const" in word
                volatile |= "volatile" in word
                self.at += 1
            elif word in _NULLABILITY:
                self.at += 1
            elif word == "__attribute__":
                self.attribute()
            elif word in _WORDS or (word in _BUILTIN and self.names.typedef(word) is None):
                words.append(self.take())
            elif word == "_BitInt":
                self.at += 1
                found = self.bit_int(signed="unsigned" not in words)
                words.clear()
            elif words or found is not None:
                break
            else:
                found = self.named(word)
        base = found if found is not None else self.builtin(tuple(words))
        return qualify(base, const=const, volatile=volatile)

    def named(self, word: str) -> CType:
        """A tag, a typedef name, `typeof` or `_Atomic`."""
        self.at += 1
        found: CType | None = None
        if word in ("struct", "union", "enum"):
            name = self.take()
            while self.word == "::":  # a record inside another, as other versions print it
                self.at += 1
                name = self.take()
            self.check(word, name)
            found = self.names.tag(word, name)
        elif word in ("typeof", "__typeof__", "__typeof", "typeof_unqual", "__typeof_unqual__"):
            found = self.names.typeof(self.bracketed())
        elif word == "_Atomic":
            return self.atomic(parse_type(self.bracketed(), self.names))
        elif word in _OTHER_FLOATS and self.names.typedef(word) is None:
            name, size, align = _OTHER_FLOATS[word]
            return FloatType(name, size, align or self.names.model.long_long_align)
        elif word[0].isalpha() or word[0] in "_$":
            self.check("typedef", word)
            found = self.names.typedef(word)
        elif "(unnamed" in word or "(anonymous" in word:
            self.check("", word)
            found = self.names.tag("", word)
        if found is None:
            raise _NotModelled
        return found

    def check(self, kind: str, name: str) -> None:
        if self.names.doubt(kind, name):
            raise _Ambiguous

    def atomic(self, inner: CType) -> CType:
        """Without threads an atomic object is a plain one, if it has the same size and alignment."""
        plain = inner.type if isinstance(inner, Qualified) else inner
        small = isinstance(plain, IntegerType) and plain.width <= self.names.model.pointer
        if not small and not isinstance(plain, PointerType):
            raise _NotModelled
        return inner

    def bit_int(self, *, signed: bool) -> IntegerType:
        width = self.bracketed()
        if not width.isdigit():
            raise _NotModelled
        return IntegerType(
            f"{'' if signed else 'unsigned '}_BitInt({width})", int(width), signed, BIT_INT_RANK
        )

    def builtin(self, words: tuple[str, ...]) -> CType:
        if words == ("void",):
            return VoidType()
        if words and words[-1] in _OTHER_FLOATS:
            name, size, align = _OTHER_FLOATS[words[-1]]
            return FloatType(name, size, align)
        if not words:
            raise _NotModelled
        parts = tuple(word for word in words if word not in _COMPLEX)
        if len(parts) < len(words):
            return complex_type(self.builtin(parts))
        if "float" in words or "double" in words:
            return float_type(" ".join(words), self.names.model)
        found = integer_type(words, self.names.model)
        if found is None:
            raise _NotModelled
        return found

    def attribute(self) -> None:
        self.take("__attribute__")
        if not self.bracketed().strip("() _").startswith(_HARMLESS):
            raise _NotModelled

    def bracketed(self) -> str:
        """The text between a parenthesis and its partner."""
        if self.word != "(":
            raise _NotModelled
        begin, depth = self.at, 0
        while True:
            word = self.take()
            depth += (word == "(") - (word == ")")
            if depth == 0:
                return self.text[self.tokens[begin][2] : self.tokens[self.at - 1][1]].strip()

    # -------------------------------------------------------------------------- declarators

    def declarator(self, base: CType) -> CType:
        """What an abstract declarator makes of `base`; the innermost parentheses bind last."""
        base = self.pointers(base)
        following = self.tokens[self.at + 1][0] if self.at + 1 < len(self.tokens) else None
        if self.word == "(" and following in ("*", "^", "&", "("):
            begin = self.at
            self.bracketed()
            base = self.suffixes(base)
            end = self.at
            self.at = begin + 1
            result = self.declarator(base)
            self.take(")")
            self.at = end
            return result
        return self.suffixes(base)

    def pointers(self, base: CType) -> CType:
        while (word := self.word) is not None:
            if word == "*":
                base = PointerType(base)
            elif word in _QUALIFIERS:
                base = qualify(base, const="const" in word, volatile="volatile" in word)
            elif word == "__attribute__":
                self.attribute()
                continue
            elif word not in _NULLABILITY:
                return base
            self.at += 1
        return base

    def suffixes(self, base: CType) -> CType:
        """Array lengths and parameter lists; the last one is applied first."""
        made: list[int | str | tuple[tuple[CType, ...] | None, bool] | None] = []
        while (word := self.word) is not None:
            if word == "[":
                made.append(self.length())
            elif word == "(":
                made.append(self.parameters())
            elif word == "__attribute__":
                self.attribute()
            else:
                break
        for suffix in reversed(made):
            if isinstance(suffix, tuple):
                base = FunctionType(unqualified(base), *suffix)
            elif isinstance(suffix, str) or isinstance(base, VariableArrayType):
                base = VariableArrayType(base, "" if suffix is None else str(suffix))
            else:
                base = ArrayType(base, suffix)
        return base

    def length(self) -> int | str | None:
        """A number, None without one, or the text of a length that is not constant."""
        begin, depth = self.at, 0
        while True:
            word = self.take()
            depth += (word == "[") - (word == "]")
            if depth == 0:
                break
        text = self.text[self.tokens[begin][2] : self.tokens[self.at - 1][1]].strip()
        if not text:
            return None
        constant = _LENGTH.match(text)
        return int(constant.group(1)) if constant else text

    def parameters(self) -> tuple[tuple[CType, ...] | None, bool]:
        self.take("(")
        if self.word == ")":
            self.at += 1
            return None, False
        parameters: list[CType] = []
        variadic = False
        while True:
            if self.word == "...":
                self.at += 1
                variadic = True
            else:
                parameters.append(unqualified(self.parameter()))
            if self.take() == ")":
                break
        if parameters == [VoidType()] and not variadic:
            return (), False
        return tuple(parameters), variadic

    def parameter(self) -> CType:
        """One parameter type; builtins have references, which nothing else in C has."""
        result = self.type_name()
        if self.word == "&":
            self.at += 1
            return PointerType(result)
        return result


def _tokens(text: str) -> list[re.Match[str]]:
    matches: list[re.Match[str]] = []
    at = 0
    while (match := _TOKEN.match(text, at)) is not None:
        matches.append(match)
        at = match.end()
    return matches
