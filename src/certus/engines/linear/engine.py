"""The engine `linear`: reachability of Linear Programs by linear constraints (seed 000).

Path edges and summary edges are relations between integer vectors, held exactly by isl. A worklist
propagates them over the control flow graph (`Tabulation`); loops and linear recursion are taken by
closures where these are exact (`Acceleration`). If no error vertex is reached, the path edges at loop heads
and the summaries are an inductive proof. A reached error is a counterexample if every step on the way
to it was exact; its execution is read off by enumeration (`Reading`).

While the exact search goes on without end, a second one may over-approximate: inexact closures
and widening, for a proof only. Facts, checked ranges at loop heads, restrict the states that steps start
from, so that machine integers are integers where these exclude that they wrap around; otherwise sums
are taken modulo. What is not linear (products, arrays, bit operations) is arbitrary
within its type and makes the search inexact in the same way.
Says Unknown if blocks have too many paths, if isl needs too many operations, and where only
an inexact step leads to an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from certus.core import build
from certus.core.budget import Budget
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import Unsupported
from certus.core.evidence import Execution, Inductive, Point, Trace
from certus.core.loops import loop_forest, recursive
from certus.core.program import Havoc, Location, Program, leaves
from certus.core.sorts import MachineSort
from certus.core.statistics import Statistics
from certus.core.task import Task
from certus.core.terms import Expr
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict

if TYPE_CHECKING:
    from certus.engines.linear.tabulation import Tabulation
    from certus.engines.linear.transitions import Transitions

TOLD = 8  # disjuncts of a formula that others may use
LOOSE = 1600  # path edges to follow where a search over-approximates
CLOSURE = 1.0  # seconds for the closure of several disjuncts
SHARE = 0.3  # of the time left, for each way to over-approximate
ENUMERATED = 200  # path edges: a longer search that met no input was one run


@dataclass(frozen=True, slots=True)
class Options:
    """`accelerate`: use closures of loops and recursion. `widen`: try over-approximation where the exact
    search does not end by itself within `patience` steps. `steps`: the most path edges to follow exactly; 0
    means without end."""

    accelerate: bool = True
    widen: bool = True
    patience: int = 100
    steps: int = 0


class LinearReachability:
    """The engine `linear`."""

    name = "linear"
    summary = "linear-constraint reachability: path and summary edges, closures, widening"
    options = Options
    inlines = False

    def unsupported(self, task: Task) -> Diagnostic | None:
        if isinstance(task.subject, Program):
            return None
        return Diagnostic("unsupported-subject", "linear treats programs, not Horn clauses", Severity.NOTE)

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.logic.presburger import TooHard

        search = _Search(task, options, budget, statistics)
        try:
            return search.verdict()
        except Unsupported as refused:
            return Unknown(refused.diagnostic)
        except TooHard:
            message = f"isl needs too many operations for the relations of this program{search.known()}"
            return Unknown(Diagnostic("too-hard", message, Severity.NOTE, hint="try another engine"))


class _Search:
    """The strategies in turn: exact, over-approximating, exact without end."""

    def __init__(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> None:
        from certus.engines.linear.transitions import Transitions
        from certus.logic.relations import Relations

        assert isinstance(task.subject, Program)
        self.task, self.program = task, task.subject
        self.options, self.budget, self.statistics = options, budget, statistics
        facts = self._facts() if has_machine_integers(self.program) else {}
        self.transitions = Transitions(self.program, Relations(statistics, budget, self._apart), facts)

    def _apart(self, compute: Callable[[], bytes]) -> bytes | None:
        """Something that may have no end, in a process of its own."""
        from certus.system.child import run_limited

        left = self.budget.remaining()
        seconds = CLOSURE if left is None else min(CLOSURE, left)
        result = run_limited(lambda reporter: compute(), seconds=seconds, memory=None)
        if result.kind == "interrupted":
            raise KeyboardInterrupt
        return result.payload

    def verdict(self) -> Verdict:
        from certus.engines.linear.findings import findings

        exact = self._tabulation(self.transitions)
        if not self._ends(exact):
            proof = self._widened() if self.options.widen and has_cycles(self.program) else None
            if proof is not None:
                return Safe(proof)
            followed = self.options.patience
            while not exact.run(self.options.patience, self.budget):
                self._say(exact)
                followed += self.options.patience
                if 0 < self.options.steps <= followed:
                    return Unknown(self._gave_up(exact))
        self.statistics.findings += findings(exact)
        if exact.errors:
            return self._violation(exact)
        return Safe(Execution(exact.length) if self._enumerated(exact) else self._proof(exact))

    def _ends(self, exact: Tabulation) -> bool:
        """Whether the exact search comes to its end while there is patience."""
        from certus.logic.presburger import TooHard

        try:
            return exact.run(self.options.patience, self.budget)
        except TooHard:
            return False

    def _facts(self) -> Mapping[Location, Expr]:
        """Checked invariants. They may have to be found first, so only who needs them asks."""
        return {p.location: fact for p, fact in self.task.facts.items() if not p.calls}

    def _enumerated(self, found: Tabulation) -> bool:
        """Whether the search was one long run, which is shorter evidence than all its states."""
        return found.length > ENUMERATED and not has_inputs(self.program)

    def _tabulation(
        self, transitions: Transitions, *, exact: bool = True, accelerate: bool = True
    ) -> Tabulation:
        from certus.engines.linear.acceleration import Acceleration
        from certus.engines.linear.tabulation import Tabulation
        from certus.engines.linear.widening import Widening

        acceleration = Acceleration(transitions, exact=exact)
        if accelerate and self.options.accelerate:
            with self.statistics.timed("linear.acceleration"):
                acceleration.learn()
        return Tabulation(transitions, acceleration, None if exact else Widening(transitions))

    def _widened(self) -> Inductive | None:
        """A proof by over-approximation: by widening alone, or with closures that may be inexact."""
        from certus.core.errors import BudgetExceeded
        from certus.engines.linear.transitions import Transitions
        from certus.logic.presburger import TooHard

        relations = self.transitions.relations
        transitions = Transitions(self.program, relations, self._facts())
        for accelerate in (False, True) if self.options.accelerate else (False,):
            limit = self.budget.part(SHARE)
            try:
                with relations.within(limit):
                    proof = self._loose(transitions, limit, accelerate=accelerate)
            except (TooHard, BudgetExceeded):
                self.budget.check()
                continue
            if proof is not None:
                return proof
        return None

    def _loose(self, transitions: Transitions, limit: Budget, *, accelerate: bool) -> Inductive | None:
        from certus.engines.linear.findings import findings

        loose = self._tabulation(transitions, exact=False, accelerate=accelerate)
        if not loose.run(LOOSE, limit):
            return None
        if loose.errors:
            self._tell(loose)
            return None
        self.statistics.findings += findings(loose)
        return self._proof(loose)

    def _tell(self, found: Tabulation) -> None:
        """What holds at the loops of main, though it does not rule out the errors: others may use it."""
        from certus.engines.linear.findings import state_formula

        heads = loop_forest(self.program.procedures[self.program.main]).heads
        stores = {at: found.paths[at] for at in heads if at in found.paths}
        few = (at for at, store in stores.items() if len(store.edges) <= TOLD)
        self.statistics.invariants({Point(at): state_formula(found, at) for at in few})

    def _violation(self, found: Tabulation) -> Verdict:
        """The execution behind an error: from a search by enumeration, whose steps are single ones."""
        from certus.engines.linear.traces import Reading

        if not all(error.exact for error in found.errors):
            self._tell(found)
            return Unknown(self._inexact())
        if not has_inputs(self.program):
            return Unsafe(Trace(found.errors[0].vertex.name))
        plain = found
        if self.options.accelerate:
            plain = self._tabulation(self.transitions, accelerate=False)
            while not plain.run(self.options.patience, self.budget):
                self._say(plain)
        trace = Reading(self.transitions, self.budget).trace(plain.errors[0]) if plain.errors else None
        return Unknown(self._inexact()) if trace is None else Unsafe(trace)

    def _gave_up(self, search: Tabulation) -> Diagnostic:
        heads = {at: len(store.edges) for at, store in search.paths.items() if at.loop is not None}
        where = ""
        if heads:
            worst = max(heads, key=lambda at: (heads[at], -at.index))
            assert worst.loop is not None
            where = f"; {heads[worst]} of them at the loop in line {worst.loop.line}"
        message = f"no end after {search.length} path edges{where}"
        return Diagnostic("steps-reached", message, Severity.NOTE, hint="try another engine")

    def _inexact(self) -> Diagnostic:
        from certus.core.ctext import c_text
        from certus.engines.linear.findings import first_not_linear

        message = "an error is reached only if something that is not linear has any value of its type"
        hint, found = "try --engine predicate or bmc", first_not_linear(self.program)
        if found is None:
            return Diagnostic("not-linear", message, Severity.NOTE, hint=hint)
        statement, term = found
        words = c_text(term, names=self.program.source_names, limit=100)
        return Diagnostic("not-linear", f"{message}, such as {words}", Severity.NOTE, statement.span, hint)

    # ------------------------------------------------------------------------------------ proof

    def _proof(self, found: Tabulation) -> Inductive:
        """The path edges at loop heads and entries of callees, the facts relied on, and the summaries."""
        from certus.engines.linear.findings import path_formula, summary_formula

        with self.statistics.timed("linear.proof"):
            called = [name for name in self.program.procedures if name != self.program.main]
            heads = [at for p in self.program.procedures.values() for at in loop_forest(p).heads]
            invariants = {Point(at): path_formula(found, at) for at in heads}
            summaries: dict[str, Expr] = {}
            for name in called:
                procedure = self.program.procedures[name]
                invariants[Point(procedure.entry)] = path_formula(found, procedure.entry)
                summaries[name] = summary_formula(found, name)
            for at, fact in found.transitions.invariants.items():
                invariants[Point(at)] = build.and_(path_formula(found, at), fact)
        return Inductive(invariants, summaries)

    def _say(self, search: Tabulation) -> None:
        self.statistics.progress(f"{search.length} path edges, {len(search.worklist)} to follow")

    def known(self) -> str:
        return f"; {self.statistics.latest}" if self.statistics.latest else ""


def has_cycles(program: Program) -> bool:
    """Whether executions can be arbitrarily long."""
    return bool(recursive(program)) or any(loop_forest(p).heads for p in program.procedures.values())


def has_machine_integers(program: Program) -> bool:
    """Whether numbers may wrap around."""
    every = (program.globals, *(p.variables for p in program.procedures.values()))
    return any(isinstance(x.sort, MachineSort) for variables in every for x in variables)


def has_inputs(program: Program) -> bool:
    """Whether an execution may depend on values the program does not determine."""
    edges = (edge for procedure in program.procedures.values() for edge in procedure.edges)
    if any(isinstance(op, Havoc) for edge in edges for op in leaves(edge)):
        return True
    return any(x not in program.initial for x in program.globals)
