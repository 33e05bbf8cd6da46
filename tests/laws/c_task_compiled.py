"""Run a real program, compiled with Clang's sanitizers in trap mode, and record the same events as our
interpreter (`c_task_events`). It is linked without a C library, so that it has no effect outside; all its
runs are child processes of one process, which returns the events that they record in shared memory."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tests.laws.c_differential import CHECKS, FLAGS, OWN_FLAGS, tool
from tests.laws.c_task_events import EVENTS, OTHER, End, Event, TaskRun, Watched

from certus.check.replay.build import OLD_INLINE, Symbols, runtime_text, symbols
from certus.check.replay.harness import ExitCode, Supply, harness, stubs
from certus.core.program import Program
from certus.system.tools import NO_TABLES, OLD_C, STACK, TARGETS, find_clang

SECONDS: Final = 1  # of one run; those of our interpreter are as short
MEMORY: Final = 3 << 30
_ASSERTIONS: Final = ("__assert_fail", "__assert_rtn", "__assert", "__assert_func", "__assert2")


class NotLinked(Exception):
    """The program cannot be compiled or linked; the message says why."""


def compiled_runs(
    program: Program, watched: Watched, errors: Sequence[str], runs: Sequence[TaskRun]
) -> list[TaskRun]:
    """The program with the inputs of the given runs. `errors` are the functions whose call is the error."""
    with tempfile.TemporaryDirectory(prefix="certus-") as name:
        directory = Path(name)
        model = "ILP32" if program.pointer_bits == 32 else "LP64"
        text = program.source.replace("no_instrument_function", "unused") + _hooks(program, watched, errors)
        clang = find_clang()
        user = (NO_TABLES, "-iquote", str(Path(program.file).absolute().parent), *clang.include_flags)
        trivial = ("-ftrivial-auto-var-init=zero", "-finstrument-functions", "-fbracket-depth=100000")
        flags = (*trivial, *CHECKS, *OLD_C, *user)
        made = _object(directory / "program.c", text, model, flags)
        if any(name in program.procedures for name in symbols(made.read_bytes()).undefined):
            made = _object(directory / "program.c", text, model, (*flags, *OLD_INLINE))
        runtime = directory / "runtime.o"
        runtime.write_bytes(_runtime(model))
        driver = _driver(symbols(made.read_bytes()), symbols(runtime.read_bytes()), watched, errors, runs)
        stubbed = stubs(_missing(made, runtime, driver), program.source)
        own = _object(directory / "driver.c", driver + stubbed, model, OWN_FLAGS)
        executable = directory / "run"
        _tool("ld.lld", "-static", "--wrap=main", "-o", str(executable), str(made), str(runtime), str(own))
        done = subprocess.run(
            [executable],
            capture_output=True,
            env={},
            cwd=directory,
            preexec_fn=_confine,
            timeout=120,
            check=False,
        )
        if done.returncode != ExitCode.RETURNED:
            raise NotLinked(f"the driver ended with {done.returncode}")
        return list(_read(done.stdout, runs, watched, errors))


def _hooks(program: Program, watched: Watched, errors: Sequence[str]) -> str:
    """C text after the program's own, which sees its static functions and variables."""
    defined = [name for name in watched.functions if name not in errors]
    numbers = "".join(
        f" if (certus_f == (void *){name}) return {watched.functions[name]};" for name in defined
    )
    ends = "".join(
        f" if (certus_f == (void *){name}) certus_finish({_code(name)});"
        for name in errors
        if _defines(program.source, name)
    )
    mixed = "".join(
        f" certus_h = (certus_h ^ (unsigned long long){v.name}) * 1099511628211ULL;" for v in watched.integers
    )
    objects = "".join(
        f" certus_last(_Generic(&{name}, {_integers(name)}default: {OTHER}ULL),"
        f" certus_bytes(&{name}, sizeof {name}));"
        for _, name in watched.objects
    )
    plain = "__attribute__((no_instrument_function)) "
    return f"""
{plain}void certus_finish(int);
{plain}void certus_event(unsigned long long, unsigned long long);
{plain}void certus_last(unsigned long long, unsigned long long);
{plain}unsigned long long certus_bytes(const volatile void *, unsigned long);
{plain}static unsigned long long certus_number(void *certus_f) {{{numbers} return 0; }}
{plain}static unsigned long long certus_sum(void)
{{ unsigned long long certus_h = 14695981039346656037ULL;{mixed} return certus_h; }}
{plain}void certus_objects(void) {{{objects} }}
{plain}void __cyg_profile_func_enter(void *certus_f, void *certus_from)
{{{ends} unsigned long long certus_n = certus_number(certus_f);
  if (certus_n) certus_event(certus_n, certus_sum()); }}
{plain}void __cyg_profile_func_exit(void *certus_f, void *certus_from)
{{ unsigned long long certus_n = certus_number(certus_f); if (certus_n) certus_event(-certus_n, 0); }}
"""


