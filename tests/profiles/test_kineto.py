"""Profiles of synthetic traces whose truth is known, and of two real ones."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from cassini_core.errors import InputError
from cassini_core.model import Job, Phase
from cassini_core.profiles.kineto import KinetoProfile, profile_kineto
from kineto_traces import Recording, Transfer, write_trace


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kineto")


TWO = Recording(200.0, (Transfer(50.0, 10.0, 5_000_000), Transfer(120.0, 20.0, 20_000_000)))


def profile(place: Path, *recordings: Recording, gbps: float | None = None, **options: Any) -> KinetoProfile:
    paths = [recording.write(place / f"rank{index}.json") for index, recording in enumerate(recordings)]
    return profile_kineto(paths, job_id="job", gbps=gbps, **options)


def assert_job(job: Job, recording: Recording, within_ms: float) -> None:
    """The job is the recorded one; a common shift of all phases is a matter of where the circle starts."""
    assert job.iteration_ms == pytest.approx(recording.iteration_ms, abs=within_ms)
    expected = sorted((t.start_ms + recording.lag_ms) % recording.iteration_ms for t in recording.transfers)
    assert [p.start_ms for p in job.phases] == pytest.approx(expected, abs=within_ms)
    by_start = sorted(recording.transfers, key=lambda t: (t.start_ms + recording.lag_ms) % recording.iteration_ms)
    assert [p.duration_ms for p in job.phases] == pytest.approx([t.duration_ms for t in by_start], abs=within_ms)
    assert [p.gbps for p in job.phases] == pytest.approx([t.gbps for t in by_start], rel=1e-3)


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Jobs of one to four collectives, none touching another, recorded with every disturbance at once."""
    iteration = draw(st.integers(40, 400)) + 0.0625
    count = draw(st.integers(1, 4))
    cell = iteration / count
    transfers = []
    for index in range(count):
        start = cell * (index + draw(st.floats(0.05, 0.3)))
        duration = cell * draw(st.floats(0.1, 0.5))
        transfers.append(Transfer(start, duration, draw(st.integers(10**6, 10**8)), group_size=draw(st.integers(2, 9))))
    # Equal ones in turn, evenly spaced, have a shorter period, whatever the steps say.
    alike = [(one.elements, one.group_size) for one in transfers]
    assume(all(alike != alike[turn:] + alike[:turn] for turn in range(1, count)))
    steps = draw(st.integers(3, 8))
    outlier = (draw(st.integers(0, steps - 1)), draw(st.integers(0, count - 1)), draw(st.floats(1.0, 4.0)))
    return Recording(
        iteration,
        tuple(transfers),
        steps=steps,
        first_step=draw(st.integers(0, 2000)),
        origin_us=float(draw(st.integers(0, 2 * 10**12))),
        lag_ms=draw(st.floats(0.0, 1.0)),
        first_factor=draw(st.floats(1.0, 3.0)),
        jitter_ms=draw(st.sampled_from([0.0, 0.05])),
        stretch=(outlier,),
        bytes_in=draw(st.sampled_from(["kernel", "record"])),
        step_category=draw(st.sampled_from(["user_annotation", "cpu_op", "gpu_user_annotation"])),
        seed=draw(st.integers(0, 1000)),
    )


@given(recordings(), st.randoms(use_true_random=False))
def test_truth_is_recovered_from_a_disturbed_recording(
    place: Path, recording: Recording, chance: random.Random
) -> None:
    events = recording.events()
    chance.shuffle(events)
    path = write_trace(place / "shuffled.json", events)
    # What is negligible is the subject of another test.
    try:
        made = profile_kineto(path, job_id="job", merge_gap_ms=0.01, negligible=0.0)
    except InputError:
        # Two distances, of which the first is longer.
        assert recording.steps == 3
        assert recording.first_factor > 1.05
        return
    within_ms = 2 * recording.jitter_ms + 0.002
    if made.provenance.details["time_zero"] == "begin of the annotated step":
        assert_job(made.job, recording, within_ms)
        return
    # Steps begin at different times of the iteration. Time 0 is then where some transfer ends.
    assert recording.first_factor > 1
    failures = []
    for transfer in recording.transfers:
        try:
            assert_job(made.job, recording.but(lag_ms=-transfer.start_ms - transfer.duration_ms), within_ms)
        except AssertionError as failure:
            failures.append(failure)
    assert len(failures) < len(recording.transfers), failures


