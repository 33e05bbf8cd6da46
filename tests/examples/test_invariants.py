"""The good examples do hold: invariants of their loops, found by hand, pass the proof checker."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from certus.check.proofs.check import check_proof
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.build import FALSE, TRUE, and_, conjunction, eq, ge, gt, implies, integer, le, ne
from certus.core.evidence import Inductive, Point, old
from certus.core.loops import loop_forest
from certus.core.outcome import ProofCheck
from certus.core.program import Program
from certus.core.terms import BOOL, INT, Expr
from certus.frontend.lp.load import load_lp

EXAMPLES = Path(__file__).parents[2] / "examples"
ZERO, ONE = integer(0), integer(1)


def local(name: str, procedure: str = "main") -> Expr:
    return build.var(f"{procedure}.{name}", INT)


def gcd() -> Expr:
    a, b, x, y = map(local, "abxy")
    return and_(gt(x, ZERO), gt(y, ZERO), le(x, a), le(y, b), gt(a, ZERO), gt(b, ZERO))


def traffic_light() -> Expr:
    """Green is one step, yellow two steps after red."""
    light, waited = local("light"), local("waited")
    return and_(eq(light, waited), ge(light, ZERO), le(light, integer(2)))


def ranges_guard() -> Expr:
    return le(build.sub(local("x"), integer(2)), local("y"))


def ranges_count() -> Expr:
    n, i = local("n", "count"), local("i", "count")
    return and_(ge(n, ZERO), ge(i, ZERO), le(i, build.add(n, ONE)))


LOOPS: dict[str, Callable[[], Expr]] = {
    "gcd": gcd,
    "traffic_light": traffic_light,
    "ranges_guard": ranges_guard,
    "ranges_down": lambda: le(local("y"), integer(100)),
    "ranges_up": lambda: ge(local("i"), ZERO),
    "ranges_count": ranges_count,
    "locks": lambda: TRUE,
}


def proof_of(program: Program, invariant: Expr) -> Inductive:
    """The invariant at the one loop head of the program."""
    (head,) = (at for p in program.procedures.values() for at in loop_forest(p).heads)
    invariants = {Point(head): invariant}
    summaries = {}
    if head.procedure != "main":  # treated by contract: it may rely on its parameter, and promises nothing
        callee = program.procedures[head.procedure]
        (n,) = callee.parameters
        invariants[Point(callee.entry)] = and_(ge(n, ZERO), eq(n, old(n)))
        summaries[head.procedure] = TRUE
    return Inductive(invariants, summaries)


def check(program: Program, proof: Inductive) -> object:
    return check_proof(program, proof, budget=Budget(60), statistics=Statistics())


@pytest.mark.parametrize("name", LOOPS)
def test_examples_hold(name):
    path = EXAMPLES / f"{name}.lp"
    program = load_lp(path.read_text(), path.name).program
    assert isinstance(check(program, proof_of(program, LOOPS[name]())), ProofCheck)


@pytest.mark.parametrize("name", LOOPS)
def test_the_same_invariants_do_not_prove_the_buggy_ones(name):
    path = EXAMPLES / f"{name}_bug.lp"
    program = load_lp(path.read_text(), path.name).program
    assert not isinstance(check(program, proof_of(program, LOOPS[name]())), ProofCheck)


def lock_text(number: int, **variant: bool) -> str:
    spec = importlib.util.spec_from_file_location("locks", EXAMPLES / "locks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.locks(number, **variant)


def lock_invariant(number: int, *, persist: bool, correlate: bool) -> Expr:
    """A persisting lock is 0 or 1; while checking, a lock whose condition holds is 1."""
    parts = []
    checking = build.var("main.checking", BOOL) if correlate else FALSE
    for n in range(1, number + 1):
        condition, lock = local(f"p{n}"), local(f"lock{n}")
        if persist:
            parts.append(and_(ge(lock, ZERO), le(lock, ONE)))
        parts.append(implies(and_(checking, ne(condition, ZERO)), eq(lock, ONE)))
    return conjunction(parts)


@pytest.mark.parametrize(("persist", "correlate"), list(product([False, True], repeat=2)))
def test_lock_programs_hold(persist, correlate):
    variant = {"persist": persist, "correlate": correlate}
    program = load_lp(lock_text(3, **variant), "locks.lp").program
    assert isinstance(check(program, proof_of(program, lock_invariant(3, **variant))), ProofCheck)


@pytest.mark.parametrize(("persist", "correlate"), [(True, False), (False, True), (True, True)])
def test_harder_lock_programs_need_an_invariant(persist, correlate):
    program = load_lp(lock_text(3, persist=persist, correlate=correlate), "locks.lp").program
    assert not isinstance(check(program, proof_of(program, TRUE)), ProofCheck)
