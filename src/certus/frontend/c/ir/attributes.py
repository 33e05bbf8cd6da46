"""Attributes of parameters, results, calls and functions: the few that matter are kept, the others must be
known to change nothing."""

from __future__ import annotations

from typing import Final

from certus.frontend.c.ir.instructions import PLAIN, Passing
from certus.frontend.c.ir.text import NotUnderstood, after_parenthesis, word_set
from certus.frontend.c.ir.types import Type, TypeTable

# words alone that change nothing for us: promises of the compiler to itself
_PROMISES: Final = word_set(
    "noundef nonnull noalias nocapture readonly writeonly readnone returned writable immarg noext nofree "
    "dead_on_unwind dead_on_return inreg nest swiftself swifterror"
)
# words with something in parentheses behind them
_WITH_DETAIL: Final = word_set(
    "captures dereferenceable dereferenceable_or_null range initializes nofpclass memory allocsize allockind "
    "uwtable alignstack vscale_range dead_on_return"
)
_FUNCTION_WORDS: Final = word_set(
    "alwaysinline builtin cold convergent hot inlinehint jumptable minsize naked nobuiltin nocallback nofree "
    "noinline nomerge nonlazybind noprofile norecurse noredzone noreturn nosync nounwind optnone optsize "
    "returns_twice safestack speculatable ssp sspreq sspstrong strictfp uwtable willreturn mustprogress "
    "nodivergencesource nocf_check noduplicate noimplicitfloat optdebug hybrid_patchable shadowcallstack "
    "presplitcoroutine skipprofile sanitize_address sanitize_thread sanitize_memory sanitize_type "
    "nosanitize_coverage nosanitize_bounds disable_sanitizer_instrumentation nocreateundeforpoison "
    "denormal_fpenv"
)
CALLING: Final = word_set("ccc fastcc coldcc preserve_mostcc preserve_allcc x86_stdcallcc")


def read_parameter(types: TypeTable, words: list[str], at: int) -> tuple[Passing, int]:
    """Read the attributes of a parameter, an argument or a result."""
    word = words[at]
    if word[:1] in "%@" or word in (",", ")"):
        return PLAIN, at
    byval: Type | None = None
    sret: Type | None = None
    element: Type | None = None
    extension, align = "", 0
    while True:
        word = words[at]
        if word in _PROMISES and words[at + 1] != "(":
            at += 1
        elif word in ("byval", "sret", "elementtype") and words[at + 1] == "(":
            type_, at = types.read(words, at + 2)
            if words[at] != ")":
                raise NotUnderstood(f"the attribute `{word}`")
            at += 1
            if word == "byval":
                byval = type_
            elif word == "sret":
                sret = type_
            else:
                element = type_
        elif word in ("signext", "zeroext"):
            extension, at = word, at + 1
        elif word == "align":
            if words[at + 1] == "(":
                align, at = int(words[at + 2]), at + 4
            else:
                align, at = int(words[at + 1]), at + 2
        elif word in _WITH_DETAIL and words[at + 1] == "(":
            at = after_parenthesis(words, at + 1)
        elif word[:1] == '"':
            at += 3 if words[at + 1] == "=" else 1
        else:
            break
    if byval is sret is element is None and not extension and not align:
        return PLAIN, at
    return Passing(byval, sret, extension, element, align), at


def read_function(words: list[str], at: int) -> tuple[set[str], int]:
    """Read attributes of a function or a call: single words, and groups by their number (`#3`)."""
    found: set[str] = set()
    while True:
        word = words[at]
        if word[:1] == "#" and len(word) > 1:
            found.add(word)
            at += 1
        elif word in _WITH_DETAIL and words[at + 1] == "(":
            at = after_parenthesis(words, at + 1)
        elif word in _FUNCTION_WORDS:
            found.add(word)
            at += 1
        elif word == "alignstack" and words[at + 1] == "=":
            at += 3
        elif word[:1] == '"':
            at += 3 if words[at + 1] == "=" else 1
        else:
            return found, at


def read_group(words: list[str], at: int) -> frozenset[str]:
    """Read the body of `attributes #N = { ... }`; return its single words."""
    if words[at] != "{":
        raise NotUnderstood("a group of attributes", " ".join(words))
    found, at = read_function(words, at + 1)
    if words[at] != "}" or words[at + 1]:
        raise NotUnderstood(f"the attribute `{words[at]}`", " ".join(words))
    return frozenset(found)
