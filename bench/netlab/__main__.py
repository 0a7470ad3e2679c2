"""Does the product's control keep jobs interleaved on a kernel's network?

sudo python -m bench.netlab [--quick] [--only PATTERN] [--lanes L]      (Linux, root, iproute2)
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from bench.measuring import reports
from bench.measuring.machine import about
from bench.measuring.progress import Progress

from . import marker, scenarios
from .network import clean_up, folder, missing, refused
from .rows import rows
from .scenarios import ALONE, Scenario
from .study import Study, Task

__all__ = ["main"]

NAME = "netlab"


def main() -> int:
    """Exit status 1 if a run failed, 2 if this machine cannot make labs, 128 and the signal's number after one."""
    parser = reports.parser("bench.netlab", __doc__, "one queue, jitter, random start against held, a daemon killed")
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="of each scenario (10; quick: 1)")
    parser.add_argument("--lanes", type=int, default=1, metavar="L", help="labs at a time; each needs a core (1)")
    parser.add_argument("--only", metavar="PATTERN", help="regular expression: scenarios whose name has it")
    parser.add_argument("--traffic", choices=["plain", "ddp"], default="plain", help="plain sockets, or PyTorch's DDP")
    profiles = "of held jobs: as they are alone, or measured while they run (running)"
    parser.add_argument("--profiles", choices=["alone", "running"], default="running", help=profiles)
    parser.add_argument("--resume", action="store_true", help="keep the runs that the folder has, make the others")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run that would end later")
    parser.add_argument("--list", action="store_true", help="print the scenarios and end")
    options = parser.parse_args()
    wanted = scenarios.quick(options.traffic) if options.quick else scenarios.full(options.traffic)
    wanted = chosen(wanted, options.only)
    if options.list:
        print(*(one.name for one in wanted), sep="\n")
        return 0
    if lacks := missing():
        print("bench.netlab cannot run here:", *(f"  {one}" for one in lacks), sep="\n", file=sys.stderr)
        return 2
    for left in clean_up():
        print(f"removed what a dead process left: {left}", file=sys.stderr)
    options.out.mkdir(parents=True, exist_ok=True)
    runs = 1 if options.quick else options.runs
    tasks = [Task(one, number) for one in wanted for number in range(one.runs(runs))]
    return _made(tasks, options)


def chosen(all_of_them: list[Scenario], pattern: str | None) -> list[Scenario]:
    """Those whose name has the pattern, and the jobs alone that these are compared with."""
    kept = [one for one in all_of_them if pattern is None or re.search(pattern, one.name)]
    settings = {one.setting for one in kept}
    return [one for one in all_of_them if one in kept or (one.mode == ALONE and one.setting in settings)]


def _made(tasks: list[Task], options: argparse.Namespace) -> int:
    file = options.out / f"{NAME}.runs.jsonl.gz"
    if not options.resume:
        file.unlink(missing_ok=True)
    progress = Progress()
    received: list[int] = []
    with folder() as own:
        compiled, why_not = marker.usable(Path(own))
        if compiled is not None and (why_not := refused(compiled)):
            compiled = None
        end_s = time.monotonic() + options.minutes * 60
        study = Study(file, compiled, options.lanes, end_s, options.profiles == "alone")
        study.read()
        ecn = f"not marked, and not used: {why_not}" if why_not else "marked"
        if options.minutes > 0 or not study.sessions():  # else the runs are those of other machines
            study.note({**about(), "ECN": ecn, "profiles": options.profiles, "lanes": options.lanes})

        def stop(number: int, frame: FrameType | None) -> None:
            received.append(number)
            study.stop.set()

        before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
        progress.study("runs")
        try:
            study.make(tasks, progress.step)
        finally:
            study.stop.set()
            for number, handler in before.items():
                signal.signal(number, handler)
        progress.done()
    if received:
        return 128 + received[0]
    # Matplotlib is not needed to make runs.
    from .report import write

    found = rows([(task.scenario, task.number) for task in tasks], study.records)
    write(found, study.sessions(), study.failures, options.out, options.quick)
    if study.not_begun:
        print(f"{study.not_begun} runs were not begun: no time was left", file=sys.stderr)
    for failure in study.failures:
        print(failure, file=sys.stderr)
    return 1 if study.failures else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # an exception: what is made is taken down
    sys.exit(main())
