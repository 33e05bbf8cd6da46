"""Find unclear phrases and American spellings in everything that people read.

    python scripts/prose.py [--count] [FILE...]

Reads the comments and strings of Python files (docstrings, help texts and diagnostics are among them), the
comments of C files, and Markdown without its code. Prints file, line, the phrase and what to write instead.
The exit code is 1 if there is any. Without FILE all files of the project are read."""

from __future__ import annotations

import argparse
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("src", "scripts", "tests", "docs", "examples")
SUFFIXES: Final = (".py", ".md", ".c", ".h")
QUOTING: Final = ("prose.py", "test_prose.py")  # they list the phrases

# Phrases that a reader has to decode, and what to write instead. Case is ignored, a space is any white space.
PHRASES: Final = {
    r"(?:is|are|was|were|be|been|being|as|what|nothing) told": "say what is passed, printed or recorded",
    r"told (?:apart|of|by|from)": "distinguished; reported",
    r"tells? of": "reports, describes",
    r"(?:is|are|was|were|be) had": "is available, exists, can be obtained",
    r"(?:a|the|two|few|quick|concrete|these|those|between|of|by) looks": "concrete runs",
    r"nobody|whom": "name the subject (no caller, no engine, nothing)",
    r"makes? of": "computes from, turns into",
    r"the way of the": "the flow of, the path of",
    r"doors?": "entry point",
    r"but for": "except",
    r"all there (?:is|are)": "all",
    r"in vain": "without success",
    r"hears? of": "receives, is notified of",
    r"steps? in for": "replaces",
    r"so many": "name the number",
    r"some hundred": "several hundred",
    r"choose of": "choose from",
    r"by heart": "stored",
    r"held against": "compared with",
    r"likeness(?:es)?": "back map",
    r"seeds? 00\d": "author and year, as in docs/papers.md",
}
# Phrases that are right after some words. "Who" is for people, not for engines, solvers and modules.
PEOPLE: Final = (
    r"anyone|authors?|contributors?|developers?|everyone|maintainers?|one|people|person|readers?|"
    + (r"someone|students?|those|users?")
)
AFTER: Final = {
    r"that there (?:is|are)(?! no)": ("so", "existing, available"),
    r"apart(?! from)": ("bytes|far", "separately, distinct, in a child process"),
    r"of which": (r"\d+|all|any|both|each|last|many|most|none|one|some|two", "start a new sentence"),
    r"who": (PEOPLE, "name the subject (the engine that, the solver that)"),
    r"(?:is|are) no (?:answer|error|file|name|number|program|proof|such)": ("there", "is not a"),
}
# American spellings that stay: promised names, terms of other formats, and words with two spellings.
AMERICAN: Final = re.compile(
    r"analyze|artifacts?|canceled|catalog|centers?|colors?|dialog|gray|judgments?|initializes|licen\w+|math|meters?|"
    r"practiced?|programs?|sanitiz\w+|uninitialized|unrecognized|writable"
)
COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
CODE: Final = re.compile(r"^```.*?^```|^(?: {4}|\t).*$|`[^`\n]+`|<!--.*?-->", re.DOTALL | re.MULTILINE)

VALUE: Final = re.compile(r"(?<!\{)\{[^{}]+\}")  # in f-strings, which are one token before Python 3.12
STRINGS: Final = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def problems(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, phrase and advice for each unclear phrase in a file."""
    for start, text in prose(path):
        for at, phrase, advice in sorted(_unclear(text)):
            yield start + text.count("\n", 0, at), " ".join(phrase.split()), advice


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the parts of a file that people read, with the number of their first line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _python(text)
    elif path.suffix in (".c", ".h"):
        for match in COMMENT.finditer(text):
            yield 1 + text.count("\n", 0, match.start()), match[0]
    else:
        yield 1, CODE.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    """Replace code by digits, line by line."""
    return re.sub(r"[^\n]", "0", match[0])


def _python(text: str) -> Iterator[tuple[int, str]]:
    """Yield strings, and comments on lines that follow each other as one."""
    start, lines = 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != start + len(lines):
                if lines:
                    yield start, "\n".join(lines)
                start, lines = token.start[0], []
            lines.append(token.string)
        elif token.type in STRINGS:
            yield token.start[0], VALUE.sub(_blank, token.string) if "f" in token.string[:2] else token.string
    if lines:
        yield start, "\n".join(lines)


def _unclear(text: str) -> Iterator[tuple[int, str, str]]:
    for pattern, advice in BANNED.items():
        for match in pattern.finditer(text):
            yield match.start(), match[0], advice
    for pattern, (before, advice) in ALLOWED_AFTER.items():
        for match in pattern.finditer(text):
            words = re.findall(r"\w+", text[max(0, match.start() - 40) : match.start()])
            if not words or not re.fullmatch(before, words[-1], re.IGNORECASE):
                yield match.start(), match[0], advice
    for match in re.finditer(r"(?<![\w-])[a-z]{4,}(?![\w(])", text):
        british = _american().get(match[0])
        if british is not None:
            yield match.start(), match[0], british


def _pattern(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{phrase})\b".replace(" ", r"[\s#*]+"), re.IGNORECASE)


BANNED: Final = {_pattern(phrase): advice for phrase, advice in PHRASES.items()}
ALLOWED_AFTER: Final = {_pattern(phrase): rule for phrase, rule in AFTER.items()}


@cache
def _american() -> dict[str, str]:
    """Return the British form of American spellings, from codespell's dictionary for the other direction."""
    lines = files("codespell_lib").joinpath("data/dictionary_en-GB_to_en-US.txt").read_text().splitlines()
    pairs = (line.split("->") for line in lines)
    spellings = {american.strip(): british for british, american in pairs if "," not in american}
    return {american: british for american, british in spellings.items() if not AMERICAN.fullmatch(american)}


def project_files() -> list[Path]:
    """Return all files of the project that people read."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    paths += ROOT.glob("*.md")
    paths += (ROOT / ".github").rglob("*.md")
    return sorted(path for path in paths if path.suffix in SUFFIXES and path.name not in QUOTING)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("files", nargs="*", type=Path, help="the files to read")
    options.add_argument("--count", action="store_true", help="print the number of phrases in each file")
    arguments = options.parse_args()
    counts = Counter[str]()
    for path in arguments.files or project_files():
        name = str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
        for line, phrase, advice in problems(path):
            counts[name] += 1
            if not arguments.count:
                print(f"{name}:{line}: {phrase!r}: {advice}")
    if arguments.count:
        for name, count in counts.most_common():
            print(f"{count:5} {name}")
    print(f"{counts.total()} phrases in {len(counts)} files")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
