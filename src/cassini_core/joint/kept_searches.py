"""Joint searches of earlier rounds.

A question is everything that the answer depends on: what the links ask for and how they are judged, which jobs meet
where, bounds, and the shifts to begin from. Names play no part. The BLAKE2b digest of a question is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..arrays import Int64Array
from ..deadline import Deadline
from ..kernel.prepared_links import BlockAnswer, PreparedLinks
from ..links.solution_cache import KeptAnswers, LinkStore
from .kept_evaluations import EvaluationStore, KeptEvaluations

__all__ = ["KeptSearches", "SearchStore"]

DIGEST_BYTES = 32
"""So many that nobody, by accident or on purpose, asks two questions of one digest."""

BYTES_BESIDE = 700
"""What Python keeps of an answer beside its numbers: the question, the objects, the place in the table."""


class _Searched(Protocol):
    @property
    def shift(self) -> Int64Array: ...
    @property
    def nodes(self) -> int: ...


Answer = TypeVar("Answer", bound=_Searched)


class SearchStore:
    """Joint searches and evaluations of links of earlier rounds.

    Parameters
    ----------
    most : int
        Evaluations that are kept, and kilobytes of searches; at least 1.

    Attributes
    ----------
    searches : KeptAnswers of BlockAnswer or Found
    evaluations : EvaluationStore
    """

    def __init__(self, most: int) -> None:
        self.searches: KeptAnswers[_Searched] = KeptAnswers(most, _kilobytes)
        self.evaluations = EvaluationStore(most)

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

    Attributes
    ----------
    evaluations : KeptEvaluations
    """

    def __init__(self, store: SearchStore, links: PreparedLinks) -> None:
        self._searches = store.searches
        questions = LinkStore.questions(links.arrays, links.limits)
        self._link = [hashlib.blake2b(one, digest_size=DIGEST_BYTES).digest() for one in questions]
        self.evaluations = KeptEvaluations(store.evaluations, self._link, links.arrays.job_offset)

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
        kept = self._searches
        known = kept.find([question], node_limit)[0]
        kept.count(hits=int(known is not None), misses=int(known is None))
        if known is not None:
            return known  # type: ignore[return-value]  # who asks the same question wants the same kind of answer
        found = search()
        if not deadline.passed():
            kept.keep([question], node_limit, [found])
        return found


def _kilobytes(found: _Searched) -> int:
    # A BlockAnswer has two scores of each link beside its shifts, a Found the number of each of its jobs.
    numbers = len(found.shift) + (2 * len(found.score_lower) if isinstance(found, BlockAnswer) else len(found.shift))
    return -(-(BYTES_BESIDE + 8 * numbers) // 1024)
