"""The engine `clp`: constraint abstraction refinement, CAR (Flanagan 2004, Figure 4).

The clauses are abstracted to Boolean ones. If these do not derive false, the abstract relations are a model
of the clauses. Otherwise the engine searches for values that make the abstract derivation a derivation by the
clauses. If there are none, it explicates the proof of that, adds it to the abstraction, and starts again.

Invariant: every explicated formula is valid in the theory, so abstract relations contain the least solution.
No trace comes up twice (Lemma 6), since an explicated trace stays impossible; every refinement checks this
and validity. `check` checks both answers again. Answers Unknown after the given number of refinements, at a
limit, or if there are no interpolants.
"""

from __future__ import annotations

from collections.abc import Iterator

from certus.core.accounting import Budget, Finding, Statistics, phase
from certus.core.c_text import c_text
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.engine import Task
from certus.core.errors import Inconsistent
from certus.core.evidence import Safe, Unknown, Unsafe, Verdict
from certus.core.horn import Derivation, HornSystem
from certus.core.terms import Function
from certus.engines.clp import Options
from certus.engines.clp.abstraction import Abstraction, formals
from certus.engines.clp.explication import check_refinement, explicate
from certus.engines.clp.fixpoint import Fact, Fixpoint, Prover
from certus.engines.clp.rules import rule_set
from certus.engines.clp.traces import Trace, keep_all, refuted, satisfied, trace_of, unfold
from certus.passes.horn.programs import decide_task


def run(task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
    def search(system: HornSystem) -> Verdict:
        loop = _Search(system, options, Prover(budget, statistics))
        verdict = loop.verdict()
        if not isinstance(verdict, Unknown):
            statistics.findings += _findings(system, loop.abstraction)
        return verdict

    simplify = options.preprocess
    return decide_task(task, search, simplify=simplify, budget=budget, statistics=statistics)


class _Search:
    """The loop of Figure 4, its phases, and the data that all its rounds share. `abstraction` is alpha."""

    def __init__(self, system: HornSystem, options: Options, prover: Prover) -> None:
        self.system = system
        self.options = options
        self.prover = prover
        self.statistics = prover.statistics
        self.abstraction = Abstraction()
        self.excluded: set[object] = set()  # traces
        self.fixpoint: Fixpoint | None = None
        self.finer: list[Function] = []  # relations with new predicates since the last fixpoint
        self.changed: list[int] = []  # clauses with steps excluded since the last fixpoint

    def verdict(self) -> Verdict:
        """CAR: if the Boolean clauses [P]^alpha have a trace that cannot be satisfied, explicate it (ETC) and
        join the collapsed explication to alpha."""
        while True:
            fixpoint, error = self.abstract_derivation()
            if error is None:
                return Safe(fixpoint.model())
            result = self.concretise(error)
            if isinstance(result, Derivation):
                return Unsafe(result)
            if result is None:
                self.prover.budget.check()
                return _gave_up("solver-gave-up", "the solver cannot decide whether a derivation is possible")
            verdict = self.refine(result)
            if verdict is not None:
                return verdict

    @phase("clp.fixpoint")
    def abstract_derivation(self) -> tuple[Fixpoint, Fact | None]:
        """Compute the fixpoint under the present abstraction, up to the first derivation of false."""
        self.statistics.count("clp.iterations")
        if self.options.rules:
            iteration = self.statistics.counters["clp.iterations"]
            self.statistics.findings += rule_set(self.system, self.abstraction, iteration)
        fixpoint = Fixpoint(self.system, self.abstraction, self.options.explication, self.prover)
        if self.fixpoint is not None:
            fixpoint.keep(self.fixpoint, self.finer, self.changed)
        self.fixpoint = fixpoint
        return fixpoint, fixpoint.error()

    @phase("clp.trace")
    def concretise(self, error: Fact) -> Derivation | Trace | None:
        """Return the abstract derivation as a derivation by the clauses, or as an unsatisfiable trace; None
        if the solver gives up."""
        trace = trace_of(self.system, error)
        result = satisfied(trace, self.prover)
        if result is False and not trace.is_tree:
            tree = unfold(trace)
            if tree is None:
                keep_all(trace)
                return refuted(trace, self.prover) or trace
            trace = tree
            result = satisfied(trace, self.prover)
        return trace if result is False else result

    def refine(self, trace: Trace) -> Verdict | None:
        """Exclude the trace from the abstraction; return the verdict if the search ends here."""
        number = self.statistics.counters["clp.refinements"]
        if number and number == self.options.refinements:
            return _gave_up("refinements-reached", f"no answer after {number} refinements")
        if trace.key in self.excluded:
            raise Inconsistent("a trace was considered twice")
        self.excluded.add(trace.key)
        self.statistics.count("clp.refinements")
        refinement = self._explicate(trace)
        if isinstance(refinement, Derivation):
            return Unsafe(refinement)
        if refinement is None:
            self.prover.budget.check()
            return _gave_up("no-interpolants", f"no interpolants for a trace of {len(trace.nodes)} steps")
        if not self._is_valid(trace, refinement):
            self.prover.budget.check()
            return _gave_up("solver-gave-up", "the solver cannot decide whether a refinement is valid")
        self._join(refinement)
        size = sum(map(len, self.abstraction.interface.values()))
        self.statistics.counters["clp.predicates"] = size
        self.statistics.progress(f"refinement {number + 1}: {size} predicates, {len(trace.nodes)} steps")
        return None

    @phase("clp.interpolation")
    def _explicate(self, trace: Trace) -> Abstraction | Derivation | None:
        return explicate(trace, self.prover, effort=self.options.effort)

    @phase("clp.check")
    def _is_valid(self, trace: Trace, refinement: Abstraction) -> bool:
        return check_refinement(trace, refinement, self.prover)

    def _join(self, refinement: Abstraction) -> None:
        old = self.abstraction.interface
        self.finer = [r for r, new in refinement.interface.items() if not old.get(r, {}).keys() >= new.keys()]
        # Steps that the theory refutes were excluded before, unless only proofs exclude steps.
        only_proofs = self.options.explication == "proofs" or not self.finer
        self.changed = list(refinement.explicated) if only_proofs else []
        self.abstraction.join(refinement)


def _findings(system: HornSystem, abstraction: Abstraction) -> Iterator[Finding]:
    """Yield the abstraction as findings for the report."""
    for relation in system.relations:
        names = {x: f"x{n}" for n, x in enumerate(formals(relation.parameters))}
        texts = [c_text(p, names=names, limit=300) for p in abstraction.predicates(relation)]
        if texts:
            yield Finding("interface", relation.name, ", ".join(texts))
    for number, formulas in sorted(abstraction.explicated.items()):
        head = system.clauses[number].head
        place = f"clause {number}, of {'false' if head is None else head.function.name}"
        for formula in formulas:
            yield Finding("explicated", place, c_text(formula, limit=300))


def _gave_up(code: str, message: str) -> Unknown:
    return Unknown(Diagnostic(code, message, Severity.NOTE, hint="try another engine"))
