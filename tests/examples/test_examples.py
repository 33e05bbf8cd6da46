"""The examples: each good program has a buggy twin, and both have the verdict their first line claims."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from certus.frontend.lp.load import load_lp
from certus.run.settings import Settings
from certus.run.verify import verify

EXAMPLES = Path(__file__).parents[2] / "examples"
BUGGY = sorted(EXAMPLES.glob("*_bug.lp"))
GOOD = sorted(set(EXAMPLES.glob("*.lp")) - set(BUGGY))
FINITE = ("parity.lp", "sum.lp", "swap.lp")  # every execution ends: unrolling proves them
BOUND = 12  # enough for every error


def locks_module():
    spec = importlib.util.spec_from_file_location("locks", EXAMPLES / "locks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


locks = locks_module().locks
VARIANTS = [dict(zip(("persist", "correlate"), on, strict=True)) for on in product([False, True], repeat=2)]


def answer(path: Path) -> str:
    return verify(path, Settings(engine="bmc", bound=BOUND)).answer


def test_every_program_has_a_twin():
    assert [p.stem for p in BUGGY] == [f"{p.stem}_bug" for p in GOOD]
    assert len(GOOD) >= 10


@pytest.mark.parametrize("path", [*GOOD, *BUGGY], ids=lambda p: p.name)
def test_programs_are_read_without_warnings(path):
    assert load_lp(path.read_text(), path.name).warnings == ()


@pytest.mark.parametrize("path", BUGGY, ids=lambda p: p.name)
def test_buggy_programs_are_violated(path):
    assert path.read_text().startswith("// VIOLATED")
    assert answer(path) == "VIOLATED"


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.name)
def test_good_programs_hold_as_far_as_unrolling_sees(path):
    assert path.read_text().startswith("// HOLDS")
    assert answer(path) == ("HOLDS" if path.name in FINITE else "UNKNOWN")


class TestLocks:
    def test_the_files_are_what_the_generator_prints(self):
        for name, options in (("locks.lp", []), ("locks_bug.lp", ["--bug"])):
            command = [sys.executable, str(EXAMPLES / "locks.py"), "5", *options]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            assert printed == (EXAMPLES / name).read_text()

    @pytest.mark.parametrize("variant", VARIANTS, ids=str)
    @pytest.mark.parametrize("bug", [True, False], ids=["bug", "good"])
    def test_variants(self, tmp_path, variant, bug):
        path = tmp_path / "locks.lp"
        path.write_text(locks(3, bug=bug, **variant))
        assert answer(path) == ("VIOLATED" if bug else "UNKNOWN")

    def test_no_locks_are_refused(self):
        command = [sys.executable, str(EXAMPLES / "locks.py"), "0"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "N must be at least 1" in done.stderr
