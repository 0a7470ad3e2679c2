"""From the files of the kernel to what schedulers and operators read: ports of several vendors, as sysfs has them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from burst_trains import MS, Train, counted, train
from daemon_process import iterations_of
from fake_sysfs import FakePort

from cassini_agent.counters.watch import CounterWatch, open_sources
from cassini_agent.daemon.log import Log
from cassini_agent.daemon.messages import Iterations, read_message
from cassini_agent.daemon.metrics import Metrics
from cassini_agent.daemon.registry import Job, Registry
from cassini_agent.daemon.status import CounterView, job_status

PERIOD_MS = 200.0
MARKS_EACH_S = 40

VENDORS: dict[str, tuple[str, Mapping[str, str], int, int]] = {
    # where its bytes are, congestion marks as the driver calls them, bytes to a count, ms to a refresh
    "mlx5": (
        "counters/port_xmit_data",
        {"rp_cnp_handled": "cnp_handled", "np_cnp_sent": "cnp_sent", "np_ecn_marked_roce_packets": "ecn_marked"},
        4,
        1,
    ),
    "bnxt_re": (
        "counters/port_xmit_data",
        {"rx_cnp_pkts": "cnp_handled", "tx_cnp_pkts": "cnp_sent", "rx_ecn_marked_pkts": "ecn_marked"},
        4,
        1,
    ),
    "irdma": (
        "counters/port_xmit_data",
        {"cnpHandled": "cnp_handled", "cnpSent": "cnp_sent", "RxECNMrkd": "ecn_marked"},
        4,
        1,
    ),
    "ionic": ("counters/port_xmit_data", {"rx_rdma_cnp_pkts": "cnp_handled", "tx_rdma_cnp_pkts": "cnp_sent"}, 4, 1),
    "efa": ("hw_counters/tx_bytes", {}, 1, 10),
}


class Nobody:
    uid = 0
    pid = 1
    secret_sha256 = None

    def send(self, message: bytes) -> None: ...

    def prove(self) -> None: ...

    def evict(self, reason: str) -> None: ...


def play(root: Path, vendor: str) -> tuple[CounterWatch, Train, int]:
    """Twenty seconds of a job through a port of the vendor, which shows new bytes every so many ms."""
    place, marks, unit, refresh_ms = VENDORS[vendor]
    port = FakePort(root, f"{vendor}_0")
    if not place.startswith("counters/"):
        for name in ("port_xmit_data", "port_rcv_data"):
            (port.folder / "counters" / name).unlink()
        port.write("hw_counters/rx_bytes", 0)
        port.write("hw_counters/lifespan", refresh_ms)
    for name in marks:
        port.write(f"hw_counters/{name}", 10**6)
    port.write(place, 0)
    watch = CounterWatch(*open_sources(root=str(root)))
    job = train(random.Random(1), 100, PERIOD_MS, [(80.0, 90.0)])
    sent = (port.folder / place).open("r+")
    now = 0
    for number, (now, total) in enumerate(counted([job], lambda _: 2 * MS, random.Random(2))):
        if number % (max(1, refresh_ms // 2)) == 0:
            sent.seek(0)
            sent.write(f"{total // unit:<20}\n")
            sent.flush()
        for name in marks if number % 100 == 0 else ():
            port.write(f"hw_counters/{name}", 10**6 + now * MARKS_EACH_S // 10**9)
        if number % 500 == 0:
            watch.sampler.slow_tick(now)
        watch.sampler.tick(now)
        if number % 500 == 0:
            watch.latest()
    sent.close()
    return watch, job, now


def reported(job: Train, until: int, *, hook: bool) -> Job:
    registry = Registry(4)
    known = registry.join("a", Nobody(), 0)
    told = job.told(until, hook=hook)
    many = len(told.starts_ns)
    for first in range(0, many, 32):
        starts = told.starts_ns[first : first + 32]
        communication = list(told.communication_ns[first : first + 32]) or [None] * len(starts)
        message = iterations_of(
            first=first,
            start_ns=list(starts),
            natural_ns=[round(PERIOD_MS * MS)] * len(starts),
            delay_ns=[0] * len(starts),
            error_ns=[None] * len(starts),
            communication_start_ns=communication,
            communication_end_ns=[None] * len(starts),
        )
        checked = read_message(json.dumps(message).encode())
        assert isinstance(checked, Iterations)
        known.measurements.record(checked)
    return known


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("hook", [True, False])
def test_what_a_port_counts_is_in_the_status_and_in_the_metrics(tmp_path: Path, vendor: str, hook: bool) -> None:
    watch, played, until = play(tmp_path, vendor)
    log = Log(lambda _: None)
    view = CounterView(watch, log)
    job = reported(played, until, hook=hook)
    registry = Registry(4)
    registry._jobs["a"] = job

    async def judged() -> str:
        await view.refresh(registry)
        metrics = Metrics(registry, log, view, lambda: until, {}, {})
        return (await metrics.render())[0].decode()

    text = asyncio.run(judged())
    status = job_status(job, view, until)
    assert not log.errors
    assert status["counters"]["devices"][f"{vendor}_0/1"]["tx_bytes"] > 10**8
    # Every 10 ms is not often enough for iterations of 200 ms; it is for those of more than 300.
    coarse = vendor == "efa"
    says = status["counters_say"]
    assert (says["says"], status["disagreement"]) == ("confirm" if hook and not coarse else "silent", None)
    assert status["communication_start_ns"] == (None if coarse and not hook else pytest.approx(80 * MS, abs=3 * MS))
    if coarse:
        assert "too coarse" in says["reason"]
    elif not hook:
        assert status["communication_end_ns"] == pytest.approx(170 * MS, abs=6 * MS)
    marks = dict.fromkeys(VENDORS[vendor][1].values(), pytest.approx(MARKS_EACH_S * PERIOD_MS / 1000, rel=0.1))
    assert {name: value for name, value in status["marks_per_iteration"].items() if name in marks} == marks
    assert f'cassini_agent_jobs_by_counters_say{{says="{says["says"]}"}} 1.0' in text
    for mark in marks:
        assert f'cassini_agent_job_marks_per_iteration{{job="a",mark="{mark}"}}' in text
    assert f'cassini_agent_counter{{name="devices.{vendor}_0/1.tx_bytes"}}' in text