@given(st.integers(0, 10**6), st.floats(0.0, 600.0))
def test_lag_of_the_gpu_only_turns_the_circle(place: Path, origin: int, lag: float) -> None:
    recording = TWO.but(origin_us=float(origin), lag_ms=lag)
    assert_job(profile(place, recording).job, recording, within_ms=0.001)


def test_a_kernel_belongs_to_the_step_that_launched_it(place: Path) -> None:
    # Launched 10 ms before the step ends; on the GPU it starts around that end, sometimes before and sometimes after.
    late = TWO.but(transfers=(Transfer(190.0, 20.0, 20_000_000),), lag_ms=10.0, jitter_ms=0.5, steps=8)
    made = profile(place, late)
    assert made.provenance.details["iterations"] == 8
    assert made.job.phases[0].duration_ms == pytest.approx(20.0)
    assert (made.job.phases[0].start_ms + 100) % 200 == pytest.approx(100.0, abs=0.5)


def test_steps_that_run_late_as_a_whole_keep_the_distances(place: Path) -> None:
    events = []
    for event in TWO.events():
        late = (event["ts"] - TWO.origin_us) // 200_000 * 10_000.0 if event["cat"] == "kernel" else 0.0
        events.append(event | {"ts": event["ts"] + late})
    made = profile_kineto(write_trace(place / "drift.json", events), job_id="job")
    first, second = made.job.phases
    assert second.start_ms - first.start_ms == pytest.approx(70.0, abs=0.001)
    assert made.job.iteration_ms == 210.0


def test_pauses_and_incomplete_steps_are_left_out_and_named(place: Path) -> None:
    recording = TWO.but(steps=6, first_step=0, first_factor=2.0)
    last = max(e["ts"] for e in recording.events() if e["cat"] == "kernel")
    events = [e for e in recording.events() if not (e["cat"] == "kernel" and e["ts"] == last)]
    made = profile_kineto(write_trace(place / "cut.json", events), job_id="job")
    assert made.provenance.details["iterations"] == 5
    assert any("200 to 400 ms after each other; pauses" in warning for warning in made.warnings)
    assert_job(made.job, recording, within_ms=0.001)


def test_first_step_with_other_buckets_does_not_count(place: Path) -> None:
    first = TWO.but(steps=1, transfers=(Transfer(20.0, 5.0, 1_000_000), Transfer(150.0, 40.0, 24_000_000)))
    rest = TWO.but(steps=3, first_step=11, origin_us=TWO.origin_us + 200_000.0)
    shifted = [e | {"args": {k: v for k, v in e["args"].items() if k != "correlation"}} for e in rest.events()]
    made = profile_kineto(write_trace(place / "buckets.json", first.events() + shifted), job_id="job")
    assert made.provenance.details["iterations"] == 3
    assert any("2 kernels do not repeat and were left out (2 all_reduce)" in warning for warning in made.warnings)
    assert_job(made.job, TWO, within_ms=0.001)


def test_sizes_that_change_in_every_step_are_no_reason_to_leave_steps_out(place: Path) -> None:
    events = TWO.events()
    for index, event in enumerate(e for e in events if e["cat"] == "kernel"):
        event["args"]["In msg nelems"] += 10 * index
    made = profile_kineto(write_trace(place / "sizes.json", events), job_id="job")
    assert made.provenance.details["iterations"] == 5
    assert any("sizes of collectives change" in warning for warning in made.warnings)
    assert_job(made.job, TWO, within_ms=0.001)


