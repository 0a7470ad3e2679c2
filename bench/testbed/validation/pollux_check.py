"""Are this package's Pollux and finish-time fairness those that were published? The same inputs for both.

``python -m bench.testbed.validation.pollux_check --adaptdl PYTHON --sia PYTHON --sia-simulator DIR``

``--adaptdl``: Python of an environment with ``adaptdl-sched==0.2.11 adaptdl==0.2.11 pymoo==0.5.0 numpy==1.23.5`` (the
first two with ``--no-deps``) and ``autograd scipy``. ``--sia``: one with ``pymoo==0.4.2.1 numpy==1.23.5 cvxpy ecos
pandas autograd scipy``. DIR: ``sia-simulator`` of github.com/siasosp23/artifacts. Nothing of either is part of this
package: they run beside it. ``--record FILE`` keeps the numbers of the small cases, for tests.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cassini_core.model import Job
from cassini_core.placement.cluster import Cluster
from cassini_core.schedulers.pollux.goodput import best_batches
from cassini_core.schedulers.pollux.pollux import Pollux
from cassini_core.schedulers.pollux.search import Question
from cassini_core.schedulers.state import Allocation, ClusterState, Goodput, TrainingTask
from cassini_core.schedulers.themis.fairness import Fairness, Level
from cassini_core.topology.generated import leaf_spine

HERE = Path(__file__).parent
RESULT = HERE.parents[1] / "results" / "testbed-pollux.md"
RUNS = 2
ROUNDS = 3
"""Searches one after the other, each from the last population of the one before."""
MOST = 16
AS_ADAPTDL: dict[str, Any] = {"power": 1.0, "reference": "one_worker", "restart_penalty": 0.1}
"""What the published scheduler adds up: speed-ups against one GPU, a tenth less for whoever restarts."""


class Case(NamedTuple):
    """Hosts, their GPUs, and tasks; whether those of an earlier search run already."""

    hosts: int
    gpus: int
    tasks: int
    running: bool

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.hosts} x {self.gpus}, {self.tasks} tasks" + (", running" if self.running else "")


CASES = (
    Case(4, 1, 3, False),
    Case(4, 2, 4, True),
    Case(8, 1, 6, True),
    Case(4, 4, 6, False),
    Case(24, 1, 20, False),
    Case(24, 1, 12, True),
    Case(16, 4, 20, False),
    Case(16, 4, 20, True),
)
SMALL = 3
RHOS = ((8, 4), (8, 12), (16, 30))
"""Hosts of four GPUs, and tasks."""


def model(rng: random.Random) -> Goodput:
    """Between a small task that scales badly and a large one that scales well."""
    initial = rng.choice([32, 64, 128, 256])
    return Goodput(
        alpha_grad_s=rng.uniform(0.02, 0.2),
        beta_grad_s=rng.uniform(0.001, 0.01),
        alpha_sync_local_s=rng.uniform(0.005, 0.05),
        beta_sync_local_s=rng.uniform(0.0005, 0.005),
        alpha_sync_node_s=rng.uniform(0.02, 0.2),
        beta_sync_node_s=rng.uniform(0.001, 0.01),
        gamma=rng.uniform(1.0, 4.0),
        noise_scale=initial * rng.uniform(0.3, 30.0),
        initial_batch=initial,
        max_batch=initial * 16,
        max_batch_per_gpu=2 * initial,
        min_batch_per_gpu=initial // 8,
    )


def state_of(case: Case, seed: int) -> ClusterState:
    """Tasks that came within an hour, all of them older than some minutes."""
    rng = random.Random(f"pollux {seed} {case}")
    job = Job("any", 100.0)
    tasks = [
        TrainingTask(
            f"t{number:02}",
            float(rng.randrange(3000)),
            1000,
            lambda workers: job,
            1,
            max_workers=MOST,
            goodput=model(rng),
            restarts=rng.randrange(3),
        )
        for number in range(case.tasks)
    ]
    state = ClusterState(Cluster(leaf_spine(1, 1, case.hosts), case.gpus), 3600.0, tasks)
    if case.running:
        (allocation,) = Pollux(generations=5, seed=seed).propose(state, 1)
        state = ClusterState(state.cluster, 3600.0, tasks, allocation)
    return state


def asked(case: Case, state: ClusterState) -> dict[str, Any]:
    """The same for the published schedulers; hosts by number."""
    number = state.cluster.number
    return {
        "gpus": [case.gpus] * case.hosts,
        "now_s": state.now_s,
        "most": MOST,
        "rounds": ROUNDS,
        "running": {task: {number[host]: count for host, count in one.items()} for task, one in state.running.items()},
        "tasks": [
            {
                "id": task.id,
                "arrival_s": task.arrival_s,
                "max_workers": task.max_workers,
                "restarts": task.restarts,
                "goodput": asdict(task.goodput) if task.goodput is not None else None,
            }
            for task in state.tasks
        ],
    }


def answered(python: str, *arguments: str, case: dict[str, Any]) -> dict[str, Any]:
    """What a published scheduler says."""
    command = [python, str(HERE / "published_pollux.py"), *arguments]
    done = subprocess.run(command, input=json.dumps(case), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def matrix(state: ClusterState, allocation: dict[str, dict[str, int]] | Allocation, hosts: Any) -> Any:
    """An allocation as the search has it; ``hosts`` gives the column of a host."""
    found = np.zeros((1, len(state.tasks), len(state.cluster.hosts)), dtype=np.int64)
    for row, task in enumerate(state.tasks):
        for host, workers in allocation.get(task.id, {}).items():
            found[0, row, hosts(host)] = workers
    return found


def largest_difference(state: ClusterState, theirs: list[Any]) -> float:
    """Of goodput, over all tasks and numbers of GPUs, as a part of theirs."""
    counts = np.arange(2, MOST + 1)
    worst = 0.0
    for task, rows in zip(state.tasks, theirs, strict=True):
        assert task.goodput is not None
        for on_one_node, row in zip((True, False), rows, strict=True):
            ours = best_batches(task.goodput, counts, on_one_node).goodput
            possible = np.asarray(row) > 0
            worst = max(worst, float(np.abs(ours[possible] / np.asarray(row)[possible] - 1.0).max(initial=0.0)))
    return worst


def jain(speedups: Any) -> float:
    """Jain's index of fairness of the speed-ups: 1 where all are equal."""
    return float(speedups.sum() ** 2 / (len(speedups) * max((speedups**2).sum(), 1e-12)))


