"""`verify`: the entry point. The front end works in this process, engines in child processes under limits.

Without a property, a C program gets one answer for each kind of checks (`KindsSchedule`, ADR 16). The program
has the error sites of all kinds. An execution ends at its first error, so that every question below is about
the same executions:

1. All kinds are asked for together. If no error can be reached, one proof answers all of them.
2. If an error is reached, its kind is VIOLATED. The others are asked for again: the sites of the violated
   kind are no errors any more, but executions still end there (`Program.only`).
3. If there is no answer in time, the kinds are asked for one by one, those with the fewest sites first.

A HOLDS about one kind says that no execution has its *first* error of this kind. So it assumes that there is
no error of the kinds that do not hold; if all kinds hold there is no first error at all, and nothing is
assumed. Facts that engines find, and the native runs that challenge proofs, serve all questions.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from certus.core.accounting import Budget
from certus.core.diagnostic import Diagnostic, Severity, not_written
from certus.core.engine import Task
from certus.core.errors import BudgetExceeded, InputError, Unsupported
from certus.core.evidence import Safe, Trace, Unknown, Unsafe
from certus.core.horn import HornSystem
from certus.core.outcome import COMPILERS_DISAGREE, CONTRADICTION, MODEL_DISAGREES, Outcome, Replay
from certus.core.program import Program, SourceText
from certus.core.vocabulary import (
    KINDS,
    SUPPORTED,
    UNREACH_CALL,
    Property,
    check_line,
    error_kinds,
    kind_of_error,
)
from certus.engines.registry import ENGINES
from certus.frontend import Question, has_clauses, load_clauses, load_question, read_question
from certus.run.publish import Challenger
from certus.run.schedule import EARLIER, TOO_LATE, Schedule
from certus.run.settings import AUTO, Settings, check_owners, engine_options
from certus.system.child import Children
from certus.system.supervise import cpu_seconds

__all__ = ["Settings", "verify"]


def verify(
    path: str | Path | Sequence[str | Path],
    settings: Settings | None = None,
    *,
    on_progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Verify the program or the Horn clauses in a file, or a C program in several files. Raises `InputError`
    if they, or the settings, are malformed.

    The time limit covers the front end too, which checks the budget as it works."""
    settings = settings or Settings()
    start, budget = time.monotonic(), Budget(settings.timeout)
    cpu = None if settings.cpu_time is None else cpu_seconds() + settings.cpu_time
    _check(settings)
    _check_places(settings)
    paths = [Path(path)] if isinstance(path, str | Path) else [Path(each) for each in path]
    if not paths:
        raise InputError([Diagnostic("usage", "There is no file to verify.", hint="Name one.")])
    question = Question(paths[0], Property(settings.property_name or UNREACH_CALL), others=tuple(paths[1:]))
    try:
        question = read_question(
            paths,
            property=settings.property_name,
            data_model=settings.data_model,
            checks=settings.checks,
        )
        question = replace(question, malloc_may_fail=settings.malloc_may_fail)
        subject, warnings = _load(question, settings, budget)
        budget.check()
    except Unsupported as refusal:
        return _not_loaded(question, settings, refusal.diagnostic, start)
    except BudgetExceeded:
        return _not_loaded(question, settings, _too_slow(question, settings), start)
    loaded = time.monotonic()
    settings = replace(settings, data_model=question.data_model)
    left = budget.remaining()
    if question.property.kinds and isinstance(subject, Program):
        outcome = KindsSchedule(subject, question, settings, start, on_progress, cpu, left).run()
        answers = (replace(each, diagnostics=(*warnings, *each.diagnostics)) for each in outcome.answers)
        outcome = replace(outcome, answers=tuple(answers))
    else:
        task = Task(subject, question.property.name)
        outcome = Schedule(task, settings, on_progress, question, cpu, left).run()
    if settings.evidence is not None:
        from certus.run.evidence import saved

        outcome = saved(outcome, question, settings)
    end = time.monotonic()
    outcome = replace(
        outcome,
        diagnostics=(*warnings, *outcome.diagnostics),
        seconds={**outcome.seconds, "frontend": loaded - start, "solve": end - loaded, "total": end - start},
        expected=question.expected,
    )
    return outcome if isinstance(subject, HornSystem) else _with_property(outcome, question.property)


def _check(settings: Settings) -> None:
    """Raise `InputError` for engines and options that do not exist."""
    check_owners(settings, ENGINES)
    for name, engine in ENGINES.items():
        if settings.engine in (AUTO, name):
            engine_options(engine, settings)


def _check_places(settings: Settings) -> None:
    """Raise `InputError`, before the work begins, for a place where its results cannot be written."""
    for place in filter(None, (settings.evidence, settings.log_queries, settings.harness)):
        try:
            if place is not settings.harness:
                place.mkdir(parents=True, exist_ok=True)
            elif not place.exists():
                place.touch()
                place.unlink()  # without a violation there is no harness
        except OSError as error:
            raise InputError([not_written(place, error)]) from error


