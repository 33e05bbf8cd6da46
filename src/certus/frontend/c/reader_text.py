"""Expressions that Clang gives only as text: the lengths of variable-length arrays, and `typeof`.

A small parser for the expressions that occur there: names, numbers, casts, members, calls, the arithmetic
operators, comparisons and choices. What it does not understand has no type, and is refused where it matters.
"""

from __future__ import annotations

import re
from typing import Final

from certus.core.diagnostic import Span
from certus.frontend.c import ast
from certus.frontend.c.ast import Conversion
from certus.frontend.c.layout import NoSize
from certus.frontend.c.reader_core import Reading
from certus.frontend.c.reader_static import want_function, want_global
from certus.frontend.c.types import (
    INT_TYPE,
    ArrayType,
    CType,
    Field,
    FunctionType,
    IntegerType,
    OtherType,
    PointerType,
    RecordType,
    VariableArrayType,
    unqualified,
)
from certus.frontend.c.typetext import integer_type, parse_type, size_type

_TOKEN: Final = re.compile(
    r"\s*(->|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[A-Za-z_$][\w$]*|\d\w*|[-+*/%&|^~!?:,<>().\[\]])"
)
_LEVELS: Final = (
    *(("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">=")),
    *(("<<", ">>"), ("+", "-"), ("*", "/", "%")),
)
_NUMBER: Final = re.compile(r"0|[1-9][0-9]*|0[xX][0-9a-fA-F]+")
_FIRST_WORD: Final = re.compile(r"[A-Za-z_$][\w$]*")
_COMPARISONS: Final = ("==", "!=", "<", ">", "<=", ">=")


class _NotUnderstood(Exception):
    """The text is beyond the small parser."""


def type_of_text(reading: Reading, text: str) -> CType | None:
    """The type that `typeof (text)` means."""
    if text.startswith("(") and _closes_at_end(text):
        return type_of_text(reading, text[1:-1].strip())
    first = _FIRST_WORD.match(text)
    if first is None or not _is_variable(reading, first[0]):
        named = parse_type(text, reading.names)
        if not isinstance(named, OtherType):
            return named
    elif reading.names.typedef(first[0]) is not None:
        return None  # which of the two is in scope is not certain
    found = parse_expression(reading, text, reading.span, lvalue=True)
    return None if found is None else found.type


def _is_variable(reading: Reading, word: str) -> bool:
    """Whether a word is a variable, though it may name a type elsewhere, as `bool` does."""
    return isinstance(reading.names.meaning(word), ast.Variable) or word in reading.globals


def _closes_at_end(text: str) -> bool:
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return at == len(text) - 1
    return False


def parse_expression(
    reading: Reading, text: str, span: Span, *, lvalue: bool = False
) -> ast.Expression | None:
    """The expression, None if it is not understood; its value unless `lvalue`."""
    parser = _Parser(reading, text, span)
    try:
        if parser.shadowed():
            return None
        found = parser.choice()
        if parser.at != len(parser.tokens):
            return None
        return found if lvalue else parser.value(found)
    except (_NotUnderstood, IndexError, NoSize):
        return None


class _Parser:
    """Recursive descent; types in declarations nest a few levels only."""

    def __init__(self, reading: Reading, text: str, span: Span) -> None:
        self.reading = reading
        self.text = text
        self.span = span
        self.at = 0
        self.tokens: list[tuple[str, int, int]] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                self.tokens.append(("", position, position))
                break
            self.tokens.append((match.group(1), match.start(1), match.end()))
            position = match.end()

    def shadowed(self) -> bool:
        """Whether a word names a type, and a variable or function too: it is not told here which is meant."""
        reading = self.reading
        for word, _, _ in self.tokens:
            if reading.names.typedef(word) is not None and (
                reading.names.meaning(word) is not None
                or word in reading.globals
                or word in reading.functions
            ):
                return True
        return False

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise _NotUnderstood

    def choice(self) -> ast.Expression:
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        then = self.promoted(self.choice())
        self.expect(":")
        otherwise = self.promoted(self.choice())
        common = _common(_integer(then.type), _integer(otherwise.type))
        return ast.Conditional(
            common,
            self.span,
            self.value(condition),
            self.converted(then, common),
            self.converted(otherwise, common),
        )

    def binary(self, level: int) -> ast.Expression:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in _LEVELS[level]:
            operator = self.tokens[self.at][0]
            self.at += 1
            left = self.combine(operator, left, self.binary(level + 1))
        return left

    def combine(self, operator: str, left: ast.Expression, right: ast.Expression) -> ast.Expression:
        if operator in ("&&", "||"):
            return ast.Logical(INT_TYPE, self.span, operator, self.value(left), self.value(right))
        left, right = self.promoted(left), self.promoted(right)
        first, second = _integer(left.type), _integer(right.type)
        if operator in ("<<", ">>"):
            return ast.Binary(first, self.span, operator, left, right)
        common = _common(first, second)
        type_ = INT_TYPE if operator in _COMPARISONS else common
        return ast.Binary(
            type_, self.span, operator, self.converted(left, common), self.converted(right, common)
        )

    def unary(self) -> ast.Expression:
        token = self.peek()
        if token in ("-", "~", "+"):
            self.at += 1
            operand = self.promoted(self.unary())
            return ast.Unary(operand.type, self.span, token, operand)
        if token in ("++", "--"):
            self.at += 1
            return self.increment(self.unary(), token, postfix=False)
        if self.accept("!"):
            return ast.Unary(INT_TYPE, self.span, "!", self.value(self.unary()))
        if self.accept("*"):
            pointer = self.value(self.unary())
            target = unqualified(pointer.type)
            if not isinstance(target, PointerType):
                raise _NotUnderstood
            return ast.Dereference(target.target, self.span, pointer)
        if self.accept("&"):
            operand = self.unary()
            return ast.AddressOf(PointerType(operand.type), self.span, operand)
        if self.accept("sizeof"):
            return self.size()
        return self.postfix(self.primary())

    def size(self) -> ast.Expression:
        type_ = self.type_in_parentheses()
        if type_ is None:
            type_ = self.unary().type
        return ast.IntegerConstant(
            size_type(self.reading.names.model), self.span, self.reading.layout.size(type_)
        )

    def type_in_parentheses(self) -> CType | None:
        """The type of `(type)`, if that stands here; else nothing is taken."""
        begin = self.at
        if self.peek() != "(":
            return None
        depth = 0
        while self.at < len(self.tokens):
            depth += (self.peek() == "(") - (self.peek() == ")")
            self.at += 1
            if depth == 0:
                break
        inside = self.text[self.tokens[begin][2] : self.tokens[self.at - 1][1]]
        type_ = parse_type(inside, self.reading.names)
        if isinstance(type_, OtherType):
            self.at = begin
            return None
        return type_

    def primary(self) -> ast.Expression:
        token = self.peek()
        if token == "(":
            type_ = self.type_in_parentheses()
            if type_ is not None:
                return self.cast(type_, self.unary())
            self.at += 1
            found = self.choice()
            self.expect(")")
            return found
        self.at += 1
        if token[:1].isdigit():
            return self.number(token)
        meaning = self.reading.names.meaning(token)
        if isinstance(meaning, ast.Variable):
            return ast.VariableReference(meaning.type, self.span, meaning)
        if meaning is not None:
            return ast.IntegerConstant(meaning[1], self.span, meaning[0])
        if token in self.reading.globals:
            variable = want_global(self.reading, token, self.reading.globals[token].node)
            return ast.VariableReference(variable.type, self.span, variable)
        if token in self.reading.functions and self.accept("("):
            return self.call(token)
        raise _NotUnderstood

    def number(self, token: str) -> ast.Expression:
        """An integer constant; one that does not fit the type its suffix names is beyond this parser."""
        digits = token.rstrip("uUlL")
        suffix = token[len(digits) :].lower()
        words = ("unsigned",) * ("u" in suffix) + ("long",) * suffix.count("l")
        type_ = integer_type(words or ("int",), self.reading.names.model) or INT_TYPE
        if not _NUMBER.fullmatch(digits) or int(digits, 0) >= 1 << (type_.width - type_.signed):
            raise _NotUnderstood
        return ast.IntegerConstant(type_, self.span, int(digits, 0))

    def call(self, name: str) -> ast.Expression:
        """A call of a function with a prototype; the parenthesis is open."""
        type_ = want_function(self.reading, self.reading.functions[name].node)
        arguments: list[ast.Expression] = []
        while not self.accept(")"):
            if arguments:
                self.expect(",")
            arguments.append(self.value(self.choice()))
        if type_.parameters is None or len(type_.parameters) != len(arguments):
            if arguments:
                raise _NotUnderstood
        else:
            pairs = zip(arguments, type_.parameters, strict=True)
            arguments = [self.passed(argument, wanted) for argument, wanted in pairs]
        function = ast.FunctionReference(type_, self.span, name)
        return ast.Call(unqualified(type_.result), self.span, function, tuple(arguments))

    def passed(self, argument: ast.Expression, type_: CType) -> ast.Expression:
        return argument if unqualified(argument.type) == unqualified(type_) else self.cast(type_, argument)

    def postfix(self, base: ast.Expression) -> ast.Expression:
        while True:
            if self.accept("."):
                base = self.member(base)
            elif self.accept("->"):
                base = self.value(base)
                pointed = unqualified(base.type)
                if not isinstance(pointed, PointerType):
                    raise _NotUnderstood
                base = self.member(ast.Dereference(pointed.target, self.span, base))
            elif self.accept("["):
                index = self.value(self.choice())
                self.expect("]")
                base = self.value(base)
                pointed = unqualified(base.type)
                if not isinstance(pointed, PointerType):
                    raise _NotUnderstood
                base = ast.Subscript(pointed.target, self.span, base, index)
            elif self.peek() in ("++", "--"):
                self.at += 1
                base = self.increment(base, self.tokens[self.at - 1][0], postfix=True)
            else:
                return base

    def increment(self, operand: ast.Expression, operator: str, *, postfix: bool) -> ast.Expression:
        delta = 1 if operator == "++" else -1
        return ast.Increment(unqualified(operand.type), self.span, operand, delta, postfix)

    def member(self, base: ast.Expression) -> ast.Expression:
        """Members of anonymous records inside are found too."""
        name = self.peek()
        self.at += 1
        path = self.path(unqualified(base.type), name)
        if path is None:
            raise _NotUnderstood
        if path[-1].bits is not None:  # which is promoted by its width
            raise _NotUnderstood
        for field in path:
            base = ast.Member(field.type, self.span, base, field)
        return base

    def path(self, type_: CType, name: str) -> tuple[Field, ...] | None:
        record = self.reading.types.records.get(type_.identity) if isinstance(type_, RecordType) else None
        for field in record.fields if record is not None else ():
            if field.name == name:
                return (field,)
            if not field.name:
                rest = self.path(unqualified(field.type), name)
                if rest is not None:
                    return (field, *rest)
        return None

    # ---------------------------------------------------------------------------- conversions

    def value(self, found: ast.Expression) -> ast.Expression:
        """The value of what may be an lvalue."""
        if not isinstance(found, ast.VariableReference | ast.Member | ast.Subscript | ast.Dereference):
            return found
        type_ = unqualified(found.type)
        if isinstance(type_, ArrayType | VariableArrayType):
            return ast.Cast(PointerType(type_.element), self.span, Conversion.DECAY, found)
        if isinstance(type_, FunctionType | OtherType):
            raise _NotUnderstood
        return ast.Cast(type_, self.span, Conversion.LOAD, found)

    def promoted(self, found: ast.Expression) -> ast.Expression:
        found = self.value(found)
        type_ = _integer(found.type)
        return self.converted(found, INT_TYPE if type_.rank < INT_TYPE.rank else type_)

    def converted(self, found: ast.Expression, type_: IntegerType) -> ast.Expression:
        if unqualified(found.type) == type_:
            return found
        return ast.Cast(type_, self.span, Conversion.INTEGER, found)

    def cast(self, type_: CType, operand: ast.Expression) -> ast.Expression:
        operand = self.value(operand)
        source, target = unqualified(operand.type), unqualified(type_)
        kinds = {
            (IntegerType, IntegerType): Conversion.INTEGER,
            (IntegerType, PointerType): Conversion.INTEGER_TO_POINTER,
            (PointerType, PointerType): Conversion.POINTER,
            (PointerType, IntegerType): Conversion.POINTER_TO_INTEGER,
        }
        conversion = kinds.get((type(source), type(target)))
        if conversion is None:
            raise _NotUnderstood
        if isinstance(target, IntegerType) and target.boolean:
            conversion = Conversion.TO_BOOL
        return ast.Cast(target, self.span, conversion, operand, True)


def _integer(type_: CType) -> IntegerType:
    type_ = unqualified(type_)
    if not isinstance(type_, IntegerType):
        raise _NotUnderstood
    return type_


def _common(first: IntegerType, second: IntegerType) -> IntegerType:
    """The usual arithmetic conversions of two promoted types."""
    if first.rank < second.rank:
        first, second = second, first
    if first.rank == second.rank:
        return first if not first.signed else second
    if first.signed and not second.signed and first.width == second.width:
        return IntegerType("unsigned " + first.name, first.width, False, first.rank)
    return first
