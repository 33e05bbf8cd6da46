"""Build the relation of a large block along its DAG, without listing its paths.

The relation from the state before the block to the state after a part of it is a product of *factors*, one
for each group of columns that the part relates. A statement joins only the factors that it reads; where
branches meet, the factors that they share stay as they are, and the others are united and coalesced. So a
sequence of independent decisions has small factors, although it has exponentially many paths. A column is
projected out after its last use.

Invariant: the inputs of the factors partition the columns at the start of the block, and their outputs the
columns that are still needed. All operations are exact, except that a nonlinear term is arbitrary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from certus.core import build
from certus.core.diagnostic import Diagnostic, Severity
from certus.core.effects import terms, written
from certus.core.errors import Unsupported
from certus.core.program import Block, Choice, Edge, Havoc, Procedure, Seq
from certus.core.terms import BOOL, INT, Expr, MachineSort, Sort
from certus.core.walk import variables
from certus.encoding.block_formula import execute_statement
from certus.solvers.isl.relations import Relation, Relations

DISJUNCTS = 256  # most disjuncts of a factor, and of the relation of a block

Columns = tuple[Expr, ...]


def modelled(sort: Sort) -> bool:
    """Return whether variables of this sort are columns; all others are arbitrary at each use."""
    return sort is INT or sort is BOOL or isinstance(sort, MachineSort)


def after(variable: Expr) -> Expr:
    """Return the variable for the value after a step."""
    return build.var(f"next({variable.name})", variable.sort)


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A relation between some columns at the start of the block and some columns now."""

    inputs: Columns
    outputs: Columns
    relation: Relation


Product = tuple[Factor, ...]  # of relations over disjoint columns


@dataclass(frozen=True, slots=True)
class Usage:
    """The variables that a block may read before writing them, and those that it always writes."""

    read: frozenset[Expr]
    written: frozenset[Expr]

    def before(self, live: frozenset[Expr]) -> frozenset[Expr]:
        """Return the variables needed before the block, if `live` are needed after it."""
        return self.read | (live - self.written)


def usage(root: Block, procedure: Procedure, known: dict[Block, Usage]) -> Usage:
    """Return what a block reads and writes; `known` collects it for all its parts."""
    stack = [root]
    while stack:
        block = stack[-1]
        if block in known:
            stack.pop()
            continue
        if isinstance(block, Edge) and not isinstance(block.op, Seq | Choice):
            reads = frozenset(variables(*terms(block.op)))
            known[block] = Usage(reads, frozenset(written(block.op, procedure)))
            continue
        parts = _parts(block)
        missing = [part for part in parts if part not in known]
        stack.extend(missing)
        if missing:
            continue
        if isinstance(block, Seq):
            first, second = (known[part] for part in parts)
            known[block] = Usage(
                second.before(frozenset()) - first.written | first.read, first.written | second.written
            )
        else:
            reads = frozenset().union(*(known[part].read for part in parts))
            known[block] = Usage(reads, frozenset.intersection(*(known[part].written for part in parts)))
    return known[root]


def _parts(block: Block) -> tuple[Block, ...]:
    if isinstance(block, Edge):
        assert isinstance(block.op, Seq | Choice)
        return (block.op,)
    return block.alternatives if isinstance(block, Choice) else (block.first, block.second)


