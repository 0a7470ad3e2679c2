"""What a search may cost, and how finely its answer is judged."""

from __future__ import annotations

from dataclasses import dataclass

from . import _kernel
from .prepared_link import (
    DEFAULT_MAX_EVENTS,
    DEFAULT_MAX_LEVELS,
    DEFAULT_RESOLUTION_MS,
    DEFAULT_SLACK_TOLERANCE,
    kernel_options,
)

__all__ = ["SearchLimits"]


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What each link and each cyclic block may cost, and how finely they are judged. Can be pickled.

    Attributes
    ----------
    node_limit, block_node_limit : int or None
        Search nodes of one link and of one block; None for no limit.
    resolution_ms : float
        How precisely a shift can be held, ms (F1b).
    slack_tolerance : float
        How much a link's score may drop within slack and hold (F5).
    max_events, max_levels : int
        The limits of folding (F1): beyond them a score is known within an interval only.
    with_slack : bool
        Slack is asked for: shifts are moved to where it grows. Else slack and hold are given as 0.
    """

    node_limit: int | None
    resolution_ms: float = DEFAULT_RESOLUTION_MS
    slack_tolerance: float = DEFAULT_SLACK_TOLERANCE
    block_node_limit: int | None = None
    max_events: int = DEFAULT_MAX_EVENTS
    max_levels: int = DEFAULT_MAX_LEVELS
    with_slack: bool = True

    def options(self, deadline_s: float | None = None) -> _kernel.Options:
        """The kernel's options, without a node limit; :class:`InputError` where one is out of range."""
        return kernel_options(self.resolution_ms, self.slack_tolerance, deadline_s, self.max_events, self.max_levels)
