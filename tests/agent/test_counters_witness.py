"""What counters say about jobs: never more than the data prove, however the counter is read and whoever shares it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from burst_trains import MS, Train, counted, train
from fake_sysfs import FakePort
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_agent.counters.rdma import find_ports, open_port
from cassini_agent.counters.sources import Channel
from cassini_agent.counters.starts import CONFIRM, CONTRADICT, SILENT, Heard, Witness
from cassini_agent.counters.unwrap import BREAK, MISSING
from cassini_agent.counters.watch import CounterWatch

PERIOD_MS, BURST_MS = 436.0, (237.0, 173.0)


class Still:
    """A source that is only there for its channel."""

    problem = None

    def __init__(self, device: str = "eth0") -> None:
        self.channels = (Channel(device, "tx_bytes", "bytes"),)
        self.total = MISSING

    def sample(self, now_ns: int) -> list[int]:
        return [self.total]

    def close(self) -> None: ...


def watched(rows: Sequence[tuple[int, int]]) -> CounterWatch:
    source = Still()
    watch = CounterWatch([source])
    for number, (now, source.total) in enumerate(rows, 1):
        watch.sampler.tick(now)
        if number % 4096 == 0:
            watch.poll()
    watch.poll()
    return watch


def said(rows: Sequence[tuple[int, int]], jobs: Mapping[str, Heard]) -> dict[str, Witness]:
    return watched(rows).witness(jobs)


def every(*ms: int, each_s: float = 2.0) -> Callable[[int], int]:
    """So many ms between readings, one after the other for ``each_s``; then the last two for ever in turn."""

    def interval(now: int) -> int:
        number = int(now / (each_s * 1e9))
        return ms[number if number < len(ms) else len(ms) - 1 - (number - len(ms)) % 2] * MS

    return interval


@pytest.mark.parametrize("jitter", [pytest.param(0.0, marks=pytest.mark.slow), 0.03])
@pytest.mark.parametrize(
    "ms",
    [(1, 1), (1, 2, 4, 8), (1, 2, 4, 16, 8), (1, 2, 4, 8, 16, 16, 16, 4, 4)],
    ids=lambda ms: "-".join(map(str, ms)),
)
def test_a_sampler_that_is_slowed_down_contradicts_nobody(ms: tuple[int, ...], jitter: float) -> None:
    """On busy machines the sampler goes from 1 ms to 16 and back.

    Bursts that were seen only in a long reading were once left out, and what was left out counted as not there: the
    daemon said ``no burst at a steady distance`` of jobs that were right to the microsecond.
    """
    rng = random.Random(1)
    job = train(rng, 80, PERIOD_MS, [BURST_MS], jitter)
    rows = counted([job], every(*ms), rng)
    for end in range(len(rows) // 4, len(rows), len(rows) // 4):
        until = rows[end - 1][0]
        alone = said(rows[:end], {"a": job.told(until, hook=True)})["a"]
        if len(job.told(until, hook=True).communication_ns) >= 20:
            assert alone.says == CONFIRM
            assert alone.offset_ns is not None
            assert alone.spread_ns is not None
            assert abs(alone.offset_ns) <= alone.spread_ns <= PERIOD_MS * MS / 20
        late = said(rows[:end], {"a": job.told(until, hook=True, late_ns=40 * MS)})["a"]
        if late.says == CONTRADICT:
            assert late.offset_ns == pytest.approx(40 * MS, abs=late.spread_ns or 0)


def test_a_job_without_a_hook_gets_its_communication_from_the_counters() -> None:
    rng = random.Random(2)
    job = train(rng, 60, PERIOD_MS, [(100.0, 40.0), (237.0, 173.0)], 0.01)
    rows = counted([job], every(1, 1), rng)
    found = said(rows, {"a": job.told(rows[-1][0], hook=False)})["a"]
    assert found.says == SILENT
    assert found.start_ns == pytest.approx(100 * MS, abs=3 * MS)
    assert found.end_ns == pytest.approx(410 * MS, abs=5 * MS)


@pytest.mark.parametrize("offset_ms", [0.0, 0.5, 435.0])
def test_communication_at_the_start_of_an_iteration_is_one_burst(offset_ms: float) -> None:
    """Jitter puts it now before the start, now after it."""
    rng = random.Random(3)
    job = train(rng, 60, PERIOD_MS, [(50.0, 100.0)], 0.01)
    starts = [start + 50 * MS - round(offset_ms * MS) + rng.randrange(-2 * MS, 2 * MS) for start in job.starts]
    rows = counted([job], every(1, 1), rng)
    found = said(rows, {"a": Heard(starts)})["a"]
    assert found.start_ns is not None
    assert found.spread_ns is not None
    away = (found.start_ns - offset_ms * MS + PERIOD_MS * MS / 2) % (PERIOD_MS * MS) - PERIOD_MS * MS / 2
    assert abs(away) <= found.spread_ns
    assert found.end_ns is not None
    assert found.end_ns - found.start_ns == pytest.approx(100 * MS, abs=3 * MS)


@given(
    seed=st.integers(0, 10**6),
    period_ms=st.floats(80, 500),
    share=st.floats(0.1, 0.6),
    jitter=st.sampled_from([0.0, 0.01, 0.03, 0.1]),
    refresh_ms=st.sampled_from([0, 2, 5, 10]),
    slow=st.sampled_from([(1, 1), (1, 2, 4, 4), (2, 8, 16)]),
    late_ms=st.sampled_from([0.0, 3.0, -8.0, 25.0, -60.0]),
    other=st.sampled_from([None, 1.0, 1.02, 1.37]),
    hook=st.booleans(),
    known=st.booleans(),
    gaps=st.sampled_from([None, MISSING, BREAK]),
)
@settings(max_examples=50, deadline=None)
def test_a_witness_is_never_wrong_by_more_than_it_says(
    seed: int,
    period_ms: float,
    share: float,
    jitter: float,
    refresh_ms: int,
    slow: tuple[int, ...],
    late_ms: float,
    other: float | None,
    hook: bool,
    known: bool,
    gaps: int | None,
) -> None:
    """One job, or two on one port with equal or unequal iteration times; with and without a hook; the second known to
    the daemon or not; a counter that is read late, refreshed every few ms, missing and reset. Offsets are those to
    the nearest burst, so up to half an iteration. (A second job whose iteration time is the same, and which the daemon
    does not know, is one with the first for all that a counter shows.)
    """
    known = known or other == 1.0
    rng = random.Random(seed)
    length = share * period_ms
    start = rng.uniform(0.02, 0.9 - share) * period_ms if share < 0.85 else 1.0
    job = train(rng, 50, period_ms, [(start, length)], jitter)
    trains = [job]
    if other is not None:
        their_ms = other * period_ms
        trains.append(train(rng, 50, their_ms, [(rng.uniform(0, 0.4) * their_ms, 0.3 * their_ms)], jitter))
    # A refresh takes as long as it takes, give or take a tenth.
    refresh = (lambda: round(refresh_ms * MS * rng.uniform(0.9, 1.1))) if refresh_ms else None
    rows = counted(trains, every(*slow), rng, refresh=refresh)
    if gaps is not None:
        for _ in range(4):
            at = rng.randrange(len(rows) - 40)
            for place in range(at, at + (rng.randrange(1, 40) if gaps == MISSING else 1)):
                rows[place] = (rows[place][0], gaps)
    late_ns = round(late_ms * MS)
    jobs = {"a": job.told(rows[-1][0], hook=hook, late_ns=late_ns)}
    if known and other is not None:
        jobs["b"] = trains[1].told(rows[-1][0], hook=hook)
    found = said(rows, jobs)["a"]
    if found.says != SILENT:
        assert found.offset_ns is not None
        away = (found.offset_ns - late_ns) / (period_ms * MS)
        assert abs(away - round(away)) * period_ms * MS <= (found.spread_ns or 0)
    if found.start_ns is not None:
        truth = sorted(sent[0][0] - begin for begin, sent in zip(job.starts, job.sent, strict=True))
        assert abs(found.start_ns - truth[len(truth) // 2]) <= (found.spread_ns or 0)
    if other is not None and known and not found.reason.startswith("no bursts are seen"):
        assert "jobs on this host" in found.reason or "other jobs of this host" in found.reason


@pytest.mark.parametrize("other", [1.0, 1.02, 1.37])
@pytest.mark.parametrize("hook", [True, False])
def test_two_jobs_on_one_port_are_known_to_be_two(other: float, hook: bool) -> None:
    rng = random.Random(4)
    a = train(rng, 60, 400, [(100.0, 120.0)], 0.01)
    b = train(rng, 60, 400 * other, [(250.0, 120.0)], 0.01)
    rows = counted([a, b], every(1, 1), rng)
    until = rows[-1][0]
    watch = watched(rows)
    found = watch.witness({"a": a.told(until, hook=hook), "b": b.told(until, hook=hook)})
    if other == 1.0 or hook:  # else only the bursts of one keep step with it
        assert {one.says for one in found.values()} == {SILENT}
        assert "bursts may be those of other jobs of this host too: b" in found["a"].reason
    else:
        assert "2 jobs on this host" in found["a"].reason
        assert found["a"].start_ns in (None, pytest.approx(100 * MS, abs=2 * MS))


def test_a_job_that_reports_on_another_host_may_be_the_one_that_sends() -> None:
    rng = random.Random(5)
    job = train(rng, 60, 400, [(100.0, 120.0)])
    rows = counted([job], every(1, 1), rng)
    found = said(rows, {"a": job.told(rows[-1][0], hook=True), "elsewhere": Heard()})
    assert found["a"].says == SILENT
    assert found["a"].reason.endswith("other jobs of this host too: elsewhere")


def test_the_cost_of_many_jobs_is_bounded() -> None:
    rng = random.Random(5)
    job = train(rng, 60, 400, [(100.0, 120.0)])
    rows = counted([job], every(1, 1), rng)
    jobs = {str(number): job.told(rows[-1][0], hook=True) for number in range(300)}
    assert {one.reason for one in said(rows, jobs).values()} == {
        "300 jobs on this host: too many to tell whose bursts these are"
    }


def test_a_counter_refreshed_every_10_ms_says_so_where_that_matters() -> None:
    rng = random.Random(7)
    for period_ms, says in ((150.0, SILENT), (600.0, CONFIRM)):
        job = train(rng, 100, period_ms, [(0.4 * period_ms, 0.4 * period_ms)])
        rows = counted([job], every(1, 1), rng, refresh=lambda: 10 * MS)
        found = said(rows, {"a": job.told(rows[-1][0], hook=True)})["a"]
        assert found.says == says
        if says == SILENT:
            assert "too coarse: read or refreshed only every 1" in found.reason
        else:
            assert 10 * MS <= (found.spread_ns or 0) <= 20 * MS


def test_what_is_not_counted_silences_the_witness(tmp_path: Path) -> None:
    """A port that shows only one direction, a bond's master that counts nothing, a stream without pauses."""
    port = FakePort(tmp_path)
    port.data(0, "N/A (no PMA)")
    fast, _ = open_port(find_ports(root=str(tmp_path))[0], root=str(tmp_path))
    watch = CounterWatch(fast)
    rng = random.Random(8)
    job = train(rng, 20, 200, [(80.0, 90.0)])
    for now, sent in counted([job], every(4, 4), rng):
        port.sent(sent // 4)
        watch.sampler.tick(now)
    found = watch.witness({"a": job.told(now, hook=True)})["a"]
    assert (found.says, found.reason) == (SILENT, "no value of mlx5_0/1 rx_bytes")
    idle = said([(tick * MS, 0) for tick in range(3000)], {"a": Heard([0], [0])})["a"]
    assert (idle.says, idle.reason) == (SILENT, "no traffic is counted on eth0, or not for long enough")
    steady = said([(tick * MS, tick * 10**6) for tick in range(3000)], {"a": Heard([0], [0])})["a"]
    assert (steady.says, steady.reason) == (SILENT, "the traffic of eth0 has no bursts")


def test_slower_traffic_before_the_burst_contradicts_nobody() -> None:
    """The job communicates when it says, at a quarter of its later rate: the burst is later, the job not wrong."""
    rng = random.Random(9)
    fast = train(rng, 60, 400, [(200.0, 150.0)])
    slow = Train(fast.starts, [[(start + 100 * MS, start + 200 * MS)] for start in fast.starts])
    rows = [
        (now, a + b // 4)
        for (now, a), (_, b) in zip(
            counted([fast], every(1, 1), random.Random(1)), counted([slow], every(1, 1), random.Random(1)), strict=True
        )
    ]
    found = said(rows, {"a": slow.told(rows[-1][0], hook=True)})["a"]
    assert found.says == SILENT
    assert found.reason.startswith("perhaps the burst begins ")
    assert found.offset_ns == pytest.approx(100 * MS, abs=2 * MS)
    assert said(rows, {"a": fast.told(rows[-1][0], hook=True)})["a"].says == CONFIRM
