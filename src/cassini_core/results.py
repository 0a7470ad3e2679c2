"""What comes out: the answer for one link, harmonised jobs, and the ranking of candidates.

These types carry results and check nothing; ``model`` holds what comes in and checks everything. Mappings are
left out of hashes, because a mapping has none, and compared as usual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .choices import Status, StoppedBy

if TYPE_CHECKING:
    from .model import Job

__all__ = ["Harmonized", "LinkScore", "LinkSolution", "RankedCandidate", "Ranking"]


@dataclass(frozen=True, slots=True)
class LinkSolution:
    """The answer for one link.

    Attributes
    ----------
    score : float
        What ``shifts_ms`` score: ``1 - mean(excess) / C``, at most 1, can be negative. Where exact scoring
        is beyond the limits of folding, the certified lower end (``score_is_exact`` is then False).
    score_is_exact : bool
        Whether ``score`` is the exact score of ``shifts_ms``.
    upper_bound : float
        No shifts score more than this, proven.
    optimal : bool
        ``score`` is within 1e-9 of the best possible, proven.
    claimed_score : float
        What the method itself says of its shifts; differs from ``score`` only for ``method="angles"``.
    shifts_ms : mapping of str to float
        Job id to time-shift ``t_j^l``, ms, in ``[0, iteration_ms)``.
    slack_ms : mapping of str to float
        How far each job may move alone, either way, ms, the others held, without the score dropping by more
        than ``slack_tolerance`` (F5).
    hold_ms : float
        All jobs may move anywhere within this at once with the same promise, ms (F5).
    free_jobs : tuple of str
        Jobs whose shift does not matter (F1b).
    perimeter_ms : float
        Perimeter ``p^l`` of the unified circle: the LCM of the iteration times, ms.
    nodes : int
        Search nodes counted against ``node_limit``.
    stopped_by : StoppedBy
        Why the search ended: ``complete``, ``nodes``, ``deadline`` or ``limits``; see
        :data:`cassini_core.StoppedBy`.
    """

    score: float
    score_is_exact: bool
    upper_bound: float
    optimal: bool
    claimed_score: float
    shifts_ms: Mapping[str, float] = field(hash=False)
    slack_ms: Mapping[str, float] = field(hash=False)
    hold_ms: float
    free_jobs: tuple[str, ...]
    perimeter_ms: float
    nodes: int
    stopped_by: StoppedBy = "complete"


@dataclass(frozen=True, slots=True)
class Harmonized:
    """Jobs with lengthened iteration times (F6).

    Attributes
    ----------
    jobs : tuple of Job
        The same jobs in the same order; only iteration times were lengthened, the added time is Down.
    lengthening : mapping of str to float
        Job id to ``T'_j / T_j - 1``, 0 where unchanged.
    score : float
        Score the choice was made by.
    """

    jobs: tuple[Job, ...]
    lengthening: Mapping[str, float] = field(hash=False)
    score: float

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)


@dataclass(frozen=True, slots=True)
class LinkScore:
    """One physical shared link of a candidate and the score it achieves at the candidate's shifts.

    ``score`` is None where the candidate was not solved; ``upper_bound`` is always certified.
    """

    id: str
    score: float | None
    upper_bound: float


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """One candidate with its score, proof and shifts; docs/method.md defines every word.

    Attributes
    ----------
    score : float or None
        From the scores that the shared links achieve at ``shifts_ms``, recomputed: by default the mean over all placed
        jobs of the score of the job's worst shared link, 1 for a job that shares none; else the aggregate asked for.
        1 without a shared link; None where no shifts were found.
    upper_bound : float
        Certified: no shifts of this placement score more. The same aggregate of the links' upper bounds; for
        ``"mean"`` less where a joint search proved that.
    optimal : bool
        ``score >= upper_bound - 1e-9``: no shifts of this placement score more, proven.
    status : Status
        ``alone``, ``tree``, ``consistent``, ``joint``, ``discarded`` or ``bound_only``; see
        :data:`cassini_core.Status`.
    shifts_ms, slack_ms : mapping of str to float
        For each job that shares a link, ms.
    hold_ms : float or None
        Least hold over the affinity components, ms; None where nothing is shared or not solved.
    free_jobs : tuple of str
        Jobs whose shift matters on none of their links.
    worst_link : str or None
        Id of the shared link with the lowest score; of equals the first id.
    total_excess_gbps : float or None
        Sum over shared links of mean excess, Gbit/s.
    """

    id: str
    score: float | None
    upper_bound: float
    optimal: bool
    status: Status
    shifts_ms: Mapping[str, float] = field(hash=False)
    slack_ms: Mapping[str, float] = field(hash=False)
    hold_ms: float | None
    free_jobs: tuple[str, ...]
    worst_link: str | None
    total_excess_gbps: float | None
    links: tuple[LinkScore, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """All candidates, best first.

    Attributes
    ----------
    best : RankedCandidate or None
        The first candidate that was solved; None if none was.
    best_proven : bool
        The best score is at least every other candidate's upper bound.
    paces_ms : mapping of str to float
        Iteration time at which each job must be paced, ms.
    candidates : tuple of RankedCandidate
        Sorted, best first.
    """

    best: RankedCandidate | None
    best_proven: bool
    paces_ms: Mapping[str, float] = field(hash=False)
    candidates: tuple[RankedCandidate, ...]
    warnings: tuple[str, ...] = ()
