"""A thousand servers on one coordinator: processor time, requests and memory: ``python -m bench.agent.scale``.

The coordinator is the real one, and so is the HTTP. The daemons are played (``fake_daemons``), in another process, with
one job each; four jobs are a component. First all schedules are sent, then all is left alone for a while, and then it
is measured: with nothing happening, and with jobs that get out of their place. ``--each-second`` has all components
looked at each second, whatever they do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench.agent.fake_daemons import address, job_on
from bench.measuring import machine
from cassini_agent.coordinator import coordinator as the_coordinator
from cassini_agent.coordinator.coordinator import Coordinator
from cassini_agent.coordinator.http import HttpDaemons
from cassini_agent.coordinator.member import Member
from cassini_agent.dispatch.plan import Plan
from cassini_agent.dispatch.send import send_plan
from cassini_agent.endpoint import Endpoint
from cassini_agent.http_transport import HttpTransport
from cassini_agent.schedule import MS_NS, SECOND_NS, Schedule

PACE_NS = 250 * MS_NS
SETTLE_S = 120.0
"""Until the coordinator's clocks are known and the news of the beginning are over."""


class CountingTransport(HttpTransport):
    """Counts requests by what they ask for."""

    def __init__(self, timeout_s: float) -> None:
        super().__init__(timeout_s)
        self.requests: Counter[str] = Counter()

    async def request(
        self, method: str, endpoint: Endpoint, path: str, body: Any = None, timeout_s: float | None = None
    ) -> Any:
        kind = "clock" if path == "/v1/clock" else "schedule" if method == "PUT" else "jobs"
        self.requests["news" if "job=&" in path or path.endswith("job=") else kind] += 1
        return await super().request(method, endpoint, path, body, timeout_s)


