"""What a coordinator learns of jobs, and how soon: news that does not wait, and silence that shows."""

from __future__ import annotations

import json
import signal
import threading
import time
from typing import Any

import pytest
from daemon_process import MS_NS, SECOND_NS, DaemonProcess, iterations_of, schedule_of, wait_until
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.daemon.changes import Changes
from cassini_agent.daemon.measurements import Measurements
from cassini_agent.daemon.messages import read_message

SOON_S = 2.0


def count(daemon: DaemonProcess) -> int:
    return int(daemon.ask("GET", "/v1/jobs").body["change"])


def waited_s(daemon: DaemonProcess, what: Any, wait_ms: int = 4000) -> float:
    """How long a reader waits that wants to know of the next change, while ``what`` is done a moment later."""
    known = count(daemon)
    timer = threading.Timer(0.1, what)
    timer.start()
    begun = time.monotonic()
    assert daemon.ask("GET", f"/v1/jobs?since={known}&wait_ms={wait_ms}").status == 200
    spent = time.monotonic() - begun
    timer.join()
    return spent


def test_who_waits_for_news_hears_at_once_of_what_matters_and_of_nothing_else(daemon: DaemonProcess) -> None:
    with daemon.job("news") as job:
        job.send(iterations_of(first=0, many=4))
        wait_until(lambda: daemon.status_of("news")["iterations"] == 4)
        news = [
            iterations_of(first=4, many=1, state="adjusting"),
            iterations_of(first=5, many=1, state="adjusting"),
            iterations_of(first=6, many=1, state="held"),
            iterations_of(first=7, many=1, state="held", version=3),
            {"type": "changed", "iteration_ns": 210 * MS_NS, "was_ns": 195 * MS_NS},
        ]
        for message in news:
            assert waited_s(daemon, lambda message=message: job.send(message)) < SOON_S
        # A report of every second is none.
        assert waited_s(daemon, lambda: job.send(iterations_of(first=8, many=1, version=3)), wait_ms=300) >= 0.25
        assert daemon.status_of("news")["iterations"] == 9
        assert waited_s(daemon, job.close) < SOON_S


def test_who_knows_another_count_is_answered_at_once(daemon: DaemonProcess) -> None:
    """After a restart the daemon counts from another number on."""
    assert Changes().count != Changes().count
    begun = time.monotonic()
    assert daemon.ask("GET", f"/v1/jobs?since={count(daemon) + 99}&wait_ms=4000").status == 200
    assert time.monotonic() - begun < SOON_S


@pytest.mark.parametrize("query", ["wait_ms=5001", "wait_ms=-1", "wait_ms=", "since=x&wait_ms=1", "wait_ms=1e3"])
def test_a_wait_that_is_no_whole_number_or_too_long_is_refused(daemon: DaemonProcess, query: str) -> None:
    answer = daemon.ask("GET", f"/v1/jobs?{query}")
    assert answer.status == 400
    assert answer.body["reason"] == "malformed"


def test_a_job_that_is_connected_and_says_nothing_is_silent_whatever_it_said_last(start: Any) -> None:
    daemon = start(test_options={"silent_ns": 400 * MS_NS})
    with daemon.job("stopped") as job:
        job.send(iterations_of(first=0, many=4, state="held", natural_ns=[20 * MS_NS] * 4))
        wait_until(lambda: daemon.status_of("stopped")["state"] == "held")
        wait_until(lambda: daemon.status_of("stopped")["state"] == "silent")
        job.send(iterations_of(first=4, many=1, state="held"))
        wait_until(lambda: daemon.status_of("stopped")["state"] == "held")


def test_the_status_tells_schedule_place_and_communication(daemon: DaemonProcess) -> None:
    sent = schedule_of("whole", 7)
    with daemon.job("whole") as job:
        daemon.put(sent)
        starts = [SECOND_NS * i for i in range(5)]
        job.send(
            iterations_of(
                many=5,
                start_ns=starts,
                communication_start_ns=[start + 100 * MS_NS for start in starts],
                communication_end_ns=[None, *(start + 180 * MS_NS for start in starts[1:])],
                version=7,
                place_ns=-42,
            )
        )
        wait_until(lambda: daemon.status_of("whole")["iterations"] == 5)
        status = daemon.status_of("whole")
        assert status["schedule"] == sent
        assert (status["version"], status["followed"], status["place_ns"]) == (7, 7, -42)
        assert (status["communication_start_ns"], status["communication_end_ns"]) == (100 * MS_NS, 180 * MS_NS)


@given(st.lists(st.tuples(st.integers(1, 3), st.lists(st.integers(-9, 9), min_size=1, max_size=4)), max_size=8))
def test_errors_of_two_grids_do_not_mix(reports: list[tuple[int, list[int]]]) -> None:
    told, expected, followed, first = Measurements(), [], 0, 0
    for version, errors in reports:
        message = iterations_of(first=first, many=len(errors), error_ns=errors, version=version)
        told.record(read_message(json.dumps(message).encode()))  # type: ignore[arg-type]
        expected = [*(expected if version == followed else []), *errors]
        followed, first = version, first + len(errors)
    assert told.errors_ns() == expected
    assert told.followed == followed


def test_the_iteration_time_is_of_what_does_not_differ_in_turn() -> None:
    told = Measurements()
    times = [190 * MS_NS, 200 * MS_NS, 190 * MS_NS] * 3
    first = iterations_of(first=0, many=3, natural_ns=times[:3])
    told.record(read_message(json.dumps(first).encode()))  # type: ignore[arg-type]
    assert told.iteration_ns() == 190 * MS_NS
    later = iterations_of(first=3, many=6, natural_ns=times[3:], pattern_ns=[-3 * MS_NS, 7 * MS_NS, -3 * MS_NS])
    told.record(read_message(json.dumps(later).encode()))  # type: ignore[arg-type]
    assert told.iteration_ns() == 193 * MS_NS


def test_a_daemon_that_stops_ends_the_wait(start: Any) -> None:
    one = start()
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(one.ask("GET", f"/v1/jobs?since={count(one)}&wait_ms=5000"))
        except OSError as error:
            answers.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(0.1)
    begun = time.monotonic()
    assert one.process is not None
    one.process.send_signal(signal.SIGTERM)
    one.process.wait(20)
    thread.join()
    assert time.monotonic() - begun < 10
    assert answers


def test_who_asks_for_some_jobs_gets_those_that_are_known_and_no_others(daemon: DaemonProcess) -> None:
    with daemon.job("one & only"), daemon.job("another"):
        wait_until(lambda: daemon.status_of("another")["connected"])

        def listed(query: str) -> list[str]:
            return [one["job"] for one in daemon.ask("GET", f"/v1/jobs?{query}").body["jobs"]]

        assert {"one & only", "another"} <= set(listed(""))
        assert listed("job=one%20%26%20only") == ["one & only"]
        assert set(listed("job=another&job=unknown&job=one%20%26%20only")) == {"one & only", "another"}
        assert listed("job=") == []
        known = count(daemon)
        assert listed(f"job=&since={known}&wait_ms=10") == []
