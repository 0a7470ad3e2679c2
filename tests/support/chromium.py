"""Chromium without a screen, told what to do over a pipe in the words of its DevTools protocol.

Needs the program alone: no driver, no library, no port. ``CASSINI_NEED_CHROMIUM=1`` makes its absence a failure.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ANSWER_S = 60.0
"""Longest that one answer may take, on a busy machine."""

KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "End": 35, "Home": 36, "Tab": 9}

FLAGS = (
    "--headless",
    "--no-sandbox",  # tests run as root in containers
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def program() -> str:
    """Where Chromium lies; skips the test, or fails it where Chromium must be there."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if os.environ.get("CASSINI_NEED_CHROMIUM"):
            pytest.fail("CASSINI_NEED_CHROMIUM is set and there is no chromium")
        pytest.skip("there is no chromium (apt-get install chromium)")
    return found


class Browser:
    """One page of a running Chromium.

    Attributes
    ----------
    complaints : list of str
        Errors and warnings of the console, uncaught exceptions and refused requests, as they came.
    requests : list of str
        Addresses that were asked for.
    """

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._number = 0
        self._rest = b""
        self._session: str | None = None
        self._events: list[str] = []
        self.complaints: list[str] = []
        self.requests: list[str] = []
        (page,) = [one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page"]
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a call of the protocol; AssertionError with what the browser says of a wrong one."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def open(self, page: Path) -> None:
        """Load a file and wait until it is there; what was complained of before is forgotten."""
        self.complaints.clear()
        self.requests.clear()
        self._events.clear()
        self.call("Page.navigate", url=page.as_uri())
        while "Page.loadEventFired" not in self._events:
            self._next()

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, or of what it promises."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key: str, times: int = 1) -> None:
        """Press a key, as a person does: what has the focus gets it."""
        for _ in range(times):
            for kind in ("rawKeyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key])

    def show(self, width: int, height: int, *, scheme: str = "light", scale: float = 1.0) -> None:
        """The screen and the colour scheme that the page is shown with."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self) -> bytes:
        """All of the page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        answer = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={**size, "scale": 1})
        return base64.b64decode(answer["data"])

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + ANSWER_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._read, 2**16) if ready else b""
            assert part, "chromium ended or does not answer"
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, about: dict[str, Any]) -> None:
        self._events.append(event)
        if event == "Runtime.exceptionThrown":
            self.complaints.append(str(about["exceptionDetails"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("warning", "error"):
            self.complaints.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("warning", "error"):
            self.complaints.append(str(about["args"]))
        elif event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty profile, which ends with the block."""
    to_browser, write = os.pipe()
    read, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        # The protocol is spoken over the file descriptors 3 and 4.
        shell = ["/bin/sh", "-c", f'exec "$@" 3</dev/fd/{to_browser} 4>/dev/fd/{from_browser}', "sh"]
        process = subprocess.Popen(
            [*shell, program(), *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # Libraries that are loaded into this process, as sanitizers are, are not for the browser.
            env={key: value for key, value in os.environ.items() if key != "LD_PRELOAD"} | {"HOME": profile},
        )
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Browser(write, read)
        finally:
            os.close(write)  # the browser ends when nobody speaks to it
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(read)
