"""The entry point: settings, limits, notes, and the same answer every time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from certus import InputError, Safe, Settings, Unknown, Unsafe, verify
from certus.core.evidence import Execution, Unrolling

ENDLESS = "void main() { int x = 0; int y = 0; while (*) { x = x + 1; y = y + 1; } assert(x == y); }"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "prog.lp"
    path.write_text("void main() { int x = *; assume(x > 3); assert(x > 2); }")
    return path


def test_the_answer_and_its_parts(program: Path) -> None:
    outcome = verify(program, Settings(engines=("bmc",)))
    assert outcome.answer == "HOLDS"
    assert isinstance(outcome.verdict, Safe)
    assert isinstance(outcome.verdict.proof, Unrolling)
    assert outcome.engine == "bmc"
    assert [p.name for p in outcome.passes][-1] == "large-blocks"
    assert outcome.seconds["total"] > 0


def test_a_program_without_inputs_is_executed(program: Path) -> None:
    program.write_text("void main() { int x = 0; while (x < 1000) { x = x + 1; } assert(x == 1000); }")
    outcome = verify(program, Settings(engines=("execution", "bmc")))
    assert isinstance(outcome.verdict, Safe)
    assert isinstance(outcome.verdict.proof, Execution)
    program.write_text("void main() { int x = 0; while (x < 1000) { x = x + 1; } assert(x == 999); }")
    assert isinstance(verify(program, Settings(engines=("bmc",))).verdict, Unsafe)


def test_a_bound_that_is_reached_is_said(program: Path) -> None:
    program.write_text(ENDLESS)
    outcome = verify(program, Settings(bound=3))
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "bound-reached"


def test_the_time_limit_holds(program: Path) -> None:
    program.write_text(ENDLESS)
    start = time.monotonic()
    outcome = verify(program, Settings(engine="bmc", timeout=3.0))
    assert time.monotonic() - start < 20
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "time-limit"


def test_the_time_limit_covers_the_front_end(tmp_path: Path) -> None:
    path = tmp_path / "prog.c"
    path.write_text("int main(void) { return 0; }\n")
    outcome = verify(path, Settings(timeout=0.001))
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "time-limit"


def test_what_the_front_end_refuses_is_unknown(program: Path) -> None:
    outcome = verify(program, Settings(property_name="termination"))
    assert isinstance(outcome.verdict, Unknown)
    assert outcome.verdict.reason.code == "unsupported-property"
    assert outcome.property_name == "termination"


@pytest.mark.parametrize(
    "settings",
    [
        Settings(data_model="LP64"),
        Settings(clang_arguments=("-DX",)),
        Settings(engine="nonsense"),
        Settings(options={"nonsense.bound": "3"}),
        Settings(options={"bmc.nonsense": "3"}),
        Settings(options={"bmc.bound": "many"}),
        Settings(options={"bmc.shortest": "perhaps"}),
        Settings(property_name="nonsense"),
    ],
)
def test_wrong_settings_are_input_errors(program: Path, settings: Settings) -> None:
    with pytest.raises(InputError):
        verify(program, settings)


def test_options_reach_the_engine(program: Path) -> None:
    program.write_text(ENDLESS)
    outcome = verify(program, Settings(engine="bmc", options={"bmc.bound": "2"}))
    assert outcome.statistics.counters["bmc.bound"] == 2


def test_claims_that_nothing_reaches_are_noted(program: Path) -> None:
    program.write_text("""
    void main() {
      int x = *;
      assume(x > 0);
      if (x < 0) { assert(x == 7); }
      assume(x < -5);
      assert(x == 9);
    }
    """)
    outcome = verify(program)
    assert outcome.answer == "HOLDS"
    notes = [(d.code, d.span.line) for d in outcome.diagnostics if d.span]
    assert ("unreachable-assertion", 5) in notes
    assert ("unreachable-assertion", 7) in notes
    assert ("contradictory-assumption", 6) in notes


ASSERTIONS = """
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
#define CHECK(c) assert((c) && "checked")
#define BOTH(p, q) do { CHECK(*(p) >= 0 || *(q) > 5); } while (0)
int main(void) {
    int a = __VERIFIER_nondet_int() & 7, b = 3;
    int *p = &a, *q = &b;
    assert(*p >= 0 || *q == 4);
    assert(*p < 8 && (*q == 3 || *p == 9));
    assert(*p > 100 ? *q == 1 : *q == 3);
    assert((*p < 8 || *q == 1) && (*p >= 0 || *q == 1 || *p == 2));
    BOTH(p, q);
    CHECK(*p >= 0 || *q == 4);
    if (*p > 7)
        assert(*q == 5 || *p == 1);
    if (*p > 7)
        BOTH(q, p);
    return 0;
}
"""


def test_an_assertion_is_reached_where_its_evaluation_begins(tmp_path: Path) -> None:
    path = tmp_path / "prog.c"
    path.write_text(ASSERTIONS)
    outcome = verify(path, Settings(engine="bmc"))
    assert outcome.answer == "HOLDS"
    notes = [(d.code, d.span.line) for d in outcome.diagnostics if d.span]
    assert notes == [("unreachable-assertion", 16), ("unreachable-assertion", 18)]


@pytest.mark.parametrize(
    ("text", "property_name", "vacuous"),
    [
        ("int main(void) { return 0; }", "unreach-call", True),
        ("static void f(void) { assert(0); }\nint main(void) { return 0; f(); }", "unreach-call", True),
        ("void f(int n) { if (n) f(n - 1); }\nint main(void) { f(3); }", "unreach-call", True),
        ("void f(int n) { assert(n < 4); }\nint main(void) { f(3); }", "unreach-call", False),
        ("int main(void) { assert(sizeof(int) == 4); return 0; }", "unreach-call", False),
        # Clang leaves no trace of it, as of assertions that are true: these are found in the text.
        ("int main(void) { if (0) { assert(0); } return 0; }", "unreach-call", False),
        ("#undef assert\n#define assert(c)\nint main(void) { assert(0); }", "unreach-call", True),
        ("int main(void) { int x = 4; x++; return x; }", "no-overflow", False),
        ("int main(void) { unsigned x = 4; x++; return 0; }", "no-overflow", True),
        ("int main(int c, char **v) { return c / c; }", "no-overflow", False),
        ("int main(void) { return 4 / 2; }", "no-div-zero", True),
    ],
)
def test_a_program_in_which_nothing_is_asked(
    text: str, property_name: str, vacuous: bool, tmp_path: Path
) -> None:
    path = tmp_path / "prog.c"
    path.write_text(f"#include <assert.h>\n{text}\n")
    outcome = verify(path, Settings(property_name=property_name))
    assert (outcome.answer, outcome.vacuous) == ("HOLDS", vacuous)


def test_queries_are_logged(program: Path, tmp_path: Path) -> None:
    directory = tmp_path / "queries"
    verify(program, Settings(engine="bmc", log_queries=directory))
    names = sorted(path.name for path in directory.iterdir())
    assert any("validate" in name for name in names)
    assert all("; answer: " in path.read_text() for path in directory.iterdir())


def test_the_same_answer_under_any_hash_seed(tmp_path: Path) -> None:
    path = tmp_path / "prog.lp"
    path.write_text("""
    int g; int h;
    int f(int a) { int r; if (a <= 0) { return g; } g = g + 1; r = f(a - 1); return r; }
    void main() { int n = *; int r; g = 0; h = *; assume(n <= 3); r = f(n); assert(r < 3 || h == 2); }
    """)
    seen = set()
    for seed in ("0", "1", "12345"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "certus", "verify", str(path), "--json"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 1, ran.stderr
        found = json.loads(ran.stdout)
        for timed in ("seconds", "statistics"):
            found.pop(timed, None)
        seen.add(json.dumps(found, sort_keys=True))
    assert len(seen) == 1


def test_the_first_statement_is_reached(tmp_path: Path) -> None:
    program = tmp_path / "program.c"
    program.write_text("#include <assert.h>\nstatic int g = 4;\nint main(void) { assert(g == 4); }")
    outcome = verify(program, Settings(engine="bmc"))
    assert outcome.answer == "HOLDS"
    assert outcome.diagnostics == ()


@pytest.mark.parametrize("engine", ["clp", "linear", "predicate", "spacer"])
def test_recursion_that_nothing_depends_on_and_whose_claims_are_constant(program: Path, engine: str) -> None:
    program.write_text("""
    int mode = 4;
    void down(int k) { assert(mode == 4); if (k > 0) { down(k - 1); } }
    void main() { int x = *; down(x); while (mode == 4) { if (*) { break; } } assert(mode > 3); }
    """)
    assert verify(program, Settings(engine=engine)).answer == "HOLDS"


@pytest.mark.parametrize("name", ["loops.c", "calls.c"])
def test_a_program_without_error_locations_needs_no_engine(name: str, tmp_path: Path) -> None:
    """The loop has no bound, so that unrolling would not end."""
    programs = {
        "loops.c": "unsigned g; int main(void) { for (unsigned i = 0; i != 7; i += 2) g = i; return 0; }",
        "calls.c": "unsigned f(unsigned *p) { return *p ? f(p + 1) : 1u; }"
        "unsigned input(void); int main(void) { unsigned a[9]; a[3] = 0; return f(a) != input(); }",
    }
    path = tmp_path / name
    path.write_text(programs[name])
    outcome = verify(path, Settings(engine="bmc", property_name="no-overflow", timeout=100))
    assert outcome.answer == "HOLDS"
    assert outcome.statistics.counters.get("bmc.bound") is None
