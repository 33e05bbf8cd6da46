"""Derive the proof obligations of inductive and k-inductive proofs.

This is the checker's own derivation, independent of engines and passes; it depends on the program and on the
claims of the proof only. Let I be the formulas at points and S_p the summaries; the places that have a
formula are the cut points. The proof is correct if these clauses are valid:

    init                               ->  I(entry main)
    I(c) and a path c .. d             ->  I(d)                 for cut points c, d
    I(c) and a path c .. error         ->  false
    I(c) and a path c .. call of p     ->  I(entry p)           with old(v) = v
    I(c) and a path c .. exit of p     ->  S_p(old, now)

A path passes no cut point in between, and uses S_p in place of a call of a summarised p. Paths start at the
cut points, at the entry of main with init, and at the entry of each summarised p with its formula and
old(v) = v. An entry that no path returns to is not a cut point itself. By induction on the length of an
execution, each formula holds whenever control is at its point, and no error is reached.

A k-inductive proof may assume the formulas at the last k cut points of a path; paths from the start with
fewer cut points are clauses of their own. All paths from one cut point to another are one formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from certus.check.proofs.expansion import (
    Contract,
    Enter,
    Expansion,
    Forget,
    Leave,
    Move,
    Outline,
    Place,
    Refused,
    Step,
    blur,
    expand,
    not_basic,
    outline,
)
from certus.check.proofs.ssa import Clause, Flow, Formula
from certus.core import build
from certus.core.evidence import Inductive, KInductive, Point, in_frame, old
from certus.core.program import Assign, Assume, Call, Havoc, Procedure, Program, Return
from certus.core.terms import Expr
from certus.core.walk import substitute, variables

Node = tuple[Place, int]  # a place, and how many cut points the path has passed


def proof_clauses(program: Program, proof: Inductive | KInductive) -> Iterator[Clause]:
    """Yield all clauses of the proof; raises `Refused` if it cannot be a proof."""
    yield from _Clauses(program, proof).all()


@dataclass(slots=True, eq=False)
class _Root:
    """The places under one root, and the formulas at its cut points."""

    expansion: Expansion
    cuts: Mapping[Place, Expr]


class _Clauses:
    """The obligations of one proof about one program."""

    def __init__(self, program: Program, proof: Inductive | KInductive) -> None:
        self.program = program
        self.outline: Outline = outline(program)
        self.shared = frozenset(program.globals)
        self.invariants = proof.invariants
        self.k = proof.k if isinstance(proof, KInductive) else 1
        self.summaries = proof.summaries if isinstance(proof, Inductive) else {}
        if self.k < 1:
            raise Refused("proof-malformed", f"k must be at least 1, not {self.k}")
        self._check_scopes()

    def all(self) -> Iterator[Clause]:
        main = self.program.main
        for name in dict.fromkeys((main, *self.summaries)):
            root = self._root(name)
            procedure = self.program.procedures[name]
            present = {old(x): x for x in self._inputs(procedure)}
            entry = substitute(self.invariants.get(Point(procedure.entry), build.TRUE), present)
            if name == main:
                yield from self._starts(procedure, entry)
                yield from self._paths(root, root.expansion.start, self._initially())
            if name in self.summaries:
                yield from self._paths(root, root.expansion.start, entry)
            for cut, formula in root.cuts.items():
                yield from self._paths(root, cut, formula)

    def _starts(self, main: Procedure, entry: Expr) -> Iterator[Clause]:
        """Yield the clause that the formula at the entry of main holds at the start."""
        formula = Formula()
        start = formula.assume(Flow(build.TRUE, {}), self._initially())
        if start is not None:
            clause = formula.clause(f"{main.name} starts as its entry demands", start, entry)
            yield from () if clause is None else (clause,)

    def _root(self, name: str) -> _Root:
        points = [p for p in self.invariants if self._root_of(p) == name]
        summarised = frozenset(self.summaries)
        expansion = expand(self.program, self.outline, name, summarised, points)
        cuts = {Place(p.location, p.calls): self.invariants[p] for p in points}
        reached = {cut: formula for cut, formula in cuts.items() if cut in expansion.moves}
        if not expansion.returns_to_entry():
            reached.pop(expansion.entry, None)
        blur(expansion, frozenset(reached), self.program, self.outline)
        return _Root(expansion, reached)

    def _root_of(self, point: Point) -> str:
        if not point.calls:
            return point.location.procedure
        return self.program.edge[point.calls[0]].source.procedure

    # ---------------------------------------------------------------------------------- scopes

    def _check_scopes(self) -> None:
        for point, formula in self.invariants.items():
            self._check_scope(f"the formula at {point.name}", formula, self._scope(point))
        for name, formula in self.summaries.items():
            procedure = self.program.procedures[name]
            scope = {*self._old(procedure), *self.program.globals, *procedure.results}
            self._check_scope(f"the summary of {name}", formula, scope)

    def _check_scope(self, what: str, formula: Expr, scope: set[Expr]) -> None:
        for x in variables(formula):
            if x not in scope:
                raise Refused("proof-malformed", f"{what} mentions {x.name}, which is not in scope there")

    def _scope(self, point: Point) -> set[Expr]:
        owners = [self.program.edge[c].source.procedure for c in point.calls]
        frames = [self.program.procedures[name] for name in (*owners, point.location.procedure)]
        scope = {*self._old(frames[0]), *self.program.globals}
        for depth, procedure in enumerate(frames):
            scope.update(in_frame(x, depth) for x in procedure.variables)
        return scope

    def _old(self, procedure: Procedure) -> Iterable[Expr]:
        return (old(x) for x in self._inputs(procedure))

    def _inputs(self, procedure: Procedure) -> tuple[Expr, ...]:
        return (*self.program.globals, *procedure.parameters)

    def _initially(self) -> Expr:
        return build.conjunction(build.eq(x, value) for x, value in self.program.initial.items())

    # ----------------------------------------------------------------------------------- paths

    def _paths(self, root: _Root, start: Place, assumption: Expr) -> Iterator[Clause]:
        """Yield the clauses of all paths from `start`, where `assumption` holds."""
        walk = _Walk(self, root, start)
        first = walk.begin(assumption)
        if first is None:
            return
        arrived: dict[Node, list[Flow]] = {walk.first: [first]}
        failing: list[Flow] = []
        claims: dict[Place, list[tuple[Flow, Expr]]] = {}
        for node in walk.nodes():
            if node not in arrived:
                continue
            place, flows = node[0], arrived.pop(node)
            if place.location in self.program.error_locations:
                failing += flows if walk.obliged(node) else []
                continue
            flow = walk.formula.merge(flows)
            if walk.arrives_at_cut(node):
                here = substitute(root.cuts[place], flow.values)
                if walk.obliged(node):
                    claims.setdefault(place, []).append((flow, here))
                assumed = walk.formula.assume(flow, here)
                if assumed is None or not walk.goes_on(node):
                    continue
                flow = assumed
            yield from self._contracts(walk, place, flow)
            for move, target in root.expansion.moves[place]:
                after = self._after(walk.formula, move, place, flow)
                if after is not None:
                    arrived.setdefault((target, walk.passed(node)), []).append(after)
        for place, arrivals in claims.items():
            yield from walk.claim_each(f"{place_name(place)} has its formula", arrivals)
        if failing:
            yield from walk.claim("no error is reached", walk.formula.merge(failing, only=()), build.FALSE)

    def _contracts(self, walk: _Walk, place: Place, flow: Flow) -> Iterator[Clause]:
        """Yield the clauses for the summary of the root at its exit, and for calls that use a summary."""
        root = walk.root.expansion.root
        if root in self.summaries and place == Place(self.program.procedures[root].exit, ()):
            summary = substitute(self.summaries[root], flow.values)
            yield from walk.claim(f"{root} has its summary", flow, summary)
        for move, _ in walk.root.expansion.moves[place]:
            if isinstance(move, Contract):
                call = move.edge.op
                assert isinstance(call, Call)
                callee = self.program.procedures[call.procedure]
                entry = self.invariants.get(Point(callee.entry))
                if entry is not None:
                    bound = self._bound(call, place, flow)
                    now = {x: walk.formula.fresh(x) for x in callee.variables} | bound
                    entry = substitute(entry, {**now, **{old(x): value for x, value in bound.items()}})
                    yield from walk.claim(f"{callee.name} is called as its entry demands", flow, entry)

    def _bound(self, call: Call, place: Place, flow: Flow) -> dict[Expr, Expr]:
        """Return the values of the globals and of the callee's parameters at a call."""
        callee = self.program.procedures[call.procedure]
        arguments = (self._value(a, place.depth, flow) for a in call.arguments)
        bound = {x: flow.values.get(x, x) for x in self.program.globals}
        return {**bound, **dict(zip(callee.parameters, arguments, strict=True))}

    # ----------------------------------------------------------------------------------- moves

    def _after(self, formula: Formula, move: Move, place: Place, flow: Flow) -> Flow | None:
        """Return the flow after a move from `place`; None if the move is impossible."""
        if isinstance(move, Forget):
            return formula.havoc(flow, move.variables) if move.variables else flow
        depth = place.depth
        if isinstance(move, Step):
            return self._step(formula, move, depth, flow)
        call = move.edge.op
        assert isinstance(call, Call)
        callee = self.program.procedures[call.procedure]
        if isinstance(move, Enter):
            arguments = [self._value(a, depth, flow) for a in call.arguments]
            inner = formula.havoc(flow, (in_frame(x, depth + 1) for x in callee.variables))
            return self._assigned(inner, callee.parameters, arguments, depth + 1)
        if isinstance(move, Leave):
            results = [self._value(r, depth, flow) for r in callee.results]
            local = {in_frame(x, depth) for x in callee.variables}
            outer = Flow(flow.literal, {x: v for x, v in flow.values.items() if x not in local})
            return self._assigned(outer, call.targets, results, depth - 1)
        return self._by_contract(formula, call, callee, place, flow)

    def _step(self, formula: Formula, move: Step, depth: int, flow: Flow) -> Flow | None:
        op = move.edge.op
        if isinstance(op, Assume):
            return formula.assume(flow, self._value(op.condition, depth, flow))
        if isinstance(op, Havoc):
            fresh = [formula.fresh(x) for x in op.targets]
            return self._assigned(flow, op.targets, fresh, depth)
        if not isinstance(op, Assign | Return):
            raise not_basic(move.edge)
        owner = self.program.procedures[move.edge.source.procedure]
        targets = op.targets if isinstance(op, Assign) else owner.results
        return self._assigned(flow, targets, [self._value(v, depth, flow) for v in op.values], depth)

    def _by_contract(
        self, formula: Formula, call: Call, callee: Procedure, place: Place, flow: Flow
    ) -> Flow | None:
        """Return the flow after a call that is replaced by the summary of the callee."""
        before = self._bound(call, place, flow)
        results = [formula.fresh(r) for r in callee.results]
        after = formula.havoc(flow, self.outline.writes[callee.name])
        now = {x: after.values.get(x, x) for x in self.program.globals}
        now.update(zip(callee.results, results, strict=True))
        now.update((old(x), value) for x, value in before.items())
        after = self._assigned(after, call.targets, results, place.depth)
        return formula.assume(after, substitute(self.summaries[callee.name], now))

    def _value(self, term: Expr, depth: int, flow: Flow) -> Expr:
        """Return a term of the program, read in the frame at `depth`, over the values of the flow."""
        now: dict[Expr, Expr] = {}
        for x in variables(term):
            name = self._name(x, depth)
            now[x] = flow.values.get(name, name)
        return substitute(term, now)

    def _assigned(self, flow: Flow, targets: Iterable[Expr], values: Iterable[Expr], depth: int) -> Flow:
        written = {self._name(x, depth): v for x, v in zip(targets, values, strict=False)}
        return Flow(flow.literal, {**flow.values, **written})

    def _name(self, variable: Expr, depth: int) -> Expr:
        return variable if variable in self.shared else in_frame(variable, depth)


