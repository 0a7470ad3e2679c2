"""What the callbacks of trainers have in common: an agent that was given, or that lives as long as the training."""

from __future__ import annotations

import logging
from typing import Any

from ..loop import Agent, connect

__all__ = ["CallbackBase"]

log = logging.getLogger("cassini_agent")


class CallbackBase:
    """Base of the callbacks.

    Parameters
    ----------
    agent : Agent, optional
        Default: connects, from the environment, when training begins.

    Attributes
    ----------
    agent : Agent or None
    summary : dict
        What the agent did, once training has ended.
    """

    def __init__(self, agent: Agent | None = None) -> None:
        self._given = agent
        self.agent: Agent | None = agent
        self.summary: dict[str, Any] = {}

    def _begin(self, rank: int, world_size: int) -> Agent:
        if self.agent is None:
            self.agent = connect(rank=rank, world_size=world_size)
        return self.agent

    def _attach(self, model: Any) -> None:
        """Mark the all-reduces of a DDP model; where it has a hook already, iterations are held without."""
        if self.agent is None:
            return
        try:
            from .ddp import attach

            attach(self.agent, model)
        except Exception as error:
            log.warning("the communication of the model is not marked: %s", error)

    def _interrupted(self) -> None:
        if self.agent is not None:
            self.agent.interrupted()

    def _end(self) -> None:
        """Keep the summary; close an agent that was made here."""
        if self.agent is None:
            return
        self.summary = self.agent.summary()
        if self._given is None:
            self.agent.close()
            self.agent = None
