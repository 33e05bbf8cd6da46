"""All checks of the project, in one command: lint, format, types, layers, tests.

Coverage is that of the layers below the engines but for C, by their unit tests: tracing makes a test two to
three times as slow, and what only a law or a whole run reaches is not pinned down by it.

Run it with the interpreter of an environment that has `.[dev]` installed. Every check runs even if an earlier
one failed; the exit code is 0 only if all passed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from sarif_schema import fetch

ROOT = Path(__file__).resolve().parents[1]
LINT_IMPORTS = (
    "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
)
TESTS = ["-m", "pytest", "-q", "-n", "2"]
NATIVE = [f"tests/unit/validate/test_{name}.py" for name in ("compiled", "native", "second_opinion")]
WHOLE_RUNS = ["tests/unit/engines", "tests/unit/pipeline", "tests/unit/frontend/c", *NATIVE]
APART = [f"--ignore={folder}" for folder in WHOLE_RUNS]
CHECKS = {
    "lint": ["-m", "ruff", "check", "."],
    "format": ["-m", "ruff", "format", "--check", "."],
    "types": ["-m", "mypy"],
    "layers": ["-c", LINT_IMPORTS, "--no-cache"],
    "unit tests": [*TESTS, "tests/unit", *APART, "--cov", "--cov-report=term"],
    "unit tests of whole runs": [*TESTS, *WHOLE_RUNS],
    "other tests": [*TESTS, "tests", "--ignore=tests/unit"],
}
if shutil.which("chromium") is not None:
    CHECKS["tests in a browser"] = ["-m", "pytest", "-q", "-m", "browser", "tests/browser"]


def main() -> int:
    failed = []
    with TemporaryDirectory() as scratch:  # for coverage: tests end processes while they write their data
        environment = {"PYTHONPATH": str(ROOT / "src"), "COVERAGE_FILE": f"{scratch}/coverage"}
        schema = Path(scratch, "sarif.json")
        if (missing := fetch(schema)) is None:
            environment["CERTUS_SARIF_SCHEMA"] = str(schema)
        else:
            print(f"SARIF is held against its object model alone: {missing}")
        for name, arguments in CHECKS.items():
            print(f"== {name}", flush=True)
            command = [sys.executable, *arguments]
            if subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False).returncode:
                failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
