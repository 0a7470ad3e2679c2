"""Runs in simulation are what runs on a network are, and stand beside them."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from bench.netlab import disturbances, measures
from bench.netlab.beside import chosen, markdown, on_network
from bench.netlab.disturbances import NOTHING, Disturbance
from bench.netlab.report import write
from bench.netlab.rows import Row, rows
from bench.netlab.scenarios import ALONE, HELD, IN_PHASE, Scenario
from bench.netlab.settings import LIGHT, Setting
from bench.netlab.simulated import simulate

SETTING = Setting()
JITTERED = Setting(jitter=0.03)
ALONE_MS = 230.0 + 8.4 * 8 / 0.4


def simulated(mode: str, seconds: float, disturbance: Disturbance = NOTHING, setting: Setting = SETTING) -> Any:
    return simulate(Scenario("x", setting, mode, seconds, disturbance), 0, 0.4)


def apart_ms(record: Any, since_s: float) -> list[float]:
    """Times from start to start of the second job."""
    starts = [one / 1e3 for one in record["jobs"]["b"]["starts_us"] if one >= 1e6 * since_s]
    return [b - a for a, b in pairwise(starts)]


def test_a_job_alone_computes_and_sends_at_line_rate() -> None:
    assert measures.alone_ms([simulated(ALONE, 20.0)]) == pytest.approx(ALONE_MS, abs=0.2)


def test_each_rank_computes_by_itself_and_the_other_waits_for_it() -> None:
    """The larger of two times that deviate by 6.9 ms is 3.9 ms longer than each."""
    assert measures.alone_ms([simulated(ALONE, 300.0, setting=JITTERED)]) == pytest.approx(ALONE_MS + 3.9, abs=1.0)


def test_jobs_in_phase_take_as_long_as_both_send() -> None:
    record = simulated(IN_PHASE, 20.0)
    for name in "ab":
        assert measures.slower(record["jobs"][name], ALONE_MS, (5e6, 20e6)) == pytest.approx(168 / ALONE_MS, abs=0.002)


def test_what_is_held_is_interleaved_by_the_product() -> None:
    record = simulated(HELD, 40.0)
    found = measures.measured(record, ALONE_MS)
    assert found["first_s"] < 30
    for job in found["jobs"].values():
        assert job["state"] == "held"
        assert job["overlap"] == 0.0
        assert job["slower"] < 0.002
    assert [one["event"] for one in record["events"]].count("Arranged") == 2  # parted, then apart


def test_a_run_is_the_same_each_time() -> None:
    first, again = (simulated(HELD, 20.0, setting=JITTERED) for _ in range(2))
    assert first["jobs"] == again["jobs"]


def test_a_job_that_is_stopped_stands_still_and_goes_on() -> None:
    stopped = Disturbance("stopped", 8.0, 5.0, disturbances.STOPPED.begin, disturbances.STOPPED.end)
    record = simulated(IN_PHASE, 20.0, stopped)
    assert max(apart_ms(record, 0.0)) == pytest.approx(5000, abs=600)
    assert apart_ms(record, 15.0)[-1] < 600
    assert record["disturbed_us"] == [8_000_000, 13_000_000]


def test_a_job_that_leaves_is_away_and_one_that_joins_is_there() -> None:
    setting = Setting(jobs="abc", size=LIGHT)
    leaving = Disturbance("leaves", 5.0, begin=disturbances.THIRD_LEAVING.begin, leaves="c")
    assert simulated(IN_PHASE, 12.0, leaving, setting)["jobs"]["c"]["starts_us"][-1] < 6.5e6
    joining = Disturbance("joins", 5.0, joins="c")
    assert simulated(IN_PHASE, 12.0, joining, setting)["jobs"]["c"]["starts_us"][0] == pytest.approx(
        5_000_000, abs=1000
    )


def test_a_daemon_that_was_killed_has_its_job_and_its_schedule_again() -> None:
    killed = Disturbance("killed", 22.0, 5.0, disturbances.DAEMON.begin, disturbances.DAEMON.end)
    record = simulated(HELD, 40.0, killed)
    told = [one["event"] for one in record["events"] if one["at_us"] > 22e6]
    assert told[0] == "Unreachable"
    assert {"Reachable", "MemberBack"} <= set(told)
    assert record["jobs"]["a"]["agent"]["state"] == "held"


def test_a_scheduler_that_was_killed_goes_on_with_the_grids_that_are_there() -> None:
    killed = Disturbance("killed", 22.0, 5.0, disturbances.COORDINATOR.begin, disturbances.COORDINATOR.end)
    record = simulated(HELD, 45.0, killed)
    told = [one["event"] for one in record["events"] if one["at_us"] > 22e6]
    assert told.count("Found") == 2
    assert "GoesOn" in told
    assert record["jobs"]["b"]["agent"]["adjustments"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [one for one in chosen() if one.disturbance.name], ids=lambda one: one.name)
def test_all_disturbances_are_simulated(scenario: Scenario) -> None:
    record = simulate(scenario, 0, 0.4)
    assert set(record["jobs"]) == set(scenario.setting.jobs)
    assert (record["disturbed_us"] is None) == (scenario.disturbance.at_s is None)
    assert all(one["agent"]["profile"] is not None for one in record["jobs"].values())


@pytest.fixture(scope="module")
def found() -> list[Row]:
    """Of two scenarios."""
    wanted = [one for one in chosen() if one.name.endswith(("0% jitter: in phase", "one stall of 230 ms"))][1:]
    tasks = [(Scenario("Alone", one.setting, ALONE, 20.0), 0) for one in wanted] + [(one, 0) for one in wanted]
    records = {(one.name, 0): simulate(one, 0, 0.4) for one, _ in tasks}
    return [one for one in rows(tasks, records) if one.scenario.mode != ALONE]


def test_what_was_run_on_the_network_stands_beside_and_what_was_not_is_said(found: list[Row], tmp_path: Path) -> None:
    session = {"CPU": "x", "cassini-core": "0", "commit": "0123abc", "ECN": "marked", "lanes": 1}
    write(found[:1], [session], [], tmp_path, False)
    wanted = [one.scenario for one in found]
    network, commit = on_network(tmp_path / "netlab.json", wanted)
    assert commit == "0123abc"
    text = markdown(wanted, found, network, "what was done")
    lines = {line.split(" | ")[0]: line for line in text.splitlines() if line.startswith("| two racks")}
    lines |= {line.split(" | ")[0]: line for line in text.splitlines() if line.startswith("| dumbbell")}
    was, was_not = (lines[f"| {one.name.replace(', FIFO, 8 flows, cubic', '')}"].split(" | ") for one in wanted)
    assert was[1:3] == ["1", "1"]
    assert was[3] == was[4]  # the same figures, by way of the file
    assert was[5] == was[6]
    assert was_not[1:3] == ["1", "not run"]


def test_what_never_happened_is_never_also_by_way_of_a_file(found: list[Row], tmp_path: Path) -> None:
    stalled = found[-1]
    never = {**stalled.found, "interleaved_s": math.inf, "apart_s": 1.0}
    session = {"CPU": "x", "cassini-core": "0", "commit": "c", "ECN": "marked", "lanes": 1}
    write([Row(stalled.scenario, 0, never, [])], [session], [], tmp_path, False)
    assert "NaN" not in (tmp_path / "netlab.json").read_text()
    (row,), _ = on_network(tmp_path / "netlab.json", [stalled.scenario])
    assert (row.found["interleaved_s"], row.found["apart_s"]) == (math.inf, 1.0)
    assert row.found["meanwhile"] == pytest.approx(never["meanwhile"])
    assert "never (never)" in markdown([stalled.scenario], [], [row], "")


def test_without_a_file_nothing_was_run(found: list[Row], tmp_path: Path) -> None:
    assert on_network(tmp_path / "netlab.json", [found[0].scenario]) == ([], "none")
