"""e-SSA form makes the simplifications of Zaks et al. 2006, section 3.5: each removes what it should."""

from __future__ import annotations

from tests.builders import ProgramBuilder

from certus.analysis.ranges.essa import EssaForm, Scope, translate
from certus.analysis.ranges.system import Join, Meet
from certus.core import build
from certus.core.terms import Expr

ONE, TEN = build.integer(1), build.integer(10)


def kept(b: ProgramBuilder) -> EssaForm:
    return translate(b.build(), Scope(everywhere=True, lasting=True))


def quantity(essa: EssaForm, b: ProgramBuilder, place: str, x: Expr) -> int:
    return essa.at[b.at("main", place)].environment[x]


def places(essa: EssaForm, b: ProgramBuilder, x: Expr, *names: str) -> set[int]:
    return {quantity(essa, b, name, x) for name in names}


def test_no_propagation_constraint_for_what_a_block_does_not_assign() -> None:
    b = ProgramBuilder()
    x, y = b.local("main", "x"), b.local("main", "y")
    b.edge("main", "entry", "a", b.havoc(x, y))
    b.edge("main", "a", "b", b.assign((x, build.add(x, ONE))))
    b.edge("main", "b", "exit", b.assign((x, build.add(x, ONE))))
    essa = kept(b)
    assert len(places(essa, b, y, "a", "b", "exit")) == 1
    assert len(places(essa, b, x, "a", "b", "exit")) == 3
    assert not any(isinstance(each, Join) for each in essa.system.definitions)


def test_no_flow_constraint_for_a_block_with_one_parent() -> None:
    b = ProgramBuilder()
    x, y = b.local("main", "x"), b.local("main", "y")
    b.edge("main", "entry", "a", b.havoc(x, y))
    b.branch("main", "a", build.le(x, TEN), "less", "more")
    b.edge("main", "less", "exit", b.returns())
    b.edge("main", "more", "exit", b.returns())
    essa = kept(b)
    assert len(places(essa, b, y, "a", "less", "more")) == 1
    definitions = [essa.system.definitions[quantity(essa, b, name, x)] for name in ("less", "more")]
    assert all(isinstance(each, Meet) and each.of == quantity(essa, b, "a", x) for each in definitions)


def test_no_join_where_all_parents_have_the_same() -> None:
    b = ProgramBuilder()
    x, y, z = (b.local("main", name) for name in "xyz")
    b.edge("main", "entry", "a", b.havoc(x, y, z))
    b.branch("main", "a", build.le(x, TEN), "less", "more")
    b.edge("main", "less", "after", b.assign((y, TEN)))
    b.edge("main", "more", "after", b.assign((y, ONE)))
    b.edge("main", "after", "exit", b.returns())
    essa = kept(b)
    assert len(places(essa, b, z, "a", "less", "more", "after")) == 1
    join = essa.system.definitions[quantity(essa, b, "after", y)]
    assert isinstance(join, Join)
    assert len(join.operands) == 2


def test_one_quantity_all_around_a_loop_that_neither_assigns_nor_tests_it() -> None:
    b = ProgramBuilder()
    x, y, z = (b.local("main", name) for name in "xyz")
    b.edge("main", "entry", "head", b.havoc(x, y, z))
    b.branch("main", "head", build.le(x, y), "body", "after")
    b.edge("main", "body", "head", b.assign((x, build.add(x, ONE))))
    b.edge("main", "after", "exit", b.returns())
    essa = kept(b)
    assert len(places(essa, b, z, "head", "body", "after", "exit")) == 1
    cyclic = [each for each in essa.system.definitions if isinstance(each, Join) and each.cyclic]
    assert cyclic == [essa.system.definitions[quantity(essa, b, "head", x)]]
    tested = essa.system.definitions[quantity(essa, b, "body", y)]
    assert isinstance(tested, Meet)  # a condition makes it smaller, and the head keeps what it had
    assert tested.of == quantity(essa, b, "head", y)


def test_what_is_not_read_has_no_quantity() -> None:
    """The objective (3.4) is over blocks that read a variable: others are not in the system."""
    b = ProgramBuilder()
    x, y = b.local("main", "x"), b.local("main", "y")
    b.edge("main", "entry", "a", b.havoc(x, y))
    b.edge("main", "a", "b", b.assign((x, build.add(y, ONE))))
    b.branch("main", "b", build.le(x, TEN), "c", "exit")
    b.edge("main", "c", "exit", b.returns())
    essa = translate(b.build(), Scope(everywhere=True))
    read = {name: list(essa.at[b.at("main", name)].environment) for name in ("a", "b", "c")}
    assert read == {"a": [y], "b": [x], "c": []}
