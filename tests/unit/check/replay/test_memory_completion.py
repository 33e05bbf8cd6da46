"""Completing traces to violations of memory safety that depend on contents which the trace lacks."""

from __future__ import annotations

import pytest
from tests.builders import ProgramBuilder

from certus.check.replay.replay import replay
from certus.check.replay.trace_completion import complete
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.diagnostic import Diagnostic
from certus.core.evidence import Trace
from certus.core.outcome import Replay
from certus.core.program import Access, Inspect, Location, Program
from certus.core.terms import BOOL, machine

U8, U64 = machine(8, signed=False), machine(64, signed=False)


def completed(program: Program, error: Location) -> Trace | None:
    trace = Trace(error.name)
    assert isinstance(replay(program, trace, budget=Budget()), Diagnostic)  # with zeros it does not replay
    return complete(program, trace, budget=Budget(20), statistics=Statistics())


@pytest.mark.parametrize("access", ["free", "read"])
def test_an_uninitialised_pointer(access: Access) -> None:
    """`if (*a) use(*a);`: zeros do not violate it."""
    b = ProgramBuilder()
    a, word = b.local("main", "a"), b.local("main", "word", U64)
    b.edge("main", "entry", "1", b.alloc(a, 8, storage="heap"))
    b.edge("main", "1", "2", b.load(word, a))
    b.branch("main", "2", build.eq(word, build.constant(0, U64)), "exit", "3")
    question = b.inspect("main", access, build.to_int(word), 0, 0 if access == "free" else 4)
    error = b.claim("main", "3", question, "exit")
    program = b.build(named=(a, word))
    trace = completed(program, error)
    assert trace is not None
    assert isinstance(replay(program, trace, budget=Budget()), Replay)


def test_a_free_of_an_uninitialised_pointer() -> None:
    b = ProgramBuilder()
    a, word = b.local("main", "a"), b.local("main", "word", U64)
    b.edge("main", "entry", "1", b.alloc(a, 8, storage="heap"))
    b.edge("main", "1", "2", b.load(word, a))
    error = b.claim("main", "2", b.inspect("main", "free", build.to_int(word)), "exit")
    program = b.build(named=(a, word))
    trace = completed(program, error)
    assert trace is not None
    assert isinstance(replay(program, trace, budget=Budget()), Replay)


def test_an_uninitialised_length() -> None:
    b = ProgramBuilder()
    a, n, p, ok = (
        b.local("main", "a"),
        b.local("main", "n", U8),
        b.local("main", "p"),
        b.local("main", "ok", BOOL),
    )
    b.edge("main", "entry", "1", b.alloc(a, 1))
    b.edge("main", "1", "2", b.alloc(p, 200))
    b.edge("main", "2", "3", b.load(n, a))
    error = b.claim("main", "3", Inspect(ok, p, build.to_int(n), "write"), "exit")
    program = b.build(named=(a, n, p))
    trace = completed(program, error)
    assert trace is not None
    replayed = replay(program, trace, budget=Budget())
    assert isinstance(replayed, Replay)
    assert replayed.defect is not None
    assert replayed.defect.size > 200


def test_what_cannot_be_violated_is_not_completed() -> None:
    """An object of 256 bytes has room for every length of one byte."""
    b = ProgramBuilder()
    a, n, p, ok = (
        b.local("main", "a"),
        b.local("main", "n", U8),
        b.local("main", "p"),
        b.local("main", "ok", BOOL),
    )
    b.edge("main", "entry", "1", b.alloc(a, 1))
    b.edge("main", "1", "2", b.alloc(p, 256))
    b.edge("main", "2", "3", b.load(n, a))
    error = b.claim("main", "3", Inspect(ok, p, build.to_int(n), "write"), "exit")
    assert completed(b.build(named=(a, n, p)), error) is None
