"""Checks that what a program reads has been written (`no-uninitialised-read`).

A variable without memory has a truth value beside it, which says whether it has been written since its
declaration; it is left out where a write dominates the read. For memory the program asks which bits were
written (`InspectBits`).

Reading a scalar is an error if one of its bits was not written; of a bit-field only its own bits count.
Copies of records, `memcpy` and similar functions read nothing: bits stay unwritten in the copy (`MarkBits`).
Where unwritten bits are copied in a way that is not followed (a record that is passed in registers), no
counterexample gets past, and no proof either. Functions of the library with a model in C read what they look
at. Without this property nothing here takes any step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from certus.core import build
from certus.core.program import Assign, InspectBits, MarkBits
from certus.core.terms import BOOL, Expr, machine
from certus.core.vocabulary import CLAIMS, UNINITIALISED
from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.instructions import Local, Operand
from certus.frontend.c.model import bit_fields, terms
from certus.frontend.c.model.checks import split
from certus.frontend.c.model.lifetimes import is_variable
from certus.frontend.c.model.terms import Pieces, Value

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

# Functions of the models that look at what they read.
_MEMBERS: Final = "which members of a record that is passed in registers have a value"
_READING: Final = re.compile(r"(str|stp|wcs|wmem(?!cpy|move)|mem|rawmem|ato)\w*")


class Initialisation:
    """The checks in one function."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._slots: dict[str, Expr] = {}  # whether a variable has been written, by its name in the IR
        self._bits: dict[str, list[Expr]] = {}  # the written bits of values that were only loaded
        self._loaded: list[Expr] = []  # the written bits of what the present instruction has loaded

    @property
    def _reads(self) -> bool:
        """Return whether loads of this function are reads, not copies."""
        body = self._body
        return body.unit.is_program(body.module) or bool(_READING.fullmatch(body.name.removeprefix("$")))

    # ---------------------------------------------------------------------------------- variables

    def begin_slots(self) -> None:
        """Create truth values for the variables that may be read before they are written."""
        body = self._body
        if not body.unit.is_program(body.module):
            return
        for name, slot in body.locals.slots.items():
            parameter = slot.debug is not None and slot.debug.argument
            if parameter or not is_variable(body, name, slot.debug) or self._is_written_first(name):
                continue
            shown = slot.debug.name if slot.debug is not None else name
            written = self._slots[name] = body.local(f"${shown} is written", BOOL)
            body.emit(Assign((written,), (build.FALSE,)), text="")
            self.refuse_reentry(name, shown)

    def refuse_reentry(self, name: str, shown: str, *, returns: bool = False) -> None:
        """Refuse a variable that loses its value where no step says so: its block is entered again by a jump,
        or its declaration is reached again (`returns`)."""
        if returns or self._body.locals.may_be_entered_again(name):
            what = f"a jump over the declaration of `{shown}` in a loop"
            self._body.refuse("unsupported-lifetime", what)

    def _is_written_first(self, name: str) -> bool:
        """Return whether every read comes after a write that follows the declaration."""
        flow, declare = self._body.flow, self._body.locals.declared.get(name)
        if declare is None or name in self._body.scopes.marked:
            return False
        if self._body.locals.may_be_entered_again(name):
            return False
        uses = flow.uses.get(name, ())
        stores = [use for use in uses if isinstance(use, ir.Store)]
        first = [store for store in stores if flow.dominates(declare, store)]
        reads = [use for use in uses if isinstance(use, ir.Load)]
        return all(any(flow.dominates(store, read) for store in first) for read in reads)

    def note(self, name: str, *, written: bool) -> None:
        """Note that a variable is written, or that a declaration leaves it without a value."""
        if name in self._slots:
            self._body.emit(Assign((self._slots[name],), (build.boolean(written),)), text="")

    def read_variable(self, load: ir.Load) -> None:
        """Check the read of a variable."""
        if self.may_be_unset(load.pointer) and self._is_used(load):
            assert isinstance(load.pointer, Local)
            debug = self._body.locals.slots[load.pointer.name].debug
            text = CLAIMS[UNINITIALISED].format(load.pointer.name if debug is None else debug.name)
            self._body.claim(self._slots[load.pointer.name], UNINITIALISED, text)

    def may_be_unset(self, pointer: Operand) -> bool:
        """Return whether a read of a variable is checked."""
        return isinstance(pointer, Local) and pointer.name in self._slots

    def _is_used(self, load: ir.Load) -> bool:
        """Return whether a value is used: `(void)x` reads nothing."""
        return bool(self._body.flow.uses.get(load.name or ""))

    # ------------------------------------------------------------------------------------- memory

    def ask(self, address: Expr, size: int) -> None:
        """Ask which bits at an address, from which a step loads, were written."""
        body, sort = self._body, machine(8 * size, signed=False)
        if split(address)[0] in body.unit.symbols.objects:
            self._loaded.append(build.constant(sort.high, sort))
            return
        bits = body.fresh(sort)
        body.emit(InspectBits(bits, address))
        self._loaded.append(bits)

    def take(self) -> list[Expr]:
        """Return the written bits of all that was loaded since the last call."""
        bits, self._loaded = self._loaded, []
        return bits

    def check_load(self, load: ir.Load, value: Value, first: int = 0) -> None:
        """Check what an instruction has loaded, unless it is a copy. `first` is the first byte of the unit of
        a bit-field that was loaded."""
        bits, name = self.take(), load.name or ""
        if not bits or not self._is_used(load):
            return
        if name.startswith("bf.load") and len(bits) == 1:
            self._bits[name] = bits
            read = bit_fields.read_bits(self._body, load) >> 8 * first
            self._claim([build.bit_and(bits[0], build.constant(read, bits[0].sort))], read)
        elif isinstance(value, Pieces) or name.startswith("bf.load"):
            self._give_up(bits)
        elif self._reads:
            self._claim(bits)
        elif isinstance(self._body.flow.only_use(name), ir.Store):
            self._bits[name] = bits
        else:
            self._give_up(bits)

    def check_operand(self, *, sure: bool = True) -> None:
        """Check what was just loaded; unless it is `sure` that it is read, for proofs only."""
        if sure:
            self._claim(self.take())
        else:
            self._give_up(self.take(), "what assembly reads")

    def check_store(self, store: ir.Store, address: Expr, size: int, first: int = 0) -> None:
        """Keep bits unwritten that a store of `size` bytes has copied: those of a whole value, or of a unit
        around a bit-field from its byte `first` on."""
        name = store.value.name if isinstance(store.value, Local) else ""
        unit, written = bit_fields.changed_unit(self._body, store)
        bits = self._bits.get(unit or name, [])
        if any(terms.machine_sort(each).width != 8 * size for each in bits):
            self._give_up(bits)
        elif bits:
            self.mark(address, build.bit_or(bits[0], build.constant(written >> 8 * first, bits[0].sort)))

    def mark(self, address: Expr, bits: Expr) -> None:
        """Note which bits that were stored at an address count as written."""
        if _has(bits) is not build.TRUE:
            self._body.emit(MarkBits(address, bits))

    def _claim(self, loaded: Iterable[Expr], wanted: int | None = None) -> None:
        """Make it an error if bits were not written."""
        body, condition = self._body, build.conjunction(_has(bits, wanted) for bits in loaded)
        program = body.unit.is_program(body.module)
        what = body.cursor.text if program else f"what {body.name.removeprefix('$')} reads"
        if condition is not build.TRUE:
            body.claim(condition, UNINITIALISED, CLAIMS[UNINITIALISED].format(what))

    def _give_up(self, loaded: Iterable[Expr], why: str = _MEMBERS) -> None:
        """Let neither a proof nor a counterexample rely on bits that were not written."""
        missing = build.not_(build.conjunction(_has(bits) for bits in loaded))
        if missing is build.FALSE:
            return
        self._body.when(missing, lambda: self._body.bar_counterexamples(why))
        self._claim(loaded)


def _has(bits: Expr, wanted: int | None = None) -> Expr:
    sort = terms.machine_sort(bits)
    return build.eq(bits, build.constant(sort.high if wanted is None else wanted, sort))
