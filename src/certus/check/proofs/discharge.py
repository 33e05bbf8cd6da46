"""Discharge proof obligations: each needs one solver, or two if the user asks for it, and none may refute it.

The solvers share terms and the encodings of machine integers, but no translation: z3 gets terms through its C
interface, Bitwuzla through its Python interface, cvc5 gets SMT-LIB text. So a mistake in one translation
shows as a disagreement.

`Answers.settle` asks solvers in turn until each clause has the answers that it needs, each solver for its
share of the time and only for clauses that are not settled yet. Then the proof is complete.
`Answers.ask_others` asks every solver about the remaining clauses, for at most about twice the time so far.
Only a refutation changes the result; the report names the solvers without an answer in time.

Bitwuzla takes formulas over machine integers only, as bit-vectors. z3 and cvc5 try machine integers as
integers first, then as bit-vectors; if integers cannot represent an operation exactly, bit-vectors get a
short turn before.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from certus.check.proofs.expansion import Refused
from certus.check.proofs.ssa import Clause
from certus.core.accounting import Budget, Statistics, until_out_of_time
from certus.core.outcome import ProofCheck, Undecided
from certus.core.solver import Answer
from certus.core.terms import FLOATS, Expr, Kind, MachineSort
from certus.core.walk import postorder
from certus.encoding.integers import Encoded, eliminate_machine
from certus.solvers.bitwuzla.solver import BitwuzlaSolver
from certus.solvers.cvc5 import Cvc5Solver
from certus.solvers.z3.solver import Z3Solver

SOLVERS: Final = ("z3", "bitwuzla", "cvc5")
NO_LIMIT: Final = 60.0  # seconds to share among solvers if there is no time limit
FURTHER: Final = 2.0  # the time for all further answers, as a multiple of the time before
AT_LEAST: Final = 1.0  # seconds for them in any case
SHORT: Final = 1.0  # seconds for bit-vectors before integers that only approximate
QUICK: Final = 4.0  # seconds for each clause in a quick turn
QUICK_SIZE: Final = 20_000  # terms, at most, in a quick turn of cvc5, which exceeds its limit on deep terms
MARGIN: Final = 0.3  # seconds left after further answers, at least
MARGIN_BY_SIZE: Final = 2.0  # more of them, as a multiple of the seconds that measure the size of the proof
OUT_OF_TIME: Final = 0.5  # a solver that used this part of its limit without an answer ran out of time

Check = Callable[[Sequence[Expr], Budget], Answer]


class Question:
    """The formulas of a clause, with properties that several solvers use, computed on demand."""

    def __init__(self, formulas: Sequence[Expr]) -> None:
        self.formulas: Final = formulas
        self._integers: Encoded | None = None

    @cached_property
    def size(self) -> int:
        """The number of different terms."""
        return sum(1 for _ in postorder(*self.formulas))

    @cached_property
    def has_machine_integers(self) -> bool:
        return any(isinstance(term.sort, MachineSort) for term in postorder(*self.formulas))

    @cached_property
    def has_bit_operations(self) -> bool:
        """Return whether there are bit operations on variables, which integers only approximate."""
        return any(map(_is_approximated, postorder(*self.formulas)))

    @cached_property
    def has_floats(self) -> bool:
        """Return whether there are operations on floating-point numbers, which integers do not express."""
        return any(term.kind in FLOATS for term in postorder(*self.formulas))

    def integers(self, budget: Budget) -> Encoded:
        """Return the formulas with machine integers as integers; raises `BudgetExceeded`."""
        if self._integers is None:
            self._integers = eliminate_machine(self.formulas, style="mod", budget=budget)
        return self._integers


def _is_approximated(term: Expr) -> bool:
    if term.kind in (Kind.SHL, Kind.SHR):
        return term.args[1].kind is not Kind.CONST
    bitwise = term.kind in (Kind.BIT_AND, Kind.BIT_OR, Kind.BIT_XOR)
    return bitwise and all(argument.kind is not Kind.CONST for argument in term.args)


AskSolver = Callable[[Question, Budget, bool], Answer | None]  # None: unsupported formulas


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of a solver with its share of the remaining time. A quick turn has at most `QUICK` seconds for
    each clause, and tries machine integers as integers only."""

    solver: str
    share: float
    quick: bool = False


TURNS: Final = (
    Turn("z3", 0.3, quick=True),  # easy clauses about integers can be very hard as bit-vectors
    Turn("cvc5", 0.3, quick=True),
    Turn("bitwuzla", 0.5),
    Turn("z3", 0.7),
    Turn("cvc5", 1.0),
)


