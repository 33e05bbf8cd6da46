"""Invariants about what lives in memory and about static locals: as lvalues, only where these mean it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from certus.core import build
from certus.core.evidence import Inductive, Partitioned, Point, in_frame
from certus.core.program import Program
from certus.core.terms import Expr, array, machine
from certus.core.walk import substitute, variables
from certus.encoding.memory import lower_memory
from certus.frontend.c.load import load_c
from certus.passes.memory import find_partition
from certus.witness.write.invariants import Translation, translate

SOURCE = """\
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
struct part { short low, high; };
struct whole { char kind; struct part parts[2]; union { int number; unsigned bits; }; unsigned flag : 3; };
int big[1000];
struct whole shared;
int *next(int *at) { return at + 1; }
int main(void) {
  static int calls;
  int x = 0;
  int few[3] = {1, 2, 3};
  struct whole own = {'a', {{1, 2}, {3, 4}}, {5}, 1};
  int *p = next(big), *q = big;
  shared.kind = own.kind;
  big[x] = few[x] + own.parts[x].high + own.number + (int)own.flag;
  while (__VERIFIER_nondet_int()) {
    int few = 0;
    while (few < 3) { few++; calls++; *p = *q; }
  }
  for (int few[2] = {0, 1}; few[x] < few[1]; few[x]++) ;
  if (big[7] > 3) reach_error();
  return 0;
}
"""
WORD = machine(32, signed=False)
ADDRESS = machine(64, signed=False)
BASE = 1 << 60  # the address of the only object of a region
BIG = build.var("mem$0$0", array(ADDRESS, WORD))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    file = tmp_path_factory.mktemp("memory") / "parts.c"
    file.write_text(SOURCE)
    return replace(load_c(file).program, file=str(file))


def translated(program: Program, line: int, formula: Expr) -> Translation:
    """The witness of a proof with this formula at a loop of `main`, which the start of the program calls."""
    (call,) = (e for e in program.procedures[program.main].edges if e.text == "main()")
    (head,) = (at for at in program.location.values() if at.loop is not None and at.loop.line == line)
    frame = {
        x: in_frame(x, 1) for x in variables(formula) if x.name.startswith("main.") and ".." not in x.name
    }
    proof = Inductive({Point(head, (call.index,)): substitute(formula, frame)})
    return translate(Partitioned(find_partition(program), proof), program)


def said(program: Program, line: int, formula: Expr) -> list[str]:
    return [each.value for each in translated(program, line, formula).invariants]


def cell(name: str, width: int = 32) -> Expr:
    return build.var(name, machine(width, signed=False))


def equals(term: Expr, value: int) -> Expr:
    return build.eq(term, build.constant(value, term.sort))


def big(index: int) -> Expr:
    return build.select(BIG, build.constant(BASE + 4 * index, ADDRESS))


def test_the_partition_is_as_these_tests_have_it(program: Program) -> None:
    lowered = lower_memory(program, find_partition(program))
    own = (*lowered.globals, *lowered.procedures["main"].variables)
    assert {cell("main.$&few$+8"), cell("main.$&few$2$+4"), cell("mem$1$0", 8), BIG, cell("main.p", 64)} <= {
        *own
    }


class TestLvalues:
    def test_elements_members_and_static_locals(self, program: Program) -> None:
        calls = build.var("main..calls", machine(32, signed=True))
        formula = build.conjunction(
            [equals(cell("main.$&few$+8"), 2**32 - 3), equals(cell("mem$1$0", 8), 97), equals(calls, 5)]
        )
        (found,) = said(program, 16, formula)
        assert sorted(found.split(" && ")) == ["calls == 5", "few[2] == (-3)", "shared.kind == 97"]
        assert translated(program, 16, formula).left_out == 0

    def test_an_array_read_at_the_address_of_its_object(self, program: Program) -> None:
        assert said(program, 16, equals(big(7), 3)) == ["big[7] == 3"]
        behind = build.add(cell("$&big", 64), build.constant(8, ADDRESS))
        assert said(program, 16, equals(build.select(BIG, behind), 3)) == ["big[2] == 3"]

    def test_what_is_not_in_the_object_has_no_name(self, program: Program) -> None:
        for index in (1000, -1):
            assert translated(program, 16, equals(big(index), 3)) == Translation((), 1)

    def test_the_innermost_declaration_counts(self, program: Program) -> None:
        inner = build.var("main.few", machine(32, signed=True))
        outer = equals(cell("main.$&few$+8"), 3)
        assert said(program, 18, build.and_(outer, equals(inner, 1))) == ["few == 1"]
        assert said(program, 20, build.and_(outer, equals(cell("main.$&few$2$+4"), 1))) == ["few[1] == 1"]

    def test_negations_do_not_hide_what_can_be_said(self, program: Program) -> None:
        hidden = equals(build.var("main.$4", WORD), 1)
        formula = build.not_(build.or_(hidden, equals(big(7), 3)))
        assert said(program, 16, formula) == ["big[7] != 3"]
        assert said(program, 16, build.not_(build.and_(hidden, equals(big(7), 3)))) == []


class TestAddresses:
    def test_null_and_the_same(self, program: Program) -> None:
        p, q = cell("main.p", 64), cell("main.q", 64)
        assert said(program, 16, build.not_(equals(p, 0))) == ["(void *)p != (void *)0"]
        assert said(program, 16, build.eq(p, q)) in (["(void *)p == (void *)q"], ["(void *)q == (void *)p"])

    def test_the_address_of_a_named_object(self, program: Program) -> None:
        q = cell("main.q", 64)
        (start,) = said(program, 16, equals(q, BASE))
        assert sorted(start.split(" == ")) == ["(void *)&big", "(void *)q"]
        (inside,) = said(program, 16, equals(q, BASE + 8))
        assert sorted(inside.split(" == ")) == ["(void *)((char *)&big + 8)", "(void *)q"]

    def test_where_the_encoding_has_put_objects_is_not_told(self, program: Program) -> None:
        q, few = cell("main.q", 64), cell("main.$&few", 64)
        assert translated(program, 16, equals(few, BASE)) == Translation((), 0)
        assert translated(program, 16, equals(cell("mem$brk$0", 64), 9000)) == Translation((), 0)
        assert translated(program, 16, build.eq(q, few)) == Translation((), 1)
        assert translated(program, 16, equals(q, BASE + 5000)) == Translation((), 1)
        assert translated(program, 16, build.le(q, build.constant(BASE, ADDRESS))) == Translation((), 1)
