"""Make the files of this folder: ``three-racks.json``, and on request what it is made from.

    python examples/make_three_racks.py                        # three-racks.json from profiles/ and racks.csv
    python examples/make_three_racks.py --traces DIR           # first profiles/*.json from the two whole traces in DIR
    python examples/make_three_racks.py --topology topo.csv    # first racks.csv from the whole topology file

Deterministic: the same input gives the same bytes. README.md in this folder says where everything comes from and what
is assumed.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import sys
from pathlib import Path

import msgspec

from cassini_core.model import Candidate, Job, Link, Phase, Problem
from cassini_core.problem_file import job_to_json, load_job, problem_to_json
from cassini_core.profiles.kineto import profile_kineto
from cassini_core.profiles.phases import round_phases, simplify

HERE = Path(__file__).parent
RACKS = ("S2", "S4", "S9")
POD = ("G6", "P12")

# Assumed (README.md): ports as in the paper, two uplinks and two downlinks per rack, each flow pinned to one of them.
UPLINK_GBPS = 50.0
PLANES = (1, 2)
FREE_GPUS = {"S2": 9, "S4": 10, "S9": 9}
RING_GBPS = 45.0  # what a ring reaches on a 50 Gbit/s port

TRACES = {
    # job: (file, path in the public repository, rate for what has no bytes, what it is)
    "resnet50": (
        "allreduce_3steps.json.gz",
        "tests/data/nccl_parser_config/nccl_data.json.gz",
        None,
        "data-parallel training on 2 A100; 25,557,032 parameters are reduced per iteration, as many as ResNet-50 has",
    ),
    "recommender": (
        "rank3_of_8.json.gz",
        "tests/data/trace_diff/control/control.json.gz",
        40.0,
        "one of 8 ranks; 7 all-to-all and 3 all-reduce per iteration, no bytes recorded, 40 Gbit/s assumed",
    ),
}


def derive_profiles(traces: Path) -> None:
    """profiles/*.json from the whole traces."""
    for name, (file, origin, gbps, what) in TRACES.items():
        made = profile_kineto(traces / file, job_id=name, gbps=gbps)
        option = "" if gbps is None else f" --gbps {gbps:g}"
        about = {
            "what": what,
            "source": f"https://github.com/facebookresearch/HolisticTraceAnalysis, {origin}",
            "commit": "f4d0062c",
            "licence": "MIT, Copyright (c) Meta Platforms, Inc. and affiliates",
            "command": f"cassini-core profile kineto {file} -o {name}.json{option}",
            "iterations": made.provenance.details["iterations"],
            "steps": made.provenance.details["steps"],
            "notes": list(made.warnings),
        }
        (HERE / "profiles" / f"{name}.json").write_bytes(job_to_json(made.job, about))


def derive_racks(topology: Path) -> None:
    """racks.csv: the hosts of the three racks."""
    with topology.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["DSW"], row["PSW"]) == POD and row["ASW"] in RACKS]
    rows.sort(key=lambda row: (RACKS.index(row["ASW"]), row["ip"]))
    with (HERE / "racks.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["ip", "DSW", "PSW", "ASW"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# --- jobs ---------------------------------------------------------------------------------------------------------


def on_port(job: Job) -> Job:
    """The job on hosts with slower ports: what was faster takes longer there, with the same bytes."""
    slowed = [
        Phase(p.start_ms, p.duration_ms * max(1.0, p.gbps / RING_GBPS), min(p.gbps, RING_GBPS)) for p in job.phases
    ]
    phases, _ = simplify(slowed, job.iteration_ms, gap_ms=0.1, negligible=0.0, max_phases=16)
    return Job(job.id, job.iteration_ms, tuple(round_phases(phases, job.iteration_ms)))


def instance(job: Job, suffix: str, factor: float) -> Job:
    """Another run of a job, as measured: the same transfers, an iteration that takes a little longer or shorter."""
    phases = [dataclasses.replace(p, start_ms=round(p.start_ms * factor, 4)) for p in job.phases]
    return Job(f"{job.id}-{suffix}", round(job.iteration_ms * factor, 4), tuple(phases))


def make_jobs() -> list[Job]:
    # The paper: 255 ms, of which 141 ms Down. Rate assumed.
    vgg16 = Job("vgg16", 255.0, (Phase(141.0, 114.0, RING_GBPS),))
    # The paper: compatible with VGG16 at a shift of 150 ms (snapshot 1). Times and rate assumed.
    wideresnet101 = Job("wideresnet101", 253.9145, (Phase(155.0, 90.0, 40.0),))
    resnet50 = on_port(load_job(HERE / "profiles" / "resnet50.json"))
    recommender = load_job(HERE / "profiles" / "recommender.json")
    return [
        instance(vgg16, "a", 1.0),
        instance(vgg16, "b", 0.99731),
        wideresnet101,
        instance(resnet50, "a", 1.0),
        instance(resnet50, "b", 1.00463),
        instance(recommender, "a", 1.0),
        instance(recommender, "b", 0.99457),
    ]


# --- placements ---------------------------------------------------------------------------------------------------

Ring = tuple[dict[str, int], tuple[int, ...]]
"""Workers per rack in ring order, and the plane of each hop to the next rack (nothing for a job inside one rack)."""


def route(ring: Ring) -> list[str]:
    """A ring leaves each of its racks once and enters it once; each hop goes up and down in one plane."""
    racks, planes = list(ring[0]), ring[1]
    if len(racks) == 1:
        return []
    hops = zip(racks, racks[1:] + racks[:1], planes, strict=True)
    return [f"{rack}-{end}" for one, two, plane in hops for rack, end in ((one, f"up{plane}"), (two, f"down{plane}"))]


RUNNING: dict[str, Ring] = {
    "vgg16-a": ({"S2": 5, "S4": 5}, (1, 1)),
    "recommender-a": ({"S4": 4, "S9": 4}, (2, 2)),
}
"""These run already and stay where they are, in all candidates. Between them they use one plane of each way from any
rack to any other, so whatever spans racks shares a link with one of the two."""

WORKERS = {"vgg16-b": 10, "recommender-b": 8, "wideresnet101": 6, "resnet50-a": 2, "resnet50-b": 2}
"""The jobs that arrive fill all free GPUs. Their sizes are even and two racks have an odd number free, so at least one
job has to span racks."""

CANDIDATES: dict[str, dict[str, Ring]] = {
    # As few workers as possible away from their job: one job spans racks, and meets strangers on both of its hops.
    "packed": {
        "vgg16-b": ({"S4": 10}, ()),
        "recommender-b": ({"S2": 8}, ()),
        "wideresnet101": ({"S9": 6}, ()),
        "resnet50-a": ({"S9": 2}, ()),
        "resnet50-b": ({"S2": 1, "S9": 1}, (1, 2)),
    },
    # The second VGG16 on the very links of the first: loops, but four times the same problem.
    "beside-its-twin": {
        "vgg16-b": ({"S2": 6, "S4": 4}, (1, 1)),
        "recommender-b": ({"S9": 8}, ()),
        "wideresnet101": ({"S4": 6}, ()),
        "resnet50-a": ({"S2": 2}, ()),
        "resnet50-b": ({"S2": 1, "S9": 1}, (2, 2)),
    },
    # Both second instances on the links of the first.
    "two-pairs-of-twins": {
        "vgg16-b": ({"S2": 3, "S4": 7}, (1, 1)),
        "recommender-b": ({"S4": 3, "S9": 5}, (2, 2)),
        "wideresnet101": ({"S2": 6}, ()),
        "resnet50-a": ({"S9": 2}, ()),
        "resnet50-b": ({"S9": 2}, ()),
    },
    # Three jobs, each two of which meet on another rack's links: the loop stays, whatever is merged.
    "triangle": {
        "vgg16-b": ({"S4": 6, "S9": 4}, (1, 1)),
        "recommender-b": ({"S4": 4, "S9": 4}, (2, 2)),
        "wideresnet101": ({"S2": 5, "S9": 1}, (1, 1)),
        "resnet50-a": ({"S2": 2}, ()),
        "resnet50-b": ({"S2": 2}, ()),
    },
    # Each big job on the links of one whose iteration time has nothing to do with its own.
    "crossed": {
        "vgg16-b": ({"S4": 7, "S9": 3}, (2, 2)),
        "recommender-b": ({"S2": 5, "S4": 3}, (1, 1)),
        "wideresnet101": ({"S9": 6}, ()),
        "resnet50-a": ({"S2": 2}, ()),
        "resnet50-b": ({"S2": 2}, ()),
    },
    # All that spans racks in one plane.
    "one-plane": {
        "vgg16-b": ({"S2": 5, "S4": 5}, (1, 1)),
        "recommender-b": ({"S9": 8}, ()),
        "wideresnet101": ({"S2": 3, "S4": 3}, (1, 1)),
        "resnet50-a": ({"S4": 2}, ()),
        "resnet50-b": ({"S2": 1, "S9": 1}, (1, 1)),
    },
}


def make_problem() -> Problem:
    with (HERE / "racks.csv").open(newline="") as file:
        if {row["ASW"] for row in csv.DictReader(file)} != set(RACKS):
            sys.exit(f"racks.csv: expected the racks {', '.join(RACKS)}")
    jobs = make_jobs()
    links = [Link(f"{rack}-{way}{plane}", UPLINK_GBPS) for rack in RACKS for way in ("up", "down") for plane in PLANES]
    candidates = []
    for name, arriving in CANDIDATES.items():
        _check(name, arriving)
        placed = RUNNING | arriving
        candidates.append(Candidate(name, {job.id: route(placed[job.id]) for job in jobs}))
    return Problem(tuple(jobs), tuple(links), tuple(candidates))


def _check(name: str, arriving: dict[str, Ring]) -> None:
    """Every arriving job has all its workers, and no rack more of them than it has GPUs free."""
    workers = {job: sum(ring[0].values()) for job, ring in arriving.items()}
    used = {rack: sum(ring[0].get(rack, 0) for ring in arriving.values()) for rack in RACKS}
    if workers != WORKERS or used != FREE_GPUS:
        sys.exit(f"{name}: expected {WORKERS} in {FREE_GPUS}, got {workers} in {used}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make three-racks.json, and on request what it is made from.")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="derive profiles/ from the two traces in DIR")
    parser.add_argument("--topology", type=Path, metavar="CSV", help="derive racks.csv from the whole topology")
    options = parser.parse_args()
    if options.traces is not None:
        derive_profiles(options.traces)
    if options.topology is not None:
        derive_racks(options.topology)
    text = msgspec.json.format(problem_to_json(make_problem()).strip(), indent=1)
    (HERE / "three-racks.json").write_bytes(text + b"\n")


if __name__ == "__main__":
    main()
