"""Network-aware placement of ML training jobs: exact interleaving of periodic traffic on shared links."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .choices import AggregateName, Loops, Method, Order, Status, StoppedBy
from .errors import CassiniError, InputError, KernelError, LimitError
from .links.one_link import score_bounds, score_link, solve_link
from .model import Candidate, Job, Link, Phase, Problem, ProblemBuilder
from .results import Disturbance, Harmonized, LinkScore, LinkSolution, NarrowLink, RankedCandidate, Ranking

if TYPE_CHECKING:
    from .periods.harmonize_jobs import harmonize
    from .problem_file import load_problem, load_profile, load_ranking
    from .ranking.rank_problem import rank
    from .ranking.ranker import Ranker

    __version__: str

__all__ = [
    "AggregateName",
    "Candidate",
    "CassiniError",
    "Disturbance",
    "Harmonized",
    "InputError",
    "Job",
    "KernelError",
    "LimitError",
    "Link",
    "LinkScore",
    "LinkSolution",
    "Loops",
    "Method",
    "NarrowLink",
    "Order",
    "Phase",
    "Problem",
    "ProblemBuilder",
    "RankedCandidate",
    "Ranker",
    "Ranking",
    "Status",
    "StoppedBy",
    "__version__",
    "harmonize",
    "load_problem",
    "load_profile",
    "load_ranking",
    "rank",
    "score_bounds",
    "score_link",
    "solve_link",
]

# networkx, the JSON library and importlib.metadata cost more than the rest of the package together: first use pays.
_LAZY = {
    "Ranker": ".ranking",
    "harmonize": ".periods",
    "load_problem": ".problem_file",
    "load_profile": ".problem_file",
    "load_ranking": ".problem_file",
    "rank": ".ranking",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name], __name__), name)
        globals()[name] = value
        return value
    if name == "__version__":
        from importlib.metadata import version

        return version("cassini-core")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
