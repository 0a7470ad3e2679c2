"""Where should job c go? Worker threads of a scheduler rank rounds of two placements, and share what they learn."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

import cassini_core as cc


class Scheduler:
    """Ranks rounds on worker threads; all share one :class:`cassini_core.Ranker`, so no link is solved twice.

    Leaving the ``with`` block drops rounds that have not begun and waits for the others, which end by their deadline.
    """

    def __init__(self, workers: int, deadline_s: float) -> None:
        self._ranker = cc.Ranker()
        self._deadline_s = deadline_s
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="rank")

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._workers.shutdown(cancel_futures=True)

    def submit(self, problem: cc.Problem) -> Future[cc.Ranking]:
        """Rank all candidates of a round, each by its worst link, best first."""
        return self._workers.submit(
            self._ranker.rank,
            problem,
            aggregate="min",
            exhaustive=True,
            period_tolerance=0,
            threads=1,  # the rounds run side by side already
            deadline_s=self._deadline_s,
        )


def make_round() -> cc.Problem:
    burst = [cc.Phase(start_ms=141, duration_ms=114, gbps=45)]
    twice = [cc.Phase(start_ms=0, duration_ms=60, gbps=40), cc.Phase(start_ms=300, duration_ms=50, gbps=25)]
    jobs = [cc.Job("a", 255, burst), cc.Job("b", 255, burst), cc.Job("c", 510, twice)]
    up = ["tor1-up"]
    candidates = [
        cc.Candidate("together", {"a": up, "b": up, "c": up}),
        cc.Candidate("apart", {"a": up, "b": up, "c": []}),
    ]
    return cc.Problem(jobs, [cc.Link("tor1-up", capacity_gbps=50)], candidates)


def ns(ms: float) -> int:
    return round(ms * 1_000_000)


def show(candidates: Sequence[cc.RankedCandidate]) -> None:
    for place, found in enumerate(candidates, start=1):
        if found.score is None or found.hold_ms is None:  # the deadline came first
            print(f"{place} {found.id:<8}  bound {found.upper_bound.hex()} {found.upper_bound:.6f}")
            continue
        print(
            f"{place} {found.id:<8}  score {found.score.hex()} {found.score:.6f}  bound {found.upper_bound.hex()} "
            f"{found.upper_bound:.6f}  optimal {'yes' if found.optimal else 'no':<3}  hold {ns(found.hold_ms):8} ns"
        )
        for job, shift in found.shifts_ms.items():
            print(f"    {job}  shift {ns(shift):9} ns  slack {ns(found.slack_ms[job]):8} ns")


def main() -> int:
    try:
        with Scheduler(workers=4, deadline_s=10.0) as scheduler:
            # A scheduler asks round after round; here they are all alike, and from the second on nothing is solved.
            rounds = [scheduler.submit(make_round()) for _ in range(32)]
            for pending in rounds:
                ranking = pending.result()
    except KeyboardInterrupt:
        return 130
    except cc.CassiniError as error:
        print(f"rank: {error}", file=sys.stderr)
        return 1
    show(ranking.candidates)
    return 0


if __name__ == "__main__":
    sys.exit(main())
