"""The engine `linear`: reachability of Linear Programs by linear constraints (Armando et al. 2004).

Path edges and summary edges are relations between integer vectors, which isl represents exactly. A worklist
propagates them over the control flow graph (`Tabulation`); exact closures accelerate loops and linear
recursion (`Acceleration`). If no error vertex is reached, the path edges at loop heads and the summaries are
an inductive proof. A reached error is a counterexample if every step to it is exact; a search by enumeration
gives its execution (`Reconstruction`).

If the exact search does not end soon, a second one over-approximates by inexact closures and widening, for a
proof only. Facts, checked ranges at loop heads, restrict the states that steps start from, so that machine
integers are integers where facts exclude that they wrap around; otherwise sums are modulo. What is not linear
(products, arrays, bit operations) is arbitrary within its type and makes a step inexact: the engine checks a
Linear Program that abstracts the program. An error that an inexact step leads to is lifted to the program
(`lifting`); if it is spurious, the Linear Program is refined (`refinement`), and the search starts again.
Answers Unknown if blocks need too many disjuncts, if isl needs too many operations, and if only an inexact
step leads to an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from certus.core import build
from certus.core.accounting import Budget, Statistics, phase
from certus.core.c_text import c_text
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.effects import has_floats
from certus.core.engine import Task
from certus.core.errors import BudgetExceeded, Unsupported
from certus.core.evidence import Execution, Inductive, Point, Safe, Trace, Unknown, Unsafe, Verdict
from certus.core.loops import callees_of, loop_forest, recursive
from certus.core.program import Havoc, Location, Program, leaves
from certus.core.terms import Expr, MachineSort
from certus.engines.linear import Options
from certus.engines.linear.acceleration import Acceleration
from certus.engines.linear.lifting import Step, lifted, path_to
from certus.engines.linear.precision import Precision
from certus.engines.linear.refinement import count_refinement, refined
from certus.engines.linear.report import (
    edge_findings,
    first_nonlinear,
    path_formula,
    state_formula,
    summary_formula,
)
from certus.engines.linear.tabulation import Tabulation
from certus.engines.linear.traces import Reconstruction
from certus.engines.linear.transitions import Transitions
from certus.engines.linear.widening import Widening
from certus.passes.reals import has_reals, scaled_program
from certus.solvers.isl.presburger import TooHard
from certus.solvers.isl.relations import Relations
from certus.system.child import run_limited

SHARED = 8  # disjuncts of a formula that other engines may use
LOOSE = 1600  # path edges to follow in a search that over-approximates
CLOSURE = 1.0  # seconds for the closure of several disjuncts
SHARE = 0.3  # of the remaining time, for each search that over-approximates
ENUMERATED = 200  # path edges: a longer search without inputs is evidence as one execution


def run(task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
    if isinstance(task.subject, Program) and has_floats(task.subject):
        message = "linear constraints on integers do not express floating-point numbers"
        return Unknown(Diagnostic("engine-without-floats", message, Severity.NOTE, hint="try another engine"))
    try:
        search = _Search(task, options, budget, statistics, Precision())
        while True:  # abstraction, model checking, refinement
            result = search.verdict()
            if not isinstance(result, Spurious):
                return result
            precision = refined(search.transitions, result.steps)
            if precision is None or statistics.counters["linear.refinements"] >= options.refinements:
                return result.verdict
            count_refinement(statistics, precision)
            search = _Search(task, options, budget, statistics, precision)
    except Unsupported as refused:
        return Unknown(refused.diagnostic)
    except TooHard:
        message = f"isl needs too many operations for the relations of this program{search.latest()}"
        return Unknown(Diagnostic("too-hard", message, Severity.NOTE, hint="try another engine"))


@dataclass(frozen=True, slots=True)
class Spurious:
    """No answer: the Linear Program reaches an error on a path that is no execution of the program, or on a
    path that is not known (None). `verdict` is the answer without refinement."""

    steps: Sequence[Step] | None
    verdict: Unknown


class _Search:
    """Three searches in turn: exact for a while, over-approximating, exact to the end."""

    def __init__(
        self, task: Task, options: Options, budget: Budget, statistics: Statistics, precision: Precision
    ) -> None:
        assert isinstance(task.subject, Program)
        self.task, self.source = task, task.subject
        self.scaled = scaled_program(self.source) if has_reals(self.source) else None
        self.program = self.source if self.scaled is None else self.scaled.program
        self.options, self.budget, self.statistics = options, budget, statistics
        facts = self._facts() if has_machine_integers(self.program) else {}
        relations = Relations(statistics, budget, self._in_child)
        self.transitions = Transitions(self.program, relations, facts, precision, self.scaled)

    def _in_child(self, compute: Callable[[], bytes]) -> bytes | None:
        """Run a computation that may not end in a child process, for at most `CLOSURE` seconds."""
        left = self.budget.remaining()
        seconds = CLOSURE if left is None else min(CLOSURE, left)
        result = run_limited(lambda reporter: compute(), seconds=seconds, memory=None)
        if result.kind == "interrupted":
            raise KeyboardInterrupt
        return result.payload

    def verdict(self) -> Verdict | Spurious:
        exact = self._tabulation(self.transitions)
        if not self._ends(exact):
            proof = self._widened() if self.options.widen and has_cycles(self.program) else None
            if proof is not None:
                return Safe(proof)
            followed = self.options.patience
            while not exact.run(self.options.patience, self.budget):
                self._report_progress(exact)
                followed += self.options.patience
                if 0 < self.options.steps <= followed:
                    return Unknown(self._gave_up(exact))
        self.statistics.findings += edge_findings(exact)
        if exact.errors:
            return self._violation(exact)
        return Safe(Execution(exact.length) if self._enumerated(exact) else self._proof(exact))

    def _ends(self, exact: Tabulation) -> bool:
        """Return whether the exact search ends within `patience` steps."""
        try:
            return exact.run(self.options.patience, self.budget)
        except TooHard:
            return False

    def _facts(self) -> Mapping[Location, Expr]:
        """Return the checked invariants; computing them may take time."""
        return {p.location: fact for p, fact in self.task.facts.items() if not p.calls}

    def _enumerated(self, search: Tabulation) -> bool:
        """Return whether the search was one long execution, which is shorter evidence than all its states."""
        return search.length > ENUMERATED and not has_inputs(self.source)

    def _tabulation(
        self, transitions: Transitions, *, exact: bool = True, accelerate: bool = True
    ) -> Tabulation:
        acceleration = Acceleration(transitions, exact=exact)
        if accelerate and self.options.accelerate:
            self._learn(acceleration)
        return Tabulation(transitions, acceleration, None if exact else Widening(transitions))

    @phase("linear.acceleration")
    def _learn(self, acceleration: Acceleration) -> None:
        acceleration.learn()

    def _widened(self) -> Inductive | None:
        """Return a proof by over-approximation: by widening alone, or with closures that may be inexact."""
        relations = self.transitions.relations
        transitions = Transitions(
            self.program, relations, self._facts(), self.transitions.precision, self.scaled
        )
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
        loose = self._tabulation(transitions, exact=False, accelerate=accelerate)
        if not loose.run(LOOSE, limit):
            return None
        if loose.errors:
            self._share_invariants(loose)
            return None
        self.statistics.findings += edge_findings(loose)
        return self._proof(loose)

    def _share_invariants(self, search: Tabulation) -> None:
        """Share the invariants at the loops of main with other engines."""
        heads = loop_forest(self.program.procedures[self.program.main]).heads
        stores = {at: search.paths[at] for at in heads if at in search.paths}
        few = (at for at, store in stores.items() if len(store.edges) <= SHARED)
        self.statistics.invariants({Point(at): state_formula(search, at) for at in few})

    def _violation(self, search: Tabulation) -> Verdict | Spurious:
        """Return the execution to an error, from a search by enumeration with single steps."""
        exact = all(error.exact for error in search.errors)
        if exact and not has_inputs(self.source):
            return Unsafe(Trace(search.errors[0].vertex.name))
        plain = self._enumeration(search, None if exact else self.options.patience)
        error = plain.errors[0] if plain.errors else None
        if exact:
            trace = None if error is None else Reconstruction(self.transitions, self.budget).trace(error)
            return Unknown(self._inexact()) if trace is None else self._unsafe(trace)
        self._share_invariants(search)
        steps = None if error is None else path_to(error)
        trace = None if steps is None else lifted(steps, self.program, self.budget, self.statistics)
        return Spurious(steps, Unknown(self._inexact())) if trace is None else self._unsafe(trace)

    def _unsafe(self, trace: Trace) -> Unsafe:
        return Unsafe(trace if self.scaled is None else self.scaled.trace(trace))

    def _enumeration(self, search: Tabulation, steps: int | None) -> Tabulation:
        """Return a search without acceleration to the first error, of at most `steps` steps."""
        if not self.options.accelerate:
            return search
        plain = self._tabulation(self.transitions, accelerate=False)
        if steps is not None:
            plain.run(steps, self.budget)
            return plain
        while not plain.run(self.options.patience, self.budget):
            self._report_progress(plain)
        return plain

    def _gave_up(self, search: Tabulation) -> Diagnostic:
        heads = {at: len(store.edges) for at, store in search.paths.items() if at.loop is not None}
        where = ""
        if heads:
            worst = max(heads, key=lambda at: (heads[at], -at.index))
            assert worst.loop is not None
            where = f"; {heads[worst]} of them at the loop in line {worst.loop.line}"
        message = f"the search did not end after {search.length} path edges{where}"
        return Diagnostic("steps-reached", message, Severity.NOTE, hint="try another engine")

    def _inexact(self) -> Diagnostic:
        message = "an error is reached only if nonlinear expressions may have any value of their type"
        hint, nonlinear = "try --engine predicate or bmc", first_nonlinear(self.source)
        if nonlinear is None:
            return Diagnostic("not-linear", message, Severity.NOTE, hint=hint)
        statement, term = nonlinear
        text = c_text(term, names=self.source.source_names, limit=100)
        return Diagnostic("not-linear", f"{message}, such as {text}", Severity.NOTE, statement.span, hint)

    # ------------------------------------------------------------------------------------ proof

    @phase("linear.proof")
    def _proof(self, search: Tabulation) -> Inductive:
        """Return the path edges at loop heads and entries of callees, the facts used, and the summaries."""
        heads = [at for p in self.program.procedures.values() for at in loop_forest(p).heads]
        invariants = {Point(at): path_formula(search, at) for at in heads}
        summaries: dict[str, Expr] = {}
        for name in callees_of(self.program):
            procedure = self.program.procedures[name]
            invariants[Point(procedure.entry)] = path_formula(search, procedure.entry)
            summaries[name] = summary_formula(search, name)
        for at, fact in search.transitions.invariants.items():
            invariants[Point(at)] = build.and_(path_formula(search, at), fact)
        return Inductive(invariants, summaries)

    def _report_progress(self, search: Tabulation) -> None:
        self.statistics.progress(f"{search.length} path edges, {len(search.worklist)} to follow")

    def latest(self) -> str:
        return f"; {self.statistics.latest}" if self.statistics.latest else ""


def has_cycles(program: Program) -> bool:
    """Return whether executions can be arbitrarily long."""
    return bool(recursive(program)) or any(loop_forest(p).heads for p in program.procedures.values())


def has_machine_integers(program: Program) -> bool:
    """Return whether numbers may wrap around."""
    every = (program.globals, *(p.variables for p in program.procedures.values()))
    return any(isinstance(x.sort, MachineSort) for variables in every for x in variables)


def has_inputs(program: Program) -> bool:
    """Return whether an execution may depend on values that the program does not determine."""
    edges = (edge for procedure in program.procedures.values() for edge in procedure.edges)
    if any(isinstance(op, Havoc) for edge in edges for op in leaves(edge)):
        return True
    return any(x not in program.initial for x in program.globals)
