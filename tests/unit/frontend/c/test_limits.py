"""Reading a C program looks at the clock all the time, also where one declaration is most of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.core.accounting import Budget
from certus.core.errors import BudgetExceeded
from certus.frontend.c.load import load_c

ELEMENTS = 2000


class Clock(Budget):
    """A budget that ends at the given look at the clock."""

    __slots__ = ("last", "looks")

    def __init__(self, last: int) -> None:
        super().__init__(None)
        self.looks, self.last = 0, last

    def check(self) -> None:
        self.looks += 1
        if self.looks == self.last:
            raise BudgetExceeded("time")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.c"
    numbers = ", ".join(map(str, range(1, ELEMENTS + 1)))
    path.write_text(f"int t[] = {{{numbers}}};\nint main(void) {{ return t[1] - 2; }}\n")
    return path


def test_every_element_is_lowered_under_the_limit(table: Path) -> None:
    clock = Clock(last=-1)
    load_c(table, budget=clock)
    assert clock.looks > ELEMENTS


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_limit_ends_reading_anywhere(table: Path, share: float) -> None:
    clock = Clock(last=int(ELEMENTS * share))
    with pytest.raises(BudgetExceeded):
        load_c(table, budget=clock)
    assert clock.looks == clock.last
