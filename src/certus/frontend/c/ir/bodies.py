"""The body of a function: from lines to blocks of instructions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.attributes import CALLING, read_function, read_parameter
from certus.frontend.c.ir.cursor import Cursor
from certus.frontend.c.ir.operands import (
    Aggregate,
    Data,
    Integer,
    Operand,
    Symbol,
    Undefined,
    Zero,
)
from certus.frontend.c.ir.text import NotUnderstood, name_of, text_of, tokens, word_set
from certus.frontend.c.ir.types import FunctionType, TypeTable, VectorType

_LABEL: Final = re.compile(r'("[^"]*"|[-\w$.]+):(?:\s*;.*)?$')
_CALLBR: Final = re.compile(r"\s+(?:%\S+ = )?callbr ")
_ATTACHED: Final = re.compile(r"(?:, ![A-Za-z][\w.]* !\d+)+$")
_ONE_ATTACHED: Final = re.compile(r", !([A-Za-z][\w.]*) !(\d+)")
_POINTER_FLAGS: Final = word_set("inbounds nuw nusw")
_CONVERSIONS: Final = [
    "trunc",
    "zext",
    "sext",
    "fptrunc",
    "fpext",
    "fptoui",
    "fptosi",
    "uitofp",
    "sitofp",
    "ptrtoint",
    "ptrtoaddr",
    "inttoptr",
    "bitcast",
    "addrspacecast",
]
_BINARY: Final = [
    "add",
    "sub",
    "mul",
    "udiv",
    "sdiv",
    "urem",
    "srem",
    "shl",
    "lshr",
    "ashr",
    "and",
    "or",
    "xor",
    "fadd",
    "fsub",
    "fmul",
    "fdiv",
    "frem",
]


@dataclass(slots=True, eq=False)
class Block:
    """A label and its instructions; the last one says where control goes."""

    label: str
    instructions: list[ir.Instruction]

    @property
    def last(self) -> ir.Instruction:
        return self.instructions[-1]


class BodyReader(Cursor):
    """Reads the lines between the braces of a definition."""

    def __init__(self, types: TypeTable, groups: Mapping[str, frozenset[str]]) -> None:
        super().__init__(types)
        self.groups = groups

    def read(self, lines: list[str]) -> list[Block]:
        """Return the blocks in order; the first is where the function starts."""
        blocks: list[Block] = []
        current: list[ir.Instruction] = []
        for line in _joined(lines):
            if line[0] != " ":
                label = _LABEL.match(line)
                if label is None:
                    raise NotUnderstood("a line of a function", line)
                current = []
                blocks.append(Block(name_of("%" + label[1]), current))
                continue
            if not blocks:
                raise NotUnderstood("an instruction without a block", line)
            current.append(self._line(line))
        for block in blocks:
            if not block.instructions:
                raise NotUnderstood(f"the block {block.label} without instructions")
        return blocks

    # ------------------------------------------------------------------------------ one line

    def _line(self, line: str) -> ir.Instruction:
        try:
            return self._instruction(line)
        except NotUnderstood as error:
            raise NotUnderstood(error.what, line) from error
        except (ValueError, IndexError) as error:
            raise NotUnderstood("an instruction", line) from error

    def _instruction(self, line: str) -> ir.Instruction:
        text, attached, location = line, ir.NOTHING, None
        cut = line.find(", !")
        if cut >= 0 and not line.lstrip().startswith("#"):
            tail = _ATTACHED.fullmatch(line, cut) or _ATTACHED.search(line, cut)
            if tail is not None:
                text = line[: tail.start()]
                attached, location = _split(tail[0])
        words = self.words = tokens(text)
        name, self.at = None, 0
        if words[1] == "=":
            name, self.at = name_of(words[0]), 2
        word = words[self.at]
        reader = _READERS.get(word)
        if reader is None:
            raise NotUnderstood(f"the instruction `{word}`")
        self.at += 1
        made = reader(self, word)
        if self.words[self.at]:
            raise NotUnderstood(f"`{self.words[self.at]}` behind an instruction")
        if isinstance(made, ir.Declare | ir.DebugRecord):
            location = self._scope
        ir.complete(made, name, location, attached, line)
        return made

    _scope: int | None = None  # the location of a debug record

    # -------------------------------------------------------------------------- instructions

    def alloca(self, _: str) -> ir.Instruction:
        if self.accept("inalloca"):
            raise NotUnderstood("`inalloca`")
        type_, count = self.type(), None
        if self.words[self.at] == "," and self.words[self.at + 1] not in ("align", "addrspace"):
            self.at += 1
            count = self.typed()
        return ir.Alloca(type_, count, self.alignment())

    def load(self, _: str) -> ir.Instruction:
        atomic, volatile = self.accept("atomic"), self.accept("volatile")
        type_ = self.type()
        self.expect(",")
        pointer = self.typed()
        if atomic:
            self.ordering()
        return ir.Load(type_, pointer, volatile, self.alignment())

    def store(self, _: str) -> ir.Instruction:
        atomic, volatile = self.accept("atomic"), self.accept("volatile")
        value = self.typed()
        self.expect(",")
        pointer = self.typed()
        if atomic:
            self.ordering()
        return ir.Store(value, pointer, volatile, self.alignment())

    def getelementptr(self, _: str) -> ir.Instruction:
        self.flags(_POINTER_FLAGS)
        source, indices = self.type(), []
        self.expect(",")
        base = self.typed()
        while self.accept(","):
            indices.append(self.typed())
        return ir.GetElementPointer(source, base, indices)

    def binary(self, operation: str) -> ir.Instruction:
        flags = self.flags()
        left = self.typed()
        self.expect(",")
        return ir.Binary(operation, left, self.operand(left.type), flags)

    def negate(self, _: str) -> ir.Instruction:
        self.flags()
        return ir.Negate(self.typed())

    def convert(self, operation: str) -> ir.Instruction:
        self.flags()
        operand = self.typed()
        self.expect("to")
        return ir.Convert(operation, operand, self.type())

    def compare(self, word: str) -> ir.Instruction:
        self.flags()
        predicate, left = self.take(), self.typed()
        self.expect(",")
        return ir.Compare(predicate, left, self.operand(left.type), word == "fcmp")

    def select(self, _: str) -> ir.Instruction:
        self.flags()
        condition = self.typed()
        self.expect(",")
        then = self.typed()
        self.expect(",")
        return ir.Select(condition, then, self.typed())

    def freeze(self, _: str) -> ir.Instruction:
        return ir.Freeze(self.typed())

    def phi(self, _: str) -> ir.Instruction:
        self.flags()
        type_, ways = self.type(), []
        while True:
            self.expect("[")
            value = self.operand(type_)
            self.expect(",")
            ways.append((value, name_of(self.take())))
            self.expect("]")
            if self.words[self.at] != "," or self.words[self.at + 1] != "[":
                return ir.Phi(type_, ways)
            self.at += 1

    def _numbers(self) -> list[int]:
        found = []
        while self.words[self.at] == "," and self.words[self.at + 1].isdigit():
            found.append(int(self.words[self.at + 1]))
            self.at += 2
        return found

    def extract_value(self, _: str) -> ir.Instruction:
        return ir.ExtractValue(self.typed(), self._numbers())

    def insert_value(self, _: str) -> ir.Instruction:
        aggregate = self.typed()
        self.expect(",")
        return ir.InsertValue(aggregate, self.typed(), self._numbers())

    def extract_element(self, _: str) -> ir.Instruction:
        vector = self.typed()
        self.expect(",")
        return ir.ExtractElement(vector, self.typed())

    def insert_element(self, _: str) -> ir.Instruction:
        vector = self.typed()
        self.expect(",")
        value = self.typed()
        self.expect(",")
        return ir.InsertElement(vector, value, self.typed())

    def shuffle(self, _: str) -> ir.Instruction:
        left = self.typed()
        self.expect(",")
        right = self.typed()
        self.expect(",")
        return ir.ShuffleVector(left, right, _mask(self.typed()))

    def call(self, word: str) -> ir.Instruction:
        if word in ("tail", "notail", "musttail"):
            self.expect("call")
        self.flags()
        while self.words[self.at] in CALLING:
            self.at += 1
        _, self.at = read_parameter(self.types, self.words, self.at)
        called, self.at = self.types.read_callee(self.words, self.at)
        declared = called if isinstance(called, FunctionType) else None
        result = declared.result if declared is not None else called
        callee = self._callee()
        arguments = self._arguments()
        words, self.at = read_function(self.words, self.at)
        if self.words[self.at] == "[":
            self._bundles(callee)
        for group in [w for w in words if w[0] == "#"]:
            words.remove(group)
            words |= self.groups.get(group, frozenset())
        made = ir.Call(result, callee, arguments, declared, frozenset(words))
        if word == "callbr":
            self.expect("to")
            made.targets.append(self.label())
            self.expect("[")
            while not self.accept("]"):
                made.targets.append(self.label())
                self.accept(",")
        return made

    def _bundles(self, callee: Operand | ir.Assembly) -> None:
        """Go past operand bundles: promises to the optimiser, which only `llvm.assume` may have."""
        if not isinstance(callee, Symbol) or callee.name != "llvm.assume":
            raise NotUnderstood("an operand bundle")
        while self.take() != "]":
            if not self.words[self.at]:
                raise NotUnderstood("an operand bundle")

    def _callee(self) -> Operand | ir.Assembly:
        if not self.accept("asm"):
            return self.operand(self.types.pointer)
        sideeffect = self.accept("sideeffect")
        while self.words[self.at] in ("alignstack", "inteldialect", "unwind"):
            self.at += 1
        template = text_of(self.take())
        self.expect(",")
        return ir.Assembly(template, text_of(self.take()), sideeffect)

    def _arguments(self) -> list[ir.Argument]:
        found: list[ir.Argument] = []
        self.expect("(")
        while not self.accept(")"):
            type_ = self.type()
            if type_.text == "metadata":
                self._metadata()
                found.append(ir.Argument(Zero(type_), ir.PLAIN))
            else:
                passing, self.at = read_parameter(self.types, self.words, self.at)
                found.append(ir.Argument(self.operand(type_), passing))
            if self.words[self.at] != ")":
                self.expect(",")
        return found

    def _metadata(self) -> None:
        """Go past an argument that is metadata: a string, a number, a value or a node."""
        depth = 0
        while depth or self.words[self.at] not in (",", ")"):
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(self.words[self.at], 0)
            if not self.words[self.at]:
                raise NotUnderstood("metadata as an argument")
            self.at += 1

    def atomic_update(self, _: str) -> ir.Instruction:
        self.accept("volatile")
        operation, pointer = self.take(), self.typed()
        self.expect(",")
        value = self.typed()
        self.ordering()
        return ir.AtomicUpdate(operation, pointer, value, self.alignment())

    def compare_exchange(self, _: str) -> ir.Instruction:
        weak = self.accept("weak")
        self.accept("volatile")
        pointer = self.typed()
        self.expect(",")
        expected = self.typed()
        self.expect(",")
        new = self.typed()
        self.ordering()
        self.ordering()
        return ir.CompareExchange(pointer, expected, new, weak, self.alignment())

    def fence(self, _: str) -> ir.Instruction:
        self.ordering()
        return ir.Fence()

    def variable_argument(self, _: str) -> ir.Instruction:
        pointer = self.typed()
        self.expect(",")
        return ir.VariableArgument(pointer, self.type())

    def branch(self, _: str) -> ir.Instruction:
        if self.words[self.at] == "label":
            return ir.Jump(self.label())
        condition = self.typed()
        self.expect(",")
        then = self.label()
        self.expect(",")
        return ir.Branch(condition, then, self.label())

    def switch(self, _: str) -> ir.Instruction:
        value = self.typed()
        self.expect(",")
        default, cases = self.label(), list[tuple[int, str]]()
        self.expect("[")
        while not self.accept("]"):
            case = self.typed()
            self.expect(",")
            if not isinstance(case, Integer):
                raise NotUnderstood("a case that is no integer")
            cases.append((case.value, self.label()))
        return ir.Switch(value, default, cases)

    def indirect(self, _: str) -> ir.Instruction:
        address, targets = self.typed(), list[str]()
        self.expect(",", "[")
        while not self.accept("]"):
            targets.append(self.label())
            self.accept(",")
        return ir.IndirectJump(address, targets)

    def return_(self, _: str) -> ir.Instruction:
        return ir.Return(None) if self.accept("void") else ir.Return(self.typed())

    def unreachable(self, _: str) -> ir.Instruction:
        return ir.Unreachable()

    def record(self, _: str) -> ir.Instruction:
        """Read `#dbg_declare(ptr %x, !7, !DIExpression(), !9)` or a relative of it."""
        kind = self.take()
        self._scope = int(self.words[-3][1:]) if self.words[-3][1:].isdigit() else None
        if kind in ("dbg_value", "dbg_label", "dbg_assign"):
            self.at = len(self.words) - 1
            return ir.DebugRecord()
        if kind != "dbg_declare":
            raise NotUnderstood(f"the record `#{kind}`")
        self.expect("(")
        if self.words[self.at] != "ptr":  # the object was never made
            self.at = len(self.words) - 1
            return ir.DebugRecord()
        address = self.typed()
        self.expect(",")
        variable = self.take()
        simple = self.words[self.at : self.at + 4] == [",", "!DIExpression", "(", ")"]
        self.at = len(self.words) - 1
        return ir.Declare(address, int(variable[1:])) if simple else ir.DebugRecord()


_READERS: Final[dict[str, Callable[[BodyReader, str], ir.Instruction]]] = {
    "alloca": BodyReader.alloca,
    "load": BodyReader.load,
    "store": BodyReader.store,
    "getelementptr": BodyReader.getelementptr,
    "fneg": BodyReader.negate,
    "icmp": BodyReader.compare,
    "fcmp": BodyReader.compare,
    "select": BodyReader.select,
    "freeze": BodyReader.freeze,
    "phi": BodyReader.phi,
    "extractvalue": BodyReader.extract_value,
    "insertvalue": BodyReader.insert_value,
    "extractelement": BodyReader.extract_element,
    "insertelement": BodyReader.insert_element,
    "shufflevector": BodyReader.shuffle,
    **dict.fromkeys(("call", "tail", "notail", "musttail", "callbr"), BodyReader.call),
    "atomicrmw": BodyReader.atomic_update,
    "cmpxchg": BodyReader.compare_exchange,
    "fence": BodyReader.fence,
    "va_arg": BodyReader.variable_argument,
    "br": BodyReader.branch,
    "switch": BodyReader.switch,
    "indirectbr": BodyReader.indirect,
    "ret": BodyReader.return_,
    "unreachable": BodyReader.unreachable,
    "#": BodyReader.record,
    **dict.fromkeys(_BINARY, BodyReader.binary),
    **dict.fromkeys(_CONVERSIONS, BodyReader.convert),
}


def _split(tail: str) -> tuple[Mapping[str, int], int | None]:
    """Tell the debug location from other metadata behind an instruction."""
    location, attached = None, dict[str, int]()
    for kind, number in _ONE_ATTACHED.findall(tail):
        if kind == "dbg":
            location = int(number)
        else:
            attached[kind] = int(number)
    return attached or ir.NOTHING, location


def _mask(mask: Operand) -> list[int | None]:
    if not isinstance(mask.type, VectorType):
        raise NotUnderstood("the mask of a vector")
    if isinstance(mask, Data):
        return list(mask.values)
    if isinstance(mask, Zero):
        return [0] * mask.type.count
    if isinstance(mask, Undefined):
        return [None] * mask.type.count
    if isinstance(mask, Aggregate):
        return [part.value if isinstance(part, Integer) else None for part in mask.parts]
    raise NotUnderstood("the mask of a vector")


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a body, those of a `switch` or a `callbr` as one."""
    pending: list[str] = []
    for line in lines:
        if pending:
            pending.append(line.strip())
            if line.lstrip().startswith(("]", "to label")):
                yield " ".join(pending)
                pending = []
        elif (line.endswith("[") and line.lstrip().startswith("switch")) or _CALLBR.match(line):
            pending = [line]
        elif line:
            yield line
