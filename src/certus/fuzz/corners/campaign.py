"""A campaign of corner programs: turn the observations of the compiled program into claims, and ask Certus.

Each program has two variants. One asserts all observed values, so Certus must not say VIOLATED; the other one
denies the value of one observation, so Certus must not say HOLDS. The interpreter runs all programs, and some
are verified. A program with a disagreement is reduced as long as it still disagrees, then saved.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from certus.fuzz.corners.judge import Judgement, Said, interpreted, verified
from certus.fuzz.corners.native import Code, Native
from certus.fuzz.corners.program_tree import (
    Claim,
    CornerProgram,
    Observation,
    Rendering,
    Values,
    reduced,
    rendered,
    without,
)
from certus.fuzz.corners.scenes import random_program
from certus.fuzz.saved_counts import load_counts, save_counts

REDUCTION_TIME: Final = 60.0  # seconds at most for reducing one program
KEPT: Final = 3  # disagreements of one kind that are reduced and saved; the others are only counted
DEPENDENT: Final = 12  # parts dropped at most because they depend on a refused part
RETRIES: Final = 6  # refused parts dropped at most from one program
STATE: Final = "corners.json"
INTERVAL: Final = 10.0  # seconds between two writes of the state
_EXPECTED: Final = {Claim.HOLD: Said.HOLDS, Claim.WRONG: Said.VIOLATED}
_CODES: Final = {Claim.HOLD: Code.RETURNED, Claim.WRONG: Code.ERROR}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A program about which `source`, the interpreter or `verify`, is wrong. Its observations are rendered as
    `claim` says, and `denied` is the number of the one whose value is denied."""

    program: CornerProgram
    values: Values
    claim: Claim
    denied: int | None
    source: str
    judgement: Judgement
    family: str

    @property
    def kind(self) -> str:
        """Return the kind of disagreement, for counting."""
        return f"{self.family}: {self.source}: {self.judgement.kind}"

    @property
    def sentence(self) -> str:
        """Return the disagreement as a sentence."""
        compiled = "returns" if self.claim is Claim.HOLD else "fails"
        said = f"{self.judgement.said.value} {self.judgement.detail}".strip()
        about = f"{self.source} ({self.program.model}, {self.family})"
        return f"{about}: {said}, but the compiled program {compiled}"

    def text(self) -> Rendering:
        """Return the texts of the program's files."""
        return rendered(self.program, self.claim, self.values, self.denied)

    def save(self, directory: Path, number: int) -> Path:
        """Save the program as a file for `certus verify`, in a directory of its own if it has headers."""
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
class Campaign:
    """A campaign and its counts, which are saved in `directory`, so that a later run can continue."""

    seed: int
    timeout: float
    on_progress: Callable[[str], None]
    directory: Path
    verify_every: int = 20
    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    next: int = 0
    files: int = 0
    seconds: float = 0.0

    def run(self, *, seconds: float, programs: int | None = None) -> Iterator[tuple[int, Disagreement]]:
        """Yield numbered and reduced disagreements, only the first `KEPT` of each kind, until the time is
        over or after this number of programs."""
        start, before, saved = time.monotonic(), self.seconds, time.monotonic()
        last = None if programs is None else self.next + programs
        with tempfile.TemporaryDirectory(prefix="certus-corners-") as directory:
            native = Native(Path(directory))
            while time.monotonic() - start < seconds and self.next != last:
                left = seconds - (time.monotonic() - start)
                total = sum(self.kinds.values())
                self.on_progress(f"program {self.next}, {total} disagreements, {left:.0f} s left")
                disagreements = list(self._examine(self.next, native))
                self.next += 1
                for disagreement in disagreements:
                    self.kinds[disagreement.kind] += 1
                    if self.kinds[disagreement.kind] <= KEPT:
                        self.files += 1
                        yield self.files, self._reduce(disagreement, native)
                self.seconds = before + time.monotonic() - start
                if time.monotonic() > saved + INTERVAL:
                    saved = time.monotonic()
                    self.save()

    # -- one program

    def _examine(self, number: int, native: Native) -> Iterator[Disagreement]:
        """Yield the disagreements about one program, without the parts that Certus refuses."""
        program = random_program(self.seed, number)
        random = Random(f"corners/{self.seed}/{number}/choice")
        self.counts["programs"] += 1
        self.counts[f"programs {program.model}"] += 1
        for _ in range(RETRIES):
            values = self._values(program, native)
            if values is None:
                return
            result = self._ask(program, values, Claim.HOLD, None, "interpreter", native)
            if isinstance(result, Disagreement):
                yield result
                return
            if result.said is not Said.REFUSED:
                break
            smaller = self._without_refused(program, values, result, native)
            if smaller is None or not smaller.observations:
                self.counts["refused as a whole"] += 1
                return
            program = smaller
        else:
            self.counts["refused as a whole"] += 1
            return
        if result.silent:
            self.counts[f"not compared: {result.said.value} ({result.detail})"] += 1
            return
        self.counts["agreed"] += 1
        self.counts["observations"] += len(values)
        if not values:
            return
        denied = random.choice(sorted(values))
        result = self._ask(program, values, Claim.WRONG, denied, "interpreter", native)
        if isinstance(result, Disagreement):
            yield result
            return
        if self.verify_every and number % self.verify_every == 0:
            for claim in (Claim.HOLD, Claim.WRONG):
                answer = self._ask(program, values, claim, denied, "verify", native)
                if isinstance(answer, Disagreement):
                    yield answer
                else:
                    said = (
                        answer.said.name if answer.said in _EXPECTED.values() else f"UNKNOWN {answer.detail}"
                    )
                    self.counts[f"verify: {said}"] += 1

    def _values(self, program: CornerProgram, native: Native) -> Values | None:
        """Return the observations of the compiled program; None if it does not compile or has undefined
        behaviour."""
        ended = native.run(rendered(program, Claim.PROBE), program.model, [i.value for i in program.inputs])
        if ended.code == Code.RETURNED:
            return ended.values
        why = ended.why_not.partition("error:")[2].strip() or ended.why_not or f"exit {ended.code}"
        self.counts["discarded: not compiled" if ended.code is None else "discarded: undefined"] += 1
        self.counts[f"discarded because: {why[:80]}"] += 1
        return None

    def _ask(
        self,
        program: CornerProgram,
        values: Values,
        claim: Claim,
        denied: int | None,
        source: str,
        native: Native,
    ) -> Judgement | Disagreement:
        """Ask the interpreter or `verify` about one variant of a program."""
        text = rendered(program, claim, values, denied)
        inputs = [i.value for i in program.inputs]
        file = native.write(text)
        if source == "verify":
            judgement = verified(file, program.model, self.timeout)
        else:
            judgement = interpreted(file, program.model, inputs, expected=_EXPECTED[claim])
        if not judgement.disagrees(expected=_EXPECTED[claim]):
            return judgement
        if native.run(text, program.model, inputs).code != _CODES[claim]:
            return Judgement(Said.UNDETERMINED, "the compiled claim ends differently")
        part = text.part_at(judgement.line)
        if claim is Claim.WRONG:
            part = next((o for o in program.observations if o.number == denied), None)
        family = part.family if part is not None and part.family else "program"
        return Disagreement(program, values, claim, denied, source, judgement, family.partition("/")[0])

    def _without_refused(
        self, program: CornerProgram, values: Values, refusal: Judgement, native: Native
    ) -> CornerProgram | None:
        """Return the program without the refused part, which is counted, and without what depends on it; None
        if the part is unknown or too much depends on it."""
        part = rendered(program, Claim.HOLD, values).part_at(refusal.line)
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
            failing = probe.part_at(ended.line)
            if failing is None:
                return None
            smaller = without(smaller, failing)
        return None

    # -- reduction

    def _reduce(self, first: Disagreement, native: Native) -> Disagreement:
        """Reduce the program as long as the kind of judgement stays."""
        deadline = time.monotonic() + REDUCTION_TIME
        best = first

        def disagrees(program: CornerProgram) -> bool:
            nonlocal best
            if time.monotonic() > deadline or not program.observations:
                return False
            ended = native.run(
                rendered(program, Claim.PROBE), program.model, [i.value for i in program.inputs]
            )
            if ended.code != Code.RETURNED or (first.denied is not None and first.denied not in ended.values):
                return False
            self.on_progress(f"reducing a program, at most {deadline - time.monotonic():.0f} s left")
            result = self._ask(program, ended.values, first.claim, first.denied, first.source, native)
            if not isinstance(result, Disagreement) or result.judgement.kind != first.judgement.kind:
                return False
            best = result
            return True

        self._try_failing_only(first, disagrees)
        reduced(best.program, disagrees)
        return best

    def _try_failing_only(self, first: Disagreement, disagrees: Callable[[CornerProgram], bool]) -> None:
        """Try the program with only the failing observation, which is the largest possible cut."""
        failing = first.text().part_at(first.judgement.line)
        if first.denied is not None:
            failing = next(o for o in first.program.observations if o.number == first.denied)
        if isinstance(failing, Observation):
            program = first.program
            for other in program.observations:
                if other is not failing:
                    program = without(program, other)
            disagrees(program)

    # -- state between runs

    @property
    def _numbers(self) -> dict[str, float]:
        return {"seed": self.seed, "next": self.next, "files": self.files, "seconds": round(self.seconds, 1)}

    @property
    def _counters(self) -> dict[str, Counter[str]]:
        return {"counts": self.counts, "refusals": self.refusals, "disagreements": self.kinds}

    def save(self) -> None:
        """Save the counts for a later run."""
        save_counts(self.directory / STATE, self._numbers, self._counters)

    def resume(self) -> bool:
        """Load the counts of an earlier run, if the directory has them. Raises `InputError` if that run has
        another seed."""
        saved = load_counts(self.directory / STATE, self._numbers, self._counters)
        if saved is not None:
            self.next, self.files, self.seconds = saved["next"], saved["files"], saved["seconds"]
        return saved is not None


