"""What the importer says of traces and options it can't use: one line that names what was expected and what came."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from cassini_core.errors import InputError
from cassini_core.profiles.kineto import profile_kineto
from kineto_traces import Recording, Transfer, write_trace

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
        (b'{"traceEvents": []}', "no steps found"),
        (b"[]", "no steps found"),
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


def test_without_steps_the_message_says_what_was_found(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "t.json", [e for e in EVENTS if "Step" not in e["name"]])
    text = message(path)
    assert "ProfilerStep#N" in text
    assert "5 kernel" in text


def test_without_collectives_the_message_says_what_was_found(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "t.json", [e for e in EVENTS if e["cat"] != "kernel"])
    text = message(path)
    assert "ncclDevKernel_*" in text
    assert "5 user_annotation" in text
    assert "5 cuda_runtime" in text


def test_cpu_events_that_only_mention_nccl_are_no_collectives(tmp_path: Path) -> None:
    events = [e if e["cat"] != "kernel" else e | {"cat": "gpu_user_annotation"} for e in EVENTS]
    assert "no NCCL kernels found" in message(write_trace(tmp_path / "t.json", events))


def test_collectives_outside_of_all_steps(tmp_path: Path) -> None:
    moved = [e if "Step" in e["name"] else e | {"ts": e["ts"] + 1e9} for e in EVENTS]
    assert "no kernel was launched inside a step" in message(write_trace(tmp_path / "t.json", moved))


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


def test_traces_without_a_common_collective_are_warned_of(tmp_path: Path) -> None:
    first = GOOD.write(tmp_path / "a.json")
    second = GOOD.but(first_step=500).write(tmp_path / "b.json")
    made = profile_kineto([first, second], job_id="job")
    assert any("no collective in common" in warning for warning in made.warnings)
    assert made.job == profile_kineto(first, job_id="job").job


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
