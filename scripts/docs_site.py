"""Hooks of MkDocs (mkdocs.yml): generate the option reference and include the documents of the top directory.

The option reference is computed from the argument parser at build time, so it cannot get out of date.
ARCHITECTURE and other documents of the top directory become pages of the site. Links that leave `docs/` lead
to these pages; a link to any other file of the repository becomes plain text.

    python scripts/docs_site.py        print the option reference
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "GOTCHAS.md": "gotchas.md",
    "README.md": "index.md",
    "SECURITY.md": "security.md",
}
"""Documents of the top directory, and the page of the site that each link to them leads to."""

INCLUDED = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "GOTCHAS.md", "SECURITY.md")
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for name in INCLUDED:
        files.append(File.generated(config, PAGES[name], content=(ROOT / name).read_text(encoding="utf-8")))
    files.append(File.generated(config, "options.md", content=options_page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Redirect the links of a page that leave the directory of the documents."""
    sources = {page: name for name, page in PAGES.items() if name in INCLUDED}
    address = page.file.src_uri
    origin = sources.get(address, f"docs/{address}")

    def link(match: re.Match[str]) -> str:
        target = match["target"]
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
        if wanted.startswith("docs/"):
            wanted = wanted.removeprefix("docs/")
            wanted = "adr/index.md" if wanted == "adr" else wanted
        elif wanted in PAGES and files.get_file_from_path(PAGES[wanted]) is not None:
            wanted = PAGES[wanted]
        else:
            return match["text"]
        relative = posixpath.relpath(wanted, posixpath.dirname(address) or ".")
        return f"{match['image']}[{match['text']}]({relative}{match['anchor'] or ''})"

    return LINK.sub(link, markdown)


def options_page() -> str:
    """Return the reference of all commands and options as Markdown."""
    os.environ["COLUMNS"] = "80"  # of the usage lines
    from certus.cli.main import parser

    top = parser(None)
    parts = ["# Command line", top.description or "", "This page is generated from the argument parser."]
    for name in commands(top):
        parts.extend(command_section(name, commands(parser(name))[name]))
    parts.extend(engine_section())
    return "\n\n".join(parts) + "\n"


def commands(top: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all commands by name."""
    return next(each.choices for each in top._actions if isinstance(each, argparse._SubParsersAction))


def command_section(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the paragraphs about one command."""
    yield f"## certus {name}"
    usage = command.format_usage().removeprefix("usage: ").rstrip()
    yield f"```text\n{usage}\n```"
    if command.description:
        yield escape(command.description)
    rows = [row(action) for action in command._actions if action.dest != "help"]
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows])
    if command.epilog:
        yield f"```text\n{command.epilog.rstrip()}\n```"


def row(action: argparse.Action) -> str:
    """Return the row of one argument."""
    shown = action.metavar or (None if action.option_strings else action.dest)
    if action.choices is not None and action.metavar is None:
        shown = "{" + ",".join(map(str, action.choices)) + "}"
    if action.nargs == 0:
        shown = None
    names = ", ".join(action.option_strings)
    argument = " ".join(part for part in (names, shown if isinstance(shown, str) else None) if part)
    return f"| `{argument.replace('|', chr(92) + '|')}` | {escape(action.help or '')} |"


def engine_section() -> Iterator[str]:
    """Yield the paragraphs about the engines and their options."""
    from certus.engines.registry import ENGINES

    yield "## Engines"
    yield "`--engine NAME` runs one engine, `--set NAME.FIELD=VALUE` sets one of its options."
    lines = ["| engine | idea | options and defaults |", "|---|---|---|"]
    for name, engine in ENGINES.items():
        fields = (f"`{name}.{field.name}={field.default}`" for field in dataclasses.fields(engine.options))
        lines.append(f"| `{name}` | {escape(engine.summary)} | {'<br>'.join(fields)} |")
    yield "\n".join(lines)


def escape(text: str) -> str:
    """Return a help text as Markdown."""
    return text.replace("%%", "%").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    print(options_page(), end="")
