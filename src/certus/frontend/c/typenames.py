"""C types as people write them, and why some of them are refused."""

from __future__ import annotations

from typing import Final

from certus.frontend.c.types import (
    ArrayType,
    CType,
    FloatType,
    FunctionType,
    IntegerType,
    OtherType,
    PointerType,
    Qualified,
    RecordType,
    VariableArrayType,
    VoidType,
)

# What Clang's name for a type shows: the code of the refusal, and what is refused.
_MARKS: Final = (
    ("_Atomic", "atomic", "an atomic object"),
    ("_Complex", "float", "complex arithmetic"),
    ("(^", "block", "a block"),
)
# What to do about a refusal, by its code.
HINTS: Final = {
    "unsupported-ambiguous-type": "Give each type a name of its own, and declare it on a line of its own.",
    "unsupported-alignment": "Write the alignment as a number of bytes.",
    "unsupported-asm": "Replace the assembly by C, or remove it if the property does not depend on it.",
    "unsupported-attribute": "Remove the attribute if the property does not depend on it.",
    "unsupported-builtin": "Write what it computes in C.",
    "unsupported-case-label": "Write the label as a number.",
    "unsupported-initialiser": "Write the values by assignments.",
    "unsupported-layout": "Remove the pragma or the attribute if the property does not depend on it.",
    "unsupported-tag": "Define the type in a declaration of its own.",
    "unsupported-type-trait": "Write the value that the compiler gives it.",
    "unsupported-verifier-function": (
        "Use `__VERIFIER_assume(c)`, `assert(c)` or `x = __VERIFIER_nondet_int()` (`_uint`, `_long` ...)."
    ),
    "unsupported-vla": "Compute the length in a variable first.",
}
_VECTORS: Final = ("vector_size", "ext_vector", "__vector")
_FLOATS: Final = ("float", "double", "_Float16", "__bf16")


def type_name(type_: CType) -> str:
    """The type in C's syntax; declarators are put around each other from the inside out."""
    before, after = "", ""
    while True:
        if isinstance(type_, PointerType):
            before, type_ = "*" + before, type_.target
        elif isinstance(type_, ArrayType | VariableArrayType):
            if before.startswith("*"):
                before, after = "(" + before, after + ")"
            length = type_.text if isinstance(type_, VariableArrayType) else type_.length
            after, type_ = f"{after}[{'' if length is None else length}]", type_.element
        elif isinstance(type_, FunctionType):
            if before.startswith("*"):
                before, after = "(" + before, after + ")"
            after, type_ = f"{after}({_parameters(type_)})", type_.result
        elif isinstance(type_, Qualified):
            words = ["const"] * type_.const + ["volatile"] * type_.volatile
            if isinstance(type_.type, PointerType):
                before = " ".join([*words, before]) if before else " ".join(words)
                before, type_ = "*" + before, type_.type.target
            else:
                return _joined(" ".join([*words, _base(type_.type)]), before + after)
        else:
            return _joined(_base(type_), before + after)


def _joined(base: str, declarator: str) -> str:
    return f"{base} {declarator}" if declarator[:1] in ("*", "(") and declarator else base + declarator


def _parameters(type_: FunctionType) -> str:
    if type_.parameters is None:
        return ""
    names = [type_name(parameter) for parameter in type_.parameters] + ["..."] * type_.variadic
    return ", ".join(names) or "void"


def _base(type_: CType) -> str:
    if isinstance(type_, IntegerType):
        return type_.name if type_.enumeration is None else f"enum {type_.enumeration}"
    if isinstance(type_, VoidType):
        return "void"
    if isinstance(type_, OtherType):
        return type_.text
    assert isinstance(type_, FloatType | RecordType)
    return type_.name


def refusal(type_: CType) -> tuple[str, str]:
    """The code, and what is not modelled, of a type that has no values we model."""
    if isinstance(type_, OtherType) and type_.code:
        return type_.code, type_.what
    text = type_name(type_)
    if isinstance(type_, FloatType):
        what = "complex arithmetic" if "_Complex" in type_.name else "floating-point arithmetic"
        return "unsupported-float", what
    if isinstance(type_, VariableArrayType):
        return "unsupported-vla", f"the variable-length array type `{text}`"
    if any(mark in text for mark in _VECTORS):
        code = "float" if any(word in text for word in _FLOATS) else "vector"
        return f"unsupported-{code}", "arithmetic on vectors"
    for mark, code, what in _MARKS:
        if mark in text:
            return f"unsupported-{code}", what
    return "unsupported-type", f"the type `{text}`"
