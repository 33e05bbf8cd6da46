"""The import contracts of pyproject.toml hold, and they notice what they are there for."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = sorted((ROOT / "src/certus/core").rglob("*.py"))
LINT = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"


def lint(project: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache"],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("core/planted.py", "import certus.solvers", "Upper layers"),
        ("report/planted.py", "import certus.engines", "Upper layers"),
        ("engines/planted.py", "import z3", "Solver packages"),
        ("check/planted.py", "import certus.passes", "second implementation"),
        ("core/planted.py", "import lark", "nothing third-party"),
    ],
)
def test_a_planted_import_is_noticed(file: str, line: str, contract: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src/certus" / file).write_text(f"{line}\n")
    done = lint(tmp_path)
    assert done.returncode != 0
    broken = [text for text in done.stdout.splitlines() if "BROKEN" in text]
    assert any(contract in text for text in broken), done.stdout


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.name)
def test_core_imports_only_itself_and_the_standard_library(path: Path) -> None:
    imported = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.append(node.module or "")
    foreign = [n for n in imported if n.partition(".")[0] not in sys.stdlib_module_names]
    assert [name for name in foreign if not name.startswith("certus.core")] == []


def test_solvers_are_loaded_by_name_only_under_solvers() -> None:
    """What import contracts cannot see: packages found or loaded through their names."""
    loading = re.compile(r"(find_spec|import_module|__import__)\(\s*.(z3|cvc5|islpy|highspy|dd)\b")
    sources = sorted((ROOT / "src/certus").rglob("*.py"))
    found = [path for path in sources if loading.search(path.read_text())]
    assert [path.name for path in found if "solvers" not in path.parts] == []