def members(daemons: int, jobs: int) -> list[list[Member]]:
    """Components of so many jobs, in turns on one grid, one job a daemon."""
    now_ns = time.time_ns()
    common = {"epoch_ns": now_ns, "pace_ns": PACE_NS, "iteration_ns": PACE_NS - 5 * MS_NS, "gain_ns": 20 * MS_NS}
    rest = {"hold_ns": 10 * MS_NS, "slack_ns": 10 * MS_NS, "expires_ns": now_ns + 3600 * SECOND_NS}
    found = []
    for start in range(0, daemons, jobs):
        name = f"component-{start // jobs}"
        some = [
            Schedule(job=job_on(i), component=name, version=1, shift_ns=(i - start) * PACE_NS // jobs, **common, **rest)
            for i in range(start, min(start + jobs, daemons))
        ]
        found.append([Member(one, address(start + i)) for i, one in enumerate(some)])
    return found


async def study(port: int, daemons: int, jobs: int, seconds: float) -> dict[str, Any]:
    """All of it, against daemons that listen there."""
    endpoints = {address(i): Endpoint(f"http://{address(i)}:{port}") for i in range(daemons)}
    components = members(daemons, jobs)
    by_job = {member.schedule.job: member.schedule for component in components for member in component}
    plan = Plan(tuple(by_job.values()), {})
    where = {member.schedule.job: endpoints[member.host] for component in components for member in component}
    told: Counter[str] = Counter()
    async with CountingTransport(1.0) as http:
        sent, answers = await measured(lambda: send_plan(plan, where, http))
        coordinator = Coordinator(HttpDaemons(http, endpoints), lambda event: told.update([type(event).__name__]))
        acknowledged = {one.job: one.schedule or by_job[one.job] for one in answers}
        for component in components:
            coordinator.keep(Member(acknowledged[member.schedule.job], member.host) for member in component)
        running = asyncio.create_task(coordinator.run())
        await asyncio.sleep(SETTLE_S)
        settling = dict(told)
        told.clear()
        http.requests.clear()
        used, _ = await measured(lambda: asyncio.sleep(seconds))
        requests = dict(http.requests)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return {
        "accepted": sum(one.accepted for one in answers),
        "all sent, s": sent["s"],
        "processor": used["processor_s"] / used["s"],
        "requests a second": {kind: count / used["s"] for kind, count in sorted(requests.items())},
        "all requests a second": sum(requests.values()) / used["s"],
        "resident MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "told": dict(told),
        "told before": settling,
        "failures": sum(coordinator.failures.values()),
    }


async def measured(work: Callable[[], Awaitable[Any]]) -> tuple[dict[str, float], Any]:
    """Wall and processor time, and what came of it."""
    began, used = time.monotonic(), time.process_time()
    result = await work()
    return {"s": time.monotonic() - began, "processor_s": time.process_time() - used}, result


def run(daemons: int, jobs: int, seconds: float, strays_per_s: float) -> dict[str, Any]:
    """One study with daemons of its own."""
    with tempfile.TemporaryDirectory(prefix="cassini-scale-") as folder:
        port_file = Path(folder) / "port"
        command = [sys.executable, "-m", "bench.agent.fake_daemons", str(port_file), str(strays_per_s)]
        process = subprocess.Popen(command)
        try:
            while not (port_file.exists() and port_file.read_text().endswith("\n")):
                if process.poll() is not None:
                    raise SystemExit("the played daemons have ended")
                time.sleep(0.05)
            return asyncio.run(study(int(port_file.read_text()), daemons, jobs, seconds))
        finally:
            process.terminate()
            process.wait()


def main() -> None:
    """Measure one case in this process, or all, each in a process of its own, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--daemons", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=4, help="of each component")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--strays", type=float, help="one case alone: so many jobs a second get out of their place")
    parser.add_argument("--each-second", action="store_true", help="look at all components each second")
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if options.each_second:
        the_coordinator.REST_S = 0.0
    if options.strays is not None:
        print(json.dumps(run(options.daemons, options.jobs, options.seconds, options.strays)))
        return
    command = [sys.executable, "-m", "bench.agent.scale", f"--daemons={options.daemons}", f"--jobs={options.jobs}"]
    rows = []
    for strays in (0.0, 1.0):
        for how in ("--each-second", ""):
            more = [f"--seconds={options.seconds}", f"--strays={strays}", *([how] if how else [])]
            done = subprocess.run([*command, *more], check=True, stdout=subprocess.PIPE, text=True)
            rows.append({"strays": strays, "looks": "each second" if how else "as needed", **json.loads(done.stdout)})
            print(rows[-1], file=sys.stderr, flush=True)
    text = report(rows, options)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "agent-scale.json").write_text(json.dumps({"about": machine.about(), "rows": rows}, indent=1) + "\n")
    (options.out / "agent-scale.md").write_text(text)
    print(text)


COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "jobs a second that get out of their place": lambda row: f"{row['strays']:g}",
    "looked at": lambda row: row["looks"],
    "processor": lambda row: f"{row['processor']:.0%}",
    "requests a second": lambda row: f"{row['all requests a second']:.0f}",
    "processor a request, ms": lambda row: f"{1e3 * row['processor'] / row['all requests a second']:.2f}",
    "clocks": lambda row: f"{row['requests a second'].get('clock', 0):.0f}",
    "jobs": lambda row: f"{row['requests a second'].get('jobs', 0):.0f}",
    "news": lambda row: f"{row['requests a second'].get('news', 0):.0f}",
    "schedules": lambda row: f"{row['requests a second'].get('schedule', 0):.0f}",
    "all schedules sent in, s": lambda row: f"{row['all sent, s']:.1f}",
    "resident, MB": lambda row: f"{row['resident MB']:.0f}",
    "daemons told of as unreachable": lambda row: str(row["told"].get("Unreachable", 0)),
}


def report(rows: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """In Markdown."""
    lines = [
        "# Many servers on one coordinator",
        "",
        textwrap.fill(
            f"{options.daemons} played daemons with a job each, {options.jobs} jobs a component; {options.seconds:g} s "
            f"from {SETTLE_S:g} s after the schedules were sent. Processor time is that of the coordinator's process, "
            "as a share of one core. *As needed*: components of which all jobs are where they should be are looked at "
            f"every {the_coordinator.REST_S:g} s; *each second*: all.",
            120,
        ),
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "| ---: | --- |" + " ---: |" * (len(COLUMNS) - 2),
        *("| " + " | ".join(show(row) for show in COLUMNS.values()) + " |" for row in rows),
        "",
        "`python -m bench.agent.scale`; " + ", ".join(f"{key} {value}" for key, value in machine.about().items()),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
