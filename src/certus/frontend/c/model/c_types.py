"""C types in debug information: signatures of library functions, pointers inside types, shapes of objects.

A signature is the kind of the result followed by the kinds of the parameters in parentheses. Kinds are
letters: `v` nothing, `i` an integer, `h` an integer narrower than `int`, `f` a floating-point number, `s` a
record, `p` a pointer to a number or a pointer, `r` a pointer to a record, `F` a pointer to a function, `*` a
`void *`, `a` a `va_list`, `u` a pointer to a socket address or glibc's union of these. Signatures tell
functions of the C library from functions of the user that have the same name. For a model in C, the call must
also have the IR type of the model.

The tables of functions also say which parameters are read: an `S` is a `p` to a string, an `H` an `r` to a
handle such as a stream. Either may be null if `?` follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from certus.core.program import ArrayShape, RecordShape, ScalarShape, Shape
from certus.frontend.c.ir.debug import Debug, Node
from certus.frontend.c.ir.module import Function, Module

if TYPE_CHECKING:
    from certus.frontend.c.model.body import Body

STRING: Final = "S"
HANDLE: Final = "H"
_WITHOUT_READS: Final = str.maketrans(STRING + HANDLE, "pr", "?")
_KIND: Final = re.compile(r"[\w*]\??")
# The kinds that may be declared or passed in place of a kind; "o" is any pointer.
_ALIKE: Final = {
    **{"*": "*pro", "p": "p*o", "r": "r*o", "F": "F*o", "a": "apr*so", "u": "urs*o", "i": "ih", "h": "ih"}
}
POINTERS: Final = ("*", "p", "r", "F")  # the kinds of results that are pointers
_RESULTS: Final = _ALIKE | {"h": "vih", "i": "vi", "v": "vi"}


def declared_kinds(body: Body, name: str) -> tuple[str, str | None] | None:
    """Return the kinds of a declared function's result and parameters; the latter are None without a
    prototype. Return None if a header of the system declares the function, or if nothing is known about
    it."""
    debug, function = body.module.debug, body.module.functions.get(name)
    if function is None or function.debug is None or not body.unit.is_program(body.module):
        return None
    types = debug.signature(function.debug)
    if not types or body.unit.sources.of_library(debug, function.debug):
        return None
    if function.type.variadic and not function.type.parameters:  # `f(...)` in IR
        return kind(debug, types[0]), None
    parameters = types[1:-1] if types[1:] and types[-1] is None else types[1:]
    return kind(debug, types[0]), "".join(kind(debug, each) for each in parameters)


def kind(debug: Debug, type_: int | None) -> str:
    """Return the kind of a type."""
    node = debug.plain(type_)
    if node is None:
        return "v"
    if node.is_record:
        return "a" if node.string("name") == "__va_list_tag" else "s"
    if node.tag == "pointer":
        return _pointer_kind(debug.plain(node.reference("baseType")))
    if node.tag == "enumeration":
        return "i"
    if debug.signed(type_) is None:
        return "f"
    return "h" if node.number("size") < 32 else "i"


def _pointer_kind(target: Node | None) -> str:
    if target is None:
        return "*"
    if target.kind == "DISubroutineType":
        return "F"
    if not target.is_record:
        return "p"
    name = target.string("name")
    return "a" if name == "__va_list_tag" else "u" if name.startswith("sockaddr") else "r"


def passed_types(debug: Debug, function: Function) -> dict[int, list[int | None]]:
    """Return the C types of the parameters of a declared function by their numbers in IR: none, where it is
    not certain which parameter a number belongs to. A number or a pointer is one parameter in IR, a record
    may be any number of them, and the place of the result is one too."""
    types = debug.signature(function.debug)[1:]
    if not types:
        return {}
    types = types[: len(types) - function.type.variadic]
    places = [n for n, each in enumerate(function.parameters) if each.passing.sret is None]
    declared: dict[int, list[int | None]] = {n: [] for n in places}
    for numbers, order in ((places, types), (reversed(places), reversed(types))):
        single = takewhile(lambda type_: _is_single(debug, type_), order)
        declared.update((number, [type_]) for type_, number in zip(single, numbers, strict=False))
    return declared


def _is_single(debug: Debug, type_: int | None) -> bool:
    """Return whether an argument of a type is one argument in IR."""
    node = debug.plain(type_)
    if node is None or node.tag == "pointer":
        return node is not None
    integer = debug.signed(type_) is not None and node.number("size") <= 64
    return integer or node.fields.get("encoding") == "DW_ATE_float"


def is_record(debug: Debug, type_: int | None) -> bool:
    node = debug.plain(type_)
    return node is not None and node.is_record


def may_be(signature: str, result: str, parameters: str | None) -> bool:
    """Return whether a function that is declared with these kinds may be one with this signature; an empty
    signature matches every declaration. `parameters` is None for a function that was declared without a
    prototype (`int f();`) or not at all: then an `int` may stand for a pointer."""
    if not signature or (parameters is None and result == "i" and signature[0] in POINTERS):
        return True
    taken = without_reads(signature)[2:-1].removesuffix("...")
    if result not in _RESULTS.get(signature[0], signature[0]):
        return False
    if parameters is None:
        return True
    if len(parameters) < len(taken) or (len(parameters) > len(taken) and not signature.endswith("...)")):
        return False
    return all(given in _ALIKE.get(each, each) for each, given in zip(taken, parameters, strict=False))


def without_reads(signature: str) -> str:
    """Return a signature that does not say what is read."""
    return signature.translate(_WITHOUT_READS)


def reads_of(signature: str) -> tuple[tuple[int, str], ...]:
    """Return the numbers of the parameters that are read, with their kinds."""
    kinds = enumerate(_KIND.findall(signature[1:]))
    return tuple((number, kind) for number, kind in kinds if kind[0] in (STRING, HANDLE))


def parts(debug: Debug, type_: int | None, *, follow: bool = False) -> Iterator[Node | None]:
    """Yield a type and the types of its members and elements; with `follow`, also the types behind pointers.
    None is `void`."""
    stack, seen = [type_], set[int | None]()
    while stack:
        number = stack.pop()
        if number in seen:
            continue
        seen.add(number)
        node = debug.plain(number)
        yield node
        if node is None:
            continue
        if node.tag == "array" or (follow and node.tag == "pointer"):
            stack.append(node.reference("baseType"))
        elif node.is_record:
            stack += [member.reference("baseType") for member in debug.parts(node)]


def leads_to_functions(debug: Debug, type_: int | None) -> bool:
    """Return whether a value of a type is, or leads through pointers and members to, a pointer to a function
    or an unknown type."""
    nodes = parts(debug, type_, follow=True)
    return any(node is None or node.kind == "DISubroutineType" for node in nodes)


def leads_on(debug: Debug, type_: int | None) -> bool:
    """Return whether memory of a type may contain pointers that can be written through or called."""
    for node in parts(debug, type_):
        if node is not None and node.kind == "DISubroutineType":
            return True
        pointer = node is not None and node.tag == "pointer"
        if node is not None and pointer and not debug.is_const(node.reference("baseType")):
            return True
    return False


def holds_pointers(debug: Debug, type_: int | None) -> bool:
    """Return whether memory of a type may contain pointers."""
    return any(node is not None and node.tag == "pointer" for node in parts(debug, type_))


_DEEPEST: Final = 20
_FORMATS: Final = {"_Float16": "f16", "float": "f32", "double": "f64", "long double": "x87"}


def shape_of(module: Module, type_: int | None, depth: int = 0) -> Shape | None:
    """Return the shape of a C type: the parts that a report can name. None for bit-fields and
    unknown sizes."""
    debug = module.debug
    node = debug.plain(type_)
    if node is None or depth > _DEEPEST:
        return None
    if node.tag == "pointer":
        return ScalarShape(module.layout.pointer_bits, signed=False, pointer=True)
    if node.tag == "array":
        return _array(module, node, depth)
    if node.is_record:
        return _record(module, node, depth)
    signed, size = debug.signed(type_), node.number("size")
    if node.fields.get("encoding") == "DW_ATE_float" and node.string("name") in _FORMATS:
        return ScalarShape(size, signed=False, format=_FORMATS[node.string("name")])
    return ScalarShape(size, signed) if size and signed is not None else None


def _array(module: Module, node: Node, depth: int) -> Shape | None:
    element = node.reference("baseType")
    shape = shape_of(module, element, depth + 1)
    plain = module.debug.plain(element)
    size = 0 if plain is None else plain.number("size") // 8
    for length in module.debug.parts(node)[::-1]:
        count = length.number("count")
        if shape is None or count <= 0:
            return None
        shape = ArrayShape(count, size, shape)
        size *= count
    return shape


def _record(module: Module, node: Node, depth: int) -> Shape | None:
    members: list[tuple[str, int, Shape]] = []
    for member in module.debug.parts(node):
        if "DIFlagBitField" in member.fields.get("flags", ""):
            continue
        inner = shape_of(module, member.reference("baseType"), depth + 1)
        if inner is not None:
            members.append((member.string("name"), member.number("offset") // 8, inner))
    return RecordShape(tuple(members))
