"""Loops over the links of one placement: where jobs stand otherwise, what is known of that, and what it is worth.

They are written to be compiled by Numba (:mod:`cassini_core.joint.scoring`), so they hold numbers and arrays alone, and
run as plain Python too. Where that is too slow and Numba does not pay, :mod:`cassini_core.joint.placement_arrays` does
the same in whole arrays, to the last byte.

Arguments that begin with ``to_`` are written. Links, jobs, crossings and ``offset`` are those of an ``Incidence``. An
*evaluation* is what is known of one link problem with its jobs at given relative shifts; evaluations are numbered.
Number ``i`` owns the entries ``known_first[i]`` to ``known_first[i + 1] - 1`` of ``known_relative`` and
``known_slack``, one for each job of the problem.
"""

from __future__ import annotations

import numpy as np

from ..arrays import BoolArray, Float64Array, Int64Array
from ..units import SCORE_TOLERANCE

__all__ = ["LOOPS", "add", "differ", "find", "hash_again", "judge", "look", "per_job", "stand"]

UNKNOWN = -1
"""Instead of the number of an evaluation. ``UNKNOWN - 1 - k`` is the same question as that at place ``k``."""

_FACTOR, _MODULUS = 1_000_003, 2**31 - 1  # products of the two and a shift stay far below 2**63
_MOST_PARTIALS = 64  # doubles that do not overlap: their exponents have room for 40


def stand(
    links: Int64Array,
    shift: Int64Array,
    offset: Int64Array,
    job: Int64Array,
    period: Int64Array,
    expected: Int64Array,
    expected_number: Int64Array,
    to_number: Int64Array,
    to_other: Int64Array,
    to_first: Int64Array,
    to_relative: Int64Array,
) -> int:
    """Which links have jobs that stand otherwise than ``expected``, by crossing; how many.

    ``to_number`` is the expected evaluation of each link, or ``UNKNOWN``. Of the ``k``-th link that is unknown
    ``to_other[k]`` is the place in ``links``, and ``to_relative[to_first[k] : to_first[k + 1]]`` the shifts of its jobs
    against the first of them.
    """
    count = end = 0
    to_first[0] = 0
    for k in range(len(links)):
        begin, after = offset[links[k]], offset[links[k] + 1]
        first = shift[job[begin]]
        apart = False
        for at in range(begin, after):
            turned = shift[job[at]] - first
            if turned < 0 or turned >= period[job[at]]:
                turned %= period[job[at]]
            to_relative[end + at - begin] = turned
            if turned != expected[at]:
                apart = True
        if not apart:
            to_number[k] = expected_number[links[k]]
            continue
        to_number[k] = UNKNOWN
        to_other[count] = k
        end += after - begin
        count += 1
        to_first[count] = end
    return count


def find(
    problem: Int64Array,
    first: Int64Array,
    relative: Int64Array,
    known_problem: Int64Array,
    known_first: Int64Array,
    known_relative: Int64Array,
    to_slot: Int64Array,
    to_place: Int64Array,
    to_hash: Int64Array,
    to_number: Int64Array,
    to_new: Int64Array,
    to_new_relative: Int64Array,
) -> tuple[int, int]:
    """The evaluation of each question, as far as it is known; how many different ones are new, and jobs of these.

    ``to_slot`` is a hash table of numbers, ``UNKNOWN`` where it is empty. Its length is a power of two, at least twice
    what is known and asked; it is left as it was. Of new questions that are equal the first is ``UNKNOWN``, the others
    say where that stands. ``to_new`` are the places of the new ones, ``to_new_relative`` the shifts of their jobs.
    """
    new = end = 0
    mask = len(to_slot) - 1
    for k in range(len(problem)):
        begin, size = first[k], first[k + 1] - first[k]
        value = problem[k] + 1
        for at in range(begin, begin + size):
            value = (value * _FACTOR + relative[at]) % _MODULUS
        to_hash[k] = value
        place = value & mask
        while to_slot[place] != UNKNOWN:
            number = to_slot[place]
            same = True
            at = 0
            if number >= 0:
                same = known_problem[number] == problem[k]
                while same and at < size:
                    same = known_relative[known_first[number] + at] == relative[begin + at]
                    at += 1
            else:
                other = UNKNOWN - 1 - number
                same = problem[other] == problem[k]
                while same and at < size:
                    same = relative[first[other] + at] == relative[begin + at]
                    at += 1
            if same:
                break
            place = (place + 1) & mask
        to_place[k] = place
        to_number[k] = to_slot[place]
        if to_slot[place] == UNKNOWN:
            to_slot[place] = UNKNOWN - 1 - k
            to_new[new] = k
            for at in range(size):
                to_new_relative[end + at] = relative[begin + at]
            new += 1
            end += size
    for i in range(new):
        to_slot[to_place[to_new[i]]] = UNKNOWN
    return new, end


