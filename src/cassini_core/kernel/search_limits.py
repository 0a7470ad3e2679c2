"""What a search may cost, and how finely its answer is judged."""

from __future__ import annotations

from dataclasses import dataclass

from .prepared_link import DEFAULT_MAX_EVENTS, DEFAULT_MAX_LEVELS

__all__ = ["Budget"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What one link and one cyclic block may cost, and how finely they are judged; see ``rank`` for each.

    ``centred``: jobs are moved to where slack grows, and it is known how large it is; else it is given as 0.
    """

    node_limit: int | None
    resolution_ms: float
    slack_tolerance: float
    block_node_limit: int | None = None
    max_events: int = DEFAULT_MAX_EVENTS
    max_levels: int = DEFAULT_MAX_LEVELS
    centred: bool = True
