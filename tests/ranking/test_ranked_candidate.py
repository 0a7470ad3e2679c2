"""Candidates made from answers: what is kept of one never shows in another."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cassini_core import LinkScore
from cassini_core.arrays import int64
from cassini_core.links.placement import SharedLink
from cassini_core.ranking.link_scores import LinkScores

SHARED = [SharedLink(f"link {k}", 50.0, ("a", "b"), k, k) for k in range(4)]
BOUND = np.array([1.0, 0.75, 0.5, 0.25])

answers = st.dictionaries(st.integers(0, 3), st.sampled_from([-0.5, 0.0, 0.125, 0.25]), max_size=4)


@given(st.lists(answers, min_size=1, max_size=20))
def test_each_candidate_has_its_own_scores_whatever_was_made_before_and_by_which_thread(
    given_scores: list[dict[int, float]],
) -> None:
    maker = LinkScores(SHARED, BOUND)

    def made(scores: dict[int, float]) -> tuple[LinkScore, ...]:
        return maker.of(int64(scores), np.array(list(scores.values()), dtype=np.float64))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(made, given_scores))
    for scores, links in zip(given_scores, found, strict=True):
        assert links == tuple(LinkScore(f"link {k}", score, float(BOUND[k])) for k, score in scores.items())
