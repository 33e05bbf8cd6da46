"""Sizes, names and files: what keeps the project readable and its documents true."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

import certus
from certus.core.version import VERSION

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TRUSTED = ("core", "codec", "encoding", "solvers", "frontend", "interpreter", "check")


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return the nodes of the syntax tree of a module."""
    return list(ast.walk(ast.parse(path.read_text())))


def project_files() -> list[Path]:
    """What belongs to the project: as git sees it, or all files where there is no repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode == 0:
        files = [ROOT / name.decode() for name in listed.stdout.split(b"\0") if name]
    else:
        files = [
            path
            for top in ("src", "tests", "docs", "examples", "scripts", ".ci")
            for path in (ROOT / top).rglob("*")
            if "__pycache__" not in path.parts
        ]
        files += [path for path in ROOT.iterdir() if not path.name.startswith(".coverage")]
    return sorted(path for path in files if path.is_file())


def test_source_files_stay_under_500_lines() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: size for name, size in sizes.items() if size > 500} == {}


def test_no_vague_class_names() -> None:
    vague = re.compile(r"(Manager|Helper|Utils?|Impl|Factory)$")
    found = [
        f"{path.name}: {node.name}"
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and vague.search(node.name)
    ]
    assert found == []


LARGER = {  # classes that have more than 15 fields; these numbers only go down
    "Settings": 21,  # public API: one field for each option of the command line, by its promised name
    "Outcome": 18,  # public API: the promised fields, from which `report` makes every format
}


def test_classes_have_at_most_15_fields() -> None:
    sizes = {
        node.name: len(_fields(node))
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
    }
    assert {name: size for name, size in sizes.items() if size > LARGER.get(name, 15)} == {}


def _fields(node: ast.ClassDef) -> set[str]:
    """Return the attributes that a class declares, or assigns through `self`."""
    declared = {
        part.target.id
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    return declared | {
        part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.value, ast.Name)
        and part.value.id == "self"
    }


def test_signatures_of_the_trusted_part_are_without_any() -> None:
    loose = []
    for path in SOURCES:
        if path.relative_to(ROOT / "src/certus").parts[0] not in TRUSTED:
            continue
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef):
                arguments = [part.annotation for part in ast.walk(node.args) if isinstance(part, ast.arg)]
                types = [part for part in (*arguments, node.returns) if part is not None]
                if any(isinstance(x, ast.Name) and x.id == "Any" for part in types for x in ast.walk(part)):
                    loose.append(f"{path.name}: {node.name}")
    assert loose == []


def test_no_stubs() -> None:
    stub = re.compile(
        "TO" + r"DO|FIX" + r"ME|NotImplemented" + r"Error|except:|# type: ignore$", re.MULTILINE
    )
    found = {path.name: match[0] for path in SOURCES if (match := stub.search(path.read_text()))}
    assert found == {}


def test_no_paths_of_one_machine() -> None:
    machine = re.compile(rb"/(?:" + rb"work|root|home/[a-z]+|Users/[a-z]+" + rb")/")
    found = {str(path.relative_to(ROOT)) for path in project_files() if machine.search(path.read_bytes())}
    assert found == set()


def test_the_package_is_typed_and_versioned() -> None:
    assert (ROOT / "src/certus/py.typed").exists()
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_public_names() -> None:
    assert sorted(certus.__all__) == [
        "CertusError",
        "Diagnostic",
        "InputError",
        "Outcome",
        "Safe",
        "Settings",
        "Unknown",
        "Unsafe",
        "__version__",
        "recheck",
        "verify",
    ]
    assert all(hasattr(certus, name) for name in certus.__all__)


@pytest.mark.parametrize("dependency", PROJECT["project"]["dependencies"])
def test_every_dependency_is_used(dependency: str) -> None:
    module = {"z3-solver": "z3", "pyyaml": "yaml"}.get(name := re.split(r"[<>=~!\[]", dependency)[0], name)
    pattern = re.compile(rf"^\s*(import|from) {module}\b|find_spec\(.{module}.\)", re.MULTILINE)
    assert any(pattern.search(path.read_text()) for path in SOURCES)


class TestReadme:
    def commands(self) -> list[str]:
        return re.findall(r"^    (python3 -m venv .*)$", README, re.MULTILINE)

    def test_two_commands_for_a_fresh_machine(self) -> None:
        run, check = self.commands()
        assert re.search(r"\.venv/bin/certus verify (\S+)$", run)
        assert check.endswith("&& .venv/bin/python scripts/check.py")

    def test_the_files_they_name_exist(self) -> None:
        named = re.findall(r"(?:examples|scripts|docs)/[\w./-]*\w", README)
        assert named
        assert [name for name in named if not (ROOT / name).exists()] == []

    def test_continuous_integration_runs_the_same_command(self) -> None:
        (pattern,) = re.findall(r"sed -n '(s/.*/p)'", (ROOT / ".ci/run").read_text())
        done = subprocess.run(
            ["sed", "-n", pattern, "README.md"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines() == [self.commands()[1]]
