"""Encode one large block as one SSA formula with merges, linear in its edges.

A block is a DAG of `Seq` and `Choice` over original edges (Mertens 2014). Executing it symbolically from
a state keeps the values of variables as terms over the block's *pre-state* (the program variables
themselves) and fresh symbols. Three kinds of symbols are fresh:

- an input `x@n`: the value that a `Havoc` assigns to x;
- a merge `x@n`: the value of x after a choice whose alternatives disagree on it;
- literals `@n`: "control passed here", and a selector per alternative: "control came from there".

Literals imply what they stand for (`definitions`, one conjunct each; in an instance they equal it), so a
model of definitions and `guard` determines one execution, read off backwards from the end (`path`). This is
the variable substitution of Mertens 2014 (4.4) and propagation (4.5) done by construction: a sequence reads
the values that the first part wrote, and a choice has a value of every variable on every alternative.

The formula of a block is computed once; `Instance` renames its fresh symbols and replaces the
pre-state by the values of one particular visit. It goes through the definitions in the order of control, as
an interpreter would: constants fold, alternatives that they exclude are dropped, and a merge with one value
left is that value. So a stretch of program whose values are constant costs nothing.

This is the only encoding of edges for engines and passes. `check.proofs` encodes them by its own code, so
that a mistake here cannot validate itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from certus.core import build
from certus.core.effects import written
from certus.core.program import (
    Assign,
    Assume,
    Block,
    Choice,
    Edge,
    Havoc,
    Op,
    Procedure,
    Program,
    Return,
    Seq,
)
from certus.core.terms import BOOL, ArraySort, Expr, Kind, MachineSort, Sort, Value
from certus.core.walk import Substitution


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The start of the block: no edge has been executed."""


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """The history `before`, followed by `edge`; `inputs` are the symbols that its `Havoc` introduced."""

    before: History
    edge: Edge
    inputs: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """A choice of histories: the first whose selector is true happened."""

    branches: tuple[tuple[Expr, History], ...]


History = Start | Taken | Merged


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """One executed edge, and the values of its inputs. Arrays are inputs only of added edges, which a trace
    of the program does not have."""

    edge: Edge
    inputs: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """A definition: `literal` implies the conditions."""

    literal: Expr
    conditions: tuple[Expr, ...]

    def formulas(self) -> Iterator[Expr]:
        """Yield the definition as implications."""
        for condition in self.conditions:
            if condition is not build.TRUE:
                yield build.implies(self.literal, condition)


@dataclass(frozen=True, slots=True, eq=False)
class Merge:
    """A definition: `symbol` is the value of the choice whose selector is true."""

    symbol: Expr
    choices: tuple[tuple[Expr, Expr], ...]

    def formulas(self) -> Iterator[Expr]:
        """Yield the definition as implications."""
        for selector, value in self.choices:
            if value is not self.symbol:
                yield build.implies(selector, build.eq(self.symbol, value))


