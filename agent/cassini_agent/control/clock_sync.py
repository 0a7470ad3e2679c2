"""By how much a host's monotonic clock is ahead of the coordinator's, from requests and their answers.

A request leaves at ``sent_ns`` and its answer is back at ``received_ns`` on the coordinator's clock; in between the
host read ``host_ns``. The reading belongs to the middle, give or take half the round trip. So quick round trips tell
more than slow ones, and old ones less than new ones, since the clocks run apart meanwhile: where NTP or PTP keeps both,
by next to nothing, and else by some ten millionths.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..schedule import SECOND_NS

__all__ = ["ClockSample", "ClockTrack"]

USUAL_PPB = 50_000
"""Clocks that nobody keeps run apart by less, as a rule."""

MOST_PPB = 1_000_000
"""No two clocks run further apart: a quartz is within 500 ppm, and NTP slews by no more. What looks so is another boot
of the host, or a clock that was set."""

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

    def bound_ns(self, at_ns: int, drift_ppb: int) -> int:
        """How far the offset may be off at another time, where clocks run apart by so much."""
        return (self.received_ns - self.sent_ns + 1) // 2 + abs(at_ns - self.middle_ns) * drift_ppb // SECOND_NS


class ClockTrack:
    """The clock of one host: samples come in, the one that is known best now counts.

    Attributes
    ----------
    offset_ns : int or None
        Host's monotonic clock minus the coordinator's; None before the first sample.
    bound_ns : int
        How far it may be off at the last sample.
    """

    def __init__(self) -> None:
        self.offset_ns: int | None = None
        self.bound_ns = 0
        self._samples: deque[ClockSample] = deque(maxlen=KEPT)

    def add(self, sample: ClockSample) -> int:
        """Take a sample; the offset.

        A sample that no delays of the network and no drift of the clocks can explain is of another boot of the host (or
        of a step of the coordinator's clock): what was known before is forgotten.
        """
        if any(_contradict(sample, known) for known in self._samples):
            self._samples.clear()
        self._samples.append(sample)
        now_ns = sample.middle_ns
        best = min(self._samples, key=lambda one: one.bound_ns(now_ns, USUAL_PPB))
        self.offset_ns, self.bound_ns = best.offset_ns, best.bound_ns(now_ns, USUAL_PPB)
        return self.offset_ns


def _contradict(new: ClockSample, old: ClockSample) -> bool:
    within_ns = new.bound_ns(new.middle_ns, 0) + old.bound_ns(new.middle_ns, MOST_PPB) + 1  # of rounding
    return abs(new.offset_ns - old.offset_ns) > within_ns
