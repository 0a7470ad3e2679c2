"""What a recording shows of a job's iterations, or why it does not.

:mod:`.period` finds what repeats best. Here it must stand up: it repeats enough, evenly enough, in all of the
recording; nothing else repeats beside it; and it is slow enough for the counter. Whatever is doubtful is refused, with
what was seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from ..provenance import Basis
from .period import FEWEST_ITERATIONS, FEWEST_STEPS, choose, find_rhythms, follow, prepare, settle
from .traffic import Traffic
from .typical import Typical, typical_iteration

__all__ = ["CERTAIN", "Iterations", "find_iterations"]

FloatArray = npt.NDArray[np.float64]

_LEAST_REGULARITY = 0.3
CERTAIN = 0.9
"""Regularity from which on what repeats is beyond doubt."""

_CLEAR = 0.75  # less, and a second job may be in it
_MANY_ITERATIONS = 8  # where they are not clear
_BLUR = 3  # samples or refreshes: what the search for a rhythm does not look into
_FEWEST_REFRESHES = 4
_OUTLIERS = 5.0  # median absolute deviations
_EVEN = 0.12  # standard deviation of lengths, in iterations
_COVERED = 0.8  # of the time: less, and the rest is something else
_CHANGED = 0.03
_MULTIPLE = 0.06
_AGREES = 0.02
_SECOND = 0.015  # of the variance: less than that is no second rhythm
_SECOND_IN_PLACE = 0.13  # the same, of bursts that were not moved to where they fit
_MANY_PARTS = 50  # that may be parts of longer iterations: of fewer, some are alike by chance
_SLID = 0.03  # of the variance, that lies between the first half of the iterations and the second
_SLID_BY_CHANCE = 2.5  # times what the iterations' own differences explain
_BOTH = 0.97
_FEW_TURNS = 6  # in which two jobs meet again: both together are one then
_ALIAS_VALUES = 100  # at least, and four iterations', that are laid over each other
_ALIAS_LONGEST = 50  # refreshes: whoever takes longer is seen well enough
_ALIAS_STEP = 0.03  # of a turn: how far the last of them moves from one iteration time tried to the next
_ALIAS = 0.5  # iterations' bytes backwards


@dataclass(frozen=True, slots=True)
class Iterations:
    """Iterations that were followed through a recording.

    Attributes
    ----------
    starts_ms : ndarray of float64
        Where each begins, and where the last one ends, ms since the first sample.
    usual : ndarray of bool, [starts - 1]
        Which of those between two starts are of usual length, with all of their traffic known.
    regularity : float
        Share of the traffic's variance that iterations foretell of others, at most 1.
    found_by : str
        ``measured``, or ``given``.
    warnings : tuple of str
    """

    starts_ms: FloatArray
    usual: npt.NDArray[np.bool_]
    regularity: float
    found_by: Basis
    warnings: tuple[str, ...]

    @property
    def lengths_ms(self) -> FloatArray:
        """Lengths of those of usual length, ms."""
        return np.diff(self.starts_ms)[self.usual]


def find_iterations(name: str, traffic: Traffic, given_ms: float | None = None) -> Iterations:
    """Follow a job's iterations, or refuse.

    Parameters
    ----------
    name : str
        Of the recording, for messages.
    traffic : Traffic
    given_ms : float, optional
        What the user says an iteration takes, ms.

    Raises
    ------
    InputError
        The traffic does not show iterations that can be relied on; the message says why.
    """
    blur = _BLUR * max(1, round(traffic.refresh_ms / traffic.step_ms))
    series = prepare(traffic.per_step, blur)
    try:
        return _measured(series, traffic, blur) if given_ms is None else _given(series, traffic, blur, given_ms)
    except _DoubtError as doubt:
        raise InputError(f"{name}: {doubt}") from None


def _measured(series: FloatArray, traffic: Traffic, blur: int) -> Iterations:
    """What the whole recording shows; where that is doubtful, its last third, if the first one shows another pace."""
    found: Iterations | None
    try:
        found, why = _judged(series, traffic, blur), _DoubtError("the iteration time changes all the time")
    except _DoubtError as doubt:
        found, why = None, doubt
    if found is not None and found.regularity >= CERTAIN and not _changes(found):
        return found
    last = _last_part(series, traffic, blur)
    if last is not None:
        return last
    if found is None or _changes(found):
        raise why
    return found


def _given(series: FloatArray, traffic: Traffic, blur: int, given_ms: float) -> Iterations:
    """Iterations of a length that the user gives, if nothing in the traffic contradicts it."""
    step_ms, many = traffic.step_ms, 1
    warnings: tuple[str, ...] = ()
    try:
        found = _judged(series, traffic, blur)
    except _DoubtError as doubt:
        starts, regularity = _starts_given(series, given_ms / step_ms, blur, doubt)
        warnings = (f"the iteration time was given, and the recording alone does not show it: {doubt}",)
    else:
        # Several that repeat may be one for the user, who knows the job: one evaluation in four iterations.
        many = max(round(given_ms / float(np.mean(found.lengths_ms))), 1)
        starts, regularity = found.starts_ms[::many] / step_ms, found.regularity
    lengths = np.diff(starts)
    usual = _usual(lengths, blur / 2) & _known(traffic, starts) if len(lengths) else np.zeros(0, dtype=bool)
    if not usual.any():
        raise _DoubtError(f"no iteration of {given_ms:.6g} ms, as given, is known whole")
    seen_ms = float(np.mean(lengths[usual])) * step_ms
    if abs(seen_ms / given_ms - 1) > _AGREES:
        raise _DoubtError(
            f"the iteration time given is {given_ms:.6g} ms, but the traffic repeats every {seen_ms / many:.6g} ms"
        )
    return Iterations(starts * step_ms, usual, regularity, "given", warnings)


def _starts_given(series: FloatArray, steps: float, blur: int, doubt: Exception) -> tuple[FloatArray, float]:
    """Starts of iterations of about ``steps`` steps, and how regular they are."""
    rhythm = follow(series, round(steps), blur) if steps >= FEWEST_STEPS else None
    if rhythm is not None and rhythm.regularity >= _LEAST_REGULARITY:
        return rhythm.starts, rhythm.regularity
    known = np.flatnonzero(np.isfinite(series))
    whole = int((known[-1] + 1 - known[0]) / steps) if len(known) else 0
    if not 1 <= whole < FEWEST_ITERATIONS:
        raise _DoubtError(f"the traffic does not repeat with the iteration time given; {doubt}")
    # Too few to show a period: from the first traffic on. Two must be alike, as far as they jitter alike.
    both = series[known[0] :][: 2 * round(steps)]
    if whole == 2:
        apart = np.diff(both.reshape(2, -1), axis=0)
        apart = apart[np.isfinite(apart)]
        if not len(apart) or np.mean(apart**2) > 2 * (1 - _LEAST_REGULARITY) * np.nanvar(both):
            raise _DoubtError(f"the two iterations of the time given are not alike; {doubt}")
    return known[0] + np.arange(whole + 1) * steps, 0.0


class _DoubtError(Exception):
    """Why the traffic does not show iterations."""


def _last_part(series: FloatArray, traffic: Traffic, blur: int) -> Iterations | None:
    """The iterations of the last third, if it shows other ones than the first third does."""
    parts = []
    for part in range(0, 3, 2):
        masked = np.full(len(series), np.nan)
        place = slice(part * len(series) // 3, (part + 1) * len(series) // 3)
        masked[place] = series[place]
        try:
            parts.append(_judged(masked, traffic, blur))
        except _DoubtError:
            return None
    # Few noisy iterations are followed astray more easily than many: a third must be clearer than the whole.
    if parts[1].regularity < CERTAIN or _changes(parts[1]) or not _differ(*(one.lengths_ms for one in parts)):
        return None
    before, after = (float(np.mean(one.lengths_ms)) for one in parts)
    ratio = max(before, after) / min(before, after)
    if abs(ratio - round(ratio)) < _MULTIPLE and round(ratio) > 1:
        return None  # Of a few iterations that are noisy, two or three may look like one: that is no other pace.
    warning = (
        f"the iteration time changes during the recording, from {before:.4g} to {after:.4g} ms; only the last third "
        "of it was used"
    )
    return replace(parts[1], warnings=(warning,))


def _changes(found: Iterations) -> bool:
    """Whether the first iterations and the last ones take clearly different times."""
    lengths = found.lengths_ms
    third = -(-len(lengths) // 3)
    return _differ(lengths[:third], lengths[-third:])


def _differ(one: FloatArray, other: FloatArray) -> bool:
    """Whether two means of lengths are further apart than a little, and than chance has it."""
    error = float(np.hypot(*(np.std(part) / np.sqrt(len(part)) for part in (one, other))))
    apart = abs(float(np.mean(one) - np.mean(other)))
    return apart > max(_CHANGED * float(np.mean(one)), 4 * error)


def _judged(series: FloatArray, traffic: Traffic, blur: int) -> Iterations:
    """What repeats best in a series, if it stands up."""
    rhythms = find_rhythms(series, blur)
    step_ms = traffic.step_ms
    if not rhythms or (found := settle(series, choose(rhythms, blur), blur)).regularity < _LEAST_REGULARITY:
        best = f"; the best guess of {found.steps * step_ms:.4g} ms explains little" if rhythms else ""
        raise _DoubtError(
            f"the traffic of {traffic.times_ms[-1] / 1000:.3g} s does not repeat at least {FEWEST_ITERATIONS} times"
            f"{best}"
        )
    steps, lengths = found.steps, np.diff(found.starts)
    iteration_ms = steps * step_ms
    if iteration_ms < _FEWEST_REFRESHES * traffic.refresh_ms:
        raise _DoubtError(
            f"an iteration of about {iteration_ms:.4g} ms is too short to be seen: values are {traffic.refresh_ms:.3g} "
            f"ms apart, and at least {_FEWEST_REFRESHES} are needed in each"
        )
    if (alias := _alias_ms(traffic, iteration_ms)) is not None:
        raise _DoubtError(
            f"an iteration of {iteration_ms:.4g} ms and one of {alias:.4g} ms look the same with values "
            f"{traffic.refresh_ms:.3g} ms apart; the counter is refreshed too rarely"
        )
    one = lengths[lengths < 1.5 * steps]
    uneven = 1.4826 * float(np.median(np.abs(one - steps))) / steps
    if uneven > _EVEN:
        raise _DoubtError(f"what repeats about every {iteration_ms:.4g} ms comes too unevenly ({uneven:.0%})")
    usual = _usual(lengths, blur / 2 if blur > _BLUR else 0.0)
    known = np.isfinite(series)
    # At either end there may be up to an iteration that is not whole.
    followed = np.count_nonzero(known[int(found.starts[0]) : int(found.starts[-1])])
    total = max(followed, np.count_nonzero(known) - 2.5 * steps, 1)
    covered = float(lengths[usual].sum() / total)
    if covered < _COVERED:
        raise _DoubtError(
            f"iterations of about {iteration_ms:.4g} ms make up only {covered:.0%} of the traffic's time; the rest is "
            "something else"
        )
    usual &= _known(traffic, found.starts)
    if np.count_nonzero(usual) < FEWEST_ITERATIONS - 1:
        raise _DoubtError(f"too few whole iterations of about {iteration_ms:.4g} ms to profile")
    if found.regularity < _CLEAR and np.count_nonzero(usual) < _MANY_ITERATIONS:
        raise _DoubtError(
            f"iterations of about {iteration_ms:.4g} ms differ much ({found.regularity:.0%} of the traffic's variation "
            f"is foretold from others); at least {_MANY_ITERATIONS} are needed then"
        )
    starts_ms = found.starts * step_ms
    _check_alone(traffic, starts_ms[:-1][usual], iteration_ms, found.regularity)
    return Iterations(starts_ms, usual, found.regularity, "measured", ())


def _usual(lengths: FloatArray, least: float) -> npt.NDArray[np.bool_]:
    middle = np.median(lengths)
    spread = np.median(np.abs(lengths - middle))
    return np.asarray(np.abs(lengths - middle) <= max(_OUTLIERS * spread, 0.02 * middle, least))


def _known(traffic: Traffic, starts: FloatArray) -> npt.NDArray[np.bool_]:
    """Which iterations hold no unknown step."""
    missing = np.concatenate([[0], np.cumsum(~traffic.known)])
    place = np.clip(starts, 0, len(traffic.known))
    return np.asarray(missing[np.ceil(place[1:]).astype(int)] == missing[np.floor(place[:-1]).astype(int)])


def _check_alone(traffic: Traffic, starts_ms: FloatArray, iteration_ms: float, regularity: float) -> None:
    """Doubt where something else repeats or moves beside the iterations."""
    typical = typical_iteration(traffic, starts_ms, iteration_ms)
    if (second := _second_ms(traffic, typical, starts_ms, iteration_ms, regularity)) is not None:
        times = " and ".join(f"{one:.4g}" for one in second)
        raise _DoubtError(
            f"two things repeat, every {times} ms: more than one job seems to use the devices (choose a device, or "
            "record the job alone), or the longer time is the iteration's (say it)"
        )
    if _slides(typical):
        raise _DoubtError(
            f"what repeats about every {iteration_ms:.4g} ms is not the same in the second half of the recording: "
            "another job seems to move past it; choose a device, or record the job alone"
        )


def _slides(typical: Typical) -> bool:
    """Whether the first half of the iterations and the second differ by more than a little, and than chance has it.

    Of a job that takes nearly a multiple of the iteration time, bursts come a little later in each iteration.
    """
    rows = typical.left.reshape(-1, len(typical.profile))
    half = len(rows) // 2
    parts = rows[:half], rows[-half:]
    apart = float(np.mean((parts[0].mean(axis=0) - parts[1].mean(axis=0)) ** 2))
    chance = sum(float(np.mean(part.var(axis=0))) for part in parts) / half
    return apart > max(4 * _SLID * typical.energy, _SLID_BY_CHANCE * chance)


def _second_ms(
    traffic: Traffic, typical: Typical, starts_ms: FloatArray, iteration_ms: float, regularity: float
) -> tuple[float, float] | None:
    """Two periods where more than one thing repeats, ms; else None.

    The second one is in what the typical iteration leaves of the others. Or the typical one is made of both: then each
    of its harmonics is one of the one or the other. A multiple of the iteration time tells of no second job, but where
    many of it foretell that well, the iterations are parts of one.
    """
    least = _SECOND * (3 if traffic.refresh_ms > 1.5 * traffic.step_ms else 1)
    looks = [(typical.left, typical.bin_ms, typical.energy, least)]
    if regularity < _CLEAR:
        # Moved bursts may have followed the other job. It still shows in its own time, where bursts of a job that
        # jitters leave much, too.
        in_place, energy = _left_in_place(traffic, starts_ms, len(typical.profile), typical.bin_ms)
        looks.append((in_place, traffic.step_ms, energy, _SECOND_IN_PLACE))
    for left, step_ms, whole, enough in looks:
        share = float(np.nanvar(left)) / whole
        blur = _BLUR * max(1, round(traffic.refresh_ms / step_ms))
        others = find_rhythms(prepare(left - np.nanmin(left), blur), blur) if share > enough else []
        best = max(others, key=lambda one: one.regularity, default=None)
        for other in others:
            multiple = other.steps * step_ms / iteration_ms
            apart = abs(multiple - max(round(multiple), 1)) > _AGREES
            longer = other is best and multiple > 1.5 and len(starts_ms) >= max(3 * multiple, _MANY_PARTS)
            if other.regularity * share >= enough and (apart or longer):
                return iteration_ms, other.steps * step_ms
    power = np.abs(np.fft.rfft(typical.profile))[1:256] ** 2
    number = np.arange(1, len(power) + 1)
    for many in range(_FEW_TURNS + 1, 41):
        for few in range(2, many):
            if np.gcd(many, few) == 1 and power[(number % many == 0) | (number % few == 0)].sum() > _BOTH * power.sum():
                return iteration_ms / few, iteration_ms / many
    return None


def _left_in_place(traffic: Traffic, starts_ms: FloatArray, bins: int, bin_ms: float) -> tuple[FloatArray, float]:
    """What the mean iteration leaves of each step of the traffic (NaN: in none), and the variance of these steps."""
    mean = traffic.per_bin(starts_ms, bins, bin_ms).mean(axis=0) * traffic.step_ms / bin_ms
    at = traffic.times_ms[:-1]
    iteration = np.searchsorted(starts_ms, at, side="right") - 1
    place = np.floor((at - starts_ms[np.maximum(iteration, 0)]) / bin_ms).astype(int)
    steps = np.where((iteration >= 0) & (place < 1.2 * bins), traffic.per_step, np.nan)
    return steps - mean[np.clip(place, 0, bins - 1)], max(float(np.nanvar(steps)), 1e-12)


def _alias_ms(traffic: Traffic, iteration_ms: float) -> float | None:
    """An iteration time too short to be seen that explains the counter's values as well, ms; None if there is none.

    A counter never counts backwards. Laid over each other at the right iteration time its values grow; at another one
    that they only seem to repeat with, they go up and down.
    """
    refresh_ms = traffic.refresh_ms
    if refresh_ms < 1.5 * traffic.step_ms or iteration_ms > _ALIAS_LONGEST * refresh_ms:
        return None
    edges = np.flatnonzero(np.diff(traffic.total) > 0)
    at = np.arange(traffic.times_ms[edges[0]], traffic.times_ms[edges[-1]], refresh_ms)[
        : max(_ALIAS_VALUES, int(4 * iteration_ms / refresh_ms))
    ]
    total = np.interp(at, traffic.times_ms, traffic.total)
    rate = (total[-1] - total[0]) / (at[-1] - at[0])

    def backwards(turns_per_ms: FloatArray) -> FloatArray:
        """Bytes that the counter would have gone back by at most, in iterations."""
        turn = at * turns_per_ms[:, None] % 1.0
        order = np.argsort(turn, axis=1)
        grown = (total - rate * at)[order] + rate / turns_per_ms[:, None] * np.take_along_axis(turn, order, axis=1)
        back = np.maximum.accumulate(grown, axis=1) - grown
        return np.asarray(back.max(axis=1) * turns_per_ms / rate)

    apart = _ALIAS_STEP / (at[-1] - at[0])
    shorter = np.arange(1 / (_FEWEST_REFRESHES * refresh_ms), 1 / (0.3 * refresh_ms), apart)
    found = backwards(shorter)
    return float(1 / shorter[np.argmin(found)]) if np.min(found) < _ALIAS else None
