"""Questions about memory in runs: whether an access is valid, and whether objects are lost."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from tests.builders import ProgramBuilder

from certus.check.replay.replay import check_execution
from certus.core import build
from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Inconsistent
from certus.core.evidence import Execution, Trace
from certus.core.program import Access, Havoc, Inspect, Op, Program, Retained
from certus.core.terms import INT, Expr, Sort, machine
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import NoInputs, Nondeterministic, RandomInputs, ReplayInputs, TraceInputs
from certus.interpreter.interpreter import Ending, Machine, Run, run

U8, U32, U64 = (machine(width, signed=False) for width in (8, 32, 64))


class Straight:
    """A main procedure of operations one after the other."""

    def __init__(self) -> None:
        self.b = ProgramBuilder()
        self.named: list[Expr] = []
        self._place = 0

    @property
    def here(self) -> str:
        return f"n{self._place}" if self._place else "entry"

    def local(self, name: str, sort: Sort = INT) -> Expr:
        """A variable of the source."""
        variable = self.b.local("main", name, sort)
        self.named.append(variable)
        return variable

    def do(self, *ops: Op) -> Straight:
        for op in ops:
            source = self.here
            self._place += 1
            self.b.edge("main", source, self.here, op, text=type(op).__name__)
        return self

    def ask(self, access: Access, base: Expr, offset: Expr | int = 0, size: int = 4) -> Straight:
        question = self.b.inspect("main", access, base, offset, 0 if access == "free" else size)
        return self._claim(question)

    def retained(self, retained: Retained) -> Straight:
        return self._claim(self.b.inspect_heap("main", retained))

    def _claim(self, question: Op) -> Straight:
        source = self.here
        self._place += 1
        self.b.claim("main", source, question, self.here)
        return self

    def program(self) -> Program:
        """The program so far: it ends where no edge leads on."""
        return self.b.build(named=tuple(self.named))


def with_numbers(program: Program) -> Run:
    return run(compile_program(program), ReplayInputs(program, Trace("?")), budget=Budget())


def with_symbols(program: Program) -> Run:
    return run(compile_program(program), NoInputs(), budget=Budget())


both = pytest.mark.parametrize("ends", [with_numbers, with_symbols])
Ends = Callable[[Program], Run]


@both
@pytest.mark.parametrize(
    ("access", "offset", "size", "valid"),
    [
        ("read", 0, 4, True),
        ("write", 36, 4, True),
        ("read", 37, 4, False),
        ("write", 40, 1, False),
        ("read", -1, 1, False),
        ("read", 40, 0, True),
        ("read", 0, 41, False),
        ("read", 1 << 61, 4, False),
        ("free", 0, 0, True),
        ("free", 8, 0, False),
    ],
)
def test_bounds_of_an_object(ends: Ends, access: Access, offset: int, size: int, valid: bool) -> None:
    s = Straight()
    p = s.local("p")
    s.do(s.b.alloc(p, 40, storage="heap"))
    s.ask(access, p, offset, size)
    assert ends(s.program()).ending is (Ending.BLOCKED if valid else Ending.ERROR)


@both
@pytest.mark.parametrize("access", ["read", "write", "free"])
def test_nothing_is_valid_after_the_end_of_an_object(ends: Ends, access: Access) -> None:
    s = Straight()
    p, q = s.local("p"), s.local("q")
    s.do(s.b.alloc(p, 40, storage="heap"), s.b.free(p), s.b.alloc(q, 40, storage="heap"))
    s.ask(access, p)
    assert ends(s.program()).ending is Ending.ERROR


@both
def test_null_can_be_freed_but_not_read(ends: Ends) -> None:
    s = Straight()
    p = s.local("p")
    s.do(s.b.assign((p, 0))).ask("free", p).ask("read", p, 0, 0)
    assert ends(s.program()).ending is Ending.BLOCKED
    s.ask("read", p, 8)
    assert ends(s.program()).ending is Ending.ERROR


@both
@pytest.mark.parametrize("storage", ["stack", "static"])
def test_only_objects_on_the_heap_can_be_freed(ends: Ends, storage: str) -> None:
    s = Straight()
    p = s.local("p")
    s.do(s.b.alloc(p, 8, storage="stack" if storage == "stack" else "static")).ask("write", p)
    assert ends(s.program()).ending is Ending.BLOCKED
    s.ask("free", p)
    assert ends(s.program()).ending is Ending.ERROR


@both
def test_constant_objects_can_be_read_but_not_written(ends: Ends) -> None:
    s = Straight()
    p = s.local("p")
    s.do(s.b.alloc(p, 4, storage="static", constant=True))
    s.do(s.b.store(p, 0, build.constant(65, U8)))  # the initialiser
    s.ask("read", p)
    assert ends(s.program()).ending is Ending.BLOCKED
    s.ask("write", p)
    assert ends(s.program()).ending is Ending.ERROR


def test_an_address_is_judged_by_the_object_it_comes_from() -> None:
    """Where addresses are numbers, one that leaves its object by more than a gap may arrive in another."""
    s = Straight()
    p, q = s.local("p"), s.local("q")
    s.do(s.b.alloc(p, 8), s.b.alloc(q, 8 << 20), s.b.assign((p, build.add(p, build.integer(2 << 20)))))
    s.ask("read", p)
    assert with_numbers(s.program()).ending is Ending.BLOCKED
    assert with_symbols(s.program()).ending is Ending.ERROR


# ------------------------------------------------------------------------------ undetermined values


def uninitialised(access: Access) -> Program:
    """`char **a = malloc(8); use(*a);`."""
    s = Straight()
    a, word = s.local("a"), s.local("word", U64)
    s.do(s.b.alloc(a, 8, storage="heap"), s.b.load(word, a))
    return s.ask(access, build.to_int(word)).program()


@pytest.mark.parametrize("access", ["read", "write", "free"])
def test_an_uninitialised_pointer_is_not_valid(access: Access) -> None:
    program = uninitialised(access)
    compiled = compile_program(program)
    for inputs in (NoInputs(), RandomInputs(Random(0), {}), TraceInputs(program, Trace("?"))):
        end = run(compiled, inputs, budget=Budget())
        assert end.ending is Ending.ERROR
        assert "never initialised" in end.cause
    assert with_numbers(program).ending is (Ending.BLOCKED if access == "free" else Ending.ERROR)


def test_a_pointer_with_uninitialised_low_bits_is_valid_if_all_its_values_are() -> None:
    s = Straight()
    a, b, word = s.local("a"), s.local("b"), s.local("word", U64)
    s.do(s.b.alloc(a, 8), s.b.alloc(b, 1 << 19))
    s.do(s.b.store(a, 0, build.wrap(s.b.address(b, 1 << 10), U64)))
    s.do(s.b.alloc(c := s.local("c"), 1), byte := s.b.load(s.local("byte", U8), c))
    s.do(s.b.store(a, 0, byte.target), s.b.load(word, a))
    s.ask("read", build.to_int(word), 0, 1)
    compiled = compile_program(s.program())
    machine_ = Machine(compiled, RandomInputs(Random(0), {}))
    code = compiled.code()
    code.require("main")
    assert machine_.advance(code, budget=Budget()).ending is Ending.BLOCKED
    assert not machine_.memory.presumed
    s.ask("read", build.to_int(word), 0, (1 << 19) - 100)
    assert run(compile_program(s.program()), RandomInputs(Random(0), {}), budget=Budget()).cause


def test_an_execution_that_presumes_an_answer_proves_nothing() -> None:
    """The answer is no for most contents of the object, but not for all."""
    s = Straight()
    a, word = s.local("a"), s.local("word", U64)
    s.do(
        s.b.alloc(a, 8), s.b.load(word, a), question := s.b.inspect("main", "read", build.to_int(word), 0, 4)
    )
    s.do(s.b.assign((s.local("x"), 0)))
    program = s.program()
    assert isinstance(question, Inspect)
    with pytest.raises(Nondeterministic, match="never initialised"):
        with_symbols(program)
    assert isinstance(check_execution(program, Execution(4), Budget()), Diagnostic)


def test_a_question_about_an_input_has_no_answer_without_inputs() -> None:
    s = Straight()
    p = s.local("p")
    s.do(Havoc((p,))).ask("read", p, 0, 0)
    assert with_symbols(s.program()).ending is Ending.BLOCKED  # no bytes
    s.ask("read", p)
    with pytest.raises(Nondeterministic):
        with_symbols(s.program())


def test_an_answer_must_not_depend_on_an_unmodelled_value() -> None:
    s = Straight()
    p = s.local("p")
    s.do(Havoc((p,), approximates="the result of `f`")).ask("free", p)
    program = s.program()
    assert with_numbers(program).ending is Ending.UNMODELLED


def test_operands_must_have_their_sorts() -> None:
    s = Straight()
    p = s.local("p", U64)
    s.do(Inspect(s.local("ok", U8), p, p, "read"))
    with pytest.raises(Inconsistent):
        compile_program(s.program())


# ------------------------------------------------------------------------------------ lost objects


@both
def test_an_object_is_lost_when_no_variable_of_the_source_has_its_address(ends: Ends) -> None:
    s = Straight()
    t, p = s.b.local("main", "$1"), s.local("p")
    s.do(s.b.alloc(t, 8, storage="heap"), s.b.assign((p, t))).retained("tracked")
    assert ends(s.program()).ending is Ending.BLOCKED
    s.do(s.b.assign((p, 0))).retained("tracked")
    assert ends(s.program()).ending is Ending.ERROR


@both
@pytest.mark.parametrize(("offset", "tracked"), [(4, True), (8, True), (9, False), (-1, False)])
def test_a_pointer_to_any_byte_or_one_past_the_end_tracks(ends: Ends, offset: int, tracked: bool) -> None:
    s = Straight()
    p = s.local("p")
    s.do(s.b.alloc(p, 8, storage="heap"), s.b.assign((p, s.b.address(p, offset)))).retained("tracked")
    assert ends(s.program()).ending is (Ending.BLOCKED if tracked else Ending.ERROR)


@both
def test_a_list_is_tracked_from_a_static_object(ends: Ends) -> None:
    s = Straight()
    head, first, second = (s.b.local("main", name) for name in ("$head", "$1", "$2"))
    s.do(s.b.alloc(head, 8, storage="static", zero=True))
    s.do(s.b.alloc(first, 16, storage="heap"), s.b.alloc(second, 16, storage="heap"))
    s.do(s.b.store(head, 0, build.wrap(first, U64)), s.b.store(first, 8, build.wrap(second, U64)))
    s.retained("tracked")
    assert ends(s.program()).ending is Ending.BLOCKED
    s.do(s.b.store(head, 0, build.constant(0, U64))).retained("tracked")
    assert ends(s.program()).ending is Ending.ERROR


@both
def test_two_objects_that_point_to_each_other_are_lost(ends: Ends) -> None:
    s = Straight()
    first, second = s.b.local("main", "$1"), s.b.local("main", "$2")
    s.do(s.b.alloc(first, 8, storage="heap"), s.b.alloc(second, 8, storage="heap"))
    s.do(s.b.store(first, 0, build.wrap(second, U64)), s.b.store(second, 0, build.wrap(first, U64)))
    s.retained("tracked")
    assert ends(s.program()).ending is Ending.ERROR


@both
@pytest.mark.parametrize("missing", [None, 2])
def test_a_pointer_copied_byte_by_byte_tracks(ends: Ends, missing: int | None) -> None:
    s = Straight()
    block, a, b, byte = (*(s.b.local("main", f"${n}") for n in range(3)), s.b.local("main", "byte", U8))
    s.do(s.b.alloc(block, 1, storage="heap"), s.b.alloc(a, 8), s.b.alloc(b, 16, zero=True))
    s.do(s.b.store(a, 0, build.wrap(block, U64)))
    for n in reversed(range(8)):
        if n != missing:
            s.do(s.b.load(byte, a, n), s.b.store(b, n + 5, byte))
    s.do(s.b.store(a, 0, build.constant(0, U64))).retained("tracked")
    assert ends(s.program()).ending is (Ending.BLOCKED if missing is None else Ending.ERROR)


@both
def test_a_pointer_without_its_first_byte_is_lost(ends: Ends) -> None:
    s = Straight()
    block, a = s.b.local("main", "$1"), s.b.local("main", "$2")
    s.do(s.b.alloc(block, 1, storage="heap"), s.b.alloc(a, 8), s.b.store(a, 0, build.wrap(block, U64)))
    s.do(s.b.store(a, 0, build.constant(255, U8))).retained("tracked")
    assert ends(s.program()).ending is Ending.ERROR


@both
def test_uninitialised_bytes_track_nothing(ends: Ends) -> None:
    s = Straight()
    block, a = s.b.local("main", "$1"), s.b.local("main", "$2")
    s.do(s.b.alloc(block, 1, storage="heap"), s.b.alloc(a, 64)).retained("tracked")
    assert ends(s.program()).ending is Ending.ERROR


def test_a_pointer_on_the_border_of_two_chunks_tracks() -> None:
    s = Straight()
    block, a = s.b.local("main", "$1"), s.b.local("main", "$2")
    s.do(s.b.alloc(block, 1, storage="heap"), s.b.alloc(a, 3 << 20, zero=True))
    s.do(s.b.store(a, (1 << 16) - 3, build.wrap(block, U64))).retained("tracked")
    assert with_numbers(s.program()).ending is Ending.BLOCKED


@both
def test_variables_of_all_active_procedures_are_roots(ends: Ends) -> None:
    b = ProgramBuilder()
    p, q = b.local("main", "p"), b.local("f", "q")
    b.edge("main", "entry", "1", b.alloc(p, 8, storage="heap"))
    b.edge("main", "1", "exit", b.call("f"))
    b.edge("f", "entry", "1", b.alloc(q, 8, storage="heap"))
    b.claim("f", "1", b.inspect_heap("f", "tracked"), "2")
    b.skip("f", "2", "exit")
    assert ends(b.build(named=(p, q))).ending is Ending.EXIT
    assert ends(b.build(named=(q,))).ending is Ending.ERROR


@both
def test_variables_end_with_their_procedure(ends: Ends) -> None:
    b = ProgramBuilder()
    q = b.local("f", "q")
    b.edge("main", "entry", "1", b.call("f"))
    b.claim("main", "1", b.inspect_heap("main", "tracked"), "exit")
    b.edge("f", "entry", "exit", b.alloc(q, 8, storage="heap"))
    assert ends(b.build(named=(q,))).ending is Ending.ERROR


@both
def test_freed_means_that_nothing_on_the_heap_is_live(ends: Ends) -> None:
    s = Straight()
    p, x = s.local("p"), s.local("x")
    s.do(s.b.alloc(x, 8), s.b.alloc(p, 8, storage="heap"), s.b.free(p)).retained("freed")
    assert ends(s.program()).ending is Ending.BLOCKED
    s.do(s.b.alloc(p, 0, storage="heap")).retained("tracked").retained("freed")
    assert ends(s.program()).ending is Ending.ERROR


def test_many_ended_objects_do_not_hide_a_live_one() -> None:
    """Memory forgets ended objects once there are many."""
    b = ProgramBuilder()
    p, n, lost = b.local("main", "p"), b.local("main", "n"), b.local("main", "$lost")
    b.edge("main", "entry", "0", b.alloc(lost, 8, storage="heap"))
    b.edge("main", "0", "loop", b.assign((n, 0)))
    b.branch("main", "loop", build.lt(n, build.integer(25_000)), "body", "after")
    b.edge("main", "body", "1", b.alloc(p, 8, storage="heap"))
    b.edge("main", "1", "2", b.free(p))
    b.edge("main", "2", "loop", b.assign((n, build.add(n, build.integer(1)))))
    b.claim("main", "after", b.inspect_heap("main", "tracked"), "exit")
    program = b.build(named=(p, n))
    assert with_symbols(program).ending is Ending.ERROR
    assert with_numbers(program).ending is Ending.ERROR


# ---------------------------------------------------------------------------------- restored states


def test_a_restored_state_keeps_the_ended_objects_that_are_pointed_to() -> None:
    s = Straight()
    p, q, text = s.local("p"), s.local("q"), s.local("text")
    s.do(s.b.alloc(text, 4, storage="static", constant=True), s.b.alloc(p, 8, storage="heap"), s.b.free(p))
    stop = s.here
    s.do(s.b.alloc(q, 8, storage="heap")).ask("read", text).ask("write", p)
    program = s.program()
    compiled = compile_program(program)
    machine_ = Machine(compiled, TraceInputs(program, Trace("?")))
    at = s.b.at("main", stop)
    code = compiled.code(frozenset({at}))
    code.require("main")
    machine_.advance(code, limit=3, budget=Budget())
    state = machine_.snapshot()
    assert state is not None
    assert state[0] is at
    for _ in range(2):
        machine_.restore(state)
        end = machine_.advance(code, budget=Budget())
        assert end.ending is Ending.ERROR
        assert program.error_at(end.location).kind == "invalid-write"
    assert machine_.value(p) != machine_.value(q)
