"""Hashes of the answers to recorded problems: they tell whether a change of the code changed any answer.

The problems are the problem files of ``examples`` and ``tests/data``, the link and loop instances, and five scheduling
rounds of ``bench.ranking.rounds``, each ranked with 1, 2 and 8 threads. The hash is of the JSON that the command line
would print. Only public names are used, so that the same file runs before and after a change::

    python -m bench.answers.recorded            compare with bench/answers/hashes.json; exit status 1 if one differs
    python -m bench.answers.recorded --update   record what is answered now

The last digit of a sum may depend on the compiler and on NumPy. Where they are not those of the record, differences are
shown and nothing fails.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import cassini_core as cc
from bench.ranking.rounds import Settings, generate
from cassini_core.problem_file import link_solution_to_json, ranking_to_json

HASHES = Path(__file__).with_name("hashes.json")
ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
THREADS = (1, 2, 8)
ROUNDS = {
    "small": Settings(seed=1, racks=16, gpus_per_rack=16, uplinks=2, jobs=60, candidates=20),
    "packed": Settings(seed=2, racks=10, gpus_per_rack=32, uplinks=1, jobs=50, candidates=30, spanning=0.5),
    "perturbed": Settings(seed=3, racks=19, gpus_per_rack=64, jobs=300, candidates=40, perturbation=0.01),
    "each perturbed": Settings(seed=4, racks=12, jobs=120, candidates=20, perturbation=0.01, perturb_jobs=True),
    "cluster": Settings(seed=5, candidates=60),
}

Answer = Callable[[], bytes]


def cases() -> Iterator[tuple[str, Answer]]:
    """Every recorded case: its name, and what gives the answer's JSON."""
    for path in sorted([*ROOT.glob("examples/*.json"), *DATA.glob("*.json")]):
        if b'"cassini-problem/1"' in path.read_bytes()[:100]:
            yield from _rankings(path.relative_to(ROOT).as_posix(), lambda path=path: cc.load_problem(path))
    for instance in json.loads((DATA / "links.json").read_text())["instances"]:
        jobs = _jobs(instance["jobs"])
        for method in ("exact", "angles"):
            name = f"links.json {instance['name']} {method}"
            yield name, lambda jobs=jobs, gbps=instance["capacity_gbps"], method=method: _link(jobs, gbps, method)
    for instance in json.loads((DATA / "loops.json").read_text())["instances"]:
        problem = _problem(instance["problem"])
        yield from _rankings(f"loops.json {instance['name']}", lambda problem=problem: problem)
    for name, settings in ROUNDS.items():
        problem = generate(settings)
        for threads in THREADS:
            yield (
                f"round {name} {threads} threads",
                lambda problem=problem, threads=threads: ranking_to_json(cc.rank(problem, threads=threads)),
            )


def _rankings(name: str, load: Callable[[], cc.Problem]) -> Iterator[tuple[str, Answer]]:
    for loops in ("joint", "merge", "discard"):
        for aggregate in ("per_job", "mean", "min", "p10"):
            yield (
                f"{name} {loops} {aggregate}",
                lambda loops=loops, aggregate=aggregate: ranking_to_json(
                    cc.rank(load(), loops=loops, aggregate=aggregate, exhaustive=True)
                ),
            )


def _link(jobs: list[cc.Job], capacity_gbps: float, method: str) -> bytes:
    return link_solution_to_json(cc.solve_link(jobs, capacity_gbps, method=method))


def _jobs(given: list[dict[str, object]]) -> list[cc.Job]:
    return [cc.Job(job["id"], job["iteration_ms"], [cc.Phase(**phase) for phase in job["phases"]]) for job in given]


def _problem(given: dict[str, list[dict[str, object]]]) -> cc.Problem:
    links = [cc.Link(**link) for link in given["links"]]
    return cc.Problem(_jobs(given["jobs"]), links, [cc.Candidate(**candidate) for candidate in given["candidates"]])


def built_with() -> str:
    """What the last digit of a sum may depend on."""
    compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return f"{compiler}, {platform.machine()}, NumPy {np.__version__}"


def main() -> int:
    """Compare or record; 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="record instead of comparing")
    arguments = parser.parse_args()
    found = {name: hashlib.sha256(answer()).hexdigest()[:16] for name, answer in cases()}
    if arguments.update:
        HASHES.write_text(json.dumps({"built_with": built_with(), "sha256": found}, indent=1) + "\n")
        print(f"{len(found)} answers recorded")
        return 0
    recorded = json.loads(HASHES.read_text())
    before = recorded["sha256"]
    changed = [name for name in sorted({*before, *found}) if before.get(name) != found.get(name)]
    for name in changed:
        print(f"differs: {name}: recorded {before.get(name)}, got {found.get(name)}", file=sys.stderr)
    print(f"{len(found) - len(changed)} of {len(before)} answers as recorded")
    if changed and recorded["built_with"] != built_with():
        print(f"recorded with {recorded['built_with']}, this is {built_with()}: not judged")
        return 0
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