def discharge(
    clauses: Sequence[Clause],
    *,
    budget: Budget,
    statistics: Statistics,
    solvers: int = 1,
    on_settled: Callable[[ProofCheck], None] | None = None,
    size_seconds: float = 0.0,
) -> ProofCheck:
    """Discharge each clause by at least `solvers` solvers. Raises `Refused` if that fails or one refutes it.

    `on_settled` is called with the result so far when that is done: further answers can only refute the
    proof. These end early enough before the deadline to build an outcome from the proof, which takes longer
    for large ones: `size_seconds`, the time to derive the clauses, and the time of `on_settled` estimate its
    size."""
    answers = Answers(clauses, statistics, required=solvers)
    answers.settle(budget)
    if on_settled is not None:
        start = time.monotonic()
        on_settled(answers.tally(unasked=Undecided.OUT_OF_TIME))
        size_seconds = max(size_seconds, time.monotonic() - start)
    answers.ask_others(budget.without(MARGIN + MARGIN_BY_SIZE * size_seconds))
    return answers.tally()


class Answers:
    """The answers of each solver for each clause, and the time spent. A clause needs `required` solvers."""

    def __init__(self, clauses: Sequence[Clause], statistics: Statistics, *, required: int = 1) -> None:
        self.clauses: Final = clauses
        self._questions: Final = [Question(clause.formulas) for clause in clauses]
        self.required: Final = required
        self.answers: Final[list[dict[str, Answer | Undecided]]] = [{} for _ in clauses]
        self.spent = 0.0
        self._solvers: Final = {
            "z3": _decided(_z3(statistics)),
            "bitwuzla": _bitwuzla(statistics),
            "cvc5": _decided(_cvc5(statistics)),
        }

    def settle(self, budget: Budget) -> None:
        """Ask until each clause is discharged by the required number of solvers. Raises `Refused` if not."""
        for turn in TURNS:
            self._ask(turn.solver, _share(budget, turn.share), needed=True, quick=turn.quick)
        self._refuse_refuted()
        self._refuse_missing()

    def ask_others(self, budget: Budget) -> None:
        """Ask each solver about the clauses it was not needed for. Raises `Refused` if it refutes one."""
        further = budget.part(1.0, at_most=max(AT_LEAST, FURTHER * self.spent))
        for number, solver in enumerate(SOLVERS):
            self._ask(solver, further.part(1 / (len(SOLVERS) - number)), needed=False)
        self._refuse_refuted()

    def tally(self, *, unasked: Undecided = Undecided.NO_TURN) -> ProofCheck:
        """Count the answers. `unasked` is the reason for clauses that a solver was not asked about."""
        discharged: dict[str, int] = {}
        undecided: dict[str, dict[Undecided, int]] = {}
        for solver in SOLVERS:
            answers = [by_solver.get(solver, unasked) for by_solver in self.answers]
            if all(answer is Undecided.UNSUITED for answer in answers):
                continue
            if any(answer not in (Undecided.NO_TURN, Undecided.UNSUITED) for answer in answers):
                answers = [Undecided.OUT_OF_TIME if a is Undecided.NO_TURN else a for a in answers]
            discharged[solver] = answers.count(Answer.UNSAT)
            reasons = Counter(answer for answer in answers if isinstance(answer, Undecided))
            if reasons:
                undecided[solver] = {reason: reasons[reason] for reason in Undecided if reason in reasons}
        by_one = sum(_proving(by_solver) == 1 for by_solver in self.answers)
        return ProofCheck(len(self.clauses), discharged, 0, undecided, by_one)

    def _ask(self, solver: str, budget: Budget, *, needed: bool, quick: bool = False) -> None:
        """Ask one solver about the clauses that still need an answer (`needed`), or about the others.

        Skip clauses that this solver has decided and, among the others, those it failed to decide."""
        start = time.monotonic()
        for question, by_solver in self._open(solver, needed=needed):
            if quick and (question.has_floats or (solver == "cvc5" and question.size > QUICK_SIZE)):
                continue
            if budget.remaining() == 0.0:
                break
            limit = budget.part(1.0, at_most=QUICK) if quick else budget
            by_solver[solver] = _within(self._solvers[solver], question, limit, quick=quick)
        self.spent += time.monotonic() - start

    def _open(self, solver: str, *, needed: bool) -> Iterator[tuple[Question, dict[str, Answer | Undecided]]]:
        for question, by_solver in zip(self._questions, self.answers, strict=True):
            settled = _proving(by_solver) >= self.required
            before = by_solver.get(solver)
            again = before is Undecided.OUT_OF_TIME or before is Undecided.GAVE_UP
            if settled is not needed and (before is None or (needed and again)):
                yield question, by_solver

    def _refuse_refuted(self) -> None:
        for clause, by_solver in zip(self.clauses, self.answers, strict=True):
            refuting = " and ".join(solver for solver in SOLVERS if by_solver.get(solver) is Answer.SAT)
            if refuting:
                message = f"{refuting} found a counterexample to the claim: {clause.title}"
                raise Refused(clause.cause, message)

    def _refuse_missing(self) -> None:
        for clause, by_solver in zip(self.clauses, self.answers, strict=True):
            if _proving(by_solver) == 0:
                if any(by_solver.get(solver) in (None, Undecided.OUT_OF_TIME) for solver in SOLVERS):
                    message = f"no solver decided this claim of the proof within the limit: {clause.title}"
                    raise Refused("evidence-not-checked", message, hint="try a larger --timeout")
                raise Refused("proof-not-checked", f"no solver could decide the claim: {clause.title}")
        single = sum(_proving(by_solver) < self.required for by_solver in self.answers)
        if single:
            raise Refused(
                "second-solver-missing",
                f"{single} of {len(self.clauses)} clauses of the proof are proved by one solver only",
                hint="try a larger --timeout, or --solvers 1 to accept the answer of one solver",
            )


