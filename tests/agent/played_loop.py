"""What a training loop that a test plays has around it: a clock, a daemon, a schedule."""

from __future__ import annotations

from typing import Any

from cassini_agent.control.phase import wrap

MS = 1_000_000
NATURAL = 100 * MS


class Clock:
    """A monotonic clock that moves when the loop works or waits."""

    def __init__(self) -> None:
        self.now_ns = 5 * 10**12
        self.waited_ns: list[int] = []

    def __call__(self) -> int:
        return self.now_ns

    def wait(self, until_ns: int) -> None:
        self.waited_ns.append(until_ns - self.now_ns)
        self.now_ns = max(self.now_ns, until_ns)


class Link:
    """A daemon that says what the test wants it to say."""

    path = "/nowhere"
    dropped = 0

    def __init__(self, connected: bool = True) -> None:
        self.connected = connected
        self.incoming: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self.closed = False

    def send(self, message: dict[str, Any]) -> bool:
        self.sent.append(message)
        return True

    def receive(self) -> list[dict[str, Any]]:
        incoming, self.incoming = self.incoming, []
        return incoming

    def close(self) -> None:
        self.closed = True


def schedule(clock: Clock, **changes: Any) -> dict[str, Any]:
    return {
        "type": "schedule",
        "job": "a",
        "component": "a",
        "version": 1,
        "epoch_ns": clock.now_ns + 37 * MS,
        "pace_ns": 101 * MS,
        "shift_ns": 20 * MS,
        "iteration_ns": NATURAL,
        "hold_ns": 8 * MS,
        "slack_ns": 12 * MS,
        "gain_ns": 0,
        "expires_ns": clock.now_ns + 3600 * 10**9,
        **changes,
    }


def error_ns(start_ns: int, told: dict[str, Any]) -> int:
    return wrap(start_ns - told["epoch_ns"] - told["shift_ns"], told["pace_ns"])
