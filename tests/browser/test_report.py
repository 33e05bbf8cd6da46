"""The HTML report in a real browser: clicked through, nothing logged, nothing requested.

These tests run where Chromium is: `pytest -m browser tests/browser`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.chromium import Browser, find_chromium

from certus.cli.verify import with_blocks
from certus.report.html.page import render_html
from certus.run.settings import Settings
from certus.run.verify import verify

pytestmark = pytest.mark.browser

NASTY = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><!--"
CALLS = f"""\
int total; // {NASTY}
int twice(int n) {{
  int m = n + n;
  return m;
}}
void main() {{
  int unused = 5;
  int x = *;
  assume(x > 2 && x < 5);
  int i = 0;
  while (i < 2) {{
    total = twice(x);
    i = i + 1;
  }}
  assert(total < x);
}}
"""
COUNTER = """\
void main() {
  int x = 0;
  int y = *;
  while (y > 0) {
    if (x < 10) { x = x + 1; }
    y = y - 1;
  }
  assert(x <= 10);
}
"""
TWICE = """\
int pick(int n) {
  int m = 0;
  if (n > 1) { int k = 7; m = k; }
  return m;
}
void main() {
  int a = pick(2); int b = pick(1);
  assert(a == b);
}
"""
EQUALS = """\
void main() {
  int a = 0; int b = 0;
  int n = *;
  while (n > 0) {
    a = a + 1; b = b + 1; n = n - 1;
  }
  assert(a == b);
}
"""
NOW = "document.querySelector('.line.now').id"
ROW = "document.querySelector('#steps [aria-selected=true]').id"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = find_chromium()
    assert executable is not None, "these tests need Chromium"
    with Browser(executable) as opened:
        yield opened


@pytest.fixture(autouse=True)
def silence(browser: Browser) -> Iterator[None]:
    browser.logged.clear()
    browser.requested.clear()
    yield
    browser.run("1")  # the last events are in
    assert browser.logged == []
    assert browser.requested == []


def report(directory: Path, source: str, name: str, **settings: object) -> Path:
    (directory / name).write_text(source)
    outcome = verify(directory / name, Settings(**settings))  # type: ignore[arg-type]
    page = directory / f"{name}.html"
    page.write_text(render_html(with_blocks(outcome, Settings())), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def violated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(tmp_path_factory.mktemp("report"), CALLS, "calls.lp", engine="bmc")


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(tmp_path_factory.mktemp("report"), COUNTER, "counter.lp", engine="predicate")


class TestSteps:
    def test_every_step_forward_and_back(self, browser: Browser, violated: Path) -> None:
        browser.open(violated)
        count = browser.run("document.querySelectorAll('#steps [role=option]:not(.folded)').length")
        rows = [browser.run(ROW)]
        while not browser.run("document.querySelector('#forth').disabled"):
            browser.click("#forth")
            rows.append(browser.run(ROW))
            assert browser.run("document.querySelector('#position').textContent") == f"{len(rows)} / {count}"
        assert len(rows) == count
        assert browser.run(NOW) == "L15"
        assert "violated" in browser.run("document.querySelector('#now').textContent")
        for row in reversed(rows[:-1]):
            browser.click("#back")
            assert browser.run(ROW) == row

    def test_keys(self, browser: Browser, violated: Path) -> None:
        browser.open(violated)
        first = browser.run(ROW)
        browser.press("ArrowRight")
        assert browser.run(ROW) != first
        browser.press("End")
        assert browser.run(NOW) == "L15"
        browser.press("ArrowLeft")
        browser.press("Home")
        assert browser.run(ROW) == first

    def test_values_stack_and_why(self, browser: Browser, violated: Path) -> None:
        browser.open(violated)
        texts = []
        while not browser.run("document.querySelector('#forth').disabled"):
            browser.press("ArrowRight")
            texts.append(browser.run("document.querySelector('.stepper').innerText"))
        inside = next(t for t in texts if "twice" in t and "m = " in t)
        assert "called at line 12" in inside
        assert any("i < 2 was true: i = 0" in t for t in texts)
        assert "total < x was false" in texts[-1]
        assert all("matters" in t for t in texts[:-1])

    def test_a_new_call_has_a_new_frame(self, browser: Browser, tmp_path: Path) -> None:
        """Although it is of the same procedure, on the same line, and nothing happens in between."""
        browser.open(report(tmp_path, TWICE, "twice.lp", engine="bmc"))
        browser.run("document.querySelector('#all').click()")
        frames = []
        while not browser.run("document.querySelector('#forth').disabled"):
            frames.append(browser.run("document.querySelector('.frame').innerText"))
            browser.press("ArrowRight")
        inside = [frame for frame in frames if frame.startswith("pick")]
        assert any("k" in frame.split() for frame in inside)
        assert "k" not in inside[-1].split()

    def test_steps_that_do_not_matter_are_folded(self, browser: Browser, violated: Path) -> None:
        browser.open(violated)
        shown = "[...document.querySelectorAll('#steps [role=option]')].filter(r => r.offsetHeight).length"
        before = browser.run(shown)
        assert "unused" not in browser.run("document.querySelector('#steps').innerText")
        browser.click("#all")
        assert browser.run(shown) > before
        assert "unused" in browser.run("document.querySelector('#steps').innerText")
        browser.click("#S0")
        assert browser.run(ROW) == "S0"

    def test_markup_in_the_source_is_text(self, browser: Browser, violated: Path) -> None:
        browser.open(violated)
        assert NASTY in browser.run("document.querySelector('#L1').innerText")
        assert "owned" not in browser.run("document.title")
        assert browser.run("document.scripts.length") == 2


class TestAutomata:
    def test_to_the_source_and_back(self, browser: Browser, violated: Path) -> None:
        browser.open(violated)
        browser.click("#tab-automata")
        assert browser.run("document.querySelector('#procedure').selectedOptions[0].text") == "main"
        browser.click("#picture [data-line='11']")
        assert browser.run("document.querySelector('.line.chosen').id") == "L11"
        assert not browser.run("document.querySelector('#source').hidden")
        browser.click(".here button:last-child")
        assert browser.run("document.querySelector('#picture .chosen').dataset.line") == "11"

    def test_before_and_after(self, browser: Browser, violated: Path) -> None:
        browser.open(violated)
        browser.click("#tab-automata")
        before = browser.run("document.querySelectorAll('#picture [data-at]').length")
        browser.click("input[value=after]")
        assert 0 < browser.run("document.querySelectorAll('#picture [data-at]').length") < before

    def test_with_keys_alone(self, browser: Browser, violated: Path) -> None:
        browser.open(violated)
        browser.run("document.querySelector('#tab-source').focus()")
        browser.press("ArrowRight")
        assert not browser.run("document.querySelector('#automata').hidden")
        browser.run("document.querySelector('#picture [data-at]').focus()")
        browser.press("ArrowDown")
        browser.press("Enter")
        assert browser.run("document.querySelector('.line.chosen') !== null")


def test_refinements_lead_to_their_lines(browser: Browser, tmp_path: Path) -> None:
    browser.open(report(tmp_path, EQUALS, "equals.lp", engine="predicate"))
    browser.click("#tab-findings")
    told = browser.run("document.querySelector('#findings').innerText")
    assert "the abstract counterexample passes" in told
    browser.click("#findings table:last-of-type a.go")
    assert not browser.run("document.querySelector('#source').hidden")


class TestAppearance:
    def test_light_dark_and_the_switch(self, browser: Browser, proved: Path) -> None:
        colour = "getComputedStyle(document.body).backgroundColor"
        browser.open(proved)
        light = browser.run(colour)
        browser.open(proved, dark=True)
        dark = browser.run(colour)
        assert light != dark
        browser.click("#theme")
        assert browser.run(colour) == light
        browser.run("localStorage.clear()")

    def test_a_proof_stands_at_its_loop(self, browser: Browser, proved: Path) -> None:
        browser.open(proved)
        note = browser.run("document.querySelector('#L4 + .note').innerText")
        assert "x <= 10" in note
        assert "proved" in browser.run("document.querySelector('.checks').innerText")

    def test_nothing_sticks_out_of_a_narrow_window(
        self, browser: Browser, violated: Path, proved: Path
    ) -> None:
        for page in (violated, proved):
            browser.open(page, width=360, height=700)
            for tab in browser.run("[...document.querySelectorAll('[role=tab]')].map(t => t.id)"):
                browser.click(f"#{tab}")
                assert browser.run("document.documentElement.scrollWidth") <= 360

    def test_on_paper(self, browser: Browser, violated: Path) -> None:
        browser.open(violated)
        assert browser.printed().startswith(b"%PDF")

    def test_the_signs_on_buttons_have_the_colour_of_text(self, browser: Browser, violated: Path) -> None:
        colours = (
            "[getComputedStyle(document.querySelector('.icon')).fill, getComputedStyle(document.body).color]"
        )
        for dark in (False, True):
            browser.open(violated, dark=dark)
            fill, text = browser.run(colours)
            assert fill == text
