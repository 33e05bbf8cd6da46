"""What each function of the C library means: one table, by name.

A meaning is a function of a call. It runs a model in C (exact), is part of the lowering (allocation, inputs,
the end of the program), or consists of effects alone. A function that is not in the table is one that the
program does not define. Functions that Clang compiles to instructions (`__builtin_clz`, atomic operations,
`va_start`) never appear. Every function without a model in C may set `errno`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from certus.core import build
from certus.core.program import Access, Alloc, Assume
from certus.core.terms import INT, Kind, machine
from certus.core.vocabulary import ARGUMENT_BYTE, ARGUMENT_LENGTH, ASSUMING, READ, is_input
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Local, Symbol
from certus.frontend.c.ir.module import Module
from certus.frontend.c.ir.types import PointerType, word_set
from certus.frontend.c.library import models as c_models
from certus.frontend.c.model import external_calls, formats, inputs, math_functions, memory
from certus.frontend.c.model.allocation import allocate, reallocate, release
from certus.frontend.c.model.c_types import POINTERS, declared_kinds, may_be
from certus.frontend.c.model.checks import check, end, inspected, is_checked
from certus.frontend.c.model.effects import ANY, EFFECTS, effects, end_pointer
from certus.frontend.c.model.folding import unspecified
from certus.frontend.c.model.nondeterminism import (
    LibraryCall,
    Meaning,
    maybe,
    renew_variables,
    with_options,
)
from certus.frontend.c.model.operands import address_of, term_of
from certus.frontend.c.model.terms import U8, Unmodelled, as_sort, is_scalar, sort_of, truth
from certus.frontend.c.source import expressions

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body
    from certus.frontend.c.model.unit import Unit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the library; `name` is the name to show. `passed` are the numbers of the call's arguments
    that belong to the function, as in `0 2 ...`, where all later ones do as well; empty: all. The checked
    variants (`__memcpy_chk`) of Clang and glibc have further arguments, which do not matter."""

    name: str
    signature: str
    meaning: Meaning
    passed: str = ""

    def arguments(self, passed: list[T]) -> list[T]:
        """Select the function's own arguments from those of a call, or its parameters."""
        if not self.passed:
            return passed
        numbers = [int(number) for number in self.passed.removesuffix("...").split()]
        own = [passed[number] for number in numbers if number < len(passed)]
        return own + passed[numbers[-1] + 1 :] if self.passed.endswith("...") else own


@dataclass(frozen=True, slots=True)
class Model:
    """The function `symbol` of the models in C. If the program may change the locale, `of_locale` is the
    meaning instead. `callback` is the argument that is a function; if it may do more than read memory,
    `general` is the symbol. With `elements`, `symbol1`, `symbol2`, `symbol4` and `symbol8` (and likewise for
    `general`) are for elements of that many bytes; the largest that the cells of the object allow is used."""

    symbol: str
    of_locale: Meaning | None = None
    callback: int | None = None
    general: str = ""
    elements: bool = False

    def __call__(self, call: LibraryCall) -> None:
        from certus.frontend.c.model.calls import direct

        body, symbol = call.body, self.symbol
        if self.of_locale is not None and body.unit.symbols.mentions("setlocale", "uselocale"):
            self.of_locale(call)
            return
        if self.callback is not None:
            compare = call.operand(self.callback)
            quiet = isinstance(compare, Symbol) and only_reads(body.unit, body.module, compare.name)
            symbol = symbol if quiet else self.general
        if c_models.FILES.get(symbol) == "ctype.c" and symbol.startswith("is") and is_checked(body, "read"):
            _check_character(call)
        callee = body.unit.model(f"{symbol}{element_width(call)}" if self.elements else symbol)
        if len(call.arguments) == len(callee.signature.cells):
            direct(body, call.instruction, callee)
        else:
            external_calls.call(body, call.instruction, call.name, of_library=True)


def _check_character(call: LibraryCall) -> None:
    """Check that an argument is in the tables of libraries, which look up the class of a character there:
    glibc's have entries for `unsigned char`, `signed char` and `EOF`. `isascii` needs none."""
    if call.name != "isascii":
        sort = machine(32, signed=True)
        passed, most = as_sort(call.term(0), sort), build.constant(255, sort)
        inside = build.and_(build.le(build.constant(-128, sort), passed), build.le(passed, most))
        call.body.claim(inside, READ, f"{call.body.cursor.text} gets a character or EOF")


