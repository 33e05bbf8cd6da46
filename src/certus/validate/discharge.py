"""Discharge the clauses of a proof: each needs one solver, or two if asked for, and none may refute it.

The solvers share our terms and the encodings of machine integers. They share no translation: z3 gets terms
through its C interface, Bitwuzla through its own, cvc5 gets SMT-LIB text. So a bug in one translation shows
as a disagreement.

`Hearing.settle` asks for what a proof needs. It asks solvers in turn, each only for the clauses that are not
settled yet and for its share of the time. The proof is complete after that.
`Hearing.hear_others` then asks every solver for its opinion on the other clauses, all of them together for at
most about twice the time that was needed so far. Only a refutation changes the answer; the report names the
solvers that had no answer in time.

Bitwuzla takes machine integers as bit-vectors, and only these. To the others they are integers first, then
bit-vectors; for a moment the other way round if integers cannot represent an operation exactly.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from certus.core.budget import Budget, until_out_of_time
from certus.core.outcome import ProofCheck, Undecided
from certus.core.sorts import MachineSort
from certus.core.statistics import Statistics
from certus.core.terms import Expr, Kind
from certus.core.walk import postorder
from certus.logic.bitwuzlasolver import BitwuzlaSolver
from certus.logic.cvc5solver import Cvc5Solver
from certus.logic.integers import Encoded, eliminate_machine
from certus.logic.solver import Answer
from certus.logic.z3solver import Z3Solver
from certus.validate.expansion import Refused
from certus.validate.ssa import Clause

SOLVERS: Final = ("z3", "bitwuzla", "cvc5")
LONG: Final = 60.0  # seconds, of which solvers have shares where there is no limit
SECOND_OPINION: Final = 2.0  # the time for all further opinions, as a multiple of what was needed before
AT_LEAST: Final = 1.0  # seconds for them in any case
MOMENT: Final = 1.0  # seconds for bit-vectors before integers that only approximate
QUICK: Final = 4.0  # seconds for each clause in a quick turn
QUICK_SIZE: Final = 20_000  # terms: cvc5, which exceeds its limit on deep terms, has no quick turn for more
MARGIN: Final = 0.3  # seconds before the deadline at which further opinions end, at least
MARGIN_BY_SIZE: Final = 2.0  # and so many times the seconds that tell how large the proof is
SHORT_OF_TIME: Final = 0.5  # a solver that used this part of its limit without an answer ran out of time

Check = Callable[[Sequence[Expr], Budget], Answer]


class Question:
    """The formulas of a clause, and what several solvers need to know of them: found when first asked for."""

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
        """Whether there are bit operations on variables, which integers only approximate."""
        return any(map(_is_approximated, postorder(*self.formulas)))

    def integers(self, budget: Budget) -> Encoded:
        """The formulas with machine integers as integers; raises `BudgetExceeded` if that takes too long."""
        if self._integers is None:
            self._integers = eliminate_machine(self.formulas, style="mod", budget=budget)
        return self._integers


def _is_approximated(term: Expr) -> bool:
    if term.kind in (Kind.SHL, Kind.SHR):
        return term.args[1].kind is not Kind.CONST
    joining = term.kind in (Kind.BIT_AND, Kind.BIT_OR, Kind.BIT_XOR)
    return joining and all(argument.kind is not Kind.CONST for argument in term.args)


Opinion = Callable[[Question, Budget, bool], Answer | None]  # None: nothing that this solver treats


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a solver: a share of the time that is left. A quick turn has at most `QUICK` seconds for
    each clause, and tries machine integers as integers only."""

    solver: str
    share: float
    quick: bool = False


