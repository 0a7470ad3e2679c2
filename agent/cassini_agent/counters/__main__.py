"""``python -m cassini_agent.counters FILE``: record the counters of this host for a while."""

from __future__ import annotations

import argparse
import platform
import signal
import sys
import threading
import time
from collections.abc import Sequence

from .recorder import Recorder
from .sampler import Sampler
from .watch import open_sources


def main(arguments: Sequence[str] | None = None) -> int:
    """Record until the time is over, the disk is full or a signal comes; 0 if all was written and anything read."""
    options = _parser().parse_args(arguments)
    try:
        sources, _ = open_sources(options.port, options.device)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    if not sources:
        print("no device: name one with --device or --port", file=sys.stderr)
        return 1
    sampler = Sampler(sources, interval_ns=round(options.interval_ms * 1e6))
    try:
        recorder = Recorder(sampler, options.file, about={"host": platform.node(), "kernel": platform.release()})
    except OSError as error:
        print(f"{options.file}: {error.strerror or error}", file=sys.stderr)
        return 1
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    sampler.start()
    end = time.monotonic() + options.seconds
    while (left := end - time.monotonic()) > 0 and recorder.problem is None and not over.wait(min(1.0, left)):
        recorder.flush()
    problems = sampler.problems()
    sampler.stop()
    recorder.stop()
    print(
        f"{recorder.rows} rows in {recorder.bytes} bytes; {sampler.samples} ticks, {sampler.missed} missed; "
        f"{100 * sampler.cpu_share:.2f} % of a core, a tick every {sampler.now_interval_ns / 1e6:g} ms; "
        f"longest reading {sampler.worst_ns / 1e6:.2f} ms"
    )
    answers = recorder.answers()
    for channel, answer in answers:
        print(f"{channel.device} {channel.name}: {answer}")
    for problem in [*problems, *([recorder.problem] if recorder.problem else [])]:
        print(problem, file=sys.stderr)
    unknown = all(answer in ("not known", "never readable", "not there") for _, answer in answers)
    if unknown:
        print(f"{options.file}: no counter of bytes could be read; nothing is known of the traffic", file=sys.stderr)
    return 1 if recorder.problem or unknown else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cassini_agent.counters",
        description="Record byte counters of this host, for 'cassini-core profile counters'. Without --port and "
        "--device: the active RDMA ports, or else the devices of the default routes.",
    )
    parser.add_argument("file", help="recording to make; must not exist")
    parser.add_argument("--port", action="append", metavar="NAME", help="RDMA device or port: mlx5_0 or mlx5_0/1")
    parser.add_argument("--device", action="append", metavar="NAME", help="network device")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (60)")
    parser.add_argument("--interval-ms", type=float, default=1.0, help="time between samples (1)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
