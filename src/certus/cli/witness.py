"""`certus verify --witness FILE`: the verdict for other tools."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certus.core.outcome import Outcome


def write_witness(outcome: Outcome, target: Path) -> None:
    """Write the witness of a verdict; where there is none, say why."""
    from certus.cli.terminal import emit, write
    from certus.report.witness import render_witness, witness_of

    found = witness_of(outcome)
    if isinstance(found, str):
        write(sys.stderr, f"certus: no witness is written: {found}\n")
        return
    witness, remark = found
    created = datetime.now(UTC).isoformat(timespec="seconds")
    text = render_witness(witness, engine=outcome.engine, remark=remark, created=created)
    emit(text.rstrip("\n"), target)
