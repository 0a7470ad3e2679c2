"""Traces that nobody records but somebody may hand in: small files that unpack to huge ones, absurd times and names."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from cassini_core.errors import InputError
from cassini_core.profiles.collectives import collective_kind
from cassini_core.profiles.kineto import profile_kineto
from cassini_core.profiles.kineto import trace as kineto_trace
from kineto_traces import Recording, Transfer, write_trace
from work import works_less_than

EVENTS = Recording(200.0, (Transfer(50.0, 10.0, 5_000_000),)).events()
MIB = 2**20


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        profile_kineto(path, job_id="job", **options)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 1000
    return text


@pytest.mark.parametrize("packed", [True, False])
def test_a_file_beyond_the_limit_is_refused_in_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr(kineto_trace, "MAX_TRACE_BYTES", MIB)
    path = tmp_path / "bomb.json"
    data = b"[" + b" " * (128 * MIB) + b"]"
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    del data
    tracemalloc.start()
    try:
        assert f"at most {MIB} bytes" in refusal(path)
        assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    finally:
        tracemalloc.stop()


def test_a_file_at_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_trace(tmp_path / "t.json", EVENTS)
    for limit, read in ((path.stat().st_size, True), (path.stat().st_size - 1, False)):
        monkeypatch.setattr(kineto_trace, "MAX_TRACE_BYTES", limit)
        if read:
            assert profile_kineto(path, job_id="job").job.phases
        else:
            refusal(path)


@pytest.mark.parametrize("between_us", [0.0, 1e-3, 1e17])
def test_steps_that_take_no_time_or_centuries(tmp_path: Path, between_us: float) -> None:
    events = [
        event | {"ts": index * between_us, "dur": 0.0}
        for index, event in enumerate(e for e in EVENTS if "Step" in e["name"])
    ]
    kernels = [e | {"ts": index * between_us} for index, e in enumerate(e for e in EVENTS if e["cat"] == "kernel")]
    for kernel in kernels:
        kernel["args"] = {}
    text = refusal(write_trace(tmp_path / "t.json", [*events, *kernels]), gbps=10.0)
    assert "expected iterations that begin" in text or "annotated steps" in text


@pytest.mark.parametrize("field", ["ts", "dur"])
def test_times_that_would_overflow_are_no_times(tmp_path: Path, field: str) -> None:
    expected = profile_kineto(write_trace(tmp_path / "t.json", EVENTS), job_id="job").job
    for bad in (1e308, -1e308, 1.1e18, "1e300", 10**30):
        for like in (EVENTS[0], EVENTS[1], EVENTS[2]):
            events = [*EVENTS, like | {field: bad}]
            assert profile_kineto(write_trace(tmp_path / "t.json", events), job_id="job").job == expected


@pytest.mark.parametrize("name", ["In msg nelems", "Out msg nelems", "Group size"])
@pytest.mark.parametrize("bad", ["1e300", 2**63, 10**30, "9" * 400, 1e308])
def test_counts_that_would_overflow_are_no_counts(tmp_path: Path, name: str, bad: Any) -> None:
    events = [e if e["cat"] != "kernel" else e | {"args": e["args"] | {name: bad}} for e in EVENTS]
    path = write_trace(tmp_path / "t.json", events)
    if name == "Group size":
        assert "were not recorded" in refusal(path)
    else:
        assert profile_kineto(path, job_id="job").job.phases


def test_a_step_number_of_thousands_of_digits_is_no_step(tmp_path: Path) -> None:
    events = [e if "Step" not in e["name"] else e | {"name": "ProfilerStep#" + "9" * 5000} for e in EVENTS]
    assert "got 0" in refusal(write_trace(tmp_path / "t.json", events))


def test_names_with_line_ends_stay_on_the_line_of_the_message(tmp_path: Path) -> None:
    odd = "a\nb" * 1000
    steps = [e for e in EVENTS if "Step" in e["name"]]
    refusal(write_trace(tmp_path / "t.json", [e | {"cat": odd} for e in EVENTS if "Step" not in e["name"]]))
    for change in ({"Collective name": odd}, {"dtype": odd}, {"Group size": None}):
        kernels = [
            e | {"name": f"nccl{odd}", "args": e["args"] | change} | {"name": "ncclKernel\n" + odd}
            for e in EVENTS
            if e["cat"] == "kernel"
        ]
        refusal(write_trace(tmp_path / "t.json", [*steps, *kernels]))


@pytest.mark.unsanitized(reason="Python's own time, with an allocator that looks at every block")
@pytest.mark.parametrize("part", ["nccl", "ncclkerne", "kernel_", "nccl kernel"])
def test_long_names_take_time_in_proportion(tmp_path: Path, part: str) -> None:
    long = part * 200_000
    kernels = [
        e | {"name": long, "args": e["args"] | {"Collective name": long}} for e in EVENTS if e["cat"] == "kernel"
    ]
    with works_less_than(5.0):
        refusal(write_trace(tmp_path / "t.json", [e for e in EVENTS if e["cat"] != "kernel"] + kernels))


def test_decoration_without_end_takes_no_time() -> None:
    with works_less_than(5.0):
        for part in ("coalesced", "tensor", "nccl", "isend", "into"):
            assert collective_kind(part * 100_000 + "x") is None
