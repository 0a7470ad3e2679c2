"""A link that bursts share: fluid, without packets or a queue; rates change at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .events import Events

__all__ = ["Burst", "Link", "Newcomer"]


@dataclass(frozen=True, slots=True)
class Newcomer:
    """What one FIFO queue for all gives to a burst that begins, beside those that are under way.

    Attributes
    ----------
    weight : float
        It gets as much as so many of the others,
    lasts_ms : float
        for so long; then as much as each.
    """

    weight: float
    lasts_ms: float


@dataclass(slots=True, eq=False)
class Burst:
    """Something that is being sent: what is left of it, ms at line rate, and until when it is a newcomer."""

    left_ms: float
    new_until_ms: float
    done: Callable[[], None]


class Link:
    """One direction of a link.

    Parameters
    ----------
    events : Events
    newcomer : Newcomer, optional
        Without, all that is sent gets an equal share at any time.
    """

    def __init__(self, events: Events, newcomer: Newcomer | None = None) -> None:
        self._events = events
        self._newcomer = newcomer or Newcomer(1.0, 0.0)
        self._sending: list[Burst] = []
        self._at_ms = 0.0
        self._plan = 0

    def send(self, size_ms: float, done: Callable[[], None], begun_ms: float | None = None) -> Burst:
        """Begin to send; ``done`` is called at the end.

        Parameters
        ----------
        size_ms : float
            What it takes at line rate.
        done : callable
        begun_ms : float, optional
            When that which this goes on with began; now, if it is nothing.
        """
        begun_ms = self._events.now_ms if begun_ms is None else begun_ms
        burst = Burst(size_ms, begun_ms + self._newcomer.lasts_ms, done)
        self.resume(burst)
        return burst

    def halt(self, burst: Burst) -> None:
        """Send no more of it, until it is resumed."""
        self._advance()
        self._sending.remove(burst)
        self._look_ahead()

    def resume(self, burst: Burst) -> None:
        """Go on with one that was halted."""
        self._advance()
        self._sending.append(burst)
        self._look_ahead()

    def _weight(self, burst: Burst) -> float:
        """From the time up to which all was sent, until the next plan."""
        return self._newcomer.weight if self._at_ms < burst.new_until_ms else 1.0

    def _advance(self) -> None:
        passed_ms = self._events.now_ms - self._at_ms
        if self._sending and passed_ms > 0:
            weights = [self._weight(burst) for burst in self._sending]
            for burst, weight in zip(self._sending, weights, strict=True):
                burst.left_ms -= passed_ms * weight / sum(weights)
        self._at_ms = self._events.now_ms

    def _look_ahead(self) -> None:
        """Plan for when a burst will have been sent, or is no newcomer any more, if nothing changes before."""
        self._plan += 1
        if not self._sending:
            return
        total = sum(map(self._weight, self._sending))
        first = min(self._sending, key=lambda burst: burst.left_ms / self._weight(burst))
        sent_ms = self._at_ms + max(0.0, first.left_ms) * total / self._weight(first)
        changes_ms = min(
            (burst.new_until_ms for burst in self._sending if burst.new_until_ms > self._at_ms), default=float("inf")
        )
        if changes_ms < sent_ms:
            self._events.at(changes_ms, lambda plan=self._plan: self._wake(plan, None))
        else:
            self._events.at(sent_ms, lambda plan=self._plan: self._wake(plan, first))

    def _wake(self, plan: int, sent: Burst | None) -> None:
        if plan != self._plan:
            return  # something has changed since
        self._advance()
        if sent is not None:
            self._sending.remove(sent)
        self._look_ahead()
        if sent is not None:
            sent.done()
