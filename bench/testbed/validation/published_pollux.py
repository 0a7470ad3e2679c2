"""The published schedulers' answers for given inputs; runs in their environment and imports nothing of this package.

Reads one JSON object from standard input and writes one as the last line of standard output. ``adaptdl``: the policy of
adaptdl-sched; ``sia DIR`` and ``sia_fairness DIR``: those of Sia's simulator in DIR.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import time
import warnings
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

# What is compared is written for libraries of its time.
warnings.simplefilter("ignore")


def goodputs(module: str, speedup_module: str, case: dict[str, Any]) -> list[Any]:
    """A goodput function with its speed-ups for each task."""
    goodput, speedup = importlib.import_module(module), importlib.import_module(speedup_module)
    made = []
    for task in case["tasks"]:
        one = task["goodput"]
        perf = goodput.PerfParams(
            one["alpha_grad_s"],
            one["beta_grad_s"],
            one["alpha_sync_node_s"],
            one["beta_sync_node_s"],
            one["alpha_sync_local_s"],
            one["beta_sync_local_s"],
            one["gamma"],
        )
        grad = goodput.GradParams(sqr=1.0, var=one["noise_scale"] / one["initial_batch"])
        function = goodput.GoodputFunction(perf, grad, one["initial_batch"])
        made.append(
            speedup.SpeedupFunction(
                function,
                max_batch_size=one["max_batch"],
                atomic_bsz_range=(one["min_batch_per_gpu"], one["max_batch_per_gpu"]),
                accumulation=one["accumulation"],
            )
        )
    return made


def table(function: Any, most: int) -> list[list[float]]:
    """Goodput on one node and on two, by number of GPUs from 2."""
    rows = []
    for nodes in (1, 2):
        row = []
        for gpus in range(2, most + 1):
            value, _, _ = function._goodput_fn.optimize(
                nodes,
                gpus,
                max_batch_size=function._max_batch_size,
                atomic_bsz_range=function._atomic_bsz_range,
                accumulation=function._accumulation,
            )
            row.append(float(value))
        rows.append(row)
    return rows


def answer(case: dict[str, Any], policy: Any, functions: list[Any], job_info: Any, node_info: Any) -> dict[str, Any]:
    """What the policy allocates, and how long that took."""
    jobs = {}
    begin = datetime(2026, 1, 1)
    for task, function in zip(case["tasks"], functions, strict=True):
        made = job_info({"gpu": 1}, function, begin + timedelta(seconds=task["arrival_s"]), 0, task["max_workers"])
        made.num_restarts, made.age, made.attained_service = task["restarts"], case["now_s"] - task["arrival_s"], 0
        jobs[task["id"]] = made
    nodes = {f"n{number:03}": node_info({"gpu": gpus}, False) for number, gpus in enumerate(case["gpus"])}
    running = {
        task: [f"n{int(host):03}" for host, workers in hosts.items() for _ in range(workers)]
        for task, hosts in case["running"].items()
    }
    start = time.perf_counter()
    # It also searches for hosts to rent, each like this one: without GPUs they are of no use.
    rented = node_info({"gpu": 0}, True)
    for _ in range(case["rounds"]):  # each starts from the last population
        allocations, _ = policy.optimize(jobs, nodes, running, rented)
    seconds = (time.perf_counter() - start) / case["rounds"]
    found: dict[str, dict[str, int]] = {}
    for task, hosts in allocations.items():
        for host in hosts:
            row = found.setdefault(task, {})
            row[str(int(host[1:]))] = row.get(str(int(host[1:])), 0) + 1
    return {"allocation": found, "seconds": seconds}


def adaptdl(case: dict[str, Any]) -> dict[str, Any]:
    """By adaptdl-sched."""
    pollux = importlib.import_module("adaptdl_sched.policy.pollux")
    types = importlib.import_module("adaptdl_sched.policy.utils")
    logging.getLogger("adaptdl_sched.policy.pollux").setLevel(logging.WARNING)
    functions = goodputs("adaptdl.goodput", "adaptdl_sched.policy.speedup", case)
    policy = pollux.PolluxPolicy()
    # It also gives hosts back whose utility is low: any utility is well.
    policy._min_util, policy._max_util = 0.0, float("inf")
    found = answer(case, policy, functions, types.JobInfo, types.NodeInfo)
    return {"goodput": [table(one, case["most"]) for one in functions], **found}


def sia(case: dict[str, Any]) -> dict[str, Any]:
    """By Sia's simulator: Pollux, and the finish-time fairness that its linear program gives."""
    pollux = importlib.import_module("pollux_unaware")
    functions = goodputs("goodput", "speedup", case)

    def job_info(resources: Any, function: Any, created: Any, least: int, most: int) -> SimpleNamespace:
        return SimpleNamespace(
            resources=resources,
            speedup_fn=function,
            creation_timestamp=created,
            min_replicas=least,
            max_replicas=most,
            preemptible=True,
        )

    def node_info(resources: Any, preemptible: bool) -> SimpleNamespace:
        return SimpleNamespace(resources=resources, preemptible=preemptible)

    found = answer(case, pollux.PolluxPolicyUnaware(-1), functions, job_info, node_info)
    return {"goodput": [table(one, case["most"]) for one in functions], **found}


def sia_fairness(case: dict[str, Any]) -> dict[str, Any]:
    """By Sia's simulator: of each task what part of the time it runs, and its rho as the policy prints it."""
    import contextlib
    import io

    policies = importlib.import_module("policies.finish_time_fairness")
    policy = policies.FinishTimeFairnessPolicyWithPerf("ECOS")
    said = io.StringIO()
    tasks = {task["id"]: task for task in case["tasks"]}
    with contextlib.redirect_stdout(said):
        parts = policy.get_allocation(
            {name: {"gpu": task["rate"]} for name, task in tasks.items()},
            {name: task["workers"] for name, task in tasks.items()},
            dict.fromkeys(tasks, 1.0),
            {name: case["now_s"] - task["arrival_s"] for name, task in tasks.items()},
            {name: task["left"] for name, task in tasks.items()},
            {name: task["iterations"] for name, task in tasks.items()},
            dict.fromkeys(tasks, 0.0),
            {"gpu": sum(case["gpus"])},
        )
    rhos = [
        float(line.split(" = ")[1].split(" (")[0].strip("[] "))
        for line in said.getvalue().splitlines()
        if line.strip().startswith("ftf:")
    ]
    order = sorted(tasks)
    return {"parts": {name: float(parts[name]["gpu"]) for name in order}, "rhos": dict(zip(order, rhos, strict=True))}


def main() -> None:
    """Answer what is asked on standard input."""
    which, *place = sys.argv[1:]
    for folder in place:
        sys.path[:0] = [folder, f"{folder}/policies"]
    case = json.load(sys.stdin)
    found = {"adaptdl": adaptdl, "sia": sia, "sia_fairness": sia_fairness}[which](case)
    print()  # what is compared prints, too
    print(json.dumps(found))


if __name__ == "__main__":
    main()
