"""Relations that nothing derives are empty, and what no query needs may be anything."""

from __future__ import annotations

from certus.core import build
from certus.core.horn import HornSystem, Model
from certus.core.terms import Function
from certus.transform.horn.stages import Stage, default, stage, unchanged


def reachable(system: HornSystem) -> Stage | None:
    derived: set[Function] = set()
    grown = True
    while grown:
        grown = False
        for clause in system.clauses:
            new = clause.head is not None and clause.head.function not in derived
            if new and clause.head is not None and all(a.function in derived for a in clause.body):
                derived.add(clause.head.function)
                grown = True
    alive = [(n, c) for n, c in enumerate(system.clauses) if all(a.function in derived for a in c.body)]
    needed: set[Function] = set()
    grown = True
    while grown:
        grown = False
        for _, clause in alive:
            if clause.head is None or clause.head.function in needed:
                for atom in clause.body:
                    if atom.function not in needed:
                        needed.add(atom.function)
                        grown = True
    kept = [(n, c) for n, c in alive if c.head is None or c.head.function in needed]
    if len(kept) == len(system.clauses):
        return None
    empty = tuple(r for r in system.relations if r not in derived)

    def model(found: Model) -> Model:
        return default(default(found, empty, build.FALSE), system.relations, build.TRUE)

    return stage("reachable", system, [unchanged(n, c) for n, c in kept], model)
