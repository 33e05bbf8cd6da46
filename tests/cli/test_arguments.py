"""Durations, sizes and bounds."""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from certus.cli.arguments import bound, duration, size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("60", 60), ("2m", 120), ("500ms", 0.5), ("1.5 min", 90), ("1h", 3600)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "count"),
    [("4GB", 4 * 10**9), ("500MB", 500 * 10**6), ("1GiB", 2**30), ("1000", 1000), ("0.5kb", 500)],
)
def test_sizes(text: str, count: int) -> None:
    assert size(text) == count


@pytest.mark.parametrize("text", ["", "s", "-5s", "1e3", "5 days", "0ms", "nan", "inf"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        duration(text)


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "4 GBit", "0", "0.1b"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        size(text)


def test_bounds() -> None:
    assert bound("7") == 7


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "1.5"])
def test_no_bounds(text: str) -> None:
    with pytest.raises(ArgumentTypeError):
        bound(text)
