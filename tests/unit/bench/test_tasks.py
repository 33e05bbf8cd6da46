"""Which tasks paths lead to."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.bench.tasks import BenchTask, sample, select
from certus.core.errors import InputError

DEFINITION = """format_version: '2.0'
input_files: {name}.c
properties:
  - property_file: {root}/unreach-call.prp
    expected_verdict: true
  - property_file: {root}/no-overflow.prp
    expected_verdict: false
  - property_file: {root}/termination.prp
options: {{language: C, data_model: ILP32}}
"""


@pytest.fixture
def suites(tmp_path: Path) -> Path:
    formulas = {
        "unreach-call": "G ! call(reach_error())",
        "no-overflow": "G ! overflow",
        "termination": "F end",
    }
    for name, formula in formulas.items():
        (tmp_path / f"{name}.prp").write_text(f"CHECK( init(main()), LTL({formula}) )\n")
    for name in ("s/a", "s/b", "t/c"):
        file = tmp_path / f"{name}.yml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(DEFINITION.format(name=file.stem, root=tmp_path))
        file.with_suffix(".c").write_text("int main(void) { return 0; }\n")
    return tmp_path


def found(tasks: tuple[BenchTask, ...] | list[BenchTask]) -> list[tuple[str, str, bool | None]]:
    return [(Path(task.name).stem, task.property_name, task.expected) for task in tasks]


def test_a_definition_asks_for_each_property_that_is_supported(suites: Path) -> None:
    (first, second) = select([suites / "s/a.yml"]).tasks
    assert found([first, second]) == [("a", "unreach-call", True), ("a", "no-overflow", False)]
    assert first.data_model == "ILP32"
    assert first.program == str(suites / "s/a.c")


def test_a_directory_has_all_definitions_below(suites: Path) -> None:
    selection = select([suites], ["unreach-call"])
    assert [name for name, *_ in found(selection.tasks)] == ["a", "b", "c"]
    assert selection.skipped == ()


def test_a_directory_without_definitions_has_programs(tmp_path: Path) -> None:
    for name in ("a.c", "b.lp", "c.smt2", "d.txt"):
        (tmp_path / name).write_text("")
    names = [("a", "unreach-call", None), ("b", "unreach-call", None), ("c", "check-sat", None)]
    assert found(select([tmp_path]).tasks) == names
    assert found(select([tmp_path], ["no-overflow"]).tasks) == [
        ("a", "no-overflow", None),
        ("b", "no-overflow", None),
    ]


def test_a_set_has_patterns_and_comments(suites: Path) -> None:
    listed = suites / "all.set"
    listed.write_text("# both suites\ns/*.yml  # the first\n\nt/c.yml\n")
    assert [name for name, *_ in found(select([listed, suites / "s"], ["no-overflow"]).tasks)] == [
        "a",
        "b",
        "c",
    ]
    listed.write_text("s/*.yml\nu/*.yml\n")
    with pytest.raises(InputError, match=r"all\.set:2: no file matches u/\*\.yml"):
        select([listed])


def test_what_cannot_be_read_is_skipped_among_many_and_refused_alone(suites: Path) -> None:
    (suites / "s/b.c").unlink()
    selection = select([suites], ["unreach-call"])
    assert [name for name, *_ in found(selection.tasks)] == ["a", "c"]
    (sentence,) = selection.skipped
    assert "There is no input file" in sentence
    with pytest.raises(InputError, match="There is no input file"):
        select([suites / "s/b.yml"])


def test_paths_that_lead_nowhere(suites: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        select([suites / "none.c"])
    with pytest.raises(InputError, match="there is no task"):
        select([suites], ["no-div-zero"])


def test_the_digest_is_of_the_program_too(suites: Path) -> None:
    before = select([suites / "s/a.yml"]).tasks[0].digest
    (suites / "s/a.c").write_text("int main(void) { return 1; }\n")
    assert select([suites / "s/a.yml"]).tasks[0].digest != before


def test_a_sample_takes_from_each_directory_in_turn(suites: Path) -> None:
    tasks = select([suites], ["unreach-call"]).tasks
    two = sample(tasks, 2, seed=1)
    assert sorted(Path(task.name).parent.name for task in two) == ["s", "t"]
    assert sample(tasks[::-1], 2, seed=1) == two
    assert len(sample(tasks, 100, seed=1)) == 3
