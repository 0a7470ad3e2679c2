"""The communication of an iteration as PyTorch's DistributedDataParallel does it, over gloo."""

# No postponed annotations: DDP looks at those of a hook, and wants the classes themselves.

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from cassini_agent import Agent
from cassini_agent.integrations.ddp import attach

__all__ = ["DdpExchange"]

AGREE_EVERY = 4
"""Iterations between two looks at whether the job is to end: a broadcast each time."""


class DdpExchange:
    """A model whose gradients have the wanted size; backward reduces them. The same calls as ``Exchange``.

    Parameters
    ----------
    options : mapping
        Of the worker: ``megabytes``, ``flows`` (process groups, each of which has connections of its own).
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        torch.set_num_threads(1)
        dist.init_process_group("gloo")
        self._model = DistributedDataParallel(_Model(round(options["megabytes"] * 1e6 / 4)), bucket_cap_mb=1000)
        self._groups = [dist.new_group([0, 1]) for _ in range(options["flows"])]
        self._last = torch.zeros(1)
        self._iteration = 0

    def attach(self, agent: Agent) -> None:
        """Let the agent see the reduction."""
        attach(agent, self._model, self._reduced)

    def warm_up(self) -> None:
        """Once outside the loop."""
        self._model(torch.ones(1)).backward()

    def part(self) -> None:
        """Wait until the other rank has ended too."""
        dist.barrier()

    def run(self, agent: Agent, last: bool) -> bool:
        """What a training loop does for its communication; whether it was the last iteration."""
        self._model.zero_grad(set_to_none=False)
        self._model(torch.ones(1)).backward()
        self._iteration += 1
        if dist.get_rank() == 0:
            self._last.fill_(float(last))
        if self._iteration % AGREE_EVERY == 0:
            dist.broadcast(self._last, 0)
            return bool(self._last.item())
        return False

    def _reduced(self, state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        parts = bucket.buffer().chunk(len(self._groups))
        futures = [
            dist.all_reduce(part, group=group, async_op=True).get_future()
            for part, group in zip(parts, self._groups, strict=True)
        ]
        return torch.futures.collect_all(futures).then(lambda _: bucket.buffer().div_(2))


class _Model(torch.nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.zeros(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.weights * x).sum()
