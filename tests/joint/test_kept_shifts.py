"""Answers kept by their difference from the base placement: what comes out is what went in, in less memory."""

from __future__ import annotations

import numpy as np
import pytest
from bench.ranking.rounds import Settings, generate
from hypothesis import given
from hypothesis import strategies as st

from cassini_core import rank
from cassini_core.joint.kept_shifts import AtShifts, BaseShifts, NearBase
from cassini_core.results import RankedCandidate

N_LINKS, N_JOBS = 12, 9


@st.composite
def at_shifts(draw: st.DrawFn) -> AtShifts:
    """Some links of a round in any order, what they score, and some of its jobs."""
    links = draw(st.permutations(range(N_LINKS)))[: draw(st.integers(0, N_LINKS))]
    jobs = sorted(draw(st.sets(st.integers(0, N_JOBS - 1))))
    scores, ticks = st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 1)
    shift, slack, free = (draw(st.lists(ticks, min_size=len(jobs), max_size=len(jobs))) for _ in range(3))
    return AtShifts(
        np.array(links, dtype=np.int64),
        np.array([draw(scores) for _ in links], dtype=np.float64),
        *(np.array(values, dtype=np.int64) for values in (jobs, shift, slack)),
        np.array(free, dtype=np.bool_),
    )


@given(at_shifts(), at_shifts(), st.booleans())
def test_what_is_kept_by_its_difference_comes_out_as_it_was(base: AtShifts, found: AtShifts, always: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if always:
            patch.setattr("cassini_core.joint.kept_shifts.MOST_CHANGED", 1.0)
        kept = BaseShifts(base, N_LINKS, N_JOBS).near(found)
    assert isinstance(kept, NearBase) or not always
    whole = kept.whole(found.links) if isinstance(kept, NearBase) else kept
    for name in AtShifts.__slots__:
        before, after = getattr(found, name), getattr(whole, name)
        assert before.dtype == after.dtype
        assert before.tolist() == after.tolist()


def kept_values(candidate: RankedCandidate) -> int:
    """Elements of the arrays that are kept of a candidate of which nothing was asked yet."""
    (answer,) = candidate._rest.args
    arrays = (getattr(answer.kept, name) for name in answer.kept.__slots__)
    return sum(len(array) for array in arrays if isinstance(array, np.ndarray))


def test_a_ranking_keeps_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = generate(Settings(racks=40, gpus_per_rack=32, uplinks=4, jobs=300, candidates=24, moves=1))
    ranking = rank(problem, exhaustive=True, node_limit=20, block_node_limit=20, period_tolerance=0.0)
    kept = sorted(map(kept_values, ranking))
    monkeypatch.setattr(BaseShifts, "near", lambda self, found: found)
    whole = rank(problem, exhaustive=True, node_limit=20, block_node_limit=20, period_tolerance=0.0)
    assert kept[len(kept) // 2] < 0.25 * kept_values(whole[0])
    assert ranking.to_json() == whole.to_json()
    assert ranking.to_json(differences=True) == whole.to_json(differences=True)
