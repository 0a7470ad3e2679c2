"""How much a job, a peer and all of them may take, so that what is left serves the others."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Limits", "Places", "TokenBucket"]

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Limits:
    """Every bound of the daemon."""

    jobs: int = 2048
    connections: int = 2048
    hello_timeout_s: float = 5.0
    messages_per_s: float = 64.0
    message_burst: float = 128.0
    strangers_messages_per_s: float = 4096.0

    http_connections: int = 256
    http_patience_s: float = 10.0
    http_wrong_token_s: float = 0.2
    http_wait_ms: int = 5_000


class TokenBucket:
    """At most ``burst`` at once and ``per_s`` in the long run; the caller brings the time, s of a steady clock."""

    def __init__(self, per_s: float, burst: float, now: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._left = burst
        self._then = now

    def take(self, now: float, cost: float) -> float:
        """Take ``cost``, and the seconds until it is there: more than there is is paid off later."""
        self._left = min(self._burst, self._left + max(0.0, now - self._then) * self._per_s) - cost
        self._then = now
        return max(0.0, -self._left / self._per_s)


class Places(Generic[T]):
    """``most`` places. Where all are taken, who is not known to need one makes room for who comes.

    Who goes is the oldest of the peer that has most: who comes once is not pushed out by who comes again and again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._peers: dict[T, str | int] = {}
        self._strangers: dict[str | int, dict[T, None]] = {}

    def __len__(self) -> int:
        return len(self._peers)

    def take(self, one: T, peer: str | int) -> T | None:
        """A place for a stranger, and who has to give up theirs for it: who comes, where all others need theirs."""
        goes = None
        if len(self._peers) >= self._most:
            if not self._strangers:
                return one
            most: dict[T, None] = max(self._strangers.values(), key=len)
            goes = next(iter(most))
            self.leave(goes)
        self._peers[one] = peer
        self._strangers.setdefault(peer, {})[one] = None
        return goes

    def keep(self, one: T) -> None:
        """It is no stranger any more."""
        if (peer := self._peers.get(one)) is not None and (strangers := self._strangers.get(peer)) is not None:
            strangers.pop(one, None)
            if not strangers:
                del self._strangers[peer]

    def leave(self, one: T) -> None:
        """Its place is free, if it had one."""
        self.keep(one)
        self._peers.pop(one, None)
