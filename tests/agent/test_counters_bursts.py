"""Bursts in a stream of samples, and whether they begin when a job says so."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from fake_sysfs import FakePort
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cassini_agent.counters.bursts import Burst, BurstDetector
from cassini_agent.counters.rdma import find_ports, open_port
from cassini_agent.counters.starts import CONFIRM, CONTRADICT, SILENT, Heard, Witness, _of_the_job, witness
from cassini_agent.counters.unwrap import BREAK, MISSING
from cassini_agent.counters.watch import CounterWatch, open_sources
from cassini_core import Job, Phase
from counter_jobs import MS, Disturbance, read_job

JOB = Job("vgg", 200.0, (Phase(110.0, 60.0, 40.0),))
TWO_PHASES = Job("two", 200.0, (Phase(60.0, 20.0, 80.0), Phase(120.0, 50.0, 30.0)))


def bursts_of(rows: Sequence[tuple[int, int]]) -> tuple[list[Burst], BurstDetector]:
    detector = BurstDetector()
    found = [detector.feed(now, total) for now, total in rows]
    return [burst for burst in found if burst is not None], detector


def bytes_of(
    job: Job, iterations: int, disturbance: Disturbance, seed: int = 0
) -> tuple[list[tuple[int, int]], list[int]]:
    """Rows of (ns, bytes), and the starts of communication."""
    readings = read_job(job, iterations, disturbance, seed)
    first = min(phase.start_ms for phase in job.phases)
    return [(t, 4 * words) for t, words in readings.rows], [round(s + first * MS) for s in readings.starts]


def of_the_job(bursts: Sequence[Burst]) -> list[Burst]:
    """As the witness looks at them: without the far smaller ones of others."""
    return list(_of_the_job(bursts, 0, 2**63))


def compare(bursts: Sequence[Burst], reports: Sequence[int]) -> Witness:
    return witness(bursts, Heard(reports, reports))


def bursts_at(starts: Sequence[int]) -> list[Burst]:
    """Bursts of 60 ms, known to the nanosecond, with nothing in between."""
    ends = [starts[0] - 100 * MS if starts else 0, *(start + 60 * MS for start in starts)]
    return [
        Burst(start, start + 60 * MS, 10**8, 0, max(0, start - end)) for start, end in zip(starts, ends, strict=False)
    ]


disturbances = st.builds(
    Disturbance,
    jitter=st.sampled_from([0.0, 0.03]),
    lateness_ms=st.sampled_from([0.05, 0.6]),
    missing=st.sampled_from([0.0, 0.05]),
    background=st.sampled_from([0.0, 0.05]),
    spikes=st.sampled_from([0.0, 0.3]),
)


@given(disturbance=disturbances, seed=st.integers(0, 1000), late_ms=st.sampled_from([-75.0, -12.3, 0.0, 12.3, 40.0]))
@settings(max_examples=25, deadline=None)
def test_bursts_are_found_and_a_late_job_is_told_by_how_much(
    disturbance: Disturbance, seed: int, late_ms: float
) -> None:
    rows, starts = bytes_of(JOB, 25, disturbance, seed)
    bursts, _ = bursts_of(rows)
    found = [burst.start_ns for burst in bursts]
    # Levels are known after half a second; from then on every start is found.
    due = [start for start in starts if start > rows[0][0] + 700 * MS][:-1]
    errors = sorted(min(abs(one - start) for one in found) for start in due)
    # A spike of others just before a start is taken for its beginning; that far a start may be off anyway.
    assert errors[len(errors) * 9 // 10] <= 5 * MS
    assert errors[len(errors) // 2] <= 1 * MS
    compared = compare(bursts, [round(start - late_ms * MS) for start in starts])
    if compared.offset_ns is None:
        # A spike of others ran into so many bursts that their starts are not known well enough.
        assert disturbance.spikes
        return
    assert abs(compared.offset_ns - late_ms * MS) <= 1.5 * MS
    # What flows when the job reports may be what it reports, if it began before or not.
    flows = late_ms == -12.3 or (late_ms and (disturbance.background or disturbance.spikes))
    assert compared.says == (CONTRADICT if late_ms else CONFIRM) or (flows and compared.says == SILENT)
    assert compared.says == SILENT or late_ms != -12.3
    if late_ms:
        where = f"{abs(compared.offset_ns) / 1e6:.1f} ms {'later' if late_ms > 0 else 'earlier'}"
        words = "counters show the burst" if compared.says == CONTRADICT else "perhaps the burst begins"
        assert compared.reason.startswith(f"{words} {where} than the job reports, within ")


def test_later_phases_do_not_look_like_a_delay() -> None:
    rows, starts = bytes_of(TWO_PHASES, 25, Disturbance(jitter=0.02))
    found = bursts_of(rows)[0]
    assert len(found) > 35
    assert compare(found, starts).says == CONFIRM
    assert compare(found, [start - 20 * MS for start in starts]).says == CONTRADICT


def test_bytes_of_a_burst_are_counted() -> None:
    bursts, _ = bursts_of(bytes_of(JOB, 20, Disturbance())[0])
    for burst in bursts:
        assert burst.bytes == pytest.approx(60 * 40 * 125_000, rel=0.02)
        assert burst.end_ns - burst.start_ns == pytest.approx(60 * MS, abs=1.5 * MS)


def test_short_bursts_of_others_are_none_of_the_job() -> None:
    rows, starts = bytes_of(JOB, 40, Disturbance(spikes=1.0), seed=3)
    found = [burst.start_ns for burst in of_the_job(bursts_of(rows)[0])][3:]
    assert len(found) > 30
    # A spike right before a burst is one with it; otherwise spikes of 3 ms beside bursts of 60 are left out.
    assert sum(min(abs(one - start) for start in starts) > 10 * MS for one in found) <= 2


def test_a_burst_across_a_break_is_not_reported() -> None:
    rows, starts = bytes_of(JOB, 20, Disturbance())
    at = next(n for n, (now, _) in enumerate(rows) if now > starts[15] + 30 * MS)
    # Reset in the middle of a burst, and not read until it is over.
    broken = [*rows[:at], (rows[at + 60][0], BREAK), *rows[at + 61 :]]
    whole, cut = bursts_of(rows)[0], bursts_of(broken)[0]
    assert len(cut) == len(whole) - 1
    assert all(abs(burst.start_ns - starts[15]) > 50 * MS for burst in cut)


def test_a_steady_stream_has_no_bursts() -> None:
    rng = random.Random(1)
    total, rows = 0, []
    for tick in range(5000):
        total += round(5_000_000 * rng.uniform(0.8, 1.2))
        rows.append((tick * MS, total))
    bursts, detector = bursts_of(rows)
    assert bursts == []
    assert not detector.distinct


def test_silence_has_no_bursts() -> None:
    assert bursts_of([(tick * MS, 0) for tick in range(3000)])[0] == []


@pytest.mark.parametrize("back_ns", [0, 3 * MS])
def test_readings_of_one_instant_or_of_an_earlier_one_change_nothing(back_ns: int) -> None:
    rows, _ = bytes_of(JOB, 20, Disturbance())
    half = len(rows) // 2
    doubled = [again for now, total in rows[half:] for again in ((now, total - 7), (now - back_ns, total))]
    found, expected = bursts_of([*rows[:half], *doubled])[0], bursts_of(rows)[0]
    assert len(found) == len(expected) > 10
    assert all(abs(a.start_ns - b.start_ns) < MS / 10 for a, b in zip(found, expected, strict=True))


def test_a_rarely_refreshed_counter_is_noticed() -> None:
    rows, _ = bytes_of(JOB, 30, Disturbance())
    shown, seen = [], 0
    for number, (now, total) in enumerate(rows):
        seen = total if number % 25 == 0 else seen
        shown.append((now, seen))
    _, detector = bursts_of(shown)
    assert detector.still_ns == pytest.approx(24 * MS, rel=0.1)


@given(seed=st.integers(0, 100), kind=st.sampled_from([MISSING, BREAK]))
@settings(max_examples=15, deadline=None)
def test_gaps_and_breaks_make_no_bursts(seed: int, kind: int) -> None:
    rows, starts = bytes_of(JOB, 25, Disturbance(), seed)
    rng = random.Random(seed)
    for _ in range(5):
        at = rng.randrange(len(rows) - 30)
        for place in range(at, at + (1 if kind == BREAK else rng.randint(1, 20))):
            rows[place] = (rows[place][0], kind)
    for burst in bursts_of(rows)[0]:
        nearest = min(abs(burst.start_ns - start) for start in starts)
        # After a break in the middle of a burst its rest is one; a start in a gap is known as well as the gap is short.
        assert nearest <= max(3 * MS, burst.blur_ns) or (kind == BREAK and nearest < 60 * MS)


@given(
    phases=st.lists(
        st.tuples(st.floats(2.5, 60.0), st.floats(3.0, 60.0), st.floats(15.0, 100.0)), min_size=1, max_size=4
    ),
    jitter=st.sampled_from([0.0, 0.01, 0.05]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=30, deadline=None)
def test_a_job_that_is_right_is_not_contradicted_whatever_its_phases_are(
    phases: list[tuple[float, float, float]], jitter: float, seed: int
) -> None:
    """Its first phase may be slower or smaller than the others, or one with that of the iteration before.

    One that hardly ever pauses is another matter: its slowest phase looks like traffic in the background.
    """
    now, made = 0.0, []
    for pause, length, gbps in phases:
        made.append(Phase(now + pause, length, gbps))
        now += pause + length
    assume(sum(pause for pause, _, _ in phases) > 0.2 * now)
    rows, starts = bytes_of(Job("right", now, tuple(made)), 40, Disturbance(jitter=jitter), seed)
    assert compare(bursts_of(rows)[0], starts[:-3]).says != CONTRADICT


reports = st.lists(st.integers(0, 10**12), max_size=40)


@given(bursts=reports, starts=reports)
def test_any_two_lists_can_be_compared(bursts: list[int], starts: list[int]) -> None:
    for heard in (Heard(starts, starts), Heard(starts)):
        compared = witness(bursts_at(sorted(bursts)), heard)
        assert 0 <= compared.iterations <= len(starts)
        assert compared.reason


@given(offset=st.integers(-90 * MS, 90 * MS), count=st.integers(14, 40), lost=st.sets(st.integers(0, 39), max_size=3))
@example(-60 * MS - 1, 16, set())
@example(-80 * MS, 16, set())
def test_a_constant_offset_is_found_whatever_it_is(offset: int, count: int, lost: set[int]) -> None:
    starts = [10**9 + 200 * MS * n for n in range(count)]
    compared = compare(bursts_at([start + offset for n, start in enumerate(starts) if n not in lost]), starts)
    if compared.iterations >= 16:
        assert compared.offset_ns == offset
        flows = -60 * MS <= offset < 0
        assert compared.says == (CONFIRM if abs(offset) <= 5 * MS else SILENT if flows else CONTRADICT)
    else:
        assert compared.says == SILENT


def test_bursts_that_lie_anywhere_say_nothing() -> None:
    rng = random.Random(5)
    starts = [10**9 + 200 * MS * n for n in range(30)]
    compared = compare(bursts_at(sorted(start + rng.randrange(-100 * MS, 100 * MS) for start in starts)), starts)
    assert (compared.says, compared.offset_ns) == (SILENT, None)
    assert "no burst at a steady distance" in compared.reason


def test_bursts_that_scatter_about_the_tolerance_are_no_contradiction() -> None:
    rng = random.Random(1)
    starts = [10**9 + 200 * MS * n for n in range(16)]
    bursts = [start + rng.randrange(MS, 8 * MS) for start in starts]
    compared = compare(bursts_at(bursts), starts)
    assert compared.offset_ns is not None
    assert abs(compared.offset_ns) <= 5 * MS
    assert compared.says == CONFIRM


def test_bursts_that_wander_are_those_of_another_job() -> None:
    starts = [10**9 + 200 * MS * n for n in range(40)]
    compared = compare(bursts_at([start + 20 * MS + n * MS // 2 for n, start in enumerate(starts)]), starts)
    assert compared.says == SILENT
    assert "wander" in compared.reason


def test_few_iterations_are_not_judged() -> None:
    compared = compare(bursts_at([0, 200 * MS]), [0, 200 * MS])
    assert compared.says == SILENT
    assert "too few iterations" in compared.reason


# --- the watch, over a port that the test moves -------------------------------------------------------------------


class Played:
    """A watch over a fake port through which a job's traffic goes."""

    def __init__(self, root: Path) -> None:
        self.port = FakePort(root)
        self.port.write("hw_counters/np_cnp_sent", 0)
        fast, slow = open_port(find_ports(root=str(root))[0], root=str(root), pread=self.port.pread)
        self.now = 0
        self.watch = CounterWatch(fast, slow, clock=lambda: self.now)

    def said(self, starts: Sequence[int]) -> Witness:
        return self.watch.witness({"a": Heard(starts, starts)})["a"]

    def play(self, rows: Sequence[tuple[int, int]]) -> None:
        for number, (now, words) in enumerate(rows):
            self.now = now
            self.port.sent(words)
            if number % 1000 == 0:
                self.watch.sampler.slow_tick(now)
            self.watch.sampler.tick(now)
        self.watch.poll()


