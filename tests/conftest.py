"""What all tests rely on."""

from __future__ import annotations

import importlib
import pkgutil
import signal

import pytest

# A shell starts background jobs with interrupts ignored, and every process they start inherits that. Tests
# that press Ctrl-C, in this process or in a child, need them heeded.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

IN_CHILDREN = ("analysis", "check", "encoding", "engines", "interpolation", "interpreter", "passes", "run")


def pytest_configure(config: pytest.Config) -> None:
    """Import the modules of engines and checkers before tests fork them: importing takes a third of the time
    of a small run. Where coverage is measured, only what tests import counts."""
    if not hasattr(config, "workerinput"):
        return
    if measured := config.pluginmanager.getplugin("_cov"):
        # In a worker, pytest-cov starts a second measurement later. This one would go on in tests that are
        # marked `no_cover`.
        if measured.cov_controller:
            measured.cov_controller.cov.stop()
        return
    for name in IN_CHILDREN:
        package = importlib.import_module(f"certus.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
