"""Where a job lies on its grid, and what it waits to stay there.

A job that has been on its grid is *locked*: if it comes early it waits for the grid point (pacing), if it comes late it
waits for nothing, because the headroom of its pace brings it back. After a stall or a pause it is not known which grid
point would be its own, and it is let drift until its place is known. It is *lost* once two starts in a row lie beyond
the dead band and the pace will not soon bring it back, or one start far beyond, or so late that it meets others: how
late a start is follows from the one before alone, so one tells where the job is, and the second that it was no chance.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..schedule import MS_NS, Schedule
from .phase import late_reach_ns, lateness, wrap

__all__ = ["PhaseLock", "Place"]

CONFIRMING = 2
"""Starts in a row that must be beyond the dead band: every other one may be, in a job whose iterations alternate."""

FAR = 2
"""One start is enough that is so many times later than the pace makes good, or early beyond the dead band."""

MET = 2
"""And one that is later than the hold allows by more than the pace makes good in so many iterations. It meets others:
all get later together, so no pace brings it back to where it is clear of them."""

RECOVERING = 10
"""Lateness that the pace makes good within so many iterations is left alone: to ask for help takes as long."""

QUICKER_SHARE = 8
"""A locked job that has been late may be early by this part of an iteration: further off it is not certain which grid
point is its own."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a start would be without a wait, all ns.

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
        How early a locked job may come and wait for its grid point.
    reach_ns : int
        How late it may start without meeting others.
    """

    error_ns: int
    wait_ns: int
    band_ns: int
    drift_ns: int
    quick_ns: int
    reach_ns: int

    @classmethod
    def of(cls, schedule: Schedule, start_ns: int, natural_ns: int) -> Place:
        """Of a start at ``start_ns`` by a job whose iterations now take ``natural_ns``."""
        late, pace = lateness(start_ns, schedule), schedule.pace_ns
        band, spare = schedule.dead_band_ns, pace - schedule.iteration_ns
        quick = spare + max(band, schedule.iteration_ns // QUICKER_SHARE)
        drift = max(0, pace - natural_ns)
        return cls(wrap(late, pace), -late % pace, band, drift, min(quick, pace // 2), late_reach_ns(schedule.hold_ns))

    def recoverable(self, late_ns: int) -> bool:
        """Whether the pace makes this lateness good soon, or there is none to speak of."""
        return late_ns <= self.band_ns + RECOVERING * self.drift_ns

    def meets_others(self, late_ns: int) -> bool:
        """Whether a job that is so late is in the way of others, and stays there."""
        return late_ns > max(self.band_ns, self.reach_ns) + MET * self.drift_ns


class PhaseLock:
    """The state of a job on its grid.

    Attributes
    ----------
    lost_since_ns : int or None
        Since when the job is known to be out of its place; None if it is not.
    locked : bool
        Whether it is known which grid point is the job's own.
    on_point : bool
        Whether the last start that is known was on a grid point.
    """

    def __init__(self) -> None:
        self.lost_since_ns: int | None = None
        self.locked = False
        self._aligning = True  # the next start may wait for the grid
        self._beyond = self._within = 0  # starts in a row
        self._error_ns: int | None = None  # of the last start since the grid was waited for
        self.on_point = False

    @property
    def is_unsure(self) -> bool:
        """Whether the job may have to wait at its next start for more than its pace asks for."""
        return self._aligning or self.strayed

    @property
    def aligns(self) -> bool:
        """Whether the grid has moved since the last decision: the next start may wait for it."""
        return self._aligning

    @property
    def strayed(self) -> bool:
        """Whether the last start was out of place, which need not be known for certain yet."""
        return self.lost_since_ns is not None or self._beyond > 0

    def align(self) -> None:
        """The grid has moved: forget where the job was, and let it wait for the grid once."""
        self.lost_since_ns, self.locked, self._aligning = None, False, True
        self._forget()

    def drop(self) -> None:
        """The job paused or stalled: it may be anywhere now."""
        self.locked = self.on_point = False
        self._forget()

    def wait(self, place: Place, now_ns: int, most_ns: int, may_be_early: bool) -> tuple[int, bool]:
        """What to wait, and whether that corrects a deviation rather than paces.

        A job that may not wait so long for its grid as a correction takes is lost, and others may come to its help.
        ``may_be_early``: the iteration was shorter than a pace; after one that was longer, a job that began it on a
        grid point is late, by however much.
        """
        if self._aligning:
            self._aligning, self.locked = False, True
            late = place.error_ns
            if late >= 0 and place.recoverable(late) and not place.meets_others(late):
                return 0, False
            self._forget()
            if -place.band_ns <= place.error_ns <= place.band_ns or place.wait_ns <= most_ns:
                return place.wait_ns, abs(place.error_ns) > place.band_ns
            self.locked, self.lost_since_ns = False, now_ns
            return 0, False
        early = -place.error_ns
        if not self.locked:
            self.locked = -place.band_ns <= early <= place.band_ns + place.drift_ns
        # After a start on its own grid point the next one is certain, however short the iteration was.
        if self.locked and early > 0 and ((self.on_point and may_be_early) or early <= place.quick_ns):
            return early, False
        return 0, False

    def began(self, error_ns: int, place: Place) -> None:
        """A start was, or is going to be, ``error_ns`` off the grid: it says of the next one which point is its own."""
        self.on_point = abs(error_ns) <= place.band_ns

    def jump(self, place: Place) -> int:
        """Wait for the next grid point, whatever the deviation; returns how long."""
        self.lost_since_ns, self.locked = None, True
        self._forget()
        return place.wait_ns

    def started(self, error_ns: int, place: Place, now_ns: int) -> None:
        """A start was, or is going to be, ``error_ns`` off the grid."""
        self._error_ns = error_ns
        is_within = abs(error_ns) <= place.band_ns
        is_met = place.meets_others(error_ns)
        is_beyond = not is_within and (error_ns < 0 or is_met or not place.recoverable(error_ns))
        is_far = is_beyond and (error_ns < 0 or is_met or not place.recoverable(error_ns // FAR))
        self._within = self._within + 1 if is_within else 0
        self._beyond = self._beyond + 1 if is_beyond else 0
        if self._within >= CONFIRMING:
            self.lost_since_ns = None
        elif (is_far or self._beyond >= CONFIRMING) and self.lost_since_ns is None:
            self.lost_since_ns = now_ns
        elif self.lost_since_ns is not None:
            self.locked = False

    def note(self) -> str:
        """In words, where a lost job is."""
        if self.lost_since_ns is None or self._error_ns is None:
            return ""
        return f"starts are {abs(self._error_ns) / MS_NS:.1f} ms {'early' if self._error_ns < 0 else 'late'}"

    def _forget(self) -> None:
        self._beyond = self._within = 0
        self._error_ns = None
