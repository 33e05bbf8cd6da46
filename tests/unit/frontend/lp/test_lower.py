"""The control-flow automata that programs of the small language become."""

from __future__ import annotations

import pytest
from tests.unit.frontend.lp.texts import load, main_of, steps

from certus.core import build
from certus.core.program import Assign, Assume, Call, Havoc, Return
from certus.core.terms import BOOL, INT, Expr


def local(name: str) -> Expr:
    return build.var(f"main.{name}", INT)


def number(value: int) -> Expr:
    return build.integer(value)


class TestShapes:
    def test_a_sequence(self) -> None:
        procedure = main_of("int x = 1; ; x = x + 2;")
        assert steps(procedure) == [(0, "x = 1;", 1), (1, "x = x + 2;", 2)]
        assert procedure.entry.index == 0
        assert procedure.exit.index == 2
        assert [e.op for e in procedure.edges] == [
            Assign((local("x"),), (number(1),)),
            Assign((local("x"),), (build.add(local("x"), number(2)),)),
        ]

    def test_an_empty_body(self) -> None:
        procedure = main_of("")
        assert procedure.entry is procedure.exit
        assert procedure.edges == ()

    def test_a_branch(self) -> None:
        procedure = main_of("int x = *; if (x > 0) { x = 1; } else { x = 2; } x = 3;")
        assert steps(procedure) == [
            (0, "x = *;", 1),
            (1, "if (x > 0) +", 2),
            (1, "if (x > 0) -", 3),
            (2, "x = 1;", 4),
            (3, "x = 2;", 4),
            (4, "x = 3;", 5),
        ]
        positive = build.gt(local("x"), number(0))
        assert [e.op for e in procedure.edges[1:3]] == [Assume(positive), Assume(build.not_(positive))]

    def test_a_loop(self) -> None:
        procedure = main_of("int x = 0;\n  while (x < 3) { x = x + 1; }\n  x = 7;")
        assert steps(procedure) == [
            (0, "x = 0;", 1),
            (1, "while (x < 3) +", 2),
            (1, "while (x < 3) -", 3),
            (2, "x = x + 1;", 1),
            (3, "x = 7;", 4),
        ]
        heads = [at for at in procedure.locations if at.loop]
        assert [at.index for at in heads] == [1]
        loop = heads[0].loop
        assert loop is not None
        assert (loop.line, loop.column, loop.end_line, loop.end_column) == (2, 3, 2, 31)

    def test_break_and_continue(self) -> None:
        procedure = main_of("int x = *; while (true) { if (x > 1) break; if (x > 0) continue; x = 1; }")
        assert steps(procedure)[1:] == [
            (1, "while (true) +", 2),
            (1, "while (true) -", 5),
            (2, "if (x > 1) +", 5),
            (2, "if (x > 1) -", 3),
            (3, "if (x > 0) +", 1),
            (3, "if (x > 0) -", 4),
            (4, "x = 1;", 1),
        ]

    def test_jumps_take_no_step(self) -> None:
        procedure = main_of("int x = 0; L: x = x + 1; if (x < 3) goto L; goto M; x = 9; M:")
        assert steps(procedure) == [
            (0, "x = 0;", 1),
            (1, "x = x + 1;", 2),
            (2, "if (x < 3) +", 1),
            (2, "if (x < 3) -", 3),
        ]

    @pytest.mark.parametrize("body", ["L: goto L;", "L: goto M; M: goto L;", "L: ; int x; goto L;"])
    def test_an_endless_jump_is_a_step_that_does_nothing(self, body: str) -> None:
        (edge,) = main_of(body).edges
        assert edge.op == Assume(build.TRUE)
        assert edge.source is edge.target
        assert edge.text in ("goto L;", "goto M;")

    def test_unreachable_code_has_no_edges(self) -> None:
        assert steps(main_of("int x = 1; return; x = 2; while (*) { x = 3; }")) == [
            (0, "x = 1;", 1),
            (1, "return;", 2),
        ]

    def test_text_is_one_line_without_comments(self) -> None:
        (edge,) = main_of("int x =\n 1 // one\n + /* and */ 2;").edges
        assert edge.text == "x = 1 + 2;"
        assert edge.span is not None
        assert (edge.span.line, edge.span.column, edge.span.end_line) == (1, 19, 3)

    def test_numbers_run_through_the_program(self) -> None:
        program = load("void f() { g(); } void g() { f(); } void main() { f(); g(); }")
        assert [e.index for p in program.procedures.values() for e in p.edges] == [0, 1, 2, 3]
        assert [at.name for p in program.procedures.values() for at in p.locations] == [
            "f:0",
            "f:1",
            "g:2",
            "g:3",
            "main:4",
            "main:5",
            "main:6",
        ]


