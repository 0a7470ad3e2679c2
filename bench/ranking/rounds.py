"""Scheduling rounds: a full cluster, its jobs, and candidates that each move some parts of them.

``python -m bench.ranking.rounds --candidates 100 FILE`` writes one as a problem file; ``--help`` says the rest.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.measuring import draw
from cassini_core import Candidate, Job, Problem
from cassini_core.problem_file import problem_to_json

from . import kinds
from .cluster import Cluster
from .fabric import Fabric

SPANS = (2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4)
"""Racks of a job that uses the network, each as often as it stands here: 2.6 on average."""

SPANNING_GPUS = (1, 2, 4, 4)
"""GPUs of each part of such a job."""

LOCAL_GPUS = (1, 1, 2, 4)
"""GPUs of a job inside one rack."""

LEAST_MS = 30
"""A shorter iteration has no room for three phases of whole ms."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a round is drawn from; the same settings give the same round, everywhere.

    Attributes
    ----------
    seed : str or int
    racks, gpus_per_rack, uplinks : int
        Of the leaf-spine fabric; a rack has as many downlinks as uplinks.
    gbps : float
        Of each link, Gbit/s.
    jobs : int
    spanning : float
        Share of the jobs that span 2 to 4 racks as a ring; the others stay inside a rack.
    candidates : int
    moves : int
        Job parts by which a candidate differs from the current placement.
    periods_ms : tuple of int
        Iteration times of the kinds of job, whole ms.
    perturbation : float
        By how much iteration times differ at most from round ones, relative.
    perturb_jobs : bool
        Perturb every job by itself, as if each were measured; else all jobs of a kind alike.
    """

    seed: str | int = 0
    racks: int = 64
    gpus_per_rack: int = 64
    uplinks: int = 8
    gbps: float = 400.0
    jobs: int = 1000
    spanning: float = 1 / 3
    candidates: int = 1000
    moves: int = 10
    periods_ms: tuple[int, ...] = kinds.ROUND_MS
    perturbation: float = 0.0
    perturb_jobs: bool = False

    def __post_init__(self) -> None:
        for name, least in (("jobs", 1), ("candidates", 1), ("moves", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: expected at least {least}, got {getattr(self, name)}")
        if not self.periods_ms or min(self.periods_ms) < LEAST_MS:
            raise ValueError(f"periods_ms: expected one or more of at least {LEAST_MS} ms, got {self.periods_ms}")
        for name, most in (("spanning", 1.0), ("perturbation", 0.1)):
            if not 0.0 <= getattr(self, name) <= most:
                raise ValueError(f"{name}: expected 0 to {most:g}, got {getattr(self, name):g}")

    @property
    def name(self) -> str:
        """What every draw of the round starts from."""
        return f"round {self.seed}"

    def fabric(self) -> Fabric:
        """The network."""
        return Fabric(self.racks, self.gpus_per_rack, self.uplinks, self.gbps)


class JobMaker:
    """Draws the jobs of one round: each is of one of its kinds."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._kinds = kinds.job_kinds(settings.name, settings.periods_ms)
        if settings.perturbation and not settings.perturb_jobs:
            self._kinds = [self._perturbed(kind, kind.id) for kind in self._kinds]

    def jobs(self, cluster: Cluster) -> list[Job]:
        """The jobs of a cluster; one with the same id is the same job, whoever else is there."""
        return [self._job(job_id, placed.gpus) for job_id, placed in cluster.jobs.items()]

    def _job(self, job_id: str, gpus: int) -> Job:
        kind = self._kinds[draw.below(random.Random(f"{self._settings.name}, {job_id}"), len(self._kinds))]
        if self._settings.perturb_jobs:
            kind = self._perturbed(kind, job_id)
        return kinds.job_of(kind, job_id, gpus)

    def _perturbed(self, kind: Job, name: str) -> Job:
        rng = random.Random(f"{self._settings.name}, {name}, perturbed")
        return kinds.perturbed(rng, kind, self._settings.perturbation)


