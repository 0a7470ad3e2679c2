"""The report of runs made by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from bench.netlab.disturbances import DAEMON
from bench.netlab.report import markdown, targets, write
from bench.netlab.rows import Row, rows
from bench.netlab.scenarios import ALONE, HELD, RANDOM, Scenario
from bench.netlab.settings import Setting

SETTING = Setting(jitter=0.03)
SESSION = {"CPU": "x", "cassini-core": "0", "commit": "c", "ECN": "marked", "lanes": 1}


def record(scenario: Scenario, length_ms: float, marks: int, apart_ms: float, number: int = 0) -> dict[str, Any]:
    """Two jobs of equal iterations, the second so much later."""

    def job(begin_ms: float) -> dict[str, Any]:
        starts = [round(1000 * (begin_ms + length_ms * k)) for k in range(int(scenario.seconds * 1000 / length_ms) + 1)]
        n = len(starts) - 1
        return {
            "starts_us": starts,
            "communication_us": [[one - 170_000, one] for one in starts[1:]],
            "extra_ms": [0.0] * n,
            "marks": [marks] * n,
            "retransmissions": [0] * n,
            "agent": {"adjustments": 1, "delay_total_ns": 0, "state": "held"},
        }

    at_us = None if scenario.disturbance.at_s is None else scenario.disturbance.at_s * 1e6
    return {
        "scenario": scenario.name,
        "number": number,
        "end_us": scenario.seconds * 1e6,
        "settled_us": 10_000_000,
        "arranged_us": 5_000_000 if scenario.mode == HELD else None,
        "disturbed_us": None if at_us is None else [at_us, at_us + 10e6],
        "jobs": {"a": job(0.0), "b": job(apart_ms)} if scenario.mode != ALONE else {"a": job(0.0)},
        "events": [{"at_us": 5_000_000, "event": "Arranged", "said": "arranged"}],
    }


@pytest.fixture
def found() -> list[Row]:
    alone, loose, held = (Scenario("Queues", SETTING, mode, 75.0) for mode in (ALONE, RANDOM, HELD))
    killed = Scenario("Disturbances", SETTING, HELD, 100.0, DAEMON)
    made = [
        record(alone, 400.0, 0, 0.0),
        record(loose, 560.0, 1700, 0.0),
        record(held, 404.0, 2, 200.0),
        record(held, 420.0, 2, 200.0, 1),
        record(killed, 404.0, 0, 200.0),
        record(killed, 440.0, 0, 0.0, 1),
    ]
    by_key = {(one["scenario"], one["number"]): one for one in made}
    return rows([(one, k) for one in (alone, loose, held, killed) for k in range(3)], by_key)


def test_runs_that_are_not_there_are_left_out(found: list[Row]) -> None:
    assert len(found) == 6


def test_targets_are_counted(found: list[Row]) -> None:
    assert targets(found) == [
        ("held within 2% of alone, 3% jitter", 1, 2),
        ("held with fewer than 2 adjustments a minute", 2, 2),
        ("settings with 30 times fewer marks held than at random starts", 1, 1),
        ("a daemon killed for 10 s: interleaved again within 30 s", 1, 2),
        ("a daemon killed for 10 s: nobody slower by 5% meanwhile", 1, 2),
    ]


def test_every_run_is_in_the_report(found: list[Row]) -> None:
    text = markdown(found, [SESSION], ["one that failed"], quick=False)
    every = text.partition("## Every run")[2]
    assert sum(line.startswith("| dumbbell") for line in every.splitlines()) == 6
    assert "never (never)" in every
    assert "+1.0% / +1.0%" in every
    assert "one that failed" in every
    assert math.isinf(found[-1].found["interleaved_s"])


def test_files_are_written(found: list[Row], tmp_path: Path) -> None:
    write(found, [SESSION], [], tmp_path, quick=True)
    assert len(json.loads((tmp_path / "netlab.json").read_text())["runs"]) == 6
    assert (tmp_path / "netlab.md").read_text().startswith("# ")
    assert (tmp_path / "netlab.png").stat().st_size > 10_000
