"""Try to contradict a proof by random runs: none may reach an error or falsify a claim of the proof.

This check uses the interpreter and no solver. Run number k depends on the seed and k only; just the number
of runs, up to `MOST`, depends on the time.

Observers compare each run with the claims of the proof. Each visit of a location belongs to a point as in
`check.proofs.expansion`: call strings start at a *root*, which is main or a procedure with a summary. A call
of a summarised procedure starts a new root unless the proof mentions the call string. A recursive procedure
without summary is skipped: the proof claims nothing below it. Formulas that cannot be computed (quantifiers),
or are undefined at a visit, claim nothing there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, cast

from certus.core.accounting import Budget
from certus.core.c_text import c_text
from certus.core.diagnostic import Diagnostic
from certus.core.errors import BudgetExceeded, CertusError, Unsupported
from certus.core.evidence import (
    Inductive,
    KInductive,
    Partitioned,
    Point,
    Proof,
    Trace,
    Unrolling,
    in_frame,
    old,
)
from certus.core.loops import Loop, loop_forest, recursive
from certus.core.program import Call, Edge, Location, Program
from certus.core.terms import Expr
from certus.core.values import Datum
from certus.core.walk import variables
from certus.interpreter.compile import Compiled, compile_program
from certus.interpreter.expressions import Writer, define, new_namespace
from certus.interpreter.indeterminate import Fault
from certus.interpreter.inputs import RandomInputs, constants
from certus.interpreter.interpreter import Ending, Machine, Observer, run

MOST: Final = 100  # runs
CONTRADICTION: Final = "internal-contradiction"
_LENGTHS: Final = (1, 5, 1, 50)  # limits on the steps of runs, in turn, as multiples of the least
_LEAST: Final = 300  # steps; or what may pass every edge twice, if that is more
_HINT: Final = "this is a defect of Certus, not of the program; please report it with the saved evidence"


@dataclass(frozen=True, slots=True)
class ChallengeResult:
    """The number of `runs` without undefined behaviour, the first contradiction with the inputs that lead to
    it, and the names of the error locations whose conditions some run evaluates."""

    runs: int
    contradiction: Diagnostic | None = None
    trace: Trace | None = None
    reached: tuple[str, ...] = ()


def challenge(program: Program, proof: Proof, *, seconds: float = 0.2, seed: int = 0) -> ChallengeResult:
    """Run the program against `proof` up to `MOST` times or for `seconds`, but at least once."""
    compiled, numbers = compile_program(program), constants(program)
    guards = _Guards(program)
    observer = _All((guards, *_observers(compiled, proof)))
    compiled.code(observer.watched).require(program.main)
    least = max(_LEAST, 2 * len(program.edge))
    budget = Budget(seconds)
    runs, number = 0, 0
    while number == 0 or (number < MOST and budget.remaining()):
        inputs = RandomInputs(Random(f"{seed}/{number}"), numbers, program.formats)
        length = _LENGTHS[number % len(_LENGTHS)]
        try:
            end = run(compiled, inputs, step_limit=length * least, budget=budget, observer=observer)
            if end.ending is Ending.ERROR:
                raise Contradicted(_failure(program, end.location, end.steps), end.location)
        except Contradicted as error:
            reason = Diagnostic(CONTRADICTION, str(error), span=error.location.span, hint=_HINT)
            return ChallengeResult(runs + 1, reason, inputs.trace(error.location.name), guards.reached())
        except BudgetExceeded:
            break
        number += 1
        runs += end.ending is not Ending.UNDEFINED
        if not inputs.asked and (end.ending is not Ending.LIMIT or length == max(_LENGTHS)):
            break  # the program has no other run
    return ChallengeResult(runs, reached=guards.reached())


def _failure(program: Program, location: Location, steps: int) -> str:
    site = program.error_at(location)
    return (
        f"a run of {steps} steps reaches the error {location.name} ({site.kind}), where the proof claims none"
    )


def _observers(compiled: Compiled, proof: Proof) -> tuple[Observer, ...]:
    if isinstance(proof, Partitioned):  # claims about cells and addresses are ignored: runs have none
        return _observers(compiled, proof.proof)
    if isinstance(proof, (Inductive, KInductive)):
        return (Formulas(compiled, proof),)
    return (Bounds(compiled, proof),) if isinstance(proof, Unrolling) else ()


class _Guards(Observer):
    """An observer that records the error sites whose conditions some run evaluates. If the front end gives
    no start of the condition, the sources of the edges into the error count as its start."""

    def __init__(self, program: Program) -> None:
        self._visited: dict[Location, bool] = {}
        self._sites: list[tuple[str, tuple[Location, ...]]] = []
        for site in program.errors:
            into = program.procedures[site.location.procedure].predecessors[site.location]
            starts = tuple(e.source for e in into) if site.start is None else (site.start,)
            self._sites.append((site.location.name, starts))
            self._visited.update(dict.fromkeys(starts, False))
        self.watched = frozenset(self._visited)

    def reached(self) -> tuple[str, ...]:
        """Return the names of these error sites."""
        return tuple(name for name, starts in self._sites if any(self._visited[s] for s in starts))

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        if machine.location in self._visited:
            self._visited[machine.location] = True


class _All(Observer):
    """Several observers combined into one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self.watched = frozenset().union(*(o.watched for o in observers))

    def start(self, machine: Machine) -> None:
        for observer in self._observers:
            observer.start(machine)

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        for observer in self._observers:
            observer.arrive(machine, edge)

    def enter(self, machine: Machine, edge: Edge) -> None:
        for observer in self._observers:
            observer.enter(machine, edge)

    def leave(self, machine: Machine, edge: Edge) -> None:
        for observer in self._observers:
            observer.leave(machine, edge)


