"""The words that options and answers are chosen from, as types: an editor lists them, a type checker knows them.

What a caller gives is checked when the program runs, too.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["AggregateName", "Loops", "Method", "Order", "Status", "StoppedBy"]

Loops: TypeAlias = Literal["joint", "merge", "discard"]
"""What becomes of a candidate whose affinity graph has a loop; see :func:`cassini_core.rank`."""

AggregateName: TypeAlias = Literal["per_job", "mean", "min"] | str
"""How link scores become a candidate's score; also any percentile from ``"p0"`` to ``"p100"``, hence ``str``."""

Order: TypeAlias = Literal["jobs_placed", "score"]
"""What candidates are ordered by first: the number of jobs that they place, or their scores alone."""

Method: TypeAlias = Literal["exact", "angles"]
"""How the best shifts of one link are searched; see :func:`cassini_core.solve_link`."""

Status: TypeAlias = Literal["alone", "tree", "consistent", "joint", "discarded", "bound_only"]
"""How far a candidate was answered.

``alone``: no link is shared, so there is nothing to shift. ``tree``: the affinity graph has no loop. ``consistent``: it
has, but that costs nothing. ``joint``: the links of a loop were solved together. ``discarded``: given up because of a
loop. ``bound_only``: not solved, as it cannot be among the first or the time was up.
"""

StoppedBy: TypeAlias = Literal["complete", "nodes", "deadline", "limits", "unproven"]
"""Why a search ended.

``complete``: there was nothing left to search. ``nodes``: the node limit. ``deadline``: the deadline. ``limits``: the
exact score is beyond the limits of folding (F1), so that no search can prove it. ``unproven``: there was nothing left
to search, yet what it found is not proven to be the best.
"""