def test_a_watch_says_what_it_counts_and_when_the_job_is_wrong(tmp_path: Path) -> None:
    played = Played(tmp_path)
    readings = read_job(JOB, 24, Disturbance())
    played.play(readings.rows)
    starts = [round(start + 110 * MS) for start in readings.starts]
    assert played.said(starts).says == CONFIRM
    said = played.said([start - round(12.3 * MS) for start in starts])
    assert said.says == CONTRADICT
    assert said.reason.startswith("counters show the burst 12.3 ms later than the job reports, within ")
    latest = played.watch.latest()
    device = latest["devices"]["mlx5_0/1"]
    assert device["rate_gbps"] == 100.0
    assert device["tx_bytes"] == 4 * (readings.rows[-1][1] - readings.rows[0][1])
    assert 5 < device["tx_gbps"] < 20
    assert (device["rx_bytes"], device["rx_gbps"], latest["marks_per_s"]) == (0, 0.0, {"cnp_sent": 0})
    assert (latest["note"], latest["samples"]) == (None, len(readings.rows))


def test_no_counters_are_said_to_be_none(tmp_path: Path) -> None:
    FakePort(tmp_path).data("N/A (no PMA)", "N/A (no PMA)")
    fast, _ = open_port(find_ports(root=str(tmp_path))[0], root=str(tmp_path))
    watch = CounterWatch(fast)
    for tick in range(20):
        watch.sampler.tick(tick * MS)
    said = watch.witness({"a": Heard([0, MS], [0, MS])})["a"]
    assert said.says == SILENT
    assert said.reason.startswith("no counters: ")
    assert "N/A (no PMA)" in said.reason
    assert watch.latest()["note"] == said.reason
    assert CounterWatch([]).witness({"a": Heard()})["a"].reason == "no counters: no device"


