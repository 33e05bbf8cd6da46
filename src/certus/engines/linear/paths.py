"""List the paths through a statement or large block.

A path has conditions and values in terms of the state before, with a symbol for each input. A block with too
many paths is represented along its DAG instead (`blocks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from certus.core import build
from certus.core.program import Block, Choice, Edge, Havoc, Procedure, Seq, statements
from certus.core.terms import Expr
from certus.encoding.block_formula import execute_statement

PATHS = 256  # most paths of one block that are listed


@dataclass(frozen=True, slots=True, eq=False)
class _Taken:
    """A statement on a path, after the statements `before`."""

    edge: Edge
    before: _Taken | None


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """One path through a block: it is executed if all `conditions` hold, and writes `values`.

    `inputs`: its `Havoc` edges, each with the symbols it introduces. `last`: its statements."""

    conditions: tuple[Expr, ...]
    values: dict[Expr, Expr]
    inputs: tuple[tuple[Edge, tuple[Expr, ...]], ...]
    last: _Taken | None = None

    @property
    def statements(self) -> Iterator[Edge]:
        """The statements on the path, the last one first."""
        taken = self.last
        while taken is not None:
            yield taken.edge
            taken = taken.before


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """The rest of a path: first `block`, then `rest`."""

    block: Block
    rest: _Rest | None


def listed_paths(edge: Edge, procedure: Procedure) -> tuple[Path, ...] | None:
    """Return the paths through an edge that is not a call; None if there are too many."""
    paths: list[Path] = []
    whole = edge.op if isinstance(edge.op, (Seq, Choice)) else edge
    work: list[tuple[Path, _Rest | None]] = [(Path((), {}, ()), _Rest(whole, None))]
    while work:
        path, rest = work.pop()
        if rest is None:
            paths.append(path)
            if len(paths) > PATHS:
                return None
        elif isinstance(rest.block, Seq):
            work.append((path, _Rest(rest.block.first, _Rest(rest.block.second, rest.rest))))
        elif isinstance(rest.block, Choice):
            work.extend((path, _Rest(a, rest.rest)) for a in reversed(rest.block.alternatives))
        else:
            longer = _extended(path, rest.block, procedure)
            if longer is not None:
                work.append((longer, rest.rest))
    return tuple(paths)


def single_steps(edge: Edge, procedure: Procedure) -> Iterator[Path]:
    """Yield each statement of a block as a path of its own."""
    for statement in statements(edge):
        step = _extended(Path((), {}, ()), statement, procedure)
        if step is not None:
            yield step


def _extended(path: Path, edge: Edge, procedure: Procedure) -> Path | None:
    """Extend the path by one statement; return None if that is never executed."""
    number = len(path.inputs)
    executed = execute_statement(
        edge.op, procedure, path.values, lambda x: build.var(f"{x.name}@{number}", x.sort)
    )
    if executed.condition is build.FALSE:
        return None
    conditions, inputs = path.conditions, path.inputs
    if executed.condition is not build.TRUE:
        conditions = (*conditions, executed.condition)
    if isinstance(edge.op, Havoc):
        inputs = (*inputs, (edge, executed.inputs))
    return Path(conditions, executed.values, inputs, _Taken(edge, path.last))
