"""Schedules: what is written is read back, and anything else is refused with its place."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.schedule import DAY_NS, FORMAT, MS_NS, Schedule, ScheduleError

EXAMPLE = Schedule(
    job="a",
    component="c",
    version=1,
    epoch_ns=0,
    pace_ns=200 * MS_NS,
    shift_ns=0,
    iteration_ns=197 * MS_NS,
    hold_ns=7 * MS_NS,
    slack_ns=14 * MS_NS,
    gain_ns=0,
    expires_ns=3600 * 10**9,
)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    iteration = draw(st.integers(MS_NS, 2**40))
    pace = draw(st.integers(iteration, iteration * 3 // 2))
    hold = draw(st.integers(0, pace // 2))
    names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=256)
    return Schedule(
        job=draw(names),
        component=draw(names),
        version=draw(st.integers(1, 2**53)),
        epoch_ns=draw(st.integers(-(2**61), 2**61)),
        pace_ns=pace,
        shift_ns=draw(st.integers(0, pace - 1)),
        iteration_ns=iteration,
        hold_ns=hold,
        slack_ns=draw(st.integers(hold, pace // 2)),
        gain_ns=draw(st.integers(0, iteration)),
        expires_ns=draw(st.integers(-(2**61), 2**61)),
    )


@given(schedules())
def test_what_is_written_is_read_back(schedule: Schedule) -> None:
    assert Schedule.from_json(schedule.to_json()) == schedule
    assert Schedule.from_json(schedule.to_json().encode()) == schedule


@given(schedules())
def test_the_dead_band_is_within_the_hold(schedule: Schedule) -> None:
    assert 0 <= schedule.dead_band_ns <= schedule.hold_ns <= schedule.slack_ns


OUT_OF_BOUNDS = {
    "job": ["", "x" * 257, 3, None, "\ud800"],
    "component": ["", None],
    "version": [0, 2**53 + 1, 1.0, True, "1", None],
    "epoch_ns": [2**70, 1.5, None],
    "pace_ns": [197 * MS_NS - 1, 197 * MS_NS * 3 // 2 + 1, 2e8],
    "shift_ns": [-1, 200 * MS_NS],
    "iteration_ns": [0, MS_NS - 1, 2**40 + 1, -5, [], {}],
    "hold_ns": [-1, 100 * MS_NS + 1, 15 * MS_NS],
    "slack_ns": [6 * MS_NS, 100 * MS_NS + 1],
    "gain_ns": [-1, 197 * MS_NS + 1],
    "expires_ns": [None, "soon", 2**70],
}


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, values in OUT_OF_BOUNDS.items() for v in values])
def test_a_value_out_of_bounds_is_named(key: str, value: object) -> None:
    text = json.dumps({**EXAMPLE.to_mapping(), key: value})
    # A hold above the slack and an iteration time above the pace are seen at the other key.
    with pytest.raises(ScheduleError, match=rf"schedule\.({key}|slack_ns|pace_ns): expected .* got"):
        Schedule.from_json(text)


@pytest.mark.parametrize("key", [*EXAMPLE.to_mapping()])
def test_every_key_is_needed_and_comes_once(key: str) -> None:
    mapping = EXAMPLE.to_mapping()
    twice = EXAMPLE.to_json()[:-1] + f", {json.dumps(key)}: {json.dumps(mapping[key])}" + "}"
    with pytest.raises(ScheduleError, match="once"):
        Schedule.from_json(twice)
    del mapping[key]
    with pytest.raises(ScheduleError, match=key):
        Schedule.from_json(json.dumps(mapping))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        b"\xff",
        '{"format": NaN}',
        '{"format": Infinity}',
        "[" * 5000,
        '{"a":' * 3000,
        '{"version": ' + "9" * 5000 + "}",
        EXAMPLE.to_json()[:-1] + ', "extra": 1}',
        json.dumps({**EXAMPLE.to_mapping(), "format": "cassini-schedule/2"}),
    ],
    ids=range(12),
)
def test_what_is_no_schedule_is_refused(text: str | bytes) -> None:
    with pytest.raises(ScheduleError, match="schedule"):
        Schedule.from_json(text)


def test_far_from_now_is_refused() -> None:
    replace(EXAMPLE, epoch_ns=-DAY_NS, expires_ns=DAY_NS).check_near(0)
    for key in ("epoch_ns", "expires_ns"):
        with pytest.raises(ScheduleError, match=key):
            replace(EXAMPLE, **{key: DAY_NS + 1}).check_near(0)


def test_format_is_what_the_document_says() -> None:
    assert EXAMPLE.to_mapping()["format"] == FORMAT == "cassini-schedule/1"


@pytest.mark.parametrize("module", ["cassini_agent.schedule", "cassini_agent.control"])
def test_what_training_processes_import_is_the_standard_library(module: str) -> None:
    probe = (
        f"import sys, {module}; "
        "print([m for m in sys.modules if m.partition('.')[0] not in sys.stdlib_module_names "
        "and not m.startswith(('cassini_agent', '_', 'site'))])"
    )
    path = [entry for entry in sys.path if entry]
    code = f"import sys; sys.path[:] = {path!r}\n{probe}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
