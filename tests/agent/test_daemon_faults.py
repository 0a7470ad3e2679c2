"""Whatever fails, the jobs go on: each test is a row of the table of faults."""

from __future__ import annotations

import gc
import json
import math
import os
import resource
import signal
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import Row, Start
from daemon_process import MS_NS, SECOND_NS, DaemonProcess, iterations_of, schedule_of, wait_until

from cassini_agent.local_link import LocalLink

HOUR_NS = 3600 * SECOND_NS


LinkOf = Callable[[DaemonProcess, str], LocalLink]


@pytest.fixture
def link_of() -> Iterator[LinkOf]:
    """The job's own end of the socket."""
    links: list[LocalLink] = []

    def make(daemon: DaemonProcess, job: str) -> LocalLink:
        hello = {"type": "hello", "protocol": 1, "job": job}
        links.append(LocalLink(str(daemon.socket), hello))
        return links[-1]

    yield make
    for link in links:
        link.close()


def next_message(link: LocalLink) -> dict[str, object]:
    got: list[dict[str, object]] = []
    wait_until(lambda: got.extend(link.receive()) or got)
    assert len(got) == 1
    return got[0]


def test_a_schedule_reaches_the_job_and_its_measurements_the_scheduler(daemon: DaemonProcess) -> None:
    with daemon.job("plain") as job:
        sent = schedule_of("plain")
        assert daemon.put(sent) == (200, {"accepted": True, "version": 1, "connected": True})
        got = job.receive()
        assert got is not None
        offset_ns = time.monotonic_ns() - time.time_ns()
        for key, value in sent.items():
            if key in ("epoch_ns", "expires_ns"):
                assert abs(got[key] - value - offset_ns) < MS_NS
            else:
                assert got[key] == value
        job.send(iterations_of(first=0, many=5))
        wait_until(lambda: daemon.status_of("plain")["iterations"] == 5)
        status = daemon.status_of("plain")
        assert (status["state"], status["uid"], status["connected"]) == ("held", os.getuid(), True)
        assert status["iteration_ns"] == 195 * MS_NS + 2
        assert (status["error_ns"], status["error_spread_ns"]) == (-998, 1)
        assert (status["adjustments"], status["delay_total_ns"], status["dropped"]) == (3, 4, 5)
        job.send({"type": "changed", "iteration_ns": 210 * MS_NS, "was_ns": 195 * MS_NS})
        wait_until(lambda: daemon.status_of("plain")["changed"])
        told = {"iteration_ns": 210 * MS_NS, "was_ns": 195 * MS_NS, "certain": False}
        assert daemon.status_of("plain")["changed"] == told
        assert daemon.ask("DELETE", "/v1/jobs/plain/schedule?version=2").status == 200
        assert job.receive() == {"type": "clear"}


def test_a_change_is_remembered_until_a_schedule_knows_of_it_or_the_job_begins_again(daemon: DaemonProcess) -> None:
    """The job tells it once, and a lease that is renewed or an epoch that moves is no answer to it."""
    told = {"iteration_ns": 210 * MS_NS, "was_ns": 195 * MS_NS, "certain": True}
    first = schedule_of("slower")
    with daemon.job("slower") as job:
        daemon.put(first)
        job.send(iterations_of(first=0, many=4))
        job.send({"type": "changed", **told})
        wait_until(lambda: daemon.status_of("slower")["changed"])
        daemon.put({**first, "version": 2, "epoch_ns": first["epoch_ns"] + 5 * MS_NS})
        assert daemon.status_of("slower")["changed"] == told
        daemon.put({**first, "version": 3, "iteration_ns": 210 * MS_NS, "pace_ns": 215 * MS_NS})
        assert daemon.status_of("slower")["changed"] is None
        job.send({"type": "changed", **told})
        wait_until(lambda: daemon.status_of("slower")["changed"])
        job.send(iterations_of(first=4, many=4))
        wait_until(lambda: daemon.status_of("slower")["iterations"] == 8)
        assert daemon.status_of("slower")["changed"] == told
    with daemon.job("slower") as job:
        job.send(iterations_of(first=0, many=4))
        wait_until(lambda: daemon.status_of("slower")["iterations"] == 4)
        assert daemon.status_of("slower")["changed"] is None


def test_the_scheduler_goes_away(daemon: DaemonProcess, row: Row) -> None:
    with daemon.job("orphan") as job:
        daemon.put(schedule_of("orphan", expires_ns=time.time_ns() + 700 * MS_NS))
        got = job.receive()
        assert got is not None
        expires_ns = got["expires_ns"]
        assert job.is_silent(0.3)
        wait_until(lambda: time.monotonic_ns() >= expires_ns)
    with daemon.job("orphan") as job:
        assert job.is_silent(0.1)
    assert daemon.status_of("orphan")["state"] == "expired"
    row(
        "fault",
        "scheduler gone",
        "the schedule holds until it expires, then the job runs free; newcomers do not get it",
    )