@with_options
def copy(
    call: LibraryCall, *, to: int = 0, source: int = 1, overlapping: bool = False, past: bool = False
) -> None:
    """Copy memory; cell by cell, where the objects are known. The result is the target or, with `past`, the
    end of the copy."""
    memory.copy(call.body, call.operand(to), call.operand(source), call.term(2), overlapping=overlapping)
    if call.instruction.name is not None:
        address = call.address(to)
        call.define(build.add(address, call.integer(2)) if past else address)


@with_options
def fill(call: LibraryCall, byte: int | None = None) -> None:
    """Fill memory with the argument `byte`, or with zeros; the last argument is the size."""
    value = build.constant(0, U8) if byte is None else call.term(byte)
    memory.fill(call.body, call.operand(0), as_sort(value, U8), call.term(-1))
    if call.instruction.name is not None:
        call.define(call.address(0))


# --------------------------------------------------------------------------- the end of the execution


def stop(call: LibraryCall) -> None:
    """End the execution. An error function without a body has no meaning for memory properties: unless it is
    declared so, it may also return, and then no counterexample gets past it."""
    body = call.body
    declared = body.module.functions.get(call.name)
    attributes = call.instruction.words | (frozenset() if declared is None else declared.attributes)
    if body.unit.rules.memory and call.name == "reach_error" and "noreturn" not in attributes:
        body.when(maybe(body), partial(end, body))
        body.bar_counterexamples(f"what happens after `{call.name}`")
    else:
        end(body)


@with_options
def exit_(
    call: LibraryCall, *, registered: bool = True, status: int | None = None, format: int | None = None
) -> None:
    """End the execution; with `registered`, first run the functions that `atexit` registered. If `status` is
    an argument, the execution ends only if the argument is not zero. `format` is that of a text that is
    printed before."""
    body = call.body
    if format is not None:
        formats.counts(format)(call)

    def leave() -> None:
        if registered:
            body.unit.end_program(body)
        end(body)

    body.when(build.TRUE if status is None else truth(call.term(status)), leave)


def assume(call: LibraryCall) -> None:
    """End executions in which the first argument is zero."""
    call.body.emit(Assume(truth(call.term(0))))


def assert_(call: LibraryCall) -> None:
    """Lower `assert` as a function, without its header: a claim if assertions are errors, otherwise an
    assumption."""
    body, condition = call.body, truth(call.term(0))
    if "__assert_fail" in body.unit.rules.functions:
        written = body.unit.sources.part(call.instruction.location, expressions.argument)
        body.claim(condition, "assertion", body.cursor.text if written is None else written[1], call.name)
    else:
        body.assume(condition)
    call.define_anything()


def signal(call: LibraryCall) -> None:
    """`signal(number, handler)`: refused unless the handler is a constant (`SIG_IGN`, `SIG_DFL`), which
    changes nothing."""
    if isinstance(call.operand(-1), Symbol) or call.term(-1).kind is not Kind.CONST:
        raise Unmodelled("unsupported-library-function", f"the function `{call.name}`")
    call.define_anything()


@with_options
def refuse(call: LibraryCall, code: str) -> None:
    """Refuse threads, jumps, and functions that call back or that later write through a pointer they get
    now."""
    raise Unmodelled(code, f"the function `{call.name}`")


# ------------------------------------------------------------------------------------------ the table