# ---------------------------------------------------------------------------- claims of the proof

_SHOWN = 12  # values in a message
_Frame = list[Datum]
_State = tuple[_Frame, _Frame, _Frame, list[_Frame]]  # globals, globals and frame at the root, frames
_Holds = Callable[[_Frame, _Frame, _Frame, list[_Frame]], bool | None]
_Values = Callable[[_Frame, _Frame, _Frame, list[_Frame]], tuple[Datum, ...]]


class Contradicted(CertusError):
    """A run contradicts a claim of the proof at `location`."""

    def __init__(self, message: str, location: Location) -> None:
        super().__init__(message)
        self.location = location


@dataclass(frozen=True, slots=True)
class _Claim:
    """A formula compiled to a Python function of the globals, of the globals and the frame at the entry of
    the root, and of the frames from the root on. `values` returns the values of its first variables."""

    formula: Expr
    holds: _Holds
    values: _Values


@dataclass(frozen=True, slots=True)
class _Activation:
    """An activation by the depth of its root, the calls since, and the state at the entry of the root."""

    root: int
    calls: tuple[int, ...]
    old_globals: _Frame
    old_frame: _Frame


class Formulas(Observer):
    """An observer that checks the formulas at points and the summaries at exits."""

    def __init__(self, compiled: Compiled, proof: Inductive | KInductive) -> None:
        program = self._program = compiled.program
        self._compiled = compiled
        self._summarised = proof.summaries if isinstance(proof, Inductive) else {}
        self._recursive = {name for group in recursive(program) for name in group}
        self._mentioned = {p.calls[:n] for p in proof.invariants for n in range(1, len(p.calls) + 1)}
        self._claims: dict[Point, list[_Claim]] = {}
        for point, formula in proof.invariants.items():
            self._add(point, formula)
        for name, formula in self._summarised.items():
            self._add(Point(program.procedures[name].exit), formula)
        self.watched = frozenset(point.location for point in self._claims)
        self._stack: list[_Activation | None] = []  # by activation; None: no claims

    def _add(self, point: Point, formula: Expr) -> None:
        names = self._names(point)
        if all(v in names for v in variables(formula)):
            claim = _claim(formula, names)
            if claim is not None:
                self._claims.setdefault(point, []).append(claim)

    def _names(self, point: Point) -> dict[Expr, str]:
        program, compiled = self._program, self._compiled
        owners = [program.edge[c].source.procedure for c in point.calls]
        owners.append(point.location.procedure)
        names: dict[Expr, str] = {}
        for variable, slot in compiled.globals.items():
            names[variable] = f"g[{slot}]"
            names[old(variable)] = f"og[{slot}]"
        for parameter in program.procedures[owners[0]].parameters:
            names[old(parameter)] = f"ol[{compiled.locals[owners[0]][parameter]}]"
        for depth, owner in enumerate(owners):
            for variable, slot in compiled.locals[owner].items():
                names[in_frame(variable, depth)] = f"f[{depth}][{slot}]"
        return names

    # ------------------------------------------------------------------------------- observing

    def start(self, machine: Machine) -> None:
        self._stack = [_root(machine)]

    def enter(self, machine: Machine, edge: Edge) -> None:
        caller = self._stack[-1]
        callee = machine.location.procedure
        inner: _Activation | None = None
        if caller is not None:
            calls = (*caller.calls, edge.index)
            entered = callee not in self._summarised and callee not in self._recursive
            if entered or calls in self._mentioned:
                inner = _Activation(caller.root, calls, caller.old_globals, caller.old_frame)
            elif callee in self._summarised:
                inner = _root(machine)
        self._stack.append(inner)

    def leave(self, machine: Machine, edge: Edge) -> None:
        self._stack.pop()

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        here = self._stack[-1]
        if here is None:
            return
        claims = self._claims.get(Point(machine.location, here.calls))
        if claims is None:
            return
        frames = [*machine.frames[here.root :], machine.frame]
        state = (machine.globals, here.old_globals, here.old_frame, frames)
        for claim in claims:
            if _holds(claim, state) is False:
                raise Contradicted(_falsified(machine, claim, state), machine.location)


