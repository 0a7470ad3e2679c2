"""The short form of the study on this machine: held is near alone, left to themselves the jobs are not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.idle

NEAR = 0.08
"""Held, so much slower than alone at most. The study's target is 2 %; a busy virtual machine adds noise of its own."""

BETTER = 0.1
"""Held is faster than random starts by so much of the time alone at least; with ECN those take 1.41 times as long."""

MEANWHILE = 0.25
"""The most that a job may be slower while it comes back to its place; the study's target is 5 %."""


@pytest.fixture(scope="module")
def report(labs: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of the short form."""
    out = tmp_path_factory.mktemp("netlab")
    words = [sys.executable, "-m", "bench.netlab", "--quick", "--out", str(out)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    return dict(json.loads((out / "netlab.json").read_text()))


def of(report: dict[str, Any], mode: str) -> dict[str, Any]:
    (found,) = [one for one in report["runs"] if f": {mode}" in one["scenario"]]
    return dict(found)


def slowest(run: dict[str, Any]) -> float:
    return max(float(job["slower"]) for job in run["jobs"].values())


def test_jobs_that_are_held_are_nearly_as_fast_as_alone(report: dict[str, Any]) -> None:
    held = of(report, "held")
    assert slowest(held) < NEAR
    assert all(job["overlap"] < 0.05 for job in held["jobs"].values())


def test_jobs_that_are_held_are_faster_than_left_to_themselves(report: dict[str, Any]) -> None:
    assert slowest(of(report, "held")) < slowest(of(report, "random start")) - BETTER


def test_a_daemon_that_is_killed_costs_nobody_its_place(report: dict[str, Any]) -> None:
    held = of(report, "held")
    assert held["apart_s"] is not None, "never apart again"
    assert held["meanwhile"] < MEANWHILE


def test_packets_are_marked_less_where_jobs_are_held(report: dict[str, Any]) -> None:
    if report["sessions"][-1]["ECN"] != "marked":
        pytest.skip(report["sessions"][-1]["ECN"])
    held, loose = (sum(job["marks"] for job in of(report, mode)["jobs"].values()) for mode in ("held", "random start"))
    assert held < loose / 5
