"""Sources of the values that a program does not determine: a trace, random numbers, or none at all.

`NoInputs` shows that a program has only one run: every undetermined value is an object that raises an
exception as soon as the run depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import NoReturn, Protocol, cast

from certus.core import floats
from certus.core.effects import terms
from certus.core.errors import CertusError, Inconsistent
from certus.core.evidence import Trace
from certus.core.program import Alloc, Havoc, Program
from certus.core.terms import BOOL, INT, REAL, ArraySort, Expr, Kind, MachineSort, Sort, Value
from certus.core.values import ArrayValue, Datum, as_value, default_value
from certus.core.walk import postorder
from certus.interpreter.indeterminate import Indeterminate


class Inputs(Protocol):
    """The nondeterministic values of one run. `contents`, if present, are the bytes of new objects."""

    def initial(self, variable: Expr) -> Datum:
        """Return the value at the start of a global that has no initial value."""

    def local(self, variable: Expr) -> Datum:
        """Return the value of a local at the entry of its procedure. No run depends on it: where it is
        read, the program has a `Havoc` before."""

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        """Return the values for the targets of a `Havoc` edge at its execution `occurrence`, from 0."""


Contents = Mapping[int, tuple[bytes, ...]]  # of the objects that each `Alloc` edge creates, in order


def contents(inputs: Inputs) -> Contents | None:
    """Return the first bytes of new objects in a run with these inputs; further bytes are 0. None if reading
    a byte that was never written is a fault."""
    chosen: Contents | None = getattr(inputs, "contents", None)
    return chosen


class TraceInputs:
    """The values of a trace; a value that the trace lacks is 0 or false. `objects` are the contents that the
    trace gives to new objects. A value that stands for something not modelled is an `Indeterminate`, so a run
    that depends on it is not a counterexample.

    Raises `Inconsistent` if a value does not have the sort of its variable."""

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
        value = self._initial.get(variable)
        return default_value(variable.sort) if value is None else value

    def local(self, variable: Expr) -> Datum:
        return default_value(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        if edge in self._unmodelled:
            return (cast(Datum, self._unmodelled[edge]),) * len(targets)
        executions = self._inputs.get(edge, ())
        if occurrence < len(executions):
            return executions[occurrence]
        return tuple(default_value(t.sort) for t in targets)


class ReplayInputs(TraceInputs):
    """The values of a trace, where new objects contain the bytes of the trace, or zeros."""

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
        raise Inconsistent(f"the trace gives an object contents that are not bytes: {error}") from error


def _padded(values: Sequence[Datum], targets: Sequence[Expr]) -> tuple[Datum, ...]:
    if len(values) > len(targets):
        raise Inconsistent(f"the trace gives {len(values)} values to {len(targets)} variables")
    checked = [_checked(value, target) for value, target in zip(values, targets, strict=False)]
    return (*checked, *(default_value(t.sort) for t in targets[len(values) :]))


class RandomInputs:
    """Random values, determined by the state of `random`: mostly small, or near constants of the program or
    the limits of the sort, or repeated. `formats` are those of variables that are floating-point numbers.
    `trace` returns the values so far."""

    def __init__(
        self,
        random: Random,
        constants: Mapping[Sort, tuple[Value, ...]],
        formats: Mapping[Expr, str] | None = None,
    ) -> None:
        self._random = random
        self._constants = constants
        self._formats = formats or {}
        self._earlier: dict[Sort, list[Datum]] = {}  # values to repeat
        self._initial: dict[Expr, Datum] = {}
        self._inputs: dict[int, list[tuple[Datum, ...]]] = {}

    @property
    def asked(self) -> bool:
        """Return whether the run has asked for any value."""
        return bool(self._initial or self._inputs)

    def initial(self, variable: Expr) -> Datum:
        value = self._initial[variable] = self._value(variable.sort)
        return value

    def local(self, variable: Expr) -> Datum:
        return self._draw(variable.sort)

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        values = tuple(self._value(t.sort, self._formats.get(t, "")) for t in targets)
        self._inputs.setdefault(edge, []).append(values)
        return values

    def values(self, sort: Sort, format: str = "") -> Iterator[int]:
        """Yield an endless sequence of numbers of a sort, or of the bits of floating-point numbers."""
        while True:
            value = self._value(sort, format)
            assert isinstance(value, int)
            yield value

    def trace(self, error: str) -> Trace:
        """Return the values so far as a trace to an error, without arrays: a trace cannot contain any."""
        return Trace(
            error,
            {v: x for v, x in self._initial.items() if not isinstance(x, ArrayValue)},
            {edge: tuple(map(_scalars, values)) for edge, values in self._inputs.items()},
        )

    def _value(self, sort: Sort, format: str = "") -> Datum:
        earlier = self._earlier.setdefault(sort, [])
        if earlier and self._random.random() < 0.2:
            return self._random.choice(earlier)
        value = self._float(floats.FORMATS[format], sort) if format else self._draw(sort)
        if len(earlier) < 100:
            earlier.append(value)
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

    def _float(self, format: floats.Format, sort: Sort) -> int:
        """Return the bits of a number: a small one, a constant of the program or a neighbour of it, the end
        of a range, a special value, or any bits."""
        random = self._random
        dice = random.random()
        constants = self._constants.get(sort, ())
        if dice < 0.3:
            return floats.from_integer(format, random.randint(-3, 10))
        if dice < 0.5 and constants:
            bits = (int(random.choice(constants)) + random.choice((-1, 0, 0, 1))) % (1 << format.width)
        elif dice < 0.7:
            near = Fraction(random.randint(-(10**6), 10**6), 10 ** random.randint(0, 6))
            bits = floats.from_fraction(format, floats.NEAREST, near)
        elif dice < 0.8:
            bits = random.choice(special_floats(format))
        elif dice < 0.95:
            scale = Fraction(2) ** random.randint(-format.bias // 2, format.bias // 2)
            bits = floats.from_fraction(format, floats.NEAREST, random.choice((-1, 1)) * scale)
            bits ^= random.getrandbits(format.precision - 1)
        else:
            bits = random.getrandbits(format.width)
        if format.explicit:  # only patterns that the hardware makes
            value = floats.unpack(format, bits)
            bits = format.nan if isinstance(value, floats.Special) else floats.rounded(format, 0, *value)
        return bits

    def _number(self, sort: Sort) -> int:
        random = self._random
        dice = random.random()
        if dice < 0.45:
            return random.randint(-2, 6)
        constants = self._constants.get(sort, ())
        if dice < 0.7 and constants:
            return int(random.choice(constants)) + random.randint(-1, 1)
        if dice < 0.85:
            return random.randint(-100, 100)
        if isinstance(sort, MachineSort):
            limit = random.choice((sort.low, sort.high))
            return random.choice((limit, limit - 1, limit + 1, random.randint(sort.low, sort.high)))
        return random.randint(-(10**6), 10**6)


def special_floats(format: floats.Format) -> tuple[int, ...]:
    """Return the bits of numbers at the ends of ranges: zeros, the smallest and largest ones, infinities and
    NaN."""
    least = 1 << format.fraction | (1 << (format.precision - 1) if format.explicit else 0)
    positive = (0, 1, least - 1 if not format.explicit else 1, least, format.largest, format.infinity)
    return (*positive, *(format.sign | bits for bits in positive), format.nan)


def _scalars(values: Sequence[Datum]) -> tuple[Value, ...]:
    return tuple(0 if isinstance(v, ArrayValue) else v for v in values)


def constants(program: Program) -> dict[Sort, tuple[Value, ...]]:
    """Return the constants in the program's terms by sort; Int constants also count for machine sorts."""
    roots = [term for edge in program.edge.values() for term in terms(edge.op)]
    by_sort: dict[Sort, dict[Value, None]] = {}
    numbers: dict[Value, None] = {}
    for term in postorder(*roots):
        if term.kind is Kind.CONST:
            by_sort.setdefault(term.sort, {})[term.value] = None
            if term.sort is INT:
                numbers[term.value] = None
        if isinstance(term.sort, (MachineSort, ArraySort)):
            by_sort.setdefault(term.sort, {})
    for sort, own in by_sort.items():
        if isinstance(sort, MachineSort):
            own.update((n, None) for n in numbers)
    return {sort: tuple(own) for sort, own in by_sort.items()}


class Nondeterministic(CertusError):
    """A run depends on a value that the program does not determine."""


class NoInputs:
    """No values at all: each is an object that a run may copy, but not use. Any use raises
    `Nondeterministic`, so a run that ends without it is the only run of the program."""

    def initial(self, variable: Expr) -> Datum:
        return unknown(variable.name)

    local = initial

    def havoc(self, edge: int, occurrence: int, targets: Sequence[Expr]) -> tuple[Datum, ...]:
        return tuple(unknown(t.name) for t in targets)


def unknown(name: str) -> Datum:
    """Return a value that may be copied, but not used."""
    return cast(Datum, UnknownValue(name))


class UnknownValue:
    """An unknown value. Every operation but copying raises `Nondeterministic`."""

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
