"""Render a Linear Program in the small language.

A comment after each statement shows the original one, and what became an arbitrary value. The text can be
verified like any other program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import count

from certus.core import build
from certus.core.c_text import c_text
from certus.core.program import Assign, Assume, Call, Edge
from certus.core.terms import BOOL, REAL, Expr, Kind
from certus.core.walk import postorder, rebuild
from certus.passes.linear_program import LinearOp, LinearProcedure, LinearProgram, LinearStep, column
from certus.report.boolean_program import StructuredText, commented
from certus.report.control_structure import structured

_KEYWORDS = (
    "int", "bool", "real", "void", "if", "else", "while", "goto", "break", "continue", "return", "assert",
    "assume", "true", "false", "unknown",
)  # fmt: skip
_LONGEST = 200  # characters of a term in a comment


def render_linear(abstraction: LinearProgram) -> str:
    """Render a Linear Program."""
    names = _Names(abstraction)
    file = abstraction.program.file
    lines = [f"// The Linear Program of {file}: what is not linear has an arbitrary value."]
    for x, value in abstraction.shared.items():
        initial = "" if value is None else f" = {names.text(value)}"
        lines.append(f"{_type(x)} {names[x]}{initial};")
    for procedure in abstraction.procedures.values():
        lines += ["", *_Text(procedure, abstraction, names).lines()]
    return "\n".join(lines) + "\n"


class _Names:
    """The names of variables and procedures: those of the source, made unique where they clash."""

    def __init__(self, whole: LinearProgram) -> None:
        self._taken = set(_KEYWORDS)
        source = {column(x): name for x, name in whole.program.source_names.items()}
        main = whole.program.main
        self.procedures = {main: self._fresh("main")}
        for name in whole.procedures:
            if name != main:
                self.procedures[name] = self._fresh(name)
        self._names: dict[Expr, str] = {}
        for p in ((x for x in whole.shared), *(_own(p) for p in whole.procedures.values())):
            for x in p:
                if x not in self._names:
                    self._names[x] = self._fresh(source.get(x) or x.name.rpartition(".")[2])
        self._terms = {**source, **self._names}

    def __getitem__(self, variable: Expr) -> str:
        return self._names[variable]

    def _fresh(self, wanted: str) -> str:
        plain = re.sub(r"\W", "_", wanted, flags=re.ASCII).strip("_") or "x"
        plain = f"x{plain}" if plain[0].isdigit() else plain
        candidates = (plain if n == 1 else f"{plain}_{n}" for n in count(1))
        name = next(candidate for candidate in candidates if candidate not in self._taken)
        self._taken.add(name)
        return name

    def label(self) -> str:
        return self._fresh("L")

    def text(self, term: Expr) -> str:
        """Return a linear term in the small language."""
        plain = _in_small_language(term)
        return c_text(plain, names={**self._names, **_converted(plain, self._names)}, limit=1_000_000)

    def comment(self, term: Expr) -> str:
        return c_text(term, names=self._terms, limit=_LONGEST)


def _own(procedure: LinearProcedure) -> tuple[Expr, ...]:
    return (*procedure.parameters, *procedure.variables, *procedure.arbitrary)


def _type(variable: Expr) -> str:
    return {BOOL: "bool", REAL: "real"}.get(variable.sort, "int")


def _converted(root: Expr, names: Mapping[Expr, str]) -> dict[Expr, str]:
    """Return the text of integers among reals: the small language converts them."""
    terms = (term for term in postorder(root) if term.kind is Kind.TO_REAL)
    return {term: f"({c_text(term.args[0], names=names, limit=1_000_000)})" for term in terms}


def _in_small_language(root: Expr) -> Expr:
    """Express division that rounds down by the division of the small language, which truncates, and fractions
    by variables that have their text as name."""
    done: dict[Expr, Expr] = {}
    for term in postorder(root):
        args = [done[a] for a in term.args]
        if term.kind is Kind.CONST and term.sort is REAL and Fraction(term.value).denominator > 1:
            value = Fraction(term.value)
            done[term] = build.var(f"({value.numerator}.0 / {value.denominator})", REAL)
        elif term.kind in (Kind.DIV, Kind.MOD):
            a, by = args
            size = build.integer(abs(int(by.value)))
            rest = build.rem(a, size)
            negative = build.lt(rest, build.integer(0))
            remainder = build.ite(negative, build.add(rest, size), rest)
            done[term] = remainder
            if term.kind is Kind.DIV:
                done[term] = build.quot(build.sub(a, remainder), by)
        else:
            done[term] = rebuild(term, args) if term.args else term
    return done[root]


class _Text(StructuredText):
    """Renders one procedure."""

    def __init__(self, procedure: LinearProcedure, whole: LinearProgram, names: _Names) -> None:
        super().__init__(whole.program.error_locations, (names[x] for x in procedure.results))
        self._procedure, self._whole, self._names = procedure, whole, names
        self._decided = _decided(procedure)

    def lines(self) -> Iterator[str]:
        p, names = self._procedure, self._names
        results = ", ".join(map(_type, p.results)) or "void"
        parameters = ", ".join(f"{_type(x)} {names[x]}" for x in p.parameters)
        name, original = names.procedures[p.procedure.name], p.procedure.name
        comment = "" if name == original else original
        yield commented(f"{results} {name}({parameters}) {{", comment, 0)
        for x in (*p.variables, *p.arbitrary):
            yield commented(f"{_type(x)} {names[x]};", "", 1)
        if original == self._whole.program.main and self._whole.start:
            yield commented(f"assume({names.text(build.conjunction(self._whole.start))});", "types", 1)
        lines = structured(p.procedure, lambda edge: not p.steps[edge].ops)
        yield from _without_empty_else(list(self.body(lines)))
        yield "}"

    def _condition(self, edge: Edge) -> str:
        decided = self._decided.get(edge)
        return "*" if decided is None else self._names.text(decided)

    def _label(self) -> str:
        return self._names.label()

    def _step(self, edge: Edge, depth: int) -> Iterator[str]:
        if edge in self._decided:
            return
        step = self._procedure.steps[edge]
        branching = len(self._procedure.procedure.successors[edge.source]) > 1
        comment = self._comment("" if branching else edge.text, step)
        for n, op in enumerate(step.ops or (None,)):
            text = ";" if op is None else self._statement(op)
            if text != ";" or comment:
                yield commented(text, "" if n else comment, depth)

    def _comment(self, text: str, step: LinearStep) -> str:
        """Return the original statement, and what was abstracted."""
        notes = [f"any value for {self._names.comment(term)}" for term in step.abstracted]
        notes += [f"{x.name} is left out" for x in step.dropped]
        return "  ".join(part for part in (text, f"({'; '.join(notes)})" if notes else "") if part)

    def _statement(self, op: LinearOp) -> str:
        names = self._names
        if isinstance(op, Assume):
            return f"assume({names.text(op.condition)});"
        targets = ", ".join(names[x] for x in op.targets)
        if isinstance(op, Call):
            call = f"{names.procedures[op.procedure]}({', '.join(map(names.text, op.arguments))});"
            return f"{targets} = {call}" if op.targets else call
        values = map(names.text, op.values) if isinstance(op, Assign) else ("*" for _ in op.targets)
        return f"{targets} = {', '.join(values)};"


def _without_empty_else(lines: Sequence[str]) -> Iterator[str]:
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if not (line.lstrip() == "} else {" and following.strip() == "}"):
            yield line


def _decided(procedure: LinearProcedure) -> Mapping[Edge, Expr]:
    """Return the edges of branches whose two conditions exclude each other and cover all cases."""
    decided: dict[Edge, Expr] = {}
    for edges in procedure.procedure.successors.values():
        conditions = [procedure.steps[edge].condition for edge in edges]
        if len(edges) == 2 and None not in conditions:
            one, other = conditions
            assert one is not None
            if other is build.not_(one):
                decided.update({edges[0]: one, edges[1]: other})
    return decided
