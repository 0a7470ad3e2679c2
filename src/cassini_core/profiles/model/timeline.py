"""When one rank computes and sends: operations in the order in which they are issued.

A rank has one stream of computation and one network interface. The interface sends one message after the other at its
full rate, in the order in which they are started; computation goes on meanwhile unless it waits.
"""

from __future__ import annotations

from typing import NamedTuple

from ...errors import InputError
from .groups import Message

__all__ = ["Timeline", "Transfer"]

MAX_TRANSFERS = 200_000
"""So many in an iteration are played within seconds; with more the answer is no longer worth the wait."""

_BITS_PER_MS_AT_ONE_GBPS = 1e6


class Transfer(NamedTuple):
    """A message on the network: what it is, and from when to when, ms."""

    message: Message
    start_ms: float
    end_ms: float


class Timeline:
    """Plays operations.

    Parameters
    ----------
    gbps : float
        Rate at which the rank sends through the network, Gbit/s.
    local_gbps : float or None
        Rate inside the server, Gbit/s; None: what stays inside takes no time.

    Attributes
    ----------
    now_ms : float
        Until when the computation has come.
    transfers : list of Transfer
        By start.
    local : list of Message
        What stayed inside the server.
    """

    def __init__(self, gbps: float, local_gbps: float | None = None) -> None:
        self._gbps = gbps
        self._local_gbps = local_gbps
        self._idle_from_ms = 0.0
        self.now_ms = 0.0
        self.transfers: list[Transfer] = []
        self.local: list[Message] = []

    @property
    def end_ms(self) -> float:
        """When all is done."""
        return max(self.now_ms, self._idle_from_ms)

    def compute(self, ms: float) -> None:
        """Compute for so long."""
        self.now_ms += ms

    def wait_until(self, ms: float) -> None:
        """Wait for what another operation, or another rank, gives at that time."""
        self.now_ms = max(self.now_ms, ms)

    def start(self, message: Message) -> float:
        """Send without waiting; when it will be done, ms."""
        if message.network_bytes <= 0:
            if message.local_bytes > 0:
                self.local.append(message)
            if self._local_gbps is None:
                return self.now_ms
            return self.now_ms + 8 * message.local_bytes / self._local_gbps / _BITS_PER_MS_AT_ONE_GBPS
        if len(self.transfers) >= MAX_TRANSFERS:
            raise InputError(f"the job: expected at most {MAX_TRANSFERS} messages of a rank in an iteration, got more")
        start = max(self.now_ms, self._idle_from_ms)
        self._idle_from_ms = start + 8 * message.network_bytes / self._gbps / _BITS_PER_MS_AT_ONE_GBPS
        self.transfers.append(Transfer(message, start, self._idle_from_ms))
        return self._idle_from_ms

    def run(self, message: Message) -> None:
        """Send, and wait until it is done."""
        self.wait_until(self.start(message))
