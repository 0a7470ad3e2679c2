"""PyTorch DistributedDataParallel: the agent sees the all-reduces through a communication hook."""

# No postponed annotations: DDP looks at those of a hook, and wants the classes themselves.
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from ..loop import Agent

__all__ = ["attach", "communication_hook"]

Hook = Callable[[Any, dist.GradBucket], torch.futures.Future[torch.Tensor]]


def attach(agent: Agent, model: DistributedDataParallel, hook: Hook = default_hooks.allreduce_hook) -> None:
    """Let the agent see when the gradients of ``model`` are reduced.

    Parameters
    ----------
    agent : Agent
        From :func:`cassini_agent.connect`.
    model : DistributedDataParallel
        Takes one hook in its life.
    hook : callable, optional
        What reduces a bucket: DDP's own all-reduce, or any other communication hook that takes the process group (or
        None) as its state.

    Raises
    ------
    RuntimeError
        The model has a hook already. With an agent that is switched off nothing is registered.
    """
    if agent.is_off:
        return
    model.register_comm_hook(None, communication_hook(agent, hook))


def communication_hook(agent: Agent, hook: Hook = default_hooks.allreduce_hook) -> Hook:
    """Wrap a communication hook so that where the communication of an iteration begins and ends is marked.

    Gradient accumulation needs no care: DDP calls no hook inside ``no_sync``. The end is marked where the last bucket's
    future completes, on the stream of its callback.
    """

    def marked(state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        agent.communication_started()
        future = hook(state, bucket)
        if not bucket.is_last():
            return future

        def completed(done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
            agent.communication_ended()
            return done.value()

        return future.then(completed)

    return marked
