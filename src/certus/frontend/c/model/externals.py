"""Calls of functions that the program does not define: inputs, the C library, and what nobody defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Alloc, Assign, Assume, Free, Store
from certus.core.sorts import INT
from certus.core.terms import Expr, Kind
from certus.core.vocabulary import is_input
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.operands import Symbol
from certus.frontend.c.library import meanings
from certus.frontend.c.library.meanings import Meaning
from certus.frontend.c.library.signatures import may_be
from certus.frontend.c.library.table import lookup
from certus.frontend.c.model import effects, inputs, memory, unknown
from certus.frontend.c.model.callbacks import model_symbol
from certus.frontend.c.model.folding import unspecified
from certus.frontend.c.model.kinds import declared_kinds
from certus.frontend.c.model.operands import address_of, term_of
from certus.frontend.c.model.terms import (
    NULL,
    U8,
    Unmodelled,
    as_sort,
    sort_of,
    truth,
)

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body


def call(body: Body, instruction: ir.Call, name: str) -> None:
    """Call a function that is not defined in the program."""
    if not body.unit.is_program(body.module) and name.startswith("__certus_"):
        _primitive(body, instruction, name)
        return
    if is_input(name) and lookup(name) is None:
        inputs.nondet(body, instruction, name)
        return
    known = lookup(name)
    if known is not None and _is_declared_so(body, known.name, name):
        arguments = instruction.arguments
        if known.passed is not None:
            last = known.passed[-1]
            arguments = [arguments[n] for n in known.passed if n < len(arguments)]
            if known.variadic:
                arguments += instruction.arguments[last + 1 :]
        plain = _with_arguments(instruction, arguments)
        _mean(body, plain, known.name, known.meaning)
        return
    if known is not None and isinstance(known.meaning, meanings.Stop | meanings.Exit):
        what = f"a call of `{name}`, which is called otherwise in the library,"
        raise Unmodelled("unsupported-library-function", what)
    unknown.call(body, instruction, name)


def _with_arguments(instruction: ir.Call, arguments: list[ir.Argument]) -> ir.Call:
    if arguments is instruction.arguments:
        return instruction
    made = ir.Call(instruction.result, instruction.callee, arguments, instruction.declared, instruction.words)
    ir.complete(made, instruction.name, instruction.location, instruction.attached, instruction.text)
    return made


def _is_declared_so(body: Body, known: str, name: str) -> bool:
    """Whether a function is declared as that of the library is: another one is the user's own."""
    kinds = declared_kinds(body, name)
    return kinds is None or may_be(known, *kinds)


def _primitive(body: Body, instruction: ir.Call, name: str) -> None:
    """The functions that models in C are written with."""
    if name == "__certus_assume":
        body.assume(truth(term_of(body, instruction.arguments[0].operand)))
        return
    if name == "__certus_static_object":
        size = as_sort(term_of(body, instruction.arguments[0].operand), INT)
        label = body.unit.literal(body.module, instruction.arguments[1].operand) or "object"
        made = body.fresh(INT)
        body.emit(Alloc(made, size, 16, "static", label))
        body.define(instruction, made)
        return
    sort = sort_of(instruction.result)
    if name.startswith("__certus_unspecified_"):
        value = unspecified(body, name, instruction)
    elif name.startswith("__certus_unknown_"):
        value = body.havoc(sort, approximates=f"what `{body.name}` does")
    else:
        value = body.havoc(sort, _INPUTS.get(name))
    body.define(instruction, value)


_INPUTS: Final = {
    "__certus_input_argument_length": "$argv length",
    "__certus_input_argument_byte": "$argv byte",
}


# ------------------------------------------------------------------------------------- meanings