def test_without_launches_kernels_belong_to_the_step_they_start_in(place: Path) -> None:
    recording = TWO.but(launches=False)
    events = [e for e in recording.events() if e["name"] != "record_param_comms"]
    assert_job(profile_kineto(write_trace(place / "gpu.json", events), job_id="job").job, recording, within_ms=0.001)


@pytest.mark.parametrize("rewrite", [str.upper, str.lower, lambda name: name.replace("DevKernel", "Kernel")])
def test_kernels_are_found_whatever_their_spelling(place: Path, rewrite: Any) -> None:
    transfers = tuple(replace(t, kernel=rewrite(t.kernel)) for t in TWO.transfers)
    assert_job(profile(place, TWO.but(transfers=transfers)).job, TWO, within_ms=0.001)


def test_other_forms_of_the_file_say_the_same(place: Path) -> None:
    expected = profile(place, TWO).job
    events = TWO.events()
    text = json.dumps({"traceEvents": [e | {"ts": str(e["ts"]), "dur": str(e["dur"])} for e in events]})
    forms = {
        "strings.json": text.encode(),
        "array.json": json.dumps(events).encode(),
        "bom.json": b"\xef\xbb\xbf \n" + text.encode(),
        "packed.json.gz": gzip.compress(text.encode()),
        "packed-but-not-named-so.json": gzip.compress(text.encode()),
        "junk-between.json": json.dumps([{"ph": "M"}, {"name": 5}, {"cat": [], "name": "x"}, *events]).encode(),
        "bad-utf8-in-a-name.json": b'[{"name": "\xff"},' + json.dumps(events).encode()[1:],
    }
    for name, data in forms.items():
        (place / name).write_bytes(data)
        assert profile_kineto(place / name, job_id="job").job == expected, name


def test_events_without_a_time_are_left_out_and_counted(place: Path) -> None:
    events = TWO.events()
    kernel = next(e for e in events if e["cat"] == "kernel")
    broken = [{k: v for k, v in kernel.items() if k != "dur"}, kernel | {"ts": "soon"}, kernel | {"dur": -1}]
    made = profile_kineto(write_trace(place / "timeless.json", events + broken), job_id="job")
    assert_job(made.job, TWO, within_ms=0.001)
    assert any("3 events could not be read" in warning for warning in made.warnings)


def waiting_ranks(seed: int, clocks_us: Sequence[float], skews_ms: Sequence[float]) -> list[Recording]:
    """Ranks that wait in each collective for one that does not. Clocks differ, and when a rank's CPU begins a step."""
    chance = random.Random(seed)
    waits = [[[chance.uniform(0.0, 30.0) for _ in range(2)] for _ in range(5)] for _ in clocks_us]
    for step in range(5):
        for index in range(2):
            waits[chance.randrange(len(clocks_us))][step][index] = 0.0
    return [
        TWO.but(
            origin_us=TWO.origin_us + clock,
            waits_ms=tuple(map(tuple, wait)),
            transfers=tuple(replace(t, start_ms=t.start_ms + skew) for t in TWO.transfers),
        )
        for clock, skew, wait in zip(clocks_us, skews_ms, waits, strict=True)
    ]


@given(st.integers(0, 10**6), st.data())
def test_waiting_for_the_last_rank_does_not_count(place: Path, seed: int, data: st.DataObject) -> None:
    ranks = data.draw(st.integers(2, 4))
    clocks = [0.0, *(data.draw(st.floats(-1e9, 1e9)) for _ in range(ranks - 1))]
    skews = [0.0, *(data.draw(st.floats(-20.0, 20.0)) for _ in range(ranks - 1))]
    try:
        made = profile(place, *waiting_ranks(seed, clocks, skews))
    except InputError as refused:
        # By chance a rank waits every other time, once in a thousand: that may as well be half an iteration.
        if "two distances between iterations that agree" in str(refused):
            reject()
        raise
    assert_job(made.job, TWO, within_ms=0.002)
    assert not any("one rank" in warning for warning in made.warnings)


