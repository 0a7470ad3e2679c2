"""The agents of several ranks, played: they begin together, none later than rank 0 decided, none waits in a pause."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_loop import MS, NATURAL, Clock, Link, error_ns, schedule

from cassini_agent.control.controller import Controller
from cassini_agent.control.release import Follower, Release
from cassini_agent.loop import Agent
from cassini_agent.loop.decider import Decider
from cassini_agent.loop.timeline import HostTimeline, Name


class Shared:
    """Decisions that reach the other ranks at once."""

    lag = 1

    def __init__(self, published: dict[int, Release], rank: int) -> None:
        self.missed = 0
        self.published = published
        self.follower = Follower(decides=rank == 0)

    def publish(self, iteration: int, release: Release) -> None:
        assert iteration not in self.published, "decided twice"
        self.published[iteration] = release

    def due(self, iteration: int, now_ns: int) -> int:
        return self.follower.wait_ns(iteration, self.published.get(iteration), now_ns)

    def interrupted(self) -> None:
        self.follower.interrupted()

    def close(self) -> None:
        pass


class RanksOfOneJob:
    """Three ranks on hosts whose clocks differ; each iteration ends when the last rank's work is done."""

    AHEAD_NS = (0, 7 * 10**12, -(10**9))

    def __init__(self) -> None:
        self.clock, self.link = Clock(), Link()
        self.published: dict[int, Release] = {}
        decider = Decider(self.link, Controller(1))
        self.ranks = [self._rank(rank, decider if rank == 0 else None) for rank in range(3)]
        self.waits: list[list[int]] = [[] for _ in self.ranks]

    def _rank(self, rank: int, decider: Decider | None) -> Agent:
        clock, ahead_ns = self.clock, self.AHEAD_NS[rank]

        def now() -> int:
            return clock() + ahead_ns

        def wait(until_ns: int) -> None:
            clock.wait(until_ns - ahead_ns)

        return Agent(Shared(self.published, rank), HostTimeline(now), decider, now, wait)

    def iterate(self, natural_ns: int) -> int:
        """One iteration; when it began."""
        came_ns, ends_ns = self.clock.now_ns, []
        for rank, waited in zip(self.ranks, self.waits, strict=True):  # each from the same moment
            self.clock.now_ns, before = came_ns, len(self.clock.waited_ns)
            rank.iteration()
            waited.append(sum(self.clock.waited_ns[before:]))
            ends_ns.append(self.clock.now_ns)
        self.clock.now_ns = max(ends_ns) + natural_ns
        return max(ends_ns)


@given(st.lists(st.integers(-5, 5), min_size=60, max_size=60))
def test_every_rank_waits_the_same_at_the_same_iteration_and_none_begins_early(jitter_ms: list[int]) -> None:
    job = RanksOfOneJob()
    told = schedule(job.clock, hold_ns=30 * MS, slack_ns=30 * MS, pace_ns=106 * MS)
    errors = []
    for k, jitter in enumerate(jitter_ms):
        if k == 5:
            job.link.incoming.append(told)
        start_ns = job.iterate(NATURAL + (jitter * MS if k > 20 else 0))
        if k > 20:
            errors.append(error_ns(start_ns, told))
    assert job.waits[0] == job.waits[1] == job.waits[2]
    assert all(0 <= wait < told["pace_ns"] for wait in job.waits[0])
    assert all(0 <= error <= 5 * MS for error in errors)
    assert sorted(job.published) == list(range(1, 61))


@pytest.mark.parametrize("pause_ms", [1, 4, 60, 17_345])
def test_no_rank_waits_after_a_pause_for_what_was_decided_before(pause_ms: int) -> None:
    job = RanksOfOneJob()
    told = schedule(job.clock, hold_ns=30 * MS, slack_ns=30 * MS, pace_ns=106 * MS)
    job.link.incoming.append(told)
    for _ in range(30):
        job.iterate(NATURAL)
    assert job.waits[1][-1] == 6 * MS
    for rank in job.ranks:
        rank.interrupted()
    job.clock.now_ns += pause_ms * MS
    for _ in range(2):  # the first after the pause, and what is decided in it: where the job is, is not known yet
        job.iterate(NATURAL)
    assert [waits[-2:] for waits in job.waits] == [[0, 0]] * 3


