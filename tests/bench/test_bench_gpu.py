"""The GPU benchmark where there is no GPU: its reports, its pairs, and the job that has no GPU either."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import bench.gpu.held
import bench.gpu.runs
import pytest
from bench.gpu.held import Daemon, Scheduler
from bench.gpu.report import ENTERING, table
from bench.gpu.runs import Job, side_by_side, wire_job
from bench.gpu.trace import host_waits
from bench.gpu.two_jobs import pairs

from cassini_agent.interleave import jobs as seen_jobs

RESULTS = Path(__file__).parents[2] / "bench" / "results"
MS = 1_000_000


def job(*durations_ms: float, begin_ms: float = 0.0) -> dict[str, Any]:
    starts = [begin_ms]
    for duration_ms in durations_ms:
        starts.append(starts[-1] + duration_ms)
    return {
        "starts_ns": [round(one * MS) for one in starts],
        "came_ns": [round((one - 30) * MS) for one in starts[:-1]],
    }


def pair() -> dict[str, Any]:
    at_ms = 1_000.0
    held = [150.0] * 10 + [300.0] * ENTERING + [101.0] * 20  # before the schedules, on the way, held
    runs = [
        {"mode": "alone", "agent": False, "offset_s": 0.0, "jobs": {"a": job(*[900.0] * 2, *[100.0] * 20)}},
        {"mode": "in phase", "agent": False, "offset_s": 0.0, "jobs": {"a": job(*[140.0] * 20)}},
        {"mode": "held", "agent": True, "offset_s": 0.0, "jobs": {"a": job(*held, begin_ms=at_ms - 1_499.0)}},
    ]
    decided = {
        "at_monotonic_ns": round(at_ms * MS),
        "paces_ms": {"a": 101.0},
        "shifts_ms": {"a": 0.0},
        "score": 1.0,
        "hold_ms": 5.0,
        "arranged_s": 30.0,
        "told": [],
    }
    return {"jobs": ["a", "b"], "about": {}, "profiles": {}, "runs": runs, "held": decided}


def rows(text: str) -> dict[str, list[str]]:
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    return {f"{line[0]} {line[1]}": line[2:] for line in lines if line[0] not in ("run", "---")}


def report(*of: dict[str, Any]) -> dict[str, Any]:
    return {"machine": {"card": "X", "gpus": 2, "torch": "2", "date": "2026-01-01"}, "gbps": 24.0, "pairs": list(of)}


def test_only_iterations_that_are_held_count_as_held() -> None:
    known = rows(table(report(pair())))
    assert known["alone a"][:1] == ["100.0"]
    assert known["held a"][:5] == ["101.0", "101.0", "101.0", "101.0", "1.0100"]
    assert known["in phase a"][4] == "1.4000"
    assert known["held a"][-2:] == ["30", "20"]  # host ahead, iterations


def test_a_run_that_was_over_when_its_jobs_were_arranged_shows_nothing() -> None:
    one = pair()
    one["held"]["at_monotonic_ns"] *= 100
    assert list(rows(table(report(one)))) == ["alone a", "in phase a"]


def test_what_was_measured_before_a_failure_is_reported() -> None:
    broken = {**pair(), "failed": "rank 1 has ended"}
    del broken["held"]
    broken["runs"] = broken["runs"][:1]
    text = table(report(broken, {"jobs": ["c", "d"], "about": {}, "profiles": {}, "runs": []}))
    assert "Ended before its time: rank 1 has ended" in text
    assert list(rows(text)) == ["alone a"]


def test_reports_of_before_are_still_read() -> None:
    known = rows(table(json.loads((RESULTS / "gpu-two-jobs.json").read_text())))
    assert known["alone job0"][0] == known["alone job1"][0] == "773.6"
    assert float(known["held job1"][4]) < 1.01 < float(known["in phase job1"][4])


def test_calls_that_wait_are_counted_within_the_loop(tmp_path: Path) -> None:
    def call(name: str, ts: float) -> dict[str, Any]:
        return {"cat": "cuda_runtime", "name": name, "ts": ts, "dur": 1}

    events = [
        {"cat": "user_annotation", "name": "training loop", "ts": 100, "dur": 50},
        {"cat": "gpu_user_annotation", "name": "training loop", "ts": 110, "dur": 90},
        call("cudaEventSynchronize", 120),
        call("cudaEventQuery", 130),
        call("cudaEventRecord", 131),
        call("cudaDeviceSynchronize", 160),  # the profiler's own, at its end
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    assert host_waits(path) == {"waits": {"cudaEventSynchronize": 1}, "event_records": 1, "event_queries": 1}


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (0, [["vgg16", "wire"], ["gpt2", "wire"]]),
        (2, [["vgg16", "wire"], ["gpt2", "wire"]]),
        (4, [["vgg16", "gpt2"]]),
    ],
)
def test_no_two_jobs_share_a_gpu(gpus: int, expected: list[list[str]]) -> None:
    assert pairs(["vgg16", "gpt2"], gpus) == expected


def test_the_job_without_a_gpu_computes_and_exchanges(tmp_path: Path) -> None:
    with wire_job(tmp_path, None, 0.02, 1 << 22) as wire:
        for count in (3, 5):
            (answer,) = side_by_side([wire], [0.0], [count])
            starts = answer["starts_ns"]
            assert len(starts) == count + 1
            assert all(b - a >= 20 * MS for a, b in pairwise(starts))


def test_a_rank_that_ends_is_said_with_the_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.gpu.runs, "OTHERS_S", 0.1)
    with wire_job(tmp_path, None) as wire:
        wire.defaults["bytes"] = "many"
        with pytest.raises(RuntimeError, match=r"(?s)wire: a rank has ended.*wire-1\.log:.*TypeError"):
            side_by_side([wire], [0.0], [1])


@pytest.mark.slow
def test_jobs_are_held_and_what_was_decided_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a link that nobody shapes: two jobs that wait, and send what takes no time. How well is for a link that is."""
    monkeypatch.setattr(seen_jobs, "EVERY_S", 1.0)
    monkeypatch.setattr(bench.gpu.held, "LONGEST_S", 15.0)
    n = 150
    with Daemon(tmp_path) as daemon, ExitStack() as ended:
        jobs = []
        for name, compute_s in (("a", 0.08), ("b", 0.081)):
            ranks = [["bench.gpu.wire", "--agent"]] * 2
            waits = {"compute_s": compute_s, "bytes": 1 << 23}
            jobs.append(ended.enter_context(Job(name, ranks, tmp_path, daemon.environment, waits)))
        with Scheduler(daemon, "ab", 1.0) as scheduler:
            answers = side_by_side(jobs, [0.0, 0.02], [n, n], meanwhile=lambda _: scheduler.hold())
    held = scheduler.known
    assert held["paces_ms"]["a"] == held["paces_ms"]["b"] >= 81, held["told"]
    one = pair()
    runs = {job.name: {"starts_ns": answer["starts_ns"]} for job, answer in zip(jobs, answers, strict=True)}
    one["runs"] = [{"mode": mode, "agent": True, "offset_s": 0.0, "jobs": runs} for mode in ("alone", "held")]
    one["held"] = held
    assert "arranged (new)" in table(report(one))
