"""How a job gets its agent: from the environment, and from what torch knows."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..control.controller import Controller
from ..control.cost_budget import CostBudget
from ..local_link import SECRET_VARIABLE, LocalLink, socket_path
from .agent import Agent
from .cuda_timeline import CudaTimeline
from .rank0_controller import Rank0Controller
from .timeline import HostTimeline, Timeline

__all__ = ["connect"]

log = logging.getLogger("cassini_agent")

JOB_VARIABLES = ("CASSINI_JOB_ID", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "JOB_NAME")
"""Where a job's name is looked for, in this order."""

UNNAMED = "none"
"""What torchrun calls every job that was given no id."""

FIRST_OWN_STEP = 0xFFFFFFF0
"""Step ids from here on are Slurm's own: of the batch script, of an interactive shell."""


def connect(
    job: str | None = None,
    *,
    rank: int | None = None,
    world_size: int | None = None,
    socket: str | None = None,
    device: Any = None,
    adjusting_share: float | None = None,
) -> Agent:
    """The agent of this rank. Never fails and never waits: without a daemon it does nothing, and says so once.

    Parameters
    ----------
    job : str, optional
        Name under which the scheduler knows the job; default: ``CASSINI_JOB_ID``, or the job id of Slurm (of its second
        step ``JOB.1``) or torchrun. A job that nobody has named gets a name of its own. ``CASSINI_JOB_SECRET`` is shown
        to the daemon with it.
    rank, world_size : int, optional
        Default: of ``torch.distributed`` if it is initialised, else ``RANK`` and ``WORLD_SIZE``, else one rank. Rank 0
        waits, and the others for it in the next collective; on the others nothing is done.
    socket : str, optional
        The daemon's socket; default ``CASSINI_AGENT_SOCKET`` or ``/run/cassini-agent/agent.sock``.
    device : torch.device, int or str, optional
        Where the loop runs: on a CUDA device times are those of its current stream. Default: the current CUDA device if
        the process already uses CUDA, else the host's clock.
    adjusting_share : float, optional
        Of its time that the job may wait to get back to its place, besides what its pace is longer than its
        iterations; default ``CASSINI_AGENT_ADJUSTING_SHARE`` or 0.01.

    Returns
    -------
    Agent
        ``CASSINI_AGENT=0`` gives one that only counts iterations.
    """
    try:
        agent = _connect(job, rank, world_size, socket, device, adjusting_share)
    except Exception:
        log.exception("the agent could not be set up; training goes on without time-shifts")
        agent = Agent(HostTimeline(), None)
    with suppress(Exception):
        _keep_from_compiler(agent)
    return agent


CALLED_BY_LOOP = (
    "iteration",
    "communication",
    "communication_started",
    "communication_ended",
    "interrupted",
    "paused",
    "summary",
    "close",
)


def _keep_from_compiler(agent: Agent) -> None:
    """``torch.compile`` calls these as they are, where a loop has them inside what it compiles.

    Left to itself it would trace them, and compile the agent anew as its numbers change. Costs some 0.2 us a call.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        for name in CALLED_BY_LOOP:
            setattr(agent, name, torch.compiler.disable(getattr(agent, name)))


def _connect(
    job: str | None,
    rank: int | None,
    world_size: int | None,
    socket: str | None,
    device: Any,
    adjusting_share: float | None,
) -> Agent:
    if os.environ.get("CASSINI_AGENT") == "0":
        return Agent(HostTimeline(), None)
    own_rank, size = _place(rank, world_size, os.environ)
    if own_rank != 0:
        return Agent(HostTimeline(), None)
    name = job if job is not None else _job_name(os.environ)
    hello = {"type": "hello", "protocol": 1, "job": name, "rank": 0, "world_size": size, "pid": os.getpid()}
    if secret := os.environ.get(SECRET_VARIABLE):
        hello["secret"] = secret
    if adjusting_share is None:
        adjusting_share = float(os.environ.get("CASSINI_AGENT_ADJUSTING_SHARE") or CostBudget.SHARE)
    rank0_controller = Rank0Controller(LocalLink(socket or socket_path(), hello), Controller(adjusting_share))
    return Agent(_timeline(device), rank0_controller)


def _job_name(environment: Mapping[str, str]) -> str:
    for variable in JOB_VARIABLES:
        name = environment.get(variable)
        if name and name != UNNAMED:
            return name + _step(environment) if variable == "SLURM_JOB_ID" else name
    return f"pid-{os.getpid()}-{os.urandom(4).hex()}"  # containers of one host may have equal pids, and so may hosts


def _step(environment: Mapping[str, str]) -> str:
    """What tells the steps of one Slurm job apart, as Slurm writes it; the first has the name of the job."""
    step = environment.get("SLURM_STEP_ID", "")
    return f".{step}" if step.isdecimal() and 0 < int(step) < FIRST_OWN_STEP else ""


def _place(rank: int | None, world_size: int | None, environment: Mapping[str, str]) -> tuple[int, int]:
    dist = _distributed()
    if rank is None:
        rank = dist.get_rank() if dist is not None else int(environment.get("RANK", "0"))
    if world_size is None:
        world_size = dist.get_world_size() if dist is not None else int(environment.get("WORLD_SIZE", "1"))
    return rank, world_size


def _distributed() -> Any:
    """torch.distributed, if the job has initialised it."""
    dist = sys.modules.get("torch.distributed")
    return dist if dist is not None and dist.is_available() and dist.is_initialized() else None


def _timeline(device: Any) -> Timeline:
    torch = sys.modules.get("torch")
    if torch is None:
        return HostTimeline()
    if device is None:
        with suppress(Exception):
            if torch.cuda.is_initialized():  # asking whether there is a device would load its driver
                device = torch.cuda.current_device()
    if device is None or torch.device(device).type != "cuda":
        return HostTimeline()
    return CudaTimeline(device)
