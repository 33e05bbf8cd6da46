"""Draw observations of what is visible: sizes, offsets, values, copies, bytes."""

from __future__ import annotations

from dataclasses import dataclass

from certus.fuzz.corners.c_types import (
    Floating,
    Leaf,
    Pointer,
    Record,
    aggregates,
    contains,
    declaration,
    is_const,
    leaves,
    overaligned,
    shown,
    stripped,
    type_name,
)
from certus.fuzz.corners.drawing import VARIABLES, Variable
from certus.fuzz.corners.idioms import Idioms


@dataclass(slots=True)
class Observing(Idioms):
    """Draws scenes of observations."""

    def observe_types(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            dice = self.random.random()
            if dice < 0.4:
                self.observe(f"sizeof({self.some_type()})")
            elif dice < 0.6:
                self.observe(f"{self.pick(('_Alignof', '__alignof__'))}({self.some_type()})")
            elif dice < 0.8:
                self.observe(f"sizeof {self.some_object()}")
            else:
                self.observe(f"_Generic({self.controlling(1)}, {self.associations()}default: 99)")

    def associations(self) -> str:
        """Draw cases of `_Generic` for types that are visible here and surely differ."""
        records: dict[int, str] = {}
        for type in self.types(lambda t: isinstance(stripped(t), Record))[:4]:
            records.setdefault(id(stripped(type)), type.spelling)
        cases = [f"{text}: {n}, {text} *: {n + 10}, " for n, text in enumerate(records.values(), 1)]
        return "".join(cases) + self.pick(
            ("", "int: 50, ", "char *: 51, int *: 52, ", "unsigned: 53, long: 54, ")
        )

    def observe_compatible(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.observe(self.compatible_types())

    def observe_layout(self) -> None:
        for _ in range(self.random.randint(1, 3)):
            text = self.offset()
            if text:
                self.observe(text)
        variables = self.variables()
        if variables:
            chosen = self.pick(variables)
            self.observe(f"sizeof({chosen.name})")
            if self.chance(0.4):
                self.observe(f"__alignof__({chosen.name})")
            if self.chance(0.4):
                # What i386 prefers (8 bytes for `long long`) is no promise of its ABI.
                whole = self.model == "LP64"
                aligned = f"__alignof__({chosen.name})" if whole else f"_Alignof(__typeof__({chosen.name}))"
                self.observe(f"(unsigned long)&{chosen.name} % {aligned}")

    def observe_values(self) -> None:
        """Write to some integers of an object, then observe them."""
        variables = [v for v in self.variables() if any(leaf.integer for leaf in leaves(v.type))]
        if not variables:
            return
        chosen = self.pick(variables)
        own = [leaf for leaf in leaves(chosen.type, chosen.name) if leaf.integer and not leaf.union]
        for leaf in own:
            if not leaf.const and not chosen.const and self.chance(0.4):
                self.say(f"{leaf.path} = {self.value(1)};")
        for leaf in self.random.sample(own, min(len(own), 4)):
            self.observe(shown(leaf.path, leaf))

    def observe_expressions(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            text = self.value(3)
            self.observe(f"sizeof(+({text}))" if self.chance(0.25) else f"(unsigned long long)({text})")

    def observe_effects(self) -> None:
        """Draw assignments as expressions."""
        for _ in range(self.random.randint(1, 3)):
            places = self.integer_leaves(writable=True)
            if not places:
                return
            path, leaf = self.pick(places)
            operator = self.pick(("=", "+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>="))
            value = (
                f"({self.value(0)} & 7)"
                if operator in ("<<=", ">>=")
                else self.number_text(self.integers["int"])
            )
            text = self.pick(
                (f"{path} {operator} {value}", f"{path}++", f"--{path}", f"({path} = {value}, {path})")
            )
            self.observe(f"(unsigned long long)({text})")
            self.observe(shown(path, leaf))

    def observe_pointers(self) -> None:
        """Draw observations of strides, and of objects through pointers of several spellings."""
        variables = [v for v in self.variables() if not overaligned(v.type)]
        if not variables:
            return
        chosen = self.pick(variables)
        name = self.new("id", VARIABLES)
        if name == chosen.name:
            return
        self.observe(f"(char *)(&{chosen.name} + 1) - (char *)&{chosen.name}")
        kind = self.pick(("__auto_type", f"__typeof__({chosen.name}) *", "named"))
        pointer = Pointer(chosen.type)
        if kind == "named" and self.spelled(chosen.type):
            self.add(declaration(pointer, name, end=f" = (void *)&{chosen.name};", family=self.family))
        else:
            kind = "__auto_type" if kind == "named" else kind
            self.say(f"{kind} {name} = {self.pointer_to(chosen)};")
        self.bind("id", name, Variable(name, pointer, const=True))
        if self.chance(0.6):
            with self.block():
                self.declare_type()
                self._through(name, chosen)
        else:
            self._through(name, chosen)

    def _through(self, name: str, target: Variable) -> None:
        if self.lookup("id", name) is None or not isinstance(self.lookup("id", name), Variable):
            return
        self.observe(f"(char *)({name} + 1) - (char *){name}")
        self.observe(f"sizeof(*{self.pick((name, f'({name} + 1)', f'(0, {name})', f'&{name}[0]'))})")
        inside = [leaf for leaf in leaves(target.type) if leaf.integer and not leaf.union]
        for leaf in self.random.sample(inside, min(2, len(inside))):
            base = self.pick((f"(*{name})", f"(*({name} + 0))", f"{name}[0]", f"(1 ? {name} : {name})[0]"))
            if not leaf.const and not target.const and self.chance(0.6):
                self.say(f"{base}{leaf.path} = {self.number_text(self.integers['int'])};")
            self.observe(shown(f"{base}{leaf.path}", leaf))

    def observe_copies(self) -> None:
        """Draw a copy of a record, in one of many forms, and observations of the copy."""
        records = [v for v in self.variables() if isinstance(stripped(v.type), Record)]
        if not records:
            return
        chosen = self.pick(records)
        if is_const(chosen.type) and not chosen.const:
            return
        name = self.new("id", VARIABLES)
        if name == chosen.name:
            return
        source = self.pick(
            (chosen.name, f"*&{chosen.name}", f"({{ {chosen.name}; }})", f"(&{chosen.name})[0]")
        )
        word = self.pick(("__auto_type", "__typeof__"))
        if word == "__auto_type":
            self.say(f"__auto_type {name} = {source};")
        elif self.chance(0.5) and not is_const(chosen.type) and not chosen.const:
            self.say(f"__typeof__({chosen.name}) {name} = {source};")
        else:
            pair = (
                f"(__typeof__({chosen.name}) [2]){{[1] = {source}}}"
                if not overaligned(chosen.type)
                else source
            )
            self.say(f"__typeof__({chosen.name}) {name} = {pair}{'[1]' if pair != source else ''};")
        self.bind("id", name, Variable(name, chosen.type, const=True))
        inside = [leaf for leaf in leaves(chosen.type) if leaf.integer and not leaf.union]
        for leaf in self.random.sample(inside, min(3, len(inside))):
            self.observe(shown(f"{name}{leaf.path}", leaf))

    def observe_bytes(self) -> None:
        """Draw an object whose bytes are all set, some members of it, and the bytes afterwards."""
        types = [
            t
            for t in self.records()
            if not is_const(t) and not contains(t, Floating) and not contains(t, Pointer)
        ]
        if not types:
            return
        type = self.pick(types)
        number = self.number("image")
        pattern = 0 if self.chance(0.6) else 1
        if pattern and any("_BitInt" in str(leaf.type) for leaf in leaves(type)):
            pattern = 0
        name = f"image{number}"
        self.say(f"{type.spelling} {name}; __builtin_memset(&{name}, {pattern}, sizeof {name});")
        inside = [leaf for leaf in leaves(type, name) if leaf.integer and leaf.integer.bits <= 64]
        for leaf in self.random.sample(inside, min(3, len(inside))):
            if leaf.integer is not None and "_BitInt" not in str(leaf.type):
                self.say(f"{leaf.path} = {self.number_text(leaf.integer, leaf.width)};")
        self.say(
            f"unsigned long long hash{number} = 0; for (unsigned at_ = 0; at_ < sizeof {name}; at_++) "
            f"hash{number} = hash{number} * 31 + ((unsigned char *)&{name})[at_];"
        )
        self.observe(f"hash{number}")
        if self.chance(0.5):
            self.observe(f"((unsigned char *)&{name})[sizeof {name} - 1 < 3 ? 0 : 3]")

    def observe_unions(self) -> None:
        """Write one member of a union and read it, or a narrower one, back."""
        unions = []
        for variable in self.variables(lambda v: not v.const and not is_const(v.type)):
            for path, type in aggregates(variable.type, variable.name):
                record = stripped(type)
                if isinstance(record, Record) and record.kind == "union":
                    unions.append((path, record))
        if not unions:
            return
        path, record = self.pick(unions)
        parts = [leaf for leaf in leaves(record, path) if _plain(leaf)]
        if not parts:
            return
        widest = max(parts, key=_bits)
        self.say(f"{widest.path} = {self.value(1)};")
        for leaf in self.random.sample(parts, min(2, len(parts))):
            if leaf is widest or _bits(leaf) < _bits(widest):
                chosen = (
                    leaf
                    if stripped(record) is record and _direct(leaf, path) and _direct(widest, path)
                    else widest
                )
                self.observe(shown(chosen.path, chosen))

    def linked(self) -> None:
        """Draw a record that points to itself, and observations through its pointer."""
        lists = [
            v
            for v in self.variables(lambda v: not v.const and not is_const(v.type))
            if isinstance(record := stripped(v.type), Record)
            and any(m.name == "next" for m in record.members)
        ]
        if not lists:
            return
        chosen = self.pick(lists)
        name = chosen.name
        self.say(f"{name}.next = (void *)&{name};")
        self.observe(f"sizeof(*{name}.next)")
        self.observe(f"(char *)({name}.next + 1) - (char *)&{name}")
        inside = [leaf for leaf in leaves(chosen.type) if leaf.integer and not leaf.union]
        for leaf in self.random.sample(inside, min(2, len(inside))):
            self.say(f"{name}.next->{leaf.path[1:]} = {self.number_text(self.integers['int'])};")
            self.observe(shown(f"{name}.next->next->{leaf.path[1:]}", leaf))

    def vla(self) -> None:
        """Draw arrays of a length that is computed, and lengths with side effects."""
        number = self.number("vla")
        count, array = f"count{number}", f"vla{number}"
        self.say(f"int {count} = {self.pick((1, 2, 3, 5))} + (({self.value(1)}) & 3);")
        type = self.complete(0)
        if overaligned(type) or (isinstance(stripped(type), Record) and contains(type, Floating)):
            type = self.integers["short"]
        element = type_name(type) if not isinstance(type, Pointer) else "long"
        match self.random.randrange(6):
            case 0:
                self.say(f"{element} {array}[{count}];")
                self.say(f"{count} += 2;")
                self.observe(f"sizeof {array}")
            case 1:
                self.observe(f"sizeof({element}[{count}++])")
            case 2:
                self.say(f"typedef {element} shape{number}[{count}++]; shape{number} {array};")
                self.observe(f"sizeof {array} + sizeof(shape{number})")
            case 3:
                self.say(
                    f"{element} {array}[{count}][3]; "
                    f"__typeof__({array}) *pointer{number} = &{array}; {count}--;"
                )
                self.observe(f"sizeof *pointer{number} + sizeof {array}[0]")
                self.observe(f"(char *)(pointer{number} + 1) - (char *)pointer{number}")
            case 4:
                self.say(f"{element} {array}[2][{count}]; {count} = 1;")
                self.observe(f"(char *){array}[1] - (char *){array}[0]")
                self.observe(f"sizeof(__typeof__({array}[0]))")
            case _:
                self.say(f"{element} (*{array})[{count}] = 0; __typeof__(*{array}) *other{number} = {array};")
                self.observe(f"sizeof(*{array}) * 100 + sizeof *other{number}")
                self.observe(
                    f"sizeof({self.pick((f'*({array} + ({count}++ & 0))', f'(*{array})[{count}++]'))})"
                )
        self.observe(count)


def _bits(leaf: Leaf) -> int:
    return leaf.integer.bits if leaf.integer else 0


def _plain(leaf: Leaf) -> bool:
    """Return whether reading it after other bytes were written is harmless."""
    return (
        leaf.integer is not None
        and leaf.width is None
        and leaf.integer.bits > 1
        and "_BitInt" not in str(leaf.type)
    )


def _direct(leaf: Leaf, union: str) -> bool:
    """Return whether the leaf is a member of the union itself."""
    return leaf.path.count(".") == union.count(".") + 1 and "[" not in leaf.path[len(union) :]
