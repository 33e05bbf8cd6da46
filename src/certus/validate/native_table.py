"""The table through which the start-up code of many runs (start.c) gets inputs and tells how they ended.

All of it are little-endian words of 64 bits: a head; for each run its status, how many inputs it asked for,
and for each function where its values are and how many; for each run the functions it asked, in order; at
last the values. Places are counted in words.
"""

from __future__ import annotations

import signal
from array import array
from collections.abc import Mapping, Sequence
from typing import Final

from certus.validate.harness import ENDINGS, NOTED, Code
from certus.validate.model_runs import LOGGED, Behaviour, End, Values

_HEAD: Final = 7
_NOT_RUN: Final = (1 << 64) - 1
_WORD: Final = (1 << 64) - 1
_TRAPS: Final = (signal.SIGILL, signal.SIGTRAP, signal.SIGFPE)
_STOPS: Final = (Code.ASSERTION, Code.ERROR, Code.ASSUMPTION, Code.ABORTED, Code.EXITED)
_ENDS: Final[Mapping[int, End]] = {
    Code.RETURNED: End.RETURNED,
    **dict.fromkeys(_STOPS, End.STOPPED),  # unless it is the error that was asked about
    Code.CRASHED: End.CRASHED,
    Code.EXHAUSTED: End.EXHAUSTED,
}


class Table:
    """The inputs of many runs: `words` says how many words a value of each function has, `supplies` the
    values by function, `microseconds` how long each run may take."""

    def __init__(self, words: Mapping[str, int], supplies: Sequence[Values], *, microseconds: int) -> None:
        self._words = words
        self._supplies = supplies
        self._microseconds = microseconds
        self._record = 2 + 2 * len(words)  # words of one run
        self._logs = _HEAD + self._record * len(supplies)
        self._read = array("Q")

    def encoded(self) -> bytes:
        """The table before the first run."""
        records, values = array("Q"), array("Q")
        start = self._logs + LOGGED * len(self._supplies)
        for supply in self._supplies:
            records.extend((_NOT_RUN, 0))
            for name, words in self._words.items():
                records.extend((start + len(values), len(supply[name])))
                for value in supply[name]:
                    values.extend(value >> 64 * word & _WORD for word in range(words))
        size = 8 * (start + len(values))
        head = (size, len(self._supplies), len(self._words), LOGGED, self._microseconds, _HEAD, self._logs)
        logs = array("Q", bytes(8 * LOGGED * len(self._supplies)))
        return (array("Q", head) + records + logs + values).tobytes()

    def read(self, data: bytes) -> None:
        """Take what the runs have left in the table."""
        self._read = array("Q", data)

    @property
    def finished(self) -> int:
        """How many runs came to an end, or to their limit."""
        statuses = (self._read[self._at(run)] for run in range(len(self._supplies)))
        return next((run for run, status in enumerate(statuses) if status == _NOT_RUN), len(self._supplies))

    @property
    def unconfined(self) -> bool:
        """Whether the runs did not begin, since the system cannot confine them."""
        return self._read[self._at(0)] == Code.UNCONFINED << 8

    def behaviours(self, errors: frozenset[int], *, traps: bool) -> list[Behaviour]:
        """How the runs ended; `errors` are the exit codes that mean the error, `traps`: so do signals."""
        return [self._behaviour(run, errors, traps=traps) for run in range(self.finished)]

    def _at(self, run: int) -> int:
        return _HEAD + self._record * run

    def _behaviour(self, run: int, errors: frozenset[int], *, traps: bool) -> Behaviour:
        status, count = self._read[self._at(run) : self._at(run) + 2]
        names = tuple(self._words)
        log = self._logs + LOGGED * run
        noted = self._read[log : log + min(count, LOGGED)]
        asked = tuple(names[number] if number < len(names) else "?" for number in noted)
        number, code = status & 127, status >> 8 & 255
        if number:
            end = End.ERROR if traps and number in _TRAPS else _SIGNALS.get(number, End.OTHER)
            return Behaviour(end, f"it was ended by a signal: {signal.strsignal(number)}", asked, count)
        stubbed, code = bool(code & NOTED), code & ~NOTED
        trapped = traps and code == Code.DIVIDED_BY_ZERO
        end = End.ERROR if trapped or code in errors else _ENDS.get(code, End.OTHER)
        detail = ENDINGS.get(code, f"it ended with exit code {code}")
        return Behaviour(end, detail, asked, count, stubbed)


_SIGNALS: Final[Mapping[int, End]] = {
    signal.SIGILL: End.STOPPED,
    signal.SIGTRAP: End.STOPPED,
}  # of `__builtin_trap`