def _integers(name: str) -> str:
    """For `_Generic`: an integer, or an array of integers, has the number 0."""
    sorts = ("char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long")
    every = (*sorts, "unsigned long", "long long", "unsigned long long", "_Bool")
    return "".join(f"{s} *: 0ULL, {s} (*)[sizeof {name} / sizeof({s})]: 0ULL, " for s in every)


def _code(error: str) -> int:
    return int(ExitCode.ASSERTION if error in _ASSERTIONS else ExitCode.ERROR)


def _defines(source: str, name: str) -> bool:
    """Return whether the text may define the function: its name, parameters and a brace."""
    return re.search(rf"\b{name}\s*\([^;{{}}]*\)\s*\{{", source) is not None


def _driver(
    program: Symbols, runtime: Symbols, watched: Watched, errors: Sequence[str], runs: Sequence[TaskRun]
) -> str:
    wanted = [n for n in program.undefined if n not in runtime.functions and not n.startswith("certus_")]
    inputs = [n for n in wanted if n in watched.inputs]
    text = harness(Supply(), [n for n in wanted if n not in (*inputs, *errors)], None, about="all runs")
    supplied = "".join(
        f"{_sort(name)} {name}() {{ return (long long)certus_next({watched.inputs[name]}); }}\n"
        for name in inputs
    )
    ends = "".join(
        f"void {name}() {{ certus_finish({_code(name)}); }}\n" for name in errors if name in wanted
    )
    rows = "".join(
        f"static const unsigned long long row{i}[] = {{{', '.join(f'{v}ULL' for v in r.inputs) or '0'}}};\n"
        for i, r in enumerate(runs)
    )
    table = "".join(f"{{row{i}, {len(r.inputs)}}}, " for i, r in enumerate(runs))
    places = {"RUNS": len(runs), "EVENTS": EVENTS, "SECONDS": SECONDS, "TABLE": table, "LAST": _last(watched)}
    places |= {name: int(ExitCode[name]) for name in ("RETURNED", "EXHAUSTED")}
    body = _DRIVER
    for name, value in places.items():
        body = body.replace(f"@{name}@", str(value))
    return text.replace(_WEAK_FINISH, "void certus_finish(int);") + rows + body + supplied + ends


_WEAK_FINISH: Final = "__attribute__((weak)) void certus_finish(int code) { _exit(code); }"


def _sort(name: str) -> str:
    return "unsigned __int128" if "int128" in name else "unsigned long long"


def _last(watched: Watched) -> int:
    return len(watched.objects) + 1


def _missing(made: Path, runtime: Path, driver: str) -> list[str]:
    """Return the names that neither the program, the runtime nor the driver defines."""
    known = (*symbols(runtime.read_bytes()).functions, "stdout", "stderr", "stdin", "certus_noted")
    wanted = symbols(made.read_bytes()).undefined
    return [n for n in wanted if n not in known and f" {n}(" not in driver]


@cache
def _runtime(model: str) -> bytes:
    """start.c and runtime.c as an object, in which the end of a run is left to the driver."""
    text = runtime_text()
    head = "__attribute__((noreturn)) void certus_finish(int code)\n{"
    assert head in text
    changed = "__attribute__((noreturn)) void certus_finish(int code);\n" + head.replace("finish", "stop")
    with tempfile.TemporaryDirectory(prefix="certus-") as directory:
        made = _object(Path(directory) / "runtime.c", text.replace(head, changed), model, OWN_FLAGS)
        return made.read_bytes()


def _object(source: Path, text: str, model: str, flags: Sequence[str]) -> Path:
    source.write_text(text, encoding="utf-8", errors="surrogateescape")
    made = source.with_suffix(".o")
    _tool("clang", f"--target={TARGETS[model]}", *FLAGS, *flags, "-c", str(source), "-o", str(made))
    return made


def _tool(*command: str) -> None:
    try:
        tool(*command)
    except AssertionError as error:
        said = [line for line in str(error).splitlines() if "error" in line]
        raise NotLinked(said[0] if said else str(error)[:200]) from None


def _confine() -> None:
    """Limit the child process, between fork and exec."""
    for kind, most in ((resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, 60)):
        resource.setrlimit(kind, (most, most))
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    most = STACK if hard == resource.RLIM_INFINITY else min(STACK, hard)
    resource.setrlimit(resource.RLIMIT_STACK, (most, hard))


