"""From counters back to the job: a known job is played to a counter, recorded, and profiled."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bench.profiles.recordings import Truth
from bench.profiles.recovery import in_place
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import Phase as Step
from hypothesis import strategies as st

from cassini_agent.counters.recorder import Group, header_line, sample_line
from cassini_agent.counters.sources import Channel
from cassini_agent.counters.unwrap import BREAK, MISSING
from cassini_core import InputError, Job, Phase
from cassini_core.cli import main
from cassini_core.profiles.counters import CounterProfile, profile_counters
from cassini_core.profiles.counters.segments import segment
from counter_jobs import MS, Disturbance, Readings, read_job, write_recording

VGG = Job("vgg", 254.7, (Phase(141.3, 113.4, 45.0),))


def profiled(readings: Readings, path: Path, width: int | None = None) -> CounterProfile:
    write_recording(path, readings.rows, width)
    return profile_counters(path, job_id="found")


def assert_same_up_to_rotation(found: Job, true: Job, length_ms: float, rate: float) -> None:
    """The same phases after the same pauses, beginning with any phase; time 0 is no part of it."""
    assert len(found.phases) == len(true.phases), (found, true)
    rounds = [list(true.phases[n:] + true.phases[:n]) for n in range(len(true.phases))]
    misfits = [
        max(
            max(
                abs(f.duration_ms - t.duration_ms) / length_ms,
                abs(f.gbps / t.gbps - 1) / rate,
                abs(_apart(found, f, found.phases[0]) - _apart(true, t, one[0])) / length_ms,
            )
            for f, t in zip(found.phases, one, strict=True)
        )
        for one in rounds
    ]
    assert min(misfits) <= 1, (min(misfits), found, true)


def _apart(job: Job, phase: Phase, first: Phase) -> float:
    return (phase.start_ms - first.start_ms) % job.iteration_ms


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """One to three phases; one pause is clearly the longest, or the iteration would be ambiguous."""
    count = draw(st.integers(1, 3))
    lengths = [draw(st.floats(6.0, 60.0)) for _ in range(count)]
    pauses = [draw(st.floats(5.0, 30.0)) for _ in range(count - 1)]
    longest = draw(st.floats(1.6, 4.0)) * max([20.0, *pauses])
    phases, at = [], longest
    for length, pause in zip(lengths, [*pauses, 0.0], strict=True):
        phases.append(Phase(at, length, draw(st.floats(20.0, 90.0))))
        at += length + pause
    return Job("true", round(at, 4), tuple(phases))


disturbances = st.builds(
    Disturbance,
    jitter=st.sampled_from([0.0, 0.0, 0.01, 0.03]),
    lateness_ms=st.sampled_from([0.05, 0.5]),
    missing=st.sampled_from([0.0, 0.03]),
    background=st.sampled_from([0.0, 0.04]),
    spikes=st.sampled_from([0.0, 0.15]),
    wrap=st.booleans(),
    start=st.sampled_from([0, 2**32 - 5_000_000]),
)


@given(job=jobs(), disturbance=disturbances, seed=st.integers(0, 100))
@settings(
    max_examples=15,
    deadline=None,
    phases=[Step.reuse, Step.generate],  # A job's rhythm does not shrink: five minutes for nothing.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_job_comes_back(
    job: Job, disturbance: Disturbance, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    readings = read_job(job, 24, disturbance, seed)
    try:
        found = profiled(readings, tmp_path_factory.mktemp("r") / "x")
    except InputError as refused:
        # Others' traffic may by chance repeat, too. If that were usual, too few examples would be left.
        if disturbance.spikes and "two things repeat" in str(refused):
            reject()
        raise
    true_ms = statistics.median_low(after - before for before, after in pairwise(readings.starts)) / MS
    # Stated tolerances: the iteration to 0.2 ms (and 0.6 of the jitter), edges to 2 ms, rates to 8 %.
    assert found.iteration_ms.typical == pytest.approx(true_ms, abs=0.2 + 0.6 * disturbance.jitter * job.iteration_ms)
    if disturbance.spikes:
        # Once in 300 times what others send in a few of 24 iterations makes a piece of its own of some ms at an edge,
        # or a small phase: it cannot be told from the job's. The rest of the traffic is where it was, but for jitter.
        bursts = [(phase.start_ms, phase.duration_ms, phase.gbps) for phase in job.phases]
        assert in_place(found.job, Truth(job.iteration_ms, 0.0, bursts)) > 0.85
    else:
        assert_same_up_to_rotation(found.job, job, length_ms=2.0, rate=0.08)
    assert found.background_gbps == pytest.approx(
        disturbance.background * max(phase.gbps for phase in job.phases), abs=0.5
    )


@pytest.mark.parametrize("iteration_ms", [25.0, 90.3, 254.7, 1800.0])
def test_undisturbed_it_is_exact(tmp_path: Path, iteration_ms: float) -> None:
    job = Job("one", iteration_ms, (Phase(0.5 * iteration_ms, 0.3 * iteration_ms, 45.0),))
    found = profiled(read_job(job, 40, Disturbance(lateness_ms=0.05)), tmp_path / "x")
    assert found.job.iteration_ms == pytest.approx(iteration_ms, abs=0.05)
    assert_same_up_to_rotation(found.job, job, length_ms=0.5, rate=0.02)
    assert found.regularity > 0.95
    assert found.direction == "tx"


def test_edges_are_found_between_samples(tmp_path: Path) -> None:
    job = Job("two", 90.3, (Phase(50.0, 7.6, 90.0), Phase(62.0, 5.3, 40.0)))
    found = profiled(read_job(job, 60, Disturbance()), tmp_path / "x")
    assert found.job.iteration_ms == pytest.approx(90.3, abs=0.1)
    assert_same_up_to_rotation(found.job, job, length_ms=0.15, rate=0.02)


def test_equal_bursts_in_a_row_are_one_iteration(tmp_path: Path) -> None:
    job = Job("ten", 330.0, tuple(Phase(100.0 + 20 * n, 15.0, 60.0) for n in range(10)))
    found = profiled(read_job(job, 30, Disturbance(jitter=0.02)), tmp_path / "x")
    assert len(found.job.phases) == 10
    assert found.job.iteration_ms == pytest.approx(330, rel=0.03)


def test_bytes_are_kept(tmp_path: Path) -> None:
    found = profiled(read_job(VGG, 30, Disturbance()), tmp_path / "x")
    carried = sum(phase.duration_ms * phase.gbps for phase in found.job.phases)
    assert carried == pytest.approx(113.4 * 45, rel=0.01)


def test_resets_and_gaps_cost_their_iterations_only(tmp_path: Path) -> None:
    rows = read_job(VGG, 30, Disturbance(start=2**40)).rows
    broken = [(t, raw - 2**40 if n > 4000 else raw) for n, (t, raw) in enumerate(rows) if not 2000 < n < 2100]
    found = profiled(Readings(broken, []), tmp_path / "x")
    assert found.job.iteration_ms == pytest.approx(254.7, abs=0.2)
    assert_same_up_to_rotation(found.job, VGG, length_ms=1.0, rate=0.03)
    assert 2 <= found.iterations_ignored <= 6
    assert any("1 resets" in warning for warning in found.warnings)


def test_one_slow_iteration_is_left_out(tmp_path: Path) -> None:
    readings = read_job(VGG, 30, Disturbance())
    late = [(t + 70 * MS if n > 3000 else t, raw) for n, (t, raw) in enumerate(readings.rows)]
    found = profiled(Readings(late, []), tmp_path / "x")
    assert found.job.iteration_ms == pytest.approx(254.7, abs=0.1)
    assert found.iterations_ignored >= 1
    assert_same_up_to_rotation(found.job, VGG, length_ms=1.0, rate=0.03)


def test_a_coarse_counter_is_said_to_be(tmp_path: Path) -> None:
    rows = read_job(VGG, 40, Disturbance()).rows
    coarse = [(t, rows[n - n % 10][1]) for n, (t, _) in enumerate(rows)]
    found = profiled(Readings(coarse, []), tmp_path / "x")
    assert found.resolution_ms == pytest.approx(10, abs=0.5)
    assert found.job.iteration_ms == pytest.approx(254.7, abs=2)
    assert any("refreshed only every 10" in warning for warning in found.warnings)


def two_ports(path: Path, first: Sequence[tuple[int, int]], second: Sequence[tuple[int, int]]) -> None:
    names = ["tx_bytes", "rx_bytes"]
    group = Group(MS, tuple(Channel(f"mlx5_{n}/1", name, "bytes") for n in range(2) for name in names))
    rows = [(t, 4 * a, 40 * a, 4 * b, 0) for (t, a), (_, b) in zip(first, second, strict=True)]
    lines = [sample_line(0, rows[i : i + 1000]) for i in range(0, len(rows), 1000)]
    path.write_bytes(header_line([group], {}) + b"".join(lines))


def test_devices_add_up_and_the_busier_direction_counts(tmp_path: Path) -> None:
    rows = read_job(VGG, 20, Disturbance()).rows
    two_ports(tmp_path / "x", rows, rows)
    both = profile_counters(tmp_path / "x", job_id="x", direction="tx")
    one = profile_counters(tmp_path / "x", job_id="x", devices=["mlx5_1/1"])
    busier = profile_counters(tmp_path / "x", job_id="x")
    rates = [profile.job.phases[0].gbps for profile in (both, one, busier)]
    assert rates == pytest.approx([90, 45, 450], rel=0.01)
    assert [profile.direction for profile in (both, one, busier)] == ["tx", "tx", "rx"]
    with pytest.raises(InputError, match=r"expected a device of the recording \(mlx5_0/1, mlx5_1/1\), got 'eth7'"):
        profile_counters(tmp_path / "x", job_id="x", devices=["eth7"])


def test_what_does_not_repeat_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    noise = np.cumsum(rng.exponential(1e5, 5000)).astype(int)
    write_recording(tmp_path / "x", [(n * MS, int(v)) for n, v in enumerate(noise)])
    with pytest.raises(InputError, match="does not repeat"):
        profile_counters(tmp_path / "x", job_id="x")


def test_too_short_a_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"does not repeat at least 3 times"):
        profiled(read_job(VGG, 2, Disturbance()), tmp_path / "x")


@pytest.mark.parametrize(("value", "said"), [(0, "no traffic on eth0"), (MISSING, "never"), (BREAK, "never")])
def test_silence_is_refused(tmp_path: Path, value: int, said: str) -> None:
    group = Group(MS, (Channel("eth0", "tx_bytes", "bytes"),))
    rows = [(n * MS, value) for n in range(500)]
    (tmp_path / "x").write_bytes(header_line([group], {}) + sample_line(0, rows))
    with pytest.raises(InputError, match=said):
        profile_counters(tmp_path / "x", job_id="x")
    with pytest.raises(InputError, match="rx_bytes: not there"):
        profile_counters(tmp_path / "x", job_id="x", direction="rx")


def test_a_recording_without_bytes_is_refused(tmp_path: Path) -> None:
    group = Group(MS, (Channel("eth0", "tx_packets", "packets"),))
    (tmp_path / "x").write_bytes(header_line([group], {}) + sample_line(0, [(0, 0)]))
    with pytest.raises(InputError, match="expected a counter of bytes"):
        profile_counters(tmp_path / "x", job_id="x")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"direction": "up"}, "direction"),
        ({"negligible": 1.0}, "negligible"),
        ({"max_phases": 0}, "max_phases"),
        ({"iteration_ms": 0.0}, "iteration_ms"),
        ({"iteration_ms": math.nan}, "iteration_ms"),
    ],
)
def test_options_out_of_range(tmp_path: Path, option: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=f"^{said}: expected"):
        profile_counters(tmp_path / "x", job_id="x", **option)  # type: ignore[arg-type]


def test_a_torn_recording_is_profiled_and_said_to_be(tmp_path: Path) -> None:
    write_recording(tmp_path / "x", read_job(VGG, 30, Disturbance()).rows)
    data = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(data[: len(data) * 2 // 3])
    found = profile_counters(tmp_path / "x", job_id="x")
    assert found.job.iteration_ms == pytest.approx(254.7, abs=0.1)
    assert any("ends inside a line" in warning for warning in found.warnings)


@given(
    levels=st.lists(st.tuples(st.integers(4, 40), st.sampled_from([0.0, 10.0, 25.0, 60.0])), min_size=1, max_size=6),
    shift=st.floats(0, 0.99),
)
def test_pieces_cover_all_and_keep_the_bytes(levels: list[tuple[int, float]], shift: float) -> None:
    fine = np.repeat([level for _, level in levels], [100 * size for size, _ in levels])
    profile = np.roll(fine, int(100 * shift)).reshape(-1, 100).mean(axis=1)
    pieces = segment(profile)
    assert pieces[0][0] == 0
    assert pieces[-1][1] == len(profile)
    assert all(one[1] == two[0] for one, two in pairwise(pieces))
    assert sum((end - begin) * level for begin, end, level in pieces) == pytest.approx(profile.sum(), rel=1e-9)
    changes = sum(a != b for (_, a), (_, b) in pairwise(levels))
    assert len(pieces) <= changes + 3


def test_the_command_writes_a_job_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_recording(tmp_path / "vgg.rec", read_job(VGG, 30, Disturbance(background=0.03)).rows)
    out = tmp_path / "job.json"
    assert main(["profile", "counters", str(tmp_path / "vgg.rec"), "-o", str(out)]) == 0
    job = json.loads(out.read_text())
    assert (job["format"], job["id"]) == ("cassini-job/1", "job")
    assert job["iteration_ms"] == pytest.approx(254.7, abs=0.1)
    text = capsys.readouterr().out
    assert "Phases of" in text
    assert "taken off as background" in text
    assert main(["profile", "counters", str(tmp_path / "vgg.rec"), "-o", "-", "--id", "v", "--direction", "tx"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "v"
    assert main(["profile", "counters", str(out), "-o", str(tmp_path / "y.json")]) == 2
    assert "expected a recording of counters" in capsys.readouterr().err
