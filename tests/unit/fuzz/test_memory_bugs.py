"""Programs with memory bugs: the generator, and a campaign that must notice wrong answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from certus.core.outcome import Outcome
from certus.fuzz.memory import campaign as module
from certus.fuzz.memory.campaign import Campaign, Disagreement
from certus.fuzz.memory.scenes import BUGS, MemoryProgram, random_program
from certus.run.settings import Settings
from certus.run.verify import verify


def campaign(tmp_path: Path, seed: int = 2) -> Campaign:
    return Campaign(seed, 5.0, lambda _: None, tmp_path / "state")


def program_with(bug: str, scenes: int = 1) -> MemoryProgram:
    programs = (random_program(3, number) for number in range(1000))
    return next(each for each in programs if each.bug == bug and len(each.scenes) == scenes)


def test_all_kinds_of_bugs_are_generated() -> None:
    programs = [random_program(1, number) for number in range(200)]
    assert Counter(each.bug for each in programs).keys() == BUGS.keys()
    assert {each.model for each in programs} == {"LP64", "ILP32"}
    assert all(each.text(broken=True) != each.text(broken=False) for each in programs)
    assert programs == [random_program(1, number) for number in range(200)]


def test_certus_agrees_with_the_sanitized_program(tmp_path: Path) -> None:
    run = campaign(tmp_path)
    assert list(run.run(seconds=300, programs=3)) == []
    assert run.counts["programs"] == 3
    assert run.counts["agreed"] >= 1


def test_a_run_continues_where_the_last_one_ended(tmp_path: Path) -> None:
    first = campaign(tmp_path)
    first.next, first.counts["programs"] = 5, 5
    first.save()
    second = campaign(tmp_path)
    assert second.resume()
    assert (second.next, second.counts["programs"]) == (5, 5)
    assert not campaign(tmp_path / "elsewhere").resume()


def test_a_bug_that_is_not_found_is_a_disagreement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "interpreted", lambda program, inputs: "no error")
    found = campaign(tmp_path).examine(program_with("overflow"))
    assert isinstance(found, Disagreement)
    assert (found.source, found.answer, found.expected) == ("interpreter", "no error", "valid-deref")
    text = found.save(tmp_path, 1).read_text()
    assert text.startswith("/* interpreter (")
    assert text.endswith(found.program.text(broken=True))


def test_a_wrong_verdict_is_a_disagreement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    def mistaken(file: Path, settings: Settings) -> Outcome:
        clean = file.with_name("other.c")
        clean.write_text("int main(void) { return 0; }\n")
        return verify(clean, settings)

    monkeypatch.setattr(module, "verify", mistaken)
    found = campaign(tmp_path).examine(program_with("use-after-scope"))
    assert isinstance(found, Disagreement)
    assert (found.source, found.broken, found.answer) == ("verify", True, "HOLDS")
