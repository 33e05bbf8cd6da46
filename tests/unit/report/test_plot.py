"""Charts: well-formed SVG, points where they belong, names escaped."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from certus.report.plot import Axis, Panel, charts

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
