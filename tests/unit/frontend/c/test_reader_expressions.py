"""Expressions as the reader makes them."""

from __future__ import annotations

import pytest
from tests.unit.frontend.c.shown import body, read, show

from certus.frontend.c import ast
from certus.frontend.c.types import IntegerType


def value(text: str, model: str = "LP64") -> ast.Expression:
    """The expression that `main` returns, the last conversion to `int` taken off."""
    unit = read(text, model)
    main = unit.functions["main"].body
    assert isinstance(main, ast.Block)
    last = main.statements[-1]
    assert isinstance(last, ast.Return)
    assert last.value is not None
    return last.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int x = 1; x = x + 2;", "(Declaration x 1) (Assignment x (+ (load x) 2))"),
        ("int x, *p = &x; *p = 3;", "(Declaration x -) (Declaration p (AddressOf x)) "
         "(Assignment (Dereference (load p)) 3)"),
        ("int a[3]; a[1] = 2[a];", "(Declaration a -) (Assignment (Subscript (decay a) 1) "
         "(load (Subscript 2 (decay a))))"),
        ("int x = 0; x++; --x;", "(Declaration x 0) (Increment x 1 True) (Increment x -1 False)"),
        ("unsigned char c = 1; c += 300;", "(Declaration c (integer 1)) (CompoundAssignment + c 300)"),
        ("int x = 0; x = x && !x || ~x;", "(Declaration x 0) (Assignment x (|| (&& (load x) "
         "(! (load x))) (~ (load x))))"),
        ("int x = 0; x = x ? 1 : (x, 2);", "(Declaration x 0) (Assignment x (Conditional (load x) 1 "
         "(Comma (load x) 2)))"),
        ("int x = 0; long y = x ?: 5L;", "(Declaration x 0) "
         "(Declaration y (Conditional (integer (load x)) - 5))"),
        ("int x = 0; x = x ?: 5;", "(Declaration x 0) (Assignment x (Conditional (load x) - 5))"),
        ("_Bool b = 5; if (b) ;", "(Declaration b (to-bool 5)) (If (load b) (Empty ) -)"),
        ("int *p = 0; if (!p) p = (int *)16;", "(Declaration p (null 0)) (If (! (load p)) "
         "(Assignment p (integer-to-pointer 16)) -)"),
        ("long n = (long)main; (void)n;", "(Declaration n (pointer-to-integer (function-decay main))) "
         "(to-void (load n))"),
        ('const char *s = "a\\n";', "(Declaration s (none (decay b'a\\n\\x00')))"),
        ("const char *s = __func__;", "(Declaration s (decay b'main\\x00'))"),
        ("int x = ({ int y = 2; y; });", "(Declaration x (StatementExpression (Block [(Declaration y 2) "
         "(load y)])))"),
        ("int x = __builtin_choose_expr(sizeof(int) == 4, 1, 2);", "(Declaration x 1)"),
        ("int x = _Generic(1L, int: 1, long: 2);", "(Declaration x 2)"),
        ("int x = __builtin_types_compatible_p(int, const int) + __builtin_types_compatible_p(int, long);",
         "(Declaration x (+ 1 0))"),
        ("__builtin_va_list l; int x = __builtin_va_arg(l, int);",
         "(Declaration l -) (Declaration x (VaArg (decay l)))"),
        ("int x = 'a' + '\\xff' + '\\0';", "(Declaration x (+ (+ 97 -1) 0))"),
        ("int x = __extension__ (3);", "(Declaration x 3)"),
        ('int x = __builtin_constant_p(3) + __builtin_constant_p("a");', "(Declaration x (+ 1 1))"),
    ],
)  # fmt: skip
def test_expressions(text: str, expected: str) -> None:
    assert body(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("double d = 1; d = d + 1;", "unsupported-float"),
        ("float f; int x = f < 1;", "unsupported-float"),
        ("typedef int v __attribute__((vector_size(8))); v a; a = a + a;", "unsupported-vector"),
        ("void *p = &&l; l: ;", "unsupported-computed-goto"),
        ("int x = __builtin_isless(1.0, 2.0);", "unsupported-float"),
        ("int x = __builtin_flt_rounds();", "unsupported-float"),
        ("typedef float v __attribute__((vector_size(8))); v a; a = a + a;", "unsupported-float"),
        ("_Complex double z; z = z * z;", "unsupported-float"),
    ],
)
def test_what_is_not_modelled_is_marked(text: str, code: str) -> None:
    assert f"<{code}>" in body(text)


