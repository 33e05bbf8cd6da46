"""A campaign of corner programs: what the compiled program observes, claimed in a program that Certus is
asked about.

Each program is claimed twice. In one variant all observed values are asserted, so Certus must not say
VIOLATED; in the other one the value of one observation is denied, so Certus must not say HOLDS. The
interpreter runs all programs, and some are given to `verify`. What disagrees is made smaller as long as it
still does, then saved.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from certus.pipeline.fuzz.corners.judge import Judgement, Said, interpreted, verified
from certus.pipeline.fuzz.corners.native import Code, Native
from certus.pipeline.fuzz.corners.parts import (
    Claim,
    CornerProgram,
    Observation,
    Rendering,
    Values,
    reduced,
    rendered,
    without,
)
from certus.pipeline.fuzz.corners.scenes import made
from certus.pipeline.settings import bad_usage

SHRINKING: Final = 60.0  # seconds at most for making one program smaller
KEPT: Final = 3  # disagreements of one kind that are made smaller and saved; the others are counted
DEPENDENT: Final = 12  # parts that are dropped because they depend on a refused one
RETRIES: Final = 6  # refused parts that are dropped from one program
STATE: Final = "corners.json"
INTERVAL: Final = 10.0  # seconds between two writes of the state
_EXPECTED: Final = {Claim.HOLD: Said.HOLDS, Claim.WRONG: Said.VIOLATED}
_CODES: Final = {Claim.HOLD: Code.RETURNED, Claim.WRONG: Code.ERROR}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """`who`, the interpreter or `verify`, was wrong about a program whose observations stand as `claim`
    says."""

    program: CornerProgram
    values: Values
    claim: Claim
    wrong: int | None
    who: str
    judgement: Judgement
    family: str

    @property
    def kind(self) -> str:
        return f"{self.family}: {self.who}: {self.judgement.kind}"

    @property
    def sentence(self) -> str:
        compiled = (
            "the compiled program returns" if self.claim is Claim.HOLD else "the compiled program fails"
        )
        said = f"{self.judgement.said.value} {self.judgement.detail}".strip()
        return f"{self.who} ({self.program.model}, {self.family}): {said}, where {compiled}"

    def text(self) -> Rendering:
        return rendered(self.program, self.claim, self.values, self.wrong)

    def save(self, directory: Path, number: int) -> Path:
        """Save the program as a file that `certus verify` can be given, in a directory if it has headers."""
        text = self.text()
        name = f"disagreement-{number}"
        place = directory / name if text.headers else directory
        place.mkdir(parents=True, exist_ok=True)
        for header, content in text.headers.items():
            (place / header).write_text(content, encoding="utf-8")
        file = place / ("program.c" if text.headers else f"{name}.c")
        about = self.sentence.replace("*/", "* /")
        file.write_text(
            f"/* {about} */ /* certus verify --data-model {self.program.model} */\n{text.main}",
            encoding="utf-8",
        )
        return file


@dataclass(slots=True)
class Corners:
    """A campaign and its counts, which are saved in `directory`, so that a later run continues."""

    seed: int
    timeout: float
    tell: Callable[[str], None]
    directory: Path
    verify_every: int = 20
    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    next: int = 0
    files: int = 0
    seconds: float = 0.0

    def run(self, *, seconds: float, programs: int | None = None) -> Iterator[tuple[int, Disagreement]]:
        """Disagreements, made small and numbered; of each kind the first ones only. Stops when the time is
        over or after so many programs."""
        start, before, saved = time.monotonic(), self.seconds, time.monotonic()
        last = None if programs is None else self.next + programs
        with tempfile.TemporaryDirectory(prefix="certus-corners-") as directory:
            native = Native(Path(directory))
            while time.monotonic() - start < seconds and self.next != last:
                left = seconds - (time.monotonic() - start)
                self.tell(f"program {self.next}, {sum(self.kinds.values())} disagreements, {left:.0f} s left")
                found = list(self._examined(self.next, native))
                self.next += 1
                for disagreement in found:
                    self.kinds[disagreement.kind] += 1
                    if self.kinds[disagreement.kind] <= KEPT:
                        self.files += 1
                        yield self.files, self._shrunk(disagreement, native)
                self.seconds = before + time.monotonic() - start
                if time.monotonic() > saved + INTERVAL:
                    saved = time.monotonic()
                    self.save()

    # -- one program

    def _examined(self, number: int, native: Native) -> Iterator[Disagreement]:
        program = made(self.seed, number)
        random = Random(f"corners/{self.seed}/{number}/choice")
        self.counts["programs"] += 1
        self.counts[f"programs {program.model}"] += 1
        for _ in range(RETRIES):
            values = self._values(program, native)
            if values is None:
                return
            found = self._asked(program, values, Claim.HOLD, None, "interpreter", native)
            if isinstance(found, Disagreement):
                yield found
                return
            if found.said is not Said.REFUSED:
                break
            smaller = self._accepted(program, values, found, native)
            if smaller is None or not smaller.observations:
                self.counts["refused as a whole"] += 1
                return
            program = smaller
        else:
            self.counts["refused as a whole"] += 1
            return
        if found.silent:
            self.counts[f"not compared: {found.said.value} ({found.detail})"] += 1
            return
        self.counts["agreed"] += 1
        self.counts["observations"] += len(values)
        if not values:
            return
        wrong = random.choice(sorted(values))
        denied = self._asked(program, values, Claim.WRONG, wrong, "interpreter", native)
        if isinstance(denied, Disagreement):
            yield denied
            return
        if self.verify_every and number % self.verify_every == 0:
            for claim in (Claim.HOLD, Claim.WRONG):
                answer = self._asked(program, values, claim, wrong, "verify", native)
                if isinstance(answer, Disagreement):
                    yield answer
                else:
                    said = (
                        answer.said.name if answer.said in _EXPECTED.values() else f"UNKNOWN {answer.detail}"
                    )
                    self.counts[f"verify: {said}"] += 1

    def _values(self, program: CornerProgram, native: Native) -> Values | None:
        """What the compiled program observes; None if it is no program or does something undefined."""
        ended = native.run(rendered(program, Claim.PROBE), program.model, [i.value for i in program.inputs])
        if ended.code == Code.RETURNED:
            return ended.values
        why = ended.why_not.partition("error:")[2].strip() or ended.why_not or f"exit {ended.code}"
        self.counts["discarded: not compiled" if ended.code is None else "discarded: undefined"] += 1
        self.counts[f"discarded because: {why[:80]}"] += 1
        return None

    def _asked(
        self,
        program: CornerProgram,
        values: Values,
        claim: Claim,
        wrong: int | None,
        who: str,
        native: Native,
    ) -> Judgement | Disagreement:
        text = rendered(program, claim, values, wrong)
        inputs = [i.value for i in program.inputs]
        file = native.write(text)
        if who == "verify":
            judgement = verified(file, program.model, self.timeout)
        else:
            judgement = interpreted(file, program.model, inputs, expected=_EXPECTED[claim])
        if not judgement.disagrees(expected=_EXPECTED[claim]):
            return judgement
        if native.run(text, program.model, inputs).code != _CODES[claim]:
            return Judgement(Said.UNDETERMINED, "the compiled claim ends otherwise")
        part = (
            text.lines[judgement.line - 1] if judgement.line and judgement.line <= len(text.lines) else None
        )
        if claim is Claim.WRONG:
            part = next((o for o in program.observations if o.number == wrong), None)
        family = part.family if part is not None and part.family else "program"
        return Disagreement(program, values, claim, wrong, who, judgement, family.partition("/")[0])

    def _accepted(
        self, program: CornerProgram, values: Values, refusal: Judgement, native: Native
    ) -> CornerProgram | None:
        """The program without what was refused, which is counted, and what depends on that; None if that is
        not known."""
        text = rendered(program, Claim.HOLD, values)
        part = text.lines[refusal.line - 1] if refusal.line and refusal.line <= len(text.lines) else None
        family = part.family.partition("/")[0] if part is not None and part.family else "program"
        self.refusals[f"{refusal.detail}: {family}"] += 1
        if part is None:
            return None
        smaller = without(program, part)
        for _ in range(DEPENDENT):
            probe = rendered(smaller, Claim.PROBE)
            ended = native.run(probe, program.model, [i.value for i in program.inputs])
            if ended.code is not None:
                return smaller if smaller != program else None
            failing = probe.lines[ended.line - 1] if ended.line and ended.line <= len(probe.lines) else None
            if failing is None:
                return None
            smaller = without(smaller, failing)
        return None

    # -- reduction

    def _shrunk(self, found: Disagreement, native: Native) -> Disagreement:
        deadline = time.monotonic() + SHRINKING
        best = found

        def still(program: CornerProgram) -> bool:
            nonlocal best
            if time.monotonic() > deadline or not program.observations:
                return False
            ended = native.run(
                rendered(program, Claim.PROBE), program.model, [i.value for i in program.inputs]
            )
            if ended.code != Code.RETURNED or (found.wrong is not None and found.wrong not in ended.values):
                return False
            self.tell(f"making a program smaller, {deadline - time.monotonic():.0f} s left at most")
            again = self._asked(program, ended.values, found.claim, found.wrong, found.who, native)
            if not isinstance(again, Disagreement) or again.judgement.kind != found.judgement.kind:
                return False
            best = again
            return True

        self._only_failing(found, still)
        reduced(best.program, still)
        return best

    def _only_failing(self, found: Disagreement, still: Callable[[CornerProgram], bool]) -> None:
        """Try the program with the failing observation alone, which is the largest cut there is."""
        line = found.judgement.line
        lines = found.text().lines
        failing = lines[line - 1] if line and line <= len(lines) else None
        if found.wrong is not None:
            failing = next(o for o in found.program.observations if o.number == found.wrong)
        if isinstance(failing, Observation):
            program = found.program
            for other in program.observations:
                if other is not failing:
                    program = without(program, other)
            still(program)

    # -- what is kept between runs

    def save(self) -> None:
        """Write what a later run needs, at once or not at all."""
        state = {
            "seed": self.seed,
            "next": self.next,
            "files": self.files,
            "seconds": round(self.seconds, 1),
            "counts": dict(sorted(self.counts.items())),
            "refusals": dict(sorted(self.refusals.items())),
            "disagreements": dict(sorted(self.kinds.items())),
        }
        self.directory.mkdir(parents=True, exist_ok=True)
        written = self.directory / f"{STATE}.new"
        written.write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
        written.replace(self.directory / STATE)

    def resume(self) -> bool:
        """Continue the run that the directory holds, if there is one. Raises `InputError` if it is another
        one."""
        file = self.directory / STATE
        if not file.exists():
            return False
        try:
            state = json.loads(file.read_text(encoding="utf-8"))
            same = state["seed"] == self.seed
            self.next, self.files, self.seconds = state["next"], state["files"], state["seconds"]
            self.counts.update(state["counts"])
            self.refusals.update(state["refusals"])
            self.kinds.update(state["disagreements"])
        except (ValueError, KeyError, TypeError) as error:
            raise bad_usage(
                f"{file} is not the state of a run: {error}", "choose another directory"
            ) from error
        if not same:
            raise bad_usage(f"{file} is of a run with another seed", "choose another directory")
        return True
