"""Values along a trace: frames, memory, and what is forgotten."""

from __future__ import annotations

from pathlib import Path

from certus.check.replay.replay import replay
from certus.core.accounting import Budget
from certus.core.evidence import Trace, Unsafe
from certus.core.outcome import Outcome, Replay
from certus.core.program import Havoc, Program
from certus.frontend import load
from certus.frontend.lp import load_lp
from certus.report.counterexample import Counterexample, Move, counterexample
from certus.report.html.trace import trace_data

FACTORIAL = """\
int calls = 7;
int down(int n) {
  int m = 0;
  calls = calls + 1;
  if (n > 0) {
    m = down(n - 1);
  }
  return m + n;
}
void main() {
  int r = down(2);
  assert(r != 3);
}
"""
MEMORY = """\
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
struct pair { int left, right; };
static void put(struct pair *p, int v) { p->right = v; }
int main(void) {
  int a[3];
  struct pair s;
  for (int i = 0; i < 3; i++)
    a[i] = i * 2;
  s.left = 1;
  put(&s, a[2]);
  assert(s.left + s.right == a[1]);
}
"""


def outcome(program: Program, trace: Trace, **kept: int) -> Outcome:
    check = replay(program, trace, budget=Budget(), **kept)
    assert isinstance(check, Replay)
    return Outcome(program, "unreach-call", Unsafe(trace), "bmc", check)


def read(made: Outcome) -> Counterexample:
    found = counterexample(made)
    assert found is not None
    return found


def error(program: Program) -> str:
    return program.errors[0].location.name


def steps_at(moves: tuple[Move, ...], line: int) -> list[Move]:
    return [move for move in moves if move.span is not None and move.span.line == line]


class TestFrames:
    program = load_lp(FACTORIAL, "down.lp").program
    moves = read(outcome(program, Trace(error(program)))).moves

    def test_the_stack_names_the_calls(self) -> None:
        deepest = max(self.moves, key=lambda move: len(move.scene.stack))
        stack = [(name, None if place is None else place.line) for name, place in deepest.scene.stack]
        assert stack == [("main", None), ("down", 11), ("down", 6), ("down", 6)]

    def test_parameters_belong_to_the_new_frame(self) -> None:
        (call,) = steps_at(self.moves, 11)
        assert [(c.scope, c.name, c.value) for c in call.scene.changes] == [(1, "n", "2")]

    def test_what_a_call_returns_belongs_to_the_caller(self) -> None:
        """The procedure calls itself: `m` of the caller is written, not that of the callee."""
        returned = [c for move in steps_at(self.moves, 8) for c in move.scene.changes if c.name in ("m", "r")]
        assert [(c.scope, c.name, c.value) for c in returned] == [(2, "m", "0"), (1, "m", "1"), (0, "r", "3")]

    def test_globals_start_with_their_values(self) -> None:
        found = trace_data(self.program, read(outcome(self.program, Trace(error(self.program)))))
        assert found["initially"] == [[-1, "calls", "calls", "7"]]

    def test_a_branch_says_which_values_decided_it(self) -> None:
        assert [move.scene.because for move in steps_at(self.moves, 5)] == [
            (("n", "2"),),
            (("n", "1"),),
            (("n", "0"),),
        ]


def test_memory(tmp_path: Path) -> None:
    (tmp_path / "pair.c").write_text(MEMORY)
    program = load(tmp_path / "pair.c").program
    moves = read(outcome(program, Trace(error(program)))).moves
    changes = [(c.name, c.value) for move in moves for c in move.scene.changes]
    assert ("a[2]", "4") in changes
    assert ("p", "&s") in changes
    assert ("s.right", "4") in changes
    asserted = [move for move in steps_at(moves, 12) if move.branch is not None][-1]
    assert dict(asserted.scene.because) == {"s.left": "1", "s.right": "4", "a[1]": "2"}
    assert max(move.depth for move in moves) == 1
    assert all("$" not in move.statement for move in moves)


def test_where_steps_are_not_kept_nothing_is_known() -> None:
    source = (
        "void main() {\n  int x = 0;\n  int y = *;\n  while (x < 5000) { x = x + 1; }\n  assert(y > 0);\n}\n"
    )
    program = load_lp(source, "long.lp").program
    (havoc,) = (e.index for e in program.edge.values() if isinstance(e.op, Havoc))
    made = outcome(program, Trace(error(program), inputs={havoc: ((-1,),)}))
    moves = read(made).moves
    data = trace_data(program, read(made))
    assert any(step.get("gap") for step in data["steps"])
    assert len(moves) < 5000
    last = moves[-1]
    assert last.branch is False


LIST = """\
#include <assert.h>
#include <stdlib.h>
struct node { int value; struct node *next; };
int main(void) {
  struct node *list = 0;
  for (int i = 0; i < 2; i++) {
    struct node *made = malloc(sizeof *made);
    made->value = i;
    made->next = list;
    list = made;
  }
  int *numbers = malloc(8);
  numbers[1] = list->next->value;
  assert(numbers[1] != 0);
}
"""


def test_the_heap(tmp_path: Path) -> None:
    (tmp_path / "list.c").write_text(LIST)
    program = load(tmp_path / "list.c").program
    moves = read(outcome(program, Trace(error(program)))).moves
    changes = [(c.name, c.value.partition(" (")[0]) for move in moves for c in move.scene.changes]
    assert ("malloc#1.value", "0") in changes
    assert ("malloc#2.value", "1") in changes
    assert ("malloc#2.next", "&malloc#1") in changes
    assert ("list", "&malloc#2") in changes
    assert ("malloc#3[1]", "0") in changes


def test_what_ends_is_gone(tmp_path: Path) -> None:
    source = (
        "#include <assert.h>\n#include <stdlib.h>\n"
        "static int inner(void) { int kept[2]; kept[1] = 5; return kept[1]; }\n"
        "int main(void) {\n  int *p = malloc(4);\n  *p = inner();\n  int v = *p;\n"
        "  free(p);\n  assert(v == 4);\n}\n"
    )
    (tmp_path / "ends.c").write_text(source)
    program = load(tmp_path / "ends.c").program
    made = outcome(program, Trace(error(program)))
    memory: dict[str, str] = {}
    seen = []
    for step in trace_data(program, read(made))["steps"]:
        for each in (*step.get("noticed", ()), *step["set"]):
            if isinstance(each, str):
                memory.pop(each, None)
            elif each[0] == -2:
                memory[each[1]] = each[2]
        seen.append(sorted(memory.values()))
    assert ["kept[1]"] in seen
    assert ["malloc#1"] in seen
    assert seen[-1] == []
