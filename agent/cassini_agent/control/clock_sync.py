"""Offset and rate of a host's monotonic clock against the coordinator's, from requests and their answers.

A request leaves at ``sent_ns`` and its answer is back at ``received_ns`` on the coordinator's clock; in between the
host read ``host_ns``. The reading belongs to the middle, give or take half the round trip: that half is the bound of
the error, and it is reached if one of the ways takes all the time. So only the quickest round trips count, and a line
through them gives offset and rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ..schedule import SECOND_NS

__all__ = ["ClockMapping", "ClockSample", "ClockTrack", "fit"]

MAX_RATE_PPB = 500_000
"""No quartz is further off, and NTP slews no faster; what looks so is noise, or another boot."""

MIN_SPAN_NS = 10 * SECOND_NS
"""Over less time no rate is fitted: 0.1 ms of noise would be 10 ppm."""

ROUNDING_NS = 3
"""Of two offsets and half round trips."""

KEPT = 64
"""Samples in a track."""

QUICKEST_SHARE = 4  # a quarter of the samples, the quickest, are used


@dataclass(frozen=True, slots=True)
class ClockMapping:
    """``monotonic = coordinator + offset + rate_ppb * (coordinator - reference) / 1e9``, whole nanoseconds."""

    offset_ns: int
    rate_ppb: int
    reference_ns: int

    def to_host(self, coordinator_ns: int) -> int:
        """When it is ``coordinator_ns`` at the coordinator, the host's monotonic clock shows this."""
        drift = self.rate_ppb * (coordinator_ns - self.reference_ns)
        return coordinator_ns + self.offset_ns + _divided(drift, SECOND_NS)

    def to_coordinator(self, host_ns: int) -> int:
        """The other way; to a nanosecond."""
        ahead = host_ns - self.offset_ns - self.reference_ns
        return self.reference_ns + _divided(ahead * SECOND_NS, SECOND_NS + self.rate_ppb)


@dataclass(frozen=True, slots=True)
class ClockSample:
    """One request: coordinator's clock when it left and when the answer came, host's monotonic clock in between."""

    sent_ns: int
    host_ns: int
    received_ns: int

    @property
    def round_trip_ns(self) -> int:
        return self.received_ns - self.sent_ns

    @property
    def middle_ns(self) -> int:
        return (self.sent_ns + self.received_ns) // 2

    @property
    def offset_ns(self) -> int:
        """Host's clock minus the coordinator's, to within half the round trip."""
        return self.host_ns - self.middle_ns


def fit(samples: Sequence[ClockSample], *, rate_ppb: int = 0) -> tuple[ClockMapping, int]:
    """A mapping through the quickest of the samples, and how far it may be off now, in ns.

    Parameters
    ----------
    samples : sequence of ClockSample
        Of one boot of the host, in the order they were taken.
    rate_ppb : int
        Used while the samples span too little time to tell the rate.

    Raises
    ------
    ValueError
        No samples, or one that came back before it was sent.

    Notes
    -----
    Theil and Sen: the rate is the median of the slopes between all pairs, the offset the median of what is left. Up to
    29 % of the samples may be arbitrarily wrong. O(n^2) in the samples used, at most 16 of a track. The bound is half
    the quickest round trip and the largest distance of a used sample from the line.
    """
    if not samples:
        raise ValueError("fit: expected samples, got none")
    if late := [sample for sample in samples if sample.round_trip_ns < 0]:
        raise ValueError(f"fit: expected answers after their requests, got {late[0]}")
    used = _quickest(samples)
    reference = samples[-1].middle_ns
    points = [(sample.middle_ns - reference, sample.offset_ns) for sample in used]
    slopes = [
        (later[1] - earlier[1]) * SECOND_NS // (later[0] - earlier[0])
        for i, earlier in enumerate(points)
        for later in points[i + 1 :]
        if later[0] - earlier[0] >= MIN_SPAN_NS
    ]
    rate = max(-MAX_RATE_PPB, min(MAX_RATE_PPB, round(median(slopes)))) if slopes else rate_ppb
    left = [offset - _divided(rate * at, SECOND_NS) for at, offset in points]
    offset = round(median(left))
    bound = min(sample.round_trip_ns for sample in used) // 2 + max(abs(each - offset) for each in left)
    return ClockMapping(offset, rate, reference), bound


class ClockTrack:
    """The clock of one host: samples come in, the mapping is what they say together.

    Attributes
    ----------
    mapping : ClockMapping or None
        None before the first sample.
    bound_ns : int
        How far it may be off at the last sample.
    """

    def __init__(self) -> None:
        self.mapping: ClockMapping | None = None
        self.bound_ns = 0
        self._samples: list[ClockSample] = []

    def add(self, sample: ClockSample) -> ClockMapping:
        """Take a sample; O(64 log 64).

        A sample that no delays of the network and no drift of the clocks can explain is of another boot of the host (or
        of a step of the coordinator's clock): what was known before is forgotten.
        """
        if self._is_another_boot(sample):
            self._samples.clear()
            self.mapping = None
        self._samples = [*self._samples[-(KEPT - 1) :], sample]
        rate = self.mapping.rate_ppb if self.mapping is not None else 0
        self.mapping, self.bound_ns = fit(self._samples, rate_ppb=rate)
        return self.mapping

    def _is_another_boot(self, sample: ClockSample) -> bool:
        """Whether the clocks would have had to run apart faster than they can since one of the samples."""
        return any(
            abs(sample.offset_ns - known.offset_ns)
            > (sample.round_trip_ns + known.round_trip_ns) // 2
            + abs(sample.middle_ns - known.middle_ns) * MAX_RATE_PPB // SECOND_NS
            + ROUNDING_NS
            for known in self._samples
        )


def _quickest(samples: Sequence[ClockSample]) -> list[ClockSample]:
    """The quickest quarter of the older and of the newer half each, so that they span the time; all of a few."""
    if len(samples) <= QUICKEST_SHARE:
        return list(samples)
    half = len(samples) // 2
    chosen = []
    for part in (samples[:half], samples[half:]):
        count = -(-len(part) // QUICKEST_SHARE)
        chosen += sorted(part, key=lambda sample: sample.round_trip_ns)[:count]
    return sorted(chosen, key=lambda sample: sample.sent_ns)


def _divided(numerator: int, denominator: int) -> int:
    """To the nearest whole number."""
    return (2 * numerator + denominator) // (2 * denominator)