def measured(question: Question, found: Any) -> tuple[float, float, float]:
    """Fitness, Jain's index, and the mean speed-up."""
    speedups = question.speedups_of(found)[0]
    return float(question.fitness(found)[0]), jain(speedups), float(speedups.mean())


def compare(case: Case, python: str, arguments: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """One case: mean of several runs of each, both judged by the same formulas."""
    state = state_of(case, 1)
    question = Pollux(**options).question(state)
    ours, theirs, our_s, their_s = [], [], [], []
    for run in range(RUNS):
        pollux = Pollux(seed=run, **options)
        start = time.perf_counter()
        for _ in range(ROUNDS):
            (allocation,) = pollux.propose(state, 1)
        our_s.append((time.perf_counter() - start) / ROUNDS)
        ours.append(measured(question, matrix(state, allocation, state.cluster.number.__getitem__)))
        said = answered(python, *arguments, case=asked(case, state))
        their_s.append(said["seconds"])
        theirs.append(measured(question, matrix(state, said["allocation"], int)))
    return {
        "case": case.name,
        "goodput": largest_difference(state, said["goodput"]),
        "ours": np.mean(ours, axis=0).tolist(),
        "theirs": np.mean(theirs, axis=0).tolist(),
        "seconds": (float(np.median(our_s)), float(np.median(their_s))),
        "asked": asked(case, state),
        "said": said,
    }


def compare_rhos(hosts: int, tasks: int, python: str, simulator: str) -> dict[str, Any]:
    """The rho of each task under Sia's linear program, and by this package for as much of the GPUs."""
    rng = random.Random(f"fairness {hosts} {tasks}")
    made = []
    for number in range(tasks):
        workers, rate = rng.randint(1, 4), rng.uniform(1.0, 10.0)
        job = Job("any", 1000.0 / rate)
        age, iterations = rng.uniform(60, 3000), rng.uniform(1000, 30000)
        made.append(
            TrainingTask(
                f"t{number:02}",
                4000.0 - age,
                iterations,
                lambda workers, job=job: job,  # type: ignore[misc]
                workers,
                done_iterations=rng.uniform(0.0, 0.5) * iterations,
            )
        )
    state = ClusterState(Cluster(leaf_spine(1, 1, hosts), 4), 4000.0, made)
    asked_for = {
        "gpus": [4] * hosts,
        "now_s": state.now_s,
        "tasks": [
            {
                "id": one.id,
                "arrival_s": one.arrival_s,
                "workers": one.requested_workers,
                "rate": one.rate(one.requested_workers),
                "iterations": one.iterations,
                "left": one.left_iterations,
            }
            for one in state.tasks
        ],
    }
    said = answered(python, "sia_fairness", simulator, case=asked_for)
    fairness = Fairness(state, dict.fromkeys(said["rhos"], float(tasks)), 600.0, 1.0)
    alone = {one.id: fairness.rho(one, one.requested_workers, Level.MACHINE) for one in state.tasks}
    off = []
    for one in state.tasks:
        # A part of the time stretches what is left; the rest of rho is as with all of the time.
        elapsed = (state.now_s - one.arrival_s) / fairness.ideal_s(one)
        ours = elapsed + (alone[one.id] - elapsed) / said["parts"][one.id]
        off.append(abs(ours / said["rhos"][one.id] - 1.0))
    worst = f"{max(said['rhos'].values()):.3f} | {100 * max(off):.4f} %"
    return {"asked": asked_for, "said": said, "row": f"| {hosts * 4} GPUs, {tasks} tasks | {worst} |"}


def row(one: dict[str, Any]) -> str:
    """Of a table: fitness, fairness, differences, seconds."""
    (fit, fair, _), (their_fit, their_fair, _) = one["ours"], one["theirs"]
    assert their_fit > 0
    assert their_fair > 0
    their_s, our_s = one["seconds"][1], one["seconds"][0]
    return " | ".join(
        [
            f"| {one['case']}",
            f"{100 * one['goodput']:.2f} %",
            *(f"{their_fit:.4f}", f"{fit:.4f}", f"{100 * (fit / their_fit - 1):+.1f} %"),
            *(f"{their_fair:.3f}", f"{fair:.3f}", f"{100 * (fair / their_fair - 1):+.1f} %"),
            *(f"{their_s:.1f}", f"{our_s:.1f} |"),
        ]
    )


TITLE = """# Pollux and finish-time fairness beside what was published

`python -m bench.testbed.validation.pollux_check`; two runs of each, means, of three searches one after the other, each
from the last population of the one before. Both allocations are judged by the same formulas, this package's: fitness is
what the search maximises, fairness is Jain's index of the tasks' speed-ups. Seconds are for one search. Goodput is
compared for every task, for 2 to 16 GPUs, on one node and on several; both search batch sizes on a grid.

## adaptdl-sched 0.2.11

It adds up speed-ups against one GPU, each a tenth less after a restart (`power=1, reference="one_worker",
restart_penalty=0.1`). That it also rents hosts, and gives them back, is turned off. Fairness is no part of what it
maximises: allocations of nearly equal sums can differ in it. Where its fitness is far below, its search has not
settled: it still rises with more searches.
"""

SIA = """
## Pollux in Sia's simulator

The harmonic mean of speed-ups against the fair share, restarts by age (the defaults here). Its fair share is on one
node however large it is, and a task that starts for the first time pays for a restart there; here neither.
"""

FAIRNESS = """
## Finish-time fairness in Sia's simulator

Its policy shares out time, by a linear program that makes the largest rho least; Themis auctions whole GPUs. So the
allocations are not comparable. What is: the rho of a task with a given part of the time.

| cluster | largest rho | rho differs at most |
| --- | ---: | ---: |"""

HEAD = """
| hosts x GPUs | goodput differs at most | fitness theirs | ours | | fairness theirs | ours | | s theirs | ours |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def main() -> None:
    """Compare, write the table, and record small cases where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adaptdl", required=True)
    parser.add_argument("--sia")
    parser.add_argument("--sia-simulator")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--record", type=Path)
    chosen = parser.parse_args()
    published = [compare(case, chosen.adaptdl, ["adaptdl"], AS_ADAPTDL) for case in CASES]
    text = [TITLE, HEAD.strip(), *map(row, published)]
    fairness: dict[str, Any] = {}
    if chosen.sia:
        sia = [compare(case, chosen.sia, ["sia", chosen.sia_simulator], {}) for case in CASES]
        rhos = [compare_rhos(hosts, tasks, chosen.sia, chosen.sia_simulator) for hosts, tasks in RHOS]
        fairness = {name: rhos[0][name] for name in ("asked", "said")}
        text += [SIA, HEAD.strip(), *map(row, sia), FAIRNESS, *(one["row"] for one in rhos)]
    chosen.out.write_text("\n".join(text) + "\n")
    print("\n".join(text))
    if chosen.record:
        kept = [{"asked": one["asked"], "said": one["said"], "theirs": one["theirs"]} for one in published[:SMALL]]
        source = "adaptdl-sched 0.2.11, Sia's simulator; by bench/testbed/validation/pollux_check.py"
        chosen.record.write_text(json.dumps({"source": source, "cases": kept, "fairness": fairness}, indent=1) + "\n")


if __name__ == "__main__":
    main()
