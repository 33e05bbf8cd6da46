"""Unrolled executions as a formula that only grows: what the unrollers of `bmc` and `kind` share.

A *node* is a location after a certain history. Its literal implies that an execution comes there, and its
values are the variables as terms. The steps to a node are its *arrivals*; each has a literal of its own, its
*selector*. Raising a bound adds definitions to the solver and never retracts any.

`encoding.unroller` counts the entries of each loop and enters calls; `encoding.induction_unroller` counts all
loop heads passed, and may start at any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from certus.core import build
from certus.core.evidence import Trace
from certus.core.program import Edge, Havoc, Location, Program
from certus.core.solver import Solver
from certus.core.sorts import BOOL, ArraySort
from certus.core.terms import Expr, Value
from certus.encoding.block_formula import BlockFormula, Instance, edge_formula


@dataclass(slots=True, eq=False)
class Node:
    """A location of the unrolled program. A node without `arrivals` is a start."""

    location: Location
    literal: Expr  # implies: an execution comes here
    values: dict[Expr, Expr]
    arrivals: list[Arrival] = field(default_factory=list, kw_only=True)


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """A step from `source` over `edge`, through a block (`instance`) or, without one, by call or return."""

    source: Node
    edge: Edge
    instance: Instance | None
    selector: Expr


class GrowingFormula:
    """The definitions, in `solver`, of executions of `program`. `prefix` makes the literals unique if several
    such formulas are used together."""

    def __init__(self, program: Program, solver: Solver, prefix: str = "") -> None:
        self.program = program
        self.solver = solver
        self._prefix = prefix
        self._formulas: dict[Edge, BlockFormula | None] = {}
        self._numbers = count()

    def some(self, literals: Sequence[Expr]) -> Expr:
        """Return a literal that implies one of `literals`."""
        if len(literals) == 1:
            return literals[0]
        literal = self._literal()
        self.solver.add(build.implies(literal, build.disjunction(literals)))
        return literal

    def _instance(self, edge: Edge, values: Mapping[Expr, Expr]) -> Instance | None:
        """Define a visit of the block of an edge; return None if it cannot be executed with the values."""
        if edge not in self._formulas:
            self._formulas[edge] = edge_formula(edge, self.program)
        formula = self._formulas[edge]
        instance = None if formula is None else formula.instance(next(self._numbers), values)
        if instance is None or instance.guard is build.FALSE:
            return None
        self.solver.add(*instance.definitions)
        return instance

    def _literal(self) -> Expr:
        return build.var(f"@{self._prefix}{next(self._numbers)}", BOOL)

    def _fresh(self, variable: Expr) -> Expr:
        return build.var(f"{variable.name}@{self._prefix}{next(self._numbers)}", variable.sort)

    def _trace(
        self,
        error: Location,
        arrivals: Iterable[Arrival],
        initial: Mapping[Expr, Expr],
        value: Callable[[Expr], Value],
    ) -> Trace:
        """Return the execution over `arrivals`, the last one first, in the model that `value` reads.
        `initial` has the symbols for the globals without an initial value."""
        inputs: dict[int, list[tuple[Value, ...]]] = {}
        for arrival in reversed(list(arrivals)):
            for passage in arrival.instance.path(value) if arrival.instance is not None else ():
                if isinstance(passage.edge.op, Havoc):
                    inputs.setdefault(passage.edge.key, []).append(passage.inputs)
        scalars = {x: value(symbol) for x, symbol in initial.items() if not isinstance(x.sort, ArraySort)}
        return Trace(error.name, scalars, {edge: tuple(values) for edge, values in inputs.items()})


def arrivals_to(node: Node, value: Callable[[Expr], Value]) -> Iterable[Arrival]:
    """Yield the arrivals of the execution to `node` in the model that `value` reads, the last one first."""
    while node.arrivals:
        arrival = next(a for a in node.arrivals if len(node.arrivals) == 1 or value(a.selector))
        yield arrival
        node = arrival.source
