"""By how much a host's monotonic clock is ahead of the coordinator's, from requests and their answers.

A request leaves at ``sent_ns`` and its answer is back at ``received_ns`` on the coordinator's clock; in between the
host read ``host_ns``. The reading belongs to the middle, give or take half the round trip. So the quickest round trip
of the newest counts. Clocks run apart meanwhile: by next to nothing where NTP or PTP keeps both, and else by some ten
millionths. How fast, the quickest of the oldest samples shows.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..schedule import SECOND_NS

__all__ = ["ClockSample", "ClockTrack"]

MOST_PPB = 1_000_000
"""No two clocks run further apart: a quartz is within 500 ppm, and NTP slews by no more. What looks so is another boot
of the host, or a clock that was set."""

MIN_SPAN_NS = 10 * SECOND_NS
"""Over less time nothing is told of how fast they run apart: 0.1 ms of noise would be 10 ppm."""

KEPT = 64
"""Samples in a track."""


@dataclass(frozen=True, slots=True)
class ClockSample:
    """One request: coordinator's clock when it left and when the answer came, host's monotonic clock in between.

    Raises
    ------
    ValueError
        It came back before it was sent.
    """

    sent_ns: int
    host_ns: int
    received_ns: int

    def __post_init__(self) -> None:
        if self.received_ns < self.sent_ns:
            raise ValueError(f"sample: expected an answer after its request, got {self}")

    @property
    def middle_ns(self) -> int:
        return (self.sent_ns + self.received_ns) // 2

    @property
    def offset_ns(self) -> int:
        """Host's clock minus the coordinator's, to within half the round trip."""
        return self.host_ns - self.middle_ns

    @property
    def round_trip_ns(self) -> int:
        return self.received_ns - self.sent_ns


class ClockTrack:
    """The clock of one host.

    Attributes
    ----------
    offset_ns : int or None
        Host's monotonic clock minus the coordinator's, at the last sample; None before the first.
    drift : float or None
        How much more the host's clock counts than the coordinator's, as a share; None before that is known.
    """

    def __init__(self) -> None:
        self.offset_ns: int | None = None
        self.drift: float | None = None
        self._samples: deque[ClockSample] = deque(maxlen=KEPT)

    def add(self, sample: ClockSample) -> int:
        """Take a sample; the offset.

        A sample that no delays of the network and no drift of the clocks can explain is of another boot of the host (or
        of a step of the coordinator's clock): what was known before is forgotten.
        """
        if any(_contradict(sample, known) for known in self._samples):
            self._samples.clear()
        self._samples.append(sample)
        samples = list(self._samples)
        part = max(1, len(samples) // 3)
        best = min(samples[-part:], key=lambda one: one.round_trip_ns)
        before = min(samples[:part], key=lambda one: one.round_trip_ns)
        span_ns = best.middle_ns - before.middle_ns
        is_long = span_ns >= MIN_SPAN_NS
        apart_ns = best.offset_ns - before.offset_ns if is_long else 0
        self.drift = apart_ns / span_ns if is_long else None
        self.offset_ns = best.offset_ns + apart_ns * (sample.middle_ns - best.middle_ns) // max(1, span_ns)
        return self.offset_ns


def _contradict(new: ClockSample, old: ClockSample) -> bool:
    drift_ns = abs(new.middle_ns - old.middle_ns) * MOST_PPB // SECOND_NS
    within_ns = (new.round_trip_ns + old.round_trip_ns + 1) // 2 + drift_ns + 1  # of rounding
    return abs(new.offset_ns - old.offset_ns) > within_ns
