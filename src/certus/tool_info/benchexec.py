"""Certus for BenchExec (https://github.com/sosy-lab/benchexec): `tool="certus.tool_info.benchexec"`.

The verdict is read from the first line that `certus verify` prints: its first word, and the last before the
parenthesis, which is the property or, of UNKNOWN, the cause. Limits that BenchExec enforces are told to
Certus as well, so that it keeps time to check what it finds.
"""

from __future__ import annotations

import re
from typing import Any, Final

from benchexec import result
from benchexec.tools.sv_benchmarks_util import get_data_model_from_task
from benchexec.tools.template import BaseTool2

MODELS: Final = {"ILP32": "ILP32", "LP64": "LP64"}
_ANSWER: Final = re.compile(r"(HOLDS|VIOLATED|UNKNOWN)  .*  (\S.*?)  \(")
_CAUSES: Final = {
    "time-limit": result.RESULT_TIMEOUT,
    "cpu-limit": result.RESULT_TIMEOUT,
    "memory-limit": "OUT OF MEMORY",
}


class Tool(BaseTool2):  # type: ignore[misc]
    """What BenchExec asks about a tool."""

    def name(self) -> str:
        return "Certus"

    def executable(self, tool_locator: Any) -> str:
        return str(tool_locator.find_executable("certus", subdir="bin"))

    def version(self, executable: str) -> str:
        return str(self._version_from_tool(executable, line_prefix="certus"))

    def cmdline(self, executable: str, options: list[str], task: Any, rlimits: Any) -> list[str]:
        words = [executable, "verify", *options]
        if task.property_file:
            words += ["--property", task.property_file]
        model = get_data_model_from_task(task, MODELS)
        if model is not None:
            words += ["--data-model", model]
        seconds = rlimits.walltime or rlimits.cputime
        if seconds and "--timeout" not in options:
            words += ["--timeout", f"{seconds}s"]
        if rlimits.cputime and "--cpu-time" not in options:
            words += ["--cpu-time", f"{rlimits.cputime}s"]
        if rlimits.memory and "--memory" not in options:
            words += ["--memory", str(rlimits.memory)]
        if rlimits.cpu_cores and "--cores" not in options:
            words += ["--cores", str(rlimits.cpu_cores)]
        return [*words, *task.input_files]

    def determine_result(self, run: Any) -> str:
        found = next((match for match in map(_ANSWER.match, run.output) if match is not None), None)
        if found is None:
            return str(result.RESULT_ERROR)
        answer, last = found.groups()
        if answer == "HOLDS":
            return str(result.RESULT_TRUE_PROP)
        if answer == "VIOLATED":
            return str(result.RESULT_FALSE_PROP) + ("" if last == "check-sat" else f"({last})")
        return str(_CAUSES.get(last, f"{result.RESULT_UNKNOWN} ({last})"))