@pytest.mark.parametrize(("seed", "ranks"), [(146, 4), (32, 4), (37, 3), (190, 3), (180, 2)])
def test_the_iteration_time_is_that_of_the_transfers_however_a_rank_waits(place: Path, seed: int, ranks: int) -> None:
    """By the begins of the first rank's kernels it would be 181 ms and less."""
    assert_job(profile(place, *waiting_ranks(seed, [0.0] * ranks, [0.0] * ranks)).job, TWO, within_ms=0.002)


@given(st.lists(st.tuples(st.floats(0.0, 10.0), st.floats(0.0, 10.0)), min_size=5, max_size=5))
def test_the_iteration_time_of_one_rank_that_waits_is_that_of_its_ends(
    place: Path, waits_ms: list[tuple[float, float]]
) -> None:
    assert profile(place, TWO.but(waits_ms=tuple(waits_ms))).job.iteration_ms == pytest.approx(200.0, abs=0.001)


def test_the_busiest_rank_is_the_job(place: Path) -> None:
    first, second = TWO.transfers
    both = TWO.but(transfers=(replace(first, group="[0, 1]"), replace(second, group="[1, 2]")))
    made = profile(place, both.but(transfers=both.transfers[:1]), both)
    assert made.ranks[0].endswith("rank1.json")
    assert_job(made.job, TWO, within_ms=0.001)


def test_one_rank_that_waits_shows_longer_transfers_and_is_warned_of(place: Path) -> None:
    made = profile(place, TWO.but(waits_ms=((5.0, 5.0),) * 5))
    assert [p.duration_ms for p in made.job.phases] == pytest.approx([15.0, 25.0])
    assert any("one rank only" in warning for warning in made.warnings)


def test_a_group_of_one_makes_no_traffic(place: Path) -> None:
    alone = tuple(replace(t, group_size=1) for t in TWO.transfers)
    made = profile(place, TWO.but(transfers=alone))
    assert made.job == Job("job", 200.0)
    assert [row.gbps for row in made.collectives] == [0.0, 0.0]
    assert any("no phases" in warning for warning in made.warnings)


def test_overlapping_collectives_add_up(place: Path) -> None:
    over = TWO.but(transfers=(Transfer(50.0, 40.0, 10_000_000), Transfer(70.0, 40.0, 20_000_000)), lag_ms=0.0)
    first, second = over.transfers[0].gbps, over.transfers[1].gbps
    phases = profile(place, over).job.phases
    assert [(p.start_ms, p.duration_ms) for p in phases] == [(50.0, 20.0), (70.0, 20.0), (90.0, 20.0)]
    assert [p.gbps for p in phases] == pytest.approx([first, first + second, second], rel=1e-3)


def test_assumed_rate_holds_once_where_collectives_overlap(place: Path) -> None:
    over = TWO.but(transfers=(Transfer(50.0, 40.0, 1), Transfer(70.0, 40.0, 1)), lag_ms=0.0, bytes_in="nowhere")
    made = profile(place, over, gbps=25.0)
    assert made.job == Job("job", 200.0, (Phase(50.0, 60.0, 25.0),))
    assert all(row.assumed for row in made.collectives)


def test_assumed_rate_does_not_replace_recorded_bytes(place: Path) -> None:
    made = profile(place, TWO, gbps=1.0)
    assert_job(made.job, TWO, within_ms=0.001)
    assert any("not needed" in warning for warning in made.warnings)


def test_many_collectives_become_few_phases_with_the_same_bytes(place: Path) -> None:
    many = tuple(Transfer(2.0 * k, 1.0 + (k % 3) / 4, 1_000_000 * (1 + k % 5)) for k in range(90))
    made = profile(place, TWO.but(transfers=many), max_phases=6)
    assert len(made.collectives) == 90
    assert len(made.job.phases) <= 6
    carried = sum(p.duration_ms * p.gbps for p in made.job.phases)
    assert carried == pytest.approx(sum(t.duration_ms * t.gbps for t in many), rel=0.006)
    assert any("were joined" in warning for warning in made.warnings)


