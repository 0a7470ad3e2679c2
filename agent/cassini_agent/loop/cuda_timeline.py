"""Marks on a CUDA stream, by events: recorded asynchronously, read when complete, never synchronised with.

An event says when the GPU came to it, against another event and with some 0.5 us resolution, but not on which clock. An
*reference event* is an event recorded on an idle stream of its own between two readings of the host's clock: it tells
the host's time of one event, as closely as the two readings lie together. Times of other events are counted from it.
GPU and host clocks drift apart by some parts per million, so the reference event is renewed; where the new one comes
out worse than the drift can be (the host was interrupted between the readings), the old one stays until another try.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .timeline import Name

__all__ = ["CudaTimeline"]

RENEW_NS = 5_000_000_000
"""Age at which a reference event is renewed."""

DRIFT_PPM = 50
"""By how much GPU and host clocks may differ in rate: what an old reference event is worth."""

MOST_PENDING = 1024
"""Marks waiting for their GPU; more means that the stream stands still, and the oldest are dropped."""


class CudaTimeline:
    """Marks on the current stream of a CUDA device.

    Parameters
    ----------
    device : torch.device or int, optional
        Default: the current device when the first mark is made.
    now_ns : callable, optional
        Monotonic clock; for tests.
    cuda : module, optional
        Default ``torch.cuda``; for tests.
    """

    def __init__(self, device: Any = None, now_ns: Callable[[], int] = time.monotonic_ns, cuda: Any = None) -> None:
        if cuda is None:
            import torch  # only where the job already uses it

            cuda = torch.cuda
        self._cuda = cuda
        self._device = device
        self._now_ns = now_ns
        self._pending: deque[tuple[Name, Any]] = deque(maxlen=MOST_PENDING)
        self._spare: list[Any] = []  # events whose times are read: creating one costs more than recording it
        self._reference: tuple[Any, int, int] | None = None  # event, host ns, known to so many ns
        self._reference_stream: Any = None
        self._candidate: tuple[Any, int, int] | None = None  # the same, and not known yet to have been reached

    def is_capturing(self) -> bool:
        """Whether the current stream is being captured into a CUDA graph, which asking for an event would end."""
        return bool(self._cuda.is_current_stream_capturing())

    def mark(self, name: Name) -> None:
        """Record an event on the current stream. The GPU is not waited for."""
        self._renew_reference()
        event = self._event()
        event.record(self._cuda.current_stream(self._device))
        self._pending.append((name, event))

    def known(self) -> list[tuple[Name, int]]:
        """Marks that the GPU has passed since the last call. Some us each; asks, does not wait."""
        self._settle_reference()
        marks: list[tuple[Name, int]] = []
        if self._reference is None:
            return marks
        reference, reference_ns, _ = self._reference
        while self._pending and self._pending[0][1].query():
            name, event = self._pending.popleft()
            # Negative where the mark was made before the reference event.
            marks.append((name, reference_ns + round(reference.elapsed_time(event) * 1e6)))
            self._spare.append(event)
        return marks

    def _event(self) -> Any:
        return self._spare.pop() if self._spare else self._cuda.Event(enable_timing=True)

    def _renew_reference(self) -> None:
        now_ns = self._now_ns()
        if self._candidate is not None or (self._reference is not None and now_ns - self._reference[1] < RENEW_NS):
            return
        if self._reference_stream is None:
            # Of its own and of high priority: nothing else stands before the reference event in it.
            self._reference_stream = self._cuda.Stream(self._device, priority=-1)
        event = self._cuda.Event(enable_timing=True)
        before_ns = self._now_ns()
        event.record(self._reference_stream)
        after_ns = self._now_ns()
        self._candidate = (event, (before_ns + after_ns) // 2, (after_ns - before_ns + 1) // 2)

    def _settle_reference(self) -> None:
        if self._candidate is None or not self._candidate[0].query():
            return
        candidate, self._candidate = self._candidate, None
        if self._reference is not None:
            _, reference_ns, uncertainty_ns = self._reference
            if candidate[2] > uncertainty_ns + (candidate[1] - reference_ns) * DRIFT_PPM // 1_000_000:
                return
        self._reference = candidate
