"""Long runs: limits, Ctrl-C, progress, and readers who leave."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

from tests.cli.conftest import COMMAND, ENVIRONMENT, ROOT, Certus


def test_a_time_limit_is_kept(certus: Certus, endless: Path) -> None:
    start = time.monotonic()
    done = certus("verify", endless, "--engine", "bmc", "--timeout", "1500ms")
    assert done.returncode == 3
    assert done.stdout.startswith("UNKNOWN  ")
    assert time.monotonic() - start < 20


def test_ctrl_c_ends_soon_and_says_what_was_known(endless: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "verify", str(endless), "--engine", "bmc", "--json"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        assert _read(ours).startswith(b"\r\x1b[K")  # the engine is at work
        pressed = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        ended = time.monotonic()
    os.close(theirs)
    os.close(ours)
    assert ended - pressed < 15  # the promise is one second
    assert process.returncode == 3
    found = json.loads(out)
    assert found["verdict"] == "UNKNOWN"
    assert found["reason"]["code"] == "interrupted"


def test_a_terminal_sees_progress(endless: Path) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "verify", str(endless), "--engine", "bmc", "--timeout", "3s"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as process:
        process.communicate(timeout=30)
    os.close(theirs)
    seen = b""
    while chunk := _read(ours):
        seen += chunk
    os.close(ours)
    assert seen.startswith(b"\r\x1b[K")
    assert seen.endswith(b"\r\x1b[K")
    assert b" s " in seen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how Linux says that the other side is closed
        return b""


def test_a_pipe_sees_none(certus: Certus, endless: Path) -> None:
    assert certus("verify", endless, "--engine", "bmc", "--timeout", "2s").stderr == ""


def test_a_reader_who_leaves_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "verify", "examples/swap_bug.lp"],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 1
