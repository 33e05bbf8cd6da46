"""k-induction: the k needed, facts that lower it, counterexamples of the base, what it leaves to others."""

from __future__ import annotations

from certus.core import build
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Task
from certus.core.evidence import KInductive, Point, Safe, Unknown, Unsafe, Verdict
from certus.core.loops import loop_forest
from certus.core.outcome import ProofCheck, Replay
from certus.core.program import Program
from certus.engines.kind import KInduction, Options
from certus.frontend.lp.load import load_lp
from certus.passes.large_blocks import LargeBlocks
from certus.run.publish import examine


def answered(text: str, k: int = 10, fact: str | None = None) -> Verdict:
    """The verdict, after its evidence was checked; `fact` is of the variable x at every loop head."""
    program = load_lp(text, "test.lp").program
    task, back = LargeBlocks("large").apply(Task(program))
    assert isinstance(task.subject, Program)
    if fact is not None:
        main = task.subject.procedures["main"]
        x = next(v for v in main.variables if v.name == "main.x")
        facts = {Point(at): build.ge(x, build.integer(int(fact))) for at in loop_forest(main).heads}
        task = Task(task.subject, task.property_name, facts)
    verdict = back.verdict(KInduction().run(task, Options(k), Budget(60), Statistics()))
    if not isinstance(verdict, Unknown):
        check = examine(program, verdict, budget=Budget(60), statistics=Statistics())
        assert isinstance(check, ProofCheck if isinstance(verdict, Safe) else Replay), check
    return verdict


AWAY = """
void main() {
    int x = 0;
    while (*) {
        if (x == 9) { x = 10; } else { if (x > 0) { x = x - 1; } }
        assert(x != 10);
    }
}
"""  # from 9 on it would fail, and what is above 9 comes down to it, however long ago it started


def test_the_least_k_is_found() -> None:
    verdict = answered("void main() { int x = 0; while (*) { x = 1 - x; assert(x == 0 || x == 1); } }")
    assert isinstance(verdict, Safe)
    assert isinstance(verdict.proof, KInductive)
    assert verdict.proof.k == 2


def test_what_is_not_inductive_is_given_up_at_the_k_asked_for() -> None:
    unknown = answered(AWAY, k=4)
    assert isinstance(unknown, Unknown)
    assert unknown.reason.code == "k-reached"


def test_facts_make_it_inductive() -> None:
    body = "if (x > 7) { x = x - 1; } else { x = x + 1; } assert(x != 0);"
    text = f"void main() {{ int x = 5; while (*) {{ {body} }} }}"
    assert isinstance(answered(text, k=3), Unknown)
    proved = answered(text, k=3, fact="5")
    assert isinstance(proved, Safe)


def test_the_base_finds_violations() -> None:
    text = "void main() { int x = 0; while (x < 100) { bool b = *; if (b) { x = x + 3; } assert(x != 9); } }"
    assert isinstance(answered(text), Unsafe)


def test_recursion_is_left_to_others() -> None:
    recursive = "int f(int n) { int r = 0; if (n > 0) { r = f(n - 1); } return r; }"
    unknown = answered(f"{recursive} void main() {{ int x = f(3); assert(x == 0); }}")
    assert isinstance(unknown, Unknown)
    assert unknown.reason.code == "calls-left"
