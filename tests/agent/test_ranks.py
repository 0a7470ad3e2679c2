"""Decisions of rank 0 reach every rank, for the same iteration, once."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.control.release import Release
from cassini_agent.loop.ranks import StoreRanks, _as_text, _from_text, own_client

TURN = 1_000_000
"""From one iteration to the next, ns, in these tests."""


def release(iteration: int, wait_ns: int) -> Release:
    """For ranks that come to iteration ``k`` at ``k * TURN``: wait so long."""
    at_ns = iteration * TURN
    return Release(at_ns - TURN, at_ns + wait_ns, at_ns, at_ns + TURN)


def due(rank: StoreRanks, iteration: int) -> int:
    return rank.due(iteration, iteration * TURN)


class DictStore:
    """A store in memory."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.gone = False

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def get(self, key: str) -> bytes:
        assert key in self.values, "a real store would wait here"
        return self.values[key].encode()

    def check(self, keys: list[str]) -> bool:
        if self.gone:
            raise RuntimeError("connection reset")
        return all(key in self.values for key in keys)

    def delete_key(self, key: str) -> bool:
        return self.values.pop(key, None) is not None


def wait_until(condition: object) -> bool:
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def test_every_rank_waits_the_same_at_the_same_iteration() -> None:
    store = DictStore()
    ranks = [StoreRanks(store, rank) for rank in range(4)]
    waited: list[list[int]] = [[] for _ in ranks]
    for k in range(50):
        for one, delays in zip(ranks, waited, strict=True):
            delays.append(due(one, k))
        ranks[0].publish(k + 1, release(k + 1, 1000 + k))
        assert wait_until(lambda k=k: all(k + 1 in one._due for one in ranks))
    assert all(delays == [0] + [1000 + k for k in range(49)] for delays in waited)
    assert [one.missed for one in ranks] == [0, 0, 0, 0]
    assert len(store.values) <= 10  # old decisions do not pile up
    for one in ranks:
        one.close()


def test_a_decision_that_is_made_anew_takes_the_place_of_the_one_before() -> None:
    store = DictStore()
    ranks = [StoreRanks(store, rank) for rank in range(3)]
    for one in ranks:
        assert due(one, 0) == 0
    for wait_ns in (5000, 9000):
        ranks[0].publish(1, release(1, wait_ns))
        assert wait_until(lambda wait_ns=wait_ns: all(one._due.get(1) == release(1, wait_ns) for one in ranks))
    assert [due(one, 1) for one in ranks] == [9000] * 3
    for one in ranks:
        one.close()


def test_a_decision_that_comes_late_is_no_wait_and_never_a_later_one() -> None:
    store = DictStore()
    rank = StoreRanks(store, 1)
    assert [due(rank, 0), due(rank, 1), due(rank, 2)] == [0, 0, 0]
    assert rank.missed == 2
    for iteration, wait_ns in ((1, 5000), (2, 6000), (3, 7000)):
        store.set(f"cassini-agent/{iteration}", _as_text(release(iteration, wait_ns)))
    assert wait_until(lambda: 3 in rank._due)
    assert due(rank, 3) == 7000
    assert due(rank, 3) == 0
    rank.close()


def test_what_was_decided_before_a_pause_is_not_waited_for_after_it() -> None:
    store = DictStore()
    ranks = [StoreRanks(store, rank) for rank in range(2)]
    for k in range(4):
        assert [due(one, k) for one in ranks] == ([5000, 5000] if k in (1, 3) else [0, 0])
        ranks[0].publish(k + 1, release(k + 1, 5000))
        assert wait_until(lambda k=k: all(k + 1 in one._due for one in ranks))
        if k == 1:
            for one in ranks:
                one.interrupted()
    for one in ranks:
        one.close()


@given(*[st.integers(-(2**62), 2**62)] * 4)
def test_a_decision_comes_out_of_the_store_as_it_went_in(reached: int, until: int, earliest: int, latest: int) -> None:
    one = Release(reached, until, earliest, latest)
    assert _from_text(_as_text(one).encode()) == one


def test_looking_for_a_decision_does_not_wait_for_the_store() -> None:
    store = DictStore()
    rank = StoreRanks(store, 1)
    before_ns = time.thread_time_ns()
    for k in range(1000):
        due(rank, k)
    assert time.thread_time_ns() - before_ns < 1_000_000_000
    rank.close()


def test_a_store_that_is_gone_ends_the_thread_and_nothing_else() -> None:
    store = DictStore()
    rank = StoreRanks(store, 1)
    writer = StoreRanks(store, 0)
    store.gone = True
    store.set("cassini-agent/1", _as_text(release(1, 1)))
    assert wait_until(lambda: not rank._thread.is_alive())
    assert due(rank, 1) in (0, 1)
    writer.publish(2, release(2, 5))
    writer.close()
    assert wait_until(lambda: not writer._thread.is_alive())