def _holds(claim: _Claim, state: _State) -> bool | None:
    """Return whether the claim holds; None if it is undefined or reads uninitialised memory."""
    try:
        return claim.holds(*state)
    except Fault:
        return None


def _root(machine: Machine) -> _Activation:
    return _Activation(machine.depth, (), machine.globals.copy(), machine.frame.copy())


def _claim(formula: Expr, names: dict[Expr, str]) -> _Claim | None:
    """Compile `formula`; return None if it cannot be computed."""
    namespace = new_namespace()
    out = Writer(names, namespace)
    out.indent = 0
    out.line("def holds(g, og, ol, f):")
    out.indent = 1
    try:
        (value,) = out.terms([formula])
    except Unsupported:
        return None
    out.line(f"return {value.text}")
    out.indent = 0
    shown = "".join(f"{names[v]}, " for v in variables(formula)[:_SHOWN])
    out.line(f"def values(g, og, ol, f): return ({shown})")
    define("\n".join(out.lines) + "\n", "claim", namespace)
    return _Claim(formula, cast(_Holds, namespace["holds"]), cast(_Values, namespace["values"]))


def _falsified(machine: Machine, claim: _Claim, state: _State) -> str:
    named = zip(variables(claim.formula), claim.values(*state), strict=False)
    where = ", ".join(f"{v.name} = {_short(value)}" for v, value in named) or "any values"
    return (
        f"a run of {machine.steps} steps reaches {machine.location.name} with {where}, "
        f"where the proof claims {c_text(claim.formula, limit=400)}"
    )


def _short(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


class Bounds(Observer):
    """An observer that checks the bounds of an unrolling: on entries of loops and on simultaneous
    activations. A loop or recursive procedure that the proof does not mention has the bound 0."""

    def __init__(self, compiled: Compiled, proof: Unrolling) -> None:
        program = compiled.program
        self._loops: dict[Location, list[tuple[Loop, int]]] = {}  # by entry, with the bound
        for procedure in program.procedures.values():
            for loop in loop_forest(procedure).loops:
                for entry in loop.entries:
                    bounded = (loop, proof.loops.get(loop.head.name, 0))
                    self._loops.setdefault(entry, []).append(bounded)
        self._recursion = {
            name: proof.recursion.get(name, 0) for group in recursive(program) for name in group
        }
        self.watched = frozenset(self._loops)
        self._active: dict[str, int] = {}  # activations by procedure
        self._entries: list[dict[Loop, int]] = []  # by activation: entries since control came from outside

    def start(self, machine: Machine) -> None:
        self._entries, self._active = [], {}
        self._activate(machine)

    def enter(self, machine: Machine, edge: Edge) -> None:
        self._activate(machine)

    def leave(self, machine: Machine, edge: Edge) -> None:
        assert isinstance(edge.op, Call)
        self._entries.pop()
        self._active[edge.op.procedure] -= 1

    def arrive(self, machine: Machine, edge: Edge | None) -> None:
        entries = self._entries[-1]
        for loop, bound in self._loops.get(machine.location, ()):
            again = edge is not None and edge.source in loop.body
            number = entries[loop] = entries.get(loop, 0) + 1 if again else 1
            if number > bound:
                raise Contradicted(
                    f"a run of {machine.steps} steps enters the loop at {loop.head.name} {_times(number)}, "
                    f"where the proof claims at most {_times(bound)}",
                    machine.location,
                )

    def _activate(self, machine: Machine) -> None:
        name = machine.location.procedure
        self._entries.append({})
        active = self._active[name] = self._active.get(name, 0) + 1
        bound = self._recursion.get(name)
        if bound is not None and active > bound:
            raise Contradicted(
                f"a run of {machine.steps} steps has {active} activations of {name} at once, "
                f"where the proof claims at most {bound}",
                machine.location,
            )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
