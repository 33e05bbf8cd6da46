"""Warn where the order of evaluation may matter, which C leaves open and Certus takes from Clang.

The instructions of one statement are compared in pairs. Their order matters if C does not sequence the source
expressions that they belong to, and one writes what the other reads or writes: a variable, memory, or whether
the program continues, which a call of `exit` writes and an error site reads. A call has the effects of its
function. A pointer may lead to any variable in memory. The analysis ignores that a call may never return, and
the effects of the statements in `({ ... })` on the expression around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.effects import terms
from certus.core.loops import components
from certus.core.program import Alloc, Assign, Call, Free, Havoc, Load, Store
from certus.core.terms import Expr, Kind
from certus.core.walk import variables
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Symbol
from certus.frontend.c.model import library
from certus.frontend.c.model.body import Body
from certus.frontend.c.model.operands import variable_at
from certus.frontend.c.model.sources import finder
from certus.frontend.c.model.unit import Unit
from certus.frontend.c.source import expressions
from certus.frontend.c.source.expressions import ASSIGNMENTS, Range
from certus.frontend.c.source.statements import Statements
from certus.frontend.c.source.tokens import is_word

_MEMORY: Final = "memory"  # the target of an unknown pointer
_GOING_ON: Final = "going on"  # whether the program does
_NEAR: Final = 40  # instructions before one that it is compared with
_SEQUENCED: Final = ("&&", "||", "?")
_MESSAGE: Final = (
    "C does not define which of these operands is evaluated first, and one changes what another uses: Certus "
    "assumes the order of Clang; other compilers may choose another."
)
_Key = Expr | str  # a variable, the address of a variable in memory, or one of the words above


@dataclass(slots=True)
class _Effect:
    reads: set[_Key] = field(default_factory=set)
    writes: set[_Key] = field(default_factory=set)

    def add(self, other: _Effect) -> None:
        self.reads |= other.reads
        self.writes |= other.writes


def order_warning(unit: Unit) -> Diagnostic | None:
    """Return a warning for the first statement whose value depends on an order that C leaves open."""
    orders = _Orders(unit)
    spans = (orders.find(body) for body in unit.bodies.values() if unit.is_program(body.module))
    span = next((span for span in spans if span is not None), None)
    return None if span is None else Diagnostic("evaluation-order", _MESSAGE, Severity.WARNING, span)


class _Orders:
    """The variables and objects that the instructions and functions of a program read and write."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._library = frozenset(unit.library.initial())
        statics, sizes = unit.symbols.objects.values(), unit.library.sizes
        self._objects = {each.base: True for each in statics}  # whether they have names
        for body in unit.bodies.values():
            for edge in body.draft.edges:
                if isinstance(edge.op, Alloc) and edge.op.storage != "heap":
                    self._objects[edge.op.target] = edge.op.name not in ("argument", "arguments")
            unnamed = [local.base for local in body.locals.objects.values() if not local.named]
            self._objects.update(dict.fromkeys(unnamed, False))
        # Internal state of the library: the order of two changes to it makes no difference.
        self._own = {_GOING_ON, *self._library, *(() if sizes is None else (sizes,))}
        self._own.update(v for v, (module, _) in unit.symbols.scalars.items() if not unit.is_program(module))
        self._own.update(each.base for each in statics if not unit.is_program(each.module))
        self._steps = {name: self._instructions(body) for name, body in unit.bodies.items()}
        self._functions = self._summaries()

    # ------------------------------------------------------------------------------------ effects

    def _instructions(self, body: Body) -> dict[int, tuple[_Effect, list[str]]]:
        """Return the effect of each instruction of a function, and the functions it calls, by its number."""
        steps: dict[int, tuple[_Effect, list[str]]] = {}
        for edge in body.draft.edges:
            op = edge.op
            effect, calls = steps.setdefault(edge.order[0], (_Effect(), []))
            if isinstance(op, Assign | Havoc | Call):
                effect.writes.update(v for v in op.targets if v not in body.temporaries)
            if isinstance(op, Call):
                calls.append(op.procedure)
            elif isinstance(op, Load):
                effect.reads.update(self._place(op.address))
            elif isinstance(op, Store) or (isinstance(op, Free) and op.storage == "heap"):
                effect.writes.update(self._place(op.address))
            if self._library:
                effect.reads.update(v for v in variables(*terms(op)) if v in self._library)
            if edge.target in body.draft.errors:
                effect.reads.add(_GOING_ON)
        for number, key, read in self._accesses(body):
            effect, _ = steps.setdefault(number, (_Effect(), []))
            (effect.reads if read else effect.writes).add(key)
        return steps

    def _accesses(self, body: Body) -> Iterator[tuple[int, _Key, bool]]:
        """Yield the loads of variables, whose values are read in later steps, and calls that end the program,
        except those behind an error."""
        unit, number = self._unit, body.flow.number
        for block in body.flow.blocks.values():
            for instruction in block.instructions:
                if isinstance(instruction, ir.Load):
                    variable = variable_at(body, instruction.pointer)
                    if variable is not None:
                        yield number[instruction], variable, True
                elif isinstance(instruction, ir.Call) and isinstance(instruction.callee, Symbol):
                    name = instruction.callee.name
                    if name in unit.rules.functions:
                        break
                    if name not in unit.bodies and name in library.MAY_END:
                        yield number[instruction], _GOING_ON, False

    def _place(self, address: Expr) -> set[_Key]:
        """Return the object that an access touches: none, if it has no name, since it only carries an
        argument or a result."""
        parts = (address, *address.args) if address.kind is Kind.ADD else (address,)
        base = next((part for part in parts if part in self._objects), None)
        if base is None:
            return {_MEMORY}
        return {base} if self._objects[base] else set()

    def _summaries(self) -> dict[str, _Effect]:
        """Return the effect of each function on what is not its own, including the functions it calls."""
        effects: dict[str, _Effect] = {}
        calls = {name: [c for _, called in s.values() for c in called] for name, s in self._steps.items()}
        for group in components(tuple(calls), calls.__getitem__):  # callees first
            together = _Effect()
            for name in group:
                own, effect = self._unit.bodies[name].variables, _Effect()
                for step, _ in self._steps[name].values():
                    effect.add(step)
                together.reads |= effect.reads.difference(own)
                together.writes |= effect.writes.difference(own)
                for callee in calls[name]:
                    together.add(effects.get(callee, _Effect()))
            effects.update(dict.fromkeys(group, together))
        return effects

    def _disturb(self, one: _Effect, other: _Effect) -> bool:
        """Return whether the order of two effects matters."""
        return (
            self._meet(one.writes, other.reads)
            or self._meet(one.reads, other.writes)
            or self._meet(one.writes - self._own, other.writes - self._own)
        )

    def _meet(self, one: set[_Key], other: set[_Key]) -> bool:
        if not one.isdisjoint(other):
            return True
        pairs = ((one, other), (other, one))
        return any(_MEMORY in a and not b.isdisjoint(self._objects) for a, b in pairs)

    # --------------------------------------------------------------------------------- statements

    def find(self, body: Body) -> Span | None:
        """Return the first span of a function in which an order matters that C leaves open."""
        statements: dict[Span, list[tuple[ir.Instruction, _Effect]]] = {}
        steps = self._steps[body.name]
        for instruction, number in body.flow.number.items():
            if number not in steps or instruction.location is None:
                continue
            (own, calls), effect = steps[number], _Effect()
            for each in (own, *map(self._functions.__getitem__, calls)):
                effect.add(each)
            if not effect.reads and not effect.writes:
                continue
            written = self._unit.sources.written(instruction.location)
            if written is not None:
                statements.setdefault(written.statement, []).append((instruction, effect))
        for events in statements.values():
            if len(events) > 1 and any(effect.writes for _, effect in events):
                span = self._compare(body, events)
                if span is not None:
                    return span
        return None

    def _compare(self, body: Body, events: list[tuple[ir.Instruction, _Effect]]) -> Span | None:
        for number, (second, effect) in enumerate(events):
            for first, other in events[max(0, number - _NEAR) : number]:
                if first.location == second.location or not self._disturb(effect, other):
                    continue
                one, two = self._part(body, first, other), self._part(body, second, effect)
                if one is None or two is None or one[0] is not two[0]:
                    continue
                left, right = sorted((one[1], two[1]))
                if _is_open(one[0], left, right):
                    return one[0].span(left[0], right[1])
        return None

    def _part(
        self, body: Body, instruction: ir.Instruction, effect: _Effect
    ) -> tuple[Statements, Range] | None:
        """Return the part of the source that an instruction belongs to."""
        place, find = self._unit.sources.token(instruction.location), finder(body, instruction)
        if place is None or find is None:
            return None
        source, token = place
        text, following = (*source.tokens.texts[token : token + 2], "")[:2]
        if is_word(text) and following == "(":
            by_name = isinstance(instruction, ir.Call) and text in instruction.text
            find = expressions.call if by_name or effect.writes else _word  # a copy of an argument
        elif find is expressions.call and not is_word(text) and text != "(":
            find = expressions.operation  # a check fails
        part = find(source, token)
        if part is None and is_word(text) and (find is expressions.call or not effect.writes):
            part = token, token  # the use of a macro; a record that is copied to be passed
        return None if part is None else (source, part)


