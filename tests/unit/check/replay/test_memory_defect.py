"""What a replay says about a violation of memory safety: the sentence, the weakness, and what matters."""

from __future__ import annotations

import json

import pytest
from tests.builders import ProgramBuilder

from certus.check.replay import memory_defect as describing
from certus.check.replay.replay import replay
from certus.codec.outcomes import decode_replay, encode_replay
from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Trace
from certus.core.memory_defects import Loss, MemoryDefect
from certus.core.outcome import Replay, Role
from certus.core.program import Access, Free, Havoc, Inspect, InspectHeap, Location, Op, Program, Retained
from certus.core.terms import INT, Expr, Sort, machine

U8, U64 = machine(8, signed=False), machine(64, signed=False)


class Lines:
    """A main procedure with one statement in each line."""

    def __init__(self) -> None:
        self.b = ProgramBuilder()
        self.named: list[Expr] = []
        self.line = 0
        self.error: Location | None = None

    @property
    def here(self) -> str:
        return f"line {self.line}" if self.line else "entry"

    def local(self, name: str, sort: Sort = INT, *, internal: bool = False) -> Expr:
        variable = self.b.local("main", name, sort)
        if not internal:
            self.named.append(variable)
        return variable

    def do(self, *ops: Op) -> Lines:
        for op in ops:
            source = self.here
            self.line += 1
            self.b.edge("main", source, self.here, op, line=self.line)
        return self

    def ask(self, access: Access, base: Expr, offset: Expr | int = 0, size: int = 4) -> Lines:
        return self._claim(self.b.inspect("main", access, base, offset, 0 if access == "free" else size))

    def retained(self, retained: Retained) -> Lines:
        return self._claim(self.b.inspect_heap("main", retained))

    def _claim(self, question: Inspect | InspectHeap) -> Lines:
        source = self.here
        self.line += 1
        self.error = self.b.claim("main", source, question, self.here)
        return self

    def program(self) -> Program:
        return self.b.build(named=tuple(self.named))

    def replayed(self) -> tuple[Program, Replay]:
        """The replay of the violation of the last claim."""
        assert self.error is not None
        program = self.program()
        replayed = replay(program, Trace(self.error.name), budget=Budget())
        assert isinstance(replayed, Replay), replayed
        return program, replayed

    def defect(self) -> tuple[MemoryDefect, str]:
        program, replayed = self.replayed()
        assert replayed.defect is not None
        return replayed.defect, replayed.defect.sentence(program)


def sentence(lines: Lines, cwe: int | None) -> str:
    defect, words = lines.defect()
    assert defect.cwe == cwe
    return words


@pytest.mark.parametrize(
    ("access", "offset", "cwe", "words"),
    [
        ("write", 40, 787, "write of 4 bytes at offset 40 of `a`, which has 40 bytes, declared at line 1"),
        ("read", 38, 125, "read of 4 bytes at offset 38 of `a`, which has 40 bytes, declared at line 1"),
        ("read", -4, 125, "read of 4 bytes at offset -4 of `a`, which has 40 bytes, declared at line 1"),
        ("free", 0, 590, "free of `a`, which is not on the heap, declared at line 1"),
        ("read", 1 << 40, 125, "read of 4 bytes at an address where no object is"),
    ],
)
def test_out_of_bounds(access: Access, offset: int, cwe: int, words: str) -> None:
    lines = Lines()
    a = lines.local("&a")
    lines.do(lines.b.alloc(a, 40)).ask(access, a, offset)
    assert sentence(lines, cwe) == words


@pytest.mark.parametrize(
    ("access", "offset", "cwe", "words"),
    [
        ("read", 0, 416, "read of 4 bytes at offset 0 of `p`, allocated at line 1, freed at line 2"),
        ("write", 4, 416, "write of 4 bytes at offset 4 of `p`, allocated at line 1, freed at line 2"),
        ("free", 0, 415, "free of `p`, allocated at line 1, freed at line 2 already"),
    ],
)
def test_use_after_free(access: Access, offset: int, cwe: int, words: str) -> None:
    lines = Lines()
    p, q = lines.local("&p"), lines.local("&q")
    lines.do(lines.b.alloc(p, 8, storage="heap"), lines.b.free(p), lines.b.alloc(q, 8, storage="heap"))
    lines.ask(access, p, offset)
    assert sentence(lines, cwe) == words


def test_out_of_scope() -> None:
    lines = Lines()
    x = lines.local("&x")
    lines.do(lines.b.alloc(x, 4), Free(x, "stack")).ask("read", x)
    words = "read of 4 bytes at offset 0 of `x`, which is out of scope, declared at line 1"
    assert sentence(lines, 416) == words


def test_the_middle_of_an_object_on_the_heap_cannot_be_freed() -> None:
    lines = Lines()
    p = lines.local("&p")
    lines.do(lines.b.alloc(p, 8, storage="heap")).ask("free", p, 4)
    assert sentence(lines, 590) == "free of offset 4 of `p`, which is not its start, allocated at line 1"


