"""Scores, slack and hold of links at given shifts, each computed once.

Candidates of one round differ in few links: most stand at shifts at which they were seen before.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import KernelError
from ..kept_property import kept_property
from ..kernel.prepared_links import KernelLinks
from ..links.incidence import FlatLinks, Places

__all__ = ["Evaluator", "Standings"]

_Int64 = npt.NDArray[np.int64]
_Float64 = npt.NDArray[np.float64]
_Key = tuple[int, bytes]
"""Link problem, and how its jobs stand to the first of them, ticks as int64."""

_Standing = tuple[float, float, int, bytes]
"""Of one link: bounds on its score, hold, and slack by place, ticks as int64."""


class Standings(NamedTuple):
    """Some links at given shifts.

    ``lower`` and ``upper`` are certified bounds on each link's score, ``hold`` is in ticks. ``slack`` has one entry for
    each of ``places``, ticks. ``other`` are the positions of the links that do not stand as expected.
    """

    lower: _Float64
    upper: _Float64
    hold: _Int64
    slack: _Int64
    places: Places
    other: _Int64


class Evaluator:
    """Evaluates links of one ranking; may be used from several threads.

    Parameters
    ----------
    links : KernelLinks
    flat : FlatLinks
        Their shared links.
    nodes_of_look : float64 array
        What evaluating each problem once costs, search nodes.
    with_slack : bool
        Else slack and hold are 0.
    """

    def __init__(
        self, links: KernelLinks, flat: FlatLinks, nodes_of_look: _Float64, *, with_slack: bool = True
    ) -> None:
        self._with_slack = with_slack
        self._links = links
        self._flat = flat
        self._nodes_of_look = nodes_of_look
        self._counted = 0
        self._seen: dict[_Key, _Standing] = {}
        self._usual: tuple[_Int64, Standings] | None = None  # relative shifts of all places; all links

    def expect(self, links: _Int64, shift: _Int64) -> Standings:
        """Most candidates will have most of ``links`` at ``shift``: to be recognised without looking each up.

        Returns what :meth:`evaluate` does.

        Raises
        ------
        KernelError
            A defect.
        """
        found = self.evaluate(links, shift)
        at = found.places.at
        n_links, n_places = len(self._flat.problem), len(self._flat.job)
        relative = np.full(n_places, -1, dtype=np.int64)
        relative[at] = self._flat.relative_shifts(found.places, shift)
        lower, upper, hold = np.zeros(n_links), np.zeros(n_links), np.zeros(n_links, dtype=np.int64)
        slack = np.zeros(n_places, dtype=np.int64)
        lower[links], upper[links], hold[links], slack[at] = found.lower, found.upper, found.hold, found.slack
        self._usual = relative, Standings(lower, upper, hold, slack, found.places, found.other)
        return found

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
            A defect.

        Notes
        -----
        O(places) in whole arrays; O(events log events) per job of each link that was not seen before.
        """
        places = self._flat.places(links)
        relative = self._flat.relative_shifts(places, shift)
        n = len(links)
        if self._usual is None or n == 0:
            lower, upper, hold = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
            slack, differs = np.empty(len(relative), dtype=np.int64), np.ones(n, dtype=np.bool_)
        else:
            usual, at_usual = self._usual
            lower, upper, hold = at_usual.lower[links], at_usual.upper[links], at_usual.hold[links]
            slack = at_usual.slack[places.at]
            differs = ~np.logical_and.reduceat(relative == usual[places.at], places.first)
        other = np.flatnonzero(differs)
        if len(other):
            where = np.repeat(differs, places.size)
            # Bytes are cut and looked up faster than tuples of whole numbers.
            stands, ends = relative[where].tobytes(), np.cumsum(8 * places.size[other]).tolist()
            problems = self._flat.problem[links[other]].tolist()
            keys = [(k, stands[a:b]) for k, (a, b) in zip(problems, itertools.pairwise([0, *ends]), strict=True)]
            lowers, uppers, holds, slacks = zip(*self._standings(keys), strict=True)
            lower[other], upper[other], hold[other] = lowers, uppers, holds
            slack[where] = np.frombuffer(b"".join(slacks), dtype=np.int64)
        return Standings(lower, upper, hold, slack, places, other)

    def new_nodes(self) -> int:
        """What was evaluated since this was last asked, in search nodes; not while others evaluate.

        The same whoever evaluated what first.
        """
        new = [problem for problem, _ in itertools.islice(self._seen, self._counted, None)]
        self._counted += len(new)
        return int(self._nodes_of_look[new].sum())

    def _standings(self, keys: list[_Key]) -> list[_Standing]:
        seen = self._seen
        new = [key for key in dict.fromkeys(keys) if key not in seen]
        if new:
            seen.update(zip(new, self._computed(new), strict=True))
        return [seen[key] for key in keys]

    @kept_property
    def _period_of(self) -> list[bytes]:
        """Iteration times of the jobs of each problem."""
        periods, ends = self._links.period.tobytes(), (8 * self._links.prepared().job_offset).tolist()
        return [periods[a:b] for a, b in itertools.pairwise(ends)]

    def _computed(self, keys: list[_Key]) -> list[_Standing]:
        # Each link as its key says, with jobs of its own: not turned as in the candidate that asked first, of which the
        # last digits would tell.
        period_of = self._period_of
        shift = np.frombuffer(b"".join([stands for _, stands in keys]), dtype=np.int64)
        seen = self._links.prepared().evaluate_block(
            np.frombuffer(b"".join([period_of[problem] for problem, _ in keys]), dtype=np.int64),
            np.array([problem for problem, _ in keys], dtype=np.int64),
            np.arange(len(shift), dtype=np.int64),
            shift=shift,
            options=self._links.options,
            with_slack=self._with_slack,
            cancel=self._links.cancel,
        )
        if seen is None:
            raise KernelError("evaluate_block: canceled")
        lower, upper, slack, hold = seen
        slack = np.zeros(len(shift), dtype=np.int64) if slack is None else slack
        hold = np.zeros(len(keys), dtype=np.int64) if hold is None else hold
        slacks, ends = slack.tobytes(), itertools.accumulate([len(stands) for _, stands in keys], initial=0)
        own = [slacks[a:b] for a, b in itertools.pairwise(ends)]
        return list(zip(lower.tolist(), upper.tolist(), hold.tolist(), own, strict=True))
