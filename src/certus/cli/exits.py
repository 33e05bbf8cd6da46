"""Exit codes: the part of the answer a shell script sees."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    HOLDS = 0
    VIOLATED = 1
    INPUT = 2  # malformed input or usage
    UNKNOWN = 3  # no answer, also after Ctrl-C
    INTERNAL = 4

    @staticmethod
    def of(answer: str) -> Exit:
        """The exit code for HOLDS, VIOLATED or UNKNOWN."""
        return Exit[answer]

    @staticmethod
    def of_witness(answer: str) -> Exit:
        """The exit code for a witness that is CONFIRMED, REFUTED or UNKNOWN."""
        return {"CONFIRMED": Exit.HOLDS, "REFUTED": Exit.VIOLATED}.get(answer, Exit.UNKNOWN)
