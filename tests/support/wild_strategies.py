"""Strategies for whatever the types of the problem allow: odd ids, any float in range, any route.

What is drawn here is meant to be carried, not solved; see ``strategies`` for problems with small numbers.
"""

from __future__ import annotations

from hypothesis import strategies as st

from cassini_core.model import Candidate, Job, Link, Phase, Problem
from cassini_core.units import MAX_RATE_KBPS, MAX_TICKS

MAX_ITERATION_MS = MAX_TICKS / 1e6
MAX_GBPS = MAX_RATE_KBPS / 1e6

# Any text without half characters, and what looks like JSON inside of a string.
ids = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.sampled_from(['":', ' :"', "a:b", '\\":', "\\", '"', "\n", "\x00", "\u2028", "é", "👍", "{", "tor1 : up"]),
)

gbps = st.floats(0.0, MAX_GBPS)
capacities_gbps = st.floats(1e-6, MAX_GBPS)
iterations_ms = st.floats(1e-6, MAX_ITERATION_MS)


@st.composite
def phases(draw: st.DrawFn, iteration_ms: float) -> Phase:
    """Any phase that fits the iteration."""
    start = draw(st.floats(0.0, iteration_ms, exclude_max=True))
    return Phase(start, draw(st.floats(0.0, iteration_ms)), draw(gbps))


@st.composite
def jobs(draw: st.DrawFn, job_id: str | None = None) -> Job:
    """Any job of up to four phases."""
    iteration_ms = draw(iterations_ms)
    found = draw(st.lists(phases(iteration_ms), max_size=4))
    return Job(draw(ids) if job_id is None else job_id, iteration_ms, found)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Any problem of up to four jobs, links and candidates; at least one job and one candidate."""
    found = [draw(jobs(job_id)) for job_id in draw(st.lists(ids, min_size=1, max_size=4, unique=True))]
    links = [Link(link_id, draw(capacities_gbps)) for link_id in draw(st.lists(ids, max_size=4, unique=True))]
    candidates = []
    for candidate_id in draw(st.lists(ids, min_size=1, max_size=4, unique=True)):
        routes = {}
        for job in draw(st.lists(st.sampled_from(found), unique_by=id)):
            crossed = draw(st.lists(st.sampled_from(links), unique_by=id)) if links else []
            peak = max((phase.gbps for phase in job.phases), default=0.0)
            most = min(MAX_GBPS / peak, 1e6) if peak > 1e-6 else 1e6
            multipliers = st.one_of(st.just(min(1.0, most)), st.floats(0.0, most * 0.999, exclude_min=True))
            routes[job.id] = {link.id: draw(multipliers) for link in crossed}
        candidates.append(Candidate(candidate_id, routes))
    return Problem(found, links, candidates)
