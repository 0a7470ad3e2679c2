"""The parts of a job: its compute, its communication; and what is planned for a run."""

from __future__ import annotations

import socket
import statistics
import threading

import pytest
from bench.netlab import scenarios, tcp_counters
from bench.netlab.exchange import Exchange
from bench.netlab.run import offsets_s
from bench.netlab.settings import Setting
from bench.netlab.worker import Compute

from cassini_agent.loop.agent import Agent
from cassini_agent.loop.timeline import HostTimeline


def lengths(options: dict[str, float], iterations: int = 200) -> list[float]:
    compute = Compute({"compute_ms": 230.0, "jitter": 0.0, **options}, "seed")
    return [sum(compute.milliseconds(k, float(k))) for k in range(iterations)]


def test_compute_jitters_as_it_is_told() -> None:
    assert set(lengths({})) == {230.0}
    drawn = lengths({"jitter": 0.03}, 4000)
    assert statistics.fmean(drawn) == pytest.approx(230.0, rel=0.003)
    assert statistics.stdev(drawn) == pytest.approx(0.03 * 230.0, rel=0.05)


def test_compute_is_disturbed_as_it_is_told() -> None:
    assert lengths({"slower_ms": 20.7, "slower_at_s": 3.0}, 5) == [230.0, 230.0, 230.0, 250.7, 250.7]
    assert lengths({"stall_ms": 230.0, "stall_at_s": 1.5}, 4) == [230.0, 230.0, 460.0, 230.0]
    assert lengths({"every_fourth_ms": 280.0}, 8) == [230.0, 230.0, 230.0, 510.0] * 2
    assert lengths({"alternating_ms": 20.0}, 4) == [210.0, 250.0, 210.0, 250.0]


def test_what_disturbs_leaves_the_jitter_as_it_is() -> None:
    calm, stalled = lengths({"jitter": 0.03}), lengths({"jitter": 0.03, "stall_ms": 230.0, "stall_at_s": 50.0})
    differing = [k for k, (one, other) in enumerate(zip(calm, stalled, strict=True)) if one != pytest.approx(other)]
    assert differing == [50]


@pytest.mark.parametrize("flows", [1, 3])
@pytest.mark.parametrize("size", [10, 5_000_001])
def test_ranks_exchange_all_bytes_and_agree_on_the_last(flows: int, size: int) -> None:
    pairs = [socket.socketpair() for _ in range(flows)]
    one = Exchange([pair[0] for pair in pairs], size, leads=True)
    other = Exchange([pair[1] for pair in pairs], size, leads=False)
    said: list[bool] = []

    def follow() -> None:
        agent = Agent(HostTimeline(), None)
        other.warm_up()
        said.extend(other.run(agent, last) for last in (True, False, False))

    thread = threading.Thread(target=follow)
    thread.start()
    agent = Agent(HostTimeline(), None)
    one.warm_up()
    assert [one.run(agent, last) for last in (False, False, True)] == [False, False, True]
    thread.join(20)
    assert said == [False, False, True]
    ends = [end for pair in pairs for end in pair]
    for end in ends:
        with pytest.raises(BlockingIOError):  # nothing is left over
            end.recv(1)
    for end in ends:
        end.close()


def test_ranks_part_without_a_burst() -> None:
    one, other = socket.socketpair()
    with one, other:
        # Nobody reads at the other end: more than a buffer of it would never return.
        other.sendall(b"\0")
        Exchange([one], 5_000_000, leads=True).part()
        assert other.recv(1000) == b"\0"


@pytest.mark.parametrize("how", ["warm_up", "part"])
def test_a_rank_whose_neighbour_is_gone_says_so(how: str) -> None:
    one, other = socket.socketpair()
    other.close()
    with one, pytest.raises(OSError):
        getattr(Exchange([one], 1000, leads=True), how)()


def test_the_kernels_counters_are_read() -> None:
    assert all(count >= 0 for count in tcp_counters.read())


def test_starts_are_drawn_anew_for_each_run_and_the_same_each_time() -> None:
    setting = Setting(jobs="abc")
    random = scenarios.Scenario("", setting, scenarios.RANDOM, 60.0)
    drawn = [offsets_s(random, k, 0.4) for k in range(20)]
    assert drawn == [offsets_s(random, k, 0.4) for k in range(20)]
    assert len({one["b"] for one in drawn}) == 20
    assert all(one["a"] == 0.0 and 0 <= one["b"] < 0.4 and 0 <= one["c"] < 0.4 for one in drawn)
    assert offsets_s(scenarios.Scenario("", setting, scenarios.IN_PHASE, 60.0), 0, 0.4) == dict.fromkeys("abc", 0.0)
    shifted = offsets_s(scenarios.Scenario("", setting, scenarios.FIRST_SHIFT, 60.0), 0, 0.6)
    assert shifted == pytest.approx({"a": 0.0, "b": 0.2, "c": 0.4})
    assert offsets_s(scenarios.Scenario("", setting, scenarios.ALONE, 60.0), 0, 0.6) == {"a": 0.0}


def test_scenarios_have_names_of_their_own_and_come_with_the_job_alone() -> None:
    for some in (scenarios.full("plain"), scenarios.quick("plain")):
        names = [one.name for one in some]
        assert len(set(names)) == len(names)
        alone = {one.setting for one in some if one.mode == scenarios.ALONE}
        assert alone == {one.setting for one in some}
