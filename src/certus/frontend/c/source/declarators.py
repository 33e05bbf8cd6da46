"""Declarations: which statements are some, and what each of their declarators covers.

Names of types are not known here. Two words in a row, or a word, stars and a word, are taken for a
declaration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from certus.frontend.c.source.tokens import Tokens

TAGS: Final = frozenset(("struct", "union", "enum"))
_PARENTHESES: Final = """
__attribute__ __attribute typeof __typeof__ __typeof typeof_unqual _Alignas alignas __declspec _Atomic _BitInt
"""
_ASSEMBLY: Final = frozenset(("asm", "__asm__", "__asm"))
_PLAIN: Final = """
void char short int long float double signed unsigned _Bool bool _Complex __complex__ const volatile restrict
__const __const__ __volatile__ __restrict __restrict__ __signed__ static extern auto register typedef inline
__inline __inline__ _Noreturn _Thread_local __thread thread_local constexpr __extension__ __int128
__builtin_va_list _Static_assert static_assert __auto_type
"""
_STATEMENTS: Final = "if while for do switch case default return goto break continue else sizeof"
WITH_PARENTHESES: Final = frozenset(_PARENTHESES.split()) | _ASSEMBLY
SPECIFIERS: Final = frozenset((*_PLAIN.split(), *_PARENTHESES.split())) | TAGS
_KEYWORDS: Final = frozenset(_STATEMENTS.split())
_AFTER_NAME: Final = frozenset(("=", ",", ";", "[", "(", ":", ")", "__attribute__")) | _ASSEMBLY


@dataclass(frozen=True, slots=True)
class Declarator:
    """Tokens from `first` to `last`, of which `name` declares the name. `specifiers` is the last token of the
    type that all declarators of the declaration share; `leads` if it is the first of them."""

    name: int
    first: int
    last: int
    specifiers: int
    leads: bool


def is_word(text: str) -> bool:
    """Whether a token is an identifier, and none of the words that begin statements."""
    return text.isidentifier() and text not in _KEYWORDS


def is_declaration(tokens: Tokens, first: int) -> bool:
    """Whether the statement that starts with a token looks like a declaration."""
    texts = tokens.texts
    if texts[first] in SPECIFIERS:
        return True
    if not is_word(texts[first]):
        return False
    at = first + 1
    while at < len(texts) and texts[at] in ("*", "const", "volatile", "restrict"):
        at += 1
    if at >= len(texts) or not is_word(texts[at]) or texts[at] in WITH_PARENTHESES:
        return False
    following = texts[at + 1] if at + 1 < len(texts) else ";"
    return at == first + 1 or following in ("=", ",", ";", "[")


def declarators(tokens: Tokens, first: int, last: int) -> list[Declarator]:
    """Those of the declaration from one token to another, in order."""
    start = _after_specifiers(tokens, first, last)
    found: list[Declarator] = []
    at = begin = start
    texts, partners = tokens.texts, tokens.partners
    while at <= last + 1 and begin <= last:
        if at > last or texts[at] == ",":
            name = next((n for n in range(begin, min(at, last + 1)) if is_word(texts[n])), begin)
            found.append(Declarator(name, begin, min(at, last + 1) - 1, start - 1, not found))
            begin = at + 1
            at += 1
        else:
            at = max(at, partners[at]) + 1
    return found


def _after_specifiers(tokens: Tokens, first: int, last: int) -> int:
    """The first token of the first declarator."""
    texts, partners = tokens.texts, tokens.partners
    at, typed = first, False
    while at <= last:
        text = texts[at]
        following = texts[at + 1] if at < last else ";"
        if text in WITH_PARENTHESES:
            at = max(at + 1, partners[at + 1]) + 1 if following == "(" else at + 1
            typed = True
        elif text in TAGS:
            at += 1
            while at <= last and texts[at] in WITH_PARENTHESES and at < last:
                at = max(at + 1, partners[at + 1]) + 1
            at += at <= last and is_word(texts[at])
            at = max(at, partners[at]) + 1 if at <= last and texts[at] == "{" else at
            typed = True
        elif text in SPECIFIERS:
            at += 1
            typed = True
        elif is_word(text) and following not in _AFTER_NAME and not (following == "*" and typed):
            at += 1  # the name of a type
            typed = True
        else:
            break
    return at
