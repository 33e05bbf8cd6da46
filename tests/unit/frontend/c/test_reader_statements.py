"""Statements and declarations inside functions, and where they stand."""

from __future__ import annotations

import pytest
from tests.unit.frontend.c.shown import body, read, show

from certus.frontend.c import ast


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if (1) ; else return 2;", "(If 1 (Empty ) (Return 2))"),
        ("while (1) break;", "(While 1 (Break ))"),
        ("do continue; while (0);", "(DoWhile (Continue ) 0)"),
        ("for (;;) ;", "(For - - - (Empty ))"),
        ("for (int i = 0, j = 1; i < j; i++) ;", "(For (Block [(Declaration i 0) (Declaration j 1)]) "
         "(< (load i) (load j)) (Increment i 1 True) (Empty ))"),
        ("int x = 0; switch (x) { case 1: case 3 ... 5: break; default: ; }",
         "(Declaration x 0) (Switch (load x) (Block [(Case 1 1 (Case 3 5 (Break ))) (Default (Empty ))]))"),
        ("enum { A = 2, B }; switch (1) { case B + sizeof(int): ; case -1: ; }",
         "(Switch 1 (Block [(Case 7 7 (Empty )) (Case -1 -1 (Empty ))]))"),
        ("goto l; l: ;", "(Goto l) (Label l (Empty ))"),
        ("({ __label__ l; goto l; l: ; }); l: goto l;",
         "(StatementExpression (Block [(Goto l) (Label l (Empty ))])) (Label l$2 (Goto l$2))"),
        ("int x = 1, y; y = x;", "(Declaration x 1) (Declaration y -) (Assignment y (load x))"),
        ('__asm__ volatile ("" ::: "memory"); asm("");', "(Empty ) (Empty )"),
        ('int x; __asm__ ("" : "=r" (x)); asm("nop");',
         "(Declaration x -) <unsupported-asm> <unsupported-asm>"),
        ("void *p = &&l; goto *p; l: ;",
         "(Declaration p <unsupported-computed-goto>) <unsupported-computed-goto> (Label l (Empty ))"),
        ("static int n = 3; extern int e; e = n;", "(Declaration n -) (Assignment e (load n))"),
        ("int n = 2; int v[n + 1]; v[0] = 1;",
         "(Declaration n 2) (Declaration $length (+ (load n) 1)) (Declaration v -) "
         "(Assignment (Subscript (decay v) 0) 1)"),
        ("int n = 2; int v[n][n];",
         "(Declaration n 2) (Declaration $length (load n)) (Declaration $length (load n)) "
         "(Declaration v -)"),
        ("switch (0) { case 0: __attribute__((fallthrough)); default: ; }",
         "(Switch 0 (Block [(Case 0 0 (Empty )) (Default (Empty ))]))"),
    ],
)  # fmt: skip
def test_statements(text: str, expected: str) -> None:
    assert body(text) == expected


def test_labels_in_macros_and_asm_in_macros() -> None:
    text = (
        '#define BARRIER() __asm__ __volatile__("" : : : "memory")\nint main(void) { BARRIER(); return 0; }'
    )
    assert show(read(text).functions["main"].body) == "(Block [(Empty ) (Return 0)])"


def test_loops_and_calls_stand_at_their_keyword_and_parenthesis() -> None:
    text = "void f(int);\nint main(void) {\n  int i = 0;\n  do f(i); while (i);\n  for (; i;) ;\n}\n"
    unit = read(text)
    main = unit.functions["main"].body
    assert isinstance(main, ast.Block)
    _, do, for_ = main.statements
    assert isinstance(do, ast.DoWhile)
    assert (do.span.line, do.span.column, for_.span.line, for_.span.column) == (4, 3, 5, 3)
    assert isinstance(do.body, ast.ExpressionStatement)
    assert (do.body.span.end_line, do.body.span.end_column) == (4, 10)


def test_preprocessed_files_have_both_positions() -> None:
    text = '# 1 "orig.c"\n# 100 "orig.c"\nint main(void) {\n  return 7;\n}\n'
    unit = read(text, name="test.i")
    main = unit.functions["main"].body
    assert isinstance(main, ast.Block)
    span = main.statements[0].span
    assert (span.line, span.presumed_file, span.presumed_line) == (4, "orig.c", 101)


def test_shadowed_names_are_different_variables() -> None:
    unit = read("int x; int main(void) { int x = 1; { int x = 2; x++; } return x; }")
    main = unit.functions["main"].body
    assert isinstance(main, ast.Block)
    outer, block, last = main.statements
    assert isinstance(outer, ast.Declaration)
    assert isinstance(block, ast.Block)
    assert isinstance(last, ast.Return)
    inner = block.statements[0]
    assert isinstance(inner, ast.Declaration)
    assert inner.variable is not outer.variable
    assert inner.variable.identity != outer.variable.identity
    assert isinstance(last.value, ast.Cast)
    assert isinstance(last.value.operand, ast.VariableReference)
    assert last.value.operand.variable is outer.variable


def test_an_else_if_chain_of_some_hundred_branches() -> None:
    chain = "else ".join(f"if (n == {k}) n = {k};\n" for k in range(600))
    unit = read("int main(int n, char **v) {" + chain + "return 0; }")
    main = unit.functions["main"].body
    assert isinstance(main, ast.Block)
    current: ast.Statement | None = main.statements[0]
    depth = 0
    while isinstance(current, ast.If):
        depth += 1
        current = current.otherwise
    assert depth == 600
