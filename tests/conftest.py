"""What all tests rely on."""

from __future__ import annotations

import importlib
import os
import pkgutil
import signal
from pathlib import Path
from typing import NoReturn

import pytest

CONFIGURATION = str(Path(__file__).parents[1] / "pyproject.toml")

# A shell starts background jobs with interrupts ignored, and every process they start inherits that. Tests
# that press Ctrl-C, in this process or in a child, need them heeded.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

IN_CHILDREN = ("analysis", "check", "encoding", "engines", "interpolation", "interpreter", "passes", "run")


def pytest_configure(config: pytest.Config) -> None:
    """Import the modules of engines and checkers before tests fork them: importing takes a third of the time
    of a small run. Where coverage is measured, only what tests import counts."""
    is_worker = hasattr(config, "workerinput")
    measured = config.pluginmanager.getplugin("_cov")
    if measured and measured.cov_controller:
        if is_worker:  # pytest-cov starts another measurement, and this one would ignore `no_cover`
            measured.cov_controller.cov.stop()
        _measure_children()
    elif is_worker:
        for name in IN_CHILDREN:
            package = importlib.import_module(f"certus.{name}")
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                importlib.import_module(module.name)


def _measure_children() -> None:
    """Measure the coverage of forked children. The patches of coverage.py let each child save the data of all
    processes above it as well, which takes longer than most tests."""
    from coverage import Coverage

    leave = os._exit

    def begin() -> None:
        inherited = Coverage.current()
        if inherited is None:
            return
        inherited.stop()
        own = Coverage(inherited.get_data().base_filename(), data_suffix=True, config_file=CONFIGURATION)
        own.set_option("run:disable_warnings", ["module-not-measured", "no-data-collected"])
        own.start()

        def end(code: int) -> NoReturn:
            try:
                own.stop()
                own.save()
            finally:
                leave(code)

        os._exit = end

    os.register_at_fork(after_in_child=begin)