def test_constant_objects_must_not_be_written() -> None:
    lines = Lines()
    p = lines.local("&text")
    lines.do(lines.b.alloc(p, 4, storage="static", constant=True)).ask("write", p, 1, 1)
    assert sentence(lines, None) == "write of 1 byte at offset 1 of `text`, which must not be written"


@pytest.mark.parametrize(
    ("offset", "words"),
    [(0, "write of 4 bytes through a null pointer"), (8, "write of 4 bytes at offset 8 of a null pointer")],
)
def test_null(offset: int, words: str) -> None:
    lines = Lines()
    p = lines.local("p")
    lines.do(lines.b.assign((p, 0))).ask("write", p, offset)
    assert sentence(lines, 476) == words


def test_a_number_cannot_be_freed() -> None:
    lines = Lines()
    p = lines.local("p")
    lines.do(lines.b.assign((p, 8))).ask("free", p)
    assert sentence(lines, 590) == "free of an address where no object is"


def test_an_uninitialised_pointer_in_memory() -> None:
    lines = Lines()
    a, word = lines.local("a"), lines.local("word", U64)
    lines.do(lines.b.alloc(a, 8), lines.b.load(word, a)).ask("write", build.to_int(word))
    assert sentence(lines, 457) == "write of 4 bytes through an uninitialised pointer"


def test_an_uninitialised_pointer_in_a_variable() -> None:
    lines = Lines()
    p = lines.local("p")
    lines.do(Havoc((p,))).ask("read", p)
    assert sentence(lines, 457) == "read of 4 bytes through an uninitialised pointer"


def test_the_result_of_a_function_is_not_uninitialised() -> None:
    lines = Lines()
    p = lines.local("p")
    lines.do(Havoc((p,), "f")).ask("read", p)
    assert sentence(lines, 476) == "read of 4 bytes through a null pointer"


# ----------------------------------------------------------------------------------- lost objects


def test_the_last_pointer_is_overwritten_in_a_variable() -> None:
    lines = Lines()
    p, q, t = lines.local("p"), lines.local("q"), lines.local("&block", internal=True)
    lines.do(lines.b.alloc(t, 8, storage="heap"), lines.b.assign((p, t)), lines.b.assign((q, p)))
    lines.do(lines.b.assign((p, 0)), lines.b.assign((q, 0)), lines.b.assign((p, 0))).retained("tracked")
    words = "`block`, allocated at line 1, is lost: the last pointer to it was overwritten at line 5"
    assert sentence(lines, 401) == words
    defect, _ = lines.defect()
    assert defect.lost is not None
    assert (defect.lost.loss, defect.lost.step) == (Loss.OVERWRITTEN, 4)


def test_the_last_pointer_is_overwritten_in_memory() -> None:
    lines = Lines()
    head, t = lines.local("&head", internal=True), lines.local("&block", internal=True)
    lines.do(lines.b.alloc(head, 8, storage="static", zero=True), lines.b.alloc(t, 8, storage="heap"))
    lines.do(lines.b.store(head, 0, build.wrap(t, U64)), lines.b.store(head, 2, build.constant(255, U8)))
    lines.retained("tracked")
    words = "`block`, allocated at line 2, is lost: the last pointer to it was overwritten at line 4"
    assert sentence(lines, 401) == words


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        ("stack", "the last pointer to it went out of scope at line 4"),
        ("heap", "the last pointer to it was in an object that was freed at line 4"),
    ],
)
def test_the_last_pointer_ends_with_its_object(storage: str, words: str) -> None:
    lines = Lines()
    owner, t = lines.local("owner"), lines.local("&block", internal=True)
    kind = "heap" if storage == "heap" else "stack"
    lines.do(lines.b.alloc(t, 8, storage="heap"), lines.b.alloc(owner, 8, storage=kind))
    lines.do(lines.b.store(owner, 0, build.wrap(t, U64)), lines.b.free(owner, storage=kind))
    lines.retained("tracked")
    assert sentence(lines, 401) == f"`block`, allocated at line 1, is lost: {words}"


def test_the_last_pointer_is_a_variable_of_a_function() -> None:
    b = ProgramBuilder()
    q = b.local("f", "&q")
    b.edge("main", "entry", "1", b.call("f"), line=7)
    error = b.claim("main", "1", b.inspect_heap("main", "tracked"), "exit")
    b.edge("f", "entry", "exit", b.alloc(q, 8, storage="heap"), line=2)
    program = b.build(named=(q,))
    replayed = replay(program, Trace(error.name), budget=Budget())
    assert isinstance(replayed, Replay)
    assert replayed.defect is not None
    assert replayed.defect.sentence(program) == (
        "`q`, allocated at line 2, is lost: the last pointer to it was a variable of `f`, which has "
        "returned; it was called at line 7"
    )


def test_no_pointer_is_kept() -> None:
    lines = Lines()
    t = lines.local("&block", internal=True)
    lines.do(lines.b.alloc(t, 8, storage="heap")).retained("tracked")
    assert sentence(lines, 401) == "`block`, allocated at line 1, is lost: no pointer to it was kept"


