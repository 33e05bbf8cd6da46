"""Bounds of an unrolling carried back to the program a pass was given.

For passes that only take edges away, or replace stretches without loop heads by one step: every
cycle of the new automaton is one of the old, but a loop may have got smaller, or another head, or be
gone. How often control comes to an entry of an old loop during one stay in it is at most the product of
the bounds of the new loops around that entry whose heads lie in the old loop: no such loop, one visit.
A procedure that is recursive no more has one activation at a time.
"""

from __future__ import annotations

from math import prod

from certus.core.evidence import Unrolling
from certus.core.loops import loop_forest, recursive
from certus.core.program import Program


def unrolling_before(before: Program, after: Program, proof: Unrolling) -> Unrolling:
    """`proof`, of the program `after` the pass, as one of the program `before` it."""
    loops: dict[str, int] = {}
    for name, procedure in before.procedures.items():
        left = after.procedures.get(name)
        if left is None:
            continue  # never called
        forest, present = loop_forest(left), frozenset(left.locations)
        for loop in loop_forest(procedure).loops:
            visits = (
                prod(
                    proof.loops.get(new.head.name, 0) for new in forest.around(entry) if new.head in loop.body
                )
                for entry in loop.entries
                if entry in present
            )
            loops[loop.head.name] = sum(visits)
    still = frozenset(name for group in recursive(after) for name in group)
    once = {name: 1 for group in recursive(before) for name in group if name not in still}
    return Unrolling(loops, {**once, **proof.recursion})