def _read(
    output: bytes, runs: Sequence[TaskRun], watched: Watched, errors: Sequence[str]
) -> Iterator[TaskRun]:
    """From the driver's words: for each run its status, the number of events, of those at the end, events."""
    words = memoryview(output).cast("Q")
    at = 0
    for run in runs:
        status, count, last = words[at], words[at + 1], words[at + 2]
        at += 3
        events: list[Event] = [(words[at + 2 * i], words[at + 2 * i + 1]) for i in range(count + last)]
        at += 2 * (count + last)
        end, detail = _end(status, errors)
        yield TaskRun(end, tuple(events), detail, run.inputs)


def _end(status: int, errors: Sequence[str]) -> tuple[End, str]:
    number = status & 127
    if number:
        name = signal.Signals(number).name
        return (End.LIMIT if number == signal.SIGALRM else End.UNDEFINED), name
    code = ExitCode(status >> 8 & 63)
    if code is ExitCode.ASSERTION:
        return (End.ERROR if "__assert_fail" in errors else End.STOPPED), code.name
    return _ENDS[code], code.name


_ENDS: Final = {
    ExitCode.RETURNED: End.RETURNED,
    ExitCode.ERROR: End.ERROR,
    ExitCode.ASSUMPTION: End.ASSUMPTION,
    ExitCode.EXHAUSTED: End.EXHAUSTED,
    ExitCode.ABORTED: End.STOPPED,
    ExitCode.EXITED: End.STOPPED,
    ExitCode.NO_MEMORY: End.LIMIT,
    ExitCode.NO_STACK: End.LIMIT,
    ExitCode.CRASHED: End.UNDEFINED,
    ExitCode.DIVIDED_BY_ZERO: End.UNDEFINED,
}

_DRIVER: Final = """
void certus_stop(int code);
void certus_objects(void);
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
enum { WRITE = 1, FORK = 57, WAIT = 61, ALARM = 37 };
static void *shared(unsigned long size)
{
    register long flags __asm__("r10") = 0x21, file __asm__("r8") = -1, offset __asm__("r9") = 0;
    long found;
    __asm__ volatile("syscall"
                     : "=a"(found)
                     : "a"(9), "D"(0L), "S"(size), "d"(3L), "r"(flags), "r"(file), "r"(offset)
                     : "rcx", "r11", "memory");
    return (void *)found;
}
#else
enum { WRITE = 4, FORK = 2, WAIT = 114, ALARM = 27 };
static void *shared(unsigned long size)
{
    struct { unsigned long at, size, access, flags, file, offset; } request = {0, size, 3, 0x21, -1UL, 0};
    long found;
    __asm__ volatile("int $0x80" : "=a"(found) : "a"(90), "b"(&request) : "memory");
    return (void *)found;
}
#endif
static struct { unsigned long long status, count, last, words[2 * (@EVENTS@ + @LAST@)]; } *noted;
static const struct { const unsigned long long *values; int count; } table[] = {@TABLE@};
static int row, used, finishing;
void certus_event(unsigned long long number, unsigned long long value)
{
    if (noted->count >= @EVENTS@ || finishing) return;
    noted->words[2 * noted->count] = number;
    noted->words[2 * noted->count++ + 1] = value;
}
void certus_last(unsigned long long number, unsigned long long value)
{
    unsigned long long at = 2 * (noted->count + noted->last++);
    noted->words[at] = number;
    noted->words[at + 1] = value;
}
unsigned long long certus_bytes(const volatile void *start, unsigned long size)
{
    unsigned long long h = 14695981039346656037ULL;
    if (size > 4096) return 0;
    for (unsigned long i = 0; i < size; i++)
        h = (h ^ ((const volatile unsigned char *)start)[i]) * 1099511628211ULL;
    return h;
}
__attribute__((noreturn)) void certus_finish(int code)
{
    finishing = 1;
    certus_objects();
    certus_stop(code);
}
static unsigned long long certus_next(unsigned number)
{
    if (used >= table[row].count) certus_finish(@EXHAUSTED@);
    certus_event(number, table[row].values[used]);
    return table[row].values[used++];
}
int __real_main();
void certus_run_handlers(void);
int __wrap_main(void)
{
    noted = shared(sizeof *noted);
    for (row = 0; row < @RUNS@; row++) {
        int status = 0;
        noted->count = noted->last = 0;
        long child = call(FORK, 0, 0, 0);
        if (child == 0) {
            call(ALARM, @SECONDS@, 0, 0);
            int result = __real_main(certus_argc, certus_argv, certus_argv + certus_argc);
            certus_run_handlers();
            certus_last(0, (unsigned long long)result);
            certus_finish(@RETURNED@);
        }
        call(WAIT, child, (long)&status, 0);
        noted->status = (unsigned)status;
        unsigned long size = 8 * (3 + 2 * (noted->count + noted->last));
        for (unsigned long done = 0; done < size;)
            done += call(WRITE, 1, (long)noted + done, size - done);
    }
    certus_stop(@RETURNED@);
}
"""
