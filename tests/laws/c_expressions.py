"""Random expressions. Of two unsequenced operands at most one has effects, and then the other one reads only
objects that no effect changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.laws.c_vocabulary import BITS, Place, Scope, Writer


class Expressions(Writer):
    def index(self, size: int, scope: Scope, depth: int) -> str:
        if depth <= 0 or self.chance(0.4):
            return str(self.random.randrange(size))
        value = self.frozen(scope, depth - 1)
        return f"(unsigned)({value}) % {size}u" if size & size - 1 else f"({value}) & {size - 1}"

    def place(self, scope: Scope, depth: int) -> Place:
        chosen = self.random.choice(scope.places)
        first, *rest = chosen.text.split("@")
        parts = [first]
        for part in rest:
            parts += [self.index(int(part[0]), scope, depth), part[1:]]
        return replace(chosen, text="".join(parts))

    def value(self, place: Place, text: str) -> str:
        """Return an expression that reads or changes an object, with the declared type. C leaves the type of
        a bit-field open: for gcc it has the field's width, and `(s.x = 1)` and `s.x++` have it too."""
        return f"(({place.type}){text})" if place.is_field and self.portable else text

    def frozen(self, scope: Scope, depth: int) -> str:
        def leaf(_: int) -> str:
            return self.random.choice(scope.frozen) if scope.frozen and self.chance(0.6) else self.literal()

        return leaf(0) if depth <= 0 or self.chance(0.3) else self.operation(leaf, leaf, 0)

    def pure(self, scope: Scope, depth: int) -> str:
        if self.chance(0.06):
            return self.unnamed(scope)
        if depth <= 0 or self.chance(0.15):
            dice = self.random.random()
            if dice < 0.65:
                return self.reading(scope, 1)
            if dice < 0.7 and scope.conditions:
                return f"({self.random.choice(scope.conditions)})"
            return self.frozen(scope, 0)
        operand = lambda d: self.pure(scope, d)  # noqa: E731
        return self.operation(operand, operand, depth - 1)

    def reading(self, scope: Scope, depth: int) -> str:
        place = self.place(scope, depth)
        return self.value(place, place.text)

    def unnamed(self, scope: Scope) -> str:
        """A part of a compound literal, or the size of something that is not evaluated."""
        dice, kind = self.random.random(), self.type()
        given = [self.reading(scope, 0) if self.chance(0.5) else self.frozen(scope, 0) for _ in range(3)]
        if dice < 0.4:
            return f"(({kind}[4]){{ {given[0]}, [2] = {given[1]}, {given[2]} }})[{self.index(4, scope, 1)}]"
        if dice < 0.7:
            member = self.random.choice(("x", "y"))
            return f"((struct t{self.number}){{ .y = {given[0]}, .x = {given[1]} }}).{member}"
        if dice < 0.85:
            return f"*&({kind}){{ {given[0]} }}"
        return f"sizeof({self.change(scope)})"

    def effect(self, scope: Scope, depth: int) -> str:
        """An expression that may change an object."""
        dice = self.random.random()
        if depth <= 0 or dice < 0.3:
            return self.change(scope)
        inner = lambda d: self.effect(scope, d)  # noqa: E731
        still = lambda d: self.frozen(scope, min(d, 1))  # noqa: E731
        if dice < 0.5:
            return self.operation(inner, still, depth - 1)
        if dice < 0.58:
            return f"({inner(depth - 1)} {self.random.choice(('&&', '||'))} {inner(depth - 1)})"
        if dice < 0.66:
            return f"({self.pure(scope, 1)} ? {inner(depth - 1)} : {inner(depth - 1)})"
        if dice < 0.7:
            return f"({inner(depth - 1)}, {self.pure(scope, 1)})"
        if dice < 0.75:
            return f"({self.pure(scope, 1)}, {inner(depth - 1)})"
        if dice < 0.8:
            name = self.name("e")
            return f"({{ {self.type()} {name} = {inner(depth - 1)}; {name}++; {name}; }})"
        if scope.calls:
            function, parameters = self.random.choice(scope.calls)
            changing = self.random.randrange(parameters)
            given = [inner(depth - 1) if i == changing else still(1) for i in range(parameters)]
            return f"{function}({', '.join(given)})"
        return self.change(scope)

    def change(self, scope: Scope) -> str:
        target = self.place(scope, 1)
        dice = self.random.random()
        if dice < 0.2:
            text = f"({target.text}{self.random.choice(('++', '--'))})"
        elif dice < 0.4:
            text = f"({self.random.choice(('++', '--'))}{target.text})"
        elif dice < 0.65:
            text = f"({target.text} = {self.pure(scope, 2)})"
        else:
            text = f"({self.compound(target, lambda d: self.pure(scope, d))})"
        return self.value(target, text)

    def compound(self, target: Place, operand: Callable[[int], str]) -> str:
        operator = self.random.choice(("+", "-", "*", "&", "|", "^", "/", "%", "<<", ">>"))
        right = self.right(operator, operand(2), 32)
        if target.is_field and self.portable:
            return f"{target.text} = {self.value(target, target.text)} {operator} {right}"
        return f"{target.text} {operator}= {right}"

    def right(self, operator: str, value: str, width: int) -> str:
        """A right operand with which the operator is defined."""
        if operator in ("<<", ">>"):
            return f"(({value}) & {width - 1})"
        if operator in ("/", "%"):
            most = self.random.choice((1, 7, 255, 65535))
            divisor = f"((({value}) & {most}) + {self.random.choice((1, 2, 3))})"
            return f"(-{divisor} - 1)" if self.chance(0.25) else divisor
        return value

    def operation(self, left: Callable[[int], str], right: Callable[[int], str], depth: int) -> str:
        """An operator with operands; only `left` may have effects."""
        dice = self.random.random()
        if dice < 0.3:
            operator = self.random.choice(("+", "-", "*", "&", "|", "^"))
        elif dice < 0.4:
            operator = self.random.choice(("/", "%"))
        elif dice < 0.5:
            cast = self.type()
            width = max(32, BITS[cast])
            operator = self.random.choice(("<<", ">>"))
            amount = self.right(operator, right(depth), width)
            return f"(({cast})({left(depth)}) {operator} {amount})"
        elif dice < 0.65:
            operator = self.random.choice(("<", "<=", ">", ">=", "==", "!="))
        elif dice < 0.72:
            operator = self.random.choice(("&&", "||"))
        elif dice < 0.8:
            return f"({left(depth)} ? {right(depth)} : {right(depth)})"
        elif dice < 0.9:
            return f"(({self.type()}){left(depth)})"
        else:
            return f"({self.random.choice(('-', '~', '!', '+'))}{left(depth)})"
        return f"({left(depth)} {operator} {self.right(operator, right(depth), 32)})"
