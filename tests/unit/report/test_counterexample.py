"""Steps as a user reads them, and that all reports say the same of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from certus import Settings, verify
from certus.check.replay.replay import replay
from certus.core.accounting import Budget
from certus.core.evidence import Trace, Unsafe
from certus.core.outcome import Outcome, Replay
from certus.core.program import Havoc
from certus.core.vocabulary import ARGUMENT_BYTE, ARGUMENT_LENGTH
from certus.frontend import load
from certus.report.counterexample import counterexample
from certus.report.html.page import render_html
from certus.report.json import outcome_json
from certus.report.sarif import sarif_log
from certus.report.text import render_text

HEADER = """\
static int clamp(int *where, int high) {
    if (*where > high)
        *where = high;
    return *where;
}
"""
SOURCE = """\
#include <assert.h>
#include "limits_of_ours.h"
extern int __VERIFIER_nondet_int(void);
struct queue { int items[4]; unsigned n; int *last; };
static struct queue q;
static int sum(int n) { return n > 0 ? n + sum(n - 1) : 0; }
static void put(struct queue *self, int item) {
    self->items[self->n % 4 + 1] = item;
    self->last = &self->items[self->n];
    self->n++;
}
int main(void) {
    int unused[2] = {4, 5};
    int x = __VERIFIER_nondet_int();
    int y = clamp(&x, 3);
    y = y + 0;
    put(&q, sum(y));
    int *p = 0;
    assert(q.items[1] != 6 || p != 0);
    return unused[0];
}
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    directory = tmp_path_factory.mktemp("steps")
    (directory / "limits_of_ours.h").write_text(HEADER)
    (directory / "put.c").write_text(SOURCE)
    program = load(directory / "put.c").program
    inputs = {e.index: ((7,),) for e in program.edge.values() if isinstance(e.op, Havoc) and e.op.function}
    trace = Trace(program.errors[0].location.name, inputs=inputs)
    check = replay(program, trace, budget=Budget())
    assert isinstance(check, Replay)
    return Outcome(program, "unreach-call", Unsafe(trace), "bmc", check, seconds={"total": 0.5})


def test_pointers_and_memory_have_names(outcome: Outcome) -> None:
    text = render_text(outcome, full_trace=True)
    for effect in (
        "where = &x",
        "self = &q",
        "q.items[1] = 6",
        "q.last = &q",
        "q.n = 1",
        "p = NULL",
        "x = 3",
    ):
        assert f" {effect}" in text
    assert "65536" not in text


def test_an_initialiser_is_an_assignment(outcome: Outcome) -> None:
    lines = render_text(outcome, full_trace=True).splitlines()
    said = [re.split(r"  +", line.strip())[1:] for line in lines if "unused" in line]
    assert said == [["unused[0] = 4"] * 2, ["unused[1] = 5"] * 2]


def test_a_branch_says_which_values_decided_it(outcome: Outcome) -> None:
    lines = render_text(outcome).splitlines()
    (claim,) = (line for line in lines if "assert(" in line and "false" in line)
    assert "false, as q.items[1] = 6, p = NULL" in claim
    assert claim.endswith("(the violated claim)")


def test_a_step_in_a_header_says_what_it_does(outcome: Outcome) -> None:
    lines = render_text(outcome).splitlines()
    (branch, store, result) = (line for line in lines if line.startswith("limits_of_ours.h:"))
    assert re.match(r"limits_of_ours.h:2 +x > high +true, as x = 7, high = 3 ", branch) or re.match(
        r"limits_of_ours.h:2 +high < x +true, as high = 3, x = 7 ", branch
    )
    assert "x = 3" in store
    assert "returns 3" in result
    assert not any("(start)" in line for line in lines)
    assert any("line 2 of limits_of_ours.h)" in line for line in lines)


def test_values_of_expressions_and_values_that_stay(outcome: Outcome) -> None:
    text = render_text(outcome, full_trace=True)
    assert " returns 6 " in text
    assert "still y = 3" in text
    assert "gives q.items[1] the value read at line 19" in text


def test_counts_are_of_what_is_listed(outcome: Outcome) -> None:
    for full in (False, True):
        lines = render_text(outcome, full_trace=full).splitlines()
        said = re.fullmatch(r"counterexample, ([0-9]+) steps, ([0-9]+) of which matter:", lines[1])
        assert said is not None
        listed = [line for line in lines[2:] if re.match(r" *(limits_of_ours.h:)?\d+  \S* *", line)]
        listed = [line for line in listed if not re.match(r" *\d+ \|", line)]
        folded = [
            int(n)
            for line in lines
            if (n := line.strip(" .").split(" ")[0]) and line.strip().startswith("...")
        ]
        assert len(listed) + sum(folded) == int(said[1])
        assert sum(line.endswith(")") and "  (" in line for line in listed) == int(said[2])


