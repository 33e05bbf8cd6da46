"""A campaign: run every engine on random programs, as `.lp` and as C, and compare with trying all inputs.

A disagreement is a wrong verdict, an engine that crashes or contradicts itself, a refused program, or a
compiled program that behaves differently. Its program is reduced as long as it still disagrees, then saved.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from certus.core.errors import InputError
from certus.core.evidence import Unknown
from certus.fuzz.program_text import as_c, as_lp, as_native
from certus.fuzz.random_programs import random_program
from certus.fuzz.semantics import Wrap, holds, machine, unbounded
from certus.fuzz.syntax import FuzzProgram, smaller
from certus.run.settings import Settings
from certus.run.verify import verify
from certus.system.tools import ToolFailed, find_clang, find_tool, run_tool

LANGUAGES: Final[dict[str, tuple[Callable[[FuzzProgram], str], Wrap]]] = {
    "lp": (as_lp, unbounded),
    "c": (as_c, machine),
}
DEFECTS: Final = (  # causes of UNKNOWN where an engine or a pass was wrong and the check has noticed it
    "internal-contradiction",
    "engine-crashed",
    "proof-refuted",
    "proof-malformed",
    "derivation-refuted",
    "evidence-malformed",
    "execution-not-confirmed",
    "trace-not-replayed",
    "compiled-replay-disagrees",
)
COMPILED: Final = "compiled program"
FLAGS: Final = (
    *("--target=x86_64-linux-gnu", "-O1", "-w", "-fwrapv"),
    *("-ffreestanding", "-fno-pic", "-fno-stack-protector"),
)
REDUCTION_TIME: Final = 120.0  # seconds at most for reducing one program


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A program for which `source`, an engine or the compiled program, gives another `answer` than
    `expected`, the result of trying all inputs."""

    program: FuzzProgram
    language: str
    source: str
    answer: str
    expected: str

    @property
    def defect(self) -> tuple[str, str, str]:
        """Return the kind of defect, independent of the program."""
        return self.source, self.language, self.answer

    @property
    def sentence(self) -> str:
        """Return the disagreement as a sentence."""
        return f"{self.source} ({self.language}): {self.answer}, but trying all inputs gives {self.expected}"

    def save(self, directory: Path, number: int) -> Path:
        """Save the program as a file for `certus verify`."""
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"disagreement-{number}.{self.language}"
        file.write_text(f"// {self.sentence}\n{LANGUAGES[self.language][0](self.program)}", encoding="utf-8")
        return file


@dataclass(slots=True)
class Campaign:
    """A campaign: `answers` counts the answers of each engine, `programs` the programs, and `defects` are the
    kinds of defects so far."""

    engines: Sequence[str]
    timeout: float
    on_progress: Callable[[str], None]
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    programs: int = 0
    defects: dict[tuple[str, str, str], None] = field(default_factory=dict)
    interrupted: bool = False

    def run(self, seed: int, *, seconds: float, programs: int | None = None) -> Iterator[Disagreement]:
        """Yield reduced disagreements until the time is over or after this number of programs: every wrong
        verdict, but only the first of each kind of other defects."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.programs != programs and not self.interrupted:
            program = random_program(seed, self.programs)
            self.programs += 1
            left = max(0.0, deadline - time.monotonic())
            self.on_progress(f"program {self.programs}, {left:.0f} s left")
            for disagreement in self.disagreements(program, until=deadline):
                is_verdict = disagreement.answer in ("HOLDS", "VIOLATED")
                if is_verdict or disagreement.defect not in self.defects:
                    self.defects[disagreement.defect] = None
                    yield self.reduce(disagreement)

    def disagreements(self, program: FuzzProgram, until: float) -> Iterator[Disagreement]:
        """Yield the disagreements about one program."""
        with tempfile.TemporaryDirectory(prefix="certus-fuzz-") as directory:
            for language, (_, wrap) in LANGUAGES.items():
                expected = "HOLDS" if holds(program, wrap) else "VIOLATED"
                self.answers["expected", expected] += 1
                if language == "c":
                    answer = execute(program, Path(directory))
                    if answer != expected:
                        yield Disagreement(program, language, COMPILED, answer, expected)
                for engine in self.engines:
                    if self.interrupted or time.monotonic() > until:
                        return
                    answer = self.ask(program, language, engine, Path(directory))
                    self.answers[engine, answer] += 1
                    if disagrees(answer, expected):
                        yield Disagreement(program, language, engine, answer, expected)

    def ask(self, program: FuzzProgram, language: str, engine: str, directory: Path) -> str:
        """Return the answer of an engine, or `UNKNOWN (cause)`."""
        file = directory / f"program.{language}"
        file.write_text(LANGUAGES[language][0](program), encoding="utf-8")
        try:
            outcome = verify(
                file, Settings(property_name="unreach-call", engine=engine, timeout=self.timeout)
            )
        except InputError as error:
            return f"refused ({error.diagnostics[0].message})"
        if not isinstance(outcome.verdict, Unknown):
            return outcome.answer
        code = outcome.verdict.reason.code
        self.interrupted = self.interrupted or code == "interrupted"
        return f"UNKNOWN ({code})"

    def reduce(self, disagreement: Disagreement) -> Disagreement:
        """Reduce the program by steps of `smaller` as long as the disagreement stays."""
        deadline = time.monotonic() + REDUCTION_TIME
        with tempfile.TemporaryDirectory(prefix="certus-fuzz-") as directory:
            progress = True
            while progress:
                progress = False
                for program in smaller(disagreement.program):
                    if time.monotonic() > deadline or self.interrupted:
                        return disagreement
                    if self._persists(disagreement, program, Path(directory)):
                        disagreement, progress = replace(disagreement, program=program), True
                        break
        return disagreement

    def _persists(self, disagreement: Disagreement, program: FuzzProgram, directory: Path) -> bool:
        """Say whether another program has the same disagreement."""
        language, source = disagreement.language, disagreement.source
        if ("HOLDS" if holds(program, LANGUAGES[language][1]) else "VIOLATED") != disagreement.expected:
            return False
        if source == COMPILED:
            return execute(program, directory) == disagreement.answer
        return self.ask(program, language, source, directory) == disagreement.answer


def disagrees(answer: str, expected: str) -> bool:
    """Say whether an answer is wrong; UNKNOWN is wrong only if its cause is a defect."""
    if answer.startswith("UNKNOWN"):
        return any(code in answer for code in DEFECTS)
    return answer != expected


def execute(program: FuzzProgram, directory: Path) -> str:
    """Compile and run the program, which tries all its inputs: HOLDS, VIOLATED, or the way it ended."""
    source, compiled, executable = (directory / name for name in ("native.c", "native.o", "native"))
    source.write_text(as_native(program), encoding="utf-8")
    clang = find_clang().command
    linker = (clang[0], "ld.lld") if len(clang) > 1 else (str(find_tool("ld")),)  # Zig contains both
    for words in (
        [*clang, *FLAGS, "-c", str(source), "-o", str(compiled)],
        [*linker, "-static", "-o", str(executable), str(compiled)],
    ):
        done = run_tool(Path(words[0]), words[1:])
        if done.code != 0:
            return f"not compiled ({done.errors.decode(errors='replace').strip()[:200]})"
    try:
        code = run_tool(executable).code
    except ToolFailed:
        return "did not end"
    return {0: "HOLDS", 1: "VIOLATED"}.get(code, f"exit code {code}")