def test_a_device_that_went_away_is_said_to(tmp_path: Path) -> None:
    played = Played(tmp_path)
    readings = read_job(JOB, 12, Disturbance())
    played.play(readings.rows)
    played.port.unplug()
    end = readings.rows[-1][0]
    for tick in range(1500):
        played.watch.sampler.tick(end + tick * MS)
    said = played.said([round(start) for start in readings.starts])
    assert said.says == SILENT
    assert "no counters" in said.reason
    assert "No such" in said.reason


def test_a_port_that_comes_back_brings_no_burst(tmp_path: Path) -> None:
    played = Played(tmp_path)
    rows = read_job(JOB, 12, Disturbance()).rows
    played.play(rows)
    before = played.watch.latest()["bursts"]
    played.port.unplug()
    played.play([(rows[-1][0] + MS, 0)])
    played.port.plug()
    played.port.data(0)
    played.play([(rows[-1][0] + (1100 + n) * MS, 0) for n in range(100)])
    latest = played.watch.latest()
    assert before - 1 <= latest["bursts"] <= before + 1
    assert played.watch._bursts[-1].start_ns < rows[-1][0]
    assert latest["note"] is None


def test_no_rate_is_taken_across_a_break(tmp_path: Path) -> None:
    played = Played(tmp_path)
    words_per_ms = 10_000_000 // 4  # 80 Gbit/s
    played.play([(tick * MS, 2**40 + tick * words_per_ms) for tick in range(1200)])
    device = "mlx5_0/1"
    assert played.watch.latest()["devices"][device]["tx_gbps"] == pytest.approx(80, rel=0.01)
    # Cleared by somebody while it was not read: what it counted before that is not known.
    for tick in range(1500, 3500):
        played.play([(tick * MS, (tick - 1499) * words_per_ms)])
        assert played.watch.latest()["devices"][device]["tx_gbps"] in (None, pytest.approx(80, rel=0.01))
    assert played.watch.latest()["devices"][device]["tx_gbps"] is not None


