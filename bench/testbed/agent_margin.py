"""What margin the agent would take for a task that is held in simulation: its own code, given the jitter simulated."""

from __future__ import annotations

import itertools

from cassini_agent.control.margin import cheapest_margin
from cassini_agent.coordinator.paces import loss_ns
from cassini_core import Job
from cassini_core.simulation.jitter import factors

__all__ = ["agent_margin"]

_SAMPLES = 256
"""Iterations that it has seen: less than a minute of most models."""

_NS = 1e6


def agent_margin(job: Job, reach_ms: float, jitter: str, share: float, seed: int = 0) -> float:
    """By which share of its iteration time a job is paced slower, once its jitter has been measured.

    Parameters
    ----------
    job : Job
        Alone.
    reach_ms : float
        How late it may be, above 0 (the slack of its shift), ms.
    jitter, share : str, float
        Of computing times, as in :class:`cassini_core.simulation.cluster.ClusterOptions`.
    seed : int

    Notes
    -----
    What interleaving gains is taken to be unknown, as it is to the simulation: the agent then reckons with a part of
    the iteration time.
    """
    computing_ms = job.iteration_ms - sum(phase.duration_ms for phase in job.phases)
    drawn = list(itertools.islice(factors(jitter, share, seed), _SAMPLES))
    mean = sum(drawn) / len(drawn)
    deviation_ns = [(one - mean) * computing_ms * _NS for one in drawn]
    loss = loss_ns(round(job.iteration_ms * _NS), 0)
    return cheapest_margin(deviation_ns, reach_ms * _NS, loss).margin_ns / _NS / job.iteration_ms