# ----------------------------------------------------------------------------------------- summary


def summary(campaign: Campaign) -> str:
    """Render the counts: what was compared, what was not and why, and the disagreements."""
    counts = campaign.counts
    discarded = counts["discarded: not compiled"] + counts["discarded: undefined"]
    lines = [
        f"{counts['programs']} programs (LP64 {counts['programs LP64']}, ILP32 {counts['programs ILP32']}), "
        f"seed {campaign.seed}, {campaign.seconds:.0f} s",
        f"agreed: {counts['agreed']} programs with {counts['observations']} observations",
        f"discarded: {discarded} (not compiled {counts['discarded: not compiled']}, "
        f"undefined behaviour {counts['discarded: undefined']})",
    ]
    lines += _listed("verify", _under(counts, "verify: "))
    lines += _listed("not compared", _under(counts, "not compared: "))
    lines += [f"refused as a whole: {counts['refused as a whole']} programs"]
    lines += _listed("refused parts, by cause", _by(campaign.refusals, 0))
    lines += _listed("refused parts, by feature", _by(campaign.refusals, 1))
    lines += [f"disagreements: {sum(campaign.kinds.values())} of {len(campaign.kinds)} kinds"]
    lines += [f"  {count:5}  {kind}" for kind, count in campaign.kinds.most_common()]
    return "\n".join(lines)


def _under(counts: Counter[str], prefix: str) -> Counter[str]:
    return Counter({key.removeprefix(prefix): n for key, n in counts.items() if key.startswith(prefix)})


def _by(counts: Counter[str], part: int) -> Counter[str]:
    """Sum counts by one part of their keys, which have the form `cause: family`."""
    sums: Counter[str] = Counter()
    for key, count in counts.items():
        sums[key.split(": ")[part]] += count
    return sums


def _listed(title: str, counts: Counter[str]) -> list[str]:
    if not counts:
        return []
    items = ", ".join(f"{key} {count}" for key, count in counts.most_common())
    return [f"{title}: {sum(counts.values())} ({items})"]