def test_several_objects_are_not_freed() -> None:
    lines = Lines()
    p = lines.local("&p")
    lines.do(*[lines.b.alloc(p, 8, storage="heap") for _ in range(3)]).retained("freed")
    assert sentence(lines, 401) == "`p`, allocated at line 1, is not freed, nor are 2 others"


def loop(rounds: int) -> tuple[Program, Location]:
    """A loop that keeps a pointer to the first object until its last round but two."""
    b = ProgramBuilder()
    p, n, t = b.local("main", "p"), b.local("main", "n"), b.local("main", "&block")
    b.edge("main", "entry", "0", b.alloc(t, 8, storage="heap"), line=1)
    b.edge("main", "0", "1", b.assign((p, t), (n, 0)), line=2)
    b.branch("main", "1", build.lt(n, build.integer(rounds)), "2", "after")
    b.branch("main", "2", build.eq(n, build.integer(rounds - 2)), "3", "4")
    b.edge("main", "3", "4", b.assign((p, 0)), line=5)
    b.edge("main", "4", "1", b.assign((n, build.add(n, build.integer(1)))), line=6)
    error = b.claim("main", "after", b.inspect_heap("main", "tracked"), "exit")
    return b.build(named=(p, n)), error


@pytest.mark.parametrize("rounds", [10, 4000])
def test_the_step_is_found_in_long_runs(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describing, "_STEPS", 1000)
    program, error = loop(rounds)
    replayed = replay(program, Trace(error.name), budget=Budget())
    assert isinstance(replayed, Replay)
    assert replayed.defect is not None
    assert replayed.defect.lost is not None
    assert program.edge[replayed.defect.lost.edge].span.line == 5  # type: ignore[union-attr]
    assert replayed.defect.lost.step == 2 + 3 * (rounds - 2) + 2


# ------------------------------------------------------------------------------------ what matters


def roles(program: Program, replayed: Replay) -> dict[int, Role]:
    """The roles of the steps that matter, by line."""
    matter = [(program.edge[s.edge], s.reason) for s in replayed.kept[:-1] if s.reason is not None]
    return {edge.span.line: reason.role for edge, reason in matter if edge.span is not None}


def test_the_begin_and_the_end_of_the_object_matter() -> None:
    lines = Lines()
    p, q, x = lines.local("&p"), lines.local("&q"), lines.local("x")
    lines.do(lines.b.alloc(p, 8, storage="heap"), lines.b.alloc(q, 8, storage="heap"))
    lines.do(lines.b.free(q), lines.b.free(p), lines.b.assign((x, 4))).ask("read", p, x)
    program, replayed = lines.replayed()
    assert roles(program, replayed) == {1: Role.LIFETIME, 4: Role.LIFETIME, 5: Role.VALUE}


def test_the_step_that_loses_an_object_matters() -> None:
    lines = Lines()
    p, t = lines.local("p"), lines.local("&block", internal=True)
    lines.do(lines.b.alloc(t, 8, storage="heap"), lines.b.assign((p, t)), lines.b.assign((p, 0)))
    lines.retained("tracked")
    program, replayed = lines.replayed()
    assert roles(program, replayed) == {1: Role.LIFETIME, 3: Role.LIFETIME}


def test_a_branch_around_a_free_matters() -> None:
    b = ProgramBuilder()
    p, x = b.local("main", "p"), b.local("main", "x")
    b.edge("main", "entry", "1", b.alloc(p, 8, storage="heap"), line=1)
    b.edge("main", "1", "2", b.havoc(x), line=2)
    b.branch("main", "2", build.eq(x, build.integer(7)), "free", "after")
    b.edge("main", "free", "after", b.free(p), line=4)
    error = b.claim("main", "after", b.inspect_heap("main", "freed"), "exit")
    program = b.build(named=(p, x))
    replayed = replay(program, Trace(error.name), budget=Budget())
    assert isinstance(replayed, Replay)
    assert roles(program, replayed) == {1: Role.LIFETIME, 2: Role.VALUE}
    assert Role.KEEP in [step.reason.role for step in replayed.kept if step.reason is not None]


def test_a_defect_passes_to_other_processes() -> None:
    lines = Lines()
    p, t = lines.local("p"), lines.local("&block", internal=True)
    lines.do(lines.b.alloc(t, 8, storage="heap"), lines.b.assign((p, t)), lines.b.assign((p, 0)))
    lines.retained("tracked")
    program, replayed = lines.replayed()
    data = json.loads(json.dumps(encode_replay(replayed)))
    assert decode_replay(data, program) == replayed
    for broken in ({"kind": "odd"}, {"object": ["p", "heap", "0x8", 999, None]}, {"lost": ["odd", 1, 1]}):
        with pytest.raises(ValueError, match=r"odd|999"):
            decode_replay({**data, "defect": {**data["defect"], **broken}}, program)


def test_other_violations_have_no_defect() -> None:
    b = ProgramBuilder()
    x = b.local("main", "x")
    b.edge("main", "entry", "1", b.assign((x, 1)))
    error = b.check("main", "1", build.eq(x, build.integer(0)), "exit")
    replayed = replay(b.build(), Trace(error.name), budget=Budget())
    assert isinstance(replayed, Replay)
    assert replayed.defect is None
