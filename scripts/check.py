"""Run all checks of the project, or those that are named: lint, format, types, layers, prose, docs, tests.

    python scripts/check.py [NAME...]

Run it with the interpreter of an environment that has `.[dev]` installed. Every check runs even if an earlier
one failed; the exit code is 0 only if all passed.

The check `unit` measures coverage. It leaves out tests that run whole programs: tracing makes these two to
three times as slow, and a line that only a whole run reaches is not pinned down by it."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from sarif_schema import fetch

ROOT = Path(__file__).resolve().parents[1]
LINT_IMPORTS = (
    "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
)
# Neighbouring tests share fixtures, so each worker gets a stretch of them, and helps others at the end.
TESTS = ["-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal", "--durations=10"]
QUIET = {"NO_MKDOCS_2_WARNING": "1"}  # mkdocs-material advertises another program
NATIVE = [
    "tests/unit/check/challenge",
    "tests/unit/check/replay/test_compiled.py",
    "tests/unit/check/replay/test_sanitized.py",
]
WHOLE_RUNS = [f"tests/unit/{name}" for name in ("engines", "run", "fuzz", "witness", "frontend/c")] + NATIVE
CHECKS = {
    "lint": ["-m", "ruff", "check", "."],
    "format": ["-m", "ruff", "format", "--check", "."],
    "types": ["-m", "mypy"],
    "layers": ["-c", LINT_IMPORTS, "--no-cache"],
    "spelling": ["-m", "codespell_lib"],
    "prose": ["scripts/prose.py"],
    "docs": ["-m", "mkdocs", "build", "--strict", "--quiet"],
    "unit": [
        *TESTS,
        "tests/unit",
        *(f"--ignore={path}" for path in WHOLE_RUNS),
        "--cov",
        "--cov-report=term",
    ],
    "runs": [*TESTS, *WHOLE_RUNS],
    "other": [*TESTS, "tests", "--ignore=tests/unit"],
    "browser": ["-m", "pytest", "-q", "-m", "browser", "tests/browser"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"choose from: {', '.join(CHECKS)}")
    names = parser.parse_args().names or [*CHECKS]
    if unknown := [name for name in names if name not in CHECKS]:
        parser.error(f"there is no check {unknown[0]!r}; choose from: {', '.join(CHECKS)}")
    if "browser" in names and shutil.which("chromium") is None:
        print("the tests in a browser need chromium, which is not installed: they do not run")
        names.remove("browser")
    failed = []
    with TemporaryDirectory() as scratch:
        environment = (
            os.environ | {"PYTHONPATH": str(ROOT / "src"), **QUIET} | _for_tests(names, Path(scratch))
        )
        # Without saved bytecode each of the many processes that tests start compiles the project again.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for name in names:
            print(f"== {name}", flush=True)
            start = monotonic()
            command = [sys.executable, *CHECKS[name]]
            if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
                failed.append(name)
            print(f"   {monotonic() - start:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _for_tests(names: list[str], scratch: Path) -> dict[str, str]:
    """Return variables for tests: the SARIF schema, if `npm` can fetch it, and a place for coverage data.
    Tests that kill processes leave incomplete data files there."""
    variables = {"COVERAGE_FILE": str(scratch / "coverage")}
    if {"unit", "other"} & set(names):
        schema = scratch / "sarif.json"
        if (missing := fetch(schema)) is None:
            variables["CERTUS_SARIF_SCHEMA"] = str(schema)
        else:
            print(f"SARIF reports are compared with the object model only: {missing}")
    return variables


if __name__ == "__main__":
    sys.exit(main())
