"""Children under limits: real processes that sleep, allocate, crash, fork and talk a lot."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from certus.core.errors import BudgetExceeded, Inconsistent
from certus.system.child import Children, Reporter, run_limited
from certus.system.supervise import cpu_seconds

SOURCE = str(Path(__file__).parents[3] / "src")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def gone(pid: int, within: float = 5.0) -> bool:
    end = time.monotonic() + within
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


def wait_for(condition: Callable[[], bool], within: float = 20.0) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "still waiting"
        time.sleep(0.02)


def no_children() -> bool:
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:
        return True


def test_a_payload_comes_back() -> None:
    result = run_limited(lambda _: b"answer", seconds=10, memory=None)
    assert (result.kind, result.payload, result.detail) == ("done", b"answer", "")
    assert result.peak_memory > 1_000_000
    assert result.cpu_seconds < 5


def test_an_empty_payload_is_a_payload() -> None:
    assert run_limited(lambda _: b"", seconds=10, memory=None).payload == b""


def test_fifty_megabytes_come_back_whole() -> None:
    block = bytes(range(256)) * 4096
    result = run_limited(lambda _: block * 50, seconds=60, memory=None)
    assert result.kind == "done"
    assert result.payload == block * 50


class TestKeptResults:
    """What a child keeps is its result if it comes to no end of its own."""

    def kept(self, then: Callable[[], bytes], **limits: float) -> tuple[str, bytes | None]:
        def work(reporter: Reporter) -> bytes:
            reporter.keep(b"first")
            reporter.keep(b"kept")
            return then()

        result = run_limited(work, seconds=limits.get("seconds", 20), memory=None)
        return result.kind, result.payload

    def test_the_last_result_counts(self) -> None:
        assert self.kept(lambda: b"last") == ("done", b"last")

    def test_a_limit_leaves_it(self) -> None:
        assert self.kept(lambda: time.sleep(60) or b"", seconds=5) == ("timeout", b"kept")

    def test_a_crash_leaves_it(self) -> None:
        assert self.kept(os.abort) == ("crashed", b"kept")

    def test_an_exception_leaves_it(self) -> None:
        def fail() -> bytes:
            raise MemoryError

        assert self.kept(fail) == ("memory", b"kept")


def test_progress_arrives_in_order_and_before_the_end() -> None:
    lines: list[str] = []

    def work(reporter: Reporter) -> bytes:
        for number in range(1000):
            reporter.progress(f"bound {number} µ")
        return b"x"

    result = run_limited(work, seconds=20, memory=None, on_progress=lines.append)
    assert lines == [f"bound {number} µ" for number in range(1000)]
    assert result.progress == "bound 999 µ"


def test_a_sleeper_is_ended_at_the_limit() -> None:
    start = time.monotonic()

    def work(reporter: Reporter) -> bytes:
        reporter.progress("sleeping")
        time.sleep(60)
        return b""

    result = run_limited(work, seconds=4, memory=None)
    assert result.kind == "timeout"
    assert result.payload is None
    assert result.progress == "sleeping"
    assert 4 <= time.monotonic() - start < 40


def test_a_child_deaf_to_signals_is_ended_at_the_limit() -> None:
    def work(_: Reporter) -> bytes:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(60)
        return b""

    assert run_limited(work, seconds=0.3, memory=None).kind == "timeout"


def test_chatter_does_not_hold_off_the_limit() -> None:
    def work(reporter: Reporter) -> bytes:
        while True:
            reporter.progress("again " * 1000)

    start = time.monotonic()
    assert run_limited(work, seconds=0.4, memory=None).kind == "timeout"
    assert time.monotonic() - start < 20


def test_python_allocations_beyond_the_limit() -> None:
    result = run_limited(lambda _: bytes(8 << 30), seconds=20, memory=2 << 30)
    assert (result.kind, result.detail) == ("memory", "out of memory")


def test_many_small_allocations_beyond_the_limit() -> None:
    def work(_: Reporter) -> bytes:
        kept = []
        while True:
            kept.append([0] * 10_000)

    result = run_limited(work, seconds=60, memory=600 << 20)
    assert result.kind == "memory"


def test_an_abort_that_speaks_of_memory() -> None:
    def work(_: Reporter) -> bytes:
        os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
        os.abort()

    assert run_limited(work, seconds=20, memory=1 << 30).kind == "memory"


def test_a_segmentation_fault() -> None:
    def work(_: Reporter) -> bytes:
        ctypes.string_at(0)
        return b""

    result = run_limited(work, seconds=20, memory=None)
    assert result.kind == "crashed"
    assert "SIGSEGV" in result.detail


def test_an_abort_with_last_words() -> None:
    def work(_: Reporter) -> bytes:
        os.write(2, b"first\nunreachable code was reached\n")
        os.abort()

    result = run_limited(work, seconds=20, memory=None)
    assert result.kind == "crashed"
    assert result.detail == "the process was ended by SIGABRT: unreachable code was reached"


def test_an_exit_without_a_word() -> None:
    result = run_limited(lambda _: os._exit(7), seconds=20, memory=None)
    assert (result.kind, result.detail) == ("crashed", "the process ended with exit code 7")


@pytest.mark.parametrize(
    ("error", "kind", "detail"),
    [
        (BudgetExceeded("time"), "timeout", "time limit reached"),
        (BudgetExceeded("memory"), "memory", "memory limit reached"),
        (BudgetExceeded("interrupt"), "interrupted", "interrupt limit reached"),
        (MemoryError(), "memory", "out of memory"),
        (Inconsistent("two answers"), "crashed", "Inconsistent: two answers (test_child.py:"),
        (ValueError("one\ntwo"), "crashed", "ValueError: one two (test_child.py:"),
        (SystemExit(3), "crashed", "SystemExit: 3 (test_child.py:"),
    ],
)
def test_exceptions_are_classified(error: BaseException, kind: str, detail: str) -> None:
    def work(_: Reporter) -> bytes:
        raise error

    result = run_limited(work, seconds=20, memory=None)
    assert result.kind == kind
    assert result.detail.startswith(detail)
    assert "\n" not in result.detail


def test_nothing_reaches_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    def work(_: Reporter) -> bytes:
        os.write(1, b"out")
        os.write(2, b"err")
        raise ValueError("oops")

    assert run_limited(work, seconds=20, memory=None).kind == "crashed"
    assert capfd.readouterr() == ("", "")


def test_grandchildren_end_with_the_child(tmp_path: Path) -> None:
    note = tmp_path / "pids"

    def work(_: Reporter) -> bytes:
        pids = [os.fork() for _ in range(2)]
        with note.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if 0 in pids:
            time.sleep(60)
        wait_for(lambda: len(note.read_text().split()) == 4)
        return b"left them behind"

    start = time.monotonic()
    assert run_limited(work, seconds=30, memory=None).payload == b"left them behind"
    assert time.monotonic() - start < 20
    pids = [int(line) for line in note.read_text().split()]
    assert len(pids) == 4
    assert all(gone(pid) for pid in pids)


def test_an_exit_is_noticed_while_a_grandchild_holds_the_line() -> None:
    def work(_: Reporter) -> bytes:
        if os.fork() == 0:
            time.sleep(60)
        os._exit(9)

    start = time.monotonic()
    assert run_limited(work, seconds=30, memory=None).detail == "the process ended with exit code 9"
    assert time.monotonic() - start < 25


def test_a_failing_progress_callback_leaves_no_child() -> None:
    pids: list[int] = []

    def work(reporter: Reporter) -> bytes:
        reporter.progress(str(os.getpid()))
        time.sleep(60)
        return b""

    def fail(line: str) -> None:
        pids.append(int(line))
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run_limited(work, seconds=30, memory=None, on_progress=fail)
    assert gone(pids[0])
    assert no_children()


def test_no_zombies_stay() -> None:
    for _ in range(5):
        run_limited(lambda _: b"", seconds=5, memory=None)
    assert no_children()


def test_the_cpu_limit_is_a_safety_net() -> None:
    """Without the parent's own limit, the kernel's would end a busy child."""

    def work(_: Reporter) -> bytes:
        import resource

        return repr(resource.getrlimit(resource.RLIMIT_CPU)[0]).encode()

    assert run_limited(work, seconds=7.5, memory=None).payload == b"10"


def test_the_limit_of_the_shell_on_cpu_time_is_no_lack_of_memory() -> None:
    """Behind the hard limit, which a user sets by `ulimit -t`, the kernel kills without a signal before."""
    busy = """
