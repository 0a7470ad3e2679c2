"""When the bursts of a job begin, as a byte counter shows it, while it counts.

What a burst is follows from the traffic itself: *peak* is the rate at which half of the bytes flow at most (so it does
not depend on how long the job computes), *floor* the rate that is exceeded 90 % of the time. A burst is on from where
the rate leaves the floor and goes on to 40 % of the way to the peak, until it has been below 20 % for some ms. So
slower traffic in the background does not matter.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .unwrap import BREAK

__all__ = ["Burst", "BurstDetector"]

_RISE, _ON, _OFF = 0.1, 0.4, 0.2
_LEAST_RATE = 125e3 / 1e9  # bytes per ns: what is below 1 Mbit/s is no job
_LEAST_CONTRAST = 0.3
_PIECES = 4096
_PIECE_NS = 3_500_000  # of four samples at 1 kHz, of one where samples are rare: levels look back 16 s and more
_LEVELS_NS = 500_000_000  # at first; later four times as long, since sorting so many pieces costs
_FADING = 0.97  # While a job computes for longer than the pieces last, it is not forgotten how fast it sends.
_REFRESHES = 128
_QUIET_NS = 4_000_000


@dataclass(frozen=True, slots=True)
class Burst:
    """A burst that has ended.

    Attributes
    ----------
    start_ns, end_ns : int
        On the clock of the samples.
    bytes : int
        What was counted in between.
    blur_ns : int
        The start lies within so many ns: the time between the two readings around it, or as long as the device lets
        its counter stand still.
    quiet_ns : int
        For so long before the start there was no traffic above the floor.
    """

    start_ns: int
    end_ns: int
    bytes: int
    blur_ns: int
    quiet_ns: int = 0


class BurstDetector:
    """Finds bursts in a stream of (time, total) samples.

    Attributes
    ----------
    peak, floor : float
        Bytes per ns.
    still_ns : int
        For so long the device lets its counter stand still while there is traffic; 0 of one that is live.

    Notes
    -----
    Some 1 µs a sample. Levels are known after half a second of samples with traffic; bursts before that are not seen.
    """

    def __init__(self) -> None:
        self.peak = self.floor = 0.0
        self.still_ns = 0
        self._pieces: deque[tuple[float, int]] = deque(maxlen=_PIECES)
        self._stills: deque[tuple[int, int]] = deque(maxlen=_REFRESHES)
        self._levels_due_ns = 0
        self._read_at: int | None = None
        self._forget()

    @property
    def distinct(self) -> bool:
        """Whether the traffic has bursts at all, as far as is known."""
        return self.peak >= _LEAST_RATE and self.peak - self.floor >= _LEAST_CONTRAST * self.peak

    def feed(self, now_ns: int, total: int) -> Burst | None:
        """Take one sample (``total`` may be ``MISSING`` or ``BREAK``); the burst that it ends, if one."""
        if total < 0:
            if total == BREAK:
                self._forget()
            return None
        if self._read_at is None:
            self._read_at = self._known_at = self._changed_at = self._piece_at = self._loud_ns = now_ns
            self._total = self._piece_total = total
            self._levels_due_ns = self._levels_due_ns or now_ns + _LEVELS_NS
            return None
        if now_ns <= self._read_at:
            return None  # Another reading of the same instant; what it gained comes with the next one.
        read_at, self._read_at = self._read_at, now_ns
        counted = total - self._total
        begin, end = self._known_at, now_ns
        if counted:
            self._stills.append((read_at - self._changed_at, counted))
            self._total, self._changed_at = total, now_ns
        elif self.still_ns:
            if now_ns - self._changed_at < 1.5 * (self.still_ns + now_ns - read_at):
                return None  # Not refreshed yet, or too soon to tell.
            end = max(begin, now_ns - self.still_ns)  # Since then it may have counted what it does not show yet.
            if end == begin:
                return None
        self._known_at = end
        if end - self._piece_at >= _PIECE_NS:
            self._end_piece(end)
        return self._judge(begin, end, counted) if self.distinct else None

    def _forget(self) -> None:
        """Start anew after a break: no rate may be taken across it."""
        self._read_at = None
        self._known_at = self._changed_at = self._loud_ns = 0  # What it counted is known up to the first.
        self._total = self._piece_at = self._piece_total = 0
        self._rising: tuple[int, int, int] | None = None  # of the reading before: start, total before it, blur
        self._begun: tuple[int, int, int] | None = None  # the same, of the burst that is on
        self._off_since: int | None = None

    def _judge(self, begin: int, end: int, counted: int) -> Burst | None:
        span = end - begin
        height = (counted / span - self.floor) / (self.peak - self.floor)
        if self._begun is None:
            before = self._rising
            # It began within this reading, as late as its bytes allow at the peak.
            late = int((1 - min(1.0, height)) * span)
            self._rising = (begin + late, self._total - counted, span) if height >= _RISE else None
            if height >= _ON:
                self._begun, self._off_since = before or self._rising, None
            elif before is not None:
                self._loud_ns = begin
            return None
        if height >= _OFF:
            self._off_since = None
            return None
        if self._off_since is None:
            # It ended within this reading: as much of it was on as its bytes took at the peak.
            self._off_since = begin + int(max(0.0, height) * span)
        if end - self._off_since < max(_QUIET_NS, 2.5 * self.still_ns):
            return None
        (start, total, blur), quiet_since = self._begun, self._loud_ns
        self._begun = self._rising = None
        self._loud_ns = self._off_since
        return Burst(start, self._off_since, self._total - total, blur, max(0, start - quiet_since))

    def _end_piece(self, end: int) -> None:
        counted = self._total - self._piece_total
        self._pieces.append((counted / (end - self._piece_at), counted))
        self._piece_at, self._piece_total = end, self._total
        if end >= self._levels_due_ns:
            self._levels_due_ns = end + (_LEVELS_NS if len(self._pieces) < _PIECES // 4 else 4 * _LEVELS_NS)
            pieces = sorted(self._pieces)
            self.floor = pieces[len(pieces) // 10][0]
            self.peak = max(_weighted_median(pieces), _FADING * self.peak)
            self.still_ns = int(_weighted_median(sorted(self._stills)))


def _weighted_median(pairs: list[tuple[float, int]] | list[tuple[int, int]]) -> float:
    """The value up to which half of the weight lies; ``pairs`` are (value, weight), by value."""
    half = sum(weight for _, weight in pairs) / 2
    for value, weight in pairs:
        half -= weight
        if half <= 0:
            return value
    return 0.0