class _Walk:
    """All paths from one start. A node is a place with the number of cut points passed before it.

    A path from a cut point may assume the formulas at k cut points, the start included, and must prove
    the claims after them. A path from the start of a root must prove all claims, up to k - 1 cut points."""

    def __init__(self, clauses: _Clauses, root: _Root, start: Place) -> None:
        self.clauses = clauses
        self.root = root
        self.start = start
        self.formula = Formula()
        self.first: Node = (start, -1)
        self.from_cut = start in root.cuts

    def begin(self, assumption: Expr) -> Flow | None:
        """Return the flow at the start; None if the assumption is false."""
        procedure = self.clauses.program.procedures[self.root.expansion.root]
        inputs = () if self.from_cut else self.clauses._inputs(procedure)
        flow = Flow(build.TRUE, {old(x): x for x in inputs})
        return self.formula.assume(flow, assumption)

    def arrives_at_cut(self, node: Node) -> bool:
        return node != self.first and node[0] in self.root.cuts

    def passed(self, node: Node) -> int:
        """Return the number of cut points passed after `node`."""
        if node == self.first:
            return 1 if self.from_cut else 0
        return node[1] + (1 if node[0] in self.root.cuts else 0)

    def obliged(self, node: Node) -> bool:
        """Return whether the claims at `node` must be proved, rather than assumed."""
        return not self.from_cut or node[1] >= self.clauses.k

    def goes_on(self, node: Node) -> bool:
        """Return whether paths continue after the cut point `node`."""
        return self.passed(node) <= self.clauses.k - (0 if self.from_cut else 1)

    def nodes(self) -> list[Node]:
        """Return all nodes in topological order."""
        order: list[Node] = []
        done: set[Node] = set()
        stack: list[tuple[Node, bool]] = [(self.first, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
            elif node not in done:
                done.add(node)
                stack.append((node, True))
                if not self.arrives_at_cut(node) or self.goes_on(node):
                    passed = self.passed(node)
                    stack.extend(((t, passed), False) for _, t in self.root.expansion.moves[node[0]])
        order.reverse()
        return order

    def claim(self, what: str, flow: Flow, conclusion: Expr) -> Iterator[Clause]:
        """Yield the clause that `conclusion`, over the values of the flow, holds, unless it is trivial."""
        clause = self.formula.clause(f"from {place_name(self.start)}: {what}", flow, conclusion)
        if clause is not None:
            yield clause

    def claim_each(self, what: str, claims: Sequence[tuple[Flow, Expr]]) -> Iterator[Clause]:
        """Yield one clause for several flows: each satisfies its conclusion."""
        if len(claims) == 1:
            yield from self.claim(what, *claims[0])
            return
        negated = (self.formula.assume(flow, build.not_(conclusion)) for flow, conclusion in claims)
        violating = [flow for flow in negated if flow is not None]
        if violating:
            yield from self.claim(what, self.formula.merge(violating, only=()), build.FALSE)


def place_name(place: Place) -> str:
    """Return the name of a place in the title of a clause."""
    name = Point(place.location, place.calls).name
    return f"the start of {place.location.procedure}" if place.blur < 0 else name