_REFUSED: Final = refuse("unsupported-library-function")
_ENDS: Final[tuple[tuple[Meaning, str], ...]] = (  # of the execution
    (stop, "__assert_rtn __assert __assert_func __assert2 __assert_perror_fail"),
    (stop, "reach_error __VERIFIER_error __VERIFIER_silent_exit"),
    (stop, "v() abort v(i) _exit _Exit v(ppip) __assert_fail"),
    (exit_(), "v(i) exit v(ip...) err errx v(ipa) verr verrx v(iip...) errc v(iipa) verrc"),
    (exit_(registered=False), "v(i) quick_exit"),
    (exit_(status=0, format=2), "v(iip...) error"),
    (exit_(status=0, format=4), "v(iipip...) error_at_line"),
)
_CONDITIONS: Final[tuple[tuple[Meaning, str], ...]] = (  # which end the execution unless they hold
    (assume, "v(i) " + " ".join(ASSUMING)),
    (assert_, "assert v(i) __VERIFIER_assert verifier_assert sassert klee_assert"),
    (assert_, "v(i...) __CPROVER_assert __ESBMC_assert __llbmc_assert __LLBMC_assert"),
)
_MEANINGS: Final[tuple[tuple[Meaning, str], ...]] = (
    # memory
    (allocate(0), "*(i) malloc"),
    (allocate(0, align=4096), "*(i) valloc"),
    (allocate(0, 1, zero=True), "*(ii) calloc"),
    (allocate(1, alignment=0), "*(ii) aligned_alloc memalign"),
    (allocate(2, alignment=1, into=0), "i(pii) posix_memalign"),
    (allocate(0, fails=True), "*(ii) kmalloc __kmalloc"),
    (allocate(0, fails=True, zero=True), "*(ii) kzalloc"),
    (allocate(0, fails=True, align=4096), "*(i) vmalloc"),
    (allocate(0, fails=True, align=4096, zero=True), "*(i) vzalloc"),
    (allocate(0, stack=True), "*(i) alloca __alloca"),
    (reallocate(1), "*(*i) realloc"),
    (reallocate(1, 2), "*(*ii) reallocarray"),
    (release, "v(*) free cfree kfree"),
    (Model("__certus_qsort", callback=3, general="__certus_qsort_any", elements=True), "v(*iiF) qsort"),
    (Model("bsearch", callback=4, general="__certus_bsearch_any"), "*(**iiF) bsearch"),
    # inputs
    (inputs.natural, "i() rand random lrand48"),
    (inputs.seed, "v(i) srand srandom srand48"),
    (inputs.character, "i() getchar getchar_unlocked"),
    (inputs.character, "i(H) getc fgetc getc_unlocked fgetc_unlocked _IO_getc"),
    (inputs.time, "i(p) time"),
    (inputs.block(to=1, count=2), "i(i*i) read i(i*ii) pread"),
    (inputs.block(to=1, count=2, flags=3), "i(i*ii) recv"),
    (inputs.block(to=0, count=2, size=1), "i(*iiH) fread fread_unlocked"),
    (inputs.line, "p(piH) fgets fgets_unlocked"),
    (inputs.input_memory, "__VERIFIER_nondet_memory"),
    (inputs.scan(0, outside=True), "i(p...) scanf __isoc99_scanf __isoc23_scanf"),
    (inputs.scan(1, outside=True), "i(Hp...) fscanf __isoc99_fscanf __isoc23_fscanf"),
    (inputs.scan(1, outside=False), "i(Sp...) sscanf __isoc99_sscanf __isoc23_sscanf"),
    # output
    (inputs.print_(0), "i(p...) printf wprintf printk"),
    (inputs.print_(1), "i(Hp...) fprintf fwprintf i(ip...) dprintf v(ip...) syslog"),
    (inputs.print_(None), "i(pa) vprintf i(Hpa) vfprintf i(ipa) vdprintf"),
    (inputs.print_(1, buffer=0), "i(pp...) sprintf"),
    (inputs.print_(2, buffer=0, limit=1), "i(pip...) snprintf"),
    (inputs.print_(None, buffer=0), "i(ppa) vsprintf"),
    (inputs.print_(None, buffer=0, limit=1), "i(pipa) vsnprintf"),
    (signal, "F(iF) signal bsd_signal"),
    *math_functions.MEANINGS,
    (refuse("unsupported-threads"), "pthread_create pthread_join pthread_exit pthread_cond_wait"),
    (refuse("unsupported-threads"), "thrd_create thrd_join fork vfork pthread_setspecific tss_set"),
    (refuse("unsupported-setjmp"), "setjmp _setjmp sigsetjmp __sigsetjmp longjmp siglongjmp _longjmp"),
    (refuse("unsupported-float"), "fesetenv feupdateenv fesetmode"),
    (_REFUSED, "sigaction on_exit at_quick_exit sbrk brk putenv getopt getopt_long getopt_long_only"),
    (_REFUSED, "pthread_once call_once pthread_atfork qsort_r lfind lsearch ftw nftw scandir tsearch tfind"),
    (_REFUSED, "tdelete twalk sigset timer_create fmemopen open_memstream open_wmemstream initstate"),
    (_REFUSED, "setstate readv preadv dlsym __cxa_atexit"),
)


_IN_MEMORY: Final[dict[str, Meaning]] = {
    "memcpy": copy(),
    "mempcpy": copy(past=True),
    "memmove": copy(overlapping=True),
    "bcopy": copy(to=1, source=0, overlapping=True),
    "memset": fill(byte=1),
    "bzero": fill(),
}


