"""PyTorch DistributedDataParallel: the agent sees the all-reduces through a communication hook."""

# No postponed annotations: DDP looks at those of a hook, and wants the classes themselves.
import logging
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from ..loop import Agent

__all__ = ["attach"]

log = logging.getLogger("cassini_agent")

Hook = Callable[[Any, dist.GradBucket], torch.futures.Future[torch.Tensor]]

_BUILT_IN = {
    dist.BuiltinCommHookType.ALLREDUCE: default_hooks.allreduce_hook,
    dist.BuiltinCommHookType.FP16_COMPRESS: default_hooks.fp16_compress_hook,
}


def attach(agent: Agent, model: DistributedDataParallel, hook: Hook | None = None, state: Any = None) -> bool:
    """Let the agent see when the gradients of ``model`` are reduced.

    DDP takes one communication hook in its life. A model that has one keeps it, and its communication is not marked:
    iterations are held without. To have both, give the hook here, or to ``model.register_comm_hook`` after this call.

    Parameters
    ----------
    agent : Agent
        From :func:`cassini_agent.connect`.
    model : DistributedDataParallel
        Without a hook, or it is left alone.
    hook : callable, optional
        What reduces a bucket: PowerSGD, one that compresses, or the job's own. Registered whatever becomes of the
        agent, because all ranks must have the same. Default: DDP's own all-reduce.
    state : object, optional
        Of ``hook``: what it gets as its first argument.

    Returns
    -------
    bool
        Whether communication is marked. Why not is logged, but for an agent that is switched off.

    Raises
    ------
    Exception
        What ``model.register_comm_hook(state, hook)`` raises, and only where a hook is given.
    """
    why_not = "" if agent.is_off else _why_not(model)
    if agent.is_off or why_not:
        if hook is not None:
            model.register_comm_hook(state, hook)
        if why_not:
            log.warning("the communication of the model is not marked: %s", why_not)
        return False
    if hook is not None:
        model._check_comm_hook(hook)  # else only ranks without marks would find out
        model.register_comm_hook(state, _Marked(agent, hook))
        return True
    had = list(model._comm_hooks)
    marked = _Marked(agent, default_hooks.allreduce_hook, model.process_group)
    try:
        DistributedDataParallel.register_comm_hook(model, None, marked)
    except RuntimeError:
        model._comm_hooks[:] = had  # DDP enters a hook before it finds that there is another
        log.warning("the communication of the model is not marked: %s", HAS_ONE)
        return False
    later = _Later(model, marked)
    model.register_comm_hook, model._register_builtin_comm_hook = later, later.built_in
    return True


HAS_ONE = "it has a communication hook already; attach(agent, model, hook, state) registers one with marks"


def _why_not(model: Any) -> str:
    """Why no marked hook can be registered, as far as that can be seen before; empty if nothing is in the way."""
    if not isinstance(model, DistributedDataParallel):
        return f"expected a DistributedDataParallel, got {type(model).__name__}"
    if getattr(model, "_use_python_reducer", False):
        return "DDP's Python reducer is in use, which calls hooks with other arguments"
    return ""


class _Marked:
    """A hook that marks where the communication of an iteration begins and ends.

    Gradient accumulation needs no care: DDP calls no hook inside ``no_sync``. The end is marked where the last bucket's
    future completes, on the stream of its callback. A class, as an agent can be neither copied nor pickled: with a DDP
    model the hook is copied and pickled as the one it wraps.
    """

    def __init__(self, agent: Agent, hook: Hook, *states: Any) -> None:
        self._agent = agent
        self._hook = hook
        self._states = states  # the hook's own, where DDP has another: a process group cannot be saved with the model
        # DDP asks for both, and some hooks by name what the hardware must be.
        self.__name__ = getattr(hook, "__name__", type(hook).__name__)
        self.__qualname__ = getattr(hook, "__qualname__", self.__name__)

    def __call__(self, state: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
        self._agent.communication_started()
        future = self._hook(self._states[0] if self._states else state, bucket)
        return future.then(self._completed) if bucket.is_last() else future

    def reduce_by(self, hook: Hook, state: Any) -> None:
        """From now on."""
        self._hook, self._states = hook, (state,)

    def _completed(self, done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
        self._agent.communication_ended()
        return done.value()

    def __reduce__(self) -> tuple[Callable[[Hook], Hook], tuple[Hook]]:
        return _bare, (self._hook,)


def _bare(hook: Hook) -> Hook:
    return hook


class _Later:
    """``model.register_comm_hook`` once the agent's hook is there: the job's own takes its place, once, as DDP allows.

    Rank 0 alone has the agent's, so a job that registers one later would fail there and nowhere else.
    """

    def __init__(self, model: DistributedDataParallel, marked: _Marked) -> None:
        self._model = model
        self._marked: _Marked | Hook | None = marked

    def __call__(self, state: object, hook: Hook) -> None:
        marked = self._marked
        if not isinstance(marked, _Marked):  # there is one of the job's; or a copy, whose marks are gone
            DistributedDataParallel.register_comm_hook(self._model, state, hook)
            return
        self._model._check_comm_hook(hook)
        self._marked = None
        marked.reduce_by(hook, state)
        self._model._comm_hooks[:] = [(marked, state)]

    def built_in(self, kind: dist.BuiltinCommHookType) -> None:
        """The same for ``model._register_builtin_comm_hook``: the hook in Python that sends the same bytes."""
        marked = self._marked
        if not isinstance(marked, _Marked):
            DistributedDataParallel._register_builtin_comm_hook(self._model, kind)
            return
        self._marked = None
        marked.reduce_by(_BUILT_IN[kind], self._model.process_group)
        self._model._comm_hooks.clear()  # DDP does not enter those that are built in