def place(rng: random.Random, cluster: Cluster, job_id: str, *, spans: bool) -> None:
    """Place a new job of drawn size: in 2 to 4 racks (or as many as there are), or inside one."""
    racks = min(draw.pick(rng, SPANS), cluster.fabric.racks) if spans else 1
    cluster.place(rng, job_id, gpus=draw.pick(rng, SPANNING_GPUS if spans else LOCAL_GPUS), racks=racks)


def current_placement(settings: Settings) -> Cluster:
    """The placement all candidates start from; those of its jobs that use the network are spread evenly among them.

    Raises
    ------
    NoRoomError
        The jobs do not fit.
    """
    rng = random.Random(f"{settings.name}, placement")
    cluster = Cluster(settings.fabric(), settings.name)
    for index in range(settings.jobs):
        spans = int((index + 1) * settings.spanning) > int(index * settings.spanning)
        place(rng, cluster, f"job{index:05d}", spans=spans)
    return cluster


def candidates_from(settings: Settings, current: Cluster, name: str) -> list[Candidate]:
    """Candidates ``c0000``, ``c0001``, ..., each the current placement after ``settings.moves`` moves.

    Raises
    ------
    NoRoomError
        There was nothing to move, or nowhere to.
    """
    candidates = []
    base, spanning = current.candidate("current"), current.spanning()
    for index in range(settings.candidates):
        other = current.copy()
        moved = other.move_parts(random.Random(f"{name}, candidate {index}"), settings.moves, spanning)
        candidates.append(other.moved_candidate(f"c{index:04d}", base, moved))
    return candidates


def generate(settings: Settings) -> Problem:
    """A scheduling round.

    A round of fewer candidates is the beginning of one of more. The placements do not depend on the perturbation.

    Raises
    ------
    NoRoomError
        The jobs do not fit, or none can be moved.
    """
    current = current_placement(settings)
    candidates = candidates_from(settings, current, settings.name)
    return Problem(JobMaker(settings).jobs(current), settings.fabric().links(), candidates)


def main(argv: list[str] | None = None) -> int:
    """Write a round of the given settings."""
    given = vars(_parser().parse_args(argv))
    file = given.pop("file")
    try:
        problem = generate(Settings(**given | {"periods_ms": tuple(given["periods_ms"])}))
    except ValueError as error:
        print(f"rounds: {error}", file=sys.stderr)
        return 2
    file.write_bytes(problem_to_json(problem, differences=True))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.ranking.rounds", description=(__doc__ or "").split("\n")[0])
    default = Settings()
    for name, what in (
        ("racks", "racks of the leaf-spine fabric"),
        ("gpus-per-rack", "GPUs of a rack"),
        ("uplinks", "uplinks, and as many downlinks, of a rack"),
        ("jobs", "jobs placed"),
        ("candidates", "candidate placements"),
        ("moves", "job parts by which a candidate differs from the current placement"),
    ):
        value = getattr(default, name.replace("-", "_"))
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{what} (default {value})")
    parser.add_argument("--gbps", type=float, default=default.gbps, help="of each link, Gbit/s")
    parser.add_argument("--spanning", type=float, default=default.spanning, help="share of jobs that span racks")
    parser.add_argument("--seed", default=default.seed, help="any text: another one, another round")
    parser.add_argument(
        "--periods-ms",
        type=int,
        nargs="+",
        default=default.periods_ms,
        help=f"iteration times of the kinds of job (default {' '.join(map(str, default.periods_ms))})",
    )
    parser.add_argument(
        "--perturbation", type=float, default=0.0, help="most that iteration times differ from round ones, relative"
    )
    parser.add_argument("--perturb-jobs", action="store_true", help="every job by itself, not all of a kind alike")
    parser.add_argument("file", type=Path, metavar="FILE", help="what is written, JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
