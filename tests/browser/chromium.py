"""A page in a headless Chromium, driven through its DevTools protocol over a pair of pipes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
    "--no-first-run",
)
SECONDS = 60.0  # for one answer of the browser


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One browser with one page. `logged` is all that was written to its console, errors included;
    `requested` are the addresses that the page asked for, other than its own."""

    def __init__(self, executable: str) -> None:
        self._home = TemporaryDirectory(ignore_cleanup_errors=True)
        hear, say = os.pipe(), os.pipe()  # what the browser reads, and what it writes

        def connect() -> None:
            for number, end in ((3, os.dup(hear[0])), (4, os.dup(say[1]))):
                os.dup2(end, number, inheritable=True)

        with open(os.devnull, "wb") as nowhere:
            self._process = subprocess.Popen(
                [executable, *FLAGS, f"--user-data-dir={self._home.name}", "about:blank"],
                stdout=nowhere,
                stderr=nowhere,
                close_fds=False,
                preexec_fn=connect,  # noqa: PLW1509
            )
        os.close(hear[0])
        os.close(say[1])
        self._out, self._in = hear[1], say[0]
        self._pending = b""
        self._number = 0
        self._session: str | None = None
        self.logged: list[str] = []
        self.requested: list[str] = []
        pages = self._call("Target.getTargets")["targetInfos"]
        target = next(p["targetId"] for p in pages if p["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._home.cleanup()

    # ------------------------------------------------------------------------------- the page

    def open(self, path: Path, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Load a file from disk in a window of this size."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        calm = {"name": "prefers-reduced-motion", "value": "reduce"}
        self._call("Emulation.setEmulatedMedia", features=[scheme, calm])
        self._call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def run(self, script: str) -> Any:
        """The value of a script in the page."""
        found = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        for _ in range(2000):
            if self.run(f"Boolean({condition})"):
                return
            self.run("new Promise(done => setTimeout(done, 10))")
        raise AssertionError(f"never true: {condition}")

    def press(self, key: str) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key]
            )

    def click(self, selector: str) -> None:
        """Press the mouse on the middle of an element."""
        script = f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "nearest"}}); const b = e.getBoundingClientRect();
            return [b.x + b.width / 2, b.y + b.height / 2]; }})()"""
        x, y = self.run(script)
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self) -> bytes:
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def printed(self) -> bytes:
        """The page on paper, as PDF."""
        return base64.b64decode(self._call("Page.printToPDF", printBackground=True)["data"])

    # --------------------------------------------------------------------------- the protocol

    def _call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._notice(answer)

    def _notice(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.logged.append(" ".join(str(a.get("value", a)) for a in parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.logged.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.logged.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent" and parameters["type"] != "Document":
            self.requested.append(parameters["request"]["url"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has gone"
            self._pending += piece
        message, _, self._pending = self._pending.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


KEYS = {
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
    "Tab": 9,
    "Enter": 13,
}
