"""Give native runs more time than users do: on a busy machine the same number of runs has to be compared."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certus.check.challenge.native.SECONDS", 3.0)
