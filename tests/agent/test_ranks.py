"""Of several ranks rank 0 alone waits, and nobody tells the others: they wait for it in their next collective."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_loop import MS, NATURAL, Clock, Link, error_ns, schedule

from cassini_agent.control.controller import Controller
from cassini_agent.loop import Agent, connect
from cassini_agent.loop.rank0_controller import Rank0Controller
from cassini_agent.loop.timeline import HostTimeline

SENDING = 40 * MS


class Job:
    """Ranks that compute for different times; the collective begins when the last has come, and ends at once."""

    def __init__(self, ranks: int) -> None:
        self.link = Link()
        self.clocks = [Clock() for _ in range(ranks)]
        self.agents = [
            Agent(
                HostTimeline(clock), Rank0Controller(self.link, Controller()) if rank == 0 else None, clock, clock.wait
            )
            for rank, clock in enumerate(self.clocks)
        ]
        self.bursts_ns: list[int] = []

    def iterate(self, compute_ns: list[int]) -> None:
        for agent, clock, took_ns in zip(self.agents, self.clocks, compute_ns, strict=True):
            agent.iteration()
            clock.now_ns += took_ns
            agent.communication_started()
        self.bursts_ns.append(max(clock.now_ns for clock in self.clocks))
        for agent, clock in zip(self.agents, self.clocks, strict=True):
            clock.now_ns = self.bursts_ns[-1] + SENDING
            agent.communication_ended()


def held() -> tuple[Job, dict[str, Any]]:
    """A job of three ranks in its place, and its schedule."""
    job = Job(3)
    for _ in range(20):
        job.iterate([NATURAL - SENDING] * 3)
    told = schedule(job.clocks[0], hold_ns=30 * MS, slack_ns=30 * MS, pace_ns=103 * MS)
    job.link.incoming.append(told)
    for _ in range(10):
        job.iterate([NATURAL - SENDING] * 3)
    return job, told


jitters = st.lists(st.lists(st.integers(-5 * MS, 0), min_size=3, max_size=3), min_size=60, max_size=60)


@given(jitters)
def test_who_computes_longest_sets_when_a_job_communicates_and_no_later_than_if_all_had_waited(
    shorter_ns: list[list[int]],
) -> None:
    job, told = held()
    for each in shorter_ns:
        job.iterate([NATURAL - SENDING + shorter for shorter in each])
    errors_ns = [error_ns(burst - (NATURAL - SENDING), told) for burst in job.bursts_ns[-60:]]
    # The earliest is that of a job in which all computed for less, as rank 0 did: its start was on the grid.
    assert all(min(each) <= error <= 0 for error, each in zip(errors_ns, shorter_ns, strict=True))
    assert [len(clock.waited_ns) for clock in job.clocks[1:]] == [0, 0]
    assert job.agents[0].summary()["state"] == "held"


def test_what_other_ranks_do_late_delays_the_job_and_their_next_iteration_makes_it_good() -> None:
    job, told = held()
    job.iterate([NATURAL - SENDING, NATURAL - SENDING, NATURAL - SENDING + 12 * MS])
    for _ in range(6):
        job.iterate([NATURAL - SENDING] * 3)
    late_ms = [error_ns(burst - (NATURAL - SENDING), told) / MS for burst in job.bursts_ns[-7:]]
    assert late_ms == [9, 6, 3, 0, 0, 0, 0]  # of 12 the others had 3 left: they do not wait as rank 0 does


class Untouchable(ModuleType):
    """``torch.distributed`` of an initialised job, of which only its size and this rank's number may be asked."""

    def __init__(self, rank: int) -> None:
        super().__init__("torch.distributed")
        self.is_available = self.is_initialized = lambda: True
        self.get_rank, self.get_world_size = lambda: rank, lambda: 2

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"torch.distributed.{name}")


@pytest.mark.parametrize("rank", [0, 1])
def test_the_store_of_the_job_is_left_alone(rank: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch.distributed", Untouchable(rank))
    agent = connect("a", socket=str(tmp_path / "none"))
    assert agent.is_off == (rank == 1)
    for _ in range(50):
        agent.iteration()
        with agent.communication():
            pass
    agent.interrupted()
    summary = agent.summary()
    assert (summary["iterations"], summary["note"]) == (50, "")
    agent.close()


JOB = """
import os, sys, time
import torch.distributed as dist
import cassini_agent
dist.init_process_group("gloo")
agent = cassini_agent.connect()
for _ in range(10):
    agent.iteration()
    dist.barrier()
print(agent.summary()["iterations"], flush=True)
# Neither closed nor destroyed: jobs end like this.
"""


def test_a_job_that_just_ends_ends_well(tmp_path: Path) -> None:
    pytest.importorskip("torch.distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    environment = {**os.environ, **place, "CASSINI_AGENT_SOCKET": str(tmp_path / "none")}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", JOB],
            env={**environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for job in jobs:
        out, err = job.communicate(timeout=120)
        assert (job.returncode, out) == (0, "10\n"), err
        assert "Traceback" not in err
