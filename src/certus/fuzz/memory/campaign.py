"""A campaign of programs with memory bugs: the compiled program with checks of every access is the judge.

Each program has two variants. The sanitized program runs both on a few inputs. If the variant with the bug
shows it, and the other one shows none, then Certus must agree: the interpreter on each of these inputs, and
`verify` about all inputs. The bug must be VIOLATED with the right part of valid-memsafety, or UNKNOWN; the
variant without the bug must not be VIOLATED.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Final

from certus.check.replay.build import NotBuilt
from certus.check.replay.harness import Supply
from certus.check.replay.sanitized import SanitizedProgram
from certus.core.accounting import Budget
from certus.core.errors import Unsupported
from certus.core.evidence import Unknown
from certus.core.program import Program
from certus.core.terms import Expr
from certus.core.values import Datum, default_value
from certus.core.vocabulary import PART_OF_KIND
from certus.frontend.c.load import load_c
from certus.fuzz.campaign import DEFECTS
from certus.fuzz.memory.scenes import INPUT, INPUTS, MemoryProgram, random_program
from certus.fuzz.saved_counts import load_counts, save_counts
from certus.interpreter.compile import compile_program
from certus.interpreter.interpreter import Ending, run
from certus.run.settings import Settings
from certus.run.verify import verify

PROPERTY: Final = "valid-memsafety"
STATE: Final = "memory.json"
RUNS: Final = 6  # of the variant with the bug, until one shows it
CLEAN_RUNS: Final = 2
SECONDS: Final = 10.0  # of one native run
STEPS: Final = 200_000
NONE: Final = "no error"
Inputs = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A program about which `source`, the interpreter or `verify`, says `answer` where `expected` is
    right. `broken` tells which variant it is."""

    program: MemoryProgram
    broken: bool
    source: str
    answer: str
    expected: str

    @property
    def kind(self) -> str:
        """The kind of disagreement, for counting."""
        return f"{self.source}: {self.answer} instead of {self.expected}"

    @property
    def sentence(self) -> str:
        """The disagreement as a sentence."""
        bug = f"with {self.program.bug}" if self.broken else "without a bug"
        about = f"{self.source} ({self.program.model}, {bug})"
        return f"{about}: {self.answer}, but the sanitized program shows {self.expected}"

    def save(self, directory: Path, number: int) -> Path:
        """Save the program as a file for `certus verify`."""
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / f"disagreement-{number}.c"
        how = f"certus verify --property {PROPERTY} --data-model {self.program.model}"
        text = self.program.text(broken=self.broken)
        file.write_text(f"/* {self.sentence} */ /* {how} */\n{text}", encoding="utf-8")
        return file


