"""A profile of counters is right, or it is refused, and says how sure it is."""

from __future__ import annotations

import json
import sys
from array import array
from pathlib import Path

import numpy as np
import pytest
from bench.profiles.recordings import DISTURBANCES, REFUSED
from bench.profiles.recovery import attempt, fault_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassini_agent.counters.recorder import Group, header_line, sample_line
from cassini_agent.counters.sources import Channel
from cassini_agent.counters.unwrap import BREAK, MISSING
from cassini_core import InputError, Job, Phase
from cassini_core.cli import main
from cassini_core.profiles.counters import CounterProfile, profile_counters
from cassini_core.profiles.counters import recording as recorded
from cassini_core.profiles.counters.segments import segment
from counter_jobs import MS, Disturbance, Readings, read_job, write_played, write_recording

VGG = Job("vgg", 254.7, (Phase(141.3, 113.4, 45.0),))


def profiled(readings: Readings, path: Path, iteration_ms: float | None = None) -> CounterProfile:
    write_recording(path, readings.rows)
    return profile_counters(path, job_id="found", iteration_ms=iteration_ms)


@pytest.mark.parametrize(
    ("name", "iteration_ms", "bursts", "said"),
    [
        ("burst-100", 100.0, [(40.0, 50.0)], ""),
        ("refreshed-every-10", 100.0, [(40.0, 50.0)], "refreshed only every 10 ms"),
        ("tx-unreadable", 100.0, [(40.0, 5.0)], "tx_bytes: never readable, so unknown, not zero"),
        ("exact-255-for-60-s", 255.0, [(114.0, 50.0)], ""),
        ("pace-changes", 260.0, [(60.0, 50.0)], "the iteration time changes during the recording, from 200 to 260 ms"),
        ("accumulation", 500.0, [(8.0, 50.0)] * 4 + [(60.0, 50.0)], ""),
    ],
)
def test_what_was_once_profiled_wrongly(
    data_dir: Path, name: str, iteration_ms: float, bursts: list[tuple[float, float]], said: str
) -> None:
    found = profile_counters(data_dir / f"counters/{name}.cnt", job_id="found")
    assert found.job.iteration_ms == pytest.approx(iteration_ms, rel=0.002)
    shapes = sorted((phase.duration_ms, phase.gbps) for phase in found.job.phases)
    assert len(shapes) == len(bursts)
    for shape, burst in zip(shapes, bursts, strict=True):
        assert shape == pytest.approx(burst, rel=0.01)
    assert [said in warning for warning in found.warnings] == [True] * bool(said)


@pytest.mark.parametrize("seed", [1000, pytest.param(1001, marks=pytest.mark.slow)])
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_a_random_job_is_found_or_refused(disturbance: str, seed: int) -> None:
    outcome = attempt(disturbance, seed).outcome
    # The whole study: python -m bench.profiles.recovery. What it refuses of these is a period that changes.
    assert outcome in ({"refused"} if disturbance in REFUSED else {"right", "refused"})
    assert disturbance in (*REFUSED, "period change") or outcome == "right"


def test_a_job_that_takes_nearly_half_as_long_as_another_is_no_part_of_it() -> None:
    assert attempt("two rhythms", 157).outcome == "refused"


@pytest.mark.parametrize("seed", [0, 2])
def test_layers_are_not_taken_for_iterations(tmp_path: Path, seed: int) -> None:
    """Each layer sends in both passes, more in the second one; all pauses of an iteration are longer or shorter."""
    rng = np.random.default_rng(seed)
    layers, rows, starts, now, total = 22, [(0.0, 0.0)], [], 0.0, 0.0
    for _ in range(14):
        starts.append(now)
        pause_ms = 20.0 * (1 + rng.normal(0, 0.06))
        for gbps in [40.0] * layers + [60.0] * layers:
            rows += [(now + pause_ms, total), (now + pause_ms + 30.0, total + 30.0 * gbps)]
            now, total = rows[-1]
    at_ms = np.arange(0.0, now)
    words = np.interp(at_ms, *np.array(rows).T) * 125_000 / 4
    write_recording(tmp_path / "x", [(round(t * MS), int(w)) for t, w in zip(at_ms, words, strict=True)])
    try:
        found = profile_counters(tmp_path / "x", job_id="found")
    except InputError:
        return
    assert found.job.iteration_ms == pytest.approx(float(np.mean(np.diff(starts))), rel=0.02)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
