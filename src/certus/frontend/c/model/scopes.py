"""Mark the lifetimes of local objects that Clang leaves unmarked.

Clang marks no lifetime of a variable whose declaration a `goto` or a `case` may skip, nor of a compound
literal. In C such an object lives from the entry into its block to the exit from it. Which block this is, and
which steps belong to it, is in the debug information: each step has the scope of the block that it is in. A
marker is put where control passes from a step outside the block to one inside, and back.

Where it is open which block an object belongs to, or whether control is in it (`stays`), there are no
markers, and the program is refused if the address of the object may be used elsewhere (`lifetimes`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.bodies import Block
from certus.frontend.c.ir.debug import Debug, Place
from certus.frontend.c.ir.instructions import Local, Symbol
from certus.frontend.c.ir.module import Module
from certus.frontend.c.model.sources import SourceFile, Sources
from certus.frontend.c.model.stays import Stay, reachable
from certus.frontend.c.source.statements import Kind, Part
from certus.frontend.c.source.tokens import declarators

LITERAL: Final = ".compoundliteral"
_NAMED_BY_CLANG: Final = ("tmp", "retval", "coerce", "undef", "nrvo", "saved_stack")
_IDENTIFIER: Final = re.compile(r"[\w$]+")
_FILE: Final = "DILexicalBlockFile"  # a scope that is no block of C
_FUNCTION: Final = "DISubprogram"
_BOOKKEEPING: Final = ("llvm.lifetime.", "llvm.stacksave", "llvm.stackrestore")  # of Clang, at other places


def blocks_around(debug: Debug, scope: int | None) -> list[int]:
    """Return the blocks and the function around a scope, the innermost first."""
    return [number for number, node in debug.scopes(scope) if node.kind != _FILE]


def is_function(debug: Debug, scope: int | None) -> bool:
    """Whether a scope is a function, not a block in it."""
    kinds = (node.kind for _, node in debug.scopes(scope) if node.kind != _FILE)
    return next(kinds, _FUNCTION) == _FUNCTION


class Scopes:
    """The objects of one function that Clang does not mark. `blocks` has the block of each, as far as it is
    known; the number of a function stands for its outermost block."""

    def __init__(self, module: Module, sources: Sources) -> None:
        self._module, self._debug, self._sources = module, module.debug, sources
        self._around: dict[int, frozenset[int]] = {}
        self._locations: dict[str, int | None] = {}  # where the objects are declared
        self.blocks: dict[str, int] = {}
        self.marked: set[str] = set()  # the variables that `with_markers` has marked
        self.undeclared: set[str] = set()  # the variables whose declarations are never reached

    def with_markers(self, code: list[Block]) -> list[Block]:
        """Find the objects, and return the code with markers for them."""
        self._find(code)
        inner = [name for name, block in self.blocks.items() if not is_function(self._debug, block)]
        code = reachable(code) if inner else code
        for name in inner:
            pointer = Local(self._module.types.pointer, name)
            stay = Stay(self.blocks[name], pointer, self._locations[name], code, self._passed)
            marked = stay.marked()
            if marked is not None:
                code = marked
                self.marked.add(name)
        return code

    def _find(self, code: list[Block]) -> None:
        marked, declared, uses = set[str](), dict[str, ir.Declare](), dict[str, list[ir.Instruction]]()
        steps = [each for block in code for each in block.instructions]
        for each in steps:
            if isinstance(each, ir.Declare) and isinstance(each.address, Local):
                declared.setdefault(each.address.name, each)
            for operand in each.operands:
                if isinstance(operand, Local):
                    uses.setdefault(operand.name, []).append(each)
                    if _calls(each, "llvm.lifetime."):
                        marked.add(operand.name)
        for each in code[0].instructions:
            if isinstance(each, ir.Alloca) and each.name is not None and each.name not in marked:
                declare, used = declared.get(each.name), uses.get(each.name)
                block: int | None = None
                if declare is not None:
                    block = self._block_of_variable(declare)
                elif LITERAL in each.name and used:
                    block = self._block_of_literal(used[0], steps)
                elif used:
                    block = self._block_without_declaration(each.name, used, declared.values())
                if block is not None:
                    self.blocks[each.name] = block
                    at = declare or (used[0] if used else None)
                    self._locations[each.name] = None if at is None else at.location

    def _block_of_variable(self, declare: ir.Declare) -> int | None:
        """Return the block of a variable that is not a parameter."""
        variable = self._debug.variable(declare.variable)
        around = blocks_around(self._debug, variable.scope)
        return around[0] if around and not variable.argument else None

    def _block_without_declaration(
        self, name: str, uses: list[ir.Instruction], declared: Iterable[ir.Declare]
    ) -> int | None:
        """Return the block of a variable whose declaration is never reached, so that the debug information
        does not have it: one of its name in the source, around a use of it. LLVM may have added a number to
        the name. Other objects are temporaries of Clang."""
        number = next((n for use in uses if self._sources.token(n := use.location) is not None), None)
        place, token = self._debug.place(number), self._sources.token(number)
        variables = [self._debug.variable(each.variable) for each in declared]
        known = {(each.name, *blocks_around(self._debug, each.scope)[:1]) for each in variables}
        plain = name.rstrip("0123456789")
        blocks = set[int | None]()
        if token is not None and place is not None:
            source, at = token
            for part in source.before(at):
                if part.kind is Kind.DECLARATION and at < source.tokens.partners[part.block]:
                    for each in declarators(source.tokens, part.first, part.last):
                        block = self._block_at(place, token, part.block)
                        text = source.tokens.texts[each.name]
                        if text in (name, plain) and (text, block) not in known:
                            blocks.add(block)
        if blocks or (_IDENTIFIER.fullmatch(name) and plain not in _NAMED_BY_CLANG):
            self.undeclared.add(name)
        return blocks.pop() if len(blocks) == 1 else None

    # ---------------------------------------------------------------------------- compound literals

    def _block_of_literal(self, use: ir.Instruction, steps: list[ir.Instruction]) -> int | None:
        """Return the block of a compound literal from its first use, which is its initialisation.

        The debug information has no block for the body of a loop without braces and for the head of a loop
        or `switch`. So the source must show that the literal is in a statement of a block with braces, or in
        an `if`, whose scope ends together with each of its branches."""
        place, token = self._debug.place(use.location), self._sources.token(use.location)
        if place is None or token is None:
            return None
        source, at = token
        part, around = source.part(at), blocks_around(self._debug, place.scope)
        if part is None or not around or source.tokens.texts[at] not in ("(", "{"):
            return None  # a macro
        if any(self._part_of_jump(each) is part for each in steps):
            return None  # a macro that contains a loop
        if part.kind is Kind.IF or part.single:
            head = part if part.kind is Kind.IF else source.head(part)
            opened = -1 if head is None or head.kind is not Kind.IF else head.first + 2
        elif part.kind in (Kind.EXPRESSION, Kind.DECLARATION):
            opened = part.block
        else:
            return None
        if opened < 0:
            return None
        return around[0] if self._block_at(place, token, opened) == around[0] else None

    def _block_at(self, place: Place, token: tuple[SourceFile, int], opened: int) -> int | None:
        """Return the block around a place, which is that of a token, that begins at another token; None if
        there is none."""
        source, at = token
        line, column = source.tokens.place(source.tokens.starts[opened])
        for block in blocks_around(self._debug, place.scope):
            if is_function(self._debug, block):
                function = next((e for e in source.before(at) if e.kind is Kind.FUNCTION), None)
                return block if function is not None and function.last + 1 == opened else None
            node = self._debug.node(block)
            start = place._replace(line=node.number("line"), column=node.number("column"))
            if self._sources.position(start) == (source, line, column):
                return block
        return None

    def _part_of_jump(self, instruction: ir.Instruction) -> Part | None:
        """Return the statement with the head of a loop or a `switch`."""
        if isinstance(instruction, ir.Switch):
            token = self._sources.token(instruction.location)
        elif "llvm.loop" in instruction.attached:
            token = self._sources.token(self._debug.loop_location(instruction.attached["llvm.loop"]))
        else:
            return None
        return None if token is None else token[0].part(token[1])

    # -------------------------------------------------------------------------------------- steps

    def _passed(self, instruction: ir.Instruction) -> Iterator[frozenset[int]]:
        """Yield the scopes that control is in at an instruction and, if it is a jump between two rounds of a
        loop, after it."""
        if not any(_calls(instruction, prefix) for prefix in _BOOKKEEPING):
            yield from self._scopes(instruction.location)
        if "llvm.loop" in instruction.attached:
            yield from self._scopes(self._debug.loop_location(instruction.attached["llvm.loop"]))

    def _scopes(self, location: int | None) -> Iterator[frozenset[int]]:
        place = self._debug.place(location)
        if place is not None:
            if place.scope not in self._around:
                self._around[place.scope] = frozenset(n for n, _ in self._debug.scopes(place.scope))
            yield self._around[place.scope]


def _calls(instruction: ir.Instruction, prefix: str) -> bool:
    callee = instruction.callee if isinstance(instruction, ir.Call) else None
    return isinstance(callee, Symbol) and callee.name.startswith(prefix)
