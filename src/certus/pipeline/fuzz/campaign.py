"""A campaign: programs, each as `.lp` and as C, to every engine, compared with the verdict by all inputs.

What disagrees is made smaller as long as it still does, then saved: a verdict that is wrong, an engine that
crashes or contradicts itself, a program of ours that is refused, a compiled program that does something else.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from certus.core.errors import InputError
from certus.core.verdict import Unknown
from certus.pipeline.fuzz.make import made
from certus.pipeline.fuzz.meaning import Wrap, holds, machine, unbounded
from certus.pipeline.fuzz.programs import FuzzProgram, smaller
from certus.pipeline.fuzz.texts import as_c, as_lp, as_native
from certus.pipeline.settings import Settings
from certus.pipeline.verify import verify
from certus.system.clang import find_clang
from certus.system.tools import ToolFailed, find_tool, run_tool

LANGUAGES: Final[dict[str, tuple[Callable[[FuzzProgram], str], Wrap]]] = {
    "lp": (as_lp, unbounded),
    "c": (as_c, machine),
}
DEFECTS: Final = (  # an engine or a pass was wrong, and only validation kept that from being published
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
SHRINKING: Final = 120.0  # seconds at most for making one program smaller


@dataclass(frozen=True, slots=True)
class Disagreement:
    """`who`, an engine or the compiled program, said `said` of the program in `language`, where trying all
    inputs says `expected`."""

    program: FuzzProgram
    language: str
    who: str
    said: str
    expected: str

    @property
    def defect(self) -> tuple[str, str, str]:
        """What went wrong, whatever the program."""
        return self.who, self.language, self.said

    @property
    def sentence(self) -> str:
        return f"{self.who} ({self.language}): {self.said}, where trying all inputs says {self.expected}"

    def save(self, directory: Path, number: int) -> Path:
        """A file that `certus verify` can be given."""
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"disagreement-{number}.{self.language}"
        file.write_text(f"// {self.sentence}\n{LANGUAGES[self.language][0](self.program)}", encoding="utf-8")
        return file


@dataclass(slots=True)
class Fuzzing:
    """`answers` counts what each engine said; `programs` is how many there were; `defects` are those met."""

    engines: Sequence[str]
    timeout: float
    tell: Callable[[str], None]
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    programs: int = 0
    defects: dict[tuple[str, str, str], None] = field(default_factory=dict)
    interrupted: bool = False

    def run(self, seed: int, *, seconds: float, programs: int | None = None) -> Iterator[Disagreement]:
        """Disagreements, made small, until the time is over or so many programs were tried: every wrong
        verdict, but of crashes and the like only the first of each kind."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.programs != programs and not self.interrupted:
            program = made(seed, self.programs)
            self.programs += 1
            self.tell(f"program {self.programs}, {max(0.0, deadline - time.monotonic()):.0f} s left")
            for found in self.disagreements(program, until=deadline):
                if found.said in ("HOLDS", "VIOLATED") or found.defect not in self.defects:
                    self.defects[found.defect] = None
                    yield self.shrunk(found)

    def disagreements(self, program: FuzzProgram, until: float) -> Iterator[Disagreement]:
        with tempfile.TemporaryDirectory(prefix="certus-fuzz-") as directory:
            for language, (_, wrap) in LANGUAGES.items():
                expected = "HOLDS" if holds(program, wrap) else "VIOLATED"
                self.answers["expected", expected] += 1
                if language == "c":
                    said = execute(program, Path(directory))
                    if said != expected:
                        yield Disagreement(program, language, COMPILED, said, expected)
                for engine in self.engines:
                    if self.interrupted or time.monotonic() > until:
                        return
                    said = self.ask(program, language, engine, Path(directory))
                    self.answers[engine, said] += 1
                    if disagrees(said, expected):
                        yield Disagreement(program, language, engine, said, expected)

    def ask(self, program: FuzzProgram, language: str, engine: str, directory: Path) -> str:
        """The answer, or `UNKNOWN (why)`."""
        file = directory / f"program.{language}"
        file.write_text(LANGUAGES[language][0](program), encoding="utf-8")
        try:
            outcome = verify(file, Settings(engine=engine, timeout=self.timeout))
        except InputError as error:
            return f"refused ({error.diagnostics[0].message})"
        if not isinstance(outcome.verdict, Unknown):
            return outcome.answer
        code = outcome.verdict.reason.code
        self.interrupted = self.interrupted or code == "interrupted"
        return f"UNKNOWN ({code})"

    def shrunk(self, found: Disagreement) -> Disagreement:
        """The same disagreement on the smallest program that steps of `smaller` lead to."""
        deadline = time.monotonic() + SHRINKING
        with tempfile.TemporaryDirectory(prefix="certus-fuzz-") as directory:
            progress = True
            while progress:
                progress = False
                for program in smaller(found.program):
                    if time.monotonic() > deadline or self.interrupted:
                        return found
                    again = self._again(found, program, Path(directory))
                    if again is not None:
                        found, progress = again, True
                        break
        return found

    def _again(self, found: Disagreement, program: FuzzProgram, directory: Path) -> Disagreement | None:
        expected = "HOLDS" if holds(program, LANGUAGES[found.language][1]) else "VIOLATED"
        if expected != found.expected:
            return None
        if found.who == COMPILED:
            said = execute(program, directory)
        else:
            said = self.ask(program, found.language, found.who, directory)
        return (
            Disagreement(program, found.language, found.who, said, expected) if said == found.said else None
        )


def disagrees(said: str, expected: str) -> bool:
    if said.startswith("UNKNOWN"):
        return any(code in said for code in DEFECTS)
    return said != expected


def execute(program: FuzzProgram, directory: Path) -> str:
    """What the compiled program says, which tries all its inputs; HOLDS, VIOLATED, or how it ended."""
    source, compiled, executable = (directory / name for name in ("native.c", "native.o", "native"))
    source.write_text(as_native(program), encoding="utf-8")
    clang = find_clang().command
    linker = (clang[0], "ld.lld") if len(clang) > 1 else (str(find_tool("ld")),)  # Zig has both within it
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
        return "no end"
    return {0: "HOLDS", 1: "VIOLATED"}.get(code, f"exit code {code}")