@pytest.mark.parametrize("disturbance", ["kernel network", "kernel network, jitter 3 %"])
def test_phases_on_a_kernels_network_are_not_noise(tmp_path: Path, disturbance: str, seed: int) -> None:
    truth = write_played(tmp_path / "x", disturbance, 2000 + seed)
    assert truth is not None
    found = profile_counters(tmp_path / "x", job_id="found")
    assert not fault_of(found.job, truth)
    assert len(found.job.phases) <= 6
    assert found.provenance.kept_share == pytest.approx(1, abs=0.05)


def test_three_iterations_are_enough_and_two_are_not(tmp_path: Path) -> None:
    assert profiled(read_job(VGG, 4, Disturbance()), tmp_path / "x").job.iteration_ms == pytest.approx(254.7, abs=0.1)
    with pytest.raises(InputError, match="does not repeat at least 3 times"):
        profiled(read_job(VGG, 2, Disturbance()), tmp_path / "x")


def test_an_iteration_time_can_be_given_where_the_recording_is_too_short(tmp_path: Path) -> None:
    found = profiled(read_job(VGG, 2, Disturbance()), tmp_path / "x", iteration_ms=254.7)
    assert found.job.iteration_ms == 254.7
    assert found.provenance.iteration_from == "given"
    assert "was given" in found.warnings[0]
    assert sum(p.duration_ms * p.gbps for p in found.job.phases) == pytest.approx(113.4 * 45, rel=0.01)


@pytest.mark.parametrize("given_ms", [100.0, 127.35, 262.0, 5.0, 1e9])
def test_a_given_iteration_time_that_the_traffic_contradicts_is_refused(tmp_path: Path, given_ms: float) -> None:
    with pytest.raises(InputError, match="given"):
        profiled(read_job(VGG, 20, Disturbance()), tmp_path / "x", iteration_ms=given_ms)


def test_two_iterations_of_a_given_time_must_be_alike(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="given are not alike"):
        profiled(read_job(VGG, 2, Disturbance()), tmp_path / "x", iteration_ms=180.0)


@pytest.mark.parametrize("many", [1, 3])
def test_a_given_iteration_may_be_several_that_repeat(tmp_path: Path, many: int) -> None:
    found = profiled(read_job(VGG, 20, Disturbance()), tmp_path / "x", iteration_ms=many * 254.7)
    assert found.job.iteration_ms == pytest.approx(many * 254.7)
    assert len(found.job.phases) == many
    assert found.provenance.iteration_from == "given"
    assert found.warnings == ()


def test_a_period_of_less_than_four_samples_is_refused(tmp_path: Path) -> None:
    job = Job("fast", 3.0, (Phase(1.0, 1.2, 50.0),))
    with pytest.raises(InputError):
        profiled(read_job(job, 2000, Disturbance()), tmp_path / "x")


def test_bytes_that_are_no_part_of_the_job_are_warned_of_first(tmp_path: Path) -> None:
    found = profiled(read_job(VGG, 30, Disturbance(background=0.08)), tmp_path / "x")
    assert "of the bytes recorded" in found.warnings[0]
    assert found.provenance.kept_share == pytest.approx(20.03 / (20.03 + 3.6), abs=0.01)