def _functions() -> dict[str, Function]:
    functions: dict[str, Function] = {}
    of_locale = c_models.OF_LOCALE.split()
    models = [
        (name, name, signature) for _, t in c_models.MODELS for name, signature in c_models.signed_names(t)
    ]
    signatures = {name: signature for _, name, signature in models}
    models += [(other, name, signatures[name]) for name, other in map(str.split, c_models.OTHER_NAMES)]
    for name, symbol, signature in models:
        number = symbol.startswith(c_models.NUMBERS_OF_LOCALE) and c_models.FILES[symbol] == "stdlib.c"
        other = _REFUSED if signature[:1] in POINTERS else ANY
        locale = effects(end_pointer) if number else other if name in of_locale else None
        functions[name] = Function(name, signature, _IN_MEMORY.get(symbol) or Model(symbol, locale))
    for meaning, text in (*_ENDS, *_CONDITIONS, *_MEANINGS, *EFFECTS):
        for name, signature in c_models.signed_names(text):
            functions[name] = Function(name, signature, meaning)
    for passed, names in c_models.CHECKED_VARIANTS:
        functions |= {f"__{name}_chk": replace(functions[name], passed=passed) for name in names.split()}
    return functions


# The functions by their names in IR. Clang compiles `__builtin_strlen` to `strlen`; a name that still begins
# with `__builtin_` is a builtin that Clang does not have.
FUNCTIONS: Final = _functions()
ALLOCATING: Final = word_set(
    "malloc valloc calloc aligned_alloc memalign posix_memalign kmalloc __kmalloc kzalloc vmalloc vzalloc "
    "realloc reallocarray strdup __strdup strndup getline getdelim __getdelim asprintf vasprintf "
    "__asprintf_chk __vasprintf_chk tempnam getcwd __getcwd_chk realpath __realpath_chk"
)
ENDING: Final = frozenset(name for _, text in _ENDS for name, _ in c_models.signed_names(text))
MAY_END: Final = ENDING | {name for _, text in _CONDITIONS for name, _ in c_models.signed_names(text)}


def further_flags(module: Module) -> list[str]:
    """Return flags for Clang that depend on the functions that a program mentions. If it may set the rounding
    mode, its operations must not be folded as if they rounded to nearest. If it calls library functions
    without a prototype, Clang must know their types, as compilers do, unless the program defines them."""
    rounding = ["-frounding-math"] if "fesetround" in module.functions else []
    functions = [each for each in module.functions.values() if each.name in FUNCTIONS]
    for each in functions:
        function = FUNCTIONS[each.name]
        typed = function.name in c_models.FILES or function.signature[:1] in POINTERS
        if typed and each.type.variadic and not each.type.parameters and not each.defined:
            own = [f"-fno-builtin-{each.name}" for each in functions if each.defined]
            return [*rounding, "-fbuiltin", *own]
    return rounding


_READING: Final = ("abs", "labs", "memcmp", "strcmp", "strlen", "strncmp", "strcasecmp", "toupper", "tolower")
_CHANGING: Final = ir.AtomicUpdate | ir.CompareExchange | ir.Other | ir.Unreachable


def element_width(call: LibraryCall) -> int:
    """Return the size of the scalars in the elements of the array that `qsort` sorts."""
    width, size = memory.element_size(call.body, call.arguments[0]), call.term(2)
    return memory.loop_width(width, int(size.value)) if size.kind is Kind.CONST else 1


def only_reads(unit: Unit, module: Module, name: str) -> bool:
    """Return whether a function writes only its own variables, reads no input and has no error site. The
    models of `qsort` and `bsearch` call the comparison another number of times than the machine's library
    does; only for such a function this makes no difference."""
    stack, seen = [name], {name}
    while stack:
        home, called = unit.symbols.resolve(module, stack.pop())
        function = home.functions.get(called)
        if called in unit.rules.functions or function is None:
            return False
        if not function.defined:
            if called not in _READING:
                return False
            continue
        instructions = [each for block in home.blocks(function) for each in block.instructions]
        own = {each.name for each in instructions if isinstance(each, ir.Alloca)}
        for instruction in instructions:
            if not _is_harmless(instruction, own):
                return False
            if isinstance(instruction, ir.Call):
                assert isinstance(instruction.callee, Symbol)
                callee = instruction.callee.name
                if not callee.startswith("llvm.") and callee not in seen:
                    seen.add(callee)
                    stack.append(callee)
    return True


