"""Run C programs by our interpreter and compiled, on the same inputs, and compare.

A file of many programs is compiled once as it is and once with Clang's sanitizers, which end a program by a
signal at undefined behaviour. One process runs all programs of a file, each in a child process.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from random import Random

from tests.laws.c_programs import batch
from tests.laws.c_vocabulary import NARROW
from tests.laws.observations import Observations

from certus.check.replay.build import runtime_text
from certus.check.replay.harness import ExitCode
from certus.core.accounting import Budget
from certus.core.program import Havoc, Program
from certus.core.terms import Expr, MachineSort
from certus.core.values import Datum, default_value
from certus.frontend.c.load import load_c
from certus.interpreter.compile import compile_program
from certus.interpreter.indeterminate import Fault
from certus.interpreter.interpreter import Ending, run
from certus.system.tools import TARGETS, find_clang

STEPS = 200_000  # for one run of the interpreter
INPUTS = 32  # values in the table of one run
FLAGS = (
    *("-x", "c", "-std=gnu17", "-O0", "-w", "-fwrapv", "-fno-strict-aliasing", "-fno-stack-protector"),
    *("-fno-delete-null-pointer-checks", "-fno-pic", "-fno-pie"),
)
OWN_FLAGS = ("-ffreestanding", "-fno-builtin", "-DCERTUS_UNCONFINED")  # drivers fork and write
CHECKS = (
    "-fsanitize=shift-exponent,integer-divide-by-zero,bounds,null,unreachable,bool",
    "-fsanitize-trap=all",
)
OPINIONS = {  # further builds, which must do the same wherever the others do
    "gcc": ("gcc", "-O0"),
    "O2": ("clang", "-O2", *CHECKS),
}
_ENDINGS = {  # others are not compared
    ExitCode.RETURNED: Ending.EXIT,
    ExitCode.ERROR: Ending.ERROR,
    ExitCode.ASSUMPTION: Ending.BLOCKED,
    ExitCode.ABORTED: Ending.BLOCKED,
}


class Result(Enum):
    """The result of the comparison of two runs."""

    AGREED = "agreed"
    UNDEFINED = "discarded: undefined"
    LIMIT = "discarded: too long"
    DIFFERING = "differing"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a run ended (None: by a signal), and all values that it observed."""

    ending: Ending | None
    observed: tuple[int, ...]
    detail: str = ""
    compiler: str = ""  # of the program; none: interpreted


@dataclass(frozen=True, slots=True)
class Comparison:
    program: int
    inputs: int  # which table
    result: Result
    theirs: Behaviour  # the compiled program's; where one differs, of that build
    ours: Behaviour


def compare(
    seed: int,
    programs: int,
    *,
    tables: int,
    model: str,
    keep: Path | None = None,
    opinions: Sequence[str] = (),
) -> list[Comparison]:
    """Generate and compare a number of programs, each with a number of input tables. The file goes to `keep`;
    `opinions` names further builds of `OPINIONS`."""
    text = batch(seed, programs, wide=model == "LP64", portable="gcc" in opinions)
    if keep is not None:
        keep.write_text(text)
    return compare_text(text, programs, seed=seed, tables=tables, model=model, opinions=opinions)


