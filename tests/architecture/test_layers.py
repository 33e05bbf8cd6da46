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


PLANTED = [
    ("core/one.py", "import certus.solvers", "Upper layers"),
    ("report/two.py", "import certus.engines", "Upper layers"),
    ("engines/three.py", "import z3", "Solver packages"),
    ("check/four.py", "import certus.passes", "second implementation"),
    ("core/five.py", "import lark", "nothing third-party"),
]


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said about each contract after some imports have been planted. The check `layers` runs the
    contracts on the project itself."""
    project = tmp_path_factory.mktemp("planted")
    shutil.copytree(ROOT / "src", project / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", project)
    for file, line, _ in PLANTED:
        (project / "src/certus" / file).write_text(f"{line}\n")
    done = lint(project)
    assert done.returncode != 0
    _, _, broken = done.stdout.partition("Broken contracts\n")
    return dict(re.findall(r"^(.+)\n-+\n((?:(?!.*\n---).*\n)*)", broken, re.MULTILINE))


@pytest.mark.parametrize(("file", "line", "contract"), PLANTED)
def test_a_planted_import_is_noticed(file: str, line: str, contract: str, complaints: dict[str, str]) -> None:
    (text,) = (text for title, text in complaints.items() if contract in title)
    importer = "certus." + file.removesuffix(".py").replace("/", ".")
    assert re.search(rf"{importer} *-> *{line.removeprefix('import ')}\b", text), text


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
