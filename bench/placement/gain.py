"""What candidates win over random placement, in one cluster: scores, and simulated slowdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.ranking.prediction.trial import RANDOM, TrialOptions, paced_at, simulated
from cassini_core import Problem, RankedCandidate, rank
from cassini_core.placement.job_request import JobRequest
from cassini_core.placement.place import place
from cassini_core.topology.model import Topology

from .worn_cluster import GPUS, at_random, together, worn_cluster

OPTIONS = TrialOptions(random_starts=1)
PACED = paced_at(OPTIONS.margins[0])


@dataclass(frozen=True, slots=True)
class Gain:
    """One cluster.

    Attributes
    ----------
    family : str
    seed : int
    running, waiting : int
        Jobs.
    scores : dict of str to float
        Of the best of the candidates, of the packed one, of the best, the median and the mean of those at random.
    slowdown : dict of str to float
        Of the best, the packed one, and the best and the mean of those at random, with shifts and paced; the best and
        the mean at random also without shifts. Mean over all placed jobs.
    won_by : str
        Strategy of the best candidate.
    """

    family: str
    seed: int
    running: int
    waiting: int
    scores: dict[str, float]
    slowdown: dict[str, float]
    won_by: str


def gain(topology: Topology, kinds: Sequence[JobRequest], family: str, seed: int, candidates: int) -> Gain:
    """Rank as many candidates as random placements, all in one problem, and simulate those that are compared."""
    name = f"{family} {seed}"
    requests = worn_cluster(topology, kinds, name, scattered=family == "scattered")
    made = place(topology, requests, gpus_per_host=GPUS, candidates=candidates, seed=seed)
    drawn = [at_random(topology, requests, f"{name}, at random {one}") for one in range(candidates)]
    problem = together([made.problem, *drawn], ["", *(f"{one}-" for one in range(candidates))])
    ranking = rank(problem, exhaustive=True, threads=1)
    # One that was given up has a bound only, below the scores of those that matter.
    by_id = {one.id: one for one in ranking.candidates}
    ours = [one for one in ranking.candidates if not one.id[0].isdigit() and one.score is not None]
    others = [one for one in ranking.candidates if one.id[0].isdigit() and one.score is not None]
    theirs = [one.score for one in others if one.score is not None]
    scores = {"best": ours[0].score, "packed": by_id["packed"].score, "best at random": others[0].score}
    scores |= {"median at random": statistics.median(theirs), "mean at random": statistics.fmean(theirs)}
    return Gain(
        family,
        seed,
        sum(one.hosts is not None for one in requests),
        sum(one.hosts is None for one in requests),
        {key: float("nan") if value is None else value for key, value in scores.items()},
        _slowdowns(
            problem,
            ranking.paces_ms,
            {"best": ours[0], "packed": by_id["packed"], "best at random": others[0]},
            others,
            name,
        ),
        ours[0].id.partition("-")[0],
    )


def _slowdowns(
    problem: Problem,
    paces_ms: dict[str, float],
    compared: dict[str, RankedCandidate],
    others: Sequence[RankedCandidate],
    name: str,
) -> dict[str, float]:
    routes = {one.id: one for one in problem.candidates}

    def of(one: RankedCandidate) -> dict[str, float]:
        candidate = routes[one.id]
        share = sum(map(bool, candidate.routes.values())) / len(candidate.routes)  # the others are not slowed down
        found = simulated(problem, candidate, one, paces_ms, name, OPTIONS)
        return {way: 1.0 + share * (found[way] - 1.0) for way in (PACED, RANDOM)}

    found = {key: of(one) for key, one in compared.items()}
    drawn = [of(one) for one in others[:: max(1, len(others) // 16)]]
    slowdown = {key: one[PACED] for key, one in found.items()}
    slowdown["mean at random"] = statistics.fmean(one[PACED] for one in drawn)
    slowdown["best, without shifts"] = found["best"][RANDOM]
    slowdown["mean at random, without shifts"] = statistics.fmean(one[RANDOM] for one in drawn)
    return slowdown