def compare_text(
    text: str,
    programs: int,
    *,
    seed: int,
    tables: int,
    model: str,
    opinions: Sequence[str] = (),
) -> list[Comparison]:
    """The same for a given file; see `batch` for its form."""
    supplied = [_table(Random(f"{seed}/{t}")) for t in range(tables)]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "programs.c"
        path.write_text(text)
        native = _compiled_runs(path, programs, supplied, model, opinions)
        ours = list(_interpreted_runs(path, programs, supplied, model))
    return [
        Comparison(at // tables, at % tables, *_judged(mine, builds), mine)
        for at, (mine, builds) in enumerate(zip(ours, native, strict=True))
    ]


def _judged(ours: Behaviour, builds: Sequence[Behaviour]) -> tuple[Result, Behaviour]:
    """Compare a run with those of the plain build, the one with sanitizers, and the further opinions. Return
    the result and the behaviour that decides it."""
    plain, checked, *opinions = builds
    if plain.ending is None or checked.ending is None:
        return Result.UNDEFINED, plain
    if ours.ending is Ending.LIMIT:
        return Result.LIMIT, plain
    for build in (plain, *opinions):
        if ours.ending is not build.ending or ours.observed != build.observed:
            return Result.DIFFERING, build
    return Result.AGREED, plain


def _table(random: Random) -> list[int]:
    """Input values: mostly small, or near a power of two."""
    made = []
    for _ in range(INPUTS):
        dice = random.random()
        if dice < 0.4:
            value = random.randint(-4, 10)
        elif dice < 0.8:
            value = random.choice((1, -1)) * (1 << random.randrange(64)) + random.randint(-1, 1)
        else:
            value = random.getrandbits(64)
        made.append(value % (1 << 64))
    return made


# ---------------------------------------------------------------------------------- interpreted


class _Table:
    """Inputs in the order in which a run requests them."""

    def __init__(self, program: Program, values: Sequence[int]) -> None:
        self._program = program
        self._values = values
        self._used = 0

    def initial(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def local(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        operation = self._program.edge[edge].op
        assert isinstance(operation, Havoc)
        name = operation.function or ""
        if not name.startswith("__VERIFIER_nondet_"):
            return tuple(default_value(t.sort) for t in targets)
        value = self._values[self._used % len(self._values)]
        self._used += 1
        (target,) = targets
        assert isinstance(target.sort, MachineSort)
        return (target.sort.wrap(bool(value) if name.endswith("bool") else value),)


def _interpreted_runs(
    path: Path, programs: int, tables: Sequence[Sequence[int]], model: str
) -> Iterator[Behaviour]:
    program = load_c(path, model=model).program
    compiled = compile_program(program)
    for number in range(programs):
        for table in tables:
            observer = Observations.of_calls(program, "observe")
            done = run(
                compiled,
                _Table(program, [number, *table]),
                step_limit=STEPS,
                budget=Budget(),
                observer=observer,
            )
            where = f"{done.edge.span}: {done.edge.text}" if done.edge else ""
            try:
                observed = tuple(int(values[0]) for _, values in observer.values)
            except Fault as fault:
                yield Behaviour(Ending.UNDEFINED, (), f"observed: {fault}")
            else:
                yield Behaviour(done.ending, observed, f"{done.cause} {where}")


# ------------------------------------------------------------------------------------- compiled


def _compiled_runs(
    path: Path, programs: int, tables: Sequence[Sequence[int]], model: str, opinions: Sequence[str]
) -> list[tuple[Behaviour, ...]]:
    parts = {"runtime.c": runtime_text(), "driver.c": _driver(programs, tables)}
    own = []
    for name, text in parts.items():
        (path.parent / name).write_text(text)
        own.append(_object(path.parent / name, model, OWN_FLAGS))
    runs = []
    builds = [("clang",), ("clang", *CHECKS), *(OPINIONS[name] for name in opinions)]
    for compiler, *flags in builds:
        made = _object(path, model, ("-DCOMPILED", "-Dmain=tested_main", *flags), compiler)
        executable = path.parent / "program"
        tool("ld.lld", "-static", "-o", str(executable), str(made), *map(str, own))
        done = subprocess.run([executable], capture_output=True, env={}, check=False, timeout=120)
        assert done.returncode == ExitCode.RETURNED
        runs.append(list(_behaviours(done.stdout, compiler)))
        assert len(runs[-1]) == programs * len(tables)
    return list(zip(*runs, strict=True))


def _object(source: Path, model: str, flags: Sequence[str], compiler: str = "clang") -> Path:
    made = source.with_suffix(".o")
    command = (*FLAGS, *flags, "-c", str(source), "-o", str(made))
    if compiler == "gcc":
        _run("gcc", "-m64" if model == "LP64" else "-m32", *command)
    else:
        tool("clang", f"--target={TARGETS[model]}", *command)
    return made


def tool(*command: str) -> None:
    _run(find_clang().command[0], *command)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _behaviours(output: bytes, compiler: str) -> Iterator[Behaviour]:
    """From the driver's lines: an observed value, or `=` with the status a child ended with."""
    observed: list[int] = []
    for line in output.decode().split():
        if line.startswith("="):
            status = int(line[1:], 16)
            ending = None if status & 127 else _ENDINGS.get(ExitCode(status >> 8 & 255))
            yield Behaviour(ending, tuple(observed), f"status {status:x}", compiler)
            observed = []
        else:
            observed.append(int(line, 16))


def _driver(programs: int, tables: Sequence[Sequence[int]]) -> str:
    rows = ",\n".join("{" + ", ".join(f"{v}ULL" for v in table) + "}" for table in tables)
    inputs = "".join(f"{t} __VERIFIER_nondet_{n}(void) {{ return next(); }}\n" for t, n in NARROW.items())
    ends = "".join(
        f"void {name} {{ {condition} leave({code}); }}\n"
        for name, condition, code in (
            ("reach_error(void)", "", int(ExitCode.ERROR)),
            ("abort(void)", "", int(ExitCode.ABORTED)),
            ("__VERIFIER_assume(int holds)", "if (!holds)", int(ExitCode.ASSUMPTION)),
        )
    )
    table = f"static const unsigned long long table[][{INPUTS}] = {{{rows}}};\n"
    return _DRIVER.replace("ROWS", table) + inputs + ends + _MAIN % (programs, len(tables), ExitCode.RETURNED)


_DRIVER = """
int certus_argc = 1;
char *certus_argv[] = {0, 0};
void certus_finish(int code);
int tested_main(void);
static long call(long number, long a, long b, long c)
{
    long found;
#ifdef __x86_64__
    register long d __asm__("r10") = 0;
    __asm__ volatile("syscall" : "=a"(found) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d)
                     : "rcx", "r11", "memory");
#else
    __asm__ volatile("int $0x80" : "=a"(found) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(0) : "memory");
#endif
    return found;
}
#ifdef __x86_64__
enum { WRITE = 1, FORK = 57, WAIT = 61 };
#else
enum { WRITE = 4, FORK = 2, WAIT = 114 };
#endif
ROWS
static char text[1 << 16];
static int used, chosen, asked;
static const unsigned long long *values;
static void flush(void)
{
    for (int done = 0; done < used;) done += call(WRITE, 1, (long)(text + done), used - done);
    used = 0;
}
static void put(char mark, unsigned long long value)
{
    if (used > (1 << 16) - 32) flush();
    if (mark) text[used++] = mark;
    for (int i = 60; i >= 0; i -= 4) text[used++] = "0123456789abcdef"[value >> i & 15];
    text[used++] = '\\n';
}
void observe(unsigned long long value) { put(0, value); }
static void leave(int code) { flush(); certus_finish(code); }
static unsigned long long next(void)
{
    int at = asked++ % (INPUTS + 1);
    return at ? values[at - 1] : chosen;
}
""".replace("INPUTS", str(INPUTS))
_MAIN = """
int main(void)
{
    for (chosen = 0; chosen < %d; chosen++)
        for (int row = 0; row < %d; row++) {
            int status = 0;
            values = table[row];
            long child = call(FORK, 0, 0, 0);
            if (child == 0) {
                tested_main();
                leave(%d);
            }
            call(WAIT, child, (long)&status, 0);
            put('=', status);
            flush();
        }
    return 0;
}
"""
