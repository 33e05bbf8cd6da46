"""Programs as control-flow automata (Mertens 2014, section 2.1), one per procedure.

Front ends build a `Program`, and `check` checks evidence against it. Its invariants:

- A location with several outgoing edges has only `Assume`s on them, with mutually exclusive
  conditions: the inputs determine an execution. Where no edge is enabled the execution ends without an
  error, as it does at the exit of the main procedure.
- An error location has no outgoing edge and is no entry; reaching one violates the property.
- Variables are `VAR` terms. A global is named `x`, a local or parameter `proc.x`, and a name that the
  front end invents has a `$`: `proc.$1`. No name contains `@`, `/` or a parenthesis: these mark SSA
  indices, frames and `old(...)`.
- Pointers are Int terms: mathematical addresses, 0 is null. Memory operations access one flat byte
  memory; a pass replaces them by variables and arrays before an engine runs.
- Locals are nondeterministic at the entry of their procedure, and the front end puts a `Havoc` before
  any read of a local that may not have been written: such values are inputs of a trace. Globals are
  nondeterministic at the start unless `initial` has their value.

Passes may replace the op of an edge by a block: a DAG of `Seq` and `Choice` over original edges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from certus.core.diagnostic import Span
from certus.core.terms import BOOL, Expr


@dataclass(frozen=True, slots=True)
class Assign:
    """A parallel assignment: all values are computed, then all targets are written."""

    targets: tuple[Expr, ...]
    values: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Assume:
    """An assumption: the execution continues only if the condition is true."""

    condition: Expr


UNSPECIFIED = "$unspecified"
NAN_BITS = "the sign and payload of a NaN"


@dataclass(frozen=True, slots=True)
class Havoc:
    """An input of the program: each target gets a nondeterministic value of its sort.

    `function` is the function that returns the value, if the program calls one that it does not define. If it
    is `UNSPECIFIED`, the language leaves the value open: a proof covers all values, and a run takes 0.
    `approximates` names a value that is not modelled exactly ("the result of `atoi`"): a proof covers all
    values, but no counterexample may depend on one. With `NAN_BITS`, they are the bits that an operation on
    floating-point numbers may give a NaN, and no run has a value for them, whatever its inputs are."""

    targets: tuple[Expr, ...]
    function: str | None = None
    approximates: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call `targets = procedure(arguments)`. Arguments are passed by value."""

    procedure: str
    arguments: tuple[Expr, ...]
    targets: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """A return: it writes the result variables of the procedure, and its edge leads to the exit."""

    values: tuple[Expr, ...]


Storage = Literal["static", "stack", "heap"]


@dataclass(frozen=True, slots=True)
class Alloc:
    """An allocation: `target` (an Int variable) gets the address of a new object of `size` (an Int term)
    bytes.

    Objects are disjoint and aligned, their addresses are positive, never used again, and otherwise arbitrary.
    The contents are zero if `zero`, and otherwise arbitrary. `name` is for reports. The program must not
    write to a `constant` object (a string literal): `Inspect` says so, `Store` does not mind. `filled`: the
    contents count as written, although nothing is known about them."""

    target: Expr
    size: Expr
    align: int
    storage: Storage
    name: str
    zero: bool = False
    constant: bool = False
    filled: bool = False

    @property
    def is_written(self) -> bool:
        """Return whether the contents count as written from the start."""
        return self.zero or self.filled or self.storage == "static"


@dataclass(frozen=True, slots=True)
class Free:
    """The end of the object that starts at `address` (an Int term); if `silent`, compilers do not mark it."""

    address: Expr
    storage: Storage
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Load:
    """A read: `target`, a variable of a machine sort of whole bytes, gets the little-endian bytes at
    `address`."""

    target: Expr
    address: Expr


@dataclass(frozen=True, slots=True)
class Store:
    """A write of the bytes of `value`, which has a machine sort of whole bytes, at `address`."""

    address: Expr
    value: Expr


Access = Literal["read", "write", "free"]


