"""What a ranker saves: replayed rounds are ranked by ``rank`` and by one ``Ranker``, in turns, and must agree.

``python -m bench.ranking.replay_report [--quick] [--out FOLDER]`` writes ``ranking-replay.md``, its figures as JSON,
and a plot. A full run takes some six minutes of processor time.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import machine
from bench.progress import Progress
from cassini_core import Problem, Ranker, Ranking, rank
from cassini_core.links.solution_cache import KeptAnswers
from cassini_core.problem_file import ranking_to_json

from .replay import ROUNDS, replay
from .replay_stages import Taken, timed
from .replay_tables import markdown
from .rounds import Settings


@dataclass(frozen=True, slots=True)
class Study:
    """Successive rounds and the arguments with which all are ranked."""

    name: str
    settings: Settings
    rounds: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """How many, and the bytes that they take with their dictionary."""

    number: int
    size: int

    @classmethod
    def of(cls, kept: KeptAnswers[Any]) -> Kept:
        """Adds up every object, what several answers share once for each: rather too much than too little."""
        found = kept._answers
        each = (sys.getsizeof(part) for question, answer in found.items() for part in (question, answer, *answer))
        return cls(len(found), sys.getsizeof(found) + sum(each))


@dataclass(frozen=True, slots=True)
class Round:
    """One round, ranked twice; ``hits`` and ``misses`` are link problems; what is kept is that at its end."""

    plain: Taken
    ranker: Taken
    hits: int
    misses: int
    answers: Kept
    scores: Kept


@dataclass(frozen=True, slots=True)
class Replayed:
    """A study and its rounds in order."""

    study: Study
    rounds: list[Round]


MEDIUM = Settings(seed="replay", racks=19, jobs=300, candidates=50)
LARGE = Settings(seed="replay")
SMALL = Settings(seed="replay", racks=16, gpus_per_rack=16, uplinks=2, jobs=48, candidates=6, moves=2)


def studies(quick: bool) -> list[Study]:
    """What is replayed."""
    if quick:
        return [Study("small", SMALL, 4), Study("small, 1,000 nodes per link", SMALL, 3, {"node_limit": 1000})]
    measured = replace(MEDIUM, perturbation=0.01, perturb_jobs=True)
    return [
        Study("300 jobs x 50 candidates", MEDIUM, ROUNDS),
        Study("the same, 5,000 nodes per link", MEDIUM, 5, {"node_limit": 5_000}),
        Study("the same, iteration times as measured (1 %)", measured, 5),
        Study("1,000 jobs x 1,000 candidates", LARGE, 3),
    ]


def run(study: Study, progress: Progress) -> Replayed:
    """Rank all rounds of a study both ways.

    Raises
    ------
    AssertionError
        The two do not agree, byte for byte.
    """
    ranker, rounds = Ranker(), []
    for index, problem in enumerate(replay(study.settings, study.rounds)):
        progress.step(index, study.rounds, study.name)
        before = ranker.cache_info()
        ways: dict[str, Callable[..., Ranking]] = {"plain": rank, "ranker": ranker.rank}
        # In turns, and each as often the first: whatever else the machine does falls on both.
        order = list(ways) if index % 2 else list(reversed(ways))
        found = {name: _ranked(ways[name], problem, study.options) for name in order}
        assert found["plain"][0] == found["ranker"][0], f"{study.name}, round {index}: not the same bytes"
        info = ranker.cache_info()
        rounds.append(
            Round(
                plain=found["plain"][1],
                ranker=found["ranker"][1],
                hits=info.hits - before.hits,
                misses=info.misses - before.misses,
                answers=Kept.of(ranker._store.answers),
                scores=Kept.of(ranker._store.scores),
            )
        )
    return Replayed(study, rounds)


def _ranked(way: Callable[..., Ranking], problem: Problem, options: Mapping[str, Any]) -> tuple[bytes, Taken]:
    with timed() as taken:
        ranking = way(problem, **options)
    return ranking_to_json(ranking), taken


def main(argv: list[str] | None = None) -> int:
    """Run all studies and write the report."""
    options = _parser().parse_args(argv)
    about, progress = machine.about(), Progress()
    replayed = []
    for study in studies(options.quick):
        progress.study(study.name)
        replayed.append(run(study, progress))
    progress.done()
    options.out.mkdir(parents=True, exist_ok=True)
    plots = []
    if find_spec("matplotlib") is not None:
        from .replay_plot import draw

        plots = [options.out / "ranking-replay.png"]
        draw(replayed, plots[0], f"{about['CPU']}; cassini-core {about['cassini-core']}, commit {about['commit']}")
    text = markdown(replayed, about, sum(progress.seconds.values()), options.quick, [plot.name for plot in plots])
    document = {"format": "cassini-bench-replay/1", "quick": options.quick, "machine": about}
    files = {"ranking-replay.md": text, "ranking-replay.json": _json(document, replayed)}
    for name, content in files.items():
        (options.out / name).write_text(content, encoding="utf-8")
    print(*(options.out / name for name in files), *plots, sep="\n")
    return 0


def _json(document: dict[str, object], replayed: Sequence[Replayed]) -> str:
    """One line per round."""
    parts = []
    for one in replayed:
        head = json.dumps(asdict(one.study), allow_nan=False)
        lines = ",\n  ".join(json.dumps(_rounded(asdict(each)), allow_nan=False) for each in one.rounds)
        parts.append(f'{{"study": {head}, "rounds": [\n  {lines}]}}')
    joined = ",\n ".join(parts)
    return f'{json.dumps(document, allow_nan=False)[:-1]}, "studies": [\n {joined}\n]}}\n'


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.ranking.replay_report", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    parser.add_argument("--quick", action="store_true", help="few small rounds: to see that all works")
    return parser


if __name__ == "__main__":
    sys.exit(main())
