"""The program as one graph: what calls and returns become, what is refused, and the way back."""

from __future__ import annotations

from certus.check.proofs.check import check_proof
from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import Inductive, Point, Trace, in_frame
from certus.core.outcome import ProofCheck
from certus.core.program import Assume, Call, Havoc, Program
from certus.core.walk import variables
from certus.frontend.lp.load import load_lp
from certus.reference.unique_inlining import Merged, UniqueInlining, merge

TWICE = """
int g = 0;
int add(int k) { return k + 1; }
void main() { int x = *; int y; assume(x >= 0); y = add(x); x = add(y); assert(x >= 2); }
"""

DEEP = """
int g = 0;
void down(int n) { g = g + 1; if (n > 0) { down(n - 1); } }
void main() { int k = *; assume(k >= 0); down(k); assert(g >= 1); }
"""


def program(text: str) -> Program:
    return load_lp(text, "test.lp").program


def one(text: str) -> Merged:
    merged = merge(program(text))
    assert merged is not None
    return merged


def test_each_procedure_is_there_once() -> None:
    before = program(TWICE)
    merged = one(TWICE)
    graph = merged.program.procedures["main"]
    assert list(merged.program.procedures) == ["main"]
    assert not any(isinstance(e.op, Call) for e in graph.edges)
    original = [at.index for p in before.procedures.values() for at in p.locations]
    assert sorted(at.index for at in merged.home.values()) == sorted(original)
    leaving = [e.op for e in graph.edges if e.source.index == before.procedures["add"].exit.index]
    assert len(leaving) == 2
    assert all(isinstance(op, Assume) and "$return" in str(variables(op.condition)) for op in leaving)


def test_a_single_call_needs_no_return_variable() -> None:
    text = "int f(int k) { return k; } void main() { int x = 1; x = f(x); assert(x == 1); }"
    assert not any(
        "$" in x.name and "return" in x.name for x in one(text).program.procedures["main"].variables
    )


def test_a_program_that_calls_main_is_refused() -> None:
    text = "int g = 0; void main() { g = g + 1; if (g < 3) { main(); } }"
    task = Task(program(text))
    assert merge(program(text)) is None
    assert UniqueInlining().apply(task)[0] is task


def test_recursion_adds_inputs_that_a_trace_loses() -> None:
    merged = one(DEEP)
    added = [e for e in merged.program.edge.values() if isinstance(e.op, Havoc)]
    added = [e for e in added if e.index not in merged.before.edge]
    assert added
    error = merged.program.errors[0].location
    inputs = {e.index: ((0,),) for e in merged.program.edge.values() if isinstance(e.op, Havoc)}
    trace = merged.refutation(Trace(error.name, {}, inputs))
    assert isinstance(trace, Trace)
    assert trace.error == merged.before.errors[0].location.name
    assert set(trace.inputs) == set(inputs) - {e.index for e in added}


def test_a_formula_is_one_for_every_call_string() -> None:
    merged = one(TWICE)
    exit = merged.before.procedures["add"].exit
    at = next(new for new, old in merged.home.items() if old is exit)
    k = next(x for x in merged.before.procedures["add"].variables if x.name == "add.k")
    came = merged.returns["add"]
    calls = [e for e in merged.before.procedures["main"].edges if isinstance(e.op, Call)]
    first = build.eq(came, build.integer(calls[0].index))
    formula = build.implies(first, build.eq(merged.names[k], build.integer(7)))
    formulas = merged.formulas({Point(at): formula})
    inner = in_frame(k, 1)
    assert formulas == {
        Point(exit, (calls[0].index,)): build.eq(inner, build.integer(7)),
        Point(exit, (calls[1].index,)): build.TRUE,
    }


def test_facts_about_recursion_are_summaries_that_check() -> None:
    merged = one(DEEP)
    g = merged.before.globals[0]
    positive, natural = build.ge(g, build.integer(1)), build.ge(g, build.integer(0))
    down = merged.before.procedures["down"]
    new = {old: at for at, old in merged.home.items()}
    invariants = {Point(new[down.entry]): natural, Point(new[down.exit]): positive}
    proof = merged.proof(Inductive(invariants))
    assert isinstance(proof, Inductive)
    assert proof.summaries == {"down": positive}
    assert proof.invariants == {Point(down.entry): natural, Point(down.exit): positive}
    check = check_proof(merged.before, proof, budget=Budget(30), statistics=Statistics())
    assert isinstance(check, ProofCheck), check
