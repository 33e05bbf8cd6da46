"""The comparison of real tasks: which differences between runs count, and which are discarded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.laws.c_tasks import Result, TaskComparison, compare_program

from certus.frontend import load_question, read_question

DECLARED = """
extern int __VERIFIER_nondet_int(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_assume(int);
extern void abort(void);
extern void exit(int);
extern int unknown(void);
void reach_error(void) { }
"""
TASK = """
static int sum, seen[4];
static short note(int x) { sum += x; seen[x & 3]++; return x; }
int main(void) {
  for (int i = 0; i < 5 || __VERIFIER_nondet_bool(); i++) note(__VERIFIER_nondet_int());
  return sum;
}
"""


def compared(directory: Path, text: str, *, old: str = "", new: str = "") -> list[TaskComparison]:
    """The comparisons for a program, in which the compiled one has `new` for `old`."""
    path = directory / "task.c"
    path.write_text(DECLARED + text)
    question = read_question(path)
    program = load_question(question).program
    changed = replace(program, source=program.source.replace(old, new) if old else program.source)
    return compare_program(question, changed, 0)


def test_equal_programs_agree(tmp_path: Path) -> None:
    found = compared(tmp_path, TASK)
    assert [(one.result, one.end) for one in found] == [(Result.AGREED, "main returned")] * 3
    assert all(one.events > 20 for one in found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sum += x", "sum -= x"),  # a global integer
        ("seen[x & 3]++", "seen[x & 3]--"),  # a global array
        ("return sum", "return sum + 1"),  # the result
        ("i < 5", "i < 6"),  # the number of inputs
        ("note(__V", "(__V"),  # calls
        ("return sum", "abort()"),  # the end
    ],
)
def test_a_difference_is_seen(old: str, new: str, tmp_path: Path) -> None:
    found = compared(tmp_path, TASK, old=old, new=new)
    assert {one.result for one in found} == {Result.DIFFERING}


@pytest.mark.parametrize(
    ("body", "result", "end"),
    [
        ("reach_error();", Result.AGREED, "error"),
        ("exit(3);", Result.AGREED, "abort or exit"),
        ("__VERIFIER_assume(0);", Result.AGREED, "an assumption failed"),
        ("for (;;) __VERIFIER_nondet_int();", Result.AGREED, "inputs exhausted"),
        ("for (volatile int i = 0;; i++) ;", Result.LIMIT, "step limit"),
        ("int n = __VERIFIER_nondet_bool() + 32; return 1 << n;", Result.UNDEFINED, "undefined behaviour"),
        ("int *p = 0; return *p;", Result.UNDEFINED, "undefined behaviour"),
        ("if (unknown()) abort();", Result.UNDETERMINED, "it depends on what nothing determines"),
    ],
)
def test_ends_are_told_apart(body: str, result: Result, end: str, tmp_path: Path) -> None:
    found = compared(tmp_path, f"int main(void) {{ {body} return 0; }}")
    assert {(one.result, one.end) for one in found} == {(result, end)}