def _is_harmless(instruction: ir.Instruction, own: set[str | None]) -> bool:
    """Return whether an instruction changes only the function's own variables. The body of a called function
    is not considered, but the function must be known by name."""
    match instruction:
        case ir.Call(callee=Symbol(name=name)):
            return not name.startswith(("llvm.mem", "llvm.va_", "llvm.trap"))
        case ir.Store(pointer=Local(name=name)):
            return name in own
        case ir.Load():
            return not instruction.volatile
    return not isinstance(instruction, _CHANGING | ir.Call | ir.Store)


_ARGUMENT_INPUTS: Final = {
    "__certus_input_argument_length": ARGUMENT_LENGTH,
    "__certus_input_argument_byte": ARGUMENT_BYTE,
}


def call(body: Body, instruction: ir.Call, name: str) -> None:
    """Call a function that is not defined in the program."""
    if not body.unit.is_program(body.module) and name.startswith("__certus_"):
        _primitive(body, instruction, name)
        return
    function = FUNCTIONS.get(name)
    if function is not None:
        result, parameters = declared_kinds(body, name) or ("", None)
        own = None if parameters is None else "".join(function.arguments(list(parameters)))
        if not result or may_be(function.signature, result, own):
            truncated = result == "i" and function.signature[:1] in POINTERS
            _call_library(body, instruction, function, truncated=truncated)
            return
        if name in ENDING:
            what = f"a call of `{name}` that does not match the library function of this name"
            raise Unmodelled("unsupported-library-function", what)
    elif is_input(name) and _is_plain(instruction):
        body.registers.define(instruction, body.any_result(instruction.result, name))
        return
    external_calls.call(body, instruction, name)


def _is_plain(instruction: ir.Call) -> bool:
    """Return whether a function returns a number or a pointer, and gets no pointer to write through."""
    writes = any(isinstance(argument.operand.type, PointerType) for argument in instruction.arguments)
    return is_scalar(instruction.result) and not writes


def _call_library(body: Body, instruction: ir.Call, function: Function, *, truncated: bool) -> None:
    """Call a function of the library. If it returns a pointer but is not declared so, the result is
    `truncated` to an integer."""
    arguments, plain = function.arguments(instruction.arguments), instruction
    result = body.module.types.pointer if truncated else instruction.result
    if arguments is not instruction.arguments or truncated:
        plain = replace(instruction, result=result, arguments=arguments, operands=())
    called = LibraryCall(body, plain, function.name, [each.operand for each in arguments])
    if is_checked(body, "read"):
        from certus.frontend.c.model.reads import check_reads

        check_reads(called, function.signature)
    function.meaning(called)
    if c_models.FILES.get(function.name) in c_models.SETTING_ERRNO:
        renew_variables(body)
    if truncated and instruction.name is not None:
        pointer = body.scalar(body.registers.values[instruction.name])
        body.registers.define(instruction, as_sort(pointer, sort_of(instruction.result, signed=True)))


def _primitive(body: Body, instruction: ir.Call, name: str) -> None:
    """Lower a function that is a building block of the models in C."""
    operands = [argument.operand for argument in instruction.arguments]
    if name in ("__certus_readable", "__certus_writable"):
        access: Access = "read" if name == "__certus_readable" else "write"
        check(body, address_of(body, operands[0]), as_sort(term_of(body, operands[1]), INT), access)
    elif name == "__certus_is_readable":
        address, size = address_of(body, operands[0]), as_sort(term_of(body, operands[1]), INT)
        body.registers.define(instruction, inspected(body, address, size, "read"))
    elif name == "__certus_assume":
        body.assume(truth(term_of(body, operands[0])))
    elif name == "__certus_static_object":
        extent = as_sort(term_of(body, operands[0]), INT)
        base = body.fresh(INT)
        body.emit(Alloc(base, extent, 16, "static", body.module.literal(operands[1]) or "object"))
        body.registers.define(instruction, base)
    elif name.startswith(("__certus_bits_", "__certus_double_of", "__certus_float_of")):
        body.registers.define(instruction, as_sort(term_of(body, operands[0]), sort_of(instruction.result)))
    elif name.startswith("__certus_unspecified_"):
        body.registers.define(instruction, unspecified(body, name, instruction))
    else:
        what, type_ = "", instruction.result
        if "_unknown_" in name:
            what = f"what `{body.name.removeprefix('$')}` does"
        body.registers.define(instruction, body.havoc(sort_of(type_), _ARGUMENT_INPUTS.get(name), what))
