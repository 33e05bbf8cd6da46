"""A new engine is one file and one line: it takes part in `auto`, advice and the contract suite by itself."""

from __future__ import annotations

import importlib.util
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.engines.test_contract import test_definite_answers_are_right_and_checked as contract
from tests.expectations import all_expected

from certus import Settings, Unknown, verify
from certus.core.accounting import Budget, Statistics
from certus.core.engine import Engine, NoOptions, Task, kind_of
from certus.core.evidence import Safe, Unsafe
from certus.engines.registry import ENGINES
from certus.frontend.lp.load import load_lp
from certus.run.advice import advise
from certus.run.schedule import turns

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
FILE = '''
"""The engine `toy`: says that programs without inner loop heads are safe, which the check may refuse."""

from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import PROGRAMS, Engine, NoOptions, Slot
from certus.core.evidence import Inductive, Trace
from certus.core.loops import loop_forest
from certus.core.evidence import Safe, Unknown, Unsafe


class Toy(Engine[NoOptions]):
    """The engine `toy`."""

    name = "toy"
    summary = "for programs without loops"
    evidence = (Inductive, Trace)
    schedule = dict.fromkeys(PROGRAMS, Slot(15, 0.5))

    def run(self, task, options, budget, statistics):
        program = task.subject
        ANSWER
'''
HONEST = """\
if program.errors or loop_forest(program.procedures[program.main]).loops:
            return Unknown(Diagnostic("toy-is-small", "the program has errors or loops", Severity.NOTE))
        return Safe(Inductive({}))"""
LIES = {
    "a proof of everything": "return Safe(Inductive({}))",
    "an error without a way": "return Unsafe(Trace(program.errors[0].location.name))",
}
NOTHING_TO_FIND = "void main() { int x = *; x = x + 1; }"
FAILS = "void main() { int x = *; assert(x != 5); }"
HOLDS = "void main() { int x = *; assume(x > 3); while (*) { x = x + 1; } assert(x > 2); }"


def satisfy_contract() -> None:
    for expected in all_expected():
        contract("toy", expected, "large")


def load(path: Path, class_name: str) -> Engine[NoOptions]:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    engine = getattr(module, class_name)()
    assert isinstance(engine, Engine)
    return engine


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Callable[[str], Engine[NoOptions]]]:
    before = dict(ENGINES)

    def register(answer: str) -> Engine[NoOptions]:
        path = tmp_path / "toy.py"
        path.write_text(FILE.replace("ANSWER", answer))
        ENGINES["toy"] = load(path, "Toy")
        return ENGINES["toy"]

    yield register
    ENGINES.clear()
    ENGINES.update(before)


def test_it_has_a_turn(toy: Callable[[str], Engine[NoOptions]]) -> None:
    toy(HONEST)
    kind = kind_of(load_lp(HOLDS, "x.lp").program)
    assert [turn.engine for turn in turns(Settings(), 2, kind)][2] == "toy"


def test_it_answers_in_auto(toy: Callable[[str], Engine[NoOptions]], tmp_path: Path) -> None:
    ENGINES.clear()
    toy(HONEST)
    path = tmp_path / "x.lp"
    path.write_text(NOTHING_TO_FIND)
    outcome = verify(path, Settings(timeout=60))
    assert (outcome.answer, outcome.engine) == ("HOLDS", "toy")


def test_its_reason_is_part_of_the_advice(toy: Callable[[str], Engine[NoOptions]], tmp_path: Path) -> None:
    toy(HONEST)
    path = tmp_path / "x.lp"
    path.write_text(HOLDS)
    outcome = verify(path, Settings(engine="toy", timeout=60))
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "toy-is-small"
    assert outcome.verdict.reason.hint == "try --engine auto"
    others = [name for name in ENGINES if name != "toy"]
    hint = advise([verify(path, Settings(engine="random"))], Settings(engines=tuple(others))).verdict
    assert isinstance(hint, Unknown)
    assert "toy" in (hint.reason.hint or "")


def test_it_passes_the_contract(toy: Callable[[str], Engine[NoOptions]]) -> None:
    toy(HONEST)
    satisfy_contract()


@pytest.mark.parametrize("lie", LIES)
def test_one_that_lies_is_caught(lie: str, toy: Callable[[str], Engine[NoOptions]], tmp_path: Path) -> None:
    engine = toy(LIES[lie])
    path = tmp_path / "x.lp"
    path.write_text(FAILS if "proof" in lie else HOLDS)
    outcome = verify(path, Settings(engine=engine.name, timeout=60))
    assert not isinstance(outcome.verdict, Safe | Unsafe)
    with pytest.raises(AssertionError):
        satisfy_contract()


def test_the_engine_of_the_recipe_works(tmp_path: Path) -> None:
    recipe = re.search(
        r"This engine is complete:\n\n(.*?)\n\n2\. Add", CONTRIBUTING.read_text(encoding="utf-8"), re.DOTALL
    )
    assert recipe is not None
    path = tmp_path / "trivial.py"
    path.write_text(textwrap.dedent(recipe[1]))
    engine = load(path, "Trivial")
    answers = [
        engine.run(Task(load_lp(text, "x.lp").program), NoOptions(), Budget(), Statistics())
        for text in (NOTHING_TO_FIND, FAILS)
    ]
    assert [type(answer) for answer in answers] == [Safe, Unknown]