@dataclass(slots=True, eq=False)
class BlockRelation:
    """The construction of the relation of one block: `order` numbers all columns."""

    relations: Relations
    edge: Edge
    procedure: Procedure
    order: dict[Expr, int]
    _usage: dict[Block, Usage] = field(default_factory=dict)

    def build(self, state: Columns, facts: Iterable[Expr], needed: Columns) -> Relation:
        """Return the relation from `state` before the edge to `state` after it; only the columns `needed`
        have the right values afterwards, all others are arbitrary."""
        usage(self.edge, self.procedure, self._usage)
        start: Product | None = tuple(
            Factor((x,), (x,), self.relations.of([build.eq(after(x), x)], (x,), (after(x),))) for x in state
        )
        for fact in facts:
            start = None if start is None else self._step(start, fact, {}, frozenset(state))
        ended = None if start is None else self._run(self.edge, start, frozenset(needed))
        if ended is None:
            return self.relations.none(len(state), len(state))
        return self._whole(self._complete(ended, state), state, state)

    def _run(self, root: Block, start: Product, live: frozenset[Expr]) -> Product | None:
        """Return the product after `root`, for the columns in `live`; None if no execution ends it."""
        results: list[Product | None] = []
        remembered: dict[tuple[Block, Product, frozenset[Expr]], Product | None] = {}
        work: list[Callable[[], None]] = []

        def execute(block: Block, before: Product, live: frozenset[Expr]) -> None:
            key = (block, before, live)
            if key in remembered:
                results.append(remembered[key])
            elif isinstance(block, Seq):
                work.append(lambda: follow(block.second, live))
                work.append(lambda: execute(block.first, before, self._usage[block.second].before(live)))
            elif isinstance(block, Choice):
                work.append(lambda: merge(key, len(block.alternatives)))
                for alternative in reversed(block.alternatives):
                    work.append(lambda a=alternative: execute(a, before, live))  # type: ignore[misc]
            elif isinstance(block.op, Seq | Choice):
                execute(block.op, before, live)
            else:
                results.append(self._statement(block, before, live))

        def follow(block: Block, live: frozenset[Expr]) -> None:
            before = results.pop()
            if before is None:
                results.append(None)
            else:
                execute(block, before, live)

        def merge(key: tuple[Block, Product, frozenset[Expr]], number: int) -> None:
            ends = [end for end in results[-number:] if end is not None]
            del results[-number:]
            remembered[key] = self._united(ends) if ends else None
            results.append(remembered[key])

        execute(root, start, live)
        while work:
            work.pop()()
        return results.pop()

    # -------------------------------------------------------------------------------- one statement

    def _statement(self, edge: Edge, before: Product, live: frozenset[Expr]) -> Product | None:
        executed = execute_statement(edge.op, self.procedure, {}, lambda x: build.var(f"{x.name}@", x.sort))
        if not isinstance(edge.op, Havoc):
            return self._step(before, executed.condition, executed.values, live)
        product: Product | None = before
        for target, value in executed.values.items():  # inputs do not depend on one another
            product = None if product is None else self._step(product, build.TRUE, {target: value}, live)
        return product

    def _step(
        self, before: Product, condition: Expr, values: dict[Expr, Expr], live: frozenset[Expr]
    ) -> Product | None:
        """Return the product after a statement: it is executed under `condition` and writes `values`."""
        if condition is build.FALSE:
            return None
        targets = tuple(x for x in values if modelled(x.sort) and x in live)
        read = frozenset(variables(condition, *(values[x] for x in targets)))
        kept = [self._without(f, frozenset(values) - read) for f in before]
        touched = [f for f in kept if read.intersection(f.outputs)]
        joined = self._joined(touched)
        outputs = self._sorted({*(x for x in joined.outputs if x in live and x not in values), *targets})
        if not touched and not outputs and condition is build.TRUE:
            return tuple(self._without(f, frozenset(f.outputs) - live) for f in kept)
        moved = [build.eq(after(x), values.get(x, x)) for x in outputs]
        step = self.relations.of([condition, *moved], joined.outputs, tuple(map(after, outputs)))
        relation = self._limited(joined.relation.then(step).coalesced())
        if relation.is_empty():
            return None
        rest = [self._without(f, frozenset(f.outputs) - live) for f in kept if f not in touched]
        return (*rest, Factor(joined.inputs, outputs, relation))

    def _without(self, factor: Factor, dropped: frozenset[Expr]) -> Factor:
        """Return the factor without some output columns; the factor itself if it has none of them."""
        if not dropped.intersection(factor.outputs):
            return factor
        outputs = tuple(x for x in factor.outputs if x not in dropped)
        columns = [factor.outputs.index(x) for x in outputs]
        relation = factor.relation.columns(range(len(factor.inputs)), columns).coalesced()
        return Factor(factor.inputs, outputs, relation)

    # ------------------------------------------------------------------------------------- products

    def _united(self, ends: Sequence[Product]) -> Product:
        """Return the union of products: what all share stays, the rest becomes one factor."""
        if len(ends) == 1:
            return ends[0]
        shared = [f for f in ends[0] if all(f in end for end in ends[1:])]
        rests = [[f for f in end if f not in shared] for end in ends]
        outputs = self._sorted({x for rest in rests for f in rest for x in f.outputs})
        parts = [self._joined(self._complete(rest, outputs)) for rest in rests]
        whole = parts[0].relation
        for part in parts[1:]:
            whole = self._limited(whole.union(part.relation).coalesced())
        return (*shared, Factor(parts[0].inputs, outputs, whole))

    def _complete(self, product: Iterable[Factor], outputs: Columns) -> list[Factor]:
        """Return the product with an arbitrary value for each of the `outputs` that it lacks."""
        factors = list(product)
        present = {x for f in factors for x in f.outputs}
        for x in outputs:
            if x not in present:
                factors.append(Factor((), (x,), self.relations.of([], (), (after(x),))))
        return factors

    def _joined(self, factors: Sequence[Factor]) -> Factor:
        """Return the product of some factors as one, with its columns in order."""
        inputs = self._sorted({x for f in factors for x in f.inputs})
        outputs = self._sorted({x for f in factors for x in f.outputs})
        return Factor(inputs, outputs, self._whole(factors, inputs, outputs))

    def _whole(self, factors: Sequence[Factor], inputs: Columns, outputs: Columns) -> Relation:
        """Return the product of factors as a relation between these columns."""
        if not factors:
            return self.relations.every(0, 0)
        product, before, now = factors[0].relation, factors[0].inputs, factors[0].outputs
        for factor in factors[1:]:
            product = self._limited(product.beside(factor.relation))
            before, now = (*before, *factor.inputs), (*now, *factor.outputs)
        return product.columns([before.index(x) for x in inputs], [now.index(x) for x in outputs])

    def _sorted(self, columns: Iterable[Expr]) -> Columns:
        return tuple(sorted(columns, key=self.order.__getitem__))

    def _limited(self, relation: Relation) -> Relation:
        if relation.size <= DISJUNCTS:
            return relation
        message = f"a block needs more than {DISJUNCTS} disjunctions of linear constraints"
        span, hint = self.edge.source.span, "try another engine"
        raise Unsupported(Diagnostic("too-many-disjuncts", message, Severity.NOTE, span, hint))
