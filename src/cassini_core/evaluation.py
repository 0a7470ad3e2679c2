"""Scores, slack and hold of links at given shifts, each computed once.

Candidates of one round differ in few links: most stand at shifts at which they were seen before.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import KernelError
from .flat_links import FlatLinks
from .kernel_links import KernelLinks

__all__ = ["Evaluator", "Standings"]

_Int64 = npt.NDArray[np.int64]
_Float64 = npt.NDArray[np.float64]
_Key = tuple[int, tuple[int, ...]]
"""Link problem, and how its jobs stand to the first of them."""


class Standings(NamedTuple):
    """Some links at given shifts.

    ``lower`` and ``upper`` are certified bounds on each link's score, ``hold`` is in ticks. ``places`` and ``first``
    are those of :meth:`FlatLinks.places`; ``slack`` has one entry per place, ticks. ``other`` are the positions of
    the links that do not stand as expected.
    """

    lower: _Float64
    upper: _Float64
    hold: _Int64
    slack: _Int64
    places: _Int64
    first: _Int64
    other: _Int64


class _Standing(NamedTuple):
    """One link."""

    lower: float
    upper: float
    hold: int
    slack: tuple[int, ...]


class Evaluator:
    """Evaluates links of one ranking; may be used from several threads.

    Parameters
    ----------
    links : KernelLinks
    flat : FlatLinks
        Their shared links.
    """

    def __init__(self, links: KernelLinks, flat: FlatLinks) -> None:
        self._links = links
        self._flat = flat
        self._seen: dict[_Key, _Standing] = {}
        self._usual: tuple[_Int64, Standings] | None = None  # relative shifts of all places; all links

    def expect(self, links: _Int64, shift: _Int64) -> None:
        """Most candidates will have most of ``links`` at ``shift``: to be recognised without looking each up.

        Raises
        ------
        KernelError
            Memory, or a defect.
        """
        found = self.evaluate(links, shift)
        n_links, n_places = len(self._flat.problem), len(self._flat.job)
        relative = np.full(n_places, -1, dtype=np.int64)
        relative[found.places] = self._flat.relative_shifts(found.places, found.first, shift)
        lower, upper, hold = np.zeros(n_links), np.zeros(n_links), np.zeros(n_links, dtype=np.int64)
        slack = np.zeros(n_places, dtype=np.int64)
        lower[links], upper[links], hold[links], slack[found.places] = found.lower, found.upper, found.hold, found.slack
        self._usual = relative, Standings(lower, upper, hold, slack, found.places, found.first, found.other)

    def evaluate(self, links: _Int64, shift: _Int64) -> Standings:
        """Score, slack and hold of each link; what was seen before is not computed again.

        Parameters
        ----------
        links : int64 array
            Indices of shared links.
        shift : int64 array, shape (jobs of ``flat``,)
            Ticks.

        Raises
        ------
        KernelError
            Memory, or a defect.

        Notes
        -----
        O(places) in whole arrays; O(events log events) per job of each link that was not seen before.
        """
        places, first = self._flat.places(links)
        relative = self._flat.relative_shifts(places, first, shift)
        n = len(links)
        if self._usual is None or n == 0:
            lower, upper, hold = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
            slack, other = np.empty(len(places), dtype=np.int64), np.arange(n)
        else:
            usual, at_usual = self._usual
            lower, upper, hold = at_usual.lower[links], at_usual.upper[links], at_usual.hold[links]
            slack = at_usual.slack[places]
            other = np.flatnonzero(~np.logical_and.reduceat(relative == usual[places], first))
        if len(other):
            differs = np.zeros(n, dtype=np.bool_)
            differs[other] = True
            where = np.repeat(differs, np.diff(first, append=len(places)))
            found = self._standings(self._keys(links[other], relative[where]))
            lower[other] = [one.lower for one in found]
            upper[other] = [one.upper for one in found]
            hold[other] = [one.hold for one in found]
            slack[where] = [ticks for one in found for ticks in one.slack]
        return Standings(lower, upper, hold, slack, places, first, other)

    def _keys(self, links: _Int64, relative: _Int64) -> list[_Key]:
        stands, offset = iter(relative.tolist()), self._flat.offset
        counts = (offset[links + 1] - offset[links]).tolist()
        return [
            (problem, tuple(itertools.islice(stands, count)))
            for problem, count in zip(self._flat.problem[links].tolist(), counts, strict=True)
        ]

    def _standings(self, keys: list[_Key]) -> list[_Standing]:
        new = [key for key in dict.fromkeys(keys) if key not in self._seen]
        if new:
            self._seen.update(zip(new, self._computed(new), strict=True))
        return [self._seen[key] for key in keys]

    def _computed(self, keys: list[_Key]) -> list[_Standing]:
        # Each link as its key says, with jobs of its own: not turned as in the candidate that asked first, of which the
        # last digits would tell.
        links, options, cancel = self._links.prepared(), self._links.options, self._links.cancel
        job_offset = links.job_offset
        period = self._links.period
        seen = links.evaluate_block(
            np.concatenate([period[job_offset[problem] : job_offset[problem + 1]] for problem, _ in keys]),
            np.array([problem for problem, _ in keys], dtype=np.int64),
            np.arange(sum(len(stands) for _, stands in keys), dtype=np.int64),
            shift=np.array([ticks for _, stands in keys for ticks in stands], dtype=np.int64),
            options=options,
            cancel=cancel,
        )
        if seen is None:
            raise KernelError("evaluate_block: canceled")
        lower, upper, slack, hold = seen
        assert slack is not None  # asked for
        assert hold is not None
        ends = np.cumsum([len(stands) for _, stands in keys]).tolist()
        slacks = slack.tolist()
        each = zip(keys, ends, lower.tolist(), upper.tolist(), hold.tolist(), strict=True)
        return [
            _Standing(low, high, least, tuple(slacks[end - len(key[1]) : end])) for key, end, low, high, least in each
        ]