@dataclass(slots=True)
class _Given:
    """The inputs of a run, in order. Variables without a value are 0, as in the compiled program."""

    values: list[int]
    edges: frozenset[int]  # where an input is read

    def initial(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def local(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        named = len(targets) == 1 and edge in self.edges
        return (self.values.pop(0),) if named else tuple(default_value(x.sort) for x in targets)


@dataclass(slots=True)
class Campaign:
    """A campaign and its counts, which are saved in `directory`, so that a later run can continue."""

    seed: int
    timeout: float
    on_progress: Callable[[str], None]
    directory: Path
    counts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    next: int = 0
    seconds: float = 0.0

    def run(self, *, seconds: float, programs: int | None = None) -> Iterator[tuple[int, Disagreement]]:
        """Yield numbered disagreements, until the time is over or after this number of programs."""
        start, before = time.monotonic(), self.seconds
        last = None if programs is None else self.next + programs
        while time.monotonic() - start < seconds and self.next != last:
            left = seconds - (time.monotonic() - start)
            self.on_progress(
                f"program {self.next}, {sum(self.kinds.values())} disagreements, {left:.0f} s left"
            )
            program = random_program(self.seed, self.next)
            disagreement = self.examine(program)
            self.next += 1
            self.seconds = before + time.monotonic() - start
            if disagreement is not None:
                self.kinds[disagreement.kind] += 1
                yield sum(self.kinds.values()), self._reduced(disagreement)
            self.save()

    def examine(self, program: MemoryProgram) -> Disagreement | None:
        """Return a disagreement about one program, if there is one."""
        self.counts["programs"] += 1
        random = Random(f"inputs/{self.seed}/{program.text(broken=True)}")
        with tempfile.TemporaryDirectory(prefix="certus-memory-") as directory:
            for broken in (True, False):
                file = Path(directory) / f"{'broken' if broken else 'clean'}.c"
                file.write_text(program.text(broken=broken), encoding="utf-8")
                try:
                    result = self._compare(program, file, random, broken=broken)
                except Unsupported as refusal:
                    self.counts[f"refused: {refusal.diagnostic.code}"] += 1
                    return None
                except NotBuilt as error:
                    self.counts[f"not compared: {error}"[:80]] += 1
                    return None
                if isinstance(result, Disagreement):
                    return result
                if result != (program.part if broken else NONE):
                    self.counts["discarded: the bug does not show" if broken else "discarded: two bugs"] += 1
                    return None
                mistake = self._verified(program, file, broken=broken)
                if mistake is not None:
                    return mistake
        self.counts["agreed"] += 1
        self.counts[f"bug: {program.bug}"] += 1
        return None

    def _compare(
        self, program: MemoryProgram, file: Path, random: Random, *, broken: bool
    ) -> Disagreement | str:
        """Run the sanitized program and the interpreter on some inputs. Return the error that shows first."""
        model = load_c(file, property=PROPERTY, model=program.model).program
        native = SanitizedProgram(model, directory=file.parent)
        shown = NONE
        for _ in range(RUNS if broken else CLEAN_RUNS):
            inputs = tuple(random.randrange(INPUTS) for _ in program.scenes)
            expected = _native(native, inputs)
            if expected is None:
                self.counts["runs not compared"] += 1
                continue
            said = interpreted(model, inputs)
            self.counts["runs"] += 1
            if said != expected:
                return Disagreement(program, broken, "interpreter", said, expected)
            if expected != NONE:
                shown = expected
                break
        return shown

    def _verified(self, program: MemoryProgram, file: Path, *, broken: bool) -> Disagreement | None:
        """Ask `verify` about one variant."""
        settings = Settings(property_name=PROPERTY, timeout=self.timeout, data_model=program.model, cores=1)
        outcome = verify(file, settings)
        said = outcome.answer
        if isinstance(outcome.verdict, Unknown):
            code = outcome.verdict.reason.code
            if code == "interrupted":
                raise KeyboardInterrupt
            said = code if code in (*DEFECTS, "model-disagrees") else f"UNKNOWN {code}"
        elif said == "VIOLATED":
            said = f"VIOLATED {outcome.subproperty}"
        expected = f"VIOLATED {program.part}" if broken else "HOLDS"
        self.counts[f"verify {'broken' if broken else 'clean'}: {said}"] += 1
        if said == expected or said.startswith("UNKNOWN"):
            return None
        return Disagreement(program, broken, "verify", said, program.part if broken else NONE)

    def _reduced(self, first: Disagreement) -> Disagreement:
        """Leave out scenes as long as the disagreement stays."""
        best, counts = first, self.counts.copy()
        for scene in first.program.scenes:
            if scene is best.program.scenes[best.program.buggy]:
                continue
            rest = tuple(each for each in best.program.scenes if each is not scene)
            number = rest.index(best.program.scenes[best.program.buggy])
            smaller = self.examine(replace(best.program, scenes=rest, buggy=number))
            if smaller is not None and smaller.kind == best.kind:
                best = smaller
        self.counts = counts
        return best

    # -- state between runs

    @property
    def _numbers(self) -> dict[str, float]:
        return {"seed": self.seed, "next": self.next, "seconds": round(self.seconds, 1)}

    @property
    def _counters(self) -> dict[str, Counter[str]]:
        return {"counts": self.counts, "disagreements": self.kinds}

    def save(self) -> None:
        """Save the counts for a later run."""
        save_counts(self.directory / STATE, self._numbers, self._counters)

    def resume(self) -> bool:
        """Load the counts of an earlier run, if the directory has them. Raises `InputError` if that run has
        another seed."""
        saved = load_counts(self.directory / STATE, self._numbers, self._counters)
        if saved is not None:
            self.next, self.seconds = saved["next"], saved["seconds"]
        return saved is not None


def interpreted(program: Program, inputs: Inputs) -> str:
    """Return the part of valid-memsafety that a run of the interpreter violates, or how it ends."""
    edges = frozenset(
        edge.index for edge in program.edge.values() if getattr(edge.op, "function", None) == INPUT
    )
    end = run(compile_program(program), _Given(list(inputs), edges), step_limit=STEPS, budget=Budget(20.0))
    if end.ending is Ending.ERROR:
        return PART_OF_KIND[program.error_at(end.location).kind]
    return NONE if end.ending is Ending.EXIT else f"{end.ending.value} {end.cause}".strip()


def _native(program: SanitizedProgram, inputs: Inputs) -> str | None:
    """Return the part of valid-memsafety that a run of the sanitized program violates; None if the run says
    nothing."""
    ended = program.run(Supply({INPUT: list(inputs)}), seconds=SECONDS)
    fault = ended.fault
    if fault is not None and fault.kind in PART_OF_KIND and PART_OF_KIND[fault.kind] != "valid-memcleanup":
        return PART_OF_KIND[fault.kind]
    return None if any(ended.why_not(kind) for kind in PART_OF_KIND) else NONE


def summary(campaign: Campaign) -> str:
    """Render the counts."""
    counts = campaign.counts
    lines = [
        f"{counts['programs']} programs, each with and without a memory bug, seed {campaign.seed}, "
        f"{campaign.seconds:.0f} s",
        f"agreed: {counts['agreed']} programs; runs compared: {counts['runs']}",
    ]
    for title in ("bug", "verify broken", "verify clean", "discarded", "refused", "not compared"):
        listed = {key.partition(": ")[2]: n for key, n in counts.items() if key.startswith(f"{title}: ")}
        if listed:
            text = ", ".join(f"{key} {n}" for key, n in sorted(listed.items()))
            lines.append(f"{title}: {sum(listed.values())} ({text})")
    lines.append(f"disagreements: {sum(campaign.kinds.values())}")
    lines += [f"  {count:5}  {kind}" for kind, count in campaign.kinds.most_common()]
    return "\n".join(lines)