def look(
    problem: Int64Array,
    first: Int64Array,
    relative: Int64Array,
    known_problem: Int64Array,
    known_first: Int64Array,
    known_relative: Int64Array,
    known_lower: Float64Array,
    known_upper: Float64Array,
    known_hold: Int64Array,
    known_slack: Int64Array,
    slot: Int64Array,
    to_lower: Float64Array,
    to_upper: Float64Array,
    to_hold: Int64Array,
    to_slack: Int64Array,
    to_is_known: BoolArray,
) -> int:
    """Copies what is known of each question, and says of which something is; how many.

    Questions that are known already, and those whose problem is ``UNKNOWN``, are left out. ``slot`` is a hash table as
    in :func:`find`; it is only read.
    """
    found = 0
    mask = len(slot) - 1
    for k in range(len(problem)):
        if to_is_known[k] or problem[k] == UNKNOWN:
            continue
        begin, size = first[k], first[k + 1] - first[k]
        value = problem[k] + 1
        for at in range(begin, begin + size):
            value = (value * _FACTOR + relative[at]) % _MODULUS
        place = value & mask
        while slot[place] != UNKNOWN:
            number = slot[place]
            there = known_first[number]
            same = known_problem[number] == problem[k]
            at = 0
            while same and at < size:
                same = known_relative[there + at] == relative[begin + at]
                at += 1
            if same:
                to_lower[k], to_upper[k], to_hold[k] = known_lower[number], known_upper[number], known_hold[number]
                for at in range(size):
                    to_slack[begin + at] = known_slack[there + at]
                to_is_known[k] = True
                found += 1
                break
            place = (place + 1) & mask
    return found


def add(
    some: Int64Array,
    problem: Int64Array,
    first: Int64Array,
    relative: Int64Array,
    hashes: Int64Array,
    lower: Float64Array,
    upper: Float64Array,
    hold: Int64Array,
    slack: Int64Array,
    count: int,
    to_slot: Int64Array,
    to_known_problem: Int64Array,
    to_known_first: Int64Array,
    to_known_relative: Int64Array,
    to_known_hash: Int64Array,
    to_known_lower: Float64Array,
    to_known_upper: Float64Array,
    to_known_hold: Int64Array,
    to_known_slack: Int64Array,
    to_number: Int64Array,
) -> int:
    """Keep the evaluations of the questions at the places ``some``, all different; how many are known then.

    What another thread added meanwhile is kept. ``lower``, ``upper`` and ``hold`` have one entry for each of ``some``,
    ``slack`` one for each of their jobs. All questions then have a number in ``to_number``.
    """
    mask = len(to_slot) - 1
    came = 0
    for i in range(len(some)):
        k = some[i]
        begin, size = first[k], first[k + 1] - first[k]
        place = hashes[k] & mask
        number = to_slot[place]
        while number >= 0:
            same = to_known_problem[number] == problem[k]
            at = 0
            while same and at < size:
                same = to_known_relative[to_known_first[number] + at] == relative[begin + at]
                at += 1
            if same:
                break
            place = (place + 1) & mask
            number = to_slot[place]
        if number < 0:
            number = count
            to_slot[place] = number
            to_known_problem[number] = problem[k]
            to_known_hash[number] = hashes[k]
            to_known_lower[number], to_known_upper[number] = lower[i], upper[i]
            to_known_hold[number] = hold[i]
            for at in range(size):
                to_known_relative[to_known_first[number] + at] = relative[begin + at]
                to_known_slack[to_known_first[number] + at] = slack[came + at]
            count += 1
            to_known_first[count] = to_known_first[number] + size
        to_number[k] = number
        came += size
    for k in range(len(problem)):
        if to_number[k] < 0:  # equal to one of these
            to_number[k] = to_number[UNKNOWN - 1 - to_number[k]]
    return count


def hash_again(known_hash: Int64Array, count: int, to_slot: Int64Array) -> None:
    """Fill an empty hash table with the first ``count`` evaluations."""
    mask = len(to_slot) - 1
    for number in range(count):
        place = known_hash[number] & mask
        while to_slot[place] >= 0:
            place = (place + 1) & mask
        to_slot[place] = number