def test_all_reports_have_the_same_steps(outcome: Outcome) -> None:
    found = counterexample(outcome)
    assert found is not None
    (result,) = sarif_log(outcome, exit_code=1)["runs"][0]["results"]
    (flow,) = result["codeFlows"][0]["threadFlows"]
    said = outcome_json(outcome)["trace"]
    page = render_html(outcome)
    numbers = [move.number for move in found.moves]
    assert [step["executionOrder"] - 1 for step in flow["locations"]] == numbers
    assert [step["number"] for step in said["head"]] == numbers
    assert len(re.findall(r'<li role="option"', page)) == len(numbers) == found.steps
    assert f"after {found.steps} steps." in result["message"]["text"]
    assert f"{found.steps} steps, {found.matter} of which matter" in page
    essential = [step for step in flow["locations"] if step["importance"] == "essential"]
    assert len(essential) == found.matter == sum(step["reason"] is not None for step in said["head"])
    for move, one, other in zip(found.moves, flow["locations"], said["head"], strict=True):
        changes = [(change.name, change.value) for change in move.scene.changes]
        assert [(v["name"], v["value"]) for v in other["shown"]] == changes
        assert {name: text["text"] for name, text in one.get("state", {}).items()} == dict(changes)
        assert (other["branch"], other["depth"]) == (move.branch, one["nestingLevel"])


def test_the_frame_around_main_is_not_shown(outcome: Outcome) -> None:
    (result,) = sarif_log(outcome, exit_code=1)["runs"][0]["results"]
    (frame,) = result["stacks"][0]["frames"]
    assert frame["location"]["logicalLocations"] == [{"name": "main", "kind": "function"}]
    assert "$" not in json.dumps(result)


def test_of_what_happens_around_main_the_initialisers_and_calls_are_shown(tmp_path: Path) -> None:
    """The frame that calls `main`, and models of library functions, are procedures of ours."""
    source = tmp_path / "around.c"
    source.write_text(
        """#include <assert.h>
#include <string.h>
int first = 3, *there = &first;
char word[4];
__attribute__((constructor)) static void before(void) { first = 4; }
int main(int argc, char **argv) {
    strcpy(word, "abc");
    assert(*there != 4 || word[1] != 'b');
    return 0;
}
"""
    )
    program = load(source).program
    trace = Trace(program.errors[0].location.name)
    check = replay(program, trace, budget=Budget())
    assert isinstance(check, Replay)
    found = Outcome(program, "unreach-call", Unsafe(trace), "bmc", check, seconds={"total": 0.5})
    shown = counterexample(found)
    assert shown is not None
    around = {program.edge[step.edge].source.procedure for step in check.kept}
    assert len([name for name in around if name.startswith("$")]) >= 2
    told = [move.statement for move in shown.moves]
    assert told[:4] == ["first = 3", "int *there = &first", "before()", "first = 4"]
    assert not [words for words in told if "$" in words or words == '"abc"']
    assert {move.span.line for move in shown.moves if move.span} <= set(range(3, 10))


def test_an_argument_of_the_program_is_one_step(tmp_path: Path) -> None:
    """Its inputs, a length and characters, are shown as a string."""
    path = tmp_path / "arguments.c"
    path.write_text(
        "#include <assert.h>\n"
        "int main(int argc, char **argv) {\n"
        "    if (argc > 1) assert(argv[1][1] != 7);\n"
        "    return 0;\n"
        "}\n"
    )
    program = load(path).program
    values = {"": ((2,),), ARGUMENT_LENGTH: ((0,), (2,)), ARGUMENT_BYTE: ((34,), (7,))}
    edges = [e for e in program.edge.values() if isinstance(e.op, Havoc) and (e.text or e.op.function)]
    inputs = {e.key: values[e.op.function or ""] for e in edges if isinstance(e.op, Havoc)}
    trace = Trace(program.errors[0].location.name, inputs=inputs)
    check = replay(program, trace, budget=Budget())
    assert isinstance(check, Replay)
    shown = counterexample(Outcome(program, "unreach-call", Unsafe(trace), "bmc", check))
    assert shown is not None
    steps = [(move.statement, move.effect) for move in shown.moves]
    assert steps[:3] == [("argc", "= 2"), ("argv[0]", '= ""'), ("argv[1]", '= "\\"\\007"')]
    assert steps[-1] == ("assert(argv[1][1] != 7)", "false, as argv[1][1] = 7")