class TestNondeterminism:
    def test_a_whole_value(self) -> None:
        (edge,) = main_of("int x, y; x, y = *, unknown;").edges
        assert edge.op == Havoc((local("x"), local("y")))

    def test_inside_an_expression_it_is_an_input_of_its_own(self) -> None:
        first, second = main_of("int x = * + 2 * *;").edges
        inputs = build.var("main.$int1", INT), build.var("main.$int2", INT)
        assert first.op == Havoc(inputs)
        assert first.text == "$int1, $int2 = *, *;"
        assert second.op == Assign((local("x"),), (build.add(inputs[0], build.scale(2, inputs[1])),))

    def test_in_a_condition(self) -> None:
        procedure = main_of("while (*) ;")
        flag = build.var("main.$bool1", BOOL)
        assert [e.op for e in procedure.edges] == [Havoc((flag,)), Assume(flag), Assume(build.not_(flag))]
        assert procedure.entry.loop is not None
        assert procedure.edges[1].target is procedure.entry

    def test_its_type_comes_from_its_place(self) -> None:
        procedure = main_of("bool b = *; int x = b ? * : 1; b = x == * || *;")
        inputs = [v for e in procedure.edges if isinstance(e.op, Havoc) for v in e.op.targets]
        assert [v.name for v in inputs] == ["main.b", "main.$int1", "main.$int1", "main.$bool1"]

    def test_a_local_without_a_value_where_it_is_declared(self) -> None:
        procedure = main_of("int x, y; y = x;")
        assert steps(procedure) == [(0, "int x, y;", 1), (1, "y = x;", 2)]
        assert procedure.edges[0].op == Havoc((local("x"), local("y")))

    def test_a_local_that_is_written_first_needs_none(self) -> None:
        assert steps(main_of("int x; x = 1;")) == [(0, "x = 1;", 1)]

    def test_a_local_whose_declaration_is_jumped_over(self) -> None:
        procedure = main_of("goto L; int x = 1; L: assume(x > 0);")
        assert procedure.edges[0].op == Havoc((local("x"),))
        assert procedure.edges[0].source is procedure.entry

    def test_parameters_of_main(self) -> None:
        procedure = load("void main(int n, bool b) { assume(b); }").procedures["main"]
        assert procedure.edges[0].op == Havoc(procedure.parameters)
        assert procedure.edges[0].text == "n, b = *, *;"

    def test_globals(self) -> None:
        program = load("int x, y = 2 * 3 - 1; bool b = *, c = !true; void main() {}")
        assert [v.name for v in program.globals] == ["x", "y", "b", "c"]
        assert program.initial == {build.var("y", INT): number(5), build.var("c", BOOL): build.FALSE}


class TestProcedures:
    def test_results(self) -> None:
        program = load(
            "int, bool f(int a) { return a, true; } void main() { int x; bool b; x, b = f(3); f(4); }"
        )
        f = program.procedures["f"]
        results = build.var("f.$result0", INT), build.var("f.$result1", BOOL)
        assert f.results == results
        assert f.edges[0].op == Return((build.var("f.a", INT), build.TRUE))
        assert f.edges[0].target is f.exit
        main = program.procedures["main"]
        assert [e.op for e in main.edges] == [
            Call("f", (number(3),), (local("x"), build.var("main.b", BOOL))),
            Call("f", (number(4),), (build.var("main.$int1", INT), build.var("main.$bool1", BOOL))),
        ]
        assert set(main.variables) == {v for e in main.edges for v in e.op.targets}

    def test_without_return_the_result_is_nondeterministic(self) -> None:
        f = load("int f(bool b) { if (b) return 1; } void main() {}").procedures["f"]
        assert f.edges[-1].op == Havoc(f.results)
        assert f.edges[-1].target is f.exit

    def test_a_call_as_initial_value_of_a_local(self) -> None:
        program = load("int f() { return 1; } void main() { int x = f(); }")
        (edge,) = program.procedures["main"].edges
        assert edge.op == Call("f", (), (local("x"),))
        assert edge.text == "x = f();"


