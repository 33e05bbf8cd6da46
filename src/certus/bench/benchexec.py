"""The tool-info module for BenchExec (https://github.com/sosy-lab/benchexec):
`tool="certus.bench.benchexec"`.

It reads the verdict from the first line that `certus verify` prints: the first word, and the last column
before the parenthesis, which is the property or, for UNKNOWN, the cause. It also passes the limits of
BenchExec to Certus, so that Certus reserves time to check its evidence.
"""

from __future__ import annotations

import re
from typing import Any, Final

from benchexec import result
from benchexec.tools.sv_benchmarks_util import get_data_model_from_task
from benchexec.tools.template import BaseTool2

MODELS: Final = {"ILP32": "ILP32", "LP64": "LP64"}
_ASKING: Final = frozenset({"--property", "--checks"})  # options that say what to verify
_ANSWER: Final = re.compile(r"(HOLDS|VIOLATED|UNKNOWN)  .*  (\S.*?)  \(")
_CAUSES: Final = {
    "time-limit": result.RESULT_TIMEOUT,
    "cpu-limit": result.RESULT_TIMEOUT,
    "memory-limit": "OUT OF MEMORY",
}


class Tool(BaseTool2):  # type: ignore[misc]
    """The description of Certus that BenchExec uses."""

    def name(self) -> str:
        """Return the name for tables."""
        return "Certus"

    def executable(self, tool_locator: Any) -> str:
        """Return the path of the executable."""
        return str(tool_locator.find_executable("certus", subdir="bin"))

    def version(self, executable: str) -> str:
        """Return the version that the executable prints."""
        return str(self._version_from_tool(executable, line_prefix="certus"))

    def cmdline(self, executable: str, options: list[str], task: Any, rlimits: Any) -> list[str]:
        """Return the command for one task under the limits of BenchExec."""
        words = [executable, "verify", *options]
        if task.property_file:
            words += ["--property", task.property_file]
        elif not _ASKING.intersection(options) and all(f.endswith((".c", ".i")) for f in task.input_files):
            words += ["--property", "unreach-call"]  # as in competitions, not the default question
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
        """Translate the output of Certus to a result of BenchExec."""
        match = next((match for match in map(_ANSWER.match, run.output) if match is not None), None)
        if match is None:
            return str(result.RESULT_ERROR)
        answer, last = match.groups()
        if answer == "HOLDS":
            return str(result.RESULT_TRUE_PROP)
        if answer == "VIOLATED":
            return str(result.RESULT_FALSE_PROP) + ("" if last == "check-sat" else f"({last})")
        return str(_CAUSES.get(last, f"{result.RESULT_UNKNOWN} ({last})"))
