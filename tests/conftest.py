"""What all tests rely on."""

from __future__ import annotations

import signal

# A shell starts background jobs with interrupts ignored, and every process they start inherits that. Tests
# that press Ctrl-C, in this process or in a child, need them heeded.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
