"""Task definitions and property files: what they mean, and where they are refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded, InputError, Unsupported
from certus.core.vocabulary import KNOWN, Property, check_supported
from certus.frontend import load, load_question, read_question
from certus.frontend.tasks.properties import property_of, read_property_file
from certus.frontend.tasks.task_files import read_task_file

PROPERTIES = {
    "unreach-call": "CHECK( init(main()), LTL(G ! call(reach_error())) )\n",
    "no-overflow": "CHECK( init(main()), LTL(G ! overflow) )\n",
    "no-div-zero": "CHECK( init(main()), LTL(G ! div-zero) )\n",
    "termination": "CHECK( init(main()), LTL(F end) )\n",
    "no-data-race": "CHECK( init(main()), LTL(G ! data-race) )\n",
    "unreach-label": "CHECK( init(main()), LTL(G ! label(ERROR)) )\n",
    "valid-memcleanup": "CHECK( init(main()), LTL(G valid-memcleanup) )\n",
    "valid-memsafety": "".join(
        f"CHECK( init(main()), LTL(G valid-{part}) )\n" for part in ("free", "deref", "memtrack")
    ),
}
TASK = """\
format_version: '2.0'
input_files: 'prog.c'
properties:
  - property_file: ../properties/termination.prp
    expected_verdict: false
  - property_file: ../properties/unreach-call.prp
    expected_verdict: true
  - property_file: ../properties/valid-memsafety.prp
    expected_verdict: false
    subproperty: valid-deref
options:
  language: C
  data_model: ILP32
