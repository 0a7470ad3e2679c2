"""One scenario in SimGrid: JSON on standard input, the ends of iterations by job as JSON on standard output.

Needs nothing but the standard library and SimGrid's Python bindings (Debian: python3-simgrid), so that it runs with the
system's Python. A job is an actor that sleeps where it computes, and sends between two hosts of its own elsewhere. The
network model is CM02 without latency and without factors: max-min sharing of links that are as wide as they say.
"""

import json
import math
import sys

import simgrid

SETTINGS = (
    "network/model:CM02",
    "network/TCP-gamma:0",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    "network/weight-S:0",
    "network/crosstraffic:0",
    "surf/precision:1e-9",
    "maxmin/precision:1e-9",
)


def main() -> None:
    """Run the scenario."""
    scenario = json.load(sys.stdin)
    engine = simgrid.Engine(["simgrid", "--log=root.thres:critical"])
    for setting in SETTINGS:
        simgrid.Engine.set_config(setting)
    zone = simgrid.NetZone.create_full_zone("network")
    links = {}
    for name, gbps in scenario["capacity_gbps"].items():
        links[name] = zone.create_link(name, gbps * 1e9 / 8).set_latency(0).seal()
    ends = {job["id"]: [] for job in scenario["jobs"]}
    for job in scenario["jobs"]:
        home = zone.create_host(job["id"], 1e9)
        ways = {}
        for gbps in {gbps for _, gbps in job["segments"] if gbps}:
            # A communication cannot be given a rate here: a link of its own keeps it to that.
            ends_of = [zone.create_host(f"{job['id']} {gbps} {end}", 1e9) for end in ("from", "to")]
            own = zone.create_link(f"{job['id']} {gbps}", gbps * 1e9 / 8).set_latency(0).seal()
            route = [simgrid.LinkInRoute(link) for link in (own, *(links[name] for name in job["route"]))]
            zone.add_route(ends_of[0].netpoint, ends_of[1].netpoint, None, None, route, False)
            ways[gbps] = ends_of
        simgrid.Actor.create(job["id"], home, train, job, ways, ends[job["id"]])
    zone.seal()
    engine.run_until(scenario["until_ms"] / 1e3)
    print(json.dumps(ends))


def train(job, ways, ends) -> None:
    """Iterate for ever; the end of the simulation ends it."""
    now = simgrid.Engine.get_clock
    simgrid.this_actor.sleep_until(job["start_ms"] / 1e3)
    slot = None
    while True:
        if job["pace_ms"] is not None:
            first = math.ceil((1e3 * now() - job["at_ms"]) / job["pace_ms"] - 1e-9)
            slot = first if slot is None else slot + 1
            simgrid.this_actor.sleep_until((job["at_ms"] + slot * job["pace_ms"]) / 1e3)
        factor = job["factors"][len(ends) % len(job["factors"])]
        for ms, gbps in job["segments"]:
            if gbps == 0:
                simgrid.this_actor.sleep_for(ms * factor / 1e3)
            else:
                simgrid.Comm.sendto(*ways[gbps], round(ms * gbps * 1e6 / 8))
        ends.append(1e3 * now())


main()
