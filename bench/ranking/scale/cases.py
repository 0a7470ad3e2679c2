"""Which rounds, problems and deadlines the report at cluster scale is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench.ranking.rounds import Settings

JOBS_PER_RACK = 1000 / 64
"""Of the large round. A smaller cluster has fewer racks, so that as many jobs share a link; the racks are the same."""

PERTURBATION = 0.01


@dataclass(frozen=True, slots=True)
class Case:
    """A round of the scale table."""

    settings: Settings

    @property
    def name(self) -> str:
        """``100 × 300, ±1%``: candidates, jobs and perturbation."""
        perturbed = f", ±{self.settings.perturbation:.0%}" if self.settings.perturbation else ""
        return f"{self.settings.candidates} × {self.settings.jobs}{perturbed}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is measured.

    Attributes
    ----------
    sizes, perturbed : tuple of (int, int)
        Candidates and jobs of the rounds with round iteration times, and with perturbed ones.
    least_runs, most_runs, limit_s
        Timed calls per size and number of threads: as many as fit into ``limit_s`` seconds.
    processes, warm_runs : int
        Fresh processes per small problem, and warm calls of each.
    deadline_candidates, deadline_jobs : int
        Of the round that is ranked with deadlines.
    deadline_calls : dict of float to int
        Deadline, s, to the number of calls.
    long_s, node_limit
        What the reference may take, and its nodes per link and block.
    loop_runs : int
        Timed calls per cyclic instance.
    """

    sizes: tuple[tuple[int, int], ...]
    perturbed: tuple[tuple[int, int], ...]
    least_runs: int
    most_runs: int
    limit_s: float
    processes: int
    warm_runs: int
    deadline_candidates: int
    deadline_jobs: int
    deadline_calls: dict[float, int]
    long_s: float
    node_limit: int
    loop_runs: int

    def cases(self) -> Iterator[Case]:
        """The rows of the scale table."""
        for sizes, perturbation in ((self.sizes, 0.0), (self.perturbed, PERTURBATION)):
            for candidates, jobs in sizes:
                yield Case(settings_of(candidates, jobs, perturbation))


FULL = Plan(
    sizes=((100, 300), (10, 1000), (30, 1000), (100, 1000), (300, 1000), (1000, 1000)),
    perturbed=((100, 300), (1000, 1000)),
    least_runs=3,
    most_runs=9,
    limit_s=8.0,
    processes=11,
    warm_runs=3,
    deadline_candidates=1000,
    deadline_jobs=1000,
    deadline_calls={0.05: 30, 0.2: 25, 0.5: 20, 1.0: 20, 2.0: 6},
    long_s=60.0,
    node_limit=20_000,
    loop_runs=5,
)

QUICK = Plan(
    sizes=((3, 40), (6, 40)),
    perturbed=((3, 40),),
    least_runs=1,
    most_runs=1,
    limit_s=0.1,
    processes=1,
    warm_runs=1,
    deadline_candidates=6,
    deadline_jobs=40,
    deadline_calls={0.05: 2, 1.0: 1},
    long_s=0.5,
    node_limit=20_000,
    loop_runs=1,
)


def settings_of(candidates: int, jobs: int, perturbation: float = 0.0) -> Settings:
    """A round as dense as the large one: so many jobs per rack, the same racks, and ten job parts moved."""
    default = Settings()
    racks = max(4, round(jobs / JOBS_PER_RACK))
    return replace(default, candidates=candidates, jobs=jobs, racks=racks, perturbation=perturbation)


_SMALL = Settings(racks=6, gpus_per_rack=32, uplinks=4, jobs=38, candidates=10, moves=4)
"""24 servers of eight GPUs, the smallest cluster of ``bench.ranking.prediction``."""

TEN_CANDIDATES = {
    "24 servers, one job in six on the network": replace(_SMALL, seed="ten candidates", spanning=1 / 6),
    "24 servers, one job in three on the network": replace(_SMALL, seed="ten candidates"),
}
