"""The plan of namespaces, links and queues."""

from __future__ import annotations

import pytest
from bench.netlab.topology import DUMBBELL, LOOP, RACKS, TOPOLOGIES, Queue, Topology, setup

EVERY = pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES)


@EVERY
@pytest.mark.parametrize("per_job", [False, True])
def test_every_command_works_in_namespaces_of_the_plan_alone(topology: Topology, per_job: bool) -> None:
    made = set()
    for command in setup(topology, Queue(400, per_job), "cubic", "marker.o", "cnl1-0-"):
        if command[:3] == ["ip", "netns", "add"]:
            assert command[3].startswith("cnl1-0-")
            made.add(command[3])
            continue
        assert command[1:3] == ["netns", "exec"] or command[1] == "-n", command
        inside = command[3] if command[1] == "netns" else command[2]
        assert inside in made, command
        if "netns" in command[4:]:  # where the other end of a pair goes
            assert command[command.index("netns", 4) + 1] in made, command


@EVERY
def test_every_job_crosses_links_from_its_one_router_to_its_other(topology: Topology) -> None:
    for job, (at, end) in topology.jobs.items():
        for link in topology.route(job):
            one, other = topology.links[link]
            at = other if at == one else one
        assert at == end


def test_the_loop_is_two_bottlenecks_of_the_same_two_jobs() -> None:
    assert {job: LOOP.route(job) for job in "ab"} == {"a": ["left", "right"], "b": ["left", "right"]}


def test_each_two_of_three_racks_jobs_share_one_bottleneck() -> None:
    crossed = {job: set(RACKS.route(job)) for job in "abc"}
    assert all(len(crossed[one] & crossed[other]) == 1 for one, other in ("ab", "bc", "ca"))
    assert len(set().union(*crossed.values())) == 3


@EVERY
def test_no_two_addresses_are_the_same(topology: Topology) -> None:
    commands = setup(topology, Queue(400), "reno", None, "p-")
    addresses = [command[5] for command in commands if command[3:5] == ["addr", "add"]]
    assert len(set(addresses)) == len(addresses)
    hosts = len(topology.hosts)
    assert len(addresses) == 1 + 3 * hosts + 2 * len(topology.links)


def test_a_queue_per_job_is_a_class_per_job_in_both_directions() -> None:
    words = [" ".join(one) for one in setup(DUMBBELL, Queue(400, per_job=True, limit_bytes=77), "cubic", None, "p-")]
    for end in "lr":
        assert sum(f"tc -n p-{end} qdisc add dev core" in one and "bfifo limit 77" in one for one in words) == 3
        for host in DUMBBELL.hosts:
            assert sum(f"tc -n p-{end} filter" in one and DUMBBELL.address(host) in one for one in words) == 1


def test_without_a_marker_nobody_speaks_of_congestion() -> None:
    words = [" ".join(one) for one in setup(DUMBBELL, Queue(400), "cubic", None, "p-")]
    assert not any("bpf" in one for one in words)
    assert sum("echo 0 > /proc/sys/net/ipv4/tcp_ecn" in one for one in words) == 6
    words = [" ".join(one) for one in setup(DUMBBELL, Queue(400), "cubic", "m.o", "p-")]
    assert sum("bpf da obj m.o" in one for one in words) == 2
    assert sum("echo 1 > /proc/sys/net/ipv4/tcp_ecn" in one for one in words) == 6
