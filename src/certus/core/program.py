"""Programs as control-flow automata (seed 004, section 2.1), one per procedure.

A `Program` is what the front ends make and what `validate` checks against. Its invariants:

- A location with several outgoing edges has only `Assume`s on them, with mutually exclusive
  conditions: given the inputs, an execution is determined. Where no edge is enabled the execution
  ends silently, as it does at the exit of the main procedure.
- An error location has no outgoing edge; reaching one violates the property.
- Variables are `VAR` terms. A global is named `x`, a local or parameter `proc.x`, a name the front
  end invented has a `$`: `proc.$1`. No name contains `@`, `/` or a parenthesis: these mark SSA
  indices, frames and `old(...)`.
- Pointers are Int terms: mathematical addresses, 0 is null. Memory operations access one flat byte
  memory; a pass replaces them by variables and arrays before an engine runs.
- Locals are nondeterministic at the entry of their procedure, and the front end puts a `Havoc` before
  any read of a local that may not have been written: such values are inputs of a trace. Globals are
  nondeterministic at the start unless `initial` gives their value.

Passes may replace the op of an edge by a block: a DAG of `Seq` and `Choice` over original edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from certus.core.diagnostic import Span
from certus.core.objects import SourceObject
from certus.core.terms import Expr


@dataclass(frozen=True, slots=True)
class Assign:
    """Parallel assignment: all values are computed, then all targets written."""

    targets: tuple[Expr, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Assume:
    """Continue only if the condition is true."""

    condition: Expr


UNSPECIFIED = "$unspecified"


@dataclass(frozen=True, slots=True)
class Havoc:
    """Each target gets any value of its sort: an input of the program.

    `function` is the one whose result this is, if the program calls one that it does not define. If it is
    `UNSPECIFIED`, the language leaves the value open: a proof allows for all of them, and a run takes 0.
    `approximates` is set if the values stand for something that is not modelled exactly ("the result of
    `atoi`"): a proof allows for all of them, but no counterexample may depend on one."""

    targets: tuple[Expr, ...]
    function: str | None = None
    approximates: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """`targets = procedure(arguments)`; parameters are bound by value."""

    procedure: str
    arguments: tuple[Expr, ...]
    targets: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """Write the procedure's result variables; the edge leads to the exit."""

    values: tuple[Expr, ...]


Storage = Literal["static", "stack", "heap"]


@dataclass(frozen=True, slots=True)
class Alloc:
    """`target` (an Int variable) gets the address of a new object of `size` (an Int term) bytes.

    Objects are disjoint and aligned, their addresses positive and never used again; nothing more is
    known of them. The contents are zero if `zero`, and otherwise arbitrary. `name` is for people."""

    target: Expr
    size: Expr
    align: int
    storage: Storage
    name: str
    zero: bool = False


@dataclass(frozen=True, slots=True)
class Free:
    """The object that starts at `address` (an Int term) ends: `free`, or the end of its scope."""

    address: Expr
    storage: Storage


@dataclass(frozen=True, slots=True)
class Load:
    """`target`, a variable of a machine sort of whole bytes, gets the little-endian bytes at `address`."""

    target: Expr
    address: Expr


@dataclass(frozen=True, slots=True)
class Store:
    """The bytes of `value`, of a machine sort of whole bytes, are written at `address`."""

    address: Expr
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Seq:
    """First one block, then the other. Compared by identity: blocks are shared, not copied."""

    first: Block
    second: Block


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of the alternatives; at most one is possible in a given state with given inputs."""

    alternatives: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Location:
    """A control location. `index` is unique in the program and gives its order and name."""

    index: int
    procedure: str
    span: Span | None = None
    loop: Span | None = None  # the loop statement whose head this is, from its keyword on
    statement: Span | None = None  # the statement that control is about to execute

    @property
    def name(self) -> str:
        return f"{self.procedure}:{self.index}"

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A step of a procedure. `index` is unique in the program; inputs are keyed by it.

    `branch` is the polarity of a source branch (`if`, `while`, `assert`), `text` the statement as a
    person would write it, `call` the stretch of the call whose step this is. A copy that a pass made has
    the index of the first original as `origin`."""

    index: int
    source: Location
    op: Op
    target: Location
    span: Span | None = None
    branch: bool | None = None
    text: str = ""
    origin: int | None = None
    call: Span | None = None

    @property
    def key(self) -> int:
        """What the inputs of the edge are keyed by in a trace: those of all copies, in order of execution,
        are those of the original."""
        return self.index if self.origin is None else self.origin

    def __repr__(self) -> str:
        return f"{self.source} --[{self.text or self.op}]--> {self.target}"


MemoryOp = Load | Store | Alloc | Free
BasicOp = Assign | Assume | Havoc | Call | Return | MemoryOp
Block = Edge | Seq | Choice
Op = BasicOp | Seq | Choice


@dataclass(frozen=True, slots=True)
class ErrorSite:
    """A location that must not be reached: `kind` is `assertion`, `error-label`, `division-by-zero` ...
    `statement` is the statement, or the condition of one, that is executed there. `function` is the function
    whose call is the error, as it is declared: the text may name a macro instead. `start` is where the
    evaluation of the claim begins: an execution that does not come there does not evaluate any part of it."""

    location: Location
    kind: str
    span: Span | None
    text: str  # what was claimed there, as in the source
    statement: Span | None = None
    function: str | None = None
    start: Location | None = None


@dataclass(frozen=True)
class Procedure:
    """One control-flow automaton. `results` are the variables `Return` writes, `variables` all
    locals: parameters, results, declared and invented ones."""

    name: str
    parameters: tuple[Expr, ...]
    results: tuple[Expr, ...]
    variables: tuple[Expr, ...]
    entry: Location
    exit: Location
    edges: tuple[Edge, ...]
    span: Span | None = None

    @cached_property
    def locations(self) -> tuple[Location, ...]:
        """All locations, ordered by index."""
        found = {self.entry: None, self.exit: None}
        for edge in self.edges:
            found[edge.source] = None
            found[edge.target] = None
        return tuple(sorted(found, key=lambda at: at.index))

    @cached_property
    def successors(self) -> Mapping[Location, tuple[Edge, ...]]:
        """The outgoing edges of every location, in order of index."""
        found: dict[Location, list[Edge]] = {at: [] for at in self.locations}
        for edge in self.edges:
            found[edge.source].append(edge)
        return {at: tuple(sorted(out, key=lambda e: e.index)) for at, out in found.items()}

    @cached_property
    def predecessors(self) -> Mapping[Location, tuple[Edge, ...]]:
        """The incoming edges of every location, in order of index."""
        found: dict[Location, list[Edge]] = {at: [] for at in self.locations}
        for edge in self.edges:
            found[edge.target].append(edge)
        return {at: tuple(sorted(into, key=lambda e: e.index)) for at, into in found.items()}


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file of a program, and the SHA-256 sum of its bytes."""

    file: str
    text: str
    digest: str


@dataclass(frozen=True)
class Program:
    """Procedures over shared globals, starting in `main`.

    `initial` gives closed values of globals at the start. `source_names` maps variables to the
    names a user gave them; what is not in it is ours. `scopes` are the stretches of the source where
    these names can be used, where the front end knows them. `objects` are the variables of the source that
    live in memory, by the variable that holds their address. `digest` is the SHA-256 sum of the file, which
    may have a mark in front of its text. `decided` are the procedures with assertions whose conditions are
    true constants: these have no error site."""

    procedures: Mapping[str, Procedure]
    main: str
    globals: tuple[Expr, ...]
    errors: tuple[ErrorSite, ...]
    initial: Mapping[Expr, Expr] = field(default_factory=dict)
    source_names: Mapping[Expr, str] = field(default_factory=dict)
    source: str = ""  # the source text, for reports
    file: str = ""
    pointer_bits: int = 64  # the size of a pointer in memory
    scopes: Mapping[Expr, Span] = field(default_factory=dict)
    objects: Mapping[Expr, SourceObject] = field(default_factory=dict)
    digest: str = ""
    decided: tuple[str, ...] = ()
    others: tuple[SourceText, ...] = ()  # the files of a program after the first

    @property
    def units(self) -> tuple[SourceText, ...]:
        """All files, in the order in which they were given."""
        return (SourceText(self.file, self.source, self.digest), *self.others)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The text of every file, by its name."""
        return {unit.file: unit.text for unit in self.units}

    @cached_property
    def entry(self) -> Location:
        return self.procedures[self.main].entry

    @cached_property
    def error_locations(self) -> frozenset[Location]:
        return frozenset(site.location for site in self.errors)

    @cached_property
    def location(self) -> Mapping[str, Location]:
        """Locations by name."""
        return {at.name: at for p in self.procedures.values() for at in p.locations}

    @cached_property
    def edge(self) -> Mapping[int, Edge]:
        """Edges by index."""
        return {e.index: e for p in self.procedures.values() for e in p.edges}

    @cached_property
    def has_checks(self) -> bool:
        """Whether an error site, or an assertion that is true by its constants, can be reached from `main`
        along edges and calls, whatever the conditions on them are."""
        errors, decided = self.error_locations, frozenset(self.decided)
        entries = [self.main] if self.main in self.procedures else []
        entered = set(entries)
        while entries:
            name = entries.pop()
            procedure = self.procedures[name]
            if name in decided:
                return True
            stack, reached = [procedure.entry], {procedure.entry}
            while stack:
                at = stack.pop()
                if at in errors:
                    return True
                for edge in procedure.successors[at]:
                    if edge.target not in reached:
                        reached.add(edge.target)
                        stack.append(edge.target)
                    for call in called(edge.op):
                        if call.procedure not in entered:
                            entered.add(call.procedure)
                            entries.append(call.procedure)
        return False

    def error_at(self, location: Location) -> ErrorSite:
        return next(site for site in self.errors if site.location is location)


def called(op: Op) -> Iterator[Call]:
    """The calls in an op."""
    for edge in leaves(op):
        if isinstance(edge, Call):
            yield edge


def leaves(op: Op | Edge) -> Iterator[BasicOp]:
    """The basic ops in a block, each shared block once."""
    done: set[int] = set()
    stack: list[Op | Edge] = [op]
    while stack:
        item = stack.pop()
        if not isinstance(item, (Edge, Seq, Choice)):
            yield item
        elif id(item) not in done:
            done.add(id(item))
            if isinstance(item, Edge):
                stack.append(item.op)
            else:
                parts = (item.first, item.second) if isinstance(item, Seq) else item.alternatives
                stack.extend(reversed(parts))
