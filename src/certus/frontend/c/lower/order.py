"""Where the order of evaluation matters, which C leaves open and Certus takes from left to right.

What an operand reads and writes is a set of variables and of all memory together, as the bits of an integer.
A call reads and writes what its function does, directly or by calls; library functions, and functions without
body, are taken to do nothing that operands share. So what is found is a hint to the user, and no proof that
the order matters or does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

from certus.core.diagnostic import Span
from certus.frontend.c import ast
from certus.frontend.c.lower.arguments import called_function
from certus.frontend.c.lower.survey import inner, parts
from certus.frontend.c.lower.world import World

_MEMORY: Final = 1
_MESSAGE: Final = (
    "operands here share what they change, and C leaves open which is evaluated first: Certus takes them "
    "from left to right, as Clang does; other compilers may not."
)


@dataclass(slots=True)
class _Effect:
    reads: int = 0
    writes: int = 0

    def add(self, other: _Effect) -> None:
        self.reads |= other.reads
        self.writes |= other.writes

    def disturbs(self, other: _Effect) -> bool:
        return bool(self.writes & (other.reads | other.writes) or other.writes & self.reads)


def warn_of_orders(world: World) -> None:
    """Tell the user of the first expression whose value depends on an order that C does not fix."""
    for span in _Orders(world).found():
        world.warn("evaluation-order", "evaluation-order", _MESSAGE, span)
        return


class _Orders:
    def __init__(self, world: World) -> None:
        self._addressed = world.addressed
        self._bits: dict[str, int] = {}
        self._bodies = {name: world.unit.functions[name].body for name in world.surveys}
        self._functions = {name: _Effect() for name in self._bodies}
        self._static = {variable.identity for variable in world.unit.variables}

    def found(self) -> Iterator[Span]:
        self._summarise()
        for body in self._bodies.values():
            effects = self._effects(body)
            for node in parts(body):
                if any(a.disturbs(b) for a, b in combinations(self._operands(node, effects), 2)):
                    yield node.span

    def _summarise(self) -> None:
        """What each function does to what is not its own."""
        calls: dict[str, set[str]] = {}
        for name, body in self._bodies.items():
            effect = self._functions[name]
            calls[name] = set()
            for node in parts(body):
                effect.add(self._own(node))
                if isinstance(node, ast.Call) and (callee := called_function(node.function)) in self._bodies:
                    calls[name].add(callee)
        shared = _MEMORY | sum(bit for variable, bit in self._bits.items() if variable in self._static)
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

    def _effects(self, root: Any) -> dict[int, _Effect]:
        """What each part of a tree does, the last first: a part comes after what it is in."""
        effects: dict[int, _Effect] = {}
        for node in reversed(list(parts(root))):
            effect = effects[id(node)] = self._own(node)
            for part in inner(node):
                effect.add(effects[id(part)])
        return effects

    def _own(self, node: Any) -> _Effect:
        if isinstance(node, ast.Cast) and node.conversion is ast.Conversion.LOAD:
            return _Effect(reads=self._place(node.operand))
        if isinstance(node, ast.Assignment):
            return _Effect(writes=self._place(node.target))
        if isinstance(node, ast.CompoundAssignment):
            return _Effect(self._place(node.target), self._place(node.target))
        if isinstance(node, ast.Increment):
            return _Effect(self._place(node.operand), self._place(node.operand))
        if isinstance(node, ast.Call):
            name = called_function(node.function)
            known = self._functions.get(name) if name is not None else None
            return _Effect() if known is None else replace(known)
        return _Effect()

    def _place(self, node: ast.Expression) -> int:
        """The object that an lvalue is in."""
        while isinstance(node, ast.Member | ast.Subscript) or _is_decay(node):
            if isinstance(node, ast.Subscript):
                node = node.pointer
            else:
                node = node.base if isinstance(node, ast.Member) else node.operand  # type: ignore[union-attr]
        if not isinstance(node, ast.VariableReference):
            return _MEMORY
        identity = node.variable.identity
        bit = self._bits.setdefault(identity, 2 << len(self._bits))
        return bit | (_MEMORY if identity in self._addressed else 0)

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
        return []


def _is_decay(node: ast.Expression) -> bool:
    return isinstance(node, ast.Cast) and node.conversion is ast.Conversion.DECAY
