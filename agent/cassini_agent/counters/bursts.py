"""When the bursts of a job begin, as a byte counter shows it, while it counts.

What a burst is follows from the traffic itself: *peak* is the rate at which half of the bytes flow at most (so it does
not depend on how long the job computes), *floor* the rate that is exceeded 90 % of the time. A burst is on from where
the rate leaves the floor and goes on to 40 % of the way to the peak, until it has been below 20 % for some ms. Slower
traffic in the background does not matter, and short bursts of others are far smaller than the job's.
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
_FEWEST_PIECES = 24
_REFRESHES = 128
_PEAK_HALF_LIFE_NS = 60e9
_RISE_NS = 5_000_000
_QUIET_NS = 4_000_000
_SMALL = 0.1  # of the usual bytes of a burst


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

    Parameters
    ----------
    interval_ns : int
        Usual time between samples.

    Notes
    -----
    Some 1 µs a sample. Levels are known after half a second of samples with traffic; bursts before that are not
    seen. A counter that the device refreshes only now and then is noticed: :attr:`refresh_ns`.
    """

    def __init__(self, interval_ns: int = 1_000_000) -> None:
        self._interval_ns = interval_ns
        self.peak = self.floor = 0.0
        self.refresh_ns = interval_ns
        self._pieces: deque[tuple[float, int]] = deque(maxlen=_PIECES)
        self._stale_ns = 0
        self._refreshes: deque[tuple[int, int]] = deque(maxlen=_REFRESHES)
        self._stales: deque[tuple[int, int]] = deque(maxlen=_REFRESHES)
        self._volumes: deque[int] = deque(maxlen=32)
        self._levels_ns = self._levels_due_ns = 0
        self._at: int | None = None
        self._off_since: int | None = None
        self._rise: tuple[int, int, int] | None = None  # start, bytes since, blur
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
        if self._at is None:
            self._at = self._read_at = self._changed_at = self._loud_ns = now_ns
            self._total = total
            self._piece_at, self._piece_total = now_ns, total
            self._levels_due_ns = self._levels_due_ns or now_ns + _LEVELS_NS
            return None
        if now_ns <= self._read_at:
            return None  # Another reading of the same instant; what it gained comes with the next one.
        span, counted = now_ns - self._at, total - self._total
        read_at, self._read_at = self._read_at, now_ns
        if counted == 0 and span < 1.5 * self.refresh_ns:
            return None  # Not refreshed yet, or too soon to tell; a live counter is due at every sample.
        if counted:
            self._refreshes.append((now_ns - self._changed_at, counted))
            self._stales.append((read_at - self._changed_at, counted))
            self._changed_at = now_ns
        # A live counter that showed nothing at the last reading had nothing until then.
        begin = read_at if counted and not self._stale_ns else self._at
        self._at, self._total = now_ns, total
        if now_ns - self._piece_at >= _PIECE_NS:
            self._end_piece(now_ns, total)
        blur = max(now_ns - begin, now_ns - read_at + self._stale_ns)
        return self._judge(begin, now_ns, counted, blur) if self.distinct else None

    def _forget(self) -> None:
        """Start anew after a break: no rate may be taken across it."""
        self._at = None
        self._total = self._read_at = self._changed_at = self._loud_ns = 0
        self._piece_at = self._piece_total = 0
        self._on = False
        self._rise = None
        self._off_since = None
        self._start = self._bytes = self._blur = self._quiet = 0

    def _judge(self, begin: int, now_ns: int, counted: int, blur: int) -> Burst | None:
        swing, span = self.peak - self.floor, now_ns - begin
        height = (counted / span - self.floor) / swing
        if not self._on:
            self._before(begin, now_ns, counted, height, blur)
            return None
        self._bytes += counted
        if height >= _OFF:
            self._off_since = None
            return None
        if self._off_since is None:
            # The burst ended within this reading: as much of it was on as its bytes took at the peak.
            self._off_since = begin + int(max(0.0, height) * span)
        if now_ns - self._off_since < max(_QUIET_NS, 2.5 * self.refresh_ns):
            return None
        return self._finish(self._off_since)

    def _before(self, begin: int, now_ns: int, counted: int, height: float, blur: int) -> None:
        if height < _RISE:
            if self._rise is not None:
                self._rise, self._loud_ns = None, begin
            return
        # Counted from the reading that showed it: that one may have been long.
        if self._rise is None or begin - self._rise[0] - self._rise[2] > _RISE_NS:
            # It began within this reading, as late as its bytes allow at the peak.
            late = int((1 - min(1.0, height)) * (now_ns - begin))
            if self._rise is not None:
                self._loud_ns = begin
            self._rise = (begin + late, 0, blur)
        start, volume, blur = self._rise
        self._rise = (start, volume + counted, blur)
        if height >= _ON:
            self._on, self._off_since = True, None
            self._start, self._bytes, self._blur = self._rise
            self._quiet = max(0, self._start - self._loud_ns)
            self._rise = None

    def _finish(self, end_ns: int) -> Burst | None:
        self._on, self._off_since = False, None
        self._loud_ns = end_ns
        self._volumes.append(self._bytes)
        usual = sorted(self._volumes)[len(self._volumes) * 3 // 4]
        if self._bytes < _SMALL * usual:
            return None
        return Burst(self._start, end_ns, self._bytes, self._blur, self._quiet)

    def _end_piece(self, now_ns: int, total: int) -> None:
        span, counted = now_ns - self._piece_at, total - self._piece_total
        self._piece_at, self._piece_total = now_ns, total
        self._pieces.append((counted / span, counted))
        if now_ns >= self._levels_due_ns and len(self._pieces) >= _FEWEST_PIECES:
            self._levels_due_ns = now_ns + (_LEVELS_NS if len(self._pieces) < _PIECES // 4 else 4 * _LEVELS_NS)
            self._find_levels(now_ns)

    def _find_levels(self, now_ns: int) -> None:
        pieces = sorted(self._pieces)
        self.floor = pieces[len(pieces) // 10][0]
        # While a job computes for longer than the window, it must not be forgotten how fast it sends.
        kept = self.peak * 0.5 ** ((now_ns - self._levels_ns) / _PEAK_HALF_LIFE_NS) if self._levels_ns else 0.0
        self.peak = max(_weighted_median(pieces), kept)
        self._levels_ns = now_ns
        self.refresh_ns = max(self._interval_ns, int(_weighted_median(sorted(self._refreshes))))
        self._stale_ns = int(_weighted_median(sorted(self._stales)))


def _weighted_median(pairs: list[tuple[float, int]] | list[tuple[int, int]]) -> float:
    """The value up to which half of the weight lies; ``pairs`` are (value, weight), by value."""
    half = sum(weight for _, weight in pairs) / 2
    for value, weight in pairs:
        half -= weight
        if half <= 0:
            return value
    return 0.0
