"""What is measured, but for how the jobs are started: the network, its queues, and the jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .topology import DUMBBELL, Topology

__all__ = ["FULL", "LIGHT", "Setting", "Size"]


@dataclass(frozen=True)
class Size:
    """An iteration: compute in ms, then bytes each way in MB."""

    name: str
    compute_ms: float
    megabytes: float


FULL = Size("", 230.0, 8.4)
"""Two of these fill 85 % of a bottleneck of 400 Mbit/s: some 400 ms alone, 170 of it communication."""

LIGHT = Size("light jobs", 300.0, 5.6)
"""Three of these fill 83 %."""


@dataclass(frozen=True)
class Setting:
    """Runs of one setting have one iteration time alone.

    Attributes
    ----------
    topology : Topology
    jobs : str
        Letters of the topology's jobs that run.
    flows : int
        Sockets of a job.
    per_job : bool
        A queue for each job before a bottleneck, or one for all.
    congestion : str
        ``cubic`` or ``reno``.
    jitter : float
        Standard deviation of a rank's compute phase, as a share of it.
    size : Size
        Of all jobs.
    traffic : str
        ``plain`` sockets, or ``ddp``: PyTorch's, over gloo.
    """

    topology: Topology = DUMBBELL
    jobs: str = "ab"
    flows: int = 8
    per_job: bool = False
    congestion: str = "cubic"
    jitter: float = 0.0
    size: Size = FULL
    traffic: str = "plain"

    @property
    def name(self) -> str:
        """What tells it from the others."""
        queue = "a queue per job" if self.per_job else "FIFO"
        flows = f"{self.flows} flow{'s' if self.flows > 1 else ''}"
        words = [self.topology.name, queue, flows, self.congestion, f"{self.jitter:.0%} jitter", self.size.name]
        return ", ".join([*filter(None, words), *(["DDP"] if self.traffic == "ddp" else [])])

    def options(self) -> dict[str, Any]:
        """For the worker."""
        return {
            "flows": self.flows,
            "congestion": self.congestion,
            "jitter": self.jitter,
            "compute_ms": self.size.compute_ms,
            "megabytes": self.size.megabytes,
            "traffic": self.traffic,
        }