def test_real_all_reduce_trace(data_dir: Path) -> None:
    made = profile_kineto(data_dir / "kineto" / "allreduce_3steps.json", job_id="ddp")
    assert made.provenance.details["steps"] == [4, 5, 6]
    assert made.job.iteration_ms == 219.7229
    assert made.iteration_ms.count == 2
    assert [row.name for row in made.collectives] == ["broadcast"] * 2 + ["all_reduce"] * 5
    # 7,875,584 float32 between two ranks: 31.5 MB each way, in 2.42, 2.67 and once 5.98 ms.
    assert made.collectives[3].wire_bytes == 7_875_584 * 4
    assert made.collectives[3].duration_ms.typical == pytest.approx(2.674, abs=0.001)
    assert made.collectives[3].duration_ms.most == pytest.approx(5.983, abs=0.001)
    assert made.job.phases[1] == Phase(115.2828, 2.6739, 94.25)
    # The two broadcasts of buffers, 0.2 % of the bytes, are in the table but not in the job.
    assert len(made.job.phases) == 5


def test_real_trace_without_bytes(data_dir: Path) -> None:
    made = profile_kineto(data_dir / "kineto" / "rank3_of_8.json.gz", job_id="recommender", gbps=40)
    assert made.provenance.details["iterations"] == 6
    assert made.job.iteration_ms == 76.888
    assert [row.name for row in made.collectives] == ["send_recv"] * 7 + ["all_reduce"] * 3
    assert {phase.gbps for phase in made.job.phases} == {40.0}
    assert sum(phase.duration_ms for phase in made.job.phases) == pytest.approx(28.4, abs=0.1)


@given(st.integers(1, 50), st.integers(1, 50), st.booleans())
def test_an_all_to_all_counts_its_recorded_splits(place: Path, own: int, other: int, text: bool) -> None:
    sent = Transfer(50.0, 10.0, 10_000 * (own + other), "all_to_allv", "ncclDevKernel_SendRecv", group="[0, 1]")
    splits: Any = [own, other]
    events = [
        e | {"args": e["args"] | {"In split size": str(splits) if text else splits, "Out split size": splits}}
        if e["cat"] == "kernel"
        else e
        for e in TWO.but(transfers=(sent,)).events()
    ]
    path = write_trace(place / "splits.json", events, distributedInfo={"rank": 0, "world_size": 2})
    (row,) = profile_kineto(path, job_id="job").collectives
    assert row.name == "all_to_all"
    assert row.wire_bytes == pytest.approx(10_000 * other * 4)


def test_bytes_left_out_are_warned_of_first(place: Path) -> None:
    made = profile(place, TWO, negligible=0.3)
    assert made.provenance.kept_share == pytest.approx(0.8, abs=0.001)
    assert "the profile carries 80% of the bytes recorded" in made.warnings[0]
    assert profile(place, TWO).provenance.kept_share == pytest.approx(1.0, abs=0.001)


def test_the_recorded_name_counts_not_the_kernels(place: Path) -> None:
    """Some releases run every collective by a kernel named SendRecv or Generic."""
    for name in ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "ncclDevKernel_Generic_1"):
        made = profile(place, TWO.but(transfers=tuple(replace(t, kernel=name) for t in TWO.transfers)))
        assert_job(made.job, TWO, within_ms=0.001)
        assert {row.name for row in made.collectives} == {"all_reduce"}


def test_kernels_without_a_record_beside_others_are_not_taken_for_them(place: Path) -> None:
    """Coalesced all-gathers may carry none."""
    events = TWO.events()
    for index, event in enumerate(e for e in events if e["cat"] == "kernel"):
        if index % 2:
            event["args"] = {key: event["args"][key] for key in ("correlation", "External id")}
    path = write_trace(place / "coalesced.json", events)
    with pytest.raises(InputError, match="bytes of all_reduce were not recorded"):
        profile_kineto(path, job_id="job")
    made = profile_kineto(path, job_id="job", gbps=10.0)
    assert [row.assumed for row in made.collectives] == [False, True]
    assert made.provenance.rate_from == "given"
    assert made.provenance.recorded_gbps is None