@dataclass(frozen=True, eq=False)
class BlockFormula:
    """The meaning of a block, as a relation between the pre-state and `values`.

    `guard`: with the definitions, satisfiable exactly for the pre-states from which the block can be
    executed. `values`: the variables written, as terms. `symbols`: all fresh symbols. A definition is over
    the pre-state and symbols defined before it."""

    guard: Expr
    defined: tuple[Passed | Merge, ...]
    values: Mapping[Expr, Expr]
    symbols: tuple[Expr, ...]
    history: History

    @cached_property
    def definitions(self) -> tuple[Expr, ...]:
        """All definitions as implications."""
        return tuple(formula for definition in self.defined for formula in definition.formulas())

    def instance(self, number: int, values: Mapping[Expr, Expr], *, separate: bool = False) -> Instance:
        """Return the execution of this block from a state with the `values`; `number` makes its symbols
        unique. Each formula is simplified by the others, unless it may be used without them, as in
        unsatisfiable cores (`separate`)."""
        renamed = {s: build.var(_numbered(s.name, number), s.sort) for s in self.symbols}
        if separate:
            substitution = Substitution({**values, **renamed})
            definitions = substitution.apply_all(self.definitions)
        else:
            inputs = {s: own for s, own in renamed.items() if s not in self._derived}
            substitution = Substitution({**values, **inputs})
            executed = self._executed(substitution, renamed)
            definitions = tuple(formula for formula in executed if formula is not build.TRUE)
        written = {x: substitution.apply(v) for x, v in self.values.items()}
        return Instance(self, substitution.apply(self.guard), definitions, written, renamed)

    @cached_property
    def _derived(self) -> frozenset[Expr]:
        """The symbols that definitions define: all except inputs."""
        return frozenset(d.literal if isinstance(d, Passed) else d.symbol for d in self.defined)

    def _executed(self, substitution: Substitution, renamed: Mapping[Expr, Expr]) -> Iterator[Expr]:
        """Yield the definitions under a substitution, and add to it the symbols they define. They are
        equations here: the inputs determine the path and the values, so that a solver need not guess them.
        False literals are defined, too, since a path is read off the literals."""
        for definition in self.defined:
            if isinstance(definition, Passed):
                own = renamed[definition.literal]
                meaning = build.and_(*substitution.apply_all(definition.conditions))
                substitution.replace(definition.literal, build.FALSE if meaning is build.FALSE else own)
                yield build.eq(own, meaning)
            else:
                own = renamed[definition.symbol]
                choices = ((substitution.apply(s), value) for s, value in definition.choices)
                live = [(s, substitution.apply(value)) for s, value in choices if s is not build.FALSE]
                if live and all(value is live[0][1] for _, value in live):
                    substitution.replace(definition.symbol, live[0][1])
                elif live:
                    merged, equation = merge(own, live)
                    substitution.replace(definition.symbol, merged)
                    yield equation
                else:
                    substitution.replace(definition.symbol, own)


def merge(symbol: Expr, choices: Sequence[tuple[Expr, Expr]]) -> tuple[Expr, Expr]:
    """Return a term for the value of the first choice whose selector is true, provided that one is, and the
    equation that defines it. The term is the symbol; or, where all values are machine integers converted to
    Int, a symbol of the machine sort, converted: z3 is slow where it converts integers to bit-vectors."""
    vectors = _vectors(choices)
    if vectors is None:
        return symbol, build.eq(symbol, _chosen(choices))
    narrow = build.var(symbol.name, vectors[0][1].sort)
    return build.to_int(narrow), build.eq(narrow, _chosen(vectors))


def _chosen(choices: Sequence[tuple[Expr, Expr]]) -> Expr:
    """Return the value of the first choice whose selector is true, provided that one is."""
    value = choices[-1][1]
    for selector, other in reversed(choices[:-1]):
        value = build.ite(selector, other, value)
    return value