@dataclass(frozen=True, slots=True)
class Inspect:
    """A question about an access: `target`, a Bool variable, gets the answer. No access takes place.

    - "read": whether the `size` (an Int term) bytes at `address` (an Int term) belong to one live object, the
      one that the address was derived from. Without bytes (`size` is 0) the answer is yes.
    - "write": the same, and the object is not constant.
    - "free": whether `address` is 0 or the start of a live object on the heap; `size` is 0.

    The answer is exact for every address, also for one that is out of bounds, dangling or undetermined."""

    target: Expr
    address: Expr
    size: Expr
    access: Access


Retained = Literal["tracked", "freed"]


@dataclass(frozen=True, slots=True)
class InspectHeap:
    """A question about all objects on the heap: `target`, a Bool variable, gets the answer.

    - "tracked": whether every live one is reached by a chain of pointers that starts in a variable of the
      source, in a static object, or in a live object on the stack. A pointer to any byte of an object, or one
      past its end, reaches it. The variables are globals and those of all active procedures.
    - "freed": whether none is live."""

    target: Expr
    retained: Retained


@dataclass(frozen=True, slots=True)
class InspectBits:
    """A question about contents: `target`, a variable of an unsigned sort of whole bytes, gets a 1 for each
    bit at `address` (an Int term) that has been written since its object began. The access must be valid."""

    target: Expr
    address: Expr


@dataclass(frozen=True, slots=True)
class MarkBits:
    """Note which bits at `address` (an Int term) count as written: those where `bits`, of an unsigned sort of
    whole bytes, is 1. It follows a `Store` of a value that was copied with its unwritten bits; every other
    `Store` writes all its bits. Contents stay as they are."""

    address: Expr
    bits: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Seq:
    """A sequence of two blocks. Compared by identity: blocks are shared, not copied."""

    first: Block
    second: Block


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A choice between blocks; the state and the inputs admit at most one of them."""

    alternatives: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Location:
    """A control location. `index` is unique in the program and determines its order and name."""

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

    `branch` is the polarity of a source branch (`if`, `while`, `assert`), `text` the statement as in the
    source, `call` the source text of the call that this step belongs to. A copy by a pass has the index of
    the first original as `origin`."""

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
        """The key of the inputs of this edge in a trace: the inputs of all copies, in order of execution, are
        those of the original."""
        return self.index if self.origin is None else self.origin

    def __repr__(self) -> str:
        return f"{self.source} --[{self.text or self.op}]--> {self.target}"


MemoryOp = Load | Store | Alloc | Free | Inspect | InspectHeap | InspectBits | MarkBits
BasicOp = Assign | Assume | Havoc | Call | Return | MemoryOp
Block = Edge | Seq | Choice
Op = BasicOp | Seq | Choice


@dataclass(frozen=True, slots=True)
class ErrorSite:
    """A location that must not be reached. `kind` is `assertion`, `error-label`, `division-by-zero` ...
    `statement` is the statement, or the condition of one, that is executed there. `function` is the function
    whose call is the error, as declared: the text may name a macro instead. `start` is where the evaluation
    of the claim begins: an execution that does not come there does not evaluate any part of it."""

    location: Location
    kind: str
    span: Span | None
    text: str  # the claim that is violated there, as in the source
    statement: Span | None = None
    function: str | None = None
    start: Location | None = None


@dataclass(frozen=True)
class Procedure:
    """One control-flow automaton. `results` are the variables that `Return` writes, `variables` all
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
        locations = {self.entry: None, self.exit: None}
        for edge in self.edges:
            locations[edge.source] = None
            locations[edge.target] = None
        return tuple(sorted(locations, key=lambda at: at.index))

    @cached_property
    def successors(self) -> Mapping[Location, tuple[Edge, ...]]:
        """The outgoing edges of every location, in order of index."""
        outgoing: dict[Location, list[Edge]] = {at: [] for at in self.locations}
        for edge in self.edges:
            outgoing[edge.source].append(edge)
        return {at: tuple(sorted(edges, key=lambda e: e.index)) for at, edges in outgoing.items()}

    @cached_property
    def predecessors(self) -> Mapping[Location, tuple[Edge, ...]]:
        """The incoming edges of every location, in order of index."""
        incoming: dict[Location, list[Edge]] = {at: [] for at in self.locations}
        for edge in self.edges:
            incoming[edge.target].append(edge)
        return {at: tuple(sorted(edges, key=lambda e: e.index)) for at, edges in incoming.items()}


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file of a program, and the SHA-256 sum of its bytes."""

    file: str
    text: str
    digest: str