def _mean(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    if isinstance(meaning, meanings.Model):
        _model(body, instruction, name, meaning)
        return
    handler = _HANDLERS.get(type(meaning))
    if handler is None:
        raise Unmodelled("unsupported-library-function", f"the function `{name}`")
    handler(body, instruction, name, meaning)
    effects.renew_errno(body)


def _model(body: Body, instruction: ir.Call, name: str, meaning: meanings.Model) -> None:
    from certus.frontend.c.model.calls import direct

    if meaning.of_locale is not None and body.unit.mentions("setlocale"):
        effects.apply(body, instruction, name, meaning.of_locale)
        return
    symbol = meaning.symbol
    if symbol in ("memcpy", "memmove", "mempcpy", "bcopy", "memset", "bzero"):
        _memory(body, instruction, symbol)
        return
    if meaning.callback is not None:
        symbol = model_symbol(body, instruction, name, meaning)
    callee = body.unit.model(symbol)
    if [a.operand.type for a in instruction.arguments] != [p.type for p in callee.function.parameters]:  # type: ignore[union-attr]
        unknown.call(body, instruction, name)
        return
    direct(body, instruction, callee)


def _memory(body: Body, instruction: ir.Call, name: str) -> None:
    """Functions on memory: cell by cell, where the objects are known."""
    operands = [argument.operand for argument in instruction.arguments]
    if name in ("memset", "bzero"):
        byte = build.constant(0, U8) if name == "bzero" else term_of(body, operands[1])
        memory.fill(body, operands[0], as_sort(byte, U8), term_of(body, operands[-1]))
        result = operands[0]
    else:
        to, source = (operands[1], operands[0]) if name == "bcopy" else (operands[0], operands[1])
        count = term_of(body, operands[2])
        memory.copy(body, to, source, count, overlapping=name in ("memmove", "bcopy"))
        result = to
    if instruction.name is not None:
        address = address_of(body, result)
        if name == "mempcpy":
            address = build.add(address, as_sort(term_of(body, operands[2]), INT))
        body.define(instruction, address)


def _stop(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    body.stop()


def _exit(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    assert isinstance(meaning, meanings.Exit)
    after = None
    if meaning.status is not None:
        status = term_of(body, instruction.arguments[meaning.status].operand)
        ending, after = body.draft.node(), body.draft.node()
        body.fork(truth(status), ending, after)
        body.at = ending
    if meaning.registered:
        body.unit.run_registered(body)
        body.unit.call_all(body, body.unit.destructors)
    body.stop()
    if after is not None:
        body.at = after


def _assume(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    body.emit(Assume(truth(term_of(body, instruction.arguments[0].operand))))


def _assert(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    condition = truth(term_of(body, instruction.arguments[0].operand))
    if "__assert_fail" in body.unit.rules.functions:
        claim = body.unit.sources.argument(instruction.location) or body.text
        body.claim(condition, "assertion", claim, name)
    else:
        body.assume(condition)
    effects.give_result(body, instruction, name)


# ----------------------------------------------------------------------------------------- memory


def _allocate(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    assert isinstance(meaning, meanings.Allocate)
    terms = [term_of(body, argument.operand) for argument in instruction.arguments]
    size: Expr = build.integer(1)
    for number in meaning.size:
        size = build.mul(size, as_sort(terms[number], INT))
    align = meaning.align
    if meaning.alignment is not None:
        align = _alignment(body, name, terms[meaning.alignment], words=meaning.words)
    if meaning.fails:
        failed = build.eq(body.havoc(U8), build.constant(0, U8))
        made = body.choose(failed, lambda: NULL, lambda: new_object(body, size, align, zero=meaning.zero))
    else:
        made = new_object(body, size, align, zero=meaning.zero, stack=meaning.stack)
    if meaning.into is not None:
        body.emit(Store(as_sort(terms[meaning.into], INT), build.wrap(made, body.unit.pointer_sort)))
        if instruction.name is not None:
            body.define(instruction, build.constant(0, sort_of(instruction.result)))
        return
    body.define(instruction, made)


def _alignment(body: Body, name: str, term: Expr, *, words: bool) -> int:
    least = body.layout.word if words else 1
    if term.kind is Kind.CONST:
        value = int(term.value)
        if value >= least and value & (value - 1) == 0:
            return max(value, 16)
    raise Unmodelled("unsupported-alignment", f"this alignment in a call of `{name}`")


def new_object(body: Body, size: Expr, align: int, *, zero: bool, stack: bool = False) -> Expr:
    """Make an object on the heap; its size is noted where the program needs it."""
    target = body.fresh(INT)
    body.emit(Alloc(target, size, align, "stack" if stack else "heap", body.text, zero))
    sizes = body.unit.sizes
    if sizes is not None and not stack:
        sort = body.unit.pointer_sort
        noted = build.store(sizes, build.wrap(target, sort), build.wrap(size, sort))
        body.emit(Assign((sizes,), (noted,)), text=f"the size of {body.text}")
    return target


def _reallocate(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    """A new object with what fits of the old one, whose size was noted when it was made."""
    old, size = (as_sort(term_of(body, a.operand), INT) for a in instruction.arguments[:2])
    made = new_object(body, size, 16, zero=False)
    sizes, sort = body.unit.sizes, body.unit.pointer_sort
    result = made
    none = build.eq(size, NULL)
    if none is not build.FALSE:
        unknown_ = body.havoc(U8, approximates="what `realloc` returns if no bytes are left")
        null = build.and_(none, build.eq(unknown_, build.constant(0, U8)))
        result = body.choose(null, lambda: NULL, lambda: made)
    if old is not NULL and sizes is not None:

        def move() -> None:
            assert sizes is not None
            noted = build.to_int(build.select(sizes, build.wrap(old, sort)))
            count = build.ite(build.lt(noted, size), noted, size)
            memory.copy_loop(body, made, old, count, 1, overlapping=False)
            body.emit(Free(old, "heap"))

        body.when(build.ne(old, NULL), move)
    body.define(instruction, result)


def _release(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    pointer = address_of(body, instruction.arguments[0].operand)
    if pointer is not NULL:
        body.when(build.ne(pointer, NULL), lambda: _free(body, pointer))


def _free(body: Body, pointer: Expr) -> None:
    body.emit(Free(pointer, "heap"))


def _signal(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    handler = instruction.arguments[-1].operand
    if isinstance(handler, Symbol) or term_of(body, handler).kind is not Kind.CONST:
        raise Unmodelled("unsupported-library-function", f"the function `{name}`")
    effects.give_result(body, instruction, name)


def _refuse(body: Body, instruction: ir.Call, name: str, meaning: Meaning) -> None:
    assert isinstance(meaning, meanings.Refused)
    raise Unmodelled(meaning.code, f"the function `{name}`")


Handler = Callable[["Body", ir.Call, str, Meaning], None]
_HANDLERS: Final[dict[type, Handler]] = {
    meanings.Stop: _stop,
    meanings.Exit: _exit,
    meanings.Assume: _assume,
    meanings.Assert: _assert,
    meanings.Allocate: _allocate,
    meanings.Reallocate: _reallocate,
    meanings.Release: _release,
    meanings.Signal: _signal,
    meanings.Refused: _refuse,
    meanings.Effects: effects.effects,
    meanings.Natural: inputs.natural,
    meanings.Seed: inputs.seed,
    meanings.Character: inputs.character,
    meanings.Time: inputs.time,
    meanings.Block: inputs.block,
    meanings.Line: inputs.line,
    meanings.InputMemory: inputs.memory,
    meanings.Scan: inputs.scan,
    meanings.Print: inputs.print_,
}
