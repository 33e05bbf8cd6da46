"""The small language: printing then parsing is the identity; what is well-typed loads."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.lp_programs import expressions, programs, syntax_trees

from certus.core import build
from certus.core.c_text import c_text
from certus.core.program import Assume, Procedure, Program
from certus.core.terms import BOOL, INT, Expr, Sort
from certus.core.walk import variables
from certus.frontend.lp import ast, load_lp, parse, parse_expression, print_lp
from certus.frontend.lp.parser import parse_tree_of_expression
from certus.frontend.lp.printer import expression_text
from certus.frontend.source import Source

LAW = settings(derandomize=True, deadline=None, max_examples=90)


@LAW
@given(syntax_trees())
def test_printing_then_parsing_a_program_is_the_identity(tree: ast.ProgramText) -> None:
    assert parse(Source(print_lp(tree), "x.lp")) == tree


@LAW
@given(expressions())
def test_printing_then_parsing_an_expression_is_the_identity(tree: ast.Expression) -> None:
    assert parse_tree_of_expression(Source(expression_text(tree), "x.lp")) == tree


@LAW
@given(programs())
def test_random_programs_are_well_formed_and_keep_the_invariants_of_programs(tree: ast.ProgramText) -> None:
    text = print_lp(tree)
    assert parse(Source(text, "x.lp")) == tree
    program = load_lp(text, "x.lp").program
    assert program.errors
    check_invariants(program)
    check_invariants(load_lp(text, "x.lp", "no-div-zero").program)


def check_invariants(program: Program) -> None:
    """What core/program.py promises of programs."""
    edges = [edge for procedure in program.procedures.values() for edge in procedure.edges]
    assert [edge.index for edge in edges] == list(range(len(edges)))
    locations = [at for procedure in program.procedures.values() for at in procedure.locations]
    assert [at.index for at in locations] == list(range(len(locations)))
    assert len(program.error_locations) == len(program.errors)
    for procedure in program.procedures.values():
        check_procedure(procedure, program)


def check_procedure(procedure: Procedure, program: Program) -> None:
    known = {*procedure.variables, *program.globals}
    for at, out in procedure.successors.items():
        assert at.span is not None
        if at in program.error_locations or at is procedure.exit:
            assert not out
        if len(out) > 1:
            first, second = (edge.op for edge in out)
            assert isinstance(first, Assume)
            assert isinstance(second, Assume)
            assert first.condition is build.not_(second.condition)
    for edge in procedure.edges:
        assert edge.span is not None
        assert edge.text
        parts = [edge.op.condition] if isinstance(edge.op, Assume) else []
        assert set(variables(*parts)) <= known


# ------------------------------------------------------------------------ terms and their text

INTS = tuple(build.var(name, INT) for name in ("x", "main.y", "f.$result0"))
BOOLS = tuple(build.var(name, BOOL) for name in ("b", "old(main.c)"))
SCOPE = {variable.name: variable for variable in (*INTS, *BOOLS)}


@st.composite
def terms(draw: st.DrawFn, sort: Sort, depth: int = 3) -> Expr:
    """Terms as programs of the small language contain them."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        constant = st.booleans().map(build.boolean) if sort is BOOL else st.integers(-9, 9).map(build.integer)
        return draw(st.one_of(st.sampled_from(BOOLS if sort is BOOL else INTS), constant))

    def part(of: Sort) -> Expr:
        return draw(terms(of, depth - 1))

    if draw(st.integers(0, 4)) == 0:
        return build.ite(part(BOOL), part(sort), part(sort))
    if sort is INT:
        make = draw(st.sampled_from([build.add, build.sub, build.mul, build.quot, build.rem]))
        return make(part(INT), part(INT))
    make = draw(st.sampled_from([build.lt, build.le, build.eq, build.ne, build.and_, build.or_, build.not_]))
    if make is build.not_:
        return build.not_(part(BOOL))
    of = BOOL if make in (build.and_, build.or_) else draw(st.sampled_from([INT, BOOL]))
    of = INT if make in (build.lt, build.le) else of
    return make(part(of), part(of))


@LAW
@given(st.sampled_from([INT, BOOL]).flatmap(terms))
def test_printing_then_parsing_a_term_is_the_identity(term: Expr) -> None:
    assert parse_expression(c_text(term), SCOPE, sort=term.sort) is term
