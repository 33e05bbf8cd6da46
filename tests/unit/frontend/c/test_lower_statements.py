"""Control flow, scopes and declarations."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from tests.unit.frontend.c.lowering import edges, loaded, ops

from certus.core.errors import InputError, Unsupported
from certus.core.program import Alloc, Assign, Assume, Call, Free, Havoc, Load, Return, Store
from certus.core.terms import BOOL, INT, MachineSort, machine
from certus.frontend.c.ir.bodies import Block
from certus.frontend.c.load import load_c
from certus.frontend.c.model.body import Body
from certus.frontend.c.model.flow import Flow
from certus.frontend.c.model.unit import Unit


def test_a_scalar_is_a_variable_with_its_name(tmp_path: Path) -> None:
    program = loaded(tmp_path, "int main(void) { int x = 3; { int x = 4; x++; } return x; }").program
    assert [repr(op) for op in ops(program, Assign)] == [
        "Assign(targets=(main.x,), values=(3,))",
        "Assign(targets=(main.x$2,), values=(4,))",
        "Assign(targets=(main.x$2,), values=(main.x$2 + 1,))",
    ]
    names = {v.name: name for v, name in program.source_names.items()}
    assert names == {"main.x": "x", "main.x$2": "x"}
    assert program.main == "main"


def test_a_loop_head_knows_its_loop(tmp_path: Path) -> None:
    text = "int main(void) { int i = 0;\n  while (i < 3)\n    i++;\n  do i--; while (i);\n  return 0; }"
    program = loaded(tmp_path, text).program
    heads = [at for at in program.procedures["main"].locations if at.loop is not None]
    assert [(at.loop.line, at.loop.column) for at in heads if at.loop] == [(8, 3), (10, 3)]
    texts = [(e.text, e.branch) for e in edges(program) if e.source is heads[0]]
    assert texts == [("while (i < 3)", True), ("while (i < 3)", False)]


def test_conditions_without_steps_are_one_branch(tmp_path: Path) -> None:
    text = (
        "int main(void) { int x = __VERIFIER_nondet_int(); if (x > 0 && !(x > 5) || x == -1) reach_error(); }"
    )
    program = loaded(tmp_path, text).program
    assert len(ops(program, Assume)) == 3  # two branches, and the call


def test_conditions_with_steps_are_control_flow_without_temporaries(tmp_path: Path) -> None:
    text = "int f(void) { return 1; } int main(void) { int x = f(); if (x && f() || f()) x = 2; return x; }"
    program = loaded(tmp_path, text).program
    assert len(ops(program, Call)) == 3
    assert len(ops(program, Assign)) == 1


def test_declarations_are_inputs_only_if_they_are_read(tmp_path: Path) -> None:
    text = "int main(void) { int a, b; if (__VERIFIER_nondet_int()) a = 1; b = a; return b; }"
    program = loaded(tmp_path, text).program
    targets = [op.targets[0].name for op in ops(program, Havoc) if isinstance(op, Havoc)]
    assert targets == ["main.a", "main.$1"]


def test_a_jumped_over_declaration_is_an_input_at_the_entry(tmp_path: Path) -> None:
    text = "int main(void) { goto in; { int a; in: return a; } }"
    program = loaded(tmp_path, text).program
    assert [op.targets[0].name for op in ops(program, Havoc) if isinstance(op, Havoc)] == ["main.$a"]


def lifetimes(directory: Path, body: str) -> list[str]:
    program = loaded(directory, f"void use(int *p) {{ *p = 1; }} int main(void) {{ {body} }}").program
    found = []
    for edge in edges(program):
        if isinstance(edge.op, Alloc):
            found.append(f"+{edge.op.name}")
        elif isinstance(edge.op, Free):
            found.append(f"-{edge.op.address.name.rpartition('&')[2]}")
        elif isinstance(edge.op, Return):
            found.append("return")
    return found


def test_objects_begin_at_their_declaration_and_end_with_the_function(tmp_path: Path) -> None:
    body = "int a; use(&a); { int b; use(&b); } return 0;"
    assert lifetimes(tmp_path, body) == ["+a", "+b", "-a", "-b", "return"]


def test_leaving_by_break_and_return_ends_objects(tmp_path: Path) -> None:
    body = "while (1) { int a; use(&a); if (a) break; if (a > 1) return 1; } return 0;"
    assert lifetimes(tmp_path, body) == ["+a", "-a", "return", "-a", "return"]


def test_jumping_into_a_block_begins_its_objects(tmp_path: Path) -> None:
    body = "goto in; { int a; in: use(&a); } return 0;"
    assert lifetimes(tmp_path, body) == ["+a", "-a", "return"]


def test_a_variable_length_array_is_allocated_where_it_stands(tmp_path: Path) -> None:
    text = "int main(void) { int n = __VERIFIER_nondet_int(); int a[n]; a[0] = 1; return 0; }"
    (alloc,) = ops(loaded(tmp_path, text).program, Alloc)
    assert isinstance(alloc, Alloc)
    assert repr(alloc.size) == "4 * (integer)(u32)main.n"


def test_switch_is_one_branch_with_a_default(tmp_path: Path) -> None:
    text = "int main(void) { switch (__VERIFIER_nondet_int()) { case 1: return 1; case 2 ... 4: return 2; } }"
    program = loaded(tmp_path, text).program
    conditions = [repr(op.condition) for op in ops(program, Assume) if isinstance(op, Assume)]
    assert conditions[0] == "main.$1 == 1"
    assert len(conditions) == 5  # Clang lists the numbers of a small range
    assert [e.text for e in edges(program) if isinstance(e.op, Assume)][1].endswith("case 2")
    large = text.replace("4:", "400:")
    conditions = [repr(op.condition) for op in ops(loaded(tmp_path, large).program, Assume)]
    assert len(conditions) == 4


def test_an_endless_loop_of_jumps_takes_a_step(tmp_path: Path) -> None:
    program = loaded(tmp_path, "int main(void) { L: goto L; }").program
    (edge,) = edges(program)
    assert edge.source is edge.target
    assert edge.text == "goto L;"


def test_static_objects_are_made_before_main(tmp_path: Path) -> None:
    text = "int a[3] = {1, 0, 2}; int *p = &a[2]; int n = 5; int main(void) { return *p + n; }"
    program = loaded(tmp_path, text).program
    assert program.main == "$start"
    kinds = [type(e.op).__name__ for e in edges(program, "$start")]
    assert kinds == ["Alloc", "Assign", "Store", "Store", "Call"]
    assert {v.name: repr(t) for v, t in program.initial.items()} == {"p": "0", "n": "5", "$&a": "0"}


def test_functions_nobody_calls_are_left_out(tmp_path: Path) -> None:
    text = "double d; void other(void) { d = d * 2.0; } int main(void) { return 0; }"
    assert list(loaded(tmp_path, text).program.procedures) == ["main"]


def test_dead_code_refuses_nothing(tmp_path: Path) -> None:
    text = "int main(void) { return 0; double d = 1.5; d = d * 2.0; if (0) d = d + 1.0; }"
    assert loaded(tmp_path, text).program.procedures


def test_what_is_not_modelled_is_refused_at_its_place(tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, "int main(void) {\n  __float128 d = 1.5;\n  return d > 1.0; }")
    assert caught.value.diagnostic.code == "unsupported-float"
    assert caught.value.diagnostic.span is not None
    assert caught.value.diagnostic.span.line == 8


def test_a_program_needs_main(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        loaded(tmp_path, "int f(void) { return 0; }")
    assert caught.value.diagnostics[0].code == "no-main"


def test_a_program_that_begins_with_another_function(tmp_path: Path) -> None:
    """Its arguments are any values: of `_Bool` 0 or 1, addresses that fit, records with any contents."""
    text = """struct s { int a; short b; };
        int f(_Bool k, int *p, struct s q) { return k ? *p : q.b; }
        int main(void) { return 0; }"""
    (tmp_path / "f.c").write_text(text)
    program = load_c(tmp_path / "f.c", entry="f").program
    assert set(program.procedures) == {"$start", "f"}
    inputs = [op.targets[0].sort for op in ops(program, Havoc, "$start") if isinstance(op, Havoc)]
    assert inputs[0] in (BOOL, machine(1, signed=False))
    assert inputs[1] is INT
    assert [sort.width for sort in inputs[2:] if isinstance(sort, MachineSort)] == [32, 16, 16]  # and padding
    assert len(ops(program, Assume, "$start")) == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("int f(__float128 d) { return 0; }", "unsupported-float"),
        ("int f(int n, ...) { return n; }", "unsupported-entry"),
        ("struct s { int a[9]; }; struct s f(struct s x) { return x; }", "unsupported-entry"),
    ],
)
def test_functions_that_no_program_begins_with(text: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(text)
    with pytest.raises(Unsupported) as caught:
        load_c(tmp_path / "f.c", entry="f")
    assert caught.value.diagnostic.code == code
    with pytest.raises(InputError) as missing:
        load_c(tmp_path / "f.c", entry="g")
    assert missing.value.diagnostics[0].code == "no-function"
    assert missing.value.diagnostics[0].hint == "Functions: f."


def test_arguments_of_main(tmp_path: Path) -> None:
    program = loaded(tmp_path, "int main(int argc, char **argv) { return argc; }").program
    conditions = [repr(op.condition) for op in ops(program, Assume, "$start") if isinstance(op, Assume)]
    assert conditions == ["$start.$1 >= 0"]
    small = loaded(tmp_path, "int main(int argc, char **argv) { return argc; }", model="ILP32").program
    (assume,) = ops(small, Assume, "$start")
    assert isinstance(assume, Assume)
    parts = {repr(part) for part in assume.condition.args}
    assert parts == {"$start.$1 >= 0", "$start.$1 <= 1073741822"}  # that many pointers and a null
    used = loaded(tmp_path, "int main(int argc, char **argv) { return argv[0][0]; }").program
    assert [op.procedure for op in ops(used, Call, "$start") if isinstance(op, Call)] == [
        "$__certus_arguments",
        "main",
    ]
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, "int main(int argc, char **argv, char **envp) { return envp[0][0]; }")
    assert caught.value.diagnostic.code == "unsupported-arguments"


def test_sizes_follow_the_data_model(tmp_path: Path) -> None:
    text = "long a[2]; long *p; int main(void) { a[1] = 3; p = &a[1]; return sizeof p; }"
    program = loaded(tmp_path, text, model="ILP32").program
    (store,) = ops(program, Store)
    assert repr(store) == "Store(address=$&a + 4, value=3)"


def test_a_variable_length_array_in_a_structure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, "int main(void) { int n = 3; struct s { int a[n]; } x; return sizeof x; }")
    assert caught.value.diagnostic.code == "unsupported-vla-in-struct"


@pytest.mark.parametrize("name", ["$start", "$copy8"])
def test_functions_named_as_what_is_made_up_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unsupported) as caught:
        loaded(tmp_path, f"int {name}(void) {{ return 1; }} int main(void) {{ return {name}(); }}")
    assert caught.value.diagnostic.code == "unsupported-name"
    assert caught.value.diagnostic.span is not None


def test_variables_of_one_name_in_one_line_have_their_own_scopes(tmp_path: Path) -> None:
    text = "int main(void) { int x = __VERIFIER_nondet_int(); { int x = 2; if (x) x++; } return x; }"
    program = loaded(tmp_path, text).program
    starts = sorted(span.column for v, span in program.scopes.items() if program.source_names[v] == "x")
    assert starts == [text.index("; {") + 1, text.index("; if") + 1]


def test_an_element_that_is_read_has_its_subscript_in_the_text(tmp_path: Path) -> None:
    text = (
        "int main(void) { int a[4] = {0}, i = __VERIFIER_nondet_uint() % 4; if (a[i] != 0) reach_error(); }"
    )
    program = loaded(tmp_path, text).program
    assert [e.text for e in edges(program) if isinstance(e.op, Load)] == ["a[i]"]


def test_the_front_end_leaves_nothing_to_the_garbage_collector(tmp_path: Path) -> None:
    text = """
    int twice(int x) { return x && x > 3 ? 2 * x : 0; }
    int main(void) { int (*f)(int) = twice; if (f(__VERIFIER_nondet_int()) == 7) reach_error(); }
    """
    gc.collect()
    gc.disable()
    try:
        program = loaded(tmp_path, text).program
        assert program.errors
        assert not [each for each in gc.get_objects() if isinstance(each, Body | Flow | Block | Unit)]
    finally:
        gc.enable()
