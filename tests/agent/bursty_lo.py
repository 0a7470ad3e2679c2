"""For a network namespace of its own: a sender of real bursts on lo, and a watch beside it that knows nothing of it.

Prints JSON: when each burst was begun, what the watch found, what it says to the truth, to a lie, and of a job
that only reports its iterations. The one argument
is the recording to make.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict

from cassini_agent.counters.netdev import open_device
from cassini_agent.counters.recorder import Recorder
from cassini_agent.counters.sampler import Sampler
from cassini_agent.counters.starts import Heard
from cassini_agent.counters.watch import CounterWatch

PERIOD_S, BURST_S, ITERATIONS = 0.08, 0.025, 60
SENDER = f"""
import socket, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
data, begin = bytes(8000), time.monotonic() + 0.3
for k in range({ITERATIONS}):
    time.sleep(max(0, begin + k * {PERIOD_S} - time.monotonic()))
    print(time.monotonic_ns(), flush=True)
    end = time.monotonic() + {BURST_S}
    while time.monotonic() < end:
        out.sendto(data, ("127.0.0.1", 9))
        time.sleep(0.0002)
"""


def main(path: str) -> None:
    # Before anything else that runs, as on a machine that is not overloaded: the sender's truth must be true.
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    watch = CounterWatch([open_device("lo")], most_cpu=None)
    recorded = Sampler([open_device("lo")], most_cpu=None)
    recorder = Recorder(recorded, path)
    watch.start()
    recorded.start()
    done = subprocess.run([sys.executable, "-c", SENDER], capture_output=True, text=True, check=True)
    time.sleep(0.1)
    recorded.stop()
    recorder.stop()
    truth = [int(line) for line in done.stdout.split()]
    told = {
        "truth": Heard(truth, truth),
        "lie": Heard(truth, [start - 20_000_000 for start in truth]),
        "no hook": Heard([start - 30_000_000 for start in truth]),
    }
    said = {name: asdict(watch.witness({"job": heard})["job"]) for name, heard in told.items()}
    watch.stop()
    found = [burst.start_ns for burst in watch._bursts]
    json.dump({"truth": truth, "found": found, "said": said, "samples": watch.sampler.samples}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