@pytest.mark.parametrize(("line_gbps", "warned"), [(50, False), (40, True), (0, False)])
def test_more_than_the_link_carries_is_warned_of(tmp_path: Path, line_gbps: int, warned: bool) -> None:
    rows = [(t, 4 * raw) for t, raw in read_job(VGG, 20, Disturbance()).rows]
    groups = [Group(MS, (Channel("p", "tx_bytes", "bytes", gbps=line_gbps or None),))]
    lines = [sample_line(0, rows[i : i + 1000]) for i in range(0, len(rows), 1000)]
    (tmp_path / "x").write_bytes(header_line(groups, {}) + b"".join(lines))
    found = profile_counters(tmp_path / "x", job_id="x")
    assert any("that the link carries" in warning for warning in found.warnings) == warned


def test_a_job_file_says_where_it_comes_from(tmp_path: Path) -> None:
    write_recording(tmp_path / "vgg.rec", read_job(VGG, 2, Disturbance()).rows)
    out = tmp_path / "job.json"
    assert main(["profile", "counters", str(tmp_path / "vgg.rec"), "-o", str(out)]) == 2
    assert main(["profile", "counters", str(tmp_path / "vgg.rec"), "-o", str(out), "--iteration-ms", "254.7"]) == 0
    about = json.loads(out.read_text())["about"]
    assert about["made_by"].endswith("profile counters")
    assert about["inputs"] == ["vgg.rec"]
    assert (about["iteration_from"], about["rate_from"]) == ("given", "measured")
    assert about["iteration_ms"]["typical"] == 254.7
    assert about["kept_gbps"] == pytest.approx(about["recorded_gbps"], rel=0.05)
    assert (about["direction"], about["devices"]) == ("tx", ["mlx5_0/1"])


@pytest.mark.parametrize("missing", ["scipy", "ruptures"])
def test_packages_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    write_recording(tmp_path / "x", read_job(VGG, 5, Disturbance()).rows)
    for name in [*sys.modules]:
        if name.startswith("cassini_core.profiles.counters."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=rf"expected {missing} to be installed.*cassini-core\[profiles\]"):
        profile_counters(tmp_path / "x", job_id="x")


def test_what_may_be_chance_is_no_phase() -> None:
    rng = np.random.default_rng(3)
    true = np.repeat([0.0, 10.0, 0.0], [60, 80, 60])
    noisy = true + np.where(true > 0, rng.normal(0, 1.5, 200), 0.0)
    assert len(segment(noisy)) > 10
    pieces = segment(noisy, 1.5**2)
    assert [round(begin) for begin, _, _ in pieces] == pytest.approx([0, 60, 140], abs=1)


@given(
    burst=st.lists(st.sampled_from([0, 1, 1000, 2**20, 2**40]), min_size=1, max_size=40),
    again=st.integers(1, 30),
    holes=st.lists(st.tuples(st.integers(0, 999), st.sampled_from([MISSING, BREAK, 0, 2**62])), max_size=6),
    step_ms=st.sampled_from([1, 4]),
    given_ms=st.none() | st.floats(0.5, 1e5),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_was_read_there_is_a_profile_or_a_refusal(
    burst: list[int], again: int, holes: list[tuple[int, int]], step_ms: int, given_ms: float | None
) -> None:
    values = np.cumsum(burst * again).tolist()
    for place, value in holes:
        values[place % len(values)] = value
    times = [n * step_ms * MS for n in range(len(values))]
    channel = recorded.Channel("eth0", "tx_bytes", "bytes")
    samples = recorded.Samples(recorded.Group(step_ms * MS, (channel,)), array("q", times), (array("q", values),))
    source = recorded.Recording("hostile", {}, (samples,), None, None)
    try:
        found = profile_counters(source, job_id="x", iteration_ms=given_ms)
    except InputError:
        return
    assert found.job.iteration_ms > 0
    assert found.iteration_ms.count > 0
    assert found.provenance.kept_gbps == pytest.approx(
        sum(p.duration_ms * p.gbps for p in found.job.phases) / found.job.iteration_ms
    )
    if found.provenance.iteration_from == "measured":
        # At least two distances were seen.
        assert found.iteration_ms.count >= 2
        assert 3 * found.job.iteration_ms <= 1.2 * (times[-1] + step_ms * MS) / MS
