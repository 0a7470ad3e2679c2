"""A training job that the end-to-end test starts: computes by sleeping, communicates over a link that others use too.

    python training_job.py LINK SECONDS OUT BEGIN

The link is a Unix socket: a byte sent asks for one millisecond of it, a byte comes back when that has passed. BEGIN
is when the first iteration begins, on the monotonic clock in seconds.
"""

from __future__ import annotations

import json
import socket
import sys
import time

import cassini_agent

COMPUTE_S = 0.11
CHUNKS = 50


def main() -> None:
    """Train for some seconds, then write down when iterations began and communicated."""
    link_path, seconds, out, begin = sys.argv[1], float(sys.argv[2]), sys.argv[3], float(sys.argv[4])
    link = socket.socket(socket.AF_UNIX)
    link.connect(link_path)
    agent = cassini_agent.connect()
    time.sleep(max(0.0, begin - time.monotonic()))
    log = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        agent.iteration()
        start = time.monotonic()
        time.sleep(COMPUTE_S)
        with agent.communication():
            sending = time.monotonic()
            for _ in range(CHUNKS):
                link.sendall(b"x")
                link.recv(1)
            sent = time.monotonic()
        log.append((start, sending, sent))
    with open(out, "w") as file:
        json.dump({"log": log, "agent": agent.summary()}, file)
    agent.close()


if __name__ == "__main__":
    main()
