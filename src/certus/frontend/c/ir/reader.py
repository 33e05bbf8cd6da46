"""Read types, operands and attributes: the parts that instructions and symbols have in common.

A constant may be nested as deeply as the program's data: it is read with a stack.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from certus.frontend.c.ir import instructions as values
from certus.frontend.c.ir import types as kinds
from certus.frontend.c.ir.instructions import PLAIN, Passing
from certus.frontend.c.ir.types import Cursor, NotUnderstood, Type, bytes_of, name_of, word_set

_CLOSING: Final = {"[": "]", "<": ">", "{": "}", "<{": "}>"}
_OPERATIONS: Final = word_set(
    "getelementptr ptrtoint ptrtoaddr inttoptr bitcast addrspacecast trunc add sub xor"
)
_OPERATION_FLAGS: Final = word_set("inbounds nuw nusw nsw exact")
# Attributes of parameters, arguments and results that are promises of the compiler to itself.
_PROMISES: Final = word_set(
    "noundef nonnull noalias nocapture readonly writeonly readnone returned writable immarg noext nofree "
    "dead_on_unwind dead_on_return inreg nest swiftself swifterror"
)
# Attributes with a detail in parentheses, of no importance either.
_DETAILED: Final = word_set(
    "captures dereferenceable dereferenceable_or_null range initializes nofpclass memory allocsize allockind "
    "uwtable alignstack vscale_range dead_on_return"
)
_FUNCTION_WORDS: Final = word_set(
    "alwaysinline builtin cold convergent hot inlinehint jumptable minsize naked nobuiltin nocallback nofree "
    "noinline nomerge nonlazybind noprofile norecurse noredzone noreturn nosync nounwind optnone optsize "
    "returns_twice safestack speculatable ssp sspreq sspstrong strictfp uwtable willreturn mustprogress "
    "nodivergencesource nocf_check noduplicate noimplicitfloat optdebug hybrid_patchable shadowcallstack "
    "presplitcoroutine skipprofile sanitize_address sanitize_thread sanitize_memory sanitize_type "
    "nosanitize_coverage nosanitize_bounds disable_sanitizer_instrumentation nocreateundeforpoison "
    "denormal_fpenv"
)
CALLING_CONVENTIONS: Final = word_set("ccc fastcc coldcc preserve_mostcc preserve_allcc x86_stdcallcc")


@dataclass(slots=True)
class _Open:
    """An aggregate or an operation whose parts are being read."""

    kind: str  # "[", "{", "<", "<{", "splat" or the name of an operation
    type: Type
    source: Type | None = None
    parts: list[values.Operand] = field(default_factory=list)


class Reader(Cursor):
    """Reads the tokens of a line. `groups` are the attributes of functions by the name of their group."""

    def __init__(self, types: kinds.TypeTable) -> None:
        self.types = types
        self.operands: list[values.Operand] = []
        self.groups: dict[str, frozenset[str]] = {}

    # --------------------------------------------------------------------------------- types

    def type(self) -> Type:
        scalar = self.types.scalars.get(self.words[self.at])
        if scalar is None:
            return self._composite()
        self.at += 1
        return scalar

    def _composite(self) -> Type:
        stack: list[tuple[str, int, list[Type]]] = []
        while True:
            bracket, count, type_ = self._bracket(), 0, None
            if bracket in ("[", "<"):
                count = int(self.take())
                self.expect("x")
            if bracket:
                stack.append((bracket, count, []))
            else:
                type_ = self.types.scalar(self.take())
            if bracket and self.words[self.at] != "}":
                continue
            while stack:  # `type_` is complete, or an empty structure has just been opened
                bracket, count, parts = stack[-1]
                parts += [] if type_ is None else [type_]
                if bracket[-1] == "{" and self.accept(","):
                    break
                self.expect(*_CLOSING[bracket])
                stack.pop()
                type_ = self.types.composite(bracket, count, parts)
            else:
                assert type_ is not None
                return type_

    def _bracket(self) -> str:
        """Skip the bracket that opens an aggregate or its type, and return it."""
        if self.words[self.at] not in ("[", "<", "{"):
            return ""
        return "<{" if self.take() == "<" and self.accept("{") else self.words[self.at - 1]

    def callee_type(self) -> Type:
        """Read the type in front of a callee: its result, or the whole function type."""
        result = self.type()
        if not self.accept("("):
            return result
        parameters = self.listed(")", lambda: None if self.accept("...") else self.type())
        return self.function_type(result, parameters)

    def function_type(self, result: Type, parameters: list[Type | None]) -> kinds.FunctionType:
        """Return the type of a function; None among its parameters is `...`."""
        types = [type_ for type_ in parameters if type_ is not None]
        type_ = self.types.composite("(", int(None in parameters), [result, *types])
        assert isinstance(type_, kinds.FunctionType)
        return type_

    # ------------------------------------------------------------------------------ operands

    def value(self) -> values.Operand:
        """Read a type and an operand of it."""
        return self.operand(self.type())

    def operand(self, type_: Type) -> values.Operand:
        """Read an operand of a type, and add it to the operands of the line."""
        operand = self._constant(type_)
        self.operands.append(operand)
        return operand

    def _constant(self, type_: Type) -> values.Operand:
        stack: list[_Open] = []
        while True:
            operand = self._simple(self.words[self.at], type_)
            if operand is not None:
                self.at += 1
            else:
                operand = self._block_address(type_)
            if operand is None:
                stack.append(self._open(type_))
                if self.words[self.at] not in ("]", "}", ">"):
                    type_ = self.type()
                    continue
            while stack:  # `operand` is complete, or an aggregate without parts has just been opened
                top = stack[-1]
                if operand is not None:
                    top.parts.append(operand)
                    if self.accept(","):
                        type_ = self.type()
                        break
                stack.pop()
                operand = self._close(top)
            else:
                assert operand is not None
                return operand

    @staticmethod
    def _simple(word: str, type_: Type) -> values.Operand | None:
        first = word[:1]
        if first == "%":
            return values.Local(type_, word[1:] if word[1] != '"' else name_of(word))
        if first == "@":
            return values.Symbol(type_, name_of(word))
        if isinstance(type_, kinds.IntegerType):
            if first.isdigit() or first == "-":
                return values.Integer(type_, int(word))
            if word in ("true", "false", "zeroinitializer"):
                return values.Integer(type_, int(word == "true"))
        elif isinstance(type_, kinds.FloatType) and (first.isdigit() or first == "-" or word[:3] == "f0x"):
            return values.Float(type_, word)
        if word == "null":
            return values.Null(type_)
        if word in ("zeroinitializer", "none"):
            return values.Zero(type_)
        if word in ("undef", "poison"):
            return values.Undefined(type_, word == "poison")
        return values.Bytes(type_, bytes_of(word)) if word[:2] == 'c"' else None

    def _block_address(self, type_: Type) -> values.Operand | None:
        """Read `blockaddress(@f, %label)`."""
        if not self.accept("blockaddress"):
            return None
        self.expect("(")
        function, label = self.listed(")", self.name)
        return values.BlockAddress(type_, function, label)

    def _open(self, type_: Type) -> _Open:
        bracket = self._bracket()
        if bracket:
            return _Open(bracket, type_)
        kind, source = self.take(), None
        if kind != "splat" and kind not in _OPERATIONS:
            raise NotUnderstood(f"the constant `{kind}`")
        while self.words[self.at] in _OPERATION_FLAGS:
            self.at += 1
        if self.accept("inrange"):
            self.parenthesis()
        self.expect("(")
        if kind == "getelementptr":
            source = self.type()
            self.expect(",")
        return _Open(kind, type_, source)

    def _close(self, top: _Open) -> values.Operand:
        if top.kind in _OPERATIONS and self.accept("to") and self.type() is not top.type:
            raise NotUnderstood(f"a conversion to another type than {top.type}")
        self.expect(*_CLOSING.get(top.kind, ")"))
        if top.kind in _OPERATIONS:
            return values.Expression(top.type, top.kind, top.parts, top.source)
        count = len(top.type.fields) if isinstance(top.type, kinds.StructType) else -1
        if isinstance(top.type, kinds.ArrayType | kinds.VectorType):
            count = top.type.count
            top.parts *= count if top.kind == "splat" else 1
        if count != len(top.parts):
            raise NotUnderstood(f"a constant of {len(top.parts)} parts of type {top.type}")
        return values.Aggregate(top.type, top.parts)

    # ---------------------------------------------------------------------------- attributes

    def parenthesis(self) -> None:
        """Skip a parenthesis."""
        self.expect("(")
        self.skip_to(")")
        self.at += 1

    def passing(self) -> Passing:
        """Read the attributes of a parameter, an argument or a result."""
        types, extension, align = dict[str, Type](), "", 0
        while True:
            word = self.words[self.at]
            if word in _PROMISES and self.words[self.at + 1] != "(":
                self.at += 1
            elif word in ("byval", "sret", "elementtype"):
                self.at += 1
                self.expect("(")
                types[word] = self.type()
                self.expect(")")
            elif word in ("signext", "zeroext"):
                extension = self.take()
            elif word == "align":
                self.at += 1
                enclosed = self.accept("(")
                align = int(self.take())
                self.expect(*")" * enclosed)
            elif not self._unimportant():
                break
        if not types and not extension and not align:
            return PLAIN
        return Passing(types.get("byval"), types.get("sret"), extension, types.get("elementtype"), align)

    def attributes(self) -> frozenset[str]:
        """Read the attributes of a function or a call; return those that are single words, including those in
        groups."""
        words: set[str] = set()
        while True:
            word = self.words[self.at]
            if self._unimportant():
                continue
            if word in _FUNCTION_WORDS:
                words.add(word)
            elif word[:1] == "#" and word != "#":
                words |= self.groups.get(word, frozenset())
            else:
                return frozenset(words)
            self.at += 1

    def _unimportant(self) -> bool:
        """Skip an attribute with a detail, if one is next."""
        word, following = self.words[self.at], self.words[self.at + 1 : self.at + 2]
        if word in _DETAILED and following == ["("]:
            self.at += 1
            self.parenthesis()
        elif word[:1] == '"' or (word == "alignstack" and following == ["="]):
            self.at += 3 if following == ["="] else 1
        else:
            return False
        return True
