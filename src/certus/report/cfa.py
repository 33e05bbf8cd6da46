"""Draw control-flow automata as DOT and SVG.

Both are rendered from one `Drawing`. As in Mertens 2014, the entry has a dashed border and error locations
are red; a loop head has a double border. SVG uses the layout of `certus.report.graph_layout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from certus.core.build import TRUE
from certus.core.c_text import c_text
from certus.core.diagnostic import Diagnostic
from certus.core.errors import Unsupported
from certus.core.loops import loop_forest
from certus.core.program import (
    Alloc,
    Assign,
    Assume,
    Block,
    Call,
    Choice,
    Edge,
    Free,
    Havoc,
    Inspect,
    InspectBits,
    InspectHeap,
    Load,
    Location,
    MarkBits,
    Op,
    Procedure,
    Program,
    Return,
    Seq,
    Store,
    leaves,
)
from certus.core.terms import Expr

Role = Literal["entry", "exit", "error", "plain"]
LINE = 38  # characters in one line of a label
LINES = 5  # lines of a label, including the one that counts the rest
LARGEST = 1000  # edges; a larger picture cannot be read


@dataclass(frozen=True, slots=True)
class Node:
    """A location: `name` is unique in the drawing, `lines` are its label, `note` is shown on hovering. `line`
    is its line in the source, or 0."""

    name: str
    lines: tuple[str, ...]
    role: Role
    head: bool  # of a loop
    note: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Arrow:
    """An edge with its label."""

    source: str
    target: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """One procedure."""

    title: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """A whole program."""

    clusters: tuple[Cluster, ...]


def drawing(program: Program) -> Drawing:
    """Return the drawing of a program."""
    return Drawing(tuple(cluster(program, procedure) for procedure in program.procedures.values()))


def to_dot(program: Program) -> str:
    """Render the program as Graphviz text, with one cluster for each procedure."""
    lines = [
        "digraph cfa {",
        '  graph [fontname="Helvetica", fontsize=13, ranksep=0.35, nodesep=0.4];',
        '  node [fontname="Helvetica", fontsize=11, shape=box, style=rounded];',
        '  node [margin="0.1,0.05", height=0, width=0.45];',
        '  edge [fontname="Courier", fontsize=10, arrowsize=0.7, color="#444444"];',
    ]
    for position, cluster in enumerate(drawing(program).clusters):
        lines.append(f"  subgraph cluster_{position} {{")
        lines.append(f'    label={_quoted(cluster.title)}; labeljust=l; style=rounded; color="#bbbbbb";')
        lines.extend(f"    {_dot_node(node)}" for node in cluster.nodes)
        lines.extend(f"    {_dot_arrow(arrow)}" for arrow in cluster.arrows)
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def to_svg(program: Program) -> str:
    """Render the program as an SVG picture."""
    edges = sum(len(p.edges) for p in program.procedures.values())
    if edges > LARGEST:
        raise Unsupported(
            Diagnostic(
                "picture-too-large",
                f"the program has {edges} edges; pictures are limited to {LARGEST}",
                hint="try --blocks large, or --format dot",
            )
        )
    from certus.report.cfa_svg import draw

    return draw(drawing(program))


def cluster(program: Program, procedure: Procedure) -> Cluster:
    """Return the drawing of a procedure. Internal names are shown without the procedure, and addresses
    without their `$`."""
    heads = set(loop_forest(procedure).heads)
    own = (v for v in procedure.variables if "$" in v.name)
    names = {v: v.name.rpartition(".")[2].replace("$&", "&") for v in own} | dict(program.source_names)
    nodes = tuple(_node(program, procedure, at, head=at in heads) for at in procedure.locations)
    arrows = tuple(Arrow(e.source.name, e.target.name, edge_lines(e, names)) for e in procedure.edges)
    parameters = ", ".join(names.get(p, p.name) for p in procedure.parameters)
    return Cluster(f"{procedure.name}({parameters})", nodes, arrows)


def _node(program: Program, procedure: Procedure, at: Location, *, head: bool) -> Node:
    role: Role = "plain"
    note = str(at.span) if at.span else at.name
    if at in program.error_locations:
        role = "error"
        site = program.error_at(at)
        note = f"{site.kind} {site.text}".strip()
    elif at is procedure.entry:
        role = "entry"
    elif at is procedure.exit:
        role = "exit"
    line = f"line {at.span.line}" if at.span else ""
    words = {"error": "error", "exit": "exit"}.get(role, line)
    shown = at.span is not None and at.span.file == program.file
    number = at.span.line if at.span is not None and shown else 0
    return Node(at.name, tuple(filter(None, (str(at.index), words))), role, head, note, number)


# ------------------------------------------------------------------------------------- labels


def edge_lines(edge: Edge, names: Mapping[Expr, str]) -> tuple[str, ...]:
    """Return the label of an edge: its statements if they fit, otherwise some of them and their number."""
    lines = [""]
    for word in _words(edge, names):
        text = word.strip() if len(word.strip()) <= LINE else word.strip()[: LINE - 1] + "…"
        if not lines[-1]:
            lines[-1] = text
        elif len(lines[-1]) + 1 + len(text) <= LINE:
            lines[-1] += " " + text
        elif len(lines) == LINES:
            lines[-1] = f"… {sum(1 for _ in leaves(edge.op))} statements"
            break
        else:
            lines.append(text)
    return tuple(lines)


def _words(edge: Edge, names: Mapping[Expr, str]) -> Iterator[str]:
    """Yield the statements of an edge with their punctuation. Lazy: large blocks are not unfolded
    entirely."""
    stack: list[Block | str] = [edge.op if isinstance(edge.op, (Seq, Choice)) else edge]
    word = ""
    complete = False  # whether the word contains its statement
    while stack:
        item = stack.pop()
        if isinstance(item, Seq):
            stack += [item.second, ";", item.first]
        elif isinstance(item, Choice):
            stack.append(")")
            for alternative in reversed(item.alternatives[1:]):
                stack += [alternative, " |"]
            stack += [item.alternatives[0], "("]
        else:
            if complete and (item == "(" or isinstance(item, Edge)):
                yield word
                word, complete = "", False
            if isinstance(item, Edge):
                complete = True
                word += statement(item, names)
            else:
                word += item
    yield word


def statement(edge: Edge, names: Mapping[Expr, str]) -> str:
    """Return an original edge as text: `[x > 0]` for an assumption, otherwise the statement."""

    def text(terms: tuple[Expr, ...]) -> str:
        return ", ".join(c_text(t, names=names, limit=200) for t in terms)

    op = edge.op
    if isinstance(op, Assume):
        return "skip" if op.condition is TRUE else f"[{text((op.condition,))}]"
    if isinstance(op, Assign):
        return f"{text(op.targets)} = {text(op.values)}"
    if isinstance(op, Havoc):
        return f"{text(op.targets)} = *"
    if isinstance(op, Call):
        results = f"{text(op.targets)} = " if op.targets else ""
        return f"{results}{op.procedure}({text(op.arguments)})"
    if isinstance(op, Return):
        return f"return {text(op.values)}".rstrip()
    return _memory_statement(op, text)


def _memory_statement(op: Op, text: Callable[[tuple[Expr, ...]], str]) -> str:
    if isinstance(op, Load):
        return f"{text((op.target,))} = *({text((op.address,))})"
    if isinstance(op, Store):
        return f"*({text((op.address,))}) = {text((op.value,))}"
    if isinstance(op, Alloc):
        return f"{text((op.target,))} = new {op.storage} `{op.name}` of {text((op.size,))} bytes"
    if isinstance(op, Inspect):
        access = "free" if op.access == "free" else f"{op.access} {text((op.size,))} bytes at"
        return f"{text((op.target,))} = can {access} {text((op.address,))}"
    if isinstance(op, InspectBits):
        return f"{text((op.target,))} = bits written at {text((op.address,))}"
    if isinstance(op, MarkBits):
        return f"bits written at {text((op.address,))} are {text((op.bits,))}"
    if isinstance(op, InspectHeap):
        return f"{text((op.target,))} = all of the heap is {op.retained}"
    assert isinstance(op, Free), f"{op} is no original operation"
    return f"free({text((op.address,))})"


# ---------------------------------------------------------------------------------------- DOT


def _dot_node(node: Node) -> str:
    styles = {
        "entry": 'style="rounded,dashed"',
        "exit": 'style="rounded,bold"',
        "error": 'style="rounded,filled", fillcolor="#d62728", fontcolor=white',
        "plain": "",
    }
    label = "label=" + _quoted("\n".join(node.lines))
    head = "peripheries=2" if node.head else ""
    attributes = [label, styles[node.role], head, f"tooltip={_quoted(node.note)}"]
    return f"{_quoted(node.name)} [{', '.join(filter(None, attributes))}];"


def _dot_arrow(arrow: Arrow) -> str:
    label = _quoted("".join(f"\N{NO-BREAK SPACE}{line}\n" for line in arrow.lines), newline="\\l")
    return f"{_quoted(arrow.source)} -> {_quoted(arrow.target)} [label={label}];"


def _quoted(text: str, *, newline: str = "\\n") -> str:
    """Return a DOT string that shows exactly this text; lines end with `newline` (centred or
    left-aligned)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", newline)
    return f'"{escaped}"'
