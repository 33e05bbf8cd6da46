"""The documents: generated parts are up to date, links lead somewhere, and every diagnostic is explained."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(#[^)\s]*)?\)")
MODULE = re.compile(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:py|c))`")
CODE = re.compile(r"[a-z]+(-[a-z]+)+")
NAMING_MODULES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "GOTCHAS.md", "docs/papers.md", "docs/glossary.md")
REPORTERS = {
    *("Diagnostic", "Clash", "Refused", "Unmodelled"),
    *("error", "warning", "warn", "refuse", "_refuse", "_note", "_unknown", "_gave_up"),
}


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_benchmarks_page_is_generated_from_the_figures() -> None:
    command = [sys.executable, "scripts/benchmarks_page.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_option_reference_has_all_commands_and_options() -> None:
    command = [sys.executable, "scripts/docs_site.py"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sections = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", text, re.MULTILINE))
    assert {"certus verify", "certus check", "certus bench", "Engines"} <= sections.keys()
    assert "`--timeout TIME`" in sections["certus verify"]
    assert "`predicate`" in sections["Engines"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(document: Path) -> None:
    broken = [link for link, target, anchor in links(document) if not leads_somewhere(target, anchor)]
    assert broken == []


def links(document: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield the links of a document within the project: text, target, and heading."""
    for target, anchor in LINK.findall(document.read_text()):
        file = (document.parent / target).resolve() if target else document
        yield f"{target}{anchor}", file, anchor.removeprefix("#")


def leads_somewhere(target: Path, anchor: str) -> bool:
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in headings(target.read_text())


def headings(text: str) -> set[str]:
    """Return the anchors of all headings, as MkDocs and code hosts compute them."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("name", NAMING_MODULES)
def test_the_modules_that_documents_name_exist(name: str) -> None:
    named = MODULE.findall((ROOT / name).read_text())
    assert named
    folders = (ROOT, ROOT / "src" / "certus")
    assert [path for path in named if not any((folder / path).exists() for folder in folders)] == []


def test_every_diagnostic_is_explained() -> None:
    text = "".join((ROOT / "docs" / name).read_text() for name in ("diagnostics.md", "c-support.md"))
    missing = {code for path in SOURCES for code in codes(path) if f"`{code}`" not in text}
    assert missing == set()


def codes(path: Path) -> Iterator[str]:
    """Yield the codes that a module gives to diagnostics: the first argument, or `code=...`."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and name_of(node.func) in REPORTERS:
            arguments = [*node.args[:1], *(word.value for word in node.keywords if word.arg == "code")]
            texts = (argument.value for argument in arguments if isinstance(argument, ast.Constant))
            yield from (text for text in texts if isinstance(text, str) and CODE.fullmatch(text))


def name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""
