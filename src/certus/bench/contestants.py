"""Contestants: engines of Certus and other tools, their commands, and how to read their answers."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from certus.bench.results import Answer
from certus.bench.tasks import BenchTask
from certus.run.settings import bad_usage
from certus.system.supervise import Ended

HOLDS: Final = r"(?m)^\W*(TRUE|HOLDS|sat|VERIFICATION SUCCESSFUL)\b"
VIOLATED: Final = r"(?m)^\W*(FALSE|VIOLATED|unsat|VERIFICATION FAILED)\b"
PLACEHOLDERS: Final = ("file", "task", "property", "model", "bits", "timeout")
_ANSWERS: Final[Mapping[str | None, Answer]] = {"HOLDS": "true", "VIOLATED": "false", "UNKNOWN": "unknown"}


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one run: seconds of wall time, bytes of memory, number of cores."""

    seconds: float
    memory: int | None
    cores: int

    def __str__(self) -> str:
        memory = "" if self.memory is None else f", {self.memory / 1e9:g} GB"
        return f"{self.seconds:g} s{memory}, {self.cores} core{'s' if self.cores > 1 else ''}"


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of a run; `reason` says why there is none, or how the compiled program replayed a violation,
    `engine` which engine answered, if it says so."""

    answer: Answer
    reason: str = ""
    engine: str = ""


@dataclass(frozen=True, slots=True)
class Contestant:
    """An engine of Certus, whose `words` are options of `certus verify`, or another tool, whose `words` are a
    command with `PLACEHOLDERS` in braces. `holds` and `violated` are regular expressions for its output."""

    name: str
    words: tuple[str, ...]
    is_engine: bool
    holds: str = HOLDS
    violated: str = VIOLATED

    @property
    def title(self) -> str:
        """Return the words and patterns as one text: it identifies what is run and how it is read."""
        patterns = (
            "" if (self.holds, self.violated) == (HOLDS, VIOLATED) else f" # {self.holds} # {self.violated}"
        )
        return shlex.join(self.words) + patterns

    def command(self, task: BenchTask, limits: Limits) -> list[str]:
        """Return the command for one task."""
        if self.is_engine:
            return [*_verify(task, limits), *self.words]
        bits = "32" if task.data_model == "ILP32" else "64"
        values = {
            "file": task.program,
            "task": task.file,
            "property": task.property_name,
            "model": task.data_model or "LP64",
            "bits": bits,
            "timeout": f"{limits.seconds:g}",
        }
        words: list[str] = []
        for word in self.words:
            words.append(re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), word))
            words += task.others if word == "{file}" else ()
        return words

    def read(self, ended: Ended, limits: Limits) -> Answered:
        """Read the answer of a run; an answer after the time limit does not count."""
        if ended.ending == "failed":
            return Answered("unknown", f"could not be run: {ended.detail}")
        if ended.ending == "exit" and ended.wall <= limits.seconds:
            return self._read_json(ended) if self.is_engine else self._read_output(ended)
        return Answered("unknown", "timeout" if ended.ending == "exit" else ended.ending)

    def _read_json(self, ended: Ended) -> Answered:
        try:
            report = json.loads(ended.output[ended.output.index("{") :])
            if report["verdict"] is None:  # nothing to verify: the input is malformed
                return Answered("unknown", report["diagnostics"][0]["code"])
            answer = _ANSWERS[report["verdict"]]
        except (ValueError, LookupError):
            return Answered("unknown", f"crashed: {_last_line(ended.output)}")
        if answer == "unknown":
            return Answered(answer, (report.get("reason") or {}).get("code", ""))
        replayed = (report.get("check") or {}).get("compiled", "")
        return Answered(answer, replayed, report["engine"])

    def _read_output(self, ended: Ended) -> Answered:
        holds, violated = (re.search(each, ended.output) is not None for each in (self.holds, self.violated))
        if holds and violated:
            return Answered("unknown", "the output matches both --holds and --violated")
        if holds or violated:
            return Answered("true" if holds else "false")
        return Answered("unknown", f"exit code {ended.code}: {_last_line(ended.output)}")


def _verify(task: BenchTask, limits: Limits) -> list[str]:
    words = [sys.executable, "-m", "certus", "verify", task.file, "--json", "--property", task.property_name]
    words += ["--timeout", f"{limits.seconds:g}s", "--cores", str(limits.cores)]
    return words if limits.memory is None else [*words, "--memory", str(limits.memory)]


def _last_line(text: str) -> str:
    lines = text[-2000:].split("\n")
    return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "no output")


# ------------------------------------------------------------------------------ from the command line


def engine_contestant(text: str) -> Contestant:
    """Read `--engine`: the name of an engine, or `LABEL=NAME OPTIONS...` with options of `certus verify`."""
    from certus.engines.registry import ENGINES
    from certus.run.settings import AUTO

    label, equals, rest = text.partition("=")
    engine, *options = _words(rest if equals else text, "--engine")
    if engine not in (AUTO, *ENGINES):
        raise bad_usage(f"there is no engine {engine!r}", f"choose from: {', '.join((AUTO, *ENGINES))}")
    return Contestant(label if equals else engine, ("--engine", engine, *options), is_engine=True)


def tool_contestant(text: str) -> Contestant:
    """Read `--tool`: `NAME=COMMAND` with a placeholder for the program or the task."""
    label, equals, rest = text.partition("=")
    if not equals or not label.strip() or ("{file}" not in rest and "{task}" not in rest):
        names = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
        hint = f"write NAME=COMMAND with {{file}} or {{task}} in the command; all placeholders: {names}"
        raise bad_usage(f"--tool {text!r} does not say what to run", hint)
    return Contestant(label.strip(), tuple(_words(rest, "--tool")), is_engine=False)


def with_patterns(
    contestants: Sequence[Contestant], holds: Mapping[str, str], violated: Mapping[str, str]
) -> list[Contestant]:
    """Give contestants the regular expressions of `--holds` and `--violated`, by name."""
    names = [each.name for each in contestants]
    for name in names:
        if names.count(name) > 1:
            raise bad_usage(
                f"two contestants have the name {name!r}", "give one of them another name: OTHER=..."
            )
    for name, pattern in (*holds.items(), *violated.items()):
        if name not in [each.name for each in contestants if not each.is_engine]:
            raise bad_usage(f"there is no --tool {name!r}", "write NAME=REGEX with the name of a tool")
        try:
            re.compile(pattern)
        except re.error as error:
            hint = "write a regular expression of Python's module `re`"
            raise bad_usage(f"{pattern!r} is not a regular expression: {error}", hint) from None
    return [
        replace(each, holds=holds.get(each.name, each.holds), violated=violated.get(each.name, each.violated))
        for each in contestants
    ]


def _words(text: str, option: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise bad_usage(f"{option} {text!r}: {error}", "quote it as for a shell") from None
    if not words:
        raise bad_usage(f"{option} is empty", "see certus bench --help")
    return words
