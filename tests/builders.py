"""Programs by hand, for tests: `ProgramBuilder` names locations freely and numbers everything itself.

    b = ProgramBuilder()
    x = b.local("main", "x")
    b.edge("main", "entry", "loop", b.assign((x, 0)))
    b.branch("main", "loop", build.lt(x, build.integer(10)), "body", "after")
    b.edge("main", "body", "loop", b.assign((x, build.add(x, build.integer(1)))))
    b.check("main", "after", build.eq(x, build.integer(10)), "exit")
    program = b.build()

The locations `entry` and `exit` of each procedure have their meaning; others are made when first named.
"""

from __future__ import annotations

from certus.core import build
from certus.core.diagnostic import Span
from certus.core.program import (
    Access,
    Alloc,
    Assign,
    Assume,
    Call,
    Edge,
    ErrorSite,
    Free,
    Havoc,
    Inspect,
    InspectHeap,
    Load,
    Location,
    Op,
    Procedure,
    Program,
    Retained,
    Return,
    Storage,
    Store,
)
from certus.core.terms import BOOL, INT, Expr, Sort

_KINDS = {
    "read": "invalid-read",
    "write": "invalid-write",
    "free": "invalid-free",
    "tracked": "memory-leak",
    "freed": "not-freed",
}


class ProgramBuilder:
    def __init__(self) -> None:
        self._locations: dict[tuple[str, str], Location] = {}
        self._edges: dict[str, list[Edge]] = {}
        self._locals: dict[str, dict[Expr, None]] = {}
        self._parameters: dict[str, list[Expr]] = {}
        self._results: dict[str, list[Expr]] = {}
        self._globals: dict[Expr, Expr | None] = {}
        self._errors: list[ErrorSite] = []
        self._edge_count = 0

    # -- declarations

    def var(self, name: str, sort: Sort = INT, initial: int | bool | None = None) -> Expr:
        """A global, with an initial value if given."""
        variable = build.var(name, sort)
        self._globals[variable] = None if initial is None else build.constant(initial, sort)
        return variable

    def local(self, procedure: str, name: str, sort: Sort = INT) -> Expr:
        variable = build.var(f"{procedure}.{name}", sort)
        self._locals.setdefault(procedure, {})[variable] = None
        return variable

    def parameter(self, procedure: str, name: str, sort: Sort = INT) -> Expr:
        variable = self.local(procedure, name, sort)
        self._parameters.setdefault(procedure, []).append(variable)
        return variable

    def result(self, procedure: str, name: str = "result", sort: Sort = INT) -> Expr:
        variable = self.local(procedure, name, sort)
        self._results.setdefault(procedure, []).append(variable)
        return variable

    # -- structure

    def at(self, procedure: str, name: str) -> Location:
        """The location called `name` in a procedure."""
        self._edges.setdefault(procedure, [])
        for each in ("entry", "exit", name):
            key = (procedure, each)
            if key not in self._locations:
                self._locations[key] = Location(len(self._locations), procedure)
        return self._locations[procedure, name]

    def edge(
        self, procedure: str, source: str, target: str, op: Op, text: str = "", line: int | None = None
    ) -> Edge:
        span = None if line is None else Span("", line, 1, line, 2)
        ends = self.at(procedure, source), self.at(procedure, target)
        made = Edge(self._edge_count, ends[0], op, ends[1], span, text=text)
        self._edge_count += 1
        self._edges[procedure].append(made)
        return made

    def skip(self, procedure: str, source: str, target: str) -> Edge:
        return self.edge(procedure, source, target, Assume(build.TRUE))

    def branch(self, procedure: str, source: str, condition: Expr, then: str, otherwise: str) -> None:
        self.edge(procedure, source, then, Assume(condition))
        self.edge(procedure, source, otherwise, Assume(build.not_(condition)))

    def error(self, procedure: str, name: str, kind: str = "assertion") -> Location:
        """Make a location an error."""
        location = self.at(procedure, name)
        self._errors.append(ErrorSite(location, kind, None, name))
        return location

    def check(self, procedure: str, source: str, condition: Expr, target: str) -> Location:
        """An assertion: on to `target`, or to an error location of its own, which is returned."""
        name = f"error@{source}"
        self.branch(procedure, source, condition, target, name)
        return self.error(procedure, name)

    def claim(self, procedure: str, source: str, question: Inspect | InspectHeap, target: str) -> Location:
        """A check of memory: on to `target`, or to an error location of its own, which is returned."""
        asked, name = f"asked@{source}", f"error@{source}"
        self.edge(procedure, source, asked, question)
        self.branch(procedure, asked, question.target, target, name)
        kind = question.access if isinstance(question, Inspect) else question.retained
        return self.error(procedure, name, _KINDS[kind])

    # -- operations

    def assign(self, *pairs: tuple[Expr, Expr | int]) -> Assign:
        values = (build.constant(v, t.sort) if isinstance(v, int) else v for t, v in pairs)
        return Assign(tuple(t for t, _ in pairs), tuple(values))

    def havoc(self, *targets: Expr) -> Havoc:
        return Havoc(targets)

    def call(self, procedure: str, *arguments: Expr, into: tuple[Expr, ...] = ()) -> Call:
        return Call(procedure, arguments, into)

    def returns(self, *values: Expr) -> Return:
        return Return(values)

    def alloc(
        self,
        target: Expr,
        size: Expr | int,
        *,
        zero: bool = False,
        storage: Storage = "stack",
        constant: bool = False,
    ) -> Alloc:
        """An object of `size` bytes, aligned to 8, named after `target`."""
        bytes_ = build.integer(size) if isinstance(size, int) else size
        return Alloc(target, bytes_, 8, storage, target.name.rpartition("&")[2], zero, constant)

    def load(self, target: Expr, base: Expr, offset: Expr | int = 0) -> Load:
        return Load(target, self.address(base, offset))

    def store(self, base: Expr, offset: Expr | int, value: Expr) -> Store:
        return Store(self.address(base, offset), value)

    def free(self, base: Expr, *, storage: Storage = "heap") -> Free:
        return Free(base, storage)

    def inspect(
        self, procedure: str, access: Access, base: Expr, offset: Expr | int = 0, size: int = 0
    ) -> Inspect:
        """A question whose answer goes into a local of its own."""
        ok = self.local(procedure, "$ok", BOOL)
        return Inspect(ok, self.address(base, offset), build.integer(size), access)

    def inspect_heap(self, procedure: str, retained: Retained) -> InspectHeap:
        return InspectHeap(self.local(procedure, "$ok", BOOL), retained)

    def address(self, base: Expr, offset: Expr | int) -> Expr:
        return build.add(base, build.integer(offset) if isinstance(offset, int) else offset)

    def build(self, main: str = "main", *, named: tuple[Expr, ...] = ()) -> Program:
        """The program; `named` are the variables that the source has, by their names without procedure."""
        for name in (main, *self._locals):
            self.at(name, "entry")
        procedures = {}
        for name, edges in self._edges.items():
            procedures[name] = Procedure(
                name,
                tuple(self._parameters.get(name, ())),
                tuple(self._results.get(name, ())),
                tuple(self._locals.get(name, ())),
                self.at(name, "entry"),
                self.at(name, "exit"),
                tuple(edges),
            )
        return Program(
            procedures,
            main,
            tuple(self._globals),
            tuple(self._errors),
            {v: value for v, value in self._globals.items() if value is not None},
            {v: v.name.rpartition(".")[2] for v in named},
        )
