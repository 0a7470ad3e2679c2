"""Where a job lies on its grid, and what it waits to stay there.

A job that has been on its grid is *moored*: if it comes early it waits for the grid point (pacing), if it comes late it
waits for nothing, because the margin of its pace brings it back. After a stall or a pause it is not known which grid
point would be its own, and it is let drift until its place is known. It is *lost* once the median of several starts
lies beyond the dead band and the pace will not soon bring it back.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..schedule import MS_NS, Schedule
from .phase import circular_median, lateness, wrap

__all__ = ["Mooring", "Place"]

CONFIRMING = 5
"""Starts whose median must be beyond the dead band: two that are elsewhere move nothing."""

RECOVERING = 10
"""Lateness that the pace makes good within so many iterations is left alone: to ask for help takes as long."""

QUICKER_SHARE = 8
"""A moored job may be early by this part of an iteration: further off it is not certain which grid point is its own."""

RETRIES = 3
"""Waits for the grid that were decided but not waited for (the decision came too late) are decided again so often."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the start that is decided about would be without a wait, all ns.

    Attributes
    ----------
    error_ns : int
        From the nearest grid point, negative is early.
    wait_ns : int
        To the next grid point, 0 to the pace, exclusive.
    band_ns : int
        The dead band.
    drift_ns : int
        By how much an unhindered iteration is shorter than the pace.
    quick_ns : int
        How early a moored job may come and wait for its grid point.
    """

    error_ns: int
    wait_ns: int
    band_ns: int
    drift_ns: int
    quick_ns: int

    @classmethod
    def of(cls, schedule: Schedule, start_ns: int, natural_ns: int) -> Place:
        """Of a start at ``start_ns`` by a job whose iterations now take ``natural_ns``."""
        late, pace = lateness(start_ns, schedule), schedule.pace_ns
        band, spare = schedule.dead_band_ns, pace - schedule.iteration_ns
        quick = spare + max(band, schedule.iteration_ns // QUICKER_SHARE)
        return cls(wrap(late, pace), -late % pace, band, max(0, pace - natural_ns), min(quick, pace // 2))

    def recoverable(self, late_ns: int) -> bool:
        """Whether the pace makes this lateness good soon, or there is none to speak of."""
        return late_ns <= self.band_ns + RECOVERING * self.drift_ns


class Mooring:
    """The state of a job on its grid.

    Attributes
    ----------
    lost_since_ns : int or None
        Since when the job is known to be beyond the dead band; None if it is not.
    aligning : bool
        Whether the job may wait for the grid at once, as it may after a schedule that moved the grid.
    moored : bool
        Whether it is known which grid point is the job's own.
    """

    def __init__(self) -> None:
        self.lost_since_ns: int | None = None
        self.aligning = True
        self.moored = False
        self._errors: deque[int] = deque(maxlen=CONFIRMING)
        self._retries = 0

    def align(self) -> None:
        """The grid has moved: forget where the job was, and let it wait for the grid once."""
        self.lost_since_ns, self.aligning, self.moored = None, True, False
        self._retries = 0
        self._errors.clear()

    def drop(self) -> None:
        """The job paused or stalled: it may be anywhere now."""
        self.moored = False
        self._errors.clear()

    def missed(self) -> None:
        """A wait for the grid was decided, and not waited for."""
        if self.moored and not self._errors and self._retries < RETRIES:
            self.aligning = True
            self._retries += 1

    def wait(self, place: Place) -> tuple[int, bool]:
        """What to wait, and whether that corrects a deviation rather than paces."""
        if self.aligning:
            self.aligning, self.moored = False, True
            if place.error_ns >= 0 and place.recoverable(place.error_ns):
                return 0, False
            self._errors.clear()
            return place.wait_ns, abs(place.error_ns) > place.band_ns
        early = -place.error_ns
        if not self.moored:
            self.moored = -place.band_ns <= early <= place.band_ns + place.drift_ns
        if self.moored and 0 < early <= place.quick_ns:
            return early, False
        return 0, False

    def jump(self, place: Place) -> int:
        """Wait for the next grid point, whatever the deviation; returns how long."""
        self.lost_since_ns, self.moored = None, True
        self._errors.clear()
        return place.wait_ns

    def started(self, error_ns: int, place: Place, now_ns: int, pace_ns: int) -> None:
        """A start was, or is going to be, ``error_ns`` off the grid."""
        self._errors.append(error_ns)
        if len(self._errors) < CONFIRMING:
            return
        middle = circular_median(self._errors, pace_ns)
        if abs(middle) <= place.band_ns:
            self.lost_since_ns = None
        elif middle < 0 or not place.recoverable(middle):
            self.moored = self.moored and self.lost_since_ns is None
            self.lost_since_ns = now_ns if self.lost_since_ns is None else self.lost_since_ns

    def note(self, pace_ns: int) -> str:
        """In words, where a lost job is."""
        if self.lost_since_ns is None or not self._errors:
            return ""
        middle = circular_median(self._errors, pace_ns)
        return f"starts are {abs(middle) / MS_NS:.1f} ms {'early' if middle < 0 else 'late'}"
