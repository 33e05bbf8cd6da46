"""The engine `clp`: constraint abstraction refinement, CAR (seed 003, Figure 4).

The clauses are abstracted to boolean ones. If these do not derive false, the clauses have a model: what
the relations are abstractly. Otherwise the abstract derivation is tried on the clauses: values for it make it
a derivation; if there are none, the proof of that is explicated, the abstraction knows it from now on, and
the search goes on.

Invariant: everything explicated is valid in the theory, so abstract relations contain the relations' least
solution. No trace comes up twice (Lemma 6), since an explicated one stays impossible; that and validity are
checked on every refinement. Both answers are checked again by `validate`.
Says Unknown at the number of refinements asked for, at a limit, or where no interpolants are found.
"""

from __future__ import annotations

from dataclasses import dataclass

from certus.core.budget import Budget
from certus.core.ctext import c_text
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.errors import Inconsistent
from certus.core.horn import Derivation, HornSystem
from certus.core.statistics import Finding, Statistics
from certus.core.task import Task
from certus.core.terms import Function
from certus.core.verdict import Safe, Unknown, Unsafe, Verdict
from certus.engines.clp.abstraction import Abstraction
from certus.engines.clp.explication import check_refinement, explicate
from certus.engines.clp.fixpoint import Fact, Fixpoint, Manner, Prover
from certus.engines.clp.traces import Trace, keep_all, refuted, satisfied, trace_of, unfold


@dataclass(frozen=True, slots=True)
class Options:
    """`explication`: how abstract steps are known to be impossible (see `fixpoint`). `refinements`: the most
    traces to exclude; 0 means without end. `preprocess`: whether clauses are simplified first.
    `effort`: for formulas that serve all variants of a relation at once, in z3's unit of work; 0 means that
    none are looked for."""

    explication: Manner = "cores"
    refinements: int = 0
    preprocess: bool = True
    effort: int = 1_000_000


class ConstraintLogic:
    """The engine `clp`."""

    name = "clp"
    summary = "Horn clauses by abstraction refinement with explicated clauses"
    options = Options
    inlines = True

    def unsupported(self, task: Task) -> Diagnostic | None:
        return None

    def run(self, task: Task, options: Options, budget: Budget, statistics: Statistics) -> Verdict:
        from certus.transform.horn.programs import decide_task

        def search(system: HornSystem) -> Verdict:
            return _Search(system, options, Prover(budget, statistics)).run()

        simplify = options.preprocess
        return decide_task(task, search, simplify=simplify, budget=budget, statistics=statistics)


class _Search:
    """The loop of Figure 4."""

    def __init__(self, system: HornSystem, options: Options, prover: Prover) -> None:
        self.system = system
        self.options = options
        self.prover = prover
        self.statistics = prover.statistics
        self.abstraction = Abstraction()
        self.met: set[object] = set()  # the traces considered
        self.last: Fixpoint | None = None
        self.finer: list[Function] = []  # relations that the last refinement gave new predicates
        self.changed: list[int] = []  # clauses that it excluded steps of

    def run(self) -> Verdict:
        while True:
            self.statistics.count("clp.iterations")
            fixpoint = Fixpoint(self.system, self.abstraction, self.options.explication, self.prover)
            with self.statistics.timed("clp.fixpoint"):
                if self.last is not None:
                    fixpoint.keep(self.last, self.finer, self.changed)
                self.last = fixpoint
                error = fixpoint.error()
            if error is None:
                self._tell()
                return Safe(fixpoint.model())
            with self.statistics.timed("clp.trace"):
                found = self._concrete(error)
            if isinstance(found, Derivation):
                self._tell()
                return Unsafe(found)
            if found is None:
                self.prover.budget.check()
                return _gave_up("solver-gave-up", "the solver cannot tell whether a derivation is possible")
            settled = self._refine(found)
            if settled is not None:
                return settled

    def _concrete(self, error: Fact) -> Derivation | Trace | None:
        """The abstract derivation on the clauses: as a derivation, or as a trace that is none; None if the
        solver does not know."""
        trace = trace_of(self.system, error)
        found = satisfied(trace, self.prover)
        if found is False and not trace.is_tree:
            tree = unfold(trace)
            if tree is None:
                keep_all(trace)
                return refuted(trace, self.prover) or trace
            trace = tree
            found = satisfied(trace, self.prover)
        return trace if found is False else found

    def _refine(self, trace: Trace) -> Verdict | None:
        """Exclude the trace from the abstraction; the verdict if that cannot be, or need not be any more."""
        number = self.statistics.counters["clp.refinements"]
        if number and number == self.options.refinements:
            return _gave_up("refinements-reached", f"no answer after {number} refinements")
        if trace.key in self.met:
            raise Inconsistent("a trace was considered twice")
        self.met.add(trace.key)
        self.statistics.count("clp.refinements")
        with self.statistics.timed("clp.interpolation"):
            gained = explicate(trace, self.prover, effort=self.options.effort)
        if isinstance(gained, Derivation):
            self._tell()
            return Unsafe(gained)
        if gained is None:
            self.prover.budget.check()
            return _gave_up("no-interpolants", f"no interpolants for a trace of {len(trace.nodes)} steps")
        with self.statistics.timed("clp.check"):
            known = check_refinement(trace, gained, self.prover)
        if not known:
            self.prover.budget.check()
            return _gave_up("solver-gave-up", "the solver cannot tell whether a refinement is valid")
        old = self.abstraction.interface
        self.finer = [r for r, found in gained.interface.items() if not old.get(r, {}).keys() >= found.keys()]
        # Steps that the theory excludes were excluded before, unless only proofs tell.
        only_proofs = self.options.explication == "proofs" or not self.finer
        self.changed = list(gained.explicated) if only_proofs else []
        self.abstraction.join(gained)
        size = sum(map(len, self.abstraction.interface.values()))
        self.statistics.counters["clp.predicates"] = size
        self.statistics.progress(f"refinement {number + 1}: {size} predicates, {len(trace.nodes)} steps")
        return None

    def _tell(self) -> None:
        """The abstraction, for people."""
        from certus.engines.clp.abstraction import formals

        for relation in self.system.relations:
            names = {x: f"x{n}" for n, x in enumerate(formals(relation.parameters))}
            texts = [c_text(p, names=names, limit=300) for p in self.abstraction.predicates(relation)]
            if texts:
                self.statistics.findings.append(Finding("interface", relation.name, ", ".join(texts)))
        for number, formulas in sorted(self.abstraction.explicated.items()):
            head = self.system.clauses[number].head
            place = f"clause {number}, of {'false' if head is None else head.function.name}"
            for formula in formulas:
                self.statistics.findings.append(Finding("explicated", place, c_text(formula, limit=300)))


def _gave_up(code: str, message: str) -> Unknown:
    return Unknown(Diagnostic(code, message, Severity.NOTE, hint="try another engine"))
