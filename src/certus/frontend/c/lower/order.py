"""Where the order of evaluation may matter, which C leaves open and Certus takes to be Clang's: operands from
left to right, and what is assigned before the object that it is assigned to.

What an operand reads and writes is a set of variables, of all memory together, and of whether the program
goes on, as the bits of an integer: who may end it writes that, who may fail reads it. A call reads and writes
what its function does, directly or by calls; one through a pointer, what any function does; one of a function
without body, memory if it is given a pointer. That a call may never come back is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from certus.core.diagnostic import Span
from certus.frontend.c import ast
from certus.frontend.c.library import LIBRARY
from certus.frontend.c.lower.arguments import called_function, library_entry
from certus.frontend.c.lower.stream_models import counters
from certus.frontend.c.lower.survey import inner, parts
from certus.frontend.c.lower.values import is_pointer, is_scalar
from certus.frontend.c.lower.world import World

_MEMORY: Final = 1
_GOING_ON: Final = 2  # whether the program does
_FIRST: Final = 4  # of variables
_ANY: Final = "*"  # any function: the one that a pointer points to
_MESSAGE: Final = (
    "operands here share what they change, and C leaves open which is evaluated first: Certus takes the "
    "order of Clang; other compilers may have another."
)


@dataclass(slots=True)
class _Effect:
    reads: int = 0
    writes: int = 0

    def add(self, other: _Effect) -> None:
        self.reads |= other.reads
        self.writes |= other.writes

    def disturbs(self, other: _Effect) -> bool:
        both = self.writes & other.writes & ~_GOING_ON  # who ends the program is all the same
        return bool(both or self.writes & other.reads or other.writes & self.reads)


def warn_of_orders(world: World) -> None:
    """Tell the user of the first expression whose value depends on an order that C does not fix."""
    for span in _Orders(world).found():
        world.warn("evaluation-order", "evaluation-order", _MESSAGE, span)
        return


class _Orders:
    def __init__(self, world: World) -> None:
        self._world = world
        self._bits: dict[str, int] = {}
        self._bodies = {name: world.unit.functions[name].body for name in world.surveys}
        self._functions = {name: _Effect() for name in (*self._bodies, _ANY)}
        self._static = {variable.identity for variable in world.unit.variables}

    def found(self) -> Iterator[Span]:
        self._summarise()
        for body in self._bodies.values():
            effects = self._effects(body)
            for node in parts(body):
                if _share(self._operands(node, effects)):
                    yield node.span

    def _summarise(self) -> None:
        """What each function does to what is not its own."""
        calls: dict[str, set[str]] = {_ANY: set(self._bodies)}
        for name, body in self._bodies.items():
            effect = self._functions[name]
            calls[name] = set()
            for node in self._parts(body):
                effect.add(self._own(node))
                if isinstance(node, ast.Call) and (callee := _callee(node)) in self._functions:
                    calls[name].add(callee)
        static = sum(bit for variable, bit in self._bits.items() if variable in self._static)
        shared = _MEMORY | _GOING_ON | static
        for effect in self._functions.values():
            effect.reads &= shared
            effect.writes &= shared
        changed = True
        while changed:
            changed = False
            for name, callees in calls.items():
                effect = self._functions[name]
                before = effect.reads, effect.writes
                for callee in callees:
                    effect.add(self._functions[callee])
                changed |= before != (effect.reads, effect.writes)

    def _parts(self, body: Any) -> Iterator[Any]:
        """What stands in a body, but what follows on an error in its block."""
        stack: list[Any] = [body]
        while stack:
            node = stack.pop()
            yield node
            if isinstance(node, ast.Block):
                for statement in node.statements:
                    stack.append(statement)
                    if self._is_error(statement):
                        break
            else:
                stack.extend(inner(node))

    def _is_error(self, statement: Any) -> bool:
        made = statement.expression if isinstance(statement, ast.ExpressionStatement) else None
        return isinstance(made, ast.Call) and _callee(made) in self._world.errors.functions

    def _effects(self, root: Any) -> dict[int, _Effect]:
        """What each part of a tree does, the last first: a part comes after what it is in."""
        effects: dict[int, _Effect] = {}
        for node in reversed(list(parts(root))):
            effect = effects[id(node)] = self._own(node)
            for part in inner(node):
                effect.add(effects[id(part)])
        return effects

    def _own(self, node: Any) -> _Effect:
        effect = self._plain(node)
        if isinstance(node, _COMPUTING) and self._world.errors.kind != "unreach-call":
            effect.reads |= _GOING_ON
        return effect

    def _plain(self, node: Any) -> _Effect:
        if isinstance(node, ast.Cast) and node.conversion is ast.Conversion.LOAD:
            return _Effect(reads=self._place(node.operand))
        if isinstance(node, ast.Assignment):
            return _Effect(writes=self._place(node.target))
        if isinstance(node, ast.CompoundAssignment):
            return _Effect(self._place(node.target), self._place(node.target))
        if isinstance(node, ast.Increment | ast.VaArg):
            return _Effect(self._place(node.operand), self._place(node.operand))
        return self._called(node) if isinstance(node, ast.Call) else _Effect()

    def _called(self, node: ast.Call) -> _Effect:
        name = _callee(node)
        if name in self._world.errors.functions:
            return _Effect(reads=_GOING_ON)
        if name in self._functions:
            return replace(self._functions[name])
        known = library_entry(self._world.unit.functions.get(name), name)
        if known is None:
            given = _MEMORY if any(is_pointer(argument.type) for argument in node.arguments) else 0
            return _Effect(given, given)
        entry = LIBRARY[known]
        if entry.model == "output" and counters(node, entry):
            return _Effect(_MEMORY, _MEMORY)
        return _Effect(*_MODELS.get(entry.detail, _MODELS.get(entry.model, (_MEMORY, _MEMORY))))

    def _place(self, node: ast.Expression) -> int:
        """The object that an lvalue is in."""
        while isinstance(node, ast.Member | ast.Subscript) or _is_decay(node):
            if isinstance(node, ast.Subscript):
                node = node.pointer
            else:
                node = node.base if isinstance(node, ast.Member) else node.operand  # type: ignore[union-attr]
        if not isinstance(node, ast.VariableReference):
            return _MEMORY
        identity, type_ = node.variable.identity, node.variable.type
        bit = self._bits.setdefault(identity, _FIRST << len(self._bits))
        alone = is_scalar(type_) and identity not in self._world.addressed
        return bit if alone else bit | _MEMORY

    def _operands(self, node: Any, effects: dict[int, _Effect]) -> list[_Effect]:
        if isinstance(node, ast.Binary):
            return [effects[id(node.left)], effects[id(node.right)]]
        if isinstance(node, ast.Subscript):
            return [effects[id(node.pointer)], effects[id(node.index)]]
        if isinstance(node, ast.Assignment):
            return [effects[id(node.target)], effects[id(node.value)]]
        if isinstance(node, ast.CompoundAssignment):
            target = _Effect(self._place(node.target))
            target.add(effects[id(node.target)])
            return [target, effects[id(node.value)]]
        if isinstance(node, ast.Call):
            return [effects[id(part)] for part in (node.function, *node.arguments)]
        if isinstance(node, ast.InitialiserList):
            return [effects[id(item)] for item in node.items]
        return []


# what functions of the library read and write, by their models, or what tells them apart: others memory
_TABLE: Final = (
    (0, 0, "inert output buffer character_input error_number signal refuse same character character_table"),
    (0, 0, "absolute divide bits rotate checked_p constant_p object_size"),
    (0, 0, "allocate allocate_zero allocate_or_fail allocate_aligned allocate_stack"),
    (_MEMORY, 0, "compare length find span search duplicate natural load"),
    (0, _GOING_ON, "stop exit fail assume interrupt"),
    (_GOING_ON, _GOING_ON, "assert"),
)
_MODELS: Final = {name: (reads, writes) for reads, writes, names in _TABLE for name in names.split()}
_COMPUTING: Final = (ast.Binary, ast.Unary, ast.CompoundAssignment, ast.Increment)


def _share(operands: list[_Effect]) -> bool:
    """Whether one changes what another reads or changes."""
    before = _Effect()
    for effect in operands:
        if effect.disturbs(before):
            return True
        before.add(effect)
    return False


def _callee(node: ast.Call) -> str:
    return called_function(node.function) or _ANY


def _is_decay(node: ast.Expression) -> bool:
    return isinstance(node, ast.Cast) and node.conversion is ast.Conversion.DECAY
