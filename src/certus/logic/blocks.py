"""Block formulas: one large block as one SSA formula with merges, linear in its edges.

A block is a DAG of `Seq` and `Choice` over original edges (seed 004). Executing it symbolically from
a state keeps the values of variables as terms over the block's *pre-state* (the program variables
themselves) and fresh symbols. Three kinds of symbols are fresh:

- an input `x@n`: the value a `Havoc` gave x;
- a merge `x@n`: the value of x after a choice whose alternatives disagree on it;
- literals `@n`: "control passed here", and a selector per alternative: "control came from there".

Literals imply what they stand for and nothing else (`definitions`, one conjunct each), so a model
of definitions and `guard` determines one execution, read off backwards from the end (`path`). This is
the thesis' variable substitution (4.4) and propagation (4.5) done by construction: a sequence reads
the values the first part wrote, and a choice gives every variable a value on every alternative.

The formula of a block is computed once; `Instance` renames its fresh symbols and replaces the
pre-state by the values of one particular visit, folding constants on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from certus.core import build
from certus.core.program import Assign, Assume, Block, Choice, Edge, Havoc, Procedure, Return, Seq
from certus.core.sorts import BOOL, Sort
from certus.core.terms import Expr, Kind, Value
from certus.core.walk import Substitution


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """The beginning of the block."""


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """`edge` was executed after `before`; `inputs` are the symbols its `Havoc` introduced."""

    before: History
    edge: Edge
    inputs: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """One of the histories happened: the first whose selector is true."""

    branches: tuple[tuple[Expr, History], ...]


History = Start | Taken | Merged


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """One executed edge, and the values of its inputs."""

    edge: Edge
    inputs: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BlockFormula:
    """The meaning of a block, as a relation between the pre-state and `values`.

    `guard`: with the definitions, satisfiable exactly for the pre-states from which the block can be
    executed. `values`: the variables written, as terms. `symbols`: all that is fresh."""

    guard: Expr
    definitions: tuple[Expr, ...]
    values: Mapping[Expr, Expr]
    symbols: tuple[Expr, ...]
    history: History

    def instance(self, number: int, values: Mapping[Expr, Expr], *, apart: bool = False) -> Instance:
        """This block executed from a state with the given values, its symbols made unique. The formulas
        are simplified by what the others say, unless each is to be used `apart` from them, as in cores."""
        renamed = {s: build.var(_numbered(s.name, number), s.sort) for s in self.symbols}
        substitution = Substitution({**values, **renamed})
        formulas = substitution.apply_all((self.guard, *self.definitions))
        guard, *definitions = formulas if apart else _without_dead(formulas, frozenset(renamed.values()))
        written = {x: substitution.apply(v) for x, v in self.values.items()}
        return Instance(self, guard, tuple(definitions), written, renamed)


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One visit of a block."""

    block: BlockFormula
    guard: Expr
    definitions: tuple[Expr, ...]
    values: Mapping[Expr, Expr]
    renamed: Mapping[Expr, Expr]

    def path(self, value: Callable[[Expr], Value]) -> list[Passage]:
        """The edges executed in the model that `value` reads, in order."""
        found: list[Passage] = []
        at = self.block.history
        while not isinstance(at, Start):
            if isinstance(at, Merged):
                at = next(h for s, h in at.branches if value(self.renamed[s]))
            else:
                found.append(Passage(at.edge, tuple(value(self.renamed[x]) for x in at.inputs)))
                at = at.before
        found.reverse()
        return found

    def length(self, sort: Sort, fresh: Callable[[], Expr]) -> tuple[Expr, list[Expr]]:
        """The number of edges executed, as a term of `sort`, and the definitions it needs."""
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
    """All histories `last` depends on, earlier ones first, `last` itself at the end."""
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


def _without_dead(formulas: tuple[Expr, ...], own: frozenset[Expr]) -> tuple[Expr, ...]:
    """Formulas, the last of which are definitions, without the literals of their own that these say are
    false; they still say so, since a path is read off the literals."""
    dead: dict[Expr, Expr] = {}
    while True:
        denied = (f.args[0] for f in formulas if f.kind is Kind.NOT and f.args[0] in own)
        new = {literal: build.FALSE for literal in denied if literal not in dead}
        if not new:
            return formulas
        dead.update(new)
        alive = Substitution(new)
        formulas = tuple(f if f.kind is Kind.NOT and f.args[0] in dead else alive.apply(f) for f in formulas)