import resource
from certus.system.child import run_limited
resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
def work(reporter):
    while True:
        pass
result = run_limited(work, seconds=60, memory=None)
print(result.kind, result.detail)
"""
    done = subprocess.run([sys.executable, "-c", busy], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("cpu the limit on the CPU time of a process")


def test_ctrl_c_ends_the_child_at_once_with_what_was_known() -> None:
    pids: list[int] = []

    def work(reporter: Reporter) -> bytes:
        reporter.progress(str(os.getpid()))
        time.sleep(60)
        return b""

    def interrupt(line: str) -> None:
        pids.append(int(line))
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    start = time.monotonic()
    result = run_limited(work, seconds=30, memory=None, on_progress=interrupt)
    assert time.monotonic() - start < 20
    assert result.kind == "interrupted"
    assert result.detail == str(pids[0])
    assert gone(pids[0])
    assert signal.getsignal(signal.SIGINT) is before


PARENT = """
import os, sys, time
sys.path.insert(0, {source!r})
from certus.system.child import run_limited

def work(reporter):
    if {fork} and os.fork() == 0:
        time.sleep(60)
    with open({note!r}, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(60)
    return b""

run_limited(work, seconds=50, memory=None)
print("survived")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_dying_parent_takes_the_child_along(number: signal.Signals, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = textwrap.dedent(PARENT.format(source=SOURCE, note=str(note), fork=number == signal.SIGTERM))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # SIGKILL leaves temporary files
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE) as parent:
        wait_for(lambda: note.exists() and bool(note.read_text()))
        parent.send_signal(number)
        output, _ = parent.communicate(timeout=20)
    assert parent.returncode == -number
    assert output == b""
    assert gone(int(note.read_text()))


def test_work_from_another_thread() -> None:
    results = []
    thread = threading.Thread(
        target=lambda: results.append(run_limited(lambda _: b"ok", seconds=10, memory=None))
    )
    thread.start()
    thread.join()
    assert results[0].payload == b"ok"


def test_the_module_imports_no_solver() -> None:
    script = (
        f"import sys; sys.path.insert(0, {SOURCE!r}); import certus.system.child; print('z3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


TWO_LARGE_ONES = """
import time
from certus.system.child import Children

def work(reporter, size):
    kept = b"x" * size
    reporter.progress("filled")
    time.sleep(30)
    return kept[:1]

said = []
with Children(memory=700 << 20) as children:
    children.start("large", lambda r: work(r, 450 << 20), seconds=60, on_progress=said.append)
    while not said:
        assert children.result_within(0.1) is None
    children.start("small", lambda r: work(r, 350 << 20), seconds=60)
    name, result = children.next_result()
    print(name, result.kind, *children.running)
"""


def test_memory_is_limited_for_all_together() -> None:
    """In a process of its own: this one may have grown, and children begin as large as their parent is."""
    done = subprocess.run(
        [sys.executable, "-c", TWO_LARGE_ONES], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split() == ["large", "memory", "small"], done.stderr


def test_cpu_time_is_limited_for_all_together() -> None:
    def work(_: Reporter) -> bytes:
        while True:
            pass

    with Children(cpu=cpu_seconds() + 0.5) as children:
        children.start("one", work, seconds=60)
        children.start("two", work, seconds=60)
        assert [children.next_result()[1].kind for _ in range(2)] == ["cpu", "cpu"]


def test_findings_arrive_before_the_end() -> None:
    shared: list[bytes] = []

    def work(reporter: Reporter) -> bytes:
        reporter.share(b"a fact")
        os._exit(9)

    with Children() as children:
        children.start("", work, seconds=30, on_shared=shared.append)
        assert children.next_result()[1].kind == "crashed"
    assert shared == [b"a fact"]


def test_who_rests_does_nothing(tmp_path: Path) -> None:
    """Nor does what it started; both go on once it is woken, and end with it."""
    beats = tmp_path / "beats"

    def work(_: Reporter) -> bytes:
        if os.fork() == 0:
            while True:
                with beats.open("a") as file:
                    file.write(".")
                time.sleep(0.01)
        time.sleep(60)
        return b""

    def wait_for_more(than: int) -> None:
        end = time.monotonic() + 30
        while not (beats.exists() and beats.stat().st_size > than):
            assert time.monotonic() < end
            time.sleep(0.01)

    with Children() as children:
        children.start("one", work, seconds=60)
        wait_for_more(0)
        children.suspend("one")
        time.sleep(0.1)
        size = beats.stat().st_size
        assert children.running == ()
        assert children.result_within(0.3) is None
        assert beats.stat().st_size == size
        assert children.resume("one")
        assert not children.resume("one")
        assert not children.resume("two")
        assert children.running == ("one",)
        wait_for_more(size)
        children.suspend("one")
    size = beats.stat().st_size
    time.sleep(0.1)
    assert beats.stat().st_size == size


def test_who_rests_at_its_limit_is_ended() -> None:
    with Children() as children:
        children.start("one", lambda _: time.sleep(60) or b"", seconds=0.5)
        children.suspend("one")
        assert children.next_result()[1].kind == "timeout"
