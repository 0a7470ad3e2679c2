"""When all ranks of a job may begin an iteration, decided by rank 0 while the one before is under way.

Not how long to wait is decided but until when: a rank that comes late, as its iteration took longer than usual, waits
less or nothing, and one that comes early waits more. Clocks of hosts differ; but all ranks leave the collective that
ends an iteration together, so from when each came to the next it follows how far its clock is ahead of rank 0's.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from statistics import median_low

__all__ = ["Follower", "Release"]

COMPARED = 9
"""Iterations whose median tells how far a clock is ahead: one rank that is late four times moves nothing."""


@dataclass(frozen=True, slots=True)
class Release:
    """What holds for one iteration, ns on the clock of rank 0.

    Attributes
    ----------
    reached_ns : int
        When the iteration before could begin: the end of the collective before it, which is the same for all ranks.
    until_ns : int
        The iteration begins no earlier.
    earliest_ns, latest_ns : int
        Only a rank that comes between these waits. One that comes earlier had an iteration that was too short to say
        which grid point is its own, one that comes later had a stall.
    """

    reached_ns: int
    until_ns: int
    earliest_ns: int
    latest_ns: int

    def ahead(self, by_ns: int, pace_ns: int) -> Release:
        """For hosts that come to an iteration by so much earlier than their GPUs; no wait gets as long as a pace."""
        return replace(self, earliest_ns=max(self.earliest_ns - by_ns, self.until_ns - pace_ns + 1))

    @classmethod
    def at_once(cls, reached_ns: int) -> Release:
        """Nobody waits."""
        return cls(reached_ns, reached_ns, reached_ns, reached_ns)

    def wait_ns(self, now_ns: int) -> int:
        """What a rank waits that comes at ``now_ns``: at most ``until_ns - earliest_ns``."""
        return max(0, self.until_ns - now_ns) if self.earliest_ns <= now_ns <= self.latest_ns else 0


class Follower:
    """A rank that does what rank 0 has decided, on its own clock.

    Parameters
    ----------
    decides : bool
        Whether it is rank 0 itself, whose clock it is.
    """

    def __init__(self, decides: bool = False) -> None:
        self._decides = decides
        self._came: tuple[int, int] | None = None  # to which iteration, and when
        self._ahead_ns: deque[int] = deque(maxlen=COMPARED)

    def wait_ns(self, iteration: int, release: Release | None, now_ns: int) -> int:
        """What this rank waits now, as it comes to an iteration; each is asked for once, in order.

        Parameters
        ----------
        iteration, now_ns : int
            Its number, and the time on this rank's own clock.
        release : Release or None
            For this iteration; None if it has not come in time.
        """
        came, self._came = self._came, (iteration, now_ns)
        if release is None or came is None or came[0] != iteration - 1:
            return 0
        # A host that runs ahead of its GPU came too early, and so waits too little: rank 0 then holds the job alone.
        self._ahead_ns.append(0 if self._decides else came[1] - release.reached_ns)
        return release.wait_ns(now_ns - median_low(self._ahead_ns))

    def interrupted(self) -> None:
        """The loop pauses: what was decided before is not waited for after it."""
        self._came = None
