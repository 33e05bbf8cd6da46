"""Random C records, and the layouts that Clang computes for them."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import strategies as st

from certus.system.tools import TARGETS, find_clang, run_tool

SCALARS = (
    "_Bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "float",
    "double",
    "long double",
    "void *",
    "enum few",
)
BIT_WIDTHS = {"_Bool": 1, "char": 8, "unsigned char": 8, "short": 16, "unsigned short": 16, "int": 32}
BIT_WIDTHS |= {"unsigned int": 32, "long": 32, "unsigned long": 32, "long long": 64, "enum few": 32}
PREAMBLE = """enum few { ONE, TWO };
typedef long long wide __attribute__((aligned(8)));
typedef int narrow __attribute__((aligned(2)));
"""


@st.composite
def _member(draw: st.DrawFn, name: str, known: tuple[str, ...]) -> str:
    """One member: a bit-field, a scalar, an array or a record that is known."""
    attribute = draw(
        st.sampled_from(("", "", "", "", "", "__attribute__((packed)) ", "__attribute__((aligned(8))) "))
    )
    if draw(st.booleans()):
        type_ = draw(st.sampled_from(sorted(BIT_WIDTHS)))
        width = draw(st.integers(0, BIT_WIDTHS[type_]))
        if width == 0 or draw(st.integers(0, 5)) == 0:
            return f"{type_} : {width};"
        return f"{attribute}{type_} {name} : {width};"
    types = (*SCALARS, "wide", "narrow", *known)
    suffix = draw(st.sampled_from(("", "", "[3]", "[2][2]")))
    return f"{attribute}{draw(st.sampled_from(types))} {name}{suffix};"


@st.composite
def record_texts(draw: st.DrawFn) -> str:
    """A file that defines `struct r0`, `union r1` ... and uses the size of each."""
    known: list[str] = []
    lines = [PREAMBLE]
    records = draw(st.integers(1, 24))
    for number in range(records):
        kind = draw(st.sampled_from(("struct", "struct", "struct", "union")))
        count = draw(st.integers(0, 7))
        members = [draw(_member(f"m{index}", tuple(known))) for index in range(count)]
        if kind == "struct" and count and draw(st.integers(0, 4)) == 0:
            members.append("int first; short last[];")
        attribute = draw(
            st.sampled_from(("", "", "", "packed", "aligned(2)", "aligned(32)", "packed, aligned(4)"))
        )
        pack = draw(st.sampled_from((None, None, None, None, 1, 2, 4)))
        tag = f"{kind} r{number}"
        lines.append("#pragma pack(push, " + str(pack) + ")" if pack else "")
        lines.append(f"{tag} {{ {' '.join(members)} }} __attribute__(({attribute}));")
        lines.append("#pragma pack(pop)" if pack else "")
        lines.append(f"{tag} v{number};")
        if "last[]" not in " ".join(members):
            known.append(tag)
    uses = " + ".join(f"sizeof v{number}" for number in range(records))
    lines.append(f"int main(void) {{ return {uses}; }}")
    return "\n".join(lines)


def clang_layouts(path: Path, model: str) -> dict[str, tuple[int, int, dict[str, int]]]:
    """By tag: size and alignment in bytes, and the first bit of every named member."""
    clang = find_clang()
    tool, *words = clang.command
    done = run_tool(
        Path(tool),
        [
            *words,
            f"--target={TARGETS[model]}",
            "-w",
            "-fsyntax-only",
            "-Xclang",
            "-fdump-record-layouts",
            str(path),
        ],
    )
    assert done.code == 0, done.errors.decode()
    found: dict[str, tuple[int, int, dict[str, int]]] = {}
    for block in done.output.decode().split("*** Dumping AST Record Layout")[1:]:
        title = re.search(r"\| ((?:struct|union) \w+)\n", block)
        sizes = re.search(r"\[sizeof=(\d+), align=(\d+)", block)
        if title is None or sizes is None:
            continue
        members: dict[str, int] = {}
        for byte, bit, name in re.findall(r"^ *(\d+)(?::(\d+)-\d+)? \|   \S.* (\w+)$", block, re.MULTILINE):
            members.setdefault(name, int(byte) * 8 + int(bit or 0))
        found[title.group(1)] = (int(sizes.group(1)), int(sizes.group(2)), members)
    return found
