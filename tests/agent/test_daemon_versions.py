"""A scheduler whose clock was once ahead has given versions that it will not reach for years: nobody is locked out."""

from __future__ import annotations

import time

from conftest import Row
from daemon_process import TOKEN, DaemonProcess, schedule_of

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.schedule import MAX_VERSION

YEAR_MS = 365 * 86_400 * 1000

JOBS = [cc.Job(name, 200.0, [cc.Phase(0.0, length, 45.0)]) for name, length in (("early", 90.0), ("late", 80.0))]
PROBLEM = cc.Problem(JOBS, [cc.Link("up", 50.0)], [cc.Candidate("c", {job.id: ["up"] for job in JOBS})])


def check_applies(daemon: DaemonProcess) -> None:
    endpoint = dispatch.Endpoint(f"http://{daemon.url_host}:{daemon.port}", TOKEN)
    where = dict.fromkeys((job.id for job in JOBS), endpoint)
    for one in dispatch.apply(cc.rank(PROBLEM), PROBLEM, where):
        assert (one.accepted, one.reason) == (True, "")
        assert one.schedule is not None
        assert daemon.status_of(one.job)["schedule"] == one.schedule.to_mapping()
    assert [one.attempts for one in dispatch.apply(cc.rank(PROBLEM), PROBLEM, where)] == [0, 0]  # it is as planned


def test_versions_of_a_clock_that_was_ahead_are_gone_on_from(daemon: DaemonProcess, row: Row) -> None:
    ahead = time.time_ns() // 1_000_000 + YEAR_MS
    for job in JOBS:
        daemon.put(schedule_of(job.id, version=ahead))
    assert daemon.ask("DELETE", f"/v1/jobs/late/schedule?version={ahead}").status == 200
    check_applies(daemon)
    row("security", "versions of a clock that was a year ahead", "dispatching goes on from what the daemons have")


def test_the_greatest_version_is_left_behind_by_withdrawing_it(daemon: DaemonProcess, row: Row) -> None:
    for job in JOBS:
        assert daemon.put(schedule_of(job.id, version=MAX_VERSION)).status == 200
        answer = daemon.ask("DELETE", f"/v1/jobs/{job.id}/schedule?version={MAX_VERSION}")
        assert (answer.status, answer.body["version"]) == (200, 0)
    check_applies(daemon)
    row("security", "the greatest version there is", "to withdraw it forgets all versions of the job")
