"""The scopes of local variables, and objects on the stack whose sizes are known only at run time.

In C a variable lives from the entry into its block until the block ends, also if `goto` goes back to a label
in it. Clang ends the lifetime at such a `goto`. It marks no lifetime of a variable whose declaration a `goto`
or a `case` may skip, nor of a compound literal. For these objects `Scopes` adds the markers (`stays`): the
debug information says which block an object belongs to, and which block each instruction is in.

If it does not say so clearly, there are no markers, and the program is refused if the address of the object
may be used outside its block (`outlives_scope`).

An array of variable length ends with its scope: Clang saves the end of the stack before it and restores it
there. The object of `alloca` ends when the function returns. Lifetimes matter, and are modelled, only for
memory properties.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Assign
from certus.core.terms import INT, Expr
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.bodies import Block, reachable
from certus.frontend.c.ir.debug import Debug, DebugVariable, Place
from certus.frontend.c.ir.instructions import Local
from certus.frontend.c.ir.module import Module
from certus.frontend.c.model.sources import SourceFile, Sources
from certus.frontend.c.model.stays import Stay
from certus.frontend.c.model.terms import NULL
from certus.frontend.c.source.statements import Kind, Part
from certus.frontend.c.source.tokens import declarators

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

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
    """Return whether a scope is a function, not a block in it."""
    kinds = (node.kind for _, node in debug.scopes(scope) if node.kind != _FILE)
    return next(kinds, _FUNCTION) == _FUNCTION


class Scopes:
    """The objects of one function whose lifetimes Clang does not mark. `blocks` has the block of each object,
    if it is known; the number of a function stands for its outermost block."""

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
        if inner:
            reached = reachable({each.label: each for each in code}, [code[0].label])
            code = [each for each in code if each.label in reached]
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
                    if ir.called(each).startswith("llvm.lifetime."):
                        marked.add(operand.name)
        for each in code[0].instructions:
            if isinstance(each, ir.Alloca) and each.name is not None and each.name not in marked:
                declare, used = declared.get(each.name), uses.get(each.name, [])
                block: int | None = None
                if declare is not None:
                    variable = self._debug.variable(declare.variable)
                    around = [] if variable.argument else blocks_around(self._debug, variable.scope)
                    block = next(iter(around), None)
                elif LITERAL in each.name and used:
                    block = self._block_of_literal(used[0], steps)
                elif used:
                    block = self._block_without_declaration(each.name, used, declared.values())
                if block is not None:
                    self.blocks[each.name] = block
                    self._locations[each.name] = (declare or used[0]).location

    def _block_without_declaration(
        self, name: str, uses: list[ir.Instruction], declared: Iterable[ir.Declare]
    ) -> int | None:
        """Return the block of a variable whose declaration control never reaches. The debug information lacks
        it, so its declaration is looked up in the source: one of this name, in a block around a use of the
        variable, the innermost one. LLVM may have added a number to the name. An object without a declaration
        is a temporary."""
        number = next((n for use in uses if self._sources.token(n := use.location) is not None), None)
        place, token = self._debug.place(number), self._sources.token(number)
        variables = [self._debug.variable(each.variable) for each in declared]
        declared_in = {(each.name, *blocks_around(self._debug, each.scope)[:1]) for each in variables}
        plain = name.rstrip("0123456789")
        blocks: dict[str, int | None] = {}  # by the name that is declared
        if token is not None and place is not None:
            source, at = token
            for part in source.before(at):
                if part.kind is Kind.DECLARATION and at < source.tokens.partners[part.block]:
                    for each in declarators(source.tokens, part.first, part.last):
                        block = self._block_at(place, token, part.block)
                        text = source.tokens.texts[each.name]
                        if text in (name, plain) and (text, block) not in declared_in:
                            blocks.setdefault(text, block)
        if blocks or (_IDENTIFIER.fullmatch(name) and plain not in _NAMED_BY_CLANG):
            self.undeclared.add(name)
        return next(iter(blocks.values())) if len(blocks) == 1 else None

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
            head = part if part.kind is Kind.IF else next(source.enclosing(part.first), None)
            opened = -1 if head is None or head.kind is not Kind.IF else head.first + 2
        elif part.kind in (Kind.EXPRESSION, Kind.DECLARATION):
            opened = part.block
        else:
            return None
        if opened < 0:
            return None
        return around[0] if self._block_at(place, token, opened) == around[0] else None

    def _block_at(self, place: Place, token: tuple[SourceFile, int], opened: int) -> int | None:
        """Return the block around a place that begins at another token; None if there is none."""
        source, at = token
        for block in blocks_around(self._debug, place.scope):
            if is_function(self._debug, block):
                function = next((e for e in source.before(at) if e.kind is Kind.FUNCTION), None)
                return block if function is not None and function.last + 1 == opened else None
            node = self._debug.node(block)
            start = place._replace(line=node.number("line"), column=node.number("column"))
            if self._sources.at(start) == (source, opened):
                return block
        return None

    def _part_of_jump(self, instruction: ir.Instruction) -> Part | None:
        """Return the statement with the head of a loop or a `switch`."""
        if isinstance(instruction, ir.Switch):
            token = self._sources.token(instruction.location)
        elif "llvm.loop" in instruction.attached:
            token = self._sources.token(self._debug.loop(instruction.attached["llvm.loop"]))
        else:
            return None
        return None if token is None else token[0].part(token[1])

    # -------------------------------------------------------------------------------------- steps

    def _passed(self, instruction: ir.Instruction) -> Iterator[frozenset[int]]:
        """Yield the scopes around an instruction and, if it jumps back in a loop, those around the loop."""
        if not ir.called(instruction).startswith(_BOOKKEEPING):
            yield from self._scopes(instruction.location)
        if "llvm.loop" in instruction.attached:
            yield from self._scopes(self._debug.loop(instruction.attached["llvm.loop"]))

    def _scopes(self, location: int | None) -> Iterator[frozenset[int]]:
        place = self._debug.place(location)
        if place is not None:
            if place.scope not in self._around:
                self._around[place.scope] = frozenset(n for n, _ in self._debug.scopes(place.scope))
            yield self._around[place.scope]


# ------------------------------------------------------------------------- what belongs to a scope


def marked(instruction: ir.Instruction) -> str:
    """Return the variable whose lifetime an instruction begins or ends; empty for other instructions."""
    if not isinstance(instruction, ir.Call) or not ir.called(instruction).startswith("llvm.lifetime."):
        return ""
    operand = instruction.arguments[-1].operand
    return operand.name if isinstance(operand, Local) else ""


def comes_back(body: Body, declare: ir.Declare) -> bool:
    """Return whether control can jump back over the declaration of a variable to a label, both in the block
    of the variable. Then the object lives on when the declaration is reached again, and pointers to it
    stay valid. A jump or label without debug information counts as inside the block."""
    flow, debug = body.flow, body.module.debug
    blocks = blocks_around(debug, debug.variable(declare.variable).scope)[:1]
    number = flow.number[declare]

    def is_inside(step: ir.Instruction) -> bool:
        place = debug.place(step.location)
        return place is None or not blocks or blocks[0] in (each for each, _ in debug.scopes(place.scope))

    for label in flow.instructions():
        if isinstance(label, ir.DebugRecord) and "#dbg_label(" in label.text and flow.number[label] < number:
            jumps = (flow.blocks[source].last for source in flow.predecessors[flow.home[label]])
            if is_inside(label) and any(flow.number[each] > number and is_inside(each) for each in jumps):
                return True
    return False


def is_outermost(body: Body, declare: ir.Declare) -> bool:
    """Return whether a variable is declared in the outermost block of the function."""
    return is_function(body.module.debug, body.module.debug.variable(declare.variable).scope)


def is_variable(body: Body, name: str, debug: DebugVariable | None) -> bool:
    """Return whether a local object is a variable of the source, not a temporary of Clang."""
    return debug is not None or name in body.scopes.undeclared


def is_unmarked(body: Body, name: str, declare: ir.Declare | None) -> bool:
    """Return whether a variable or literal that has no markers belongs to an inner block, which ends before
    the function returns, or perhaps does."""
    block = body.scopes.blocks.get(name)
    if block is not None and is_function(body.module.debug, block):
        return False
    if declare is not None:
        return not body.module.debug.variable(declare.variable).argument
    return LITERAL in name or name in body.scopes.undeclared


def outlives_scope(body: Body, name: str, declare: ir.Declare | None) -> bool:
    """Return whether the address of an object without markers may be used after the object has ended. That
    needs an inner block, and a place where the address is stored or passed."""
    if not is_unmarked(body, name, declare):
        return False
    pointers = [name]
    while pointers:
        pointer = pointers.pop()
        for use in body.flow.uses.get(pointer, ()):
            if _keeps(use, pointer):
                return True
            if isinstance(use, ir.GetElementPointer):
                pointers.append(use.name or "")
    return False


def _keeps(use: ir.Instruction, pointer: str) -> bool:
    """Return whether an instruction may store a pointer or pass it on."""
    match use:
        case ir.Load() | ir.GetElementPointer() | ir.Declare() | ir.DebugRecord():
            return False
        case ir.Store(value=value):
            return isinstance(value, Local) and value.name == pointer
        case ir.Call():
            return not (marked(use) or ir.called(use).startswith("llvm.mem"))
    return True


# --------------------------------------------------------------------- arrays of variable length, `alloca`


class StackArrays:
    """The objects of one function."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._arrays: dict[Expr, ir.Alloca] = {}  # by their addresses
        self._kept: dict[int, Expr] = {}  # the results of `alloca`, by the number of the instruction

    def prepare(self) -> None:
        """Create a variable for each result of `alloca`, which is null until it is called."""
        body, flow = self._body, self._body.flow
        for instruction in flow.instructions():
            if isinstance(instruction, ir.Alloca):
                dynamic = instruction.count is not None or flow.home[instruction] != flow.entry
                dynamic = dynamic and self._owner(instruction) is None
            else:
                dynamic = ir.called(instruction) in ("alloca", "__alloca")
            if dynamic:
                kept = self._kept[flow.number[instruction]] = body.local("$&alloca", INT)
                body.emit(Assign((kept,), (NULL,)), text="")

    def begin(self, alloca: ir.Alloca | None, base: Expr) -> None:
        """Record a new object: an array if the end of the stack was saved before it, else one of `alloca`."""
        body, flow = self._body, self._body.flow
        if alloca is not None and self._owner(alloca) is not None:
            self._arrays[base] = alloca
            return
        block, kept = body.cursor.block, self._kept.get(body.cursor.number)
        if kept is None or block in flow.behind(block):
            body.refuse("unsupported-lifetime", "`alloca` in a loop")
        else:
            body.emit(Assign((kept,), (base,)))

    def restore(self, restore: ir.Call) -> None:
        """End the arrays that began after this end of the stack was saved, if that is certain."""
        flow = self._body.flow
        load = flow.definition(restore.arguments[0].operand)
        name = getattr(load.pointer, "name", "") if isinstance(load, ir.Load) else ""
        for base, alloca in self._arrays.items():
            if self._owner(alloca) == name and flow.dominates(alloca, restore):
                self._body.end_object(base, self._body.locals.shown(alloca.name or ""))

    def end_all(self) -> None:
        """End the objects of `alloca`: the function returns."""
        for kept in self._kept.values():
            self._body.when(build.ne(kept, NULL), partial(self._body.end_object, kept, "alloca"))

    # --------------------------------------------------------------------------------- scopes

    @cached_property
    def _saves(self) -> dict[str, ir.Store]:
        """Return the stores that save the end of the stack, by the names of the variables they write."""
        flow, saves = self._body.flow, dict[str, ir.Store]()
        for each in flow.instructions():
            if isinstance(each, ir.Store) and isinstance(each.pointer, Local):
                saved = flow.definition(each.value)
                if saved is not None and ir.called(saved).startswith("llvm.stacksave"):
                    saves[each.pointer.name] = each
        return saves

    def _owner(self, alloca: ir.Alloca) -> str | None:
        """Return the variable with the end of the stack to which an array belongs: the innermost one that was
        saved before the array and not restored since."""
        flow = self._body.flow
        saves = [(name, save) for name, save in self._saves.items() if flow.dominates(save, alloca)]
        open_ = [
            (flow.number[save], name)
            for name, save in saves
            if not any(flow.dominates(restore, alloca) for restore in self._restores(name))
        ]
        return max(open_)[1] if open_ else None

    def _restores(self, name: str) -> list[ir.Instruction]:
        flow = self._body.flow
        loads = [use for use in flow.uses.get(name, ()) if isinstance(use, ir.Load)]
        return [
            use for each in loads for use in flow.uses.get(each.name or "", ()) if isinstance(use, ir.Call)
        ]