# -------------------------------------------------------------------------------------- the text


def _word(statements: Statements, token: int) -> Range:
    return token, token


def _is_open(statements: Statements, left: Range, right: Range) -> bool:
    """Return whether C leaves open which of two parts of an expression is evaluated first. The tokens between
    them decide, on the level of brackets that contains both."""
    tokens = statements.tokens
    part = statements.part(left[0])
    while part is not None and part.last < right[1]:
        part = statements.parts[part.around] if part.around >= 0 else None
    if part is None or right[0] <= left[1] + 1:
        return False
    between: list[str] = []
    at = left[1] + 1
    while at < right[0]:
        partner = tokens.partners[at]
        if partner >= right[0]:
            break  # the right part is in these brackets
        if 0 <= partner < at:
            between.clear()  # the left part is in these brackets
        elif partner < 0:
            between.append(tokens.texts[at])
        at = max(at, partner) + 1
    if ";" in between or (between and all(map(is_word, between))):
        return False  # words without operators: uses of macros that are statements
    if "," in between:
        return _is_list(statements, at, part.first)
    if between.count(":") > between.count("?"):
        return False  # only one of the two is evaluated
    first = next((text for text in between if text in ASSIGNMENTS or text in _SEQUENCED), "")
    return first not in _SEQUENCED


def _is_list(statements: Statements, token: int, lowest: int) -> bool:
    """Return whether the brackets around a token enclose arguments or an initialiser."""
    texts, partners = statements.tokens.texts, statements.tokens.partners
    at = token - 1
    while at > lowest and partners[at] <= token:
        at = partners[at] - 1 if 0 <= partners[at] < at else at - 1
    if at <= lowest:
        return False  # declarators, or expressions one after the other
    before = texts[at - 1]
    if before == ")" and texts[at] == "(":  # behind a cast there is only an expression
        opened = partners[at - 1]
        return texts[opened + 1] == "*" or is_word(texts[opened - 1])
    return (texts[at] == "{" and before != "(") or is_word(before) or before == "]"
