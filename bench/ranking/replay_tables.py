"""The replay as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bench.tables import ratio, seconds, table

from .replay import CHANGED
from .replay_stages import OTHER, STAGES, Taken

if TYPE_CHECKING:
    from .replay_report import Kept, Replayed, Round

WARM = 2
"""Rounds that find little kept, and count in no median."""


def warm(rounds: Sequence[Round]) -> Sequence[Round]:
    """The rounds that medians are of: all but the first ones."""
    return rounds[min(WARM, len(rounds) - 1) :]


def markdown(
    replayed: Sequence[Replayed], about: Mapping[str, str], took_s: float, quick: bool, plots: Sequence[str]
) -> str:
    """The whole report."""
    parts = ["# Round after round with a Ranker\n"]
    if quick:
        parts.append("**A quick run: few small rounds. Not to be quoted.**\n")
    parts.append("".join(f"- {what}: {said}\n" for what, said in about.items()))
    parts.append(
        f"Written by `python -m bench.ranking.replay_report` in {seconds(took_s)}. Rounds of "
        f"`bench/ranking/replay.py`: from one to the next {CHANGED:.0%} of the jobs leave, arrive or move, and all "
        "candidates are drawn anew, each the current placement with other parts of jobs moved. Every round is ranked "
        "by `rank` and by one `Ranker`, in turns; the JSON of both was the same, byte for byte. A *hit* is a distinct "
        "link problem whose answer was known. "
        f"Medians are of the rounds after the first {WARM}. *Processor* time is that of all threads: other work on the "
        "machine moves it less than the wall clock.\n"
    )
    parts.append(_times(replayed))
    parts += [f"![{name.partition('.')[0]}]({name})\n" for name in plots]
    parts.append("## Where a round's time goes\n")
    parts.append("Processor time, median by stage: `rank`, then the `Ranker`.\n")
    parts.append(_stages(replayed))
    parts.append("## What is kept\n")
    parts.append(_memory(replayed))
    return "\n".join(parts)


def _times(replayed: Sequence[Replayed]) -> str:
    rows = []
    for one in replayed:
        rounds = warm(one.rounds)
        hits, misses = sum(each.hits for each in rounds), sum(each.misses for each in rounds)
        plain, ranker = [each.plain for each in rounds], [each.ranker for each in rounds]
        rows.append(
            [
                one.study.name,
                str(len(one.rounds)),
                f"{hits / (hits + misses):.0%}" if hits + misses else "–",
                *(seconds(statistics.median(each.wall_s for each in way)) for way in (plain, ranker)),
                *(seconds(sum(_of(each, way).wall_s for each in one.rounds)) for way in ("plain", "ranker")),
                ratio(_speed_up([each.wall_s for each in plain], [each.wall_s for each in ranker])),
                ratio(_speed_up([each.cpu_s for each in plain], [each.cpu_s for each in ranker])),
            ]
        )
    head = ["rounds", "number", "hits", "`rank`, median", "`Ranker`, median", "`rank`, all", "`Ranker`, all"]
    return table([*head, "faster by", "in processor time"], rows)


def _of(one: Round, way: str) -> Taken:
    return one.plain if way == "plain" else one.ranker


def _speed_up(plain: Sequence[float], ranker: Sequence[float]) -> float:
    """Median of the rounds' own ratios: the two of a round were measured one after the other."""
    return statistics.median(a / b for a, b in zip(plain, ranker, strict=True))


def stage_medians(rounds: Sequence[Round], way: str) -> dict[str, float]:
    """Processor seconds by stage, the median over the warm rounds."""
    names = [*STAGES.values(), OTHER]
    return {name: statistics.median(_of(one, way).stage_cpu_s.get(name, 0.0) for one in warm(rounds)) for name in names}


def _stages(replayed: Sequence[Replayed]) -> str:
    rows = []
    for one in replayed:
        plain, ranker = stage_medians(one.rounds, "plain"), stage_medians(one.rounds, "ranker")
        rows.append([one.study.name, *(f"{seconds(plain[name])}, {seconds(ranker[name])}" for name in plain)])
    return table(["rounds", *STAGES.values(), OTHER], rows)


def _memory(replayed: Sequence[Replayed]) -> str:
    rows = []
    for one in replayed:
        last = one.rounds[-1]
        rows.append(
            [
                one.study.name,
                f"{one.rounds[0].misses:,}",
                f"{last.misses:,}",
                *_kept(last.answers),
                *_kept(last.scores),
            ]
        )
    head = ["rounds", "solved in the first", "in the last", "answers at the end", "memory", "each"]
    return table([*head, "scores at the end", "memory", "each"], rows)


def _kept(one: Kept) -> list[str]:
    return [f"{one.number:,}", f"{one.size / 1e6:.2f} MB", f"{one.size / max(1, one.number):.0f} B"]