def test_counters_too_coarse_for_bursts_are_said_to_be(tmp_path: Path) -> None:
    played = Played(tmp_path)
    rows = read_job(JOB, 12, Disturbance()).rows
    shown = [(now, rows[number - number % 100][1]) for number, (now, _) in enumerate(rows)]
    played.play(shown)
    said = played.said([now for now, _ in rows[::200]])
    assert said.says == SILENT
    assert "00 ms" in said.reason


def test_active_ports_come_before_network_devices(tmp_path: Path) -> None:
    (tmp_path / "proc/self/net").mkdir(parents=True)
    (tmp_path / "proc/self/net/route").write_text("Iface Destination\neth0 00000000 0 0 0 0 0 00000000\n")
    fast, _ = open_sources(root=str(tmp_path))
    assert [source.channels[0].device for source in fast] == ["eth0"]
    FakePort(tmp_path)
    FakePort(tmp_path, "mlx5_1").write("state", "1: DOWN")
    fast, slow = open_sources(root=str(tmp_path))
    assert {source.channels[0].device for source in fast} == {"mlx5_0/1"}
    assert "ecn_marked" in {source.channels[0].name for source in slow}
    with pytest.raises(ValueError, match="no RDMA device or port 'mlx5_7'"):
        open_sources(["mlx5_7"], root=f"{tmp_path}/")
    fast, _ = open_sources(["mlx5_1"], ["eth5"], root=str(tmp_path))
    assert [channel.device for source in fast for channel in source.channels] == ["mlx5_1/1"] * 2 + ["eth5"] * 2


def test_marks_that_cannot_be_read_for_a_moment_are_not_new_ones_afterwards(tmp_path: Path) -> None:
    port = FakePort(tmp_path)
    port.write("hw_counters/np_cnp_sent", 0)
    watch = CounterWatch(*open_port(find_ports(root=str(tmp_path))[0], root=str(tmp_path), pread=port.pread))
    # A million in the first second, then one in each; not readable for a second, and reset by somebody.
    shown = [0, 10**6, "N/A", *range(10**6, 10**6 + 14), *range(14)]
    for second, text in enumerate(shown):
        port.write("hw_counters/np_cnp_sent", text)
        watch.sampler.slow_tick(second * 1000 * MS)
        for tick in range(0, 1000, 100):
            watch.sampler.tick((second * 1000 + tick) * MS)
        per_s = watch.latest()["marks_per_s"]["cnp_sent"]
        if second > 11:
            assert 0.7 <= per_s <= 1