def test_the_inputs_of_a_library_function_are_one_step(tmp_path: Path) -> None:
    path = tmp_path / "line.c"
    path.write_text(
        "#include <assert.h>\n#include <stdio.h>\n"
        "int main(void) { char b[4]; if (fgets(b, 4, stdin)) assert(b[1] == 7 || b[1] == 0); }\n"
    )
    outcome = verify(path, Settings(property_name="unreach-call", engine="random", timeout=60, execute=False))
    shown = counterexample(outcome)
    assert shown is not None
    (read,) = [move for move in shown.moves if move.span is None and move.statement == "*"]
    assert len(read.changes) > 1
    assert read.effect == f"= {', '.join(str(value) for _, value in read.changes)}"


def test_an_input_that_decides_a_branch_is_a_star(tmp_path: Path) -> None:
    """The small language: the input has no variable, so its internal name does not appear."""
    path = tmp_path / "unknown.lp"
    path.write_text("void main() {\n    if (unknown) { assume(true); } else { assert(false); }\n}\n")
    program = load(path).program
    (read,) = (e for e in program.procedures["main"].edges if isinstance(e.op, Havoc))
    trace = Trace(program.errors[0].location.name, inputs={read.key: ((False,),)})
    check = replay(program, trace, budget=Budget())
    assert isinstance(check, Replay)
    found = counterexample(Outcome(program, "unreach-call", Unsafe(trace), "bmc", check))
    assert found is not None
    assert "false, as * = false" in [move.effect for move in found.moves]


def steps_of(path: Path, text: str, kind: str = "assert") -> list[tuple[str, str]]:
    """Verify a program with random runs; return its statements and effects."""
    path.write_text(text)
    outcome = verify(path, Settings(checks=(kind,), engine="random", timeout=60, execute=False))
    shown = counterexample(outcome)
    assert shown is not None
    return [(move.statement, move.effect) for move in shown.moves]


def test_a_branch_shows_what_was_read_not_what_is_there_now(tmp_path: Path) -> None:
    text = """extern int __VERIFIER_nondet_int(void); void reach_error(void); int t[2] = {1, 2};
        int main(void) { int i = __VERIFIER_nondet_int(); if (i < 0 || i > 1) return 0;
        int b = t[i]; t[i] = 77; if (b < 5 && t[i]++ == 77) reach_error(); }"""
    effects = [effect for _, effect in steps_of(tmp_path / "p.c", text)]
    assert "true, as b = 1" in effects
    assert "true, as t[0] = 77" in effects


def test_what_c_leaves_open_is_no_step(tmp_path: Path) -> None:
    """By how much `isalpha` exceeds 0 is open; that is not its result."""
    text = "#include <assert.h>\n#include <ctype.h>\nextern int __VERIFIER_nondet_int(void);\n"
    text += (
        "int main(void) { int c = __VERIFIER_nondet_int() ? 'x' : 'y'; if (isalpha(c)) assert(c > 120); }\n"
    )
    steps = steps_of(tmp_path / "letter.c", text)
    assert ("if (isalpha(c))", "true, as c = 120") in steps
    assert "*" not in dict(steps)


def test_a_stored_input_is_one_step(tmp_path: Path) -> None:
    text = "#include <assert.h>\n#include <stdio.h>\n"
    text += 'int main(void) { int n; if (scanf("%d", &n) == 1) assert(n != 1); }\n'
    assert steps_of(tmp_path / "number.c", text)[:2] == [
        ('scanf("%d", &n)', "= 1"),
        ('scanf("%d", &n)', "n = 1"),
    ]


def test_floating_point_numbers_on_the_heap(tmp_path: Path) -> None:
    text = "#include <stdlib.h>\nint main(void) { double *p = malloc(16); p[1] = 1.0;\n"
    text += "    int quotient = 10 / (int)(p[1] - 1); free(p); return quotient; }\n"
    path = tmp_path / "heap.c"
    path.write_text(text)
    outcome = verify(path, Settings(checks=("division",), engine="execution", timeout=60, execute=False))
    shown = counterexample(outcome)
    assert shown is not None
    assert shown.moves[-1].effect == "false, as malloc#1[1] = 1.0"
