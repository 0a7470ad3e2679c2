"""A host that never waits for its GPU: some iterations ahead of it, until the launch queue is full. Its job is held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_loop import MS, NATURAL, Clock, Link, error_ns, schedule

from cassini_agent.control.controller import Controller
from cassini_agent.loop import Agent
from cassini_agent.loop.cuda_timeline import CudaTimeline
from cassini_agent.loop.rank0_controller import Rank0Controller

LAUNCH = 8 * MS
"""What the host needs to launch an iteration."""


@dataclass
class Event:
    """An event of the played GPU."""

    gpu: Gpu
    at_ns: int | None = None

    def record(self, stream: str) -> None:
        gpu = self.gpu
        if stream == "work":
            gpu.done_ns = max(gpu.done_ns, gpu.clock.now_ns)
        self.at_ns = gpu.done_ns if stream == "work" else gpu.clock.now_ns

    def query(self) -> bool:
        return self.at_ns is not None and self.at_ns <= self.gpu.clock.now_ns

    def elapsed_time(self, other: Event) -> float:
        assert self.query(), "asked before the GPU had come to it"
        assert other.query(), "asked before the GPU had come to it"
        return (other.at_ns - self.at_ns) / 1e6


class Gpu:
    """What ``torch.cuda`` offers the timeline, and when the work that was launched will be done."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.done_ns = 0

    def Event(self, enable_timing: bool) -> Event:
        return Event(self)

    def Stream(self, device: object, priority: int) -> str:
        return "reference"

    def is_current_stream_capturing(self) -> bool:
        return False

    def current_stream(self, device: object) -> str:
        return "work"


class Loop:
    """Rank 0 of a job; the other ranks' GPUs wait for its GPU in the collective.

    Parameters
    ----------
    queue : int
        Iterations that fit into the launch queue: the host waits before it launches one more.
    """

    def __init__(self, queue: int) -> None:
        self.queue, self.clock, self.link = queue, Clock(), Link()
        self.gpu = Gpu(self.clock)
        timeline = CudaTimeline(0, self.clock, self.gpu)
        self.agent = Agent(timeline, Rank0Controller(self.link, Controller()), self.clock, self.clock.wait)
        self.starts_ns: list[int] = []
        self.ends_ns: list[int] = []

    def run(self, iterations: int, natural_ns: Callable[[int], int] = lambda _: NATURAL) -> None:
        """Some iterations of the given lengths on the GPU; hooks mark where communication begins and ends."""
        for k in range(iterations):
            if len(self.ends_ns) > self.queue:
                self.clock.now_ns = max(self.clock.now_ns, self.ends_ns[-self.queue - 1])
            self.agent.iteration()
            self.gpu.done_ns = max(self.gpu.done_ns, self.clock.now_ns)
            self.starts_ns.append(self.gpu.done_ns)
            took_ns = natural_ns(k)
            self.clock.now_ns += LAUNCH // 2
            self.gpu.done_ns += took_ns * 6 // 10
            self.agent.communication_started()
            self.gpu.done_ns += took_ns - took_ns * 6 // 10
            self.agent.communication_ended()
            self.clock.now_ns += LAUNCH // 2
            self.ends_ns.append(self.gpu.done_ns)


@pytest.mark.parametrize("queue", [0, 1, 2, 5, 20])
def test_a_job_whose_host_is_ahead_is_held_to_the_grid(queue: int) -> None:
    loop = Loop(queue)
    loop.run(30)
    told = schedule(loop.clock)
    loop.link.incoming.append(told)
    loop.run(queue + 60)
    assert {error_ns(start, told) // MS for start in loop.starts_ns[-40:]} == {0}
    assert loop.agent.summary()["state"] == "held"
    # What the host waits while its GPU has work costs nothing.
    assert loop.starts_ns[-1] - loop.starts_ns[29] <= (queue + 60) * told["pace_ns"] + told["pace_ns"]


@pytest.mark.parametrize("queue", [1, 3, 6])
@pytest.mark.parametrize("place_ms", [20, 50, 80])
def test_a_job_that_was_held_up_comes_to_its_grid_at_once_however_far_its_host_is_ahead(
    queue: int, place_ms: int
) -> None:
    """Until then others made its iterations longer, each by another time; what comes now cannot be reckoned."""
    loop = Loop(queue)
    loop.run(30, lambda k: NATURAL + (13 * k % 7) * 9 * MS)
    told = schedule(loop.clock, epoch_ns=loop.clock.now_ns + place_ms * MS)
    loop.link.incoming.append(told)
    loop.run(1)
    begun = len(loop.starts_ns)
    loop.run(20)
    errors = [error_ns(start, told) for start in loop.starts_ns[begun:]]
    assert all(abs(error) <= 3 * MS for error in errors[2:])
    assert {error // MS for error in errors[-8:]} == {0}
    assert loop.agent.summary()["adjustments"] <= 2


@given(
    queue=st.integers(0, 6),
    jitter_ms=st.lists(st.integers(-4, 4), min_size=60, max_size=60),
    place_ms=st.integers(0, 105),
)
def test_with_jitter_no_start_comes_early_and_none_is_held_up(queue: int, jitter_ms: list[int], place_ms: int) -> None:
    loop = Loop(queue)
    loop.run(20)
    told = schedule(
        loop.clock, epoch_ns=loop.clock.now_ns + place_ms * MS, hold_ns=30 * MS, slack_ns=30 * MS, pace_ns=106 * MS
    )
    loop.link.incoming.append(told)
    loop.run(30)
    begun_ns = loop.starts_ns[-1]
    loop.run(60, lambda k: NATURAL + jitter_ms[k] * MS)
    errors = [error_ns(start, told) for start in loop.starts_ns[-60:]]
    assert all(-MS <= error <= 9 * MS for error in errors)
    assert loop.starts_ns[-1] - begun_ns <= 60 * told["pace_ns"] + 10 * MS


@pytest.mark.parametrize("queue", [1, 3, 10])
def test_where_iterations_get_longer_expected_starts_follow_the_gpu(queue: int) -> None:
    """Contention for a while: what was expected of starts is corrected by those that have become known."""
    loop = Loop(queue)
    loop.run(20)
    loop.run(40, lambda _: 140 * MS)
    loop.run(20)
    told = schedule(loop.clock)
    loop.link.incoming.append(told)
    loop.run(queue + 40)
    assert {error_ns(start, told) // MS for start in loop.starts_ns[-20:]} == {0}


@pytest.mark.parametrize("queue", [0, 3])
def test_the_profile_is_that_of_the_gpu(queue: int) -> None:
    loop = Loop(queue)
    loop.run(40)
    loop.link.incoming.append(schedule(loop.clock))
    loop.run(60)
    profile = loop.agent.summary()["profile"]
    assert profile["iteration_ns"] == pytest.approx(NATURAL, abs=MS)
    assert profile["communication_start_ns"] == pytest.approx(60 * MS, abs=MS)
    assert profile["communication_end_ns"] == pytest.approx(100 * MS, abs=MS)


def test_a_schedule_that_is_there_before_the_first_iteration_holds_nothing_up() -> None:
    loop = Loop(3)
    loop.link.incoming.append(schedule(loop.clock))
    begun_ns = loop.clock.now_ns
    loop.run(1)
    assert loop.clock.now_ns - begun_ns <= 2 * NATURAL
