"""Programs that only do what a violation witness says, run on inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from certus.check.replay.replay import replay
from certus.core.accounting import Budget
from certus.core.errors import InputError, Unsupported
from certus.core.evidence import Trace
from certus.core.vocabulary import Property
from certus.core.witness import Place, ViolationWitness, Waypoint, WitnessTask
from certus.frontend.c.load import load_probed
from certus.frontend.c.source.probes import Probe
from certus.interpreter.compile import compile_program
from certus.interpreter.inputs import ReplayInputs
from certus.interpreter.interpreter import Ending, run
from certus.witness.validate.probe_backmap import match_programs
from certus.witness.validate.product import WitnessProduct, named_result, witness_product

SOURCE = """\
extern int __VERIFIER_nondet_int(void);
extern void reach_error(void);
int twice(int a) { return 2 * a; }
int main(void) {
  int open = 0;
  int x = __VERIFIER_nondet_int();
  int y = __VERIFIER_nondet_int();
  if (x > 3 && twice(y) == 8)
    open = 1;
  switch (x) {
    case 7: y = 5; break;
    default: y = y > 3 ? 6 : 7;
  }
  if (y == 5 && open == 1)
    reach_error();
  if (y == 6 && x == 9) reach_error();
  return 0;
}
"""
TASK = WitnessTask(("p.c",), {}, "", "LP64")


def waypoint(kind: str, place: str, value: str | None = None, action: str = "follow") -> Waypoint:
    line, _, column = place.partition(":")
    return Waypoint(kind, Place("p.c", int(line), int(column) if column else None), action, value)


def avoided(place: str, value: str) -> Waypoint:
    return waypoint("branching", place, value, "avoid")


FIRST, SECOND = (waypoint("target", "15:5"),), (waypoint("target", "16"),)
TWICE = waypoint("function_return", "8:23", r"\result >= 8 && \result < 0x9")
X, Y = (waypoint("function_return", f"{line}:33", r"\result == 7") for line in (6, 7))


def guided(directory: Path, *segments: tuple[Waypoint, ...]) -> WitnessProduct:
    file = directory / "p.c"
    file.write_text(SOURCE)
    waypoints = [each for segment in segments for each in segment]
    probes = [
        Probe(number, each.place, each.constraint or "")
        for number, each in enumerate(waypoints)
        if each.kind == "assumption"
    ]
    watched = frozenset((w.place.line, w.place.column) for w in waypoints if w.kind == "branching")
    loaded, probed = load_probed(
        file, probes, watched, property=Property("unreach-call"), model="LP64", budget=Budget()
    )
    made = witness_product(probed, ViolationWitness(TASK, segments))
    alike = match_programs(probed, loaded.program)
    for error in made.errors:  # whatever is found there can be said of the program itself
        assert alike.trace(made.trace(Trace(error))) is not None
    return made


def fails(made: WitnessProduct, x: int, y: int) -> bool:
    """Return whether the guided program fails on these inputs."""
    inputs = [
        named_result(made.program, waypoint("function_return", f"{n}", r"\result == 0")) for n in (6, 7)
    ]
    edges = [found[0] for found in inputs if found is not None]
    trace = Trace("", {}, {edges[0]: ((x,),), edges[1]: ((y,),)})
    end = run(compile_program(made.program), ReplayInputs(made.program, trace), budget=Budget(10))
    return end.ending is Ending.ERROR


@pytest.mark.parametrize(
    ("segments", "following", "others"),
    [
        ((FIRST,), [(7, 4)], [(7, 5), (9, 4)]),
        ((SECOND,), [(9, 4)], [(7, 4), (9, 3)]),
        (((X,), FIRST), [(7, 4)], [(9, 4)]),
        (((Y,), SECOND), [(9, 7)], [(9, 8)]),
        (((Y,), (X,), FIRST), [], [(7, 7), (7, 4)]),
        (((waypoint("branching", "10:3", "7"),), FIRST), [(7, 4)], []),
        (((waypoint("branching", "10", "default"),), FIRST), [], [(7, 4)]),
        (((waypoint("branching", "8:3", "true"),), SECOND), [(9, 4)], [(9, 5)]),
        (((avoided("8:3", "true"), waypoint("branching", "10:3", "default")), SECOND), [(9, 5)], [(9, 4)]),
        (((avoided("12:24", "true"), *SECOND),), [], [(9, 5)]),
        (((waypoint("branching", "12:24", "true"),), SECOND), [(9, 5)], [(9, 2)]),
        (((waypoint("function_enter", "8:23"),), SECOND), [(9, 4)], []),
        (((TWICE,), SECOND), [(9, 4)], [(9, 5)]),
        (((waypoint("assumption", "14:3", "x == 9 && y > 5"),), SECOND), [(9, 4)], []),
        (((waypoint("assumption", "9:5", "open == 1"),), FIRST), [], [(7, 4)]),
    ],
)
def test_what_follows_a_witness(
    segments: tuple[tuple[Waypoint, ...], ...],
    following: list[tuple[int, int]],
    others: list[tuple[int, int]],
    tmp_path: Path,
) -> None:
    made = guided(tmp_path, *segments)
    assert [inputs for inputs in (*following, *others) if fails(made, *inputs)] == following


@pytest.mark.parametrize(
    ("waypoints", "message"),
    [
        (waypoint("branching", "9:5", "true"), "no branching in line 9:5"),
        (waypoint("branching", "10:3", "true"), "goes to a number"),
        (waypoint("branching", "8:3", "5"), "Only a `switch`"),
        (waypoint("function_return", "6:9", r"\result == 7"), "no call in line 6:9"),
        (waypoint("function_return", "6:33", r"\result \in x"), "not of the form"),
    ],
)
def test_what_has_no_place_is_refused(waypoints: Waypoint, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        guided(tmp_path, (waypoints,), FIRST)


def test_what_cannot_be_watched_is_not_supported(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="nothing can violate the property"):
        guided(tmp_path, (waypoint("target", "9:5"),))
    with pytest.raises(Unsupported, match="corresponds to no step"):
        guided(tmp_path, (waypoint("function_enter", "15:17"),), FIRST)


def test_a_trace_is_carried_back_to_the_program_itself(tmp_path: Path) -> None:
    file = tmp_path / "p.c"
    file.write_text(SOURCE)
    probes = [Probe(0, Place("p.c", 14, 3), "x * y != 0 && open == 1")]
    loaded, probed = load_probed(
        file, probes, property=Property("unreach-call"), model="LP64", budget=Budget()
    )
    alike = match_programs(probed, loaded.program)
    edges = [edge.index for edge in probed.edge.values() if edge.text.endswith("__VERIFIER_nondet_int()")]
    error = next(site.location.name for site in probed.errors if site.kind == "reach-error")
    own = alike.trace(Trace(error, {}, {edges[0]: ((7,),), edges[1]: ((4,),)}))
    assert own is not None
    assert not hasattr(replay(loaded.program, own, budget=Budget(10)), "code")
    failed = next(site.location.name for site in probed.errors if site.kind == "witness-0")
    assert alike.trace(Trace(failed)) is None
