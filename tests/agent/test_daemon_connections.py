"""As many connections as 1,000 jobs of 64 ranks have, if the machine's limit of descriptors allows that many."""

from __future__ import annotations

import resource
import time

import pytest
from conftest import Row, Start
from daemon_process import JobSocket, iterations_of
from daemon_process import wait_until as until

JOBS, RANKS = 1000, 64
CONNECTIONS_PER_S = 1900


@pytest.fixture
def most_descriptors() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard  # type: ignore[misc]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.idle
def test_memory_with_all_ranks_connected(start: Start, most_descriptors: int, row: Row) -> None:
    daemon = start()
    empty = daemon.resident_bytes()
    ranks = min(RANKS, (most_descriptors - 1000) // JOBS)
    assert ranks >= 1
    opened: list[JobSocket] = []
    began = time.monotonic()
    try:
        for rank in range(ranks):
            for number in range(JOBS):
                opened.append(daemon.job(f"job{number}", rank=rank, world_size=ranks))
                # A user may send 4,096 messages a second; to connect and to say hello are two.
                time.sleep(max(0.0, began + len(opened) / CONNECTIONS_PER_S - time.monotonic()))
        until(lambda: daemon.metric("connections") == JOBS * ranks)
        for job in opened[:JOBS]:
            job.send(iterations_of())
        until(lambda: daemon.status_of(f"job{JOBS - 1}")["iterations"] == 4)
        grown = daemon.resident_bytes() - empty
        assert grown < 8 * 1024 * JOBS * ranks
        row(
            "fault",
            f"{JOBS} jobs of {ranks} ranks connected",
            f"{grown / 2**20:.0f} MiB more than without, {grown / 1024 / JOBS / ranks:.1f} KiB per connection",
        )
    finally:
        for job in opened:
            job.close()
