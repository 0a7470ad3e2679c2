"""What the importer says of traces and options it can't use: one line that names what was expected and what came."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from cassini_core.errors import InputError
from cassini_core.profiles.kineto import profile_kineto
from kineto_traces import Recording, Training, Transfer, write_trace

GOOD = Recording(200.0, (Transfer(50.0, 10.0, 5_000_000),))
EVENTS = GOOD.events()
TEXT = json.dumps({"traceEvents": EVENTS}).encode()


def message(path: Path | list[Path], **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        profile_kineto(path, job_id="job", **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "an empty file"),
        (b"  \n", "an empty file"),
        (b"not json", "expected a JSON trace"),
        (b"\xff\xfe{\x00", "expected a JSON trace"),
        (b"12", "expected a JSON trace"),
        (TEXT[:-40], "not valid JSON: Input data was truncated"),
        (TEXT[:-1] + b",}", "not valid JSON"),
        (b'[{"name": "x"},', "not valid JSON"),
        (b'{"traceEvents": [{"ts": NaN}]}', "not valid JSON"),
        (b'{"schemaVersion": 1}', "expected a list under 'traceEvents'"),
        (b'{"traceEvents": {}}', "Expected `array`"),
        (b'{"traceEvents": [{"name": "x"}, 5]}', "traceEvents[1]: expected an object"),
        (b'{"traceEvents": []}', "no communication kernels found"),
        (b"[]", "no communication kernels found"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"traceEvents": [{"args": ' + b"[" * 100_000, "nested too deeply"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else repr(value[:24]),
)
def test_files_that_are_no_trace(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(data)
    text = message(path)
    assert text.startswith(f"{path}: ")
    assert expected in text


def test_broken_archives(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    for name, data, expected in (
        ("cut.json.gz", packed[: len(packed) // 2], "ends early"),
        ("garbled.json.gz", packed[:40] + bytes(40) + packed[80:], "not a valid gzip file"),
        ("wrong-sum.json.gz", packed[:-8] + bytes(8), "not a valid gzip file"),
        ("plain.json.gz", TEXT, "expected gzip data"),
    ):
        (tmp_path / name).write_bytes(data)
        assert expected in message(tmp_path / name), name


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "cannot read the file" in message(tmp_path / "missing.json")
    assert "cannot read the file" in message(tmp_path)
    assert "at least one file" in message([])


@pytest.mark.parametrize("kept", [0, 1])
def test_without_two_steps_the_message_says_what_helps(tmp_path: Path, kept: int) -> None:
    steps = [e for e in EVENTS if "Step" in e["name"]][:kept]
    path = write_trace(tmp_path / "t.json", steps + [e for e in EVENTS if "Step" not in e["name"]])
    text = message(path)
    assert "two annotated steps (ProfilerStep#N, which torch.profiler writes when the training loop calls" in text
    assert f"got {kept}; record more steps" in text
    assert "--iteration-ms" in text
    assert profile_kineto(path, job_id="job", iteration_ms=200.0).job.phases


def test_without_collectives_the_message_says_what_was_found(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "t.json", [e for e in EVENTS if e["cat"] != "kernel"])
    text = message(path)
    assert "ncclDevKernel_*" in text
    assert "5 user_annotation" in text
    assert "5 cuda_runtime" in text


def test_cpu_events_that_only_mention_nccl_are_no_collectives(tmp_path: Path) -> None:
    events = [e if e["cat"] != "kernel" else e | {"cat": "gpu_user_annotation"} for e in EVENTS]
    assert "no communication kernels found" in message(write_trace(tmp_path / "t.json", events))


def test_collectives_outside_of_all_steps_repeat_all_the_same(tmp_path: Path) -> None:
    moved = [e if "Step" in e["name"] else e | {"ts": e["ts"] + 1e9} for e in EVENTS]
    assert profile_kineto(write_trace(tmp_path / "t.json", moved), job_id="job").job.iteration_ms == 200.0


def test_kernels_that_nothing_names_are_found_by_a_pattern(tmp_path: Path) -> None:
    odd = [
        e if e["cat"] != "kernel" else e | {"name": "void dpsk::ep::dispatch<true>(int)", "args": {}} for e in EVENTS
    ]
    path = write_trace(tmp_path / "t.json", odd)
    assert "--kernels" in message(path)
    assert "bytes of dispatch were not recorded" in message(path, kernels="ep::(dispatch|combine)")
    made = profile_kineto(path, job_id="job", kernels="ep::(dispatch|combine)", gbps=40.0)
    assert [row.name for row in made.collectives] == ["dispatch"]
    assert "regular expression" in message(path, kernels="(")


def test_a_group_larger_than_the_world_is_refused(tmp_path: Path) -> None:
    path = GOOD.but(transfers=(Transfer(50.0, 10.0, 5_000_000, group_size=16),)).write(
        tmp_path / "t.json", distributedInfo={"rank": 0, "world_size": 8}
    )
    assert "at most 8 ranks, the size of the world, got 16" in message(path)


def test_groups_whose_ranks_are_unknown_cannot_be_told_apart_by_servers(tmp_path: Path) -> None:
    path = GOOD.write(tmp_path / "t.json")
    assert "expected its ranks in the trace" in message(path, local_ranks=8)
    assert profile_kineto(path, job_id="job", local_ranks=1).job.phases
    unrecorded = write_trace(tmp_path / "u.json", [e | {"args": {}} for e in EVENTS])
    assert "expected the process group of every collective" in message(unrecorded, local_ranks=8, gbps=1.0)
    assert "expected a process group of the trace" in message(path, groups=["tp"])


def test_collectives_that_do_not_repeat_are_refused(tmp_path: Path) -> None:
    """A large all-reduce that came once: nobody knows when it comes again."""
    once = EVENTS[-2] | {"ts": EVENTS[-2]["ts"] + 20_000.0}
    once = once | {"args": once["args"] | {"In msg nelems": 9_000_000}}
    assert "repeat at least three times" in message(write_trace(tmp_path / "t.json", [*EVENTS, once]))
    small = once | {"args": once["args"] | {"In msg nelems": 1, "Out msg nelems": 1}}
    made = profile_kineto(write_trace(tmp_path / "t.json", [*EVENTS, small]), job_id="job")
    assert any("1 kernels do not repeat" in warning for warning in made.warnings)


def test_two_streams_repeat_together_or_not_at_all(tmp_path: Path) -> None:
    """One sends in each step, the other in every third."""
    step = Training(100.0, (Transfer(10.0, 20.0, 10**6, group="[0, 1]"),), steps=12, streams=True)
    third = Training(300.0, (Transfer(250.0, 30.0, 10**7, group="[0, 9]"),), steps=4, streams=True, numbers=(None,))
    made = profile_kineto(write_trace(tmp_path / "t.json", step.events() + third.events()), job_id="job")
    assert made.job.iteration_ms == 300.0
    assert len(made.collectives) == 4
    odd = third.but(step_ms=270.0)
    assert "all streams to repeat together" in message(write_trace(tmp_path / "t.json", step.events() + odd.events()))
    once = third.but(steps=1)
    assert "repeat" in message(write_trace(tmp_path / "t.json", step.events() + once.events()))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"In msg nelems": None, "Out msg nelems": None}, "bytes of all_reduce were not recorded"),
        ({"Group size": None}, "bytes of all_reduce were not recorded"),
        ({"Group size": 0}, "bytes of all_reduce were not recorded"),
        ({"In msg nelems": -4}, "bytes of all_reduce were not recorded"),
        ({"In msg nelems": "many", "Out msg nelems": []}, "bytes of all_reduce were not recorded"),
        ({"dtype": "Tensor"}, "unknown dtype 'Tensor'"),
        ({"dtype": 3}, "bytes of all_reduce were not recorded"),
        ({"Collective name": "all_mangle"}, "unknown collective 'all_mangle'"),
    ],
)
def test_unknown_bytes_need_a_rate(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    events = [e if e["cat"] != "kernel" else e | {"args": e["args"] | change} for e in EVENTS]
    path = write_trace(tmp_path / "t.json", events)
    text = message(path)
    assert expected in text
    assert "--gbps" in text
    phases = profile_kineto(path, job_id="job", gbps=7.5).job.phases
    assert [(p.duration_ms, p.gbps) for p in phases] == [(10.0, 7.5)]


def test_an_external_id_that_hits_a_stranger_gives_no_bytes(tmp_path: Path) -> None:
    """Old traces repeat the correlation as the external id; it may happen to be that of some other record."""
    events = GOOD.but(bytes_in="record").events()
    strangers = [e if e["name"] != "record_param_comms" else e | {"ts": e["ts"] - 1000.0} for e in events]
    assert "bytes of all_reduce were not recorded" in message(write_trace(tmp_path / "t.json", strangers))


def test_traces_of_different_jobs_or_of_one_rank_twice(tmp_path: Path) -> None:
    for rank, world in ((0, 2), (1, 2), (1, 4)):
        GOOD.write(tmp_path / f"{rank}-of-{world}.json", distributedInfo={"rank": rank, "world_size": world})
    GOOD.write(tmp_path / "again.json", distributedInfo={"rank": 0, "world_size": 2})
    first, second = tmp_path / "0-of-2.json", tmp_path / "1-of-2.json"
    assert len(profile_kineto([first, second], job_id="job").ranks) == 2
    assert "world size 4" in message([first, tmp_path / "1-of-4.json"])
    assert "rank 0 is also" in message([first, tmp_path / "again.json"])
    assert "twice" in message([first, first])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"gbps": 0}, "gbps: expected"),
        ({"gbps": float("nan")}, "gbps: expected"),
        ({"gbps": float("inf")}, "gbps: expected"),
        ({"merge_gap_ms": -1}, "merge_gap_ms: expected"),
        ({"merge_gap_ms": float("nan")}, "merge_gap_ms: expected"),
        ({"negligible": 1}, "negligible: expected"),
        ({"max_phases": 0}, "max_phases: expected"),
        ({"iteration_ms": 0}, "iteration_ms: expected"),
        ({"line_gbps": float("inf")}, "line_gbps: expected"),
        ({"local_ranks": 0}, "local_ranks: expected"),
    ],
)
def test_options_out_of_range(tmp_path: Path, options: dict[str, Any], expected: str) -> None:
    assert expected in message(GOOD.write(tmp_path / "t.json"), **options)


def test_infinite_and_huge_numbers_are_no_times(tmp_path: Path) -> None:
    for bad in ("Infinity", "nan", "1e999", True, None, [], {}):
        events = [*EVENTS, EVENTS[1] | {"ts": bad}]
        job = profile_kineto(write_trace(tmp_path / "t.json", events), job_id="job").job
        assert len(job.phases) == 1
    path = tmp_path / "t.json"
    path.write_bytes(TEXT.replace(b'"traceEvents": [', b'"traceEvents": [{"cat": "kernel", "ts": 1e999, "name": "x"},'))
    assert profile_kineto(path, job_id="job").job == job
