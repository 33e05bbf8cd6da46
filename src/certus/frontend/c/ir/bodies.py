"""Read the body of a function: from lines to blocks of instructions.

`_FORMS` has the class and the grammar of each instruction. Each word of a grammar reads the next field: by
the method of `BodyReader` with this name or, for a word like `weak?`, by testing for this token. A word
after `-` is read but is not a field. `to` and punctuation are tokens that must come next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from certus.frontend.c.ir import instructions as ir
from certus.frontend.c.ir.reader import CALLING_CONVENTIONS, Reader
from certus.frontend.c.ir.types import (
    FunctionType,
    NotUnderstood,
    Record,
    Type,
    VectorType,
    refusal,
    text_of,
    tokens,
    word_set,
)

_ATTACHED: Final = re.compile(r", !([A-Za-z][\w.]*) !(\d+)")
_ATTACHMENTS: Final = re.compile(rf"(?:{_ATTACHED.pattern})+$")  # the metadata at the end of an instruction
_LABEL: Final = re.compile(r'("[^"]*"|[-\w$.]+):(?:\s*;.*)?$')
_FLAGS: Final = word_set("nsw nuw exact disjoint nneg samesign fast nnan ninf nsz arcp contract afn reassoc")
# Words of pragmas: the compiler may compute in several ways, or rounds in a direction of its own.
_LOOSE: Final = word_set("fast nnan ninf nsz arcp contract afn reassoc") | {
    f'!"round.{mode}"' for mode in ("upward", "downward", "tonearest", "towardzero", "tonearestaway")
}
_ASSEMBLY_FLAGS: Final = word_set("sideeffect alignstack inteldialect unwind")
_BINARY: Final = word_set("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem")
_CONVERSIONS: Final = word_set(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast "
    "addrspacecast"
)
_ORDERINGS: Final = word_set("unordered monotonic acquire release acq_rel seq_cst")


class Block(Record):
    """A label and its instructions; the last one decides where control goes."""

    label: str
    instructions: list[ir.Instruction]

    @property
    def last(self) -> ir.Instruction:
        return self.instructions[-1]


def reachable(blocks: Mapping[str, Block], starts: Iterable[str]) -> dict[str, None]:
    """Return the labels that control can reach from some labels, these included."""
    reached = dict.fromkeys(starts)
    stack = list(reached)
    while stack:
        for target in ir.successors(blocks[stack.pop()].last):
            if target not in reached:
                reached[target] = None
                stack.append(target)
    return reached


def predecessors(code: Iterable[Block]) -> dict[str, list[str]]:
    """Return for each label the labels of the blocks from which control can come."""
    code = list(code)
    entering: dict[str, list[str]] = {block.label: [] for block in code}
    for block in code:
        for label in dict.fromkeys(ir.successors(block.last)):
            entering[label].append(block.label)
    return entering


class BodyReader(Reader):
    """Reads the lines between the braces of a definition."""

    def read(self, lines: Iterable[str]) -> list[Block]:
        """Return the blocks in order; the function starts with the first."""
        blocks: list[Block] = []
        for line in filter(None, lines):
            if line[0] != " ":
                label = _LABEL.match(line)
                if label is None:
                    raise NotUnderstood("a line of a function", line)
                blocks.append(Block(text_of(label[1]) if line[0] == '"' else label[1], []))
                continue
            try:
                blocks[-1].instructions.append(self._instruction(line))
            except (NotUnderstood, ValueError, IndexError) as error:
                raise refusal(line, error) from error
        for block in blocks:
            if not block.instructions:
                raise NotUnderstood(f"the block {block.label} without instructions")
        return blocks

    def _instruction(self, line: str) -> ir.Instruction:
        text = _ATTACHMENTS.sub("", line)
        attached = {kind: int(number) for kind, number in _ATTACHED.findall(line[len(text) :])}
        location, words = attached.pop("dbg", None), tokens(text)
        self.start(words)
        self.operands = []
        name, at = None, 0
        if words[1] == "=":
            name, at = self.name(), 2
        self._opcode = words[at]
        form = _FORMS.get(f"{words[at]} {words[at + 1]}")
        self.at = at + 1 if form is None else at + 2
        form = form or _FORMS.get(words[at])
        if form is None:
            raise NotUnderstood(f"the instruction `{words[at]}`")
        build, parts = form
        fields = []
        for read, kept in parts:
            part = read(self)
            if kept:
                fields.append(part)
        instruction = build(*fields) if _LOOSE.isdisjoint(words) else ir.Loose()
        self.end()
        if words[0] == "#" and words[-3][1:].isdigit():
            location = int(words[-3][1:])
        instruction.name, instruction.location, instruction.attached = name, location, attached
        instruction.text, instruction.operands = line, self.operands
        return instruction

    # ------------------------------------------------------------------------- parts of forms

    def opcode(self) -> str:
        return self._opcode

    def floating(self) -> bool:
        return self._opcode == "fcmp"

    def left(self) -> ir.Operand:
        """Read an operand and its type, which the right operand shares."""
        self._type = self.type()
        return self.operand(self._type)

    def right(self) -> ir.Operand:
        return self.operand(self._type)

    def flags(self, allowed: frozenset[str] = _FLAGS) -> frozenset[str]:
        start = self.at
        while self.words[self.at] in allowed:
            self.at += 1
        return frozenset(self.words[start : self.at])

    def label(self) -> str:
        self.expect("label")
        return self.name()

    def labels(self) -> list[str]:
        return self.listed("]", self.label)

    def order(self) -> None:
        """Skip the ordering of an atomic operation: without threads it does not matter."""
        if self.accept("syncscope"):
            self.parenthesis()
        if self.take() not in _ORDERINGS:
            raise NotUnderstood(f"the ordering `{self.words[self.at - 1]}`")

    def align(self) -> int:
        if self.words[self.at] != "," or self.words[self.at + 1] != "align":
            return 0
        self.at += 3
        return int(self.words[self.at - 1])

    def goes_on(self) -> bool:
        """Skip a comma, unless the alignment or metadata follows it; return whether there was one."""
        following = self.words[self.at + 1] if self.words[self.at] == "," else "!"
        if following[:1] == "!" or following == "align":
            return False
        self.at += 1
        return True

    def count(self) -> ir.Operand | None:
        return self.value() if self.goes_on() else None

    def indices(self) -> list[ir.Operand]:
        indices = []
        while self.goes_on():
            indices.append(self.value())
        return indices

    def numbers(self) -> list[int]:
        numbers = []
        while self.goes_on():
            numbers.append(int(self.take()))
        return numbers

    def mask(self) -> list[int | None]:
        """Read the numbers of the elements that `shufflevector` takes."""
        mask = self.value()
        if isinstance(mask, ir.Aggregate):
            return [part.value if isinstance(part, ir.Integer) else None for part in mask.parts]
        if not isinstance(mask.type, VectorType) or not isinstance(mask, ir.Zero | ir.Undefined):
            raise NotUnderstood("the mask of a vector")
        return [0 if isinstance(mask, ir.Zero) else None] * mask.type.count

    def cases(self) -> list[tuple[int, str]]:
        cases = []
        while not self.accept("]"):
            number = self.value()
            if not isinstance(number, ir.Integer):
                raise NotUnderstood("a case that is no integer")
            self.expect(",")
            cases.append((number.value, self.label()))
        return cases

    # --------------------------------------------------------------------- whole instructions

    def phi(self) -> ir.Phi:
        self.flags()
        type_, incoming = self.type(), dict[str, ir.Operand]()
        while not incoming or self.goes_on():
            self.expect("[")
            value = self.operand(type_)
            self.expect(",")
            incoming[self.name()] = value
            self.expect("]")
        return ir.Phi(type_, incoming)

    def call(self) -> ir.Instruction:
        self.flags()
        self.flags(CALLING_CONVENTIONS)
        self.passing()
        called = self.callee_type()
        callee = self._assembly() if self.accept("asm") else self.operand(self.types.pointer)
        self.expect("(")
        arguments, words = self.listed(")", self._argument), self.attributes()
        if self.accept("["):  # bundles: promises to the optimiser
            if not isinstance(callee, ir.Symbol) or callee.name != "llvm.assume":
                raise NotUnderstood("an operand bundle")
            self.skip_to("]")
            self.expect("]")
        declared = called if isinstance(called, FunctionType) else None
        result = called if declared is None else declared.result
        if isinstance(callee, ir.Symbol) and callee.name.startswith(_CONSTRAINED):
            plain = _unconstrained(callee.name, result, arguments)
            if plain is not None:
                return plain
        call = ir.Call(result, callee, arguments, declared, words)
        if self._opcode == "callbr":
            self.expect("to")
            call.targets.append(self.label())
            self.expect("[")
            call.targets += self.labels()
        return call

    def _assembly(self) -> ir.Assembly:
        self.flags(_ASSEMBLY_FLAGS)
        template = text_of(self.take())
        self.expect(",")
        return ir.Assembly(template, text_of(self.take()))

    def _argument(self) -> ir.Argument:
        type_ = self.type()
        if type_.text == "metadata":
            start = self.at
            self.skip_to(",", ")")
            return ir.Argument(ir.Metadata(type_, "".join(self.words[start : self.at])), ir.PLAIN)
        passing = self.passing()
        return ir.Argument(self.operand(type_), passing)

    def declare(self) -> ir.Instruction:
        """Read `(ptr %x, !7, !DIExpression(), !9)`. This declares nothing if there is no object, or if its
        address has to be computed."""
        self.expect("(")
        if self.words[self.at] != "ptr":
            self.rest()
            return ir.DebugRecord()
        address = self.value()
        self.expect(",")
        variable, *expression = self.words[self.at : self.at + 5]
        self.rest()
        simple = expression == [",", "!DIExpression", "(", ")"]
        return ir.Declare(address, int(variable[1:])) if simple else ir.DebugRecord()

    def rest(self) -> None:
        self.at = len(self.words) - 1


_CONSTRAINED: Final = "llvm.experimental.constrained."


def _unconstrained(name: str, result: Type, arguments: list[ir.Argument]) -> ir.Instruction | None:
    """Return the instruction that a constrained operation (`-frounding-math`) is; None for a function. Here
    plain instructions do not assume a rounding mode either."""
    operation = name.removeprefix(_CONSTRAINED).partition(".")[0]
    operands = [argument.operand for argument in arguments]
    if operation in ("fcmp", "fcmps") and isinstance(operands[2], ir.Metadata):
        predicate = operands[2].text.strip('!"')
        return ir.Compare(True, predicate, operands[0], operands[1])
    if operation in _BINARY:
        return ir.Binary(operation, frozenset(), operands[0], operands[1])
    return ir.Convert(operation, operands[0], result) if operation in _CONVERSIONS else None


_Part = Callable[[BodyReader], object]
_Form = tuple[Callable[..., ir.Instruction], list[tuple[_Part, bool]]]


def _part(word: str) -> _Part:
    if word.endswith("?"):
        return lambda reader: reader.accept(word[:-1])
    method: _Part | None = getattr(BodyReader, word, None)
    return (lambda reader: reader.expect(word)) if method is None else method


def _form(build: Callable[..., ir.Instruction], grammar: str) -> _Form:
    """Return the class of an instruction, and how each part is read and whether it is a field."""
    return build, [
        (_part(word.removeprefix("-")), word[0] not in "-,[" and word != "to") for word in grammar.split()
    ]


def _itself(instruction: ir.Instruction) -> ir.Instruction:
    return instruction


_FORMS: Final = {
    "alloca": _form(ir.Alloca, "type count align"),
    "load": _form(ir.Load, "volatile? type , value -align"),
    "load atomic": _form(ir.Load, "volatile? type , value -order -align"),
    "store": _form(ir.Store, "volatile? value , value -align"),
    "store atomic": _form(ir.Store, "volatile? value , value -order -align"),
    "getelementptr": _form(ir.GetElementPointer, "-inbounds? -nusw? -nuw? type , value indices"),
    **dict.fromkeys(_BINARY, _form(ir.Binary, "opcode flags left , right")),
    "fneg": _form(ir.Negate, "-flags value"),
    **dict.fromkeys(_CONVERSIONS, _form(ir.Convert, "opcode -flags value to type")),
    **dict.fromkeys(("icmp", "fcmp"), _form(ir.Compare, "floating -flags take left , right")),
    "select": _form(ir.Select, "-flags value , value , value"),
    "freeze": _form(ir.Freeze, "value"),
    "phi": _form(_itself, "phi"),
    "extractvalue": _form(ir.ExtractValue, "value numbers"),
    "insertvalue": _form(ir.InsertValue, "value , value numbers"),
    "extractelement": _form(ir.ExtractElement, "value , value"),
    "insertelement": _form(ir.InsertElement, "value , value , value"),
    "shufflevector": _form(ir.ShuffleVector, "value , value , mask"),
    **dict.fromkeys(("call", "tail call", "notail call", "musttail call", "callbr"), _form(_itself, "call")),
    "atomicrmw": _form(ir.AtomicUpdate, "-volatile? take value , value -order -align"),
    "cmpxchg": _form(ir.CompareExchange, "weak? -volatile? value , value , value -order -order -align"),
    "fence": _form(ir.Fence, "-order"),
    "va_arg": _form(ir.Other, "-value , -type"),
    "br": _form(ir.Branch, "value , label , label"),
    "br label": _form(ir.Jump, "name"),
    "switch": _form(ir.Switch, "value , label [ cases"),
    "indirectbr": _form(ir.IndirectJump, "value , [ labels"),
    "ret": _form(ir.Return, "value"),
    "ret void": _form(ir.Return, ""),
    "unreachable": _form(ir.Unreachable, ""),
    "# dbg_declare": _form(_itself, "declare"),
    **dict.fromkeys(("# dbg_value", "# dbg_label", "# dbg_assign"), _form(ir.DebugRecord, "-rest")),
}
