"""What a component is told when its paces are renewed keeps each job out of the others' bursts, however many it has."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from played_members import Played, run, schedule, sends

from cassini_agent.control.change import Change
from cassini_agent.coordinator import events
from cassini_agent.coordinator.member import Member
from cassini_agent.coordinator.status import JobStatus
from cassini_agent.schedule import MS_NS, Schedule


@dataclass(frozen=True)
class Sends:
    """A job of so many milliseconds, and when in its iteration it sends."""

    iteration_ms: int
    bursts_ms: tuple[tuple[int, int], ...]


def room_ns(schedules: Mapping[str, Schedule], jobs: Mapping[str, Sends]) -> int:
    """The least time between bursts of two jobs, by all bursts of a whole pattern; negative where they overlap."""
    whole = math.lcm(*(one.pace_ns for one in schedules.values()))
    at = [
        (job, (one.epoch_ns + one.shift_ns + begin * MS_NS + turn * one.pace_ns) % whole, (end - begin) * MS_NS)
        for job, one in schedules.items()
        for begin, end in jobs[job].bursts_ms
        for turn in range(whole // one.pace_ns)
    ]
    return min(
        (other - begin) % whole - lasts if (other - begin) % whole else -lasts
        for job, begin, lasts in at
        for another, other, _ in at
        if job != another
    )


class Telling(Played):
    """Jobs that say when they send: of several bursts the first start and the last end."""

    jobs: Mapping[str, Sends] = {}
    silent: frozenset[str] = frozenset()

    def status(self, job: str) -> JobStatus:
        told = super().status(job)
        if job in self.silent:
            return told
        begin, end = self.jobs[job].bursts_ms[0][0] * MS_NS, self.jobs[job].bursts_ms[-1][1] * MS_NS
        return replace(told, **sends(begin, told.schedule.iteration_ns, end))  # type: ignore[union-attr]


def placed(jobs: Mapping[str, Sends], shifts_ms: Mapping[str, int]) -> Telling:
    """As ranked: at the iteration times of the jobs, with the hold that their bursts leave."""
    at = {job: {"pace_ns": one.iteration_ms * MS_NS, "shift_ns": shifts_ms[job] * MS_NS} for job, one in jobs.items()}
    bare = {job: schedule(job, iteration_ns=its["pace_ns"], hold_ns=0, slack_ns=0, **its) for job, its in at.items()}
    hold_ns = room_ns(bare, jobs) // 2
    hold_ns = min(max(0, hold_ns), *(one.pace_ns // 2 for one in bare.values()))
    members = {
        job: Member(replace(one, hold_ns=hold_ns, slack_ns=hold_ns, gain_ns=0), host=job) for job, one in bare.items()
    }
    played = Telling(members, dict.fromkeys(jobs, 0))
    played.jobs = jobs
    return played


def trains(rng: random.Random, counts: Sequence[int]) -> tuple[dict[str, Sends], dict[str, int]]:
    """Jobs whose bursts keep clear of each other: the pattern of the shortest is cut, and its pieces given to jobs."""
    circle = 200
    pieces: list[tuple[int, int]] = []
    while len(pieces) < len(counts):
        cuts = sorted(rng.sample(range(0, circle, 4), 2 * rng.randint(len(counts), 5)))
        pieces = list(zip(cuts[::2], cuts[1::2], strict=True))
    owners = [*range(len(counts)), *(rng.randrange(len(counts)) for _ in pieces[len(counts) :])]
    rng.shuffle(owners)
    jobs, shifts = {}, {}
    for at, (job, count) in enumerate(zip("abc", counts, strict=False)):
        whole = count * circle
        own = [
            (begin + rng.randrange(count) * circle, end - begin)
            for (begin, end), owner in zip(pieces, owners, strict=True)
            if owner == at
        ]
        first = rng.choice([begin for begin, _ in own])
        idle = min(((first - begin) % whole or whole) - lasts for begin, lasts in own)
        start = (first - rng.randint(0, idle)) % whole
        bursts = sorted(((begin - start) % whole, (begin - start) % whole + lasts) for begin, lasts in own)
        jobs[job], shifts[job] = Sends(whole, tuple(bursts)), start
    return jobs, shifts


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from([(1, 1), (1, 1, 1), (1, 2), (2, 1, 1), (2, 3), (1, 4)]),
    st.lists(st.floats(1.0, 1.06), min_size=1, max_size=3),
    st.sets(st.sampled_from("abc"), max_size=1),
)
def test_the_hold_that_is_told_is_there(
    seed: int, counts: tuple[int, ...], longer: list[float], silent: set[str]
) -> None:
    jobs, shifts = trains(random.Random(seed), counts)
    played = placed(jobs, shifts)
    assume(played.has["a"].hold_ns > 0)
    played.silent = frozenset(silent)
    for step, factor in enumerate(longer):
        run(played, 10, begin=20 * step)
        was = played.has["a"].iteration_ns
        natural = round(factor * jobs["a"].iteration_ms * MS_NS)
        played.changed = {"a": Change(natural, was, certain=True)}
        run(played, 10, begin=20 * step + 10)
        hold_ns = max(one.hold_ns for one in played.has.values())
        assert room_ns(played.has, jobs) >= 2 * hold_ns


def test_jobs_of_one_burst_lose_no_hold_whichever_of_them_is_across_the_beginning_of_the_pattern() -> None:
    jobs = {"a": Sends(200, ((0, 60),)), "b": Sends(200, ((40, 100),))}
    for apart in range(0, 200, 10):
        shifts = {"a": apart, "b": (apart + 60) % 200}
        played = placed(jobs, shifts)
        before = played.has["a"].hold_ns
        played.changed = {"a": Change(206 * MS_NS, 200 * MS_NS, certain=True)}
        told = run(played, 10)
        assert any(isinstance(event, events.PacesChanged) for event in told)
        assert played.has["a"].pace_ns >= 206 * MS_NS
        assert played.has["a"].hold_ns == before
        assert room_ns(played.has, jobs) >= 2 * before


def test_bursts_between_those_of_another_cost_hold_where_the_paces_get_longer() -> None:
    """Each sends thrice, in turns: what is added to both cannot lie between an iteration and the next of both."""
    jobs = dict.fromkeys("ab", Sends(200, ((0, 10), (60, 70), (120, 130))))
    played = placed(jobs, {"a": 0, "b": 100})
    assert played.has["a"].hold_ns == 5 * MS_NS
    played.changed = {"a": Change(204 * MS_NS, 200 * MS_NS, certain=True)}
    run(played, 10)
    assert played.has["a"].pace_ns == 204 * MS_NS
    assert played.has["a"].hold_ns == 3 * MS_NS
