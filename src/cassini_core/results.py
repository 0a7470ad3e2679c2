"""What comes out: the answer for one link, harmonised jobs, and the ranking of candidates.

These types carry results and check nothing; ``model`` holds what comes in and checks everything. Mappings are
left out of hashes, because a mapping has none, and compared as usual. Written, an answer is the same bytes whenever
it is equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from .candidates_json import candidates_content, differences_content
from .choices import AggregateName, Order, Status, StoppedBy
from .errors import shown
from .formats import by_id, counted, finite, finite_or_none, json_line, short

if TYPE_CHECKING:
    from .model import Job

__all__ = ["Disturbance", "Harmonized", "LinkScore", "LinkSolution", "NarrowLink", "RankedCandidate", "Ranking"]


HTML_ROWS = 50
"""Most rows of a table in a notebook; :meth:`Ranking.records` has all."""


@dataclass(frozen=True, slots=True, repr=False)
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
        Why the search ended: ``complete``, ``nodes``, ``deadline``, ``limits`` or ``unproven``; see
        :data:`cassini_core.StoppedBy`.
    resolution_ms : float or None
        How precisely shifts are taken to be held, ms, where ``score`` and ``upper_bound`` depend on it: some jobs are
        free (F1b), and shifts that are held more precisely might score more. None where no shifts at all do.
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
    resolution_ms: float | None = None

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per job, in the order of the jobs: ``job``, ``shift_ms``, ``slack_ms``, ``free``.

        ``pandas.DataFrame(solution.records())`` is a table of it.
        """
        return _job_records(self)

    def to_json(self) -> bytes:
        """A ``cassini-link-solution/1`` object: one line, ids sorted; all attributes but ``stopped_by``, in order.

        ``perimeter_ms`` is null where the perimeter is too long for a float.

        Raises
        ------
        InputError
            Another number is not finite.
        """
        perimeter_ms = float(self.perimeter_ms)
        return json_line(
            {
                "format": "cassini-link-solution/1",
                "score": finite(self.score, "score"),
                "score_is_exact": bool(self.score_is_exact),
                "upper_bound": finite(self.upper_bound, "upper_bound"),
                "optimal": bool(self.optimal),
                "claimed_score": finite(self.claimed_score, "claimed_score"),
                "shifts_ms": by_id(self.shifts_ms, "shifts_ms"),
                "slack_ms": by_id(self.slack_ms, "slack_ms"),
                "hold_ms": finite(self.hold_ms, "hold_ms"),
                "free_jobs": [str(job) for job in self.free_jobs],
                "perimeter_ms": None if math.isinf(perimeter_ms) else finite(perimeter_ms, "perimeter_ms"),
                "nodes": int(self.nodes),
                "resolution_ms": finite_or_none(self.resolution_ms, "resolution_ms"),
            }
        )

    def _summary(self) -> str:
        jobs, hold = counted(len(self.shifts_ms), "job"), short(self.hold_ms)
        return f"{_judged(self.score, self.upper_bound, self.optimal)}, {jobs}, hold {hold} ms"

    def __repr__(self) -> str:
        return f"<LinkSolution: {self._summary()}>"

    def _repr_html_(self) -> str:
        return _job_table(f"Link: {self._summary()}", self)


@dataclass(frozen=True, slots=True, repr=False)
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

    def __repr__(self) -> str:
        longer = sum(more > 0 for more in self.lengthening.values())
        return f"<Harmonized: {counted(len(self.jobs), 'job')}, {longer} lengthened, score {short(self.score)}>"


@dataclass(frozen=True, slots=True)
class LinkScore:
    """One physical shared link of a candidate and the score it achieves at the candidate's shifts.

    ``score`` is None where the candidate was not solved; ``upper_bound`` is always certified.
    """

    id: str
    score: float | None
    upper_bound: float


