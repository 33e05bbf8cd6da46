"""The three verdicts and their evidence: proofs, traces and derivations, by which a verdict can be checked.

A *point* is a location with a call string: the call edges (by index) entered since the frame where
the string starts. Its formula ranges over

- the globals (`x`), and their values at the entry of the frame where the string starts (`old(x)`);
- the locals of that first frame (`p.x`) and its parameters at entry (`old(p.x)`);
- the locals of the k-th frame entered after it (`q.y/k`), for k = 1 .. length of the string.

See "Evidence, precisely" in ARCHITECTURE.md for the clauses a proof must satisfy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from certus.core import build
from certus.core.diagnostic import Diagnostic
from certus.core.horn import Derivation, Model
from certus.core.memory import Partition
from certus.core.program import Location
from certus.core.terms import Expr, Value


def old(variable: Expr) -> Expr:
    """Return the variable for the value that `variable` had when the first frame of the call string began."""
    return build.var(f"old({variable.name})", variable.sort)


def in_frame(variable: Expr, depth: int) -> Expr:
    """Return a local as it is named in the frame entered by the `depth`-th call of a call string."""
    return variable if depth == 0 else build.var(f"{variable.name}/{depth}", variable.sort)


@dataclass(frozen=True, slots=True)
class Standing:
    """The meaning of a variable in a formula: a `variable` of the program, at the entry (`is_old`) or in the
    frame entered by the `depth`-th call."""

    variable: Expr
    is_old: bool = False
    depth: int = 0

    def of(self, variable: Expr) -> Expr:
        """Return the variable of a formula that has this meaning for another variable of the program."""
        return old(variable) if self.is_old else in_frame(variable, self.depth)


def stands_for(x: Expr, named: Mapping[str, Expr]) -> Standing | None:
    """Return the meaning of the variable `x` of a formula among the program's variables, which are `named`;
    None if it has none. The program's variable may have another sort: a partition replaces addresses."""
    if x.name in named:
        return Standing(named[x.name])
    if x.name.startswith("old(") and x.name[4:-1] in named:
        return Standing(named[x.name[4:-1]], is_old=True)
    name, _, depth = x.name.rpartition("/")
    return Standing(named[name], depth=int(depth)) if name in named and depth.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Point:
    """A location, and the calls by which it is reached."""

    location: Location
    calls: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The calls and the location, for reports and files."""
        return ">".join((*map(str, self.calls), self.location.name))


@dataclass(frozen=True, slots=True)
class Inductive:
    """A proof by formulas at points. A procedure that is not entered has a summary over `old(...)` of
    globals and parameters, and the present globals and results."""

    invariants: Mapping[Point, Expr]
    summaries: Mapping[str, Expr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KInductive:
    """A proof like `Inductive` whose formulas may rely on having held in the `k` visits before."""

    k: int
    invariants: Mapping[Point, Expr]


@dataclass(frozen=True, slots=True)
class Unrolling:
    """A proof by bounds: no execution enters a loop head (`loops`, by location name) or a recursive procedure
    (`recursion`, by name) more often than its bound, and none within the bounds fails.

    A loop's bound counts entries of its head in one activation since control last came to it from
    outside the loop; a procedure's bound counts its simultaneous activations."""

    loops: Mapping[str, int]
    recursion: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Execution:
    """A proof by running: the program reads no nondeterministic value, and its only run does not fail."""

    steps: int


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A proof about the program whose memory operations are replaced as `partition` says."""

    partition: Partition
    proof: Proof


Proof = Inductive | KInductive | Unrolling | Execution | Model | Partitioned


@dataclass(frozen=True, slots=True)
class Trace:
    """An execution that reaches an error, described by all values it depends on.

    `initial` are the values of globals without an initial value. `inputs` are, by the index of an edge, the
    values of a `Havoc` at its first, second, ... execution, or the bytes in the new object of an `Alloc`.
    Missing values are 0 or false."""

    error: str  # the name of the error location
    initial: Mapping[Expr, Value] = field(default_factory=dict)
    inputs: Mapping[int, tuple[tuple[Value, ...], ...]] = field(default_factory=dict)


Refutation = Trace | Derivation


@dataclass(frozen=True, slots=True)
class Safe:
    """The verdict that the property holds, with its proof."""

    proof: Proof


@dataclass(frozen=True, slots=True)
class Unsafe:
    """The verdict that the property is violated, with its refutation."""

    refutation: Refutation


@dataclass(frozen=True, slots=True)
class Unknown:
    """No verdict. `reason` says why and what to try next; its `code` is the cause."""

    reason: Diagnostic


Verdict = Safe | Unsafe | Unknown
