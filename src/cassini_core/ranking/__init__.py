"""Algorithm 2: scores every candidate placement and puts the best first.

Imports everything that stands below it: the root modules, ``kernel``, ``links``, ``periods`` and ``joint``.
"""

from __future__ import annotations

from .rank_problem import rank
from .ranker import Ranker

__all__ = ["Ranker", "rank"]
