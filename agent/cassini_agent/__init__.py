"""The agent: applies the time-shifts of a ranking to training jobs, keeps them, and measures whether they stay.

In the training loop::

    agent = cassini_agent.connect()
    for batch in data:
        agent.iteration()
        ...
        with agent.communication():
            ...

Importing this package costs a training process nothing but a few modules that need the standard library alone.
``docs/agent.md`` has the parts and the formats between them.
"""

from .loop import Agent, connect

__all__ = ["Agent", "connect"]