"""


def entry(name: str, *lines: str) -> str:
    more = "".join(f"\n    {line}" for line in lines)
    return f"  - property_file: ../properties/{name}.prp{more}\n"


@pytest.fixture
def task(tmp_path: Path) -> Path:
    (tmp_path / "properties").mkdir()
    (tmp_path / "suite").mkdir()
    for name, text in PROPERTIES.items():
        (tmp_path / "properties" / f"{name}.prp").write_text(text)
    (tmp_path / "suite/prog.c").write_text("int main(void) { return 0; }\n")
    path = tmp_path / "suite/task.yml"
    path.write_text(TASK)
    return path


def refusal(path: Path, *, property: str | None = None, data_model: str | None = None) -> Diagnostic:
    with pytest.raises(InputError) as caught:
        read_question(path, property=property, data_model=data_model)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


class TestPropertyFiles:
    @pytest.mark.parametrize("name", PROPERTIES)
    def test_each_formula_is_recognised(self, name: str, task: Path) -> None:
        read = read_property_file(task.parents[1] / "properties" / f"{name}.prp")
        assert read == Property(name, "reach_error" if name == "unreach-call" else None)

    def test_blanks_do_not_matter(self, tmp_path: Path) -> None:
        path = tmp_path / "p.prp"
        path.write_text("\n  CHECK(init(main()),LTL( G!call( stop ( ) ) ))\n\n")
        assert read_property_file(path) == Property("unreach-call", "stop")

    @pytest.mark.parametrize(
        ("text", "code", "line"),
        [
            ("", "bad-property-file", 1),
            ("\nG ! overflow\n", "bad-property-file", 2),
            ("CHECK( init(main()), LTL(G ! overflow)\n", "bad-property-file", 1),
            ("CHECK( init(main()), LTL(G ! boredom) )\n", "unknown-property", 1),
            ("CHECK( init(main()), LTL(G over flow) )\n", "unknown-property", 1),
            (PROPERTIES["no-overflow"] + "\n" + PROPERTIES["termination"], "bad-property-file", 3),
        ],
    )
    def test_what_is_none_is_refused_in_its_line(
        self, text: str, code: str, line: int, tmp_path: Path
    ) -> None:
        path = tmp_path / "p.prp"
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            read_property_file(path)
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.span is not None
        assert (diagnostic.code, diagnostic.span.file, diagnostic.span.line) == (code, str(path), line)

    def test_another_entry_is_not_supported(self, tmp_path: Path) -> None:
        path = tmp_path / "p.prp"
        path.write_text("CHECK( init(task()), LTL(G ! overflow) )\n")
        with pytest.raises(Unsupported) as caught:
            read_property_file(path)
        assert caught.value.diagnostic.code == "unsupported-property"

    def test_names(self) -> None:
        assert set(PROPERTIES) < set(KNOWN)
        assert property_of("no-overflow") == Property("no-overflow")
        for unknown in ("", "overflow", "missing.prp"):
            with pytest.raises(InputError):
                property_of(unknown)

    @pytest.mark.parametrize("name", KNOWN)
    def test_what_is_supported(self, name: str) -> None:
        if name not in ("termination", "check-sat", "no-data-race", "unreach-label"):
            check_supported(Property(name))
            return
        with pytest.raises(Unsupported, match=f"{name} is not supported yet"):
            check_supported(Property(name))


class TestTime:
    def test_the_front_end_keeps_to_its_budget(self, task: Path) -> None:
        question = read_question(task)
        for seconds in (0.0, 0.005):
            with pytest.raises(BudgetExceeded):
                load_question(question, budget=Budget(seconds))
        assert load_question(question, budget=Budget(60)).program.main


class TestTaskFiles:
    def test_a_task(self, task: Path) -> None:
        definition = read_task_file(task)
        assert definition.inputs == (task.parent / "prog.c",)
        assert definition.data_model == "ILP32"
        assert [(each.property.name, each.expected) for each in definition.properties] == [
            ("termination", False),
            ("unreach-call", True),
            ("valid-memsafety", False),
        ]

    def test_the_question_is_about_unreach_call_if_it_can_be(self, task: Path) -> None:
        question = read_question(task)
        assert question.property == Property("unreach-call", "reach_error")
        assert (question.file, question.data_model, question.expected) == (
            task.parent / "prog.c",
            "ILP32",
            True,
        )

    @pytest.mark.parametrize(
        ("listed", "chosen"),
        [
            (("termination", "no-div-zero", "no-overflow"), "no-div-zero"),
            (("valid-memcleanup", "termination"), "valid-memcleanup"),
            (("no-overflow", "unreach-call"), "unreach-call"),
        ],
    )
    def test_otherwise_about_the_first_that_is_supported(
        self, listed: tuple[str, ...], chosen: str, task: Path
    ) -> None:
        head = TASK.partition("  - ")[0]
        task.write_text(head + "".join(entry(name) for name in listed))
        question = read_question(task)
        assert (question.property.name, question.expected, question.data_model) == (chosen, None, None)

    @pytest.mark.parametrize(
        ("asked", "name"), [("unreach-call", "unreach-call"), ("valid-memsafety", "valid-memsafety")]
    )
    def test_the_user_picks_one(self, asked: str, name: str, task: Path) -> None:
        assert read_question(task, property=asked).property.name == name
        file = str(task.parents[1] / "properties" / f"{asked}.prp")
        assert read_question(task, property=file).property.name == name

    def test_what_is_not_supported_is_said_at_its_place(self, task: Path) -> None:
        with pytest.raises(Unsupported) as caught:
            load(task, property="termination")
        span = caught.value.diagnostic.span
        assert span is not None
        assert (span.file, span.line, span.column) == (str(task), 4, 20)

    def test_another_language(self, task: Path) -> None:
        task.write_text(TASK.replace("language: C", "language: Java"))
        with pytest.raises(Unsupported, match="Java") as caught:
            read_question(task)
        assert caught.value.diagnostic.code == "unsupported-language"

    def test_one_input_file_in_a_list(self, task: Path) -> None:
        task.write_text(TASK.replace("'prog.c'", "[prog.c]"))
        assert read_task_file(task).inputs == (task.parent / "prog.c",)

    def test_several_input_files(self, task: Path) -> None:
        (task.parent / "more.c").write_text("int x;\n")
        task.write_text(TASK.replace("'prog.c'", "[prog.c, more.c]"))
        question = read_question(task)
        assert question.files == (task.parent / "prog.c", task.parent / "more.c")
        assert (question.file, question.others) == (question.files[0], question.files[1:])

    def test_several_files_of_the_user(self, task: Path) -> None:
        first, second = task.parent / "prog.c", task.parent / "more.i"
        assert read_question([first, second], data_model="ILP32").files == (first, second)
        for files, word in (
            ([first, task], "not a C file"),
            ([first, first], "twice"),
            ([first, task.parent / ".." / task.parent.name / "prog.c"], "twice"),
        ):
            with pytest.raises(InputError, match=word):
                read_question(files)

    def test_without_a_task_file_the_user_says_it_all(self, task: Path) -> None:
        question = read_question(task.parent / "prog.c", property="no-overflow", data_model="ILP32")
        assert (question.property, question.data_model, question.expected) == (
            Property("no-overflow"),
            "ILP32",
            None,
        )
        assert read_question(task.parent / "prog.c").property == Property("unreach-call")


CHANGES: Mapping[str, tuple[str, str, str, int]] = {
    "no YAML": ("options:", "options: [", "bad-task-file", 13),
    "a tab": ("  - property_file: ../properties/t", "\t- property_file: ../properties/t", "bad-task-file", 4),
    "no version": ("format_version: '2.0'\n", "", "bad-task-file", 1),
    "another version": ("'2.0'", "'1.0'", "bad-task-file", 1),
    "no input": ("input_files: 'prog.c'\n", "", "bad-task-file", 1),
    "missing input": ("prog.c", "other.c", "cannot-read", 2),
    "an input twice": ("'prog.c'", "[prog.c, prog.c]", "bad-task-file", 2),
    "no inputs": ("'prog.c'", "[]", "bad-task-file", 2),
    "an input that is no C": ("'prog.c'", "[prog.c, ../properties/termination.prp]", "bad-task-file", 2),
    "an input without a name": ("'prog.c'", "[[prog.c]]", "bad-task-file", 2),
    "an empty input": ("'prog.c'", "''", "bad-task-file", 2),
    "a missing property file": ("termination.prp", "nothing.prp", "cannot-read", 4),
    "a property that is no mapping": ("  - property_file: ../properties/t", "  - ../t", "bad-task-file", 5),
    "a property without file": (
        "property_file: ../properties/t",
        "file: ../properties/t",
        "bad-task-file",
        4,
    ),
    "a verdict that is none": ("true", "perhaps", "bad-task-file", 7),
    "no data model": ("ILP32", "ILP31", "bad-task-file", 13),
    "a key twice": ("  data_model: ILP32", "  language: C\n  data_model: ILP32", "contradictory-task", 13),
    "a part of another property": ("valid-deref", "unreach-call", "contradictory-task", 10),
    "a violated part of what holds": (
        "true\n",
        "true\n    subproperty: valid-deref\n",
        "contradictory-task",
        8,
    ),
    "two verdicts": (
        "options:",
        entry("unreach-call", "expected_verdict: false") + "options:",
        "contradictory-task",
        11,
    ),
    "options that are none": ("  language: C\n  data_model: ILP32\n", "  - C\n", "bad-task-file", 12),
    "deep nesting": ("'prog.c'", "[" * 5000 + "]" * 5000, "bad-task-file", 2),
}


class TestBadTaskFiles:
    @pytest.mark.parametrize("name", CHANGES)
    def test_it_is_refused_in_its_line(self, name: str, task: Path) -> None:
        old, new, code, line = CHANGES[name]
        changed = TASK.replace(old, new, 1)
        assert changed != TASK
        task.write_text(changed)
        diagnostic = refusal(task)
        assert diagnostic.span is not None
        assert (diagnostic.code, diagnostic.span.file, diagnostic.span.line) == (code, str(task), line)
        assert diagnostic.message.endswith(".")

    @pytest.mark.parametrize("text", ["", "# nothing\n", "- 1\n", "word\n", "a: &x [*x]\n"])
    def test_other_files(self, text: str, task: Path) -> None:
        task.write_text(text)
        diagnostic = refusal(task)
        assert diagnostic.code == "bad-task-file"
        assert diagnostic.span is not None

    def test_no_properties(self, task: Path) -> None:
        task.write_text(TASK.partition("properties:")[0] + "properties: []\n")
        assert refusal(task).message == "The task has no properties."

    def test_a_language_that_does_not_fit_the_input(self, task: Path) -> None:
        (task.parent / "prog.lp").write_text("void main() {}\n")
        task.write_text(TASK.replace("prog.c", "prog.lp"))
        assert refusal(task).code == "contradictory-task"

    def test_a_task_about_a_task(self, task: Path) -> None:
        task.write_text(TASK.replace("prog.c", task.name).replace("  language: C\n", ""))
        diagnostic = refusal(task)
        assert diagnostic.span is not None
        assert (diagnostic.code, diagnostic.span.line) == ("bad-task-file", 2)

    def test_the_user_contradicts_the_task(self, task: Path) -> None:
        diagnostic = refusal(task, data_model="LP64")
        assert diagnostic.span is not None
        assert (diagnostic.code, diagnostic.span.line) == ("contradictory-task", 13)
        assert read_question(task, data_model="ILP32").data_model == "ILP32"
        diagnostic = refusal(task, property="no-overflow")
        assert diagnostic.span is not None
        assert (diagnostic.code, diagnostic.span.line) == ("contradictory-task", 4)
        assert (
            diagnostic.hint == "Its properties are: termination, unreach-call (reach_error), valid-memsafety."
        )

    def test_bytes_that_are_no_text(self, task: Path) -> None:
        task.write_bytes(b"format_version: '\xff'\n")
        assert refusal(task).code == "not-text"
        task.write_bytes(b"format_version: '2.0'\x07\n")
        assert refusal(task).code == "bad-task-file"
