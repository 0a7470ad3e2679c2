"""How jobs may be turned without any change of a score, and the way to turn them that moves the fewest running jobs.

What links score depends on two jobs ``i`` and ``k`` that meet there only by the difference of their shifts modulo
``gcd(T_i, T_k)`` (F1). So shifts may change by any ``m`` with ``m_i = m_k`` modulo that, for all jobs that meet. A turn
of all jobs by the same time is the simplest such change; where iteration times differ there are more: two groups of
jobs that only one job of a short iteration time connects may be turned against each other by that time.

Jobs that meet directly or through others, and have the same iteration time, turn as one. Of two such *sets* of jobs
``a`` and ``b`` the turns agree modulo ``D_ab``: the least common multiple, over all ways from one to the other, of the
greatest common divisor of what the steps of the way ask for. Turns of some sets extend to turns of all exactly if each
two of them agree modulo their ``D_ab``, because divisors of whole numbers form a distributive lattice. So which running
jobs can stay is a question about pairs (docs/method.md, F7).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Int64Array

__all__ = ["MOST_CHOICES", "Together", "Turned", "least_moves", "that_meet"]

MOST_CHOICES = 256
"""Steps in which it is chosen who stays; beyond them the best choice until then is taken. More than a few come only
with several iteration times, where hardly any two jobs can stay."""


@dataclass(frozen=True, slots=True)
class Together:
    """Jobs that meet directly or through others.

    Attributes
    ----------
    jobs : tuple of int
        Their numbers, ascending.
    sets : tuple of tuple of int
        The same jobs, as sets that turn as one; each has one iteration time.
    modulus : int64 array, shape (sets, sets)
        ``D_ab``, ticks: turns of two sets agree modulo this.
    """

    jobs: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]
    modulus: Int64Array


class Turned(NamedTuple):
    """Shifts that score the same, and what they ask of running jobs; ticks, by the number of the job.

    ``shift`` has the jobs that were turned; ``wait`` the running ones that move, with the time that each waits once.
    """

    shift: Mapping[int, int]
    wait: Mapping[int, int]


def that_meet(links: Iterable[Sequence[int]], period: Int64Array) -> list[Together]:
    """The jobs of some links, as far as these hold them together.

    Parameters
    ----------
    links : iterable of sequence of int
        For each link the numbers of the jobs whose shifts matter there.
    period : int64 array, shape (jobs,)
        Iteration times, ticks.

    Returns
    -------
    list of Together
        By the first job. Jobs that are alone on each of their links are in none.

    Notes
    -----
    O(jobs on links), and O(sets**3) in whole arrays for each component.
    """
    several = [jobs for jobs in links if len(jobs) > 1]
    component, equal = _Parts(), _Parts()
    for jobs in several:
        first: dict[int, int] = {}
        for job in jobs:
            component.join(jobs[0], job)
            equal.join(first.setdefault(int(period[job]), job), job)
    of_component: dict[int, list[int]] = defaultdict(list)
    for job in sorted({job for jobs in several for job in jobs}):
        of_component[component.of(job)].append(job)
    links_of: dict[int, list[Sequence[int]]] = defaultdict(list)
    for jobs in several:
        links_of[component.of(jobs[0])].append(jobs)
    return [_together(jobs, links_of[root], equal, period) for root, jobs in of_component.items()]


def least_moves(together: Together, shift: Int64Array, running: Int64Array, period: Int64Array) -> Turned:
    """Of all turns that change no score, one with which the fewest running jobs move; of these one with less waiting.

    Parameters
    ----------
    together : Together
    shift : int64 array, shape (jobs,)
        By the number of the job, ticks.
    running : int64 array, shape (jobs,)
        Where jobs run now, ticks, modulo their iteration times; -1 for those that do not run.
    period : int64 array, shape (jobs,)
        Iteration times, ticks.

    Returns
    -------
    Turned
        A job that does not move has exactly the shift at which it runs. A job that moves waits once, for less than
        the time by which it may turn by itself. Where no job runs nothing is turned.

    Notes
    -----
    The number of moves is least, unless ``MOST_CHOICES`` are not enough. Total waiting, as shares of the iteration
    times, is least among the turns in which a running job of the set stays, and for other sets one after the other.
    O(jobs * turns) where all have one iteration time; of turns at most ``MOST_CHOICES`` are compared.
    """
    offsets = [
        {job: int(running[job] - shift[job]) % int(period[job]) for job in jobs if running[job] >= 0}
        for jobs in together.sets
    ]
    if not any(offsets):
        return Turned({}, {})
    return _Choice(together, offsets, shift, period).best()


class _Choice:
    """Chooses for each set a turn that keeps some of its running jobs, or none of them."""

    def __init__(
        self, together: Together, offsets: Sequence[Mapping[int, int]], shift: Int64Array, period: Int64Array
    ) -> None:
        self._together = together
        self._offsets = offsets
        self._shift = shift
        self._period = [int(period[jobs[0]]) for jobs in together.sets]
        # Turns that keep most jobs first, so that what is found first is good.
        self._turns = [sorted(Counter(of.values()).items(), key=lambda turn: (-turn[1], turn[0])) for of in offsets]
        self._order = sorted(
            (k for k, turns in enumerate(self._turns) if turns), key=lambda k: (-self._turns[k][0][1], k)
        )
        self._most_left = [0]
        for k in reversed(self._order):
            self._most_left.insert(0, self._most_left[0] + self._turns[k][0][1])
        self._modulus = together.modulus.tolist()
        self._left = MOST_CHOICES
        self._found: tuple[int, float, list[int]] | None = None  # jobs kept, waiting, the turn of each set

    def best(self) -> Turned:
        self._choose(0, {}, 0)
        assert self._found is not None
        turn = self._found[2]
        shift, wait = {}, {}
        for k, jobs in enumerate(self._together.sets):
            for job in jobs:
                shift[job] = (int(self._shift[job]) + turn[k]) % self._period[k]
            for job, offset in self._offsets[k].items():
                if late := (turn[k] - offset) % self._period[k]:
                    wait[job] = late
        return Turned(shift, wait)

    def _choose(self, depth: int, chosen: dict[int, int], kept: int) -> None:
        if self._found is not None and (self._left <= 0 or kept + self._most_left[depth] < self._found[0]):
            return
        self._left -= 1
        if depth == len(self._order):
            turn = self._completed(chosen)
            waiting = math.fsum(
                ((turn[k] - offset) % self._period[k]) / self._period[k]
                for k, of in enumerate(self._offsets)
                for offset in of.values()
            )
            if self._found is None or (-kept, waiting) < (-self._found[0], self._found[1]):
                self._found = kept, waiting, turn
            return
        k = self._order[depth]
        modulus = self._modulus[k]
        for turn_of_k, jobs in self._turns[k]:
            if self._found is not None and kept + jobs + self._most_left[depth + 1] < self._found[0]:
                break  # the others keep no more
            if all((turn_of_k - other) % modulus[one] == 0 for one, other in chosen.items()):
                self._choose(depth + 1, {**chosen, k: turn_of_k}, kept + jobs)
        self._choose(depth + 1, chosen, kept)

    def _completed(self, chosen: Mapping[int, int]) -> list[int]:
        """A turn of each set: those chosen, and for the others what these leave open, with the least waiting."""
        turn = dict(chosen)
        for k, jobs in enumerate(self._together.sets):
            if k in turn:
                continue
            at, step = 0, 1
            for one, other in turn.items():
                at, step = _both(at, step, other, self._modulus[k][one])
            offsets = self._offsets[k].values()
            if offsets:
                to_keep_one = [offset + (at - offset) % step for offset in sorted(set(offsets))]
                waiting = [sum((to - offset) % self._period[k] for offset in offsets) for to in to_keep_one]
                turn[k] = to_keep_one[waiting.index(min(waiting))]
            else:
                first = int(self._shift[jobs[0]])
                turn[k] = (first + at) % step - first
        return [turn[k] for k in range(len(self._together.sets))]


def _both(one: int, one_modulus: int, other: int, other_modulus: int) -> tuple[int, int]:
    """The numbers that are ``one`` and ``other``, each modulo its modulus: the least, and their distance."""
    common = math.gcd(one_modulus, other_modulus)
    assert (other - one) % common == 0, "turns that do not agree"
    step = other_modulus // common
    times = (other - one) // common * pow(one_modulus // common, -1, step) % step if step > 1 else 0
    return one + times * one_modulus, one_modulus * step


def _together(jobs: list[int], links: Sequence[Sequence[int]], equal: _Parts, period: Int64Array) -> Together:
    of_set: dict[int, list[int]] = defaultdict(list)
    for job in jobs:
        of_set[equal.of(job)].append(job)
    number = {root: k for k, root in enumerate(of_set)}
    own = np.array([period[members[0]] for members in of_set.values()], dtype=np.int64)
    modulus = np.ones((len(own), len(own)), dtype=np.int64)
    for on_link in links:
        met = sorted({number[equal.of(job)] for job in on_link})
        modulus[np.ix_(met, met)] = np.gcd.outer(own[met], own[met])
    np.fill_diagonal(modulus, own)
    for k in range(len(own)):  # all ways that pass through sets up to k
        modulus = np.lcm(modulus, np.gcd.outer(modulus[:, k], modulus[k]))
    return Together(tuple(jobs), tuple(map(tuple, of_set.values())), modulus)


class _Parts:
    """Numbers in parts that are joined one by one."""

    def __init__(self) -> None:
        self._above: dict[int, int] = {}

    def of(self, number: int) -> int:
        above = self._above
        above.setdefault(number, number)
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.of(one), self.of(other)))
        self._above[second] = first
