"""How long the exact answer takes, by family: median, 95th percentile, slowest instance."""

from __future__ import annotations

import math
import statistics
from typing import Any

from bench.link import cases, engine
from bench.measuring import timing
from bench.measuring.progress import Progress
from bench.measuring.tables import ratio, seconds, table

DEADLINE_S = 5.0
QUICK_DEADLINE_S = 0.5
MOST_COPIES = 100


def run(quick: bool, progress: Progress) -> dict[str, Any]:
    """Time every instance of every family in turns and check its answer."""
    progress.study("exact solves by family")
    members = list(cases.solved_families(quick))
    deadline_s = QUICK_DEADLINE_S if quick else DEADLINE_S
    calls = [_repeated(case, deadline_s) for case in members]
    batches = _batches(members)
    everything = [*calls, *batches.values()]
    timed = timing.in_turns(everything, rounds=3 if quick else 9, limit_s=0.05 if quick else 0.2)
    together = {
        family: times.median / len(batch.members)
        for (family, batch), times in zip(batches.items(), timed[len(calls) :], strict=True)
    }
    instances = []
    for index, (case, call, times) in enumerate(zip(members, calls, timed[: len(calls)], strict=True)):
        progress.step(index, len(calls), case.family)
        answer = call.checked_answers()[0]
        instances.append(
            {
                "name": case.name,
                "family": case.family,
                "jobs": len(case.jobs),
                "phases": sum(len(job.phases) for job in case.jobs),
                "median_s": times.median / len(call.members),
                "least_s": times.least / len(call.members),
                "samples": len(times.samples),
                "nodes": answer.nodes,
                "proved": answer.optimal,
                "gap": answer.upper_bound - answer.score_lower,
            }
        )
    return {"deadline_s": deadline_s, "families": _families(instances, together), "instances": instances}


def _repeated(case: cases.Case, deadline_s: float) -> engine.BatchCall:
    """A call of the kernel that solves a short case so often that Python's share vanishes."""
    problem = engine.prepared(case)
    once = timing.sample(lambda: problem.solve(resolution_ms=case.resolution_ms, node_limit=100), 1)
    copies = max(1, min(MOST_COPIES, round(timing.SHORTEST_SAMPLE_S / once)))
    return engine.BatchCall([case] * copies, deadline_s)


def _batches(members: list[cases.Case]) -> dict[str, engine.BatchCall]:
    """One batch of all members of each family of short links, one after the other and again from the first."""

    def short(case: cases.Case) -> bool:
        phases = sum(len(job.phases) for job in case.jobs)
        return phases <= 9 and (len(case.jobs) <= 3 or phases == len(case.jobs) == 4)

    grouped = cases.by_family(members)
    return {
        family: engine.BatchCall(found * max(1, MOST_COPIES // len(found)))
        for family, found in grouped.items()
        if all(map(short, found))
    }


def _families(instances: list[dict[str, Any]], together: dict[str, float]) -> list[dict[str, Any]]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for one in instances:
        grouped.setdefault(one["family"], []).append(one)
    found = []
    for family, members in grouped.items():
        medians = [one["median_s"] for one in members]
        slowest = max(members, key=lambda one: one["median_s"])
        found.append(
            {
                "family": family,
                "jobs": members[0]["jobs"],
                "instances": len(members),
                "proved": sum(one["proved"] for one in members),
                "least_s": min(one["least_s"] for one in members),
                "median_s": statistics.median(medians),
                "p95_s": timing.percentile(medians, 95),
                "among_others": together.get(family, math.nan) / statistics.fmean(medians),
                "slowest_s": slowest["median_s"],
                "slowest": slowest["name"],
                "slowest_nodes": slowest["nodes"],
            }
        )
    return found


def tables(result: dict[str, Any]) -> str:
    """One row per family."""
    rows = [
        [
            one["family"],
            str(one["instances"]),
            f"{one['proved']} of {one['instances']}",
            seconds(one["median_s"]),
            ratio(one["among_others"]),
            seconds(one["p95_s"]),
            seconds(one["slowest_s"]),
            f"{one['slowest_nodes']:,}",
        ]
        for one in result["families"]
    ]
    head = ["family", "instances", "proved", "median", "among others", "95th percentile", "slowest", "its nodes"]
    return (
        "Time of the kernel's C call, one core, with proof: no limit on nodes, a deadline of "
        f"{result['deadline_s']:g} s. Python's share is left out by solving a short link many times in one batch call. "
        "The processor then knows the link by heart; *among others* is how many times longer a batch of all the "
        "family's links takes than its links take alone. An instance counts with the median of its calls. `file` "
        "families are `tests/data/links.json`; all others are drawn with other seeds. Slack and hold are part of the "
        "answer and of the time.\n\n" + table(head, rows) + "\n![jobs](jobs.png)\n\n![phases](phases.png)\n"
    )