@pytest.mark.parametrize(
    ("model", "expected"),
    [("LP64", [8, 8, 8, 16, 8, 24, 3]), ("ILP32", [4, 4, 8, 12, 4, 16, 3])],
)
def test_sizes_are_computed(model: str, expected: list[int]) -> None:
    text = """
    struct s { char c; long long q; void *p; };
    int a[] = { sizeof(long), sizeof(void *), sizeof(long long), sizeof(long double),
                __builtin_offsetof(struct s, q), sizeof(struct s), sizeof(char[3]) };
    int main(void) { return a[0]; }"""
    ((_, initialiser),) = read(text, model).initialisers
    assert isinstance(initialiser, ast.InitialiserList)
    found = []
    for item in initialiser.items:
        assert isinstance(item, ast.Cast)
        assert isinstance(item.operand, ast.IntegerConstant)
        found.append(item.operand.value)
    assert found == expected


def test_alignment_on_i386() -> None:
    text = "int main(void) { return _Alignof(long long) * 100 + __alignof__(long long); }"
    assert show(value(text, "ILP32")).count("4") == 1
    assert "8" in show(value(text, "ILP32"))


def test_offsetof_goes_into_members_and_elements() -> None:
    text = """struct s { int a; struct { short b[4]; union { int c; char d; }; } in[2]; };
    int main(void) {
      return __builtin_offsetof(struct s, in[1].b[2]) + __builtin_offsetof(struct s, in[0].d); }"""
    assert show(value(text)) == "(integer (+ 20 12))"


def test_compound_assignment_computes_in_the_promoted_type() -> None:
    unit = read("int main(void) { unsigned short s = 1; s <<= 3; return s; }")
    main = unit.functions["main"].body
    assert isinstance(main, ast.Block)
    shift = main.statements[1]
    assert isinstance(shift, ast.ExpressionStatement)
    assert isinstance(shift.expression, ast.CompoundAssignment)
    assert shift.expression.computation == IntegerType("int", 32, True, 3)


def test_members_through_pointers_and_anonymous_records() -> None:
    text = """struct s { int a : 3; struct { int b; }; } x;
    int main(void) { struct s *p = &x; p->b = 1; x.a += 1; return p->a; }"""
    unit = read(text)
    main = unit.functions["main"].body
    assert isinstance(main, ast.Block)
    assert show(main.statements[1]) == "(Assignment (((Dereference (load p)).).b) 1)"
    member = main.statements[2]
    assert isinstance(member, ast.ExpressionStatement)
    assert isinstance(member.expression, ast.CompoundAssignment)
    assert isinstance(member.expression.target, ast.Member)
    assert member.expression.target.field.bits == 3


def test_a_member_of_a_returned_record() -> None:
    text = "struct s { int a[2]; } f(void); int main(void) { return f().a[1]; }"
    assert show(value(text)) == "(load (Subscript (decay ((Call f []).a)) 1))"


def test_wide_strings_and_padding() -> None:
    text = r"""int main(void) { int w[] = L"x\x1F600é"; char a[5] = "ab", b[2] = "ab";
    unsigned short u[] = u"\U0001F600";
    return a[0] + b[0] + u[0] + w[0]; }"""
    shown = show(read(text).functions["main"].body)
    assert repr(b"x\0\0\0\x00\xf6\x01\x00\xe9\0\0\0\0\0\0\0") in shown
    assert repr(b"ab\0\0\0") in shown
    assert repr(b"ab") in shown
    assert repr(b"\x3d\xd8\x00\xde\0\0") in shown


def test_a_sum_of_many_terms_needs_no_recursion() -> None:
    text = "int main(int n, char **v) { return 0" + "+n" * 1500 + "; }"
    found = value(text)
    depth = 0
    while isinstance(found, ast.Binary):
        found = found.left
        depth += 1
    assert depth == 1500
