"""The C text that gives a compiled program its inputs: those of a trace, or of one run after the other.

The harness is a file of its own, so it need not know the program's declarations: an integer or pointer of
any type is returned by `unsigned long long f()`, which on both targets fills all registers that count. For a
trace each input function has an array of values and a counter; for many runs start.c hands out the values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from certus.core import vocabulary
from certus.core.program import Program

ARGUMENT: Final = "is an argument of the program"  # how the front end describes `argc` and `argv`
ARGUMENT_LENGTH: Final = "$argv length"  # and how it names the inputs that the arguments are made of
ARGUMENT_BYTE: Final = "$argv byte"
_ASSERTIONS: Final = ("__assert_fail", "__assert_rtn", "__assert")
_ENDS: Final = ("reach_error", "__VERIFIER_error", "__VERIFIER_silent_exit", "__builtin_trap")
_WORD: Final = (1 << 64) - 1


class Code(IntEnum):
    """With what a program that has a harness exits; the same in start.c and runtime.c."""

    RETURNED = 10
    ERROR = 11
    ASSERTION = 12
    ASSUMPTION = 13
    EXHAUSTED = 14
    ABORTED = 15
    EXITED = 16
    NO_MEMORY = 17
    DIVIDED_BY_ZERO = 18
    NO_STACK = 19
    CRASHED = 20
    UNCONFINED = 21


NOTED: Final = 64  # set in the exit code if a function was called that nobody defines

ENDINGS: Final[Mapping[int, str]] = {
    Code.RETURNED: "main returned",
    Code.ERROR: "the error was reached",
    Code.ASSERTION: "an assertion failed",
    Code.ASSUMPTION: "an assumption failed",
    Code.EXHAUSTED: "it asked for more inputs than the trace has",
    Code.ABORTED: "it was aborted",
    Code.EXITED: "it called exit",
    Code.NO_MEMORY: "it ran out of memory",
    Code.DIVIDED_BY_ZERO: "it divided by zero",
    Code.NO_STACK: "it ran out of stack",
    Code.CRASHED: "it accessed memory that is not there",
    Code.UNCONFINED: "it was not run, as this system cannot confine it",
}


@dataclass(slots=True)
class Supply:
    """The values of inputs by the function that gives them, in the order of the calls; `argc` likewise."""

    values: dict[str, list[int]] = field(default_factory=dict)
    argc: int = 1


def is_input(name: str) -> bool:
    """Whether calls of this function are inputs and nothing else; or what arguments are made of."""
    return vocabulary.is_input(name) or name in (ARGUMENT_LENGTH, ARGUMENT_BYTE)


def is_builtin(name: str) -> bool:
    """Whether a name is one that only compilers define: a stub for it would say nothing about the program."""
    return name.startswith(vocabulary.BUILTIN)


def error_function(program: Program, location: str) -> str | None:
    """Return the function whose call is the error at a location; None if the error is no such call."""
    site = program.error_at(program.location[location])
    return site.function if site.kind == "reach-error" else None


def error_codes(error: str | None) -> dict[str, int]:
    """With which codes the entry of a function ends the program, if the call of `error` is what a trace
    leads to; None: a failing assertion is."""
    return {error: Code.ERROR} if error is not None else dict.fromkeys(_ASSERTIONS, Code.ASSERTION)


def hooks(errors: Mapping[str, int], defined: Sequence[str]) -> str:
    """What is added to the program's own text, to end it when a function that it defines is entered."""
    tests = "".join(
        f" if (certus_entered == (void *){name}) certus_finish({code});"
        for name, code in errors.items()
        if name in defined
    )
    if not tests:
        return ""
    apart = "__attribute__((no_instrument_function)) void"
    own = f"static __attribute__((used)) {apart}"  # each file with an error function has such hooks
    return (
        f"\n{apart} certus_finish(int);"
        f"\n{own} __cyg_profile_func_enter(void *certus_entered, void *certus_from) {{{tests} }}"
        f"\n{own} __cyg_profile_func_exit(void *certus_left, void *certus_to) {{ }}\n"
    )


def harness(supply: Supply, undefined: Sequence[str], error: str | None, *, about: str) -> str:
    """The harness for a trace of a program in which the given names are undefined; `about` tells of it."""
    return "".join(f"{line}\n" for line in _lines(supply, undefined, error, about))


def _lines(supply: Supply, undefined: Sequence[str], error: str | None, about: str) -> Iterator[str]:
    yield f"/* The inputs of a counterexample: {about.replace('*/', '* /')}"
    yield " * Compile the program with this file; the exit code tells how it ended:"
    yield from (f" *   {int(code)}  {ENDINGS[code]}" for code in Code)
    yield " */"
    yield "extern void _exit(int);"
    yield "__attribute__((weak)) int certus_noted;"
    yield "__attribute__((weak)) void certus_finish(int code) { _exit(code); }"
    yield f"int certus_argc = {supply.argc};"
    yield from _arguments(supply.values.get(ARGUMENT_LENGTH), supply.values.get(ARGUMENT_BYTE, []))
    yield ""
    for name in undefined:
        if name == error:
            yield f"void {name}() {{ certus_finish({Code.ERROR}); }}"
        elif name in supply.values or is_input(name):
            yield from _supplied(name, supply.values.get(name, []))
        elif name in _FIXED:
            yield _FIXED[name].format(name=name)