def _load(
    question: Question, settings: Settings, budget: Budget
) -> tuple[Program | HornSystem, Sequence[Diagnostic]]:
    """Return what is to be verified, and the warnings of the front end."""
    if has_clauses(question):
        return load_clauses(question, budget), ()
    loaded = load_question(question, arguments=settings.clang_arguments, budget=budget)
    return loaded.program, loaded.warnings


def _with_property(outcome: Outcome, wanted: Property) -> Outcome:
    """Add the property as property files have it. One that names no function means several functions; then
    the function that was called is named."""
    function = wanted.function
    program, check = outcome.subject, outcome.check
    if wanted.kinds:
        answers = tuple(_with_property(each, _property_of(each)) for each in outcome.answers)
        specification = _with_property(outcome, _property_of(outcome)).specification
        return replace(outcome, answers=answers, specification=specification)
    if wanted.name not in SUPPORTED:
        return outcome
    if wanted == Property(UNREACH_CALL) and isinstance(program, Program) and isinstance(check, Replay):
        site = program.error_at(program.location[check.error])
        wanted = Property(UNREACH_CALL, "__assert_fail" if site.kind == "assertion" else site.function)
    if outcome.subproperty is not None:
        wanted = Property(outcome.subproperty)
    return replace(outcome, specification=check_line(wanted), error_function=function)


def _property_of(outcome: Outcome) -> Property:
    """Return the property that an answer to the default question decides; one without a name if property
    files have none for it. That all kinds hold decides `unreach-call`. Signed overflow alone is only a part
    of no-overflow, which covers shifts as well."""
    kinds, name = outcome.kinds, outcome.property_name
    if outcome.answer != "HOLDS":
        return Property(name)
    if outcome.assumed:
        return Property("")
    if not outcome.kind:
        name = next((KINDS[kind].property for kind in kinds), "")
    return Property("" if name == "no-overflow" and "shift" not in kinds else name)


def _not_loaded(question: Question, settings: Settings, reason: Diagnostic, start: float) -> Outcome:
    """Return UNKNOWN for a file that the front end cannot model, or did not read in time."""
    first, *others = (SourceText(str(file), _text(file), "") for file in question.files)
    empty: Program | HornSystem = HornSystem((), (), file=first.file)
    if not has_clauses(question):
        empty = Program({}, "main", (), (), source=first.text, file=first.file, others=tuple(others))
    spent = time.monotonic() - start
    outcome = Outcome(
        empty,
        question.property.name,
        Unknown(reason),
        settings.engine,
        seconds={"frontend": spent, "total": spent},
        expected=question.expected,
    )
    kinds = question.property.kinds
    if not kinds or not isinstance(empty, Program):
        return outcome
    return not_asked(empty, kinds, outcome)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _too_slow(question: Question, settings: Settings) -> Diagnostic:
    what = "clauses were" if has_clauses(question) else "program was"
    message = f"the {what} not read within {settings.timeout:g} s"
    return Diagnostic("time-limit", message, Severity.NOTE, hint="try a larger --timeout")


# ------------------------------------------------------------- one answer for each kind of checks

TOGETHER: Final = 0.5  # of the time, for several kinds that have sites
ALMOST_ALL: Final = 0.9  # for one kind that has sites beside others that have none
FINAL: Final = frozenset(  # reasons for UNKNOWN that do not depend on the kind
    {"interrupted", "cpu-limit", MODEL_DISAGREES, COMPILERS_DISAGREE, CONTRADICTION}
)


