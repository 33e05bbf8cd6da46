"""Formulas about a program with probes, said of the program without them."""

from __future__ import annotations

import pytest

from certus.core import build
from certus.core.accounting import Budget
from certus.core.evidence import Inductive, Point, Unrolling, in_frame, old
from certus.core.program import Call
from certus.core.terms import machine
from certus.core.vocabulary import Property
from certus.core.witness import Place
from certus.frontend.c.load import load_probed
from certus.frontend.c.source.probes import Probe
from certus.witness.validate.probe_backmap import ProbeBackMap, match_programs

SOURCE = """\
int get(int *p) { return *p + 1; }
int main(void) {
  int a[2] = {1, 2}, n = 0;
  while (n < get(a))
    n = get(a) + n;
  return n;
}
"""


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> ProbeBackMap:
    file = tmp_path_factory.mktemp("probes") / "p.c"
    file.write_text(SOURCE)
    probes = [Probe(0, Place("p.c", 4, 3), "a[0] == 1", loop=True), Probe(1, Place("p.c", 5, 5), "a[1] > n")]
    loaded, probed = load_probed(
        file, probes, property=Property("unreach-call"), model="LP64", budget=Budget()
    )
    return match_programs(probed, loaded.program)


def test_all_of_the_program_has_an_image(alike: ProbeBackMap) -> None:
    assert set(alike.edges.values()) == set(alike.plain.edge)
    assert set(alike.locations.values()) == set(alike.plain.location.values())


def test_temporaries_go_by_their_steps(alike: ProbeBackMap) -> None:
    calls = [e for e in alike.probed.edge.values() if isinstance(e.op, Call) and e.op.procedure == "get"]
    moved = 0
    for edge in calls:
        image = alike.plain.edge[alike.edges[edge.index]].op
        assert isinstance(edge.op, Call)
        assert isinstance(image, Call)
        assert [alike.variables[x] for x in edge.op.targets] == list(image.targets)
        moved += edge.op.targets != image.targets
    assert moved  # the probes have temporaries of their own before


def test_formulas(alike: ProbeBackMap) -> None:
    n = next(x for x in alike.plain.source_names if x.name == "main.n")
    one = build.constant(1, n.sort)
    own = next(x for x in alike.probed.procedures["main"].variables if x not in alike.variables)
    about = build.and_(build.eq(in_frame(n, 2), one), build.le(old(n), one))
    assert alike.formula(about) is about
    hidden = build.and_(build.le(n, one), build.eq(own, n) if own.sort is n.sort else build.TRUE)
    assert own not in alike.formula(hidden).args
    address = machine(64, signed=False)
    where = build.eq(build.var("get.p", address), build.constant(4096, address))
    assert alike.formula(where) is where


def test_points_of_a_head_come_together(alike: ProbeBackMap) -> None:
    heads = [at for at in alike.probed.location.values() if at.loop is not None and at.loop.line == 4]
    (head,) = heads
    image = alike.locations[head]
    behind = [at for at, own in alike.locations.items() if own is image and at is not head]
    n = next(x for x in alike.plain.source_names if x.name == "main.n")
    zero, one = (build.le(build.constant(k, n.sort), n) for k in (0, 1))
    proof = Inductive({Point(head): zero, Point(behind[0]): one})
    assert alike.proof(proof, {}) == Inductive({Point(image): build.and_(zero, one)})
    assert alike.proof(Unrolling({head.name: 3}), {}) == Unrolling({image.name: 3})