# --- hosts that run ahead of their GPUs -------------------------------------------------------------------------------


class Stream:
    """A GPU's timeline: a mark is passed when the stream comes to it, and known when the host looks after that."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.now = now
        self.done_ns = 0  # when what was launched is done
        self.marks: list[tuple[tuple[Name, ...], int]] = []

    def is_capturing(self) -> bool:
        return False

    def mark(self, *names: Name) -> None:
        self.done_ns = max(self.done_ns, self.now())
        self.marks.append((names, self.done_ns))

    def known(self) -> list[tuple[Name, int]]:
        passed = [each for each in self.marks if each[1] <= self.now()]
        self.marks = self.marks[len(passed) :]
        return [(name, at_ns) for names, at_ns in passed for name in names]

    def forget(self) -> None:
        self.marks.clear()


class Waits(Enum):
    """For what of its GPU's iteration a host waits."""

    NOTHING, LOSS, END = range(3)


class RanksWithGpus:
    """Each host launches an iteration in 10 ms; then it waits for its GPU, as far as it does."""

    LAUNCH, LOSS = 10 * MS, 30 * MS

    def __init__(self, *waits: Waits) -> None:
        self.link, self.waits = Link(), waits
        self.clocks = [Clock() for _ in waits]
        self.published: dict[int, Release] = {}
        decider = Decider(self.link, Controller(1))
        zero = Stream(self.clocks[0])
        self.streams = [zero] + [Stream(clock) for clock in self.clocks[1:]]
        self.ranks = [
            Agent(
                Shared(self.published, rank),
                zero if rank == 0 else HostTimeline(clock),
                decider if rank == 0 else None,
                clock,
                clock.wait,
            )
            for rank, clock in enumerate(self.clocks)
        ]

    def iterate(self, natural_ns: int) -> int:
        """One iteration; when it began on the last GPU."""
        starts = []
        for rank, clock, stream, waits in zip(self.ranks, self.clocks, self.streams, self.waits, strict=True):
            if waits is Waits.END:
                clock.now_ns = max(clock.now_ns, stream.done_ns)
            rank.iteration()
            stream.done_ns = max(stream.done_ns, clock.now_ns)
            starts.append(stream.done_ns)
            clock.now_ns += self.LAUNCH
            if waits is not Waits.NOTHING:
                clock.now_ns = max(clock.now_ns, stream.done_ns + self.LOSS)
            rank.communication_started()
        for stream in self.streams:
            stream.done_ns = max(starts) + natural_ns  # the collective ends for all at once
        return max(starts)


@given(st.lists(st.integers(-5, 5), min_size=40, max_size=40), st.lists(st.sampled_from(Waits), min_size=1, max_size=3))
def test_hosts_that_run_ahead_of_their_gpus_are_held_to_the_grid(jitter_ms: list[int], others: list[Waits]) -> None:
    job = RanksWithGpus(Waits.LOSS, *others)
    told = schedule(job.clocks[0], hold_ns=30 * MS, slack_ns=30 * MS, pace_ns=106 * MS)
    job.link.incoming.append(told)
    for _ in range(20):
        begun_ns = job.iterate(NATURAL)
    for k, jitter in enumerate(jitter_ms, 1):
        start_ns = job.iterate(NATURAL + jitter * MS)
        assert 0 <= error_ns(start_ns, told) <= 5 * MS
        assert start_ns - begun_ns - k * told["pace_ns"] <= 10 * MS
    assert job.ranks[0].summary()["state"] == "held"


@pytest.mark.parametrize("other", Waits)
def test_where_rank_0_knows_its_starts_too_late_the_job_is_not_held_up(other: Waits) -> None:
    """Its host never waits for its GPU, so it is iterations ahead of all that is known."""
    job = RanksWithGpus(Waits.NOTHING, other)
    job.link.incoming.append(schedule(job.clocks[0], hold_ns=30 * MS, slack_ns=30 * MS, pace_ns=106 * MS))
    starts = [job.iterate(NATURAL) for _ in range(100)]
    assert starts[-1] - starts[0] <= 100 * 106 * MS