def judge(
    links: Int64Array,
    number: Int64Array,
    shift: Int64Array,
    offset: Int64Array,
    job: Int64Array,
    period: Int64Array,
    bound: Float64Array,
    held: BoolArray,
    known_lower: Float64Array,
    known_upper: Float64Array,
    known_hold: Int64Array,
    known_first: Int64Array,
    known_slack: Int64Array,
    to_lower: Float64Array,
    to_job: Int64Array,
    to_shift: Int64Array,
    to_slack: Int64Array,
    to_free: BoolArray,
) -> tuple[int, int, bool, bool, float]:
    """What a placement of at least one link is worth whose links have the evaluations ``number``.

    ``to_lower`` is what each link scores at least. Jobs that share a link come to the front of the other arrays,
    ascending, which have room for all jobs: their shifts, their slack, and whether their shifts matter on no link.

    Returns
    -------
    n_jobs : int
        Of those that share a link.
    hold : int
        The least of a link, ticks.
    certain : bool
        Every link's score is exact.
    meets : bool
        Every link reaches its bound.
    least_slack : float
        The least slack of a job as a share of its iteration time.
    """
    n_jobs = len(period)
    for j in range(n_jobs):
        to_job[j] = 0  # 1: shares a link; 2: and is held there
        to_slack[j] = period[j] // 2
    hold = known_hold[number[0]]
    certain = meets = True
    for k in range(len(links)):
        link, here = links[k], number[k]
        to_lower[k] = known_lower[here]
        certain = certain and known_upper[here] <= known_lower[here]
        meets = meets and known_lower[here] >= bound[link] - SCORE_TOLERANCE
        hold = min(hold, known_hold[here])
        begin = offset[link]
        for at in range(begin, offset[link + 1]):
            j = job[at]
            if to_job[j] == 0:
                to_job[j] = 1
            if held[at]:
                to_job[j] = 2
            to_slack[j] = min(to_slack[j], known_slack[known_first[here] + at - begin])
    count = 0
    least_slack = np.inf
    for j in range(n_jobs):
        if to_job[j] == 0:
            continue
        to_free[count] = to_job[j] == 1
        to_job[count], to_shift[count], to_slack[count] = j, shift[j], to_slack[j]
        least_slack = min(least_slack, to_slack[count] / period[j])
        count += 1
    return count, hold, certain, meets, least_slack


def differ(
    links: Int64Array,
    score: Float64Array,
    jobs: Int64Array,
    shift: Int64Array,
    slack: Int64Array,
    free: BoolArray,
    base_score: Float64Array,
    base_shares: BoolArray,
    base_shift: Int64Array,
    base_slack: Int64Array,
    base_free: BoolArray,
    to_link_at: Int64Array,
    to_gone: Int64Array,
    to_come: Int64Array,
    to_job_at: Int64Array,
) -> tuple[int, int, int, int]:
    """In what a placement differs from the base placement; how many of each.

    ``score`` is what each link scores. ``jobs``, ascending, share a link; ``shift``, ``slack`` and ``free`` are theirs.
    What begins with ``base_`` is the same by link and by job. ``to_link_at`` are places in ``links`` with another
    score, ``to_job_at`` places in ``jobs`` with another shift, slack or freedom. The jobs ``to_gone`` share a link in
    the base placement alone, the jobs ``to_come`` here alone.
    """
    n_links = n_gone = n_come = n_jobs = place = 0
    for k in range(len(links)):
        if base_score[links[k]] != score[k]:
            to_link_at[n_links] = k
            n_links += 1
    for j in range(len(base_shares)):
        if place == len(jobs) or jobs[place] != j:
            if base_shares[j]:
                to_gone[n_gone] = j
                n_gone += 1
            continue
        if not base_shares[j]:
            to_come[n_come] = j
            n_come += 1
        if base_shift[j] != shift[place] or base_slack[j] != slack[place] or base_free[j] != free[place]:
            to_job_at[n_jobs] = place
            n_jobs += 1
        place += 1
    return n_links, n_gone, n_come, n_jobs


def per_job(
    links: Int64Array,
    score: Float64Array,
    offset: Int64Array,
    job: Int64Array,
    narrow_job: Int64Array,
    narrow_score: Float64Array,
    n_placed: int,
    to_worst: Float64Array,
) -> float:
    """The mean over ``n_placed`` jobs, at least one, of the score of each job's worst link, 1 for all others.

    ``score`` has one entry per link, ``to_worst`` room for every job that a link or a narrow link has.
    """
    for j in range(len(to_worst)):
        to_worst[j] = 1.0
    for k in range(len(links)):
        for at in range(offset[links[k]], offset[links[k] + 1]):
            to_worst[job[at]] = min(to_worst[job[at]], score[k])
    for k in range(len(narrow_job)):
        to_worst[narrow_job[k]] = min(to_worst[narrow_job[k]], narrow_score[k])
    # The exact sum, rounded once, as math.fsum has it: partial sums that do not overlap (Shewchuk 1997, section 2.2).
    partial = np.empty(_MOST_PARTIALS)
    n = 0
    below = 0
    for j in range(len(to_worst) + 1):
        x = float(n_placed - below)
        if j < len(to_worst):
            if not to_worst[j] < 1.0:
                continue
            x = to_worst[j]
            below += 1
        kept = 0
        for i in range(n):
            y = partial[i]
            if abs(x) < abs(y):
                x, y = y, x
            high = x + y
            low = y - (high - x)
            if low != 0.0:
                partial[kept] = low
                kept += 1
            x = high
        partial[kept] = x
        n = kept + 1
    n -= 1
    total = partial[n]
    low = 0.0
    while n > 0 and low == 0.0:
        n -= 1
        high = total + partial[n]
        low = partial[n] - (high - total)
        total = high
    # Half a unit is rounded to even: what is left below it decides otherwise.
    if n > 0 and ((low < 0.0 and partial[n - 1] < 0.0) or (low > 0.0 and partial[n - 1] > 0.0)):
        high = total + 2.0 * low
        if 2.0 * low == high - total:
            total = high
    return float(total / n_placed)


LOOPS = (stand, find, look, add, hash_again, judge, differ, per_job)
"""All of them."""
