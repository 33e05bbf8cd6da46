"""Abstract a program to a Linear Program (Armando et al. 2004, sections 2 and 7).

The Linear Program has the control flow of the program, and its numbers and Booleans as variables. Machine
integers become mathematical ones; where a sum can wrap around, it is corrected by a multiple of the modulus.
Each largest subterm that is not linear (a product of variables, an element of an array, an operation on
bits) becomes an arbitrary value: a variable that gets any value of the type of the subterm, with the axioms
that the encoding knows about it. Arrays themselves are left out.

Soundness: every execution of the program is an execution of the Linear Program, in which each arbitrary
value is the value of its subterm. So if the Linear Program holds, the program holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from certus.core import build
from certus.core.effects import written
from certus.core.program import Assign, Assume, Call, Edge, Havoc, Procedure, Program, Return
from certus.core.terms import BOOL, INT, REAL, Expr, Kind, MachineSort, Sort
from certus.core.walk import Substitution, postorder, rebuild, variables
from certus.encoding.integers import encode_terms
from certus.encoding.linear_terms import REALS, opaque_terms

LinearOp = Assign | Assume | Call | Havoc


@dataclass(frozen=True, slots=True)
class LinearStep:
    """The statements in place of an edge, over Int, Real and Bool, and the terms that became arbitrary."""

    ops: tuple[LinearOp, ...]
    abstracted: tuple[Expr, ...] = ()  # over the variables of the Linear Program
    dropped: tuple[Expr, ...] = ()  # written variables that the Linear Program does not have

    @property
    def condition(self) -> Expr | None:
        """The condition of a step that is only an assumption without arbitrary values, else None."""
        if len(self.ops) == 1 and isinstance(self.ops[0], Assume):
            return self.ops[0].condition
        return None


@dataclass(frozen=True, slots=True, eq=False)
class LinearProcedure:
    """A procedure: its variables, those for arbitrary values, and the step of each edge."""

    procedure: Procedure
    parameters: tuple[Expr, ...]
    results: tuple[Expr, ...]
    variables: tuple[Expr, ...]  # without parameters, with results
    arbitrary: tuple[Expr, ...]
    steps: Mapping[Edge, LinearStep]


@dataclass(frozen=True, slots=True, eq=False)
class LinearProgram:
    """A Linear Program. `start` holds initially of the globals without initial value."""

    program: Program
    shared: Mapping[Expr, Expr | None]  # globals, with the initial value if it is linear
    start: tuple[Expr, ...]
    procedures: Mapping[str, LinearProcedure]


def is_column(sort: Sort) -> bool:
    """Return whether a Linear Program has variables for this sort."""
    return sort in (INT, REAL, BOOL) or isinstance(sort, MachineSort)


def linear_program(program: Program) -> LinearProgram:
    """Return the Linear Program of a program without memory operations."""
    shared: dict[Expr, Expr | None] = {}
    start: list[Expr] = []
    for x in program.globals:
        if is_column(x.sort):
            value = program.initial.get(x)
            encoded = None if value is None else encode_terms([value], "ite").formulas[0]
            shared[column(x)] = (
                encoded if encoded is not None and not opaque_terms([encoded], (), REALS) else None
            )
            if shared[column(x)] is None:
                start += _range(x)
    procedures = {name: _Abstraction(p, program).run() for name, p in program.procedures.items()}
    return LinearProgram(program, shared, tuple(start), procedures)


def column(variable: Expr) -> Expr:
    """Return the variable of the Linear Program in place of a variable."""
    return build.var(variable.name, INT) if isinstance(variable.sort, MachineSort) else variable


def _range(variable: Expr) -> Iterator[Expr]:
    """Yield the range of a machine integer."""
    if isinstance(variable.sort, MachineSort):
        number, sort = column(variable), variable.sort
        yield build.le(build.integer(sort.low), number)
        yield build.le(number, build.integer(sort.high))


class _Abstraction:
    """The abstraction of one procedure."""

    def __init__(self, procedure: Procedure, program: Program) -> None:
        self._procedure = procedure
        self._program = program
        self._arbitrary: dict[Sort, list[Expr]] = {INT: [], REAL: [], BOOL: []}

    def run(self) -> LinearProcedure:
        p = self._procedure
        steps = {edge: self._step(edge) for edge in p.edges}
        own = [x for x in (*p.variables, *p.results) if x not in p.parameters]
        return LinearProcedure(
            p,
            _columns(p.parameters),
            _columns(p.results),
            _columns(dict.fromkeys(own)),
            tuple(x for own in self._arbitrary.values() for x in own),
            steps,
        )

    def _step(self, edge: Edge) -> LinearStep:
        op = edge.op
        if isinstance(op, Havoc):
            targets = [x for x in op.targets if is_column(x.sort)]
            ranges = [part for x in targets for part in _range(x)]
            ops: list[LinearOp] = [Havoc(_columns(targets))] if targets else []
            ops += [Assume(build.conjunction(ranges))] if ranges else []
            return LinearStep(tuple(ops), dropped=_lost(op.targets))
        if isinstance(op, Assume):
            condition, before, abstracted = self._linear([op.condition])
            assumed = () if condition[0] is build.TRUE else (Assume(condition[0]),)
            return LinearStep((*before, *assumed), abstracted)
        if isinstance(op, Call):
            return self._call(op)
        assert isinstance(op, Assign | Return), f"a program without blocks and memory has no {op}"
        pairs = list(zip(written(op, self._procedure), op.values, strict=True))
        kept = [(x, value) for x, value in pairs if is_column(x.sort)]
        values, before, abstracted = self._linear([value for _, value in kept])
        assigned = (Assign(_columns(x for x, _ in kept), values),) if kept else ()
        return LinearStep((*before, *assigned), abstracted, _lost([x for x, _ in pairs]))

    def _call(self, op: Call) -> LinearStep:
        callee = self._program.procedures[op.procedure]
        passed = [a for x, a in zip(callee.parameters, op.arguments, strict=True) if is_column(x.sort)]
        values, before, abstracted = self._linear(passed)
        pairs = zip(op.targets, callee.results, strict=False)
        targets = _columns(x for x, result in pairs if is_column(result.sort))
        return LinearStep((*before, Call(op.procedure, values, targets)), abstracted, _lost(op.targets))

    def _linear(
        self, terms: Sequence[Expr]
    ) -> tuple[tuple[Expr, ...], tuple[LinearOp, ...], tuple[Expr, ...]]:
        """Return terms with arbitrary values for their opaque subterms, the statements that choose these
        values, and the subterms."""
        encoded = encode_terms(terms, "ite")
        plain = Substitution(
            {symbol: build.var(x.name, symbol.sort) for x, symbol in encoded.symbols.items()}
        )
        values, axioms = plain.apply_all(encoded.formulas), plain.apply_all(encoded.ranges)
        opaque = [x for x in opaque_terms(values, (), REALS) if x.kind is not Kind.VAR]
        chosen = dict(zip(opaque, self._choose(opaque), strict=True))
        useful = [a for a in axioms if any(x in chosen for x in postorder(a))]
        stated = [replaced(a, chosen) for a in useful]
        stated = [a for a in stated if not opaque_terms([a], list(variables(a)), REALS)]
        before: list[LinearOp] = [Havoc(tuple(chosen.values()))] if chosen else []
        if stated:
            before.append(Assume(build.conjunction(stated)))
        return tuple(replaced(v, chosen) for v in values), tuple(before), tuple(opaque)

    def _choose(self, opaque: Sequence[Expr]) -> Iterator[Expr]:
        """Yield a variable for each opaque term; the variables of a procedure are used again and again."""
        numbers = {sort: count() for sort in self._arbitrary}
        for term in opaque:
            own, number = self._arbitrary[term.sort], next(numbers[term.sort])
            if number == len(own):
                base = {INT: "any", REAL: "real", BOOL: "some"}[term.sort]
                own.append(build.var(f"{self._procedure.name}.{base}{number + 1}", term.sort))
            yield own[number]


def replaced(root: Expr, by: Mapping[Expr, Expr]) -> Expr:
    """Replace subterms, the largest ones first."""
    done: dict[Expr, Expr] = {}
    stack = [root]
    while stack:
        term = stack[-1]
        if term in by:
            done[term] = by[term]
        missing = [a for a in term.args if a not in done] if term not in done else []
        if missing:
            stack.extend(missing)
            continue
        if term not in done:
            done[term] = rebuild(term, [done[a] for a in term.args]) if term.args else term
        stack.pop()
    return done[root]


def _columns(those: Sequence[Expr] | Iterator[Expr] | Mapping[Expr, None]) -> tuple[Expr, ...]:
    return tuple(column(x) for x in those if is_column(x.sort))


def _lost(targets: Sequence[Expr]) -> tuple[Expr, ...]:
    return tuple(x for x in targets if not is_column(x.sort))
