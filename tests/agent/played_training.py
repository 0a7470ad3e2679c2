"""A training job that only reports: it connects to a daemon, says what its iterations were like, follows schedules."""

from __future__ import annotations

import threading
import time
from typing import Any

from daemon_process import DaemonProcess, iterations_of

MS = 1_000_000
EACH = 4
EVERY_S = 0.05


class PlayedTraining:
    """Reports ``EACH`` iterations at a time, much faster than they would take; use with ``with``."""

    def __init__(self, daemon: DaemonProcess, name: str, rest_ms: float = 240.0, sending_ms: float = 173.0) -> None:
        self.daemon = daemon
        self.name = name
        self.rest_ms = rest_ms
        self.sending_ms = sending_ms
        self.schedule: dict[str, Any] | None = None
        self.versions: list[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> PlayedTraining:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _run(self) -> None:
        first = 0
        while not self._stop.is_set():
            try:
                with self.daemon.job(self.name) as job:
                    while not self._stop.is_set():
                        self._hear(job.receive, EVERY_S)
                        job.send(self._report(first))
                        first += EACH
            except (OSError, TimeoutError):
                time.sleep(0.05)  # the daemon is away

    def _hear(self, receive: Any, wait_s: float) -> None:
        end_s = time.monotonic() + wait_s
        while (left_s := end_s - time.monotonic()) > 0:
            try:
                told = receive(left_s)
            except TimeoutError:
                return
            if told is None:
                raise OSError("the daemon has closed")
            if told["type"] == "schedule":
                self.schedule = told
                self.versions.append(told["version"])
            elif told["type"] == "clear":
                self.schedule = None

    def _report(self, first: int) -> dict[str, Any]:
        now = time.monotonic_ns()
        rest, whole = round(self.rest_ms * MS), round((self.rest_ms + self.sending_ms) * MS)
        has = self.schedule
        return iterations_of(
            first,
            EACH,
            start_ns=[now + k for k in range(EACH)],
            natural_ns=[whole + 1000 * ((first + k) % 7) for k in range(EACH)],
            error_ns=[None if has is None else 10_000] * EACH,
            communication_start_ns=[now + k + rest for k in range(EACH)],
            communication_end_ns=[now + k + whole for k in range(EACH)],
            state="waiting" if has is None else "held",
            version=0 if has is None else has["version"],
        )