def test_a_schedule_that_has_expired_is_not_taken(daemon: DaemonProcess, row: Row) -> None:
    with daemon.job("late") as job, daemon.counts_refusal("http", "expired"):
        answer = daemon.put(schedule_of("late", expires_ns=time.time_ns() - 1))
        assert (answer.status, answer.body["reason"]) == (400, "expired")
        assert job.is_silent(0.1)
    row("fault", "schedule expired on its way", "400 `expired`, counted; the job hears nothing")


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[1]",
        b"null",
        b'{"format": "cassini-schedule/1"}',
        b"[" * 16_000,
        b'{"a": ' * 2500,
        b'{"format": NaN}',
        b'{"format": ' + b"9" * 10_000 + b"}",
    ],
)
def test_garbage_instead_of_a_schedule(daemon: DaemonProcess, garbage: bytes, row: Row) -> None:
    """One test per kind of garbage."""
    job = f"garbage-{len(garbage)}"
    with daemon.job(job) as connection, daemon.counts_refusal("http", "malformed"):
        daemon.put(schedule_of(job))
        held = connection.receive()
        answer = daemon.ask("PUT", f"/v1/jobs/{job}/schedule", garbage)
        assert (answer.status, answer.body["reason"]) == (400, "malformed")
        assert connection.is_silent(0.05)
    with daemon.job(job) as connection:
        assert connection.receive() == held
    row("fault", "garbage instead of a schedule", "400 `malformed`, counted; the one in force stays")


def test_the_daemon_is_killed_and_comes_back(start: Start, link_of: LinkOf, row: Row) -> None:
    daemon = start()
    link = link_of(daemon, "survivor")
    assert link.send(iterations_of())
    newer = schedule_of("survivor", version=7)
    assert daemon.put(newer).status == 200
    held = next_message(link)
    daemon.process.kill()  # type: ignore[union-attr]
    daemon.process.wait()  # type: ignore[union-attr]
    for _ in range(3):
        assert not link.send(iterations_of())
        assert link.receive() == []
    assert link.dropped == 3
    daemon.start()
    again: list[dict[str, object]] = []
    wait_until(lambda: again.extend(link.receive()) or again)
    assert again == [held]  # to the nanosecond: the grid did not move
    answer = daemon.put(schedule_of("survivor", version=6))
    assert (answer.status, answer.body["reason"]) == (409, "older_version")
    assert daemon.put(newer).status == 200
    assert link.receive() == []
    row(
        "fault",
        "daemon killed (-9), started again",
        "the job reconnects by itself and gets the same grid to the nanosecond",
    )
    row("security", "older version after a restart of the daemon", "409 `older_version`")


