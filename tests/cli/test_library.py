"""`certus library`: texts that verify, and sentences for what it cannot write."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Certus


def test_families_are_listed_with_their_aspects(certus: Certus) -> None:
    done = certus("library")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["family", "data", "control", "iteration", "recursion", "program"]
    assert [line.split()[0] for line in lines[1:7]] == [
        "swap_seq", "swap_iter", "delay_iter", "delay_recur", "parity", "parity_after",
    ]  # fmt: skip


@pytest.mark.parametrize(("flags", "code"), [(["3"], 0), (["--symbolic"], 0), (["3", "--buggy"], 1)])
def test_a_program_of_the_library_is_verified(
    flags: list[str], code: int, certus: Certus, tmp_path: Path
) -> None:
    file = tmp_path / "swap.lp"
    assert certus("library", "swap_iter", *flags, "-o", str(file)).returncode == 0
    done = certus("verify", str(file), "--engine", "linear")
    assert done.returncode == code, done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["frogs", "3"], "there is no family 'frogs'"),
        (["sum"], "N or --symbolic is required"),
        (["swap_seq", "--symbolic"], "swap_seq has no symbolic form"),
        (["parity", "-3"], "N is -3, but must be from 0"),
        (["delay_iter", "0", "--buggy"], "needs N of at least 1"),
        (["parity", "3", "--symbolic"], "not allowed with argument"),
        (["parity", "three"], "invalid int value: 'three'"),
    ],
)
def test_what_cannot_be_written(arguments: list[str], sentence: str, certus: Certus) -> None:
    done = certus("library", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
