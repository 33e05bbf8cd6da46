"""A deprecated name of `certus.bench.benchexec`, kept for benchmark definitions that use it."""

import warnings

from certus.bench.benchexec import Tool

__all__ = ["Tool"]

warnings.warn("use certus.bench.benchexec, not certus.tool_info.benchexec", DeprecationWarning, stacklevel=2)
