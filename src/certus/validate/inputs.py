"""Where the values come from that a program does not determine: a trace, chance, or nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import NoReturn, Protocol, cast

from certus.core.effects import terms
from certus.core.errors import CertusError, Inconsistent
from certus.core.evidence import Trace
from certus.core.program import Alloc, Havoc, Program
from certus.core.sorts import BOOL, INT, REAL, ArraySort, MachineSort, Sort
from certus.core.terms import Expr, Kind, Value
from certus.core.values import ArrayValue, Datum, as_value, default_value
from certus.core.walk import postorder
from certus.validate.indeterminate import Indeterminate


class Inputs(Protocol):
    """Answers for whatever is nondeterministic in one run."""

    def initial(self, variable: Expr) -> Datum:
        """The value of a global without initial value at the start."""
        ...

    def local(self, variable: Expr) -> Datum:
        """The value of a local at the entry of its procedure. Nothing may depend on it: where it
        matters, the program has a `Havoc`."""
        ...

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        """The values a `Havoc` edge gives its targets at its execution number `occurrence`, from 0."""
        ...


Contents = Mapping[int, tuple[bytes, ...]]  # of the objects that each `Alloc` edge makes, one after the other


def contents(inputs: Inputs) -> Contents | None:
    """What the new objects contain, if that is arbitrary, in a run with these inputs: what is not given is 0.
    None: it is a fault to use it."""
    found: Contents | None = getattr(inputs, "contents", None)
    return found


class TraceInputs:
    """The values of a trace; what it does not give is 0 or false. What stands for something that is not
    modelled has no value, so a run that depends on it is no evidence. `objects` are the contents that the
    trace gives to new objects.

    Raises `Inconsistent` if the trace gives values that are none of their variables' sorts."""

    def __init__(self, program: Program, trace: Trace) -> None:
        self._initial = {v: _checked(value, v) for v, value in trace.initial.items()}
        self._inputs: dict[int, tuple[tuple[Datum, ...], ...]] = {}
        self.objects: dict[int, tuple[bytes, ...]] = {}
        for index, executions in trace.inputs.items():
            op = program.edge[index].op if index in program.edge else None
            if isinstance(op, Havoc):
                self._inputs[index] = tuple(_padded(values, op.targets) for values in executions)
            elif isinstance(op, Alloc):
                self.objects[index] = tuple(map(_bytes, executions))
            else:
                raise Inconsistent(f"the trace has inputs for edge {index}, which takes none")
        self._unmodelled = {
            index: Indeterminate.unmodelled(edge.op.approximates)
            for index, edge in program.edge.items()
            if isinstance(edge.op, Havoc) and edge.op.approximates
        }

    def initial(self, variable: Expr) -> Datum:
        found = self._initial.get(variable)
        return default_value(variable.sort) if found is None else found

    def local(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        if edge in self._unmodelled:
            return (cast(Datum, self._unmodelled[edge]),) * len(targets)
        given = self._inputs.get(edge, ())
        if occurrence < len(given):
            return given[occurrence]
        return tuple(default_value(t.sort) for t in targets)


class ReplayInputs(TraceInputs):
    """The same for a replay, where new objects contain what the trace says, else 0."""

    @property
    def contents(self) -> Contents:
        return self.objects


def _checked(value: Datum, variable: Expr) -> Datum:
    try:
        return as_value(value, variable.sort)
    except ValueError as error:
        raise Inconsistent(f"the trace gives {variable.name} the value {value!r}: {error}") from error


def _bytes(values: Sequence[Datum]) -> bytes:
    try:
        return bytes(cast(Sequence[int], values))
    except (TypeError, ValueError) as error:
        raise Inconsistent(f"the trace gives an object contents that are no bytes: {error}") from error


def _padded(values: Sequence[Datum], targets: Sequence[Expr]) -> tuple[Datum, ...]:
    if len(values) > len(targets):
        raise Inconsistent(f"the trace gives {len(values)} values to {len(targets)} variables")
    found = [_checked(value, target) for value, target in zip(values, targets, strict=False)]
    return (*found, *(default_value(t.sort) for t in targets[len(values) :]))


class RandomInputs:
    """Values by chance, the same for the same `random`: mostly small, or near constants of the program
    and the limits of the sort, or given before. `trace` tells what was given."""

    def __init__(self, random: Random, constants: Mapping[Sort, tuple[Value, ...]]) -> None:
        self._random = random
        self._constants = constants
        self._given: dict[Sort, list[Datum]] = {}
        self._initial: dict[Expr, Datum] = {}
        self._inputs: dict[int, list[tuple[Datum, ...]]] = {}

    @property
    def asked(self) -> bool:
        """Whether the run depends on anything given here."""
        return bool(self._initial or self._inputs)

    def initial(self, variable: Expr) -> Datum:
        value = self._initial[variable] = self._value(variable.sort)
        return value

    def local(self, variable: Expr) -> Datum:
        return self._draw(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values = tuple(self._value(t.sort) for t in targets)
        self._inputs.setdefault(edge, []).append(values)
        return values

    def values(self, sort: Sort) -> Iterator[int]:
        """Numbers of a sort without an end."""
        while True:
            value = self._value(sort)
            assert isinstance(value, int)
            yield value

    def trace(self, error: str) -> Trace:
        """What was given so far, as a trace to an error. Arrays are left out: they have no place in one."""
        return Trace(
            error,
            {v: x for v, x in self._initial.items() if not isinstance(x, ArrayValue)},
            {edge: tuple(map(_scalars, values)) for edge, values in self._inputs.items()},
        )

    def _value(self, sort: Sort) -> Datum:
        given = self._given.setdefault(sort, [])
        if given and self._random.random() < 0.2:
            return self._random.choice(given)
        value = self._draw(sort)
        if len(given) < 100:
            given.append(value)
        return value

    def _draw(self, sort: Sort) -> Datum:
        random = self._random
        if isinstance(sort, ArraySort):
            entries = [(self._draw(sort.index), self._draw(sort.element)) for _ in range(random.randrange(4))]
            return ArrayValue(sort, self._draw(sort.element), entries)
        if sort is BOOL:
            return random.random() < 0.5
        number = self._number(sort)
        if sort is REAL:
            return Fraction(number, random.choice((1, 1, 2, 3)))
        return sort.wrap(number) if isinstance(sort, MachineSort) else number

    def _number(self, sort: Sort) -> int:
        random = self._random
        dice = random.random()
        if dice < 0.45:
            return random.randint(-2, 6)
        known = self._constants.get(sort, ())
        if dice < 0.7 and known:
            return int(random.choice(known)) + random.randint(-1, 1)
        if dice < 0.85:
            return random.randint(-100, 100)
        if isinstance(sort, MachineSort):
            limit = random.choice((sort.low, sort.high))
            return random.choice((limit, limit - 1, limit + 1, random.randint(sort.low, sort.high)))
        return random.randint(-(10**6), 10**6)


def _scalars(values: Sequence[Datum]) -> tuple[Value, ...]:
    return tuple(0 if isinstance(v, ArrayValue) else v for v in values)


def constants(program: Program) -> dict[Sort, tuple[Value, ...]]:
    """The constants in the program's terms, by sort; Int and machine constants count for one another."""
    roots = [term for edge in program.edge.values() for term in terms(edge.op)]
    found: dict[Sort, dict[Value, None]] = {}
    numbers: dict[Value, None] = {}
    for term in postorder(*roots):
        if term.kind is Kind.CONST:
            found.setdefault(term.sort, {})[term.value] = None
            if term.sort is INT:
                numbers[term.value] = None
        if isinstance(term.sort, (MachineSort, ArraySort)):
            found.setdefault(term.sort, {})
    for sort, own in found.items():
        if isinstance(sort, MachineSort):
            own.update((n, None) for n in numbers)
    return {sort: tuple(own) for sort, own in found.items()}


class Nondeterministic(CertusError):
    """A run looked at a value that the program does not determine."""


class NoInputs:
    """For programs that need no input: every value not determined by the program is an object that can
    be copied but not looked at; the attempt raises `Nondeterministic`."""

    def initial(self, variable: Expr) -> Datum:
        return unknown(variable.name)

    def local(self, variable: Expr) -> Datum:
        return unknown(variable.name)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        return tuple(unknown(t.name) for t in targets)


def unknown(name: str) -> Datum:
    """A value that can be passed on, but not looked at."""
    return cast(Datum, _Unknown(name))


class _Unknown:
    """A value nobody knows. Whatever is done with it, other than passing it on, is refused."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def _refuse(self, *_: object) -> NoReturn:
        raise Nondeterministic(f"the run depends on the value of {self.name}, which nothing determines")

    __bool__ = __eq__ = __ne__ = __hash__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = __getattr__ = _refuse
    __pos__ = __neg__ = __invert__ = __abs__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _refuse
