"""How contestants are called, and how their answers are read."""

from __future__ import annotations

import json

import pytest

from certus.bench.contestants import (
    Answered,
    Contestant,
    Limits,
    engine_contestant,
    tool_contestant,
    with_patterns,
)
from certus.bench.tasks import BenchTask
from certus.core.errors import InputError
from certus.system.supervise import Ended, Ending

TASK = BenchTask("s/x.yml", "/d/s/x.yml", "/d/s/x y.c", "no-overflow", "ILP32", True, "d")
LIMITS = Limits(20.0, 4_000_000_000, 2)


def ended(output: str, ending: Ending = "exit", wall: float = 1.0) -> Ended:
    return Ended(ending, 0, output, wall, 1.0, 1)


def test_an_engine_of_ours() -> None:
    words = engine_contestant("bmc").command(TASK, LIMITS)
    assert words[1:5] == ["-m", "certus", "verify", "/d/s/x.yml"]
    assert words[-2:] == ["--engine", "bmc"]
    assert words[words.index("--timeout") + 1] == "20s"
    assert words[words.index("--memory") + 1] == "4000000000"
    assert words[words.index("--property") + 1] == "no-overflow"
    small = engine_contestant("small=bmc --blocks single")
    assert (small.name, small.words) == ("small", ("--engine", "bmc", "--blocks", "single"))


def test_an_outside_command_has_its_places_filled_word_by_word() -> None:
    tool = tool_contestant("cbmc=cbmc --{bits} --unwind 3 {file} '{ }' {other}")
    assert tool.command(TASK, LIMITS) == ["cbmc", "--32", "--unwind", "3", "/d/s/x y.c", "{ }", "{other}"]
    assert tool_contestant("t=t {task} {property} {model} {timeout}").command(TASK, LIMITS)[1:] == [
        "/d/s/x.yml",
        "no-overflow",
        "ILP32",
        "20",
    ]


@pytest.mark.parametrize(
    ("output", "answered"),
    [
        ({"verdict": "HOLDS", "engine": "bmc"}, Answered("true", "", "bmc")),
        ({"verdict": "VIOLATED", "engine": "bmc"}, Answered("false", "", "bmc")),
        (
            {"verdict": "VIOLATED", "engine": "bmc", "check": {"kind": "replay", "compiled": "confirmed"}},
            Answered("false", "confirmed", "bmc"),
        ),
        (
            {"verdict": "UNKNOWN", "engine": "bmc", "reason": {"code": "time-limit"}},
            Answered("unknown", "time-limit"),
        ),
        ({"verdict": None, "diagnostics": [{"code": "no-main"}]}, Answered("unknown", "no-main")),
    ],
)
def test_our_answers(output: object, answered: Answered) -> None:
    assert engine_contestant("bmc").read(ended(f"a warning\n{json.dumps(output)}\n"), LIMITS) == answered


@pytest.mark.parametrize("output", ["", "Traceback {\nError: it\n", '{"verdict": null}', '{"verdict": "HOL'])
def test_a_crash_of_ours_is_no_answer(output: str) -> None:
    answered = engine_contestant("bmc").read(ended(output), LIMITS)
    assert answered.answer == "unknown"
    assert answered.reason.startswith("crashed: ")


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ("bla\nVERIFICATION SUCCESSFUL\n", "true"),
        ("** VERIFICATION FAILED", "false"),
        ("sat\n(model)", "true"),
        ("unsat\n", "false"),
        ("TRUE\nFALSE\n", "unknown"),
        ("the claim is TRUE", "unknown"),
        ("", "unknown"),
    ],
)
def test_answers_of_others(output: str, answer: str) -> None:
    assert tool_contestant("t=t {file}").read(ended(output), LIMITS).answer == answer


def test_expressions_of_the_user() -> None:
    tools = [tool_contestant("t=t {file}"), tool_contestant("u=u {file}")]
    first, second = with_patterns(tools, {"t": "yes"}, {"t": "no+"})
    assert first.read(ended("it is nooo"), LIMITS).answer == "false"
    assert second == tools[1]
    assert first.title != tools[0].title


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (ended("TRUE", wall=20.5), "timeout"),
        (ended("TRUE", "timeout", 21.0), "timeout"),
        (ended("TRUE", "memory"), "memory"),
        (Ended("failed", 127, "", 0, 0, 0, "no such file"), "could not be run: no such file"),
    ],
)
def test_an_answer_beyond_the_limits_does_not_count(given: Ended, reason: str) -> None:
    assert tool_contestant("t=t {file}").read(given, LIMITS) == Answered("unknown", reason)


@pytest.mark.parametrize("text", ["t=t", "t {file}", "=t {file}", "t=t '{file}", "t="])
def test_a_tool_that_says_too_little(text: str) -> None:
    with pytest.raises(InputError):
        tool_contestant(text)


def test_what_does_not_fit_together() -> None:
    tool: Contestant = tool_contestant("t=t {file}")
    for contestants, patterns, sentence in (
        ([tool, tool], {}, "two contestants have the name 't'"),
        ([tool], {"u": "x"}, "there is no --tool 'u'"),
        ([tool], {"t": "("}, "is not a regular expression"),
    ):
        with pytest.raises(InputError, match=sentence):
            with_patterns(contestants, patterns, {})
    with pytest.raises(InputError, match="there is no engine 'magic'"):
        engine_contestant("magic")


def test_limits_in_words() -> None:
    assert str(LIMITS) == "20 s, 4 GB, 2 cores"
    assert str(Limits(0.5, None, 1)) == "0.5 s, 1 core"
