"""Print Horn clauses and their models as SMT-LIB text, in the format of CHC-COMP.

    (assert (forall ((x Int)) (=> (and (P x) (< x 3)) (P (+ x 1)))))

Variables keep their names. A subterm that a clause uses twice is defined by `let` within the clause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from certus.codec.smtlib import Writer, sort_text, symbol
from certus.core import build
from certus.core.horn import Clause, HornSystem
from certus.core.terms import Expr, Function, Kind
from certus.core.walk import bind, postorder


def horn_script(system: HornSystem, *, comment: str = "") -> str:
    """Return the clauses as a script for any CHC solver, with a `comment` above them."""
    symbols = _symbols(system)
    lines = [f"; {line}".rstrip() for line in comment.splitlines()]
    lines += ["(set-logic HORN)", ""]
    for function, name in symbols.items():
        sorts = " ".join(sort_text(s) for s in function.parameters)
        lines.append(f"(declare-fun {name} ({sorts}) {sort_text(function.result)})")
    lines.append("")
    declared: dict[str, None] = {}
    clauses: list[str] = []
    for clause in system.clauses:
        *needed, text = _clause(clause, symbols)
        declared.update(dict.fromkeys(needed))
        clauses.append(text)
    lines += [*declared, *clauses]
    return "\n".join([*lines, "", "(check-sat)", ""])


def definition(relation: Function, parameters: Sequence[Expr], formula: Expr) -> str:
    """Return a relation of a model: `(define-fun P ((x Int)) Bool formula)`."""
    names = [p.name.replace("@", "x") for p in parameters]
    writer = Writer([bind(formula, parameters)], {relation: symbol(relation.name)})
    scope = writer.open(names)
    text = writer.text(bind(formula, parameters), scope)
    declared = _declared(scope, parameters)
    return f"(define-fun {symbol(relation.name)} ({declared}) Bool {writer.within(scope, text)})"


def _symbols(system: HornSystem) -> dict[Function, str]:
    """Return a symbol for each relation and each uninterpreted function."""
    functions = dict.fromkeys(system.relations)
    for clause in system.clauses:
        for term in postorder(clause.constraint, *clause.atoms):
            if term.kind is Kind.APPLY:
                functions[term.function] = None
    names: dict[Function, str] = {}
    taken: set[str] = set()
    for function in functions:
        name, number = symbol(function.name), 0
        while name in taken:
            number += 1
            name = symbol(f"{function.name}!{number}")
        taken.add(name)
        names[function] = name
    return names


def _clause(clause: Clause, symbols: Mapping[Function, str]) -> list[str]:
    """Return the declarations that a clause needs, and its assertion."""
    head = build.FALSE if clause.head is None else clause.head
    conjuncts = clause.constraint.args if clause.constraint.kind is Kind.AND else (clause.constraint,)
    parts = [bind(t, clause.variables) for t in (*clause.body, *conjuncts, head)]
    writer = Writer(parts, symbols)
    scope = writer.open([v.name for v in clause.variables])
    *premises, conclusion = [writer.text(part, scope) for part in parts]
    needed = [text for text in premises if text != "true"] or ["true"]
    tail = needed[0] if len(needed) == 1 else f"(and {' '.join(needed)})"
    text = writer.within(scope, f"(=> {tail} {conclusion})")
    if clause.variables:
        text = f"(forall ({_declared(scope, clause.variables)})\n  {text})"
    return [*writer.lines, f"(assert {text})"]


def _declared(scope: Sequence[str], variables: Sequence[Expr]) -> str:
    return " ".join(f"({name} {sort_text(v.sort)})" for name, v in zip(scope, variables, strict=True))