def _vectors(choices: Sequence[tuple[Expr, Expr]]) -> list[tuple[Expr, Expr]] | None:
    """Return the same choice between machine integers of one sort; None if a value is not such a number."""
    sorts = dict.fromkeys(value.args[0].sort for _, value in choices if value.kind is Kind.TO_INT)
    sort = next(iter(sorts), None)
    if len(sorts) != 1 or not isinstance(sort, MachineSort):
        return None
    vectors = {value: build.wrap(value, sort) for _, value in choices}
    if any(build.to_int(vector) is not value for value, vector in vectors.items()):
        return None
    return [(selector, vectors[value]) for selector, value in choices]


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One execution of a block: its formulas over the symbols of this visit."""

    block: BlockFormula
    guard: Expr
    definitions: tuple[Expr, ...]
    values: Mapping[Expr, Expr]
    renamed: Mapping[Expr, Expr]

    def path(self, value: Callable[[Expr], Value]) -> list[Passage]:
        """Return the edges executed in the model that `value` reads, in order."""
        passages: list[Passage] = []
        at = self.block.history
        while not isinstance(at, Start):
            if isinstance(at, Merged):
                at = next(h for s, h in at.branches if value(self.renamed[s]))
            else:
                scalars = (x for x in at.inputs if not isinstance(x.sort, ArraySort))
                passages.append(Passage(at.edge, tuple(value(self.renamed[x]) for x in scalars)))
                at = at.before
        passages.reverse()
        return passages

    def length(self, sort: Sort, fresh: Callable[[], Expr]) -> tuple[Expr, list[Expr]]:
        """Return the number of edges executed, as a term of `sort`, and the definitions it needs."""
        lengths: dict[History, Expr] = {}
        definitions: list[Expr] = []
        for at in _histories(self.block.history):
            if isinstance(at, Start):
                lengths[at] = build.constant(0, sort)
            elif isinstance(at, Taken):
                lengths[at] = build.add(lengths[at.before], build.constant(1, sort))
            else:
                total = lengths[at] = fresh()
                for selector, history in at.branches:
                    same = build.eq(total, lengths[history])
                    definitions.append(build.implies(self.renamed[selector], same))
        return lengths[self.block.history], definitions


def _histories(last: History) -> Iterator[History]:
    """Yield all histories that `last` depends on, earlier ones first, `last` itself at the end."""
    done: set[History] = set()
    stack: list[tuple[History, bool]] = [(last, False)]
    while stack:
        at, ready = stack.pop()
        if at in done:
            continue
        if ready or isinstance(at, Start):
            done.add(at)
            yield at
        else:
            stack.append((at, True))
            if isinstance(at, Taken):
                stack.append((at.before, False))
            else:
                stack.extend((h, False) for _, h in reversed(at.branches))


def _numbered(name: str, number: int) -> str:
    """Return the name of a fresh symbol in the instance with a number."""
    base, _, local = name.rpartition("@")
    return f"{base}@{number}.{local}"


@dataclass(frozen=True, slots=True)
class Executed:
    """The result of executing one statement symbolically: the condition under which it can be executed, the
    values of all variables written so far, and the symbols for the inputs of a `Havoc`."""

    condition: Expr
    values: dict[Expr, Expr]
    inputs: tuple[Expr, ...] = ()


def execute_statement(
    op: Op, procedure: Procedure, values: dict[Expr, Expr], fresh: Callable[[Expr], Expr]
) -> Executed:
    """Execute one statement of `procedure`, which is no call and accesses no memory, where variables have
    the `values`. `fresh` makes a symbol for an input to a variable."""
    if isinstance(op, Assume):
        return Executed(Substitution(values).apply(op.condition), values)
    if isinstance(op, Havoc):
        inputs = tuple(map(fresh, op.targets))
        return Executed(build.TRUE, {**values, **dict(zip(op.targets, inputs, strict=True))}, inputs)
    assert isinstance(op, Assign | Return), (
        f"blocks consist of statements without calls or memory, not of {op}"
    )
    assigned = Substitution(values).apply_all(op.values)
    return Executed(build.TRUE, {**values, **dict(zip(written(op, procedure), assigned, strict=True))})


def edge_formula(edge: Edge, program: Program) -> BlockFormula | None:
    """Return the formula of an edge whose op is a block or one statement, None if it can never be executed.
    After a step to an error no value matters."""
    live = () if edge.target in program.error_locations else None
    block = edge.op if isinstance(edge.op, Seq | Choice) else edge
    return block_formula(block, program.procedures[edge.source.procedure], live=live)


def block_formula(
    block: Block, procedure: Procedure, *, live: Iterable[Expr] | None = None
) -> BlockFormula | None:
    """Return the formula of `block`, or None if it can never be executed.

    `live` are the variables whose value is used afterwards; None means all."""
    execution = _Execution(procedure, None if live is None else frozenset(live))
    end = execution.run(block)
    if end is None:
        return None
    return BlockFormula(
        build.and_(end.guard, *end.conditions),
        tuple(execution.defined),
        end.values,
        tuple(execution.symbols),
        end.history,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """A state after part of a block: control comes here if `guard` (a literal) and `conditions` are true."""

    values: dict[Expr, Expr]
    guard: Expr
    conditions: tuple[Expr, ...]
    history: History


class _Execution:
    """The symbolic execution of one block."""

    def __init__(self, procedure: Procedure, live: frozenset[Expr] | None) -> None:
        self.procedure = procedure
        self.live = live
        self.defined: list[Passed | Merge] = []
        self.symbols: list[Expr] = []
        self._count = count()

    def run(self, root: Block) -> _State | None:
        """Execute `root` from the entry of the block; return None if no execution reaches its end."""
        shared = _shared(root)
        remembered: dict[tuple[Block, _State], _State | None] = {}
        results: list[_State | None] = []
        work: list[Callable[[], None]] = []

        def execute(block: Block, state: _State, *, last: bool) -> None:
            key = (block, state)
            if isinstance(block, Edge):
                results.append(self._edge(block, state))
            elif key in remembered:
                results.append(remembered[key])
            elif isinstance(block, Seq):
                if block in shared:
                    work.append(lambda: remember(key))
                work.append(lambda: follow(block.second, last=last))
                work.append(lambda: execute(block.first, state, last=False))
            else:
                entry = self._sealed(state)
                work.append(lambda: remember(key))
                work.append(lambda: merge(len(block.alternatives), last=last))
                for alternative in reversed(block.alternatives):
                    work.append(lambda a=alternative: execute(a, entry, last=last))  # type: ignore[misc]

        def follow(block: Block, *, last: bool) -> None:
            state = results.pop()
            if state is None:
                results.append(None)
            else:
                execute(block, state, last=last)

        def merge(number: int, *, last: bool) -> None:
            ends = [s for s in results[-number:] if s is not None]
            del results[-number:]
            results.append(self._merged(ends, last=last) if ends else None)

        def remember(key: tuple[Block, _State]) -> None:
            state = results[-1]
            if state is not None:
                state = results[-1] = self._sealed(state)
            remembered[key] = state

        start = _State({}, build.TRUE, (), Start())
        execute(root, start, last=True)
        while work:
            work.pop()()
        return results.pop()

    def _edge(self, edge: Edge, state: _State) -> _State | None:
        executed = execute_statement(edge.op, self.procedure, state.values, self._fresh)
        if executed.condition is build.FALSE:
            return None
        conditions = state.conditions
        if executed.condition is not build.TRUE:
            conditions = (*conditions, executed.condition)
        history = Taken(state.history, edge, executed.inputs)
        return _State(executed.values, state.guard, conditions, history)

    def _sealed(self, state: _State) -> _State:
        """Return the same state with one literal that implies all its conditions."""
        if not state.conditions:
            return state
        guard = self._literal()
        self.defined.append(Passed(guard, (state.guard, *state.conditions)))
        return _State(state.values, guard, (), state.history)

    def _merged(self, ends: list[_State], *, last: bool) -> _State:
        """Return the state after a choice, from the states after its alternatives."""
        if len(ends) == 1:
            return ends[0]
        guard = self._literal()
        selectors = [self._literal() for _ in ends]
        for selector, end in zip(selectors, ends, strict=True):
            self.defined.append(Passed(selector, (end.guard, *end.conditions)))
        self.defined.append(Passed(guard, (build.disjunction(selectors),)))
        values = {x: v for x, v in ends[0].values.items() if all(e.values.get(x) is v for e in ends)}
        for x in dict.fromkeys(x for end in ends for x in end.values if x not in values):
            if last and self.live is not None and x not in self.live:
                continue
            values[x] = self._fresh(x)
            choices = zip(selectors, (e.values.get(x, x) for e in ends), strict=True)
            self.defined.append(Merge(values[x], tuple(choices)))
        branches = zip(selectors, (e.history for e in ends), strict=True)
        return _State(values, guard, (), Merged(tuple(branches)))

    def _literal(self) -> Expr:
        return self._symbol(build.var(f"@{next(self._count)}", BOOL))

    def _fresh(self, variable: Expr) -> Expr:
        return self._symbol(build.var(f"{variable.name}@{next(self._count)}", variable.sort))

    def _symbol(self, symbol: Expr) -> Expr:
        self.symbols.append(symbol)
        return symbol


def _shared(root: Block) -> frozenset[Block]:
    """Return the blocks that are used more than once."""
    seen: set[Block] = set()
    again: set[Block] = set()
    stack: list[Block] = [root]
    while stack:
        block = stack.pop()
        if isinstance(block, Edge):
            continue
        if block in seen:
            again.add(block)
            continue
        seen.add(block)
        stack.extend(block.alternatives if isinstance(block, Choice) else (block.first, block.second))
    return frozenset(again)