@dataclass(frozen=True, slots=True)
class NarrowLink:
    """A physical link of a candidate that carries one job, whose demand is above the capacity at some time.

    No shift changes what it scores, so the score is exact.

    Attributes
    ----------
    id, job : str
        The link, and the job that is alone there.
    score : float
        ``1 - mean(excess) / C``, below 1.
    excess_gbps : float
        Mean demand above the capacity, Gbit/s.
    """

    id: str
    job: str
    score: float
    excess_gbps: float


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What a candidate asks of the jobs that run already, where it was said at which shifts they do.

    Attributes
    ----------
    moves_ms : mapping of str to float
        Running jobs that leave their shift, by id, and how long each waits for its new one, once, ms: more than 0, and
        less than the time by which it may turn by itself. All other running jobs keep exactly the shift that they have.
    score_if_kept : float
        What the candidate scores if no running job moves, the others at the best shifts found beside them.
    upper_bound_if_kept : float
        Certified: no shifts of this placement that move no running job score more.
    """

    moves_ms: Mapping[str, float] = field(hash=False)
    score_if_kept: float
    upper_bound_if_kept: float


class _Deferring:
    """Room for what makes the fields of a :class:`RankedCandidate` that have no value yet; None where all have."""

    __slots__ = ("_rest",)


@dataclass(frozen=True, slots=True, repr=False)
class RankedCandidate(_Deferring):
    """One candidate with its score, proof and shifts; docs/method.md defines every word.

    In a ranking, what belongs to each job and to each link is put together when one of it is first asked for: of
    thousands of candidates most are never looked at so closely.

    Attributes
    ----------
    score : float or None
        From the scores that the links achieve at ``shifts_ms``, recomputed: by default the mean over all placed jobs of
        the score of the job's worst link, 1 for a job that has neither a shared nor a narrow link; else the aggregate
        asked for. 1 without such a link; None where no shifts were found.
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
        Id of the link with the lowest score, shared or narrow; of equals the first id.
    total_excess_gbps : float or None
        Sum over shared and narrow links of mean excess, Gbit/s.
    links : tuple of LinkScore
        The shared links, by id.
    jobs_placed : int
        How many jobs the candidate places, those without network included.
    narrow_links : tuple of NarrowLink
        By id.
    resolution_ms : float or None
        How precisely shifts are taken to be held, ms, where ``score`` and ``upper_bound`` depend on it: on some link a
        job is free (F1b), and shifts that are held more precisely might score more. None where no shifts at all do.
    disturbance : Disturbance or None
        What the candidate asks of running jobs; None where no job runs, or no shifts were found.
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
    jobs_placed: int = 0
    narrow_links: tuple[NarrowLink, ...] = ()
    resolution_ms: float | None = None
    disturbance: Disturbance | None = None

    def __getattr__(self, name: str) -> Any:
        # Asked for what has no value: of two threads both make it, and it is the same.
        rest = None if name == "_rest" else getattr(self, "_rest", None)
        if rest is not None:
            for field_name, value in rest().items():
                object.__setattr__(self, field_name, value)
            object.__setattr__(self, "_rest", None)
        return object.__getattribute__(self, name)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per job that shares a link: ``job``, ``shift_ms``, ``slack_ms``, ``free``."""
        return _job_records(self)

    def _summary(self) -> str:
        score, links = _judged(self.score, self.upper_bound, self.optimal), counted(len(self.links), "shared link")
        narrow = f", {counted(len(self.narrow_links), 'narrow link')}" if self.narrow_links else ""
        hold = "" if self.hold_ms is None else f", hold {short(self.hold_ms)} ms"
        return f"{shown(self.id)}: {score}, {self.status}, {links}{narrow}{hold}"

    def __repr__(self) -> str:
        return f"<RankedCandidate {self._summary()}>"

    def _repr_html_(self) -> str:
        return _job_table(f"Candidate {self._summary()}", self)

    def _fields(self) -> dict[str, Any]:
        """All attributes by name. What has no value yet is made, and not kept: who goes through all needs it once."""
        rest = getattr(self, "_rest", None)
        made = {} if rest is None else rest()
        return {one: made[one] if one in made else getattr(self, one) for one in RankedCandidate.__match_args__}


def deferred_candidate(rest: Callable[[], Mapping[str, Any]], **known: Any) -> RankedCandidate:
    """A candidate of the fields ``known``; ``rest`` makes all others, later or never, and the same every time."""
    one = RankedCandidate.__new__(RankedCandidate)
    for name, value in known.items():
        object.__setattr__(one, name, value)
    object.__setattr__(one, "_rest", rest)
    return one


@dataclass(frozen=True, slots=True, repr=False)
class Ranking:
    """All candidates in order: ``ranking[0]`` by position, ``ranking["c0"]`` by id, ``for candidate in ranking``.

    Attributes
    ----------
    best : RankedCandidate or None
        The first candidate that was solved; None if none was.
    best_proven : bool
        No other candidate can come before it: none places more jobs, and the score is at least the upper bound of every
        other one that places as many. With ``order="score"`` of every other one.
    paces_ms : mapping of str to float
        Iteration time at which each job must be paced, ms.
    candidates : tuple of RankedCandidate
        Sorted by ``order``. Of those that place as many jobs the solved ones come first, by score; the others by bound.
    order : Order
        ``jobs_placed``: candidates that place more jobs come first. ``score``: how many they place plays no part.
    resolution_ms : float or None
        How precisely shifts are taken to be held, ms, where the score or bound of some candidate depends on it.
    aggregate : AggregateName
        How link scores became a candidate's score.
    slack_tolerance : float
        By how much a link's score may drop within slack and hold.
    running_tolerance : float or None
        What a move of a running job had to win; None where no job runs.
    """

    best: RankedCandidate | None
    best_proven: bool
    paces_ms: Mapping[str, float] = field(hash=False)
    candidates: tuple[RankedCandidate, ...]
    warnings: tuple[str, ...] = ()
    order: Order = "jobs_placed"
    resolution_ms: float | None = None
    aggregate: AggregateName = "per_job"
    slack_tolerance: float = 0.01
    running_tolerance: float | None = None

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[RankedCandidate]:
        return iter(self.candidates)

    def __contains__(self, item: object) -> bool:
        """Whether a candidate, or one of this id, is ranked."""
        if isinstance(item, str):
            return any(candidate.id == item for candidate in self.candidates)
        return item in self.candidates

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> RankedCandidate: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[RankedCandidate, ...]: ...

    def __getitem__(self, key: SupportsIndex | str | slice) -> RankedCandidate | tuple[RankedCandidate, ...]:
        """The candidate at a position, 0 for the first, or of an id; candidates of a slice. O(candidates) by id.

        Raises
        ------
        IndexError
            There are fewer candidates.
        KeyError
            None has this id.
        """
        if not isinstance(key, str):
            try:
                return self.candidates[key]
            except IndexError:
                some = counted(len(self), "candidate")
                raise IndexError(f"ranking[{key}]: expected a position among {some}") from None
        for candidate in self.candidates:
            if candidate.id == key:
                return candidate
        raise KeyError(key)

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary per candidate, best first; ``pandas.DataFrame(ranking.records())`` is a table of it.

        Returns
        -------
        list of dict
            ``rank`` (from 1), ``id``, ``score``, ``upper_bound``, ``optimal``, ``resolution_ms``, ``status``,
            ``jobs_placed``, ``hold_ms``, ``least_slack_ms`` (None where no job has a shift), ``n_shared_links``,
            ``n_narrow_links``, ``n_free_jobs``, ``worst_link``, ``total_excess_gbps`` and ``warnings`` as one text.
        """
        return [
            {
                "rank": rank,
                "id": one.id,
                "score": one.score,
                "upper_bound": one.upper_bound,
                "optimal": one.optimal,
                "resolution_ms": one.resolution_ms,
                "status": one.status,
                "jobs_placed": one.jobs_placed,
                "hold_ms": one.hold_ms,
                "least_slack_ms": min(one.slack_ms.values(), default=None),
                "n_shared_links": len(one.links),
                "n_narrow_links": len(one.narrow_links),
                "n_free_jobs": len(one.free_jobs),
                "worst_link": one.worst_link,
                "total_excess_gbps": one.total_excess_gbps,
                "warnings": "; ".join(one.warnings),
            }
            for rank, one in enumerate(self.candidates, 1)
        ]

    def to_json(self, *, differences: bool = False) -> bytes:
        """A ``cassini-ranking/1`` object, as ``cassini-core rank --json`` prints: one line, ids sorted in mappings.

        Parameters
        ----------
        differences : bool
            Tell shifts, slack and links of each candidate by how they differ from what most candidates have
            (``cassini-ranking/2``, as ``cassini-core rank --differences`` prints): its size goes with what differs.

        Raises
        ------
        InputError
            A number is not finite.
        """
        running = {}
        if self.running_tolerance is not None:
            running["running_tolerance"] = finite(self.running_tolerance, "running_tolerance")
        fields = [one._fields for one in self.candidates]
        solved = [one.score is not None for one in self.candidates]
        return json_line(
            {
                "format": "cassini-ranking/2" if differences else "cassini-ranking/1",
                "best": None if self.best is None else self.best.id,
                "best_proven": bool(self.best_proven),
                "order": self.order,
                "aggregate": str(self.aggregate),
                "slack_tolerance": finite(self.slack_tolerance, "slack_tolerance"),
                **running,
                "resolution_ms": finite_or_none(self.resolution_ms, "resolution_ms"),
                "paces_ms": by_id(self.paces_ms, "paces_ms"),
                **(differences_content(fields, solved) if differences else candidates_content(fields)),
                "warnings": [str(warning) for warning in self.warnings],
            }
        )

    def _summary(self) -> str:
        if self.best is None:
            return f"{counted(len(self), 'candidate')}, none solved"
        proof = "proven" if self.best_proven else "not proven"
        return f"{counted(len(self), 'candidate')}, best {shown(self.best.id)} with {short(self.best.score)} ({proof})"

    def __repr__(self) -> str:
        return f"<Ranking: {self._summary()}>"

    def _repr_html_(self) -> str:
        from .notebook import html_table, score_bar

        header = ("", "candidate", "jobs", "score", "", "bound", "optimal", "status", "hold, ms", "worst link")
        rows = (
            (
                *(rank, one.id, one.jobs_placed, short(one.score), score_bar(one.score), short(one.upper_bound)),
                *("yes" if one.optimal else "no", one.status, short(one.hold_ms), one.worst_link or "-"),
            )
            for rank, one in enumerate(self.candidates[:HTML_ROWS], 1)
        )
        more = f"; the first {HTML_ROWS} are shown" if len(self) > HTML_ROWS else ""
        return html_table(f"Ranking: {self._summary()}{more}", header, "rlrrlrllrl", rows)


def _job_records(answer: LinkSolution | RankedCandidate) -> list[dict[str, Any]]:
    free = frozenset(answer.free_jobs)
    return [
        {"job": job, "shift_ms": shift, "slack_ms": answer.slack_ms.get(job), "free": job in free}
        for job, shift in answer.shifts_ms.items()
    ]


def _job_table(caption: str, answer: LinkSolution | RankedCandidate) -> str:
    from .notebook import html_table  # only a notebook needs it

    rows = (
        (one["job"], *(("does not matter", "any") if one["free"] else map(short, (one["shift_ms"], one["slack_ms"]))))
        for one in _job_records(answer)
    )
    return html_table(caption, ("job", "shift, ms", "slack, ms"), "lrr", rows)


def _judged(score: float | None, upper_bound: float, optimal: bool) -> str:
    if score is None:
        return f"no score, at most {short(upper_bound)}"
    return f"score {short(score)} ({'optimal' if optimal else f'at most {short(upper_bound)}'})"