def _numbered(name: str, number: int) -> str:
    base, _, local = name.rpartition("@")
    return f"{base}@{number}.{local}"


def block_formula(
    block: Block, procedure: Procedure, *, live: Iterable[Expr] | None = None
) -> BlockFormula | None:
    """The formula of `block`, or None if it can never be executed.

    `live` are the variables whose value matters afterwards; without it all do."""
    execution = _Execution(procedure, None if live is None else frozenset(live))
    end = execution.run(block)
    if end is None:
        return None
    return BlockFormula(
        build.and_(end.guard, *end.conditions),
        tuple(execution.definitions),
        end.values,
        tuple(execution.symbols),
        end.history,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """After part of a block: control came here if `guard` (a literal) and all `conditions` are true."""

    values: dict[Expr, Expr]
    guard: Expr
    conditions: tuple[Expr, ...]
    history: History


class _Execution:
    """Symbolic execution of one block."""

    def __init__(self, procedure: Procedure, live: frozenset[Expr] | None) -> None:
        self.procedure = procedure
        self.live = live
        self.definitions: list[Expr] = []
        self.symbols: list[Expr] = []
        self._count = count()

    def run(self, root: Block) -> _State | None:
        """Execute `root` from the block's entry; None if no execution gets through."""
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
        op = edge.op
        inputs: tuple[Expr, ...] = ()
        values, conditions = state.values, state.conditions
        if isinstance(op, Assume):
            condition = Substitution(values).apply(op.condition)
            if condition is build.FALSE:
                return None
            if condition is not build.TRUE:
                conditions = (*conditions, condition)
        elif isinstance(op, Havoc):
            inputs = tuple(self._fresh(x) for x in op.targets)
            values = {**values, **dict(zip(op.targets, inputs, strict=True))}
        elif isinstance(op, Assign | Return):
            targets = op.targets if isinstance(op, Assign) else self.procedure.results
            now = Substitution(values).apply_all(op.values)
            values = {**values, **dict(zip(targets, now, strict=True))}
        else:
            raise AssertionError(f"a block consists of single statements without calls, not of {op}")
        return _State(values, state.guard, conditions, Taken(state.history, edge, inputs))

    def _sealed(self, state: _State) -> _State:
        """The same state with all its conditions behind one literal."""
        if not state.conditions:
            return state
        guard = self._literal()
        for condition in (state.guard, *state.conditions):
            self._define(guard, condition)
        return _State(state.values, guard, (), state.history)

    def _merged(self, ends: list[_State], *, last: bool) -> _State:
        if len(ends) == 1:
            return ends[0]
        guard = self._literal()
        selectors = [self._literal() for _ in ends]
        self.definitions.append(build.disjunction((build.not_(guard), *selectors)))
        for selector, end in zip(selectors, ends, strict=True):
            for condition in (end.guard, *end.conditions):
                self._define(selector, condition)
        values = {x: v for x, v in ends[0].values.items() if all(e.values.get(x) is v for e in ends)}
        for x in dict.fromkeys(x for end in ends for x in end.values if x not in values):
            if last and self.live is not None and x not in self.live:
                continue
            values[x] = self._fresh(x)
            for selector, end in zip(selectors, ends, strict=True):
                self._define(selector, build.eq(values[x], end.values.get(x, x)))
        branches = zip(selectors, (e.history for e in ends), strict=True)
        return _State(values, guard, (), Merged(tuple(branches)))

    def _define(self, literal: Expr, meaning: Expr) -> None:
        definition = build.implies(literal, meaning)
        if definition is not build.TRUE:
            self.definitions.append(definition)

    def _literal(self) -> Expr:
        return self._symbol(build.var(f"@{next(self._count)}", BOOL))

    def _fresh(self, variable: Expr) -> Expr:
        return self._symbol(build.var(f"{variable.name}@{next(self._count)}", variable.sort))

    def _symbol(self, symbol: Expr) -> Expr:
        self.symbols.append(symbol)
        return symbol


def _shared(root: Block) -> frozenset[Block]:
    """The blocks used more than once."""
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
