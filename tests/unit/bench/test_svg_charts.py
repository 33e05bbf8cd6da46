"""Charts: well-formed SVG, points where they belong, names escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from certus.bench.svg_charts import Axis, Panel, charts

SVG = "{http://www.w3.org/2000/svg}"


def drawn(panels: list[Panel], x: Axis, y: Axis) -> ET.Element:
    return ET.fromstring(charts(panels, x, y))


def test_a_rising_line_rises() -> None:
    picture = drawn([Panel("a < b", {"up & away": [(1, 1), (2, 2), (4, 4)]})], Axis("N"), Axis("s"))
    (line,) = picture.iter(f"{SVG}polyline")
    places = [tuple(float(n) for n in point.split(",")) for point in line.attrib["points"].split()]
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)
    words = [text.text for text in picture.iter(f"{SVG}text")]
    assert "a < b" in words
    assert "up & away" in words


def test_logarithms_make_powers_equidistant() -> None:
    points = [(10.0**n, 10.0**n) for n in range(5)]
    picture = drawn([Panel("p", {"l": points})], Axis("N", logarithmic=True), Axis("s", logarithmic=True))
    xs = [float(dot.attrib["cx"]) for dot in picture.iter(f"{SVG}circle")]
    steps = [b - a for a, b in pairwise(xs)]
    assert steps == pytest.approx([steps[0]] * 4, abs=0.02)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_one_point_and_none(logarithmic: bool) -> None:
    panels = [Panel("one", {"l": [(3.0, 0.2)]}), Panel("none", {})]
    picture = drawn(panels, Axis("N", logarithmic), Axis("s", logarithmic))
    assert len(list(picture.iter(f"{SVG}circle"))) == 1


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 37.5), (-3.0, 2.0), (0.0, 0.004)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = Axis("x").ticks(low, high)
    assert 2 <= len(ticks) <= 6
    assert all(low <= tick <= high * 1.0001 for tick in ticks)


def test_a_scatter_plot_has_a_diagonal_and_no_lines() -> None:
    seconds = Axis("s", logarithmic=True, span=(0.01, 20.0))
    points = {"a": [(0.1, 0.1), (20.0, 1.0)], "b": [(1.0, 20.0)]}
    picture = drawn([Panel("p", points, joined=False)], seconds, seconds)
    assert not list(picture.iter(f"{SVG}polyline"))
    (diagonal,) = [line for line in picture.iter(f"{SVG}line") if line.get("class") == "diagonal"]
    x1, y1, x2, y2 = (float(diagonal.attrib[name]) for name in ("x1", "y1", "x2", "y2"))
    equal, slow, _ = [(float(d.attrib["cx"]), float(d.attrib["cy"])) for d in picture.iter(f"{SVG}circle")][
        2:
    ]
    share = (equal[0] - x1) / (x2 - x1)
    assert equal[1] - y1 == pytest.approx(share * (y2 - y1), abs=0.1)
    assert slow[0] == pytest.approx(x2, abs=0.01)


def test_ticks_stay_within_a_given_span() -> None:
    assert Axis("s", logarithmic=True, span=(0.01, 60.0)).ticks(0.01, 60.0) == pytest.approx(
        [0.01, 0.1, 1, 10]
    )