def runs_harness(
    undefined: Sequence[str], errors: Mapping[str, int], inputs: Mapping[str, int], others: Sequence[str]
) -> str:
    """The harness for many runs. `inputs` are the functions that give inputs: their position is their number,
    and the values say how many words of 64 bits one value has. `others` give inputs in some other way than by
    a number: they are left to the stubs. What is in neither is a function that the model never calls."""
    lines = [
        "void certus_finish(int code);",
        "const unsigned long long *certus_input(int function, int words);",
        *_arguments(None, ()),
        "int certus_argc = 1;",
    ]
    numbers = {name: number for number, name in enumerate(inputs)}
    for name in undefined:
        if name in errors:
            lines.append(f"void {name}() {{ certus_finish({int(errors[name])}); }}")
        elif name in inputs:
            lines.append(_handed_out(name, numbers[name], inputs[name]))
        elif is_input(name) and name not in others:
            lines.append(f"unsigned long long {name}() {{ certus_finish({Code.EXHAUSTED}); return 0; }}")
        elif name in _FIXED:
            lines.append(_FIXED[name].format(name=name))
    return "".join(f"{line}\n" for line in lines)


def _handed_out(name: str, number: int, words: int) -> str:
    if words == 1:
        return f"unsigned long long {name}() {{ return *certus_input({number}, 1); }}"
    value = "(unsigned __int128)words[1] << 64 | words[0]"
    taken = f"const unsigned long long *words = certus_input({number}, 2);"
    return f"unsigned __int128 {name}() {{ {taken} return {value}; }}"


def _arguments(lengths: Sequence[int] | None, characters: Sequence[int]) -> Iterator[str]:
    """The program's arguments, if the trace has any."""
    if lengths is None:
        yield 'char *certus_argv[] = {"program", 0, 0};'
        return
    start = 0
    for number, length in enumerate(lengths):
        listed = "".join(f"{c}, " for c in characters[start : start + length])
        start += length
        yield f"static char certus_argument_{number}[] = {{{listed}0}};"
    names = "".join(f"certus_argument_{number}, " for number in range(len(lengths)))
    yield f"char *certus_argv[] = {{{names}0, 0}};"


def _supplied(name: str, values: Sequence[int]) -> Iterator[str]:
    wide = any(not -1 << 63 <= v <= _WORD for v in values)
    sort = "unsigned __int128" if wide else "unsigned long long"
    listed = ", ".join(_literal(v, wide=wide) for v in values) or "0"
    none_left = f"{{ certus_finish({Code.EXHAUSTED}); return 0; }}" if is_input(name) else "return 0;"
    yield f"{sort} {name}() {{"
    yield f"    static const {sort} values[] = {{{listed}}};"
    yield "    static int used;"
    yield f"    if (used >= {len(values)}) {none_left}"
    yield "    return values[used++];"
    yield "}"


def _literal(value: int, *, wide: bool) -> str:
    low = f"{value & _WORD}ULL"
    return f"((unsigned __int128){value >> 64 & _WORD}ULL << 64 | {low})" if wide else low


def stubs(undefined: Sequence[str], source: str) -> str:
    """For a program that runs without a C library: what nobody defines does nothing, but is noted."""
    made = ["extern int certus_noted;"]
    for name in undefined:
        word = rf'(?<!")\b{re.escape(name)}\b'
        if re.search(word, source) and not re.search(rf"{word}\s*\(", source):
            made.append(f"char {name}[65536] __attribute__((aligned(64)));")  # an object, of whatever type
        else:
            made.append(f"unsigned long long {name}() {{ certus_noted = 1; return 0; }}")
    return "".join(f"{line}\n" for line in made)


_FIXED: Final[Mapping[str, str]] = {
    **dict.fromkeys(_ASSERTIONS, f"void {{name}}() {{{{ certus_finish({Code.ASSERTION}); }}}}"),
    **dict.fromkeys(_ENDS, f"void {{name}}() {{{{ certus_finish({Code.ABORTED}); }}}}"),
    **dict.fromkeys(
        vocabulary.ASSUMING,
        f"void {{name}}(int holds) {{{{ if (!holds) certus_finish({Code.ASSUMPTION}); }}}}",
    ),
    **dict.fromkeys(
        vocabulary.ASSERTING,
        f"void {{name}}(int holds) {{{{ if (!holds) certus_finish({Code.ASSERTION}); }}}}",
    ),
    "klee_assume": f"void {{name}}(long holds) {{{{ if (!holds) certus_finish({Code.ASSUMPTION}); }}}}",
    **dict.fromkeys(("__VERIFIER_atomic_begin", "__VERIFIER_atomic_end"), "void {name}() {{ }}"),
}
