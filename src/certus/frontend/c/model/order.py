"""Where the order of a call and of another part of its statement may matter, which C leaves open and Certus
takes to be Clang's.

Neither is inside the other, nothing between them is sequenced by C, and one writes what the other reads or
writes: a global variable, or memory. Expressions without calls are not looked at: Clang itself warns of those
that change one variable twice (`-Wunsequenced`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from certus.core.diagnostic import Diagnostic, Severity, Span
from certus.core.effects import terms, written
from certus.core.program import Alloc, Call, Free, Load, Program, Store
from certus.core.walk import variables
from certus.frontend.c.source.statements import Statements

_MEMORY: Final = "*"
_NEAR: Final = 8  # calls before one that are looked at
_SEQUENCED: Final = frozenset(("&&", "||", "?", ":", ";", "{", "}"))
_MESSAGE: Final = (
    "operands here share what they change, and C leaves open which is evaluated first: Certus takes the "
    "order of Clang; other compilers may have another."
)

Effect = tuple[set[str], set[str]]  # what a procedure reads and writes of what is not its own


def order_warning(program: Program, files: Mapping[str, Statements]) -> Diagnostic | None:
    """Return a warning of the first statement whose value depends on an order that C does not fix."""
    effects = _effects(program)
    shared_names: dict[str, set[str]] = {}  # of global variables, by their names in the source
    for variable in program.globals:
        if variable in program.source_names:
            shared_names.setdefault(program.source_names[variable], set()).add(variable.name)
    for procedure in program.procedures.values():
        calls = [e for e in procedure.edges if isinstance(e.op, Call) and e.call is not None]
        loads = [e for e in procedure.edges if isinstance(e.op, Load) and e.span is not None]
        for number, edge in enumerate(calls):
            assert isinstance(edge.op, Call)
            assert edge.call is not None
            file, statements = edge.call.file, files.get(edge.call.file)
            if statements is None:
                continue  # in a header
            reads, writes = effects[edge.op.procedure]
            for other in calls[max(0, number - _NEAR) : number]:
                assert isinstance(other.op, Call)
                others, changes = effects[other.op.procedure]
                shared = writes & (others | changes) or changes & reads
                if not shared or other.call is None or other.call.file != file:
                    continue
                if _is_open(statements, other.call, edge.call):
                    return _warning(other.span)
            near = [e.span for e in loads if e.span is not None and e.span.line == edge.call.line]
            near = [span for span in near if span.file == file]
            if _MEMORY in writes and any(_is_open(statements, span, edge.call) for span in near):
                return _warning(edge.span)
            beside = _names_beside(statements, edge.call)
            if any(shared_names.get(name, set()) & writes for name in beside):
                return _warning(edge.span)
    return None


def _warning(span: Span | None) -> Diagnostic:
    return Diagnostic("evaluation-order", _MESSAGE, Severity.WARNING, span)


def _names_beside(statements: Statements, call: Span) -> Iterator[str]:
    """The names that a statement reads beside a call, in no fixed order with it."""
    tokens = statements.tokens
    first = tokens.at(*_begin(call))
    number = None if first is None else statements.part(first)
    if number is None:
        return
    part = statements.parts[number]
    for at in range(part.first, part.last + 1):
        following = tokens.texts[at + 1] if at < part.last else ""
        member = at > part.first and tokens.texts[at - 1] in (".", "->")
        if tokens.texts[at].isidentifier() and following not in ("=", "(") and not member:
            span = tokens.span(at, at, statements.file)
            if _is_open(statements, span, call):
                yield tokens.texts[at]


def _effects(program: Program) -> Mapping[str, Effect]:
    shared = frozenset(program.globals)
    found: dict[str, Effect] = {}
    calls: dict[str, set[str]] = {}
    for name, procedure in program.procedures.items():
        reads: set[str] = set()
        writes: set[str] = set()
        calls[name] = set()
        for edge in procedure.edges:
            op = edge.op
            if isinstance(op, Call):
                calls[name].add(op.procedure)
            if isinstance(op, Load):
                reads.add(_MEMORY)
            elif isinstance(op, Store) or (isinstance(op, Alloc | Free) and op.storage == "heap"):
                writes.add(_MEMORY)
            reads.update(v.name for v in variables(*terms(op)) if v in shared)
            writes.update(v.name for v in written(op, procedure) if v in shared)
        found[name] = reads, writes
    changed = True
    while changed:
        changed = False
        for name, (reads, writes) in found.items():
            before = len(reads) + len(writes)
            for callee in calls[name]:
                reads.update(found[callee][0])
                writes.update(found[callee][1])
            changed |= before != len(reads) + len(writes)
    return found


def _begin(span: Span) -> tuple[int, int]:
    return span.line, span.column


def _is_open(statements: Statements, one: Span, other: Span) -> bool:
    """Whether C leaves open which of two parts of an expression is evaluated first."""
    tokens = statements.tokens
    left, right = sorted((one, other), key=_begin)
    first, last = tokens.at(*_begin(left)), tokens.at(*_begin(right))
    end = None if left.end_column < 2 else tokens.at(left.end_line, left.end_column - 1)
    if first is None or last is None or end is None or last <= end:
        return False
    if statements.part(first) is None or statements.part(first) != statements.part(last):
        return False
    at = end + 1
    while at < last:
        text, partner = tokens.texts[at], tokens.partners[at]
        if text in _SEQUENCED or (text == "," and not _separates_arguments(statements, at)):
            return False
        at = partner + 1 if at < partner < last else at + 1
    return True


def _separates_arguments(statements: Statements, comma: int) -> bool:
    """Whether a comma stands between arguments or initialisers, and is no operator."""
    tokens, at = statements.tokens, comma - 1
    while at > 0:
        if tokens.texts[at] == "{" and tokens.partners[at] > comma:
            return True  # in an initialiser
        if tokens.texts[at] == "(" and tokens.partners[at] > comma:
            before = tokens.texts[at - 1]
            return before.isidentifier() or before in (")", "]")
        at = tokens.partners[at] - 1 if 0 <= tokens.partners[at] < at else at - 1
    return False
