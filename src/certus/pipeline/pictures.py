"""What reports draw beside the program itself."""

from __future__ import annotations

from dataclasses import replace

from certus.core.outcome import Outcome
from certus.core.program import Program
from certus.pipeline.settings import Blocks
from certus.transform.large_blocks import encode_program


def with_blocks(outcome: Outcome, blocks: Blocks) -> Outcome:
    """The outcome with its program in blocks, as the program was read: passes that look at the property, such
    as slicing, are not applied."""
    if not isinstance(outcome.subject, Program) or not outcome.subject.procedures:
        return outcome
    return replace(outcome, blocks=encode_program(outcome.subject, blocks)[0])