def _proving(by_solver: dict[str, Answer | Undecided]) -> int:
    """Return the number of solvers that discharged a clause."""
    return sum(answer is Answer.UNSAT for answer in by_solver.values())


def _share(budget: Budget, share: float) -> Budget:
    return Budget(NO_LIMIT * share) if budget.remaining() is None else budget.part(share)


def _within(ask: AskSolver, question: Question, budget: Budget, *, quick: bool) -> Answer | Undecided:
    """Return the answer of a solver within the budget, or why it has none."""
    available = budget.remaining()
    with until_out_of_time():
        answer = ask(question, budget, quick)
        if answer is None:
            return Undecided.UNSUITED
        if answer is not Answer.UNKNOWN:
            return answer
        left = budget.remaining()
        if available is None or left is None or left > (1 - OUT_OF_TIME) * available:
            return Undecided.GAVE_UP
    return Undecided.OUT_OF_TIME


def _decided(check: Check) -> AskSolver:
    return lambda question, budget, quick: _decide(question, check, budget, quick=quick)


def _decide(question: Question, check: Check, budget: Budget, *, quick: bool = False) -> Answer:
    """Decide satisfiability, with machine integers as integers first; with nothing else if `quick`.

    If integers only approximate the formulas (bit operations on variables), bit-vectors get a short turn
    before: a model of an approximation is useless, and finding a large one takes long."""
    if question.has_floats or not question.has_machine_integers:
        return check(question.formulas, budget)
    if question.has_bit_operations:
        answer = check(question.formulas, budget.part(0.25, at_most=SHORT))
        if answer is not Answer.UNKNOWN:
            return answer
    longest = SHORT if question.has_bit_operations else QUICK
    part = budget.part(1.0, at_most=longest) if quick else budget.part(0.5)
    with until_out_of_time():
        encoded = question.integers(part)
        answer = check((*encoded.formulas, *encoded.ranges), part)
        if answer is Answer.UNSAT or (answer is Answer.SAT and encoded.exact):
            return answer
    return Answer.UNKNOWN if quick else check(question.formulas, budget)


def discharged_once(clause: Clause, *, budget: Budget, statistics: Statistics) -> bool:
    """Return whether one solver discharges a clause: z3, or Bitwuzla before it if there is floating point.
    This suffices for facts, not for a verdict."""
    budget.check()
    question = Question(clause.formulas)
    if question.has_floats:
        answer = _bitwuzla(statistics)(question, budget.part(0.7), False)
        if answer is not None and answer is not Answer.UNKNOWN:
            return answer is Answer.UNSAT
    return _decide(question, _z3(statistics), budget) is Answer.UNSAT


def _bitwuzla(statistics: Statistics) -> AskSolver:
    def check(question: Question, budget: Budget, _: bool) -> Answer | None:
        if not question.has_machine_integers:
            return None
        solver = BitwuzlaSolver(statistics)
        solver.add(*question.formulas)
        if not solver.fits:
            return None
        answer = solver.check(budget=budget, purpose="validate.bits")
        return Answer.UNKNOWN if answer is Answer.SAT and not solver.exact else answer

    return check


def _z3(statistics: Statistics) -> Check:
    def check(formulas: Sequence[Expr], budget: Budget) -> Answer:
        solver = Z3Solver(statistics)
        solver.add(*formulas)
        return solver.check(budget=budget, purpose="validate")

    return check


def _cvc5(statistics: Statistics) -> Check:
    solver = Cvc5Solver(statistics)

    def check(formulas: Sequence[Expr], budget: Budget) -> Answer:
        return solver.check_formulas(formulas, budget=budget, purpose="validate.second")

    return check