@dataclass(slots=True, eq=False)
class KindsSchedule:
    """The default question about one program. `seconds` is what is left of the time limit, and `cpu` where
    CPU time ends; `start` is when the whole run started. `answers` has the answers so far, in the order in
    which they were found, and `facts` what engines have found for others."""

    program: Program
    question: Question
    settings: Settings
    start: float
    on_progress: Callable[[str], None] | None = None
    cpu: float | None = None
    seconds: float | None = None
    answers: dict[str, Outcome] = field(default_factory=dict)
    facts: dict[str, bytes] = field(default_factory=dict)
    _budget: Budget = field(init=False)
    _challenger: Challenger = field(init=False)

    def run(self) -> Outcome:
        """Return the first finding, with the answers about all kinds."""
        self._budget = Budget(self.seconds)
        self._challenger = Challenger(self.program, self.question.property, self.settings, self._budget)
        with Children(cpu=self.cpu, memory=self.settings.memory) as children:
            self._answer_all(children)
        return finding(self.program, self.question.property.kinds, self.answers)

    def _answer_all(self, children: Children) -> None:
        waiting = deque([self.question.property.kinds])
        while waiting:
            kinds = waiting.popleft()
            if self._budget.remaining() == 0.0 and all(kind in self.answers for kind in kinds):
                continue  # they were asked for together with others before
            outcome = self._asked(kinds, children, self._seconds(kinds, len(waiting) + 1))
            if isinstance(outcome.verdict, Unsafe):
                violated = self._violated(outcome, kinds)
                self._record((violated,), outcome)
                self.settings = replace(self.settings, harness=None)  # it has the inputs of the first finding
                others = tuple(kind for kind in kinds if kind != violated)
                waiting.extendleft([others] if others else [])
                continue
            self._record(kinds, outcome)
            reason = outcome.verdict.reason.code if isinstance(outcome.verdict, Unknown) else ""
            questions = self._separated(kinds) if reason and reason not in FINAL else []
            waiting.extend(questions if len(questions) > 1 else [])

    def _asked(self, kinds: Sequence[str], children: Children, seconds: float | None) -> Outcome:
        """Ask whether the program has an error of one of these kinds."""
        task = Task(self.program.only(error_kinds(kinds)), ",".join(kinds))
        schedule = Schedule(
            task,
            self.settings,
            self.on_progress,
            self.question,
            self.cpu,
            seconds,
            part=seconds != self.seconds,
            facts={f"{EARLIER}{source}": data for source, data in self.facts.items()},
            challenger=self._challenger,
        )
        outcome = schedule.run(children)
        self.facts |= {s: data for s, data in schedule.facts.items() if not s.startswith(EARLIER)}
        return outcome

    def _record(self, kinds: Sequence[str], outcome: Outcome) -> None:
        elapsed = {**outcome.seconds, "total": time.monotonic() - self.start}
        for kind in kinds:
            earlier = self.answers.pop(kind, None)
            if earlier is not None and _is_late(earlier) and _is_late(outcome):
                self.answers[kind] = earlier  # together with others there was more time
                continue
            self.answers[kind] = answer(self.program, kind, replace(outcome, seconds=elapsed))

    def _violated(self, outcome: Outcome, kinds: Sequence[str]) -> str:
        """Return the kind of the error that a counterexample reaches."""
        assert isinstance(outcome.verdict, Unsafe)
        trace = outcome.verdict.refutation
        assert isinstance(trace, Trace)
        return kind_of_error(self.program.error_at(self.program.location[trace.error]).kind, kinds)

    def _separated(self, kinds: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the kinds one by one, those with the fewest sites first; those without sites together."""
        sites = {kind: self._sites(kind) for kind in kinds}
        without = tuple(kind for kind in kinds if not sites[kind])
        others = sorted((kind for kind in kinds if sites[kind]), key=sites.__getitem__)
        return [*([without] if without else []), *((kind,) for kind in others)]

    def _sites(self, kind: str) -> int:
        return sum(site.kind in KINDS[kind].errors for site in self.program.errors)

    def _seconds(self, kinds: Sequence[str], questions: int) -> float | None:
        """Return the time for the next of several questions. Kinds that are asked for together leave some for
        asking for them one by one."""
        left = self._budget.remaining()
        if left is None:
            return None
        with_sites = sum(self._sites(kind) > 0 for kind in kinds)
        if with_sites > 1:
            return TOGETHER * left
        if with_sites < len(kinds) and with_sites:
            return ALMOST_ALL * left
        return left / questions


def _is_late(outcome: Outcome) -> bool:
    """Return whether only time was missing."""
    return isinstance(outcome.verdict, Unknown) and outcome.verdict.reason.code in TOO_LATE


def answer(program: Program, kind: str, outcome: Outcome) -> Outcome:
    """Return an outcome about several kinds as one about this kind. A proof that there is no error of several
    kinds also proves that there is none of one of them."""
    name = KINDS[kind].property or kind
    return replace(outcome, subject=program.only(KINDS[kind].errors), property_name=name, kind=kind)


def finding(program: Program, kinds: Sequence[str], answers: Mapping[str, Outcome]) -> Outcome:
    """Return the first finding, with the answers about all kinds and what each of them assumes."""
    said = {kind: answers[kind].answer for kind in kinds}
    assumed = tuple((kind, said[kind]) for kind in kinds if said[kind] != "HOLDS")
    complete = {
        kind: replace(
            outcome,
            kinds=tuple(kinds),
            assumed=assumed if isinstance(outcome.verdict, Safe) else (),
        )
        for kind, outcome in answers.items()
    }
    order = ("VIOLATED", "UNKNOWN", "HOLDS")
    first = min(complete.values(), key=lambda each: (order.index(each.answer), each.vacuous))
    name = ",".join(kinds) if all(word == "HOLDS" for word in said.values()) else first.property_name
    return replace(
        first, subject=program, property_name=name, kind="", answers=tuple(complete[kind] for kind in kinds)
    )


def not_asked(program: Program, kinds: Sequence[str], outcome: Outcome) -> Outcome:
    """Return an UNKNOWN about a program that was not read as the answer about all kinds."""
    return finding(program, kinds, {kind: answer(program, kind, outcome) for kind in kinds})
