"""Take the screenshots of docs/tour.md again, in docs/figures. Needs Chromium.

python scripts/screenshots.py
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.browser.chromium import Browser, find_chromium

from certus.cli.verify import with_blocks
from certus.report.html.page import render_html
from certus.run.settings import Settings
from certus.run.verify import verify

ROOT = Path(__file__).resolve().parents[1]
SIZE = {"width": 1180, "height": 860}
LAST = "document.querySelector('#last').click();"
BACK = "document.querySelector('#back').click();"
AFTER = "document.querySelector('input[value=after]').click()"
SHOTS = {  # name: program, engine, dark, what to do to the page
    "tour-violated": ("queue_bug.c", "bmc", False, LAST),
    "tour-dark": ("queue_bug.c", "bmc", True, f"{LAST} {BACK}"),
    "tour-holds": ("queue.c", "predicate", False, "document.querySelector('.card .go').click()"),
    "tour-automaton": (
        "queue_bug.c",
        "bmc",
        False,
        f"{LAST} document.querySelector('#tab-automata').click(); {AFTER}",
    ),
}


def main() -> int:
    executable = find_chromium()
    if executable is None:
        print("there is no Chromium here")
        return 2
    with TemporaryDirectory() as scratch, Browser(executable) as browser:
        for name, (program, engine, dark, script) in SHOTS.items():
            outcome = verify(Path("examples") / program, Settings(engine=engine))
            page = Path(scratch) / "report.html"
            page.write_text(render_html(with_blocks(outcome, "large")), encoding="utf-8")
            browser.open(page, dark=dark, **SIZE)
            browser.run(script or "0")
            browser.run("new Promise(done => setTimeout(done, 200))")
            target = ROOT / "docs" / "figures" / f"{name}.png"
            target.write_bytes(with_palette(browser.screenshot()))
            print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")
    return 0


# -------------------------------------------------------------------------- smaller PNG files


def with_palette(png: bytes) -> bytes:
    """The picture with the 256 colours that it has most of, every other replaced by the nearest of these."""
    width, height, pixels = _decoded(png)
    counted = Counter(pixels)
    palette = [colour for colour, _ in counted.most_common(256)]
    place = {colour: n for n, colour in enumerate(palette)}
    for colour in counted:
        if colour not in place:
            place[colour] = min(range(len(palette)), key=lambda n, c=colour: _distance(palette[n], c))  # type: ignore[misc]
    rows = (bytes(place[p] for p in pixels[y * width : (y + 1) * width]) for y in range(height))
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = {b"IHDR": head, b"PLTE": b"".join(map(bytes, palette)), b"IDAT": data, b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, inside) for kind, inside in parts.items())


def _distance(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def _chunk(kind: bytes, inside: bytes) -> bytes:
    return struct.pack(">I", len(inside)) + kind + inside + struct.pack(">I", zlib.crc32(kind + inside))


def _decoded(png: bytes) -> tuple[int, int, list[tuple[int, ...]]]:
    """Width, height and pixels of a picture with 8 bits for each of red, green, blue (and opacity)."""
    chunks = list(_chunks(png))
    width, height, depth, kind = struct.unpack(">IIBB", chunks[0][1][:10])
    size = {2: 3, 6: 4}[kind]
    assert depth == 8
    data = zlib.decompress(b"".join(inside for name, inside in chunks if name == b"IDAT"))
    above = bytes(width * size)
    pixels: list[tuple[int, ...]] = []
    for y in range(height):
        start = y * (width * size + 1)
        above = _unfiltered(data[start], bytearray(data[start + 1 : start + 1 + width * size]), above, size)
        pixels += [tuple(above[x : x + 3]) for x in range(0, len(above), size)]
    return width, height, pixels


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += length + 12


def _unfiltered(kind: int, row: bytearray, above: bytes, size: int) -> bytes:
    for x in range(len(row)):
        left = row[x - size] if x >= size else 0
        corner = above[x - size] if x >= size else 0
        up = above[x]
        row[x] = (row[x] + (0, left, up, (left + up) // 2, _paeth(left, up, corner))[kind]) % 256
    return bytes(row)


def _paeth(left: int, up: int, corner: int) -> int:
    """The one of the three that is nearest to left + up - corner."""
    return min((left, up, corner), key=lambda value: abs(left + up - corner - value))


if __name__ == "__main__":
    sys.exit(main())