class TestErrors:
    def test_an_assertion(self) -> None:
        program = load("void main() { int x = *; assert(x > 0); x = 1; }")
        procedure = program.procedures["main"]
        assert steps(procedure)[1:] == [
            (1, "assert(x > 0); +", 3),
            (1, "assert(x > 0); -", 2),
            (3, "x = 1;", 4),
        ]
        (site,) = program.errors
        assert (site.location.index, site.kind, site.text, str(site.span)) == (
            2,
            "assertion",
            "x > 0",
            "t.lp:1:26",
        )
        assert procedure.successors[site.location] == ()

    def test_an_error_label(self) -> None:
        program = load("void main() { int x = *; if (x > 0) { ERROR: x = 2; } x = 1; }")
        (site,) = program.errors
        assert (site.kind, site.text, str(site.span)) == ("error-label", "ERROR", "t.lp:1:39")
        assert "x = 2;" not in [e.text for e in program.procedures["main"].edges]

    def test_every_assertion_has_its_own_location(self) -> None:
        program = load("void main() { assert(true); assert(1 < 2); assert(false); }")
        assert len({site.location for site in program.errors}) == 3


class TestDivision:
    def guard(self, body: str) -> Expr | None:
        """The condition under which the last statement of `body` is executed, if it divides."""
        edges = main_of(f"int a = *, b = *, c = *; {body}").edges[3:]
        guards = [e.op.condition for e in edges if isinstance(e.op, Assume) and e.text.startswith("assume(")]
        return guards[0] if guards else None

    def nonzero(self, name: str) -> Expr:
        return build.ne(local(name), number(0))

    def test_by_zero_ends_the_execution(self) -> None:
        procedure = main_of("int a = *, b = *; a = a / b;")
        assert steps(procedure)[2:] == [(2, "assume(b != 0);", 3), (3, "a = a / b;", 4)]
        assert procedure.edges[3].op == Assign((local("a"),), (build.quot(local("a"), local("b")),))

    @pytest.mark.parametrize("body", ["a = a / 2;", "a = a % -3;", "bool p = b != 0 && a / b > 1;"])
    def test_that_cannot_fail_needs_no_guard(self, body: str) -> None:
        assert self.guard(body) is None

    def test_in_operands_that_may_not_be_evaluated(self) -> None:
        a_positive = build.gt(local("a"), number(0))
        assert self.guard("bool p = a > 0 && c / b > 1;") is build.implies(a_positive, self.nonzero("b"))
        assert self.guard("bool p = a > 0 || c % b > 1;") is build.or_(a_positive, self.nonzero("b"))
        assert self.guard("c = a > 0 ? c / b : b / c;") is build.and_(
            build.implies(a_positive, self.nonzero("b")), build.or_(a_positive, self.nonzero("c"))
        )
        assert self.guard("bool p = c / b > 1 && a > 0;") is self.nonzero("b")
        b_positive = build.gt(local("b"), number(0))
        assert self.guard("bool p = b > 0 && (a > 0 ? c / b : 1) > 1;") is build.or_(
            build.not_(b_positive), build.not_(a_positive), self.nonzero("b")
        )

    def test_in_a_divisor(self) -> None:
        quotient = build.quot(local("b"), local("c"))
        assert self.guard("a = a / (b / c);") is build.and_(self.nonzero("c"), build.ne(quotient, number(0)))

    def test_in_a_loop_is_guarded_at_each_test(self) -> None:
        procedure = main_of("int a = *, b = *; while (a / b > 0) { b = b - 1; }")
        assert steps(procedure)[2:] == [
            (2, "assume(b != 0);", 3),
            (3, "while (a / b > 0) +", 4),
            (3, "while (a / b > 0) -", 5),
            (4, "b = b - 1;", 2),
        ]
        assert [at.index for at in procedure.locations if at.loop] == [2]

    def test_by_zero_is_the_error_under_no_div_zero(self) -> None:
        program = load("void main() { int a = *, b = *; a = a / b % (a - 1); assert(a > 0); }", "no-div-zero")
        sites = [(site.kind, site.text, str(site.span)) for site in program.errors]
        assert sites == [
            ("division-by-zero", "b != 0", "t.lp:1:37"),
            ("division-by-zero", "(a - 1) != 0", "t.lp:1:37"),
        ]
        assert steps(program.procedures["main"])[2:] == [
            (2, "a / b +", 4),
            (2, "a / b -", 3),
            (4, "a / b % (a - 1) +", 6),
            (4, "a / b % (a - 1) -", 5),
            (6, "a = a / b % (a - 1);", 7),
            (7, "assert(a > 0);", 8),
        ]

    def test_an_error_label_ends_the_execution_under_no_div_zero(self) -> None:
        program = load("void main() { int a = 1; if (*) { ERROR: a = 2; } a = 3; }", "no-div-zero")
        assert program.errors == ()
        main = program.procedures["main"]
        ends = [at for at, out in main.successors.items() if not out and at is not main.exit]
        assert len(ends) == 1
        assert "a = 2;" not in [e.text for e in main.edges]
