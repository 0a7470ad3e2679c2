"""Joint searches and evaluations of links, kept for later rankings.

A question is everything that the answer depends on: what the links ask for and how they are judged, which jobs meet
where, bounds, and the shifts to begin from. Names play no part. Of long questions their BLAKE2b digest is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..arrays import Float64Array, Int64Array, Rows, cut, int64, offsets
from ..deadline import Deadline
from ..kernel.prepared_links import PreparedLinks
from ..links.solution_cache import KeptAnswers, LinkStore

__all__ = ["Evaluated", "KeptSearches", "SearchStore"]

DIGEST_BYTES = 32
"""So many that nobody, by accident or on purpose, asks two questions of one digest."""

NUMBERS_OF_A_KB = 64
"""Shifts, jobs and scores of an answer that, with what else Python keeps of them, take a kilobyte."""

Evaluated = tuple[Float64Array, Float64Array, Int64Array, Int64Array]
"""Lower and upper bound of the score and hold of each link, slack of each of its jobs."""

_HEAD = np.dtype([("lower", np.float64), ("upper", np.float64), ("hold", np.int64)])


class _Searched(Protocol):
    @property
    def shift(self) -> Int64Array: ...
    @property
    def nodes(self) -> int: ...


class _KeptEvaluation(NamedTuple):
    """The fields of ``_HEAD``, and the slack of each job, as bytes."""

    head: bytes
    slack: bytes
    nodes: int = 0


Answer = TypeVar("Answer", bound=_Searched)


class SearchStore:
    """Joint searches and evaluations of links, of all rounds.

    Parameters
    ----------
    most : int
        Evaluations that are kept, and kilobytes of searches; at least 1.

    Attributes
    ----------
    searches : KeptAnswers of BlockAnswer or Found
    evaluations : KeptAnswers
    """

    def __init__(self, most: int) -> None:
        self.searches: KeptAnswers[_Searched] = KeptAnswers(most, _kilobytes)
        self.evaluations: KeptAnswers[_KeptEvaluation] = KeptAnswers(most)

    def clear(self) -> None:
        """Forget everything."""
        self.searches.clear()
        self.evaluations.clear()


class KeptSearches:
    """What is kept, seen from the links of one round; may be used from several threads.

    Parameters
    ----------
    store : SearchStore
    links : PreparedLinks
    """

    def __init__(self, store: SearchStore, links: PreparedLinks) -> None:
        self._store = store
        self._job_offset = links.arrays.job_offset
        questions = LinkStore.questions(links.arrays, links.limits)
        self._link = [hashlib.blake2b(one, digest_size=DIGEST_BYTES).digest() for one in questions]

    def question(self, *parts: npt.NDArray[np.generic] | bytes | None, problems: Int64Array) -> bytes:
        """A question about links that pose these problems, with whatever else decides its answer; O(bytes)."""
        digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        of_links = b"".join([self._link[problem] for problem in problems.tolist()])
        for part in (of_links, *parts):
            data = b"" if part is None else part if isinstance(part, bytes) else part.tobytes()
            digest.update((-1 if part is None else len(data)).to_bytes(8, "little", signed=True))
            digest.update(data)
        return digest.digest()

    def search(
        self, question: bytes, node_limit: int | None, deadline: Deadline, search: Callable[[], Answer]
    ) -> Answer:
        """The answer that is known, or what ``search`` finds within the limit and the deadline.

        What a deadline may have cut is not kept.
        """
        kept = self._store.searches
        known = kept.find([question], node_limit)[0]
        kept.count(hits=int(known is not None), misses=int(known is None))
        if known is not None:
            return known  # type: ignore[return-value]  # who asks the same question wants the same kind of answer
        found = search()
        if not deadline.passed():
            kept.keep([question], node_limit, [found])
        return found

    def evaluations(
        self, problem: Int64Array, relative: Int64Array, evaluate: Callable[[Int64Array, Int64Array], Evaluated]
    ) -> Evaluated:
        """What links score at the relative shifts of their jobs; ``evaluate`` is asked for what is not known."""
        kept = self._store.evaluations
        first = offsets(np.diff(self._job_offset)[problem])
        own = zip(problem.tolist(), cut(relative, first), strict=True)
        questions = [self._link[number] + shifts for number, shifts in own]
        known = kept.find(questions, None)
        rest = int64(k for k, one in enumerate(known) if one is None)
        kept.count(hits=len(questions) - len(rest), misses=len(rest))
        if len(rest):
            jobs = Rows.of(first, rest)
            lower, upper, hold, slack = evaluate(problem[rest], relative[jobs.at])
            head = np.empty(len(rest), dtype=_HEAD)
            head["lower"], head["upper"], head["hold"] = lower, upper, hold
            rows = cut(head, np.arange(len(rest) + 1)), cut(slack, offsets(jobs.size))
            new = list(map(_KeptEvaluation, *rows))
            kept.keep([questions[k] for k in rest.tolist()], None, new)
            for k, one in zip(rest.tolist(), new, strict=True):
                known[k] = one
        found = [one for one in known if one is not None]
        heads = np.frombuffer(b"".join([one.head for one in found]), dtype=_HEAD)
        slacks = np.frombuffer(b"".join([one.slack for one in found]), dtype=np.int64)
        # Copies, one after the other in memory: what compiled loops take.
        return heads["lower"].copy(), heads["upper"].copy(), heads["hold"].copy(), slacks.copy()


def _kilobytes(found: _Searched) -> int:
    # A BlockAnswer has two scores of each link beside its shifts, a Found the numbers of its jobs.
    scores = getattr(found, "score_lower", found.shift)
    return 1 + (len(found.shift) + 2 * len(scores)) // NUMBERS_OF_A_KB
