"""Generate the C text that supplies a compiled program with inputs: those of a trace, or of many runs.

The harness is a separate file, so it does not depend on the declarations of the program: a function declared
as `unsigned long long f()` returns an integer or pointer of any type, because on both targets it fills all
registers of the result. For a trace each input function has an array of values and a counter; for many runs
start.c supplies the values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from certus.core import vocabulary
from certus.core.float_text import shown
from certus.core.floats import FORMATS, Format
from certus.core.program import Program
from certus.core.vocabulary import ALLOCATION_FAILS, ARGUMENT_BYTE, ARGUMENT_LENGTH, SCAN, SCANNED

_ASSERTIONS: Final = ("__assert_fail", "__assert_rtn", "__assert", "__assert_func", "__assert2")
_ENDS: Final = ("reach_error", "__VERIFIER_error", "__VERIFIER_silent_exit", "__builtin_trap")
_WORD: Final = (1 << 64) - 1


class ExitCode(IntEnum):
    """The exit codes of a program with a harness; the same as in start.c and runtime.c."""

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
    OVERFLOWED = 40
    SHIFTED = 41
    OUT_OF_BOUNDS = 42
    UNREPRESENTABLE = 43
    DIVIDED_BY_FLOAT_ZERO = 44


NOTED: Final = 64  # set in the exit code if the program called an undefined function

ENDINGS: Final[Mapping[int, str]] = {
    ExitCode.RETURNED: "main returned",
    ExitCode.ERROR: "the error was reached",
    ExitCode.ASSERTION: "an assertion failed",
    ExitCode.ASSUMPTION: "an assumption failed",
    ExitCode.EXHAUSTED: "it asked for more inputs than the trace has",
    ExitCode.ABORTED: "it was aborted",
    ExitCode.EXITED: "it called exit",
    ExitCode.NO_MEMORY: "it ran out of memory",
    ExitCode.DIVIDED_BY_ZERO: "it divided by zero",
    ExitCode.NO_STACK: "it ran out of stack",
    ExitCode.CRASHED: "it accessed memory that does not exist",
    ExitCode.UNCONFINED: "it was not run, because this system cannot confine it",
    ExitCode.OVERFLOWED: "signed arithmetic overflowed",
    ExitCode.SHIFTED: "it executed an undefined shift",
    ExitCode.OUT_OF_BOUNDS: "it used an index outside of its array",
    ExitCode.UNREPRESENTABLE: "it converted a floating-point number to an integer type that cannot hold it",
    ExitCode.DIVIDED_BY_FLOAT_ZERO: "it divided a floating-point number by zero",
}
# The exit codes of a program that was compiled with the checks of a kind of errors. Under the property
# no-overflow, errors of the kind `overflow` may be shifts.
CHECK_CODES: Final[Mapping[str, tuple[ExitCode, ...]]] = {
    "overflow": (ExitCode.OVERFLOWED, ExitCode.SHIFTED),
    "division-by-zero": (ExitCode.DIVIDED_BY_ZERO,),
    "shift": (ExitCode.SHIFTED,),
    "array-bounds": (ExitCode.OUT_OF_BOUNDS,),
    "float-cast-overflow": (ExitCode.UNREPRESENTABLE,),
    "float-division-by-zero": (ExitCode.DIVIDED_BY_FLOAT_ZERO,),
}
_HANDLER: Final = "__ubsan_handle_"  # the functions that both compilers call when a check fails
# Those that sanitizer.c defines.
_OF_SANITIZER: Final = ("pointer_overflow", "local_out_of_bounds", "vla_bound_not_positive")


@dataclass(frozen=True, slots=True)
class Scan:
    """A call of a function of the `scanf` family: its result, and the sizes and values of what it reads."""

    result: int
    numbers: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class Supply:
    """The values of inputs by function, in the order of the calls, the value of `argc`, the formats of
    values that are bit patterns, the first bytes of new objects on the heap, in their order, and what
    functions of the `scanf` family read."""

    values: dict[str, list[int]] = field(default_factory=dict)
    argc: int = 1
    formats: dict[str, str] = field(default_factory=dict)  # of functions that return floating-point numbers
    contents: list[bytes] = field(default_factory=list)
    scans: dict[str, list[Scan]] = field(default_factory=dict)


def is_input(name: str) -> bool:
    """Return whether a name is a pure input function, or an input that a harness can supply otherwise."""
    others = (ARGUMENT_LENGTH, ARGUMENT_BYTE, ALLOCATION_FAILS, SCANNED)
    return vocabulary.is_input(name) or name in others or name.startswith(SCAN)


def is_builtin(name: str) -> bool:
    """Return whether only compilers define this name; a stub would not behave like it."""
    return name.startswith(vocabulary.BUILTIN)


def error_function(program: Program, location: str) -> str | None:
    """Return the function whose call is the error at a location; None if the error is not such a call."""
    site = program.error_at(program.location[location])
    return site.function if site.kind == "reach-error" else None


def error_codes(error: str | None) -> dict[str, int]:
    """Return the functions whose entry ends the program, with their exit codes, for a trace to a call of
    `error`; None stands for a failing assertion."""
    return {error: ExitCode.ERROR} if error is not None else dict.fromkeys(_ASSERTIONS, ExitCode.ASSERTION)


def hooks(errors: Mapping[str, int], defined: Sequence[str]) -> str:
    """Return text to append to the program, which ends it at the entry of an error function it defines."""
    tests = "".join(
        f" if (certus_entered == (void *){name}) certus_finish({code});"
        for name, code in errors.items()
        if name in defined
    )
    if not tests:
        return ""
    plain = "__attribute__((no_instrument_function)) void"
    hook = f"static __attribute__((used)) {plain}"  # each file with an error function has its own hooks
    return (
        f"\n{plain} certus_finish(int);"
        f"\n{hook} __cyg_profile_func_enter(void *certus_entered, void *certus_from) {{{tests} }}"
        f"\n{hook} __cyg_profile_func_exit(void *certus_left, void *certus_to) {{ }}\n"
    )


def harness(supply: Supply, undefined: Sequence[str], error: str | None, *, about: str) -> str:
    """Return the harness for a trace of a program with `undefined` names; `about` describes the trace."""
    return "".join(f"{line}\n" for line in _lines(supply, undefined, error, about))


def _lines(supply: Supply, undefined: Sequence[str], error: str | None, about: str) -> Iterator[str]:
    yield f"/* The inputs of a counterexample: {about.replace('*/', '* /')}"
    yield " * Compile the program with this file; the exit code says how it ended:"
    yield from (f" *   {int(code)}  {ENDINGS[code]}" for code in ExitCode)
    yield " */"
    yield "extern void _exit(int);"
    yield "__attribute__((weak)) int certus_noted;"
    yield "__attribute__((weak)) void certus_finish(int code) { _exit(code); }"
    yield f"int certus_argc = {supply.argc};"
    lengths = supply.values.get(ARGUMENT_LENGTH, None if supply.argc else [])
    yield from _arguments(lengths, supply.values.get(ARGUMENT_BYTE, []))
    if ALLOCATION_FAILS in supply.values:
        failing = supply.values[ALLOCATION_FAILS]
        yield f"static const int certus_failures[] = {{{_numbers(failing)}}};"
        yield "const int *certus_failing = certus_failures;"
        yield f"int certus_failing_count = {len(failing)};"
    if any(map(any, supply.contents)):
        yield "/* The first bytes of new objects on the heap. `malloc` of a C library does not use them. */"
        yield f"static const unsigned char certus_bytes[] = {{{_numbers(b''.join(supply.contents))}}};"
        yield f"static const unsigned certus_sizes[] = {{{_numbers(map(len, supply.contents))}}};"
        yield "const unsigned char *certus_contents = certus_bytes;"
        yield "const unsigned *certus_contents_sizes = certus_sizes;"
        yield f"int certus_contents_count = {len(supply.contents)};"
    yield ""
    for name in undefined:
        if name == error:
            yield f"void {name}() {{ certus_finish({ExitCode.ERROR}); }}"
        elif name in supply.scans:
            yield from _scanner(name, supply.scans[name])
        elif name in supply.values or is_input(name):
            yield from _supplied(name, supply.values.get(name, []), supply.formats.get(name, ""))
        elif name in _FIXED:
            yield _FIXED[name].format(name=name)
        elif _is_handler(name):
            yield _handler(name)


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


def runs_harness(
    undefined: Sequence[str],
    errors: Mapping[str, int],
    inputs: Mapping[str, int],
    others: Sequence[str],
    formats: Mapping[str, str] | None = None,
) -> str:
    """Return the harness for many runs. `inputs` are the input functions: the position is the number of a
    function, the value its number of 64-bit words, `formats` those that return floating-point numbers.
    `others` return inputs that are not integers: they become
    stubs. The model never calls an input function that is in neither."""
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
            lines.append(_table_input(name, numbers[name], inputs[name], (formats or {}).get(name, "")))
        elif is_input(name) and name not in others:
            lines.append(f"unsigned long long {name}() {{ certus_finish({ExitCode.EXHAUSTED}); return 0; }}")
        elif name in _FIXED:
            lines.append(_FIXED[name].format(name=name))
        elif _is_handler(name):
            lines.append(_handler(name))
    return "".join(f"{line}\n" for line in lines)


def _is_handler(name: str) -> bool:
    return name.startswith(_HANDLER) and name.removeprefix(_HANDLER) not in _OF_SANITIZER


def _handler(name: str) -> str:
    """Return the definition of a function that compilers call when a check fails: it ends the program. That
    of quotients gets the place and the type (whose description starts with 1 if it is floating), and both
    operands, by reference if they are wider than a pointer."""
    code = ExitCode.SHIFTED if "shift" in name else ExitCode.OVERFLOWED
    if "unreachable" in name:
        code = ExitCode.ABORTED
    if "out_of_bounds" in name and "shift" not in name:
        code = ExitCode.OUT_OF_BOUNDS
    if "float_cast" in name:
        code = ExitCode.UNREPRESENTABLE
    if "divrem" in name:
        at = "struct { char *file; unsigned line, column; short *type; } *at"
        integers = f"divisor ? {ExitCode.OVERFLOWED} : {ExitCode.DIVIDED_BY_ZERO}"
        return (
            f"void {name}({at}, unsigned long left, unsigned long right) {{\n"
            f"    if (*at->type == 1) certus_finish({ExitCode.DIVIDED_BY_FLOAT_ZERO});\n"
            "    int count = (1 << (at->type[1] >> 1)) / (8 * (int)sizeof right);\n"
            "    const unsigned long *words = count > 1 ? (unsigned long *)right : &right;\n"
            "    unsigned long divisor = 0;\n"
            "    do divisor |= *words++; while (--count > 0);\n"
            f"    certus_finish({integers});\n"
            "}"
        )
    return f"void {name}() {{ certus_finish({code}); }}"


def _table_input(name: str, number: int, words: int, format: str) -> str:
    if format:
        explicit = FORMATS[format].explicit
        type_, bits = ("long double", "") if explicit else _FLOAT_TYPES[format]
        read = f"const unsigned long long *words = certus_input({number}, {words});"
        if explicit:
            stored = "struct { unsigned long long low; unsigned short high; } bits"
            value = "{{words[0], (unsigned short)words[1]}}"
        else:
            stored, value = f"{bits} bits", f"{{({bits})words[0]}}"
        result = f"union {{ {stored}; {type_} number; }} result = {value};"
        return f"{type_} {name}() {{ {read} {result} return result.number; }}"
    if words == 1:
        return f"unsigned long long {name}() {{ return *certus_input({number}, 1); }}"
    value = "(unsigned __int128)words[1] << 64 | words[0]"
    words_of = f"const unsigned long long *words = certus_input({number}, 2);"
    return f"unsigned __int128 {name}() {{ {words_of} return {value}; }}"


def _arguments(lengths: Sequence[int] | None, characters: Sequence[int]) -> Iterator[str]:
    """Yield the arguments of the program, those of the trace if it has any."""
    if lengths is None:
        yield 'char *certus_argv[] = {"program", 0};'
        return
    start = 0
    for number, length in enumerate(lengths):
        listed = "".join(f"{c}, " for c in characters[start : start + length])
        start += length
        yield f"static char certus_argument_{number}[] = {{{listed}0}};"
    names = "".join(f"certus_argument_{number}, " for number in range(len(lengths)))
    yield f"char *certus_argv[] = {{{names}0}};"


# The type in C of each format, and of the integer with its bits.
_FLOAT_TYPES: Final = {
    "f16": ("_Float16", "unsigned short"),
    "f32": ("float", "unsigned"),
    "f64": ("double", "unsigned long long"),
}


def _supplied(name: str, values: Sequence[int], format: str) -> Iterator[str]:
    if format:
        yield from _supplied_floats(name, values, FORMATS[format])
        return
    wide = any(not -1 << 63 <= v <= _WORD for v in values)
    sort = "unsigned __int128" if wide else "unsigned long long"
    listed = ", ".join(_literal(v, wide=wide) for v in values) or "0"
    exhausted = f"{{ certus_finish({ExitCode.EXHAUSTED}); return 0; }}" if is_input(name) else "return 0;"
    yield f"{sort} {name}() {{"
    yield f"    static const {sort} values[] = {{{listed}}};"
    yield "    static int used;"
    yield f"    if (used >= {len(values)}) {exhausted}"
    yield "    return values[used++];"
    yield "}"


def _scanner(name: str, scans: Sequence[Scan]) -> Iterator[str]:
    """Yield a function of the `scanf` family that stores the numbers of a trace."""
    numbers = [number for scan in scans for number in scan.numbers]
    stream = "void *stream, " if name.endswith("fscanf") else ""
    yield f"int {name}({stream}const char *format, ...) {{"
    yield f"    static const int results[] = {{{_numbers(scan.result for scan in scans)}}};"
    yield f"    static const unsigned char sizes[] = {{{_numbers(size for size, _ in numbers) or 0}}};"
    listed = ", ".join(_literal(value, wide=False) for _, value in numbers)
    yield f"    static const unsigned long long values[] = {{{listed or 0}}};"
    yield "    static int calls, used;"
    yield f"    if (calls >= {len(scans)}) {{ certus_finish({ExitCode.EXHAUSTED}); return -1; }}"
    yield "    __builtin_va_list targets;"
    yield "    __builtin_va_start(targets, format);"
    yield "    for (int i = 0; i < results[calls]; i++, used++) {"
    yield f"        if (used >= {len(numbers)}) {{ certus_finish({ExitCode.EXHAUSTED}); return -1; }}"
    yield "        __builtin_memcpy(__builtin_va_arg(targets, void *), &values[used], sizes[used]);"
    yield "    }"
    yield "    __builtin_va_end(targets);"
    yield "    return results[calls++];"
    yield "}"


def _supplied_floats(name: str, values: Sequence[int], format: Format) -> Iterator[str]:
    """Yield a function that returns numbers by their bits, each with its value in a comment. On i386 they
    return in a register of the x87, so the type must be the one of the program."""
    exhausted = f"certus_finish({ExitCode.EXHAUSTED});" if is_input(name) else "return 0;"
    listed = values or [0]
    if format.explicit:
        parts = ", ".join(f"{{{v & _WORD:#x}ULL, {v >> 64:#x}}}" for v in listed)
        type_, stored = "long double", "struct { unsigned long long low; unsigned short high; }"
    else:
        type_, stored = _FLOAT_TYPES[format.name]
        parts = ", ".join(f"{v:#x}" for v in listed)
    yield f"{type_} {name}() {{"
    yield f"    /* {', '.join(shown(format, v) for v in values)} */"
    yield f"    static const {stored} values[] = {{{parts}}};"
    yield "    static int used;"
    yield f"    if (used >= {len(values)}) {exhausted}"
    yield f"    union {{ __typeof__(values[0]) bits; {type_} number; }} result = {{values[used++]}};"
    yield "    return result.number;"
    yield "}"


def _literal(value: int, *, wide: bool) -> str:
    """Return the value in C. `-52ULL` is readable, and equals -52 modulo 2**64."""
    if wide:
        return f"((unsigned __int128){value >> 64 & _WORD}ULL << 64 | {value & _WORD}ULL)"
    return f"{value}ULL"


def stubs(undefined: Sequence[str], source: str) -> str:
    """Return definitions of undefined names: functions that do nothing but note the call, and objects."""
    lines = ["extern int certus_noted;"]
    for name in undefined:
        word = rf'(?<!")\b{re.escape(name)}\b'
        if re.search(word, source) and not re.search(rf"{word}\s*\(", source):
            lines.append(f"char {name}[65536] __attribute__((aligned(64)));")  # an object of any type
        else:
            lines.append(f"unsigned long long {name}() {{ certus_noted = 1; return 0; }}")
    return "".join(f"{line}\n" for line in lines)


_FIXED: Final[Mapping[str, str]] = {
    **dict.fromkeys(_ASSERTIONS, f"void {{name}}() {{{{ certus_finish({ExitCode.ASSERTION}); }}}}"),
    **dict.fromkeys(_ENDS, f"void {{name}}() {{{{ certus_finish({ExitCode.ABORTED}); }}}}"),
    **dict.fromkeys(
        vocabulary.ASSUMING,
        f"void {{name}}(int holds) {{{{ if (!holds) certus_finish({ExitCode.ASSUMPTION}); }}}}",
    ),
    **dict.fromkeys(
        vocabulary.ASSERTING,
        f"void {{name}}(int holds) {{{{ if (!holds) certus_finish({ExitCode.ASSERTION}); }}}}",
    ),
    "klee_assume": f"void {{name}}(long holds) {{{{ if (!holds) certus_finish({ExitCode.ASSUMPTION}); }}}}",
    **dict.fromkeys(("__VERIFIER_atomic_begin", "__VERIFIER_atomic_end"), "void {name}() {{ }}"),
}
