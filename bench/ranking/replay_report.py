"""What a ranker saves: replayed rounds are ranked by ``rank`` and by one ``Ranker``, in turns, and must agree.

``python -m bench.ranking.replay_report [--quick] [--out FOLDER]`` writes ``ranking-replay.md`` and its figures as JSON.
A full run takes some nine minutes of processor time.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench.measuring import machine, reports
from bench.measuring.progress import Progress
from bench.measuring.tables import ratio, seconds, table
from cassini_core import Problem, Ranker, Ranking, rank
from cassini_core.problem_file import ranking_to_json

from .replay import CHANGED, ROUNDS, other_candidates, replay
from .rounds import Settings

WARM = 2
"""Rounds at the beginning, that find little kept and count in no median."""


@dataclass(frozen=True, slots=True)
class Study:
    """Successive rounds and the arguments with which all are ranked; whether the placement stays as it is."""

    name: str
    settings: Settings
    rounds: int
    options: Mapping[str, Any] = field(default_factory=dict)
    placement_stays: bool = False

    def problems(self) -> Iterator[Problem]:
        """Round by round."""
        return (other_candidates if self.placement_stays else replay)(self.settings, self.rounds)


@dataclass(frozen=True, slots=True)
class Round:
    """One round, ranked twice: seconds, those of the processor over all threads; link problems known and not; of joint
    searches the same.
    """

    rank_s: float
    rank_cpu_s: float
    ranker_s: float
    ranker_cpu_s: float
    hits: int
    misses: int
    search_hits: int
    search_misses: int


MEDIUM = Settings(seed="replay", racks=19, jobs=300, candidates=50)
LARGE = Settings(seed="replay")
SMALL = Settings(seed="replay", racks=16, gpus_per_rack=16, uplinks=2, jobs=48, candidates=6, moves=2)


def studies(quick: bool) -> list[Study]:
    """What is replayed."""
    if quick:
        return [
            Study("small", SMALL, 4),
            Study("small, 1,000 nodes per link", SMALL, 3, {"node_limit": 1000}),
            Study("small, the placement stays", SMALL, 3, placement_stays=True),
        ]
    measured = replace(MEDIUM, perturbation=0.01, perturb_jobs=True)
    return [
        Study("300 jobs x 50 candidates", MEDIUM, ROUNDS),
        Study("the same, 5,000 nodes per link", MEDIUM, 5, {"node_limit": 5_000}),
        Study("the same, iteration times as measured (1 %)", measured, 5),
        Study("1,000 jobs x 1,000 candidates", LARGE, 7),
        Study("48 jobs x 6 candidates, the placement stays", SMALL, 50, placement_stays=True),
        Study("300 jobs x 50 candidates, the placement stays", MEDIUM, 20, placement_stays=True),
        Study("1,000 jobs x 1,000 candidates, the placement stays", LARGE, 7, placement_stays=True),
    ]


def run(study: Study, progress: Progress) -> list[Round]:
    """Rank all rounds of a study both ways.

    Raises
    ------
    AssertionError
        The two do not agree, byte for byte.
    """
    ranker, rounds = Ranker(), []
    for index, problem in enumerate(study.problems()):
        progress.step(index, study.rounds, study.name)
        before = ranker.cache_info()
        ways: dict[str, Callable[..., Ranking]] = {"rank": rank, "ranker": ranker.rank}
        # In turns, and each as often the first: whatever else the machine does falls on both.
        order = list(ways) if index % 2 else list(reversed(ways))
        found = {name: _ranked(ways[name], problem, study.options) for name in order}
        assert found["rank"][0] == found["ranker"][0], f"{study.name}, round {index}: not the same bytes"
        info = ranker.cache_info()
        times = *found["rank"][1:], *found["ranker"][1:]
        rounds.append(
            Round(
                *times,
                hits=info.hits - before.hits,
                misses=info.misses - before.misses,
                search_hits=info.searches.hits - before.searches.hits,
                search_misses=info.searches.misses - before.searches.misses,
            )
        )
    return rounds


def _ranked(way: Callable[..., Ranking], problem: Problem, options: Mapping[str, Any]) -> tuple[bytes, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    ranking = way(problem, **options)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return ranking_to_json(ranking), wall, cpu


def main(argv: list[str] | None = None) -> int:
    """Run all studies and write the report."""
    options = reports.parser("bench.ranking.replay_report", __doc__, "few small rounds").parse_args(argv)
    about, progress = machine.about(), Progress()
    replayed = []
    for study in studies(options.quick):
        progress.study(study.name)
        replayed.append((study, run(study, progress)))
    progress.done()
    options.out.mkdir(parents=True, exist_ok=True)
    text = markdown(replayed, about, sum(progress.seconds.values()), options.quick)
    figures = {"format": "cassini-bench-replay/1", "quick": options.quick, "machine": about}
    studied = {study.name: {"study": asdict(study), "rounds": list(map(asdict, own))} for study, own in replayed}
    reports.write(options.out, "ranking-replay", text, figures | {"studies": studied}, [])
    return 0


def markdown(
    replayed: Sequence[tuple[Study, Sequence[Round]]], about: Mapping[str, str], took_s: float, quick: bool
) -> str:
    """The whole report."""
    parts = reports.heading("Round after round with a Ranker", about, quick)
    parts.append(
        f"Written by `python -m bench.ranking.replay_report` in {seconds(took_s)}. Rounds of "
        f"`bench/ranking/replay.py`: from one to the next {CHANGED:.0%} of the jobs leave, arrive or move, and all "
        "candidates are drawn anew, each the current placement with other parts of jobs moved. Where *the placement "
        f"stays*, no job leaves, arrives or moves, and {CHANGED:.0%} of the candidates are others. Every round is "
        "ranked by `rank` and by one `Ranker`, in turns; the JSON of both was the same, byte for byte. A *hit* is a "
        "distinct link problem whose answer was known; *known* says the same of searches of joint shifts. Medians are "
        f"of the rounds after the first {WARM}. *Processor* time is that of all threads: other work on the machine "
        "moves it less than the wall clock.\n"
    )
    head = ["rounds", "number", "hits", "known", "`rank`, median", "`Ranker`, median", "`rank`, all", "`Ranker`, all"]
    rows = [_row(study, rounds) for study, rounds in replayed]
    parts.append(table([*head, "faster by", "in processor time"], rows))
    return "\n".join(parts)


def _row(study: Study, rounds: Sequence[Round]) -> list[str]:
    warm = rounds[min(WARM, len(rounds) - 1) :]
    return [
        study.name,
        str(len(rounds)),
        _share(sum(one.hits for one in warm), sum(one.misses for one in warm)),
        _share(sum(one.search_hits for one in warm), sum(one.search_misses for one in warm)),
        seconds(statistics.median(one.rank_s for one in warm)),
        seconds(statistics.median(one.ranker_s for one in warm)),
        seconds(sum(one.rank_s for one in rounds)),
        seconds(sum(one.ranker_s for one in rounds)),
        # Medians of the rounds' own ratios: the two of a round were measured one after the other.
        ratio(statistics.median(one.rank_s / one.ranker_s for one in warm)),
        ratio(statistics.median(one.rank_cpu_s / one.ranker_cpu_s for one in warm)),
    ]


def _share(hits: int, misses: int) -> str:
    return f"{hits / (hits + misses):.0%}" if hits + misses else "–"


if __name__ == "__main__":
    sys.exit(main())