def waits() -> int:
    """How often this thread has given the processor away, to wait for something."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def test_a_stopped_daemon_costs_a_job_less_than_a_millisecond(start: Start, link_of: LinkOf, row: Row) -> None:
    daemon = start()
    links = [link_of(daemon, f"job{i}") for i in range(4)]
    assert all(link.send(iterations_of()) for link in links[:2])
    daemon.kill(signal.SIGSTOP)
    took_ns, waited = [], 0
    gc.disable()  # it would be counted
    for _ in range(500):
        for link in links:  # two that were connected, two that find a daemon that does not accept
            for call in (lambda link=link: link.send(iterations_of()), link.receive):
                began = time.thread_time_ns(), time.perf_counter_ns(), waits()
                call()
                waited += waits() - began[2]
                took_ns.append((time.perf_counter_ns() - began[1], time.thread_time_ns() - began[0]))
    gc.enable()
    walls, works = (sorted(column) for column in zip(*took_ns, strict=True))
    dropped = sum(link.dropped for link in links)
    assert dropped > 1000
    # A busy machine may let others run meanwhile; the calls themselves wait for nothing and work little.
    assert waited == 0
    assert works[int(0.99 * len(works))] < MS_NS
    daemon.kill(signal.SIGCONT)
    daemon.put(schedule_of("job0"))
    assert next_message(links[0])["job"] == "job0"
    median_us, p99_us = statistics.median(walls) / 1e3, walls[int(0.99 * len(walls))] / 1e3
    row(
        "fault",
        "daemon stopped (SIGSTOP), socket full",
        f"{len(walls)} calls of the job: median {median_us:.0f} us, 99 % below {p99_us:.0f} us; {dropped} lost",
    )


def test_a_job_that_never_reads_holds_up_nobody(start: Start, row: Row) -> None:
    daemon = start()
    with daemon.job("deaf") as deaf, daemon.job("hears") as hears:
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        before = daemon.resident_bytes()
        slowest = 0.0
        for version in range(1, 401):
            began = time.perf_counter()
            assert daemon.put(schedule_of("deaf", version=version)).status == 200
            slowest = max(slowest, time.perf_counter() - began)
        daemon.put(schedule_of("hears"))
        assert hears.receive() is not None
        grown = daemon.resident_bytes() - before
        assert grown < 8 * 2**20
        newest = 0
        while newest < 400:  # what waited longest, and in the end the newest
            message = deaf.receive()
            assert message is not None
            newest = message["version"]
    row(
        "fault",
        "job never reads",
        f"400 schedules: slowest answer {1e3 * slowest:.0f} ms, others served; the newest waits",
    )


def test_a_wall_clock_that_steps_moves_no_job(start: Start, tmp_path: Path, row: Row) -> None:
    offset = tmp_path / "offset"
    offset.write_text("0")
    daemon = start(test_options={"clock_offset_file": str(offset)})
    with ExitStack() as stack:
        job = stack.enter_context(daemon.job("steady"))
        daemon.put(schedule_of("steady"))
        held = job.receive()
        assert held is not None
        for step_ns in (HOUR_NS, -HOUR_NS):
            steps = daemon.metric("clock_steps_total")
            offset.write_text(str(step_ns))
            wait_until(lambda: daemon.metric("clock_steps_total") > steps)  # noqa: B023
            assert job.is_silent(0.1)
            with daemon.job("steady") as again:  # it takes the place of the one before
                assert again.receive() == held
            job = stack.enter_context(daemon.job("steady"))
            assert job.receive() == held
            assert daemon.status_of("steady")["state"] == "waiting"  # what the job said, not expired
        clock = daemon.ask("POST", "/v1/clock", {"offset_ns": None}).body
        assert abs(clock["unix_ns"] - time.time_ns() + HOUR_NS) < SECOND_NS
        fresh = schedule_of("steady", version=2, epoch_ns=clock["unix_ns"], expires_ns=clock["unix_ns"] + SECOND_NS)
        assert daemon.put(fresh).status == 200
        moved = job.receive()
        assert moved is not None
        assert abs(moved["epoch_ns"] - clock["monotonic_ns"]) < MS_NS
    row("fault", "wall clock steps by +1 h, then by -2 h", "seen and counted; a held job hears nothing, its grid stays")


def test_an_offset_moves_held_jobs_by_drift_but_not_by_a_step(start: Start, row: Row) -> None:
    daemon = start()
    clock = daemon.ask("POST", "/v1/clock", {"offset_ns": None}).body
    offset_ns = clock["monotonic_ns"] - clock["unix_ns"]
    error_s = daemon.metric("wall_clock_error_seconds")
    assert math.isnan(error_s) if clock["unix_error_ns"] is None else 0 <= error_s < 20

    def give(more_ns: int) -> None:
        assert daemon.ask("POST", "/v1/clock", {"offset_ns": offset_ns + more_ns}).status == 200

    with daemon.job("follower") as job:
        daemon.put(schedule_of("follower"))
        first = job.receive()
        give(5 * MS_NS)
        drifted = job.receive()
        assert first is not None
        assert drifted is not None
        assert abs(drifted["epoch_ns"] - first["epoch_ns"] - 5 * MS_NS) < MS_NS
        give(5 * MS_NS + 1000)  # a microsecond is not worth a message
        assert job.is_silent(0.1)
        give(HOUR_NS)
        assert job.is_silent(0.1)
        assert daemon.metric("clock_offset_steps_total") == 1
        give(HOUR_NS + 5 * MS_NS)  # the job stays where it is until its next schedule
        assert job.is_silent(0.1)
        daemon.process.kill()  # type: ignore[union-attr]
        daemon.process.wait()  # type: ignore[union-attr]
    daemon.start()
    with daemon.job("follower") as job:
        assert job.receive() == drifted
        answer = daemon.put(schedule_of("follower", version=2))
        assert answer.status == 200
        after = job.receive()
        assert after is not None
        assert abs(after["epoch_ns"] - time.monotonic_ns() - HOUR_NS - 5 * MS_NS) < SECOND_NS
    row("fault", "coordinator's clock drifts by 5 ms", "held jobs follow")
    row("fault", "coordinator's clock steps by 1 h", "held jobs stay until their next schedule, over a restart too")


def test_a_full_disk_stops_nothing(start: Start, link_of: LinkOf, row: Row) -> None:
    daemon = start()
    link = link_of(daemon, "disk")
    assert daemon.put(schedule_of("disk", version=1)).status == 200
    _, hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
    size = (daemon.state / "journal").stat().st_size
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (size - 10, hard))
    assert daemon.put(schedule_of("disk", version=2)).status == 200  # a part of it fits
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (10, hard))
    for version in range(3, 12):
        assert daemon.put(schedule_of("disk", version=version)).status == 200
        daemon.put(schedule_of("disk", version=1))
    assert next_message(link)["version"] in range(1, 12)
    wait_until(lambda: daemon.metric("errors_total", where="journal") >= 10)
    wait_until(lambda: daemon.metric("log_lines_dropped_total") >= 1)
    dropped = daemon.metric("log_lines_dropped_total")
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (hard, hard))
    assert daemon.put(schedule_of("disk", version=12)).status == 200
    kept = json.loads((daemon.state / "journal").read_text())
    assert [one["version"] for one in kept["jobs"]] == [12]
    row(
        "fault",
        "disk full",
        f"10 schedules accepted and delivered; journal errors and {dropped:.0f} lost log lines counted",
    )
    row("fault", "disk has room again", "the next change writes the journal anew, complete")


def test_whose_a_job_is_outlives_the_daemon_though_nobody_sent_a_command_since(start: Start, row: Row) -> None:
    daemon = start()
    daemon.put(schedule_of("owned"))
    with daemon.job("owned") as job:
        assert job.receive() is not None
        wait_until(lambda: json.loads((daemon.state / "journal").read_text())["jobs"][0]["owner"] == os.getuid())
    daemon.stop(signal.SIGKILL)
    daemon.start()
    assert daemon.status_of("owned")["uid"] == os.getuid()
    row("fault", "daemon killed after a job came", "whose the job is was written down within a second")


@pytest.mark.parametrize(
    "kept", [b"", b"nonsense", b"\xff", b'{"boot": "x", "offset_ns": null, "jobs": [', b"[" * 10**5]
)
def test_a_journal_of_nonsense_is_as_good_as_none(start: Start, tmp_path: Path, kept: bytes, row: Row) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "journal").write_bytes(kept)
    daemon = start()
    assert daemon.metric("errors_total", where="journal") == 1
    assert daemon.put(schedule_of("a")).status == 200
    row("fault", "journal torn or overwritten", "counted, and as good as none: the daemon starts")


def test_counters_come_with_the_status(start: Start, row: Row) -> None:
    daemon = start("--net-device=lo", counters="auto")
    with daemon.job("counted"):
        until_ns = time.monotonic_ns() + 20 * SECOND_NS
        while not (counters := daemon.status_of("counted")["counters"]) or counters["samples"] < 100:
            assert time.monotonic_ns() < until_ns
            time.sleep(0.1)
        assert counters["devices"]["lo"]["tx_bytes"] > 0
        assert daemon.metric("counter", name="devices.lo.tx_bytes") > 0
        wait_until(lambda: daemon.status_of("counted")["counters_say"])
        assert daemon.status_of("counted")["counters_say"]["says"] == "silent"
        assert daemon.status_of("counted")["disagreement"] is None
    assert daemon.stop() == 0
    gone = start("--net-device=no-such-device", counters="auto")
    with gone.job("uncounted"):
        assert gone.put(schedule_of("uncounted")).status == 200
        wait_until(lambda: gone.status_of("uncounted")["counters"])
        assert "no counters" in gone.status_of("uncounted")["counters"]["note"]
    row(
        "fault",
        "no counters, or a device that does not exist",
        "the daemon serves without them; `counters.note` says why",
    )


def test_a_daemon_that_is_told_to_stop_fails_nowhere(start: Start) -> None:
    daemon = start()
    with daemon.job("connected"), socket.create_connection((daemon.url_host, daemon.port)) as asking:
        wait_until(lambda: daemon.ask("GET", "/v1/jobs").body["jobs"])
        asking.send(b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n")
        assert asking.recv(4096)
        assert daemon.stop() == 0
    assert [json.loads(line)["event"] for line in daemon.log.read_text().splitlines()][-1] == "stopping"
    assert '"failed"' not in daemon.log.read_text()


def test_a_second_daemon_does_not_take_the_place_of_the_first(start: Start, daemon: DaemonProcess, row: Row) -> None:
    with pytest.raises(AssertionError, match="the daemon ended with 1"):
        start(socket=daemon.socket)
    with daemon.job("first") as job:
        daemon.put(schedule_of("first"))
        assert job.receive() is not None
    row("fault", "a second daemon on the same socket", "it does not start, exit status 1; the first goes on")
