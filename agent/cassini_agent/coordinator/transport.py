"""What the coordinator needs of daemons; over HTTP (``http``) or played by a simulator or a test."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from ..control.clock_sync import ClockSample
from ..schedule import Schedule
from .status import JobStatus

__all__ = ["RefusedError", "Transport", "TransportError"]


class TransportError(Exception):
    """No answer, or one that makes no sense."""


class RefusedError(TransportError):
    """The daemon answered, and does not take what it was sent."""


class Transport(Protocol):
    """Requests to the daemon of a host. All may raise TransportError."""

    async def clock(self, host: str, offset_ns: int | None) -> ClockSample:
        """Read the host's monotonic clock, and say there how far it is ahead of the coordinator's, if that is known."""

    async def jobs(self, host: str, jobs: Collection[str] | None) -> list[JobStatus]:
        """What the daemon knows of these jobs, and perhaps of others; None: of all."""

    async def news(self, host: str, known: int | None, wait_s: float) -> int:
        """The daemon's count of changes, once it is another than ``known``, or after ``wait_s``; at once for None."""

    async def put(self, host: str, schedule: Schedule) -> None:
        """Give a job its schedule."""

    async def clear(self, host: str, job: str, version: int) -> None:
        """Let a job run free."""