@dataclass(frozen=True)
class Program:
    """Procedures over shared globals, starting in `main`.

    `initial` has the values of globals at the start, as terms without variables. `source_names` maps
    variables to their names in the source; other variables are invented. `scopes` are the stretches of the
    source where these names can be used, if the front end knows them. `objects` are the variables of the
    source that are in memory, by the variable that holds their address. `digest` is the SHA-256 sum of the
    file, including a byte-order mark. `decided` are the procedures with assertions whose conditions are true
    constants: these have no error site."""

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
    others: tuple[SourceText, ...] = ()  # the files of the program after the first
    formats: Mapping[Expr, str] = field(default_factory=dict)  # of variables that are floating-point numbers

    @property
    def units(self) -> tuple[SourceText, ...]:
        """All files, in the order of the command line."""
        return (SourceText(self.file, self.source, self.digest), *self.others)

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The text of every file, by its name."""
        return {unit.file: unit.text for unit in self.units}

    @cached_property
    def entry(self) -> Location:
        """The entry of the main procedure."""
        return self.procedures[self.main].entry

    @property
    def every_variable(self) -> tuple[Expr, ...]:
        """The globals, and the variables of all procedures."""
        return (*self.globals, *(x for p in self.procedures.values() for x in p.variables))

    @property
    def is_boolean(self) -> bool:
        """Return whether it has variables, all of them Boolean."""
        return {x.sort for x in self.every_variable} == {BOOL}

    @cached_property
    def error_locations(self) -> frozenset[Location]:
        """The locations of all error sites."""
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
        """Return whether an error site, or an assertion whose condition is a true constant, can be reached
        from `main` along edges and calls, whatever their conditions are."""
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

    def only(self, kinds: Collection[str]) -> Program:
        """Return the program with the error sites of these kinds only. Executions still end at the others,
        but without an error, so that both programs have the same executions up to their errors."""
        errors = tuple(site for site in self.errors if site.kind in kinds)
        return replace(self, errors=errors, decided=self.decided if "assertion" in kinds else ())

    def error_at(self, location: Location) -> ErrorSite:
        """Return the error site at a location."""
        return next(site for site in self.errors if site.location is location)


def called(op: Op) -> Iterator[Call]:
    """Yield the calls in an op."""
    return (basic for basic in leaves(op) if isinstance(basic, Call))


def leaves(op: Op | Edge) -> Iterator[BasicOp]:
    """Yield the basic ops in an op, in order; those of a shared block once."""
    if isinstance(op, Edge):
        op = op.op
    if not isinstance(op, Seq | Choice):
        yield op
        return
    for edge in statements(op):
        assert not isinstance(edge.op, Seq | Choice)
        yield edge.op


def statements(block: Block) -> Iterator[Edge]:
    """Yield the edges with basic ops in a block, in order; those of a shared block once."""
    visited: set[int] = set()
    stack = [block]
    while stack:
        item = stack.pop()
        if isinstance(item, Edge):
            if isinstance(item.op, Seq | Choice):
                stack.append(item.op)
            elif id(item) not in visited:
                visited.add(id(item))
                yield item
        elif id(item) not in visited:
            visited.add(id(item))
            parts = (item.first, item.second) if isinstance(item, Seq) else item.alternatives
            stack.extend(reversed(parts))


@dataclass(frozen=True, slots=True)
class ScalarShape:
    """An integer or, if `pointer`, an address, or a floating-point number of a `format`: `width` bits."""

    width: int
    signed: bool
    pointer: bool = False
    format: str = ""


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """`count` elements of `size` bytes each."""

    count: int
    size: int
    element: Shape


@dataclass(frozen=True, slots=True)
class RecordShape:
    """Members with their names and offsets. An anonymous one has no name, and its members are the
    record's."""

    members: tuple[tuple[str, int, Shape], ...]


Shape = ScalarShape | ArrayShape | RecordShape


@dataclass(frozen=True, slots=True)
class SourceObject:
    """A variable that is an object in memory: its name, the scope of the name, and its shape (None: no part
    of it has a name)."""

    name: str
    scope: Span
    shape: Shape | None
