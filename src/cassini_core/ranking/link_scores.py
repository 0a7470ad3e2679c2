"""What each shared link of a candidate scores, as the ranking shows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..arrays import Float64Array, Int64Array, objects
from ..links.placement import SharedLink
from ..lockless_cached_property import lockless_cached_property
from ..results import LinkScore

__all__ = ["LinkScores"]


class LinkScores:
    """Makes a :class:`LinkScore` once for each link and score; may be used from several threads.

    Parameters
    ----------
    shared : sequence of SharedLink
        By index.
    bound : float64 array, shape (shared links,)
        Certified upper bounds.
    """

    def __init__(self, shared: Sequence[SharedLink], bound: Float64Array) -> None:
        self._shared = shared
        self._bound = bound
        # Most candidates have most links at the same score: their first LinkScore serves all.
        self._first: dict[int, LinkScore] = {}
        self._first_made = objects(None for _ in shared)
        self._first_score = np.full(len(shared), np.nan)
        self._others: dict[tuple[int, float], LinkScore] = {}

    def of(self, links: Int64Array, scores: Float64Array | None) -> tuple[LinkScore, ...]:
        """One for each of ``links``, indices of shared links; without scores their bounds alone."""
        if scores is None:
            return tuple(self._without_scores[links].tolist())
        other = np.flatnonzero(self._first_score[links] != scores)
        found = self._first_made[links].tolist()
        for k, link, score in zip(other.tolist(), links[other].tolist(), scores[other].tolist(), strict=True):
            found[k] = self._others.get((link, score)) or self._make(link, score)
        return tuple(found)

    @lockless_cached_property
    def _without_scores(self) -> npt.NDArray[np.object_]:
        bounds = self._bound.tolist()
        return objects(LinkScore(link.id, None, bound) for link, bound in zip(self._shared, bounds, strict=True))

    def _make(self, link: int, score: float) -> LinkScore:
        made = LinkScore(self._shared[link].id, score, float(self._bound[link]))
        first = self._first.setdefault(link, made)  # of several threads all write the same
        self._first_made[link] = first
        self._first_score[link] = first.score
        return made if first is made else self._others.setdefault((link, score), made)