TURNS: Final = (
    Turn("z3", 0.3, quick=True),  # what is easy for integers can be endless for bits
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
    """Ask all solvers for every clause; each needs `solvers` of them. Raises `Refused`.

    `on_settled` is called when every clause has them, with what is known by then: the proof is complete, and
    further opinions can only refute it. These end so long before the deadline that an outcome can still be
    made of the proof, which takes longer for large ones: `size_seconds`, what deriving the clauses took, and
    the time of `on_settled` say how large it is."""
    hearing = Hearing(clauses, statistics, required=solvers)
    hearing.settle(budget)
    if on_settled is not None:
        start = time.monotonic()
        on_settled(hearing.tally(unasked=Undecided.OUT_OF_TIME))
        size_seconds = max(size_seconds, time.monotonic() - start)
    hearing.hear_others(budget.without(MARGIN + MARGIN_BY_SIZE * size_seconds))
    return hearing.tally()


class Hearing:
    """What each solver said of each clause, and the time that all took. A clause needs `required` solvers."""

    def __init__(self, clauses: Sequence[Clause], statistics: Statistics, *, required: int = 1) -> None:
        self.clauses: Final = clauses
        self._questions: Final = [Question(clause.formulas) for clause in clauses]
        self.required: Final = required
        self.said: Final[list[dict[str, Answer | Undecided]]] = [{} for _ in clauses]
        self.spent = 0.0
        self._opinions: Final = {
            "z3": _decided(_z3(statistics)),
            "bitwuzla": _bitwuzla(statistics),
            "cvc5": _decided(_cvc5(statistics)),
        }

    def settle(self, budget: Budget) -> None:
        """Ask until every clause is discharged by the required number. Raises `Refused` if that fails."""
        for turn in TURNS:
            self._ask(turn.solver, _share(budget, turn.share), needed=True, quick=turn.quick)
        self._refuse_refuted()
        self._refuse_missing()

    def hear_others(self, budget: Budget) -> None:
        """Ask each solver for the clauses that it was not needed for. Raises `Refused` if it refutes one."""
        further = budget.part(1.0, at_most=max(AT_LEAST, SECOND_OPINION * self.spent))
        for number, solver in enumerate(SOLVERS):
            self._ask(solver, further.part(1 / (len(SOLVERS) - number)), needed=False)
        self._refuse_refuted()

    def tally(self, *, unasked: Undecided = Undecided.NO_TURN) -> ProofCheck:
        """How it went, without random runs. `unasked` is told of clauses that a solver was not asked for."""
        discharged: dict[str, int] = {}
        undecided: dict[str, dict[Undecided, int]] = {}
        for solver in SOLVERS:
            answers = [said.get(solver, unasked) for said in self.said]
            if all(answer is Undecided.UNSUITED for answer in answers):
                continue
            if any(answer not in (Undecided.NO_TURN, Undecided.UNSUITED) for answer in answers):
                answers = [Undecided.OUT_OF_TIME if a is Undecided.NO_TURN else a for a in answers]
            discharged[solver] = answers.count(Answer.UNSAT)
            reasons = Counter(answer for answer in answers if isinstance(answer, Undecided))
            if reasons:
                undecided[solver] = {reason: reasons[reason] for reason in Undecided if reason in reasons}
        by_one = sum(_proving(said) == 1 for said in self.said)
        return ProofCheck(len(self.clauses), discharged, 0, undecided, by_one)

    def _ask(self, solver: str, budget: Budget, *, needed: bool, quick: bool = False) -> None:
        """Ask one solver: for the clauses that it is `needed` for, or for the others.

        A solver is not asked again where it gave an answer, nor for the others where it had none."""
        start = time.monotonic()
        for question, said in self._open(solver, needed=needed):
            if quick and solver == "cvc5" and question.size > QUICK_SIZE:
                continue
            if budget.remaining() == 0.0:
                break
            limit = budget.part(1.0, at_most=QUICK) if quick else budget
            said[solver] = _within(self._opinions[solver], question, limit, quick=quick)
        self.spent += time.monotonic() - start

    def _open(self, solver: str, *, needed: bool) -> Iterator[tuple[Question, dict[str, Answer | Undecided]]]:
        for question, said in zip(self._questions, self.said, strict=True):
            settled = _proving(said) >= self.required
            before = said.get(solver)
            again = before is Undecided.OUT_OF_TIME or before is Undecided.GAVE_UP
            if settled is not needed and (before is None or (needed and again)):
                yield question, said

    def _refuse_refuted(self) -> None:
        for clause, said in zip(self.clauses, self.said, strict=True):
            refuting = [solver for solver in SOLVERS if said.get(solver) is Answer.SAT]
            if refuting:
                who = " and ".join(refuting)
                raise Refused("proof-refuted", f"{who} found a counterexample to the claim: {clause.title}")

    def _refuse_missing(self) -> None:
        for clause, said in zip(self.clauses, self.said, strict=True):
            if _proving(said) == 0:
                if any(said.get(solver) in (None, Undecided.OUT_OF_TIME) for solver in SOLVERS):
                    message = f"no solver decided this claim of the proof within the limit: {clause.title}"
                    raise Refused("evidence-not-checked", message, hint="try a larger --timeout")
                raise Refused("proof-not-checked", f"no solver could decide the claim: {clause.title}")
        lacking = sum(_proving(said) < self.required for said in self.said)
        if lacking:
            raise Refused(
                "second-solver-missing",
                f"{lacking} of {len(self.clauses)} clauses of the proof are proved by one solver only",
                hint="try a larger --timeout, or --solvers 1 to accept the word of one solver",
            )


def _proving(said: dict[str, Answer | Undecided]) -> int:
    return sum(answer is Answer.UNSAT for answer in said.values())


def _share(budget: Budget, share: float) -> Budget:
    return Budget(LONG * share) if budget.remaining() is None else budget.part(share)


def _within(opinion: Opinion, question: Question, budget: Budget, *, quick: bool) -> Answer | Undecided:
    """What the solver says within the budget, or why it says nothing."""
    given = budget.remaining()
    with until_out_of_time():
        answer = opinion(question, budget, quick)
        if answer is None:
            return Undecided.UNSUITED
        if answer is not Answer.UNKNOWN:
            return answer
        left = budget.remaining()
        if given is None or left is None or left > (1 - SHORT_OF_TIME) * given:
            return Undecided.GAVE_UP
    return Undecided.OUT_OF_TIME


def _decided(check: Check) -> Opinion:
    return lambda question, budget, quick: _decide(question, check, budget, quick=quick)


def _decide(question: Question, check: Check, budget: Budget, *, quick: bool = False) -> Answer:
    """Satisfiability, with machine integers as integers if that decides it; no more than that if `quick`.

    Where these only approximate (bits of variables), bit-vectors get a moment before: a model of an
    approximation is found in vain, and a long one takes long to make."""
    if not question.has_machine_integers:
        return check(question.formulas, budget)
    if question.has_bit_operations:
        answer = check(question.formulas, budget.part(0.25, at_most=MOMENT))
        if answer is not Answer.UNKNOWN:
            return answer
    longest = MOMENT if question.has_bit_operations else QUICK
    part = budget.part(1.0, at_most=longest) if quick else budget.part(0.5)
    with until_out_of_time():
        encoded = question.integers(part)
        answer = check((*encoded.formulas, *encoded.ranges), part)
        if answer is Answer.UNSAT or (answer is Answer.SAT and encoded.exact):
            return answer
    return Answer.UNKNOWN if quick else check(question.formulas, budget)


def discharged_by_z3(clause: Clause, *, budget: Budget, statistics: Statistics) -> bool:
    """Whether one solver finds a clause valid: enough for what a proof will repeat, not for a verdict."""
    budget.check()
    return _decide(Question(clause.formulas), _z3(statistics), budget) is Answer.UNSAT


def _bitwuzla(statistics: Statistics) -> Opinion:
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
