"""Attributes: which ones change nothing that Certus models, and what the others say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from certus.frontend.c.layout import LARGEST_ALIGN
from certus.frontend.c.reader_names import Node

# Attributes that say nothing about what a program computes, or are read elsewhere (layout, `noreturn`,
# constructors).
_HARMLESS: Final = (
    "Aligned AllocAlign AllocSize AllocToken AlwaysInline AnalyzerNoReturn Annotate Artificial AsmLabel "
    "AssumeAligned Availability Builtin C11NoReturn CDecl Cold Common Const Constructor "
    "CountedBy Deprecated Destructor DiagnoseAsBuiltin DiagnoseIf DisableTailCalls "
    "EnumExtensibility Error FallThrough FastCall FlagEnum Flatten Format FormatArg FormatMatches "
    "GNUInline Hot Leaf Likely "
    "MaxFieldAlignment MayAlias MinSize Mode NoAlias NoBuiltin NoDebug NoDuplicate NoEscape NoInline "
    "NoInstrumentFunction NoMerge NoProfileFunction NoReturn NoSanitize NoSpeculativeLoadHardening "
    "NoSplitStack NoStackProtector NoThrow NonNull NonString NotTailCalled OptimizeNone "
    "Packed PassObjectSize PatchableFunctionEntry Pure RegParm Restrict Retain ReturnsNonNull "
    "Section Sentinel StdCall StrictFP TLSModel Target Unavailable Unlikely Unused Used "
    "Visibility WarnUnused WarnUnusedResult Warning Weak ZeroCallUsedRegs"
)
ALLOWED: Final = frozenset(name + "Attr" for name in _HARMLESS.split())


# These make a name that of something else.
ALIASES: Final = ("AliasAttr", "IFuncAttr", "WeakRefAttr")

# What these say of a function's results holds although nobody sees its body.
PROMISES: Final = (
    "AllocAlignAttr",
    "AllocSizeAttr",
    "AssumeAlignedAttr",
    "ConstAttr",
    "PureAttr",
    "RestrictAttr",
    "ReturnsNonNullAttr",
)


def attributes(node: Node) -> Iterator[Node]:
    for child in node.get("inner", ()):
        if child.get("kind", "").endswith("Attr"):
            yield child


def refused_attribute(node: Node) -> str | None:
    """The first attribute of a declaration that is not known to be harmless, for people."""
    for attribute in attributes(node):
        if attribute["kind"] not in ALLOWED:
            return f"the attribute `{attribute['kind'].removesuffix('Attr')}`"
    return None


def has_attribute(node: Node, *kinds: str) -> bool:
    return any(attribute["kind"] in kinds for attribute in attributes(node))


def alignment(node: Node) -> int | None:
    """The strictest of the `aligned` attributes, in bytes."""
    found = [_aligned(attribute) for attribute in attributes(node) if attribute["kind"] == "AlignedAttr"]
    return max(found, default=None)


def aligned_as_type(node: Node) -> bool:
    """Whether `_Alignas` has a type as its argument, which the tree does not show."""
    return any(a["kind"] == "AlignedAttr" and "inner" not in a for a in attributes(node))


def _aligned(attribute: Node) -> int:
    """Without an argument, the largest alignment of the target is meant."""
    for child in attribute.get("inner", ()):
        current = child
        while current:
            if "value" in current:
                return int(current["value"])
            current = current.get("inner", [{}])[0]
    return LARGEST_ALIGN