def test_over_a_tcp_store_of_torch_the_job_can_go_on_using_it() -> None:
    dist = pytest.importorskip("torch.distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    jobs_own = dist.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    others_own = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
    wrapped = dist.PrefixStore("default_pg", others_own)
    zero = StoreRanks(own_client(dist.PrefixStore("default_pg", jobs_own)), 0)
    one = StoreRanks(own_client(wrapped), 1)
    due(one, 0)
    others_own.set("the job's own", "x")  # while the reading thread waits for a decision
    assert others_own.get("the job's own") == b"x"
    for k in range(20):
        zero.publish(k + 1, release(k + 1, k * 1000))
        assert wait_until(lambda k=k: k + 1 in one._due)
        assert due(one, k + 1) == k * 1000
    zero.close()
    one.close()
    assert wait_until(lambda: not zero._thread.is_alive() and not one._thread.is_alive())


SERVER = """
import time
import torch.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
print(store.port, flush=True)
time.sleep(120)
"""


@pytest.mark.parametrize("answers", [False, True])
def test_a_server_that_hangs_holds_up_the_thread_of_the_agent_and_not_the_interpreter(answers: bool) -> None:
    """Whether before the agent has its own connection or after: torch lets the interpreter go while it waits."""
    dist = pytest.importorskip("torch.distributed")
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        store = dist.TCPStore("127.0.0.1", int(server.stdout.readline()), is_master=False, wait_for_workers=False)
        if not answers:
            server.send_signal(signal.SIGSTOP)
        rank = StoreRanks(store, 1, "agent", own_client)
        if answers:
            assert wait_until(lambda: rank._store is not store)
            server.send_signal(signal.SIGSTOP)
        longest_s, last_s = 0.0, time.monotonic()
        for k in range(500):
            assert due(rank, k) == 0
            time.sleep(0.001)
            now_s = time.monotonic()
            longest_s, last_s = max(longest_s, now_s - last_s), now_s
        assert rank._thread.is_alive()
        assert longest_s < 0.5
        rank.close()
        server.send_signal(signal.SIGCONT)
        rank._thread.join(10)
        assert not rank._thread.is_alive()
    finally:
        server.kill()
        server.communicate()


def test_a_rank_that_was_left_behind_catches_up() -> None:
    """What it looked for was deleted long ago."""
    store = DictStore()
    rank = StoreRanks(store, 1)
    for k in range(100):
        due(rank, k)
    store.set("cassini-agent/100", _as_text(release(100, 1)))
    store.set("cassini-agent/101", _as_text(release(101, 2)))
    for iteration, wait_ns in ((100, 1), (101, 2)):
        assert wait_until(lambda iteration=iteration: iteration in rank._due)
        assert due(rank, iteration) == wait_ns
    rank.close()


def test_closing_ends_the_thread_soon() -> None:
    rank = StoreRanks(DictStore(), 1)
    assert rank._thread.is_alive()
    for _ in range(2):
        rank.close()
    rank._thread.join(0.9)
    assert not rank._thread.is_alive()


def test_a_store_that_does_not_answer_costs_training_nothing() -> None:
    asked, let_go = threading.Event(), threading.Event()

    def slow(store: Any) -> Any:
        asked.set()
        let_go.wait(20)
        return store

    before_ns = time.monotonic_ns()
    ranks = [StoreRanks(DictStore(), rank, client=slow) for rank in range(2)]
    for k in range(20):
        ranks[0].publish(k + 1, release(k + 1, 5))
        assert due(ranks[1], k) == 0
    assert asked.wait(5)
    assert time.monotonic_ns() - before_ns < 5_000_000_000
    let_go.set()
    for rank in ranks:
        rank.close()


def test_ranks_that_cannot_hear_of_each_other_wait_for_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def unreachable(store: Any) -> Any:
        raise TimeoutError("10.0.0.1:29500: no answer in 5 s")

    zero = StoreRanks(DictStore(), 0, client=unreachable)
    assert wait_until(lambda: not zero._thread.is_alive())
    for k in range(3):
        zero.publish(k + 1, release(k + 1, 5))
    assert [due(zero, k) for k in range(3)] == [0, 0, 0]
    assert [record.getMessage() for record in caplog.records] == [
        "the store of the job cannot be reached: 10.0.0.1:29500: no answer in 5 s; training goes on without time-shifts"
    ]
    zero.close()


def test_a_store_that_cannot_be_cloned_is_joined_anew_for_a_few_seconds_and_by_the_attempt_of_the_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Tcp:
        host, port = "node7", 29500

        def __init__(self, *args: Any, **keywords: Any) -> None:
            self.asked = args, keywords

    class Prefixed:
        def __init__(self, prefix: str, underlying_store: Any) -> None:
            self.prefix, self.underlying_store = prefix, underlying_store

    torch = types.ModuleType("torch")
    torch.distributed = types.ModuleType("torch.distributed")
    torch.distributed.TCPStore, torch.distributed.PrefixStore = Tcp, Prefixed
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", torch.distributed)
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "3")
    found = own_client(Prefixed("default_pg", Prefixed("/worker/attempt_3", Tcp())))
    assert found.prefix == "attempt-3"
    (host, port), keywords = found.underlying_store.asked
    assert (host, port, keywords["is_master"]) == ("node7", 29500, False)
    assert keywords["timeout"].total_seconds() <= 5


JOB = """
import os, sys, time
import torch.distributed as dist
import cassini_agent
dist.init_process_group("gloo")
agent = cassini_agent.connect()
for _ in range(10):
    agent.iteration()
    dist.barrier()
print(agent.summary()["iterations"], flush=True)
# Neither closed nor destroyed: jobs end like this.
"""


def test_a_job_that_just_ends_ends_well(tmp_path: Path) -> None:
    """A thread inside torch while the interpreter ends would abort the process: exit status -6."""
    pytest.importorskip("torch.distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    environment = {**os.environ, **place, "CASSINI_AGENT_SOCKET": str(tmp_path / "none")}
    jobs = [
        subprocess.Popen(
            [sys.executable, "-c", JOB],
            env={**environment, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for job in jobs:
        out, err = job.communicate(timeout=120)
        assert (job.returncode, out) == (0, "10\n"), err
        assert "Traceback" not in err


def test_a_store_that_cannot_be_shared_is_named() -> None:
    with pytest.raises(RuntimeError, match="expected a TCPStore or one that can be cloned, got object"):
        own_client(object())
