"""Several ranks, of which the first alone waits: the others come to the collective sooner, and wait for it there."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_loop import MS, Clock, Link, error_ns, schedule

from cassini_agent import connect
from cassini_agent.control.controller import Controller
from cassini_agent.loop import Agent
from cassini_agent.loop.decider import Decider
from cassini_agent.loop.timeline import HostTimeline

COMPUTE, COMMUNICATE = 60 * MS, 40 * MS


class Ranks:
    """Three ranks that each compute for a time of their own; what they then do together ends for all at once."""

    def __init__(self) -> None:
        self.clock, self.link = Clock(), Link()
        decider = Decider(self.link, Controller())
        self.agent = Agent(HostTimeline(self.clock), decider, self.clock, self.clock.wait)

    def iterate(self, compute_ns: list[int]) -> tuple[int, int]:
        """When rank 0 began, and when the collective did."""
        came_ns = self.clock.now_ns
        self.agent.iteration()
        start_ns = self.clock.now_ns
        self.clock.now_ns += compute_ns[0]
        self.agent.communication_started()
        meets_ns = max([self.clock.now_ns, *(came_ns + others for others in compute_ns[1:])])
        self.clock.now_ns = meets_ns + COMMUNICATE
        self.agent.communication_ended()
        return start_ns, meets_ns


@given(st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=60, max_size=60))
def test_the_job_communicates_on_its_grid_and_no_rank_makes_it_later_than_its_own_work_does(
    jitter_ms: list[list[int]],
) -> None:
    ranks = Ranks()
    told = schedule(ranks.clock, hold_ns=30 * MS, slack_ns=30 * MS, pace_ns=106 * MS)
    ranks.link.incoming.append(told)
    for _ in range(30):
        begun_ns, _ = ranks.iterate([COMPUTE] * 3)
    for k, jitter in enumerate(jitter_ms, 1):
        start_ns, meets_ns = ranks.iterate([COMPUTE + each * MS for each in jitter])
        assert 0 <= error_ns(start_ns, told) <= 4 * MS
        # The pace is 6 ms longer than an iteration: so much later may a rank that did not wait be than one that did.
        assert meets_ns - start_ns <= COMPUTE + 4 * MS
        assert start_ns - begun_ns - k * told["pace_ns"] <= 4 * MS
    assert ranks.agent.summary()["state"] == "held"


@pytest.mark.parametrize("rank", [1, 5])
def test_another_rank_connects_to_nothing_starts_nothing_and_waits_for_nothing(rank: int, tmp_path: Path) -> None:
    before = threading.active_count()
    agent = connect("a", rank=rank, world_size=8, socket=str(tmp_path / "none"))
    for _ in range(3):
        agent.iteration()
        with agent.communication():
            pass
        with agent.paused():
            pass
    assert threading.active_count() == before
    assert agent.is_off
    said = agent.summary()
    assert (said["iterations"], said["state"], said["delay_total_ns"]) == (3, "follows rank 0", 0)
    agent.close()
