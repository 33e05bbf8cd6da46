"""Large and deep programs of the small language: no recursion, nothing quadratic, no traceback."""

from __future__ import annotations

import time

import pytest
from tests.unit.frontend.lp.texts import errors_of, load, main_of

from certus.core.terms import Kind
from certus.frontend.lp import load_lp, parse, print_lp
from certus.frontend.source import Source

pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize(
    "body",
    [
        "int x = " + "(" * 10_000 + "1" + ")" * 10_000 + ";",
        "bool b = " + "!" * 10_001 + "true;",
        "int x = " + "-(1 + " * 10_000 + "1" + ")" * 10_000 + ";",
        "int x = 0; " + "if (x > 0) {" * 5_000 + "x = 1;" + "}" * 5_000,
        "int x = 0; " + "".join(f"if (x == {i}) x = {i}; else " for i in range(5_000)) + ";",
        "int x = 0; " + "while (x > 0) {" * 3_000 + "x = 1;" + "}" * 3_000,
        "int x = 0; x = " + "".join(f"x == {i} ? {i} : " for i in range(10_000)) + "1;",
        "".join(f"L{i}: " for i in range(10_000)) + ";",
    ],
)
def test_deep_nesting(body: str) -> None:
    assert main_of(body).name == "main"
    tree = parse(Source(f"void main() {{ {body} }}", "t.lp"))
    assert print_lp(parse(Source(print_lp(tree), "t.lp"))) == print_lp(tree)


def test_a_sum_of_200_000_terms() -> None:
    edge = main_of("int x = *; x = " + " + ".join(["x", "1"] * 100_000) + ";").edges[-1]
    (term,) = edge.op.values  # type: ignore[union-attr]
    assert term.kind is Kind.ADD
    assert [part.value for part in term.args if part.kind is Kind.CONST] == [100_000]


@pytest.mark.parametrize("operator", ["+", "*", "-"])
def test_long_expressions_over_many_variables(operator: str) -> None:
    names = [f"x{i}" for i in range(3_000)]
    declared = "".join(f"int {name} = *;" for name in names)
    (term,) = main_of(f"{declared} int y = {operator.join(names)};").edges[-1].op.values  # type: ignore[union-attr]
    assert len(term.args) == 3_000


def test_too_many_divisions_under_conditions_are_refused() -> None:
    text = "".join(f"{i} / x == 2 && " for i in range(3_000))
    (error,) = errors_of(f"void main() {{ int x = *; bool b = {text} true; }}")
    assert error.code == "expression-too-large"


def test_integers_of_any_size() -> None:
    program = load("int x = " + "7" * 20_000 + "; void main() { assert(x > 0); }")
    (value,) = program.initial.values()
    assert int(value.value) % 10**6 == 777_777


def test_a_comment_of_megabytes() -> None:
    assert (
        load_lp("/*" + "*x" * 1_000_000 + "*/" + "// y\n" * 200_000 + "void main() {}", "t.lp").warnings == ()
    )


def test_time_grows_with_the_size() -> None:
    """200 KB within half a minute; usual is a second or two."""
    unit = (
        "int f{0}(int a) {{ int x = a; while (x > 0 && a < 9) {{ x = x - 1; assert(x != a); }} return x; }}\n"
    )
    text = "".join(unit.format(i) for i in range(2_000)) + "void main() {}"
    start = time.process_time()
    program = load(text)
    assert time.process_time() - start < 30
    assert len(program.errors) == 2_000
