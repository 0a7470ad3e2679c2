"""How the kernels of one stream repeat.

The kernels of a stream run in the order in which they were launched, so an iteration is found in their order alone,
whether launches were recorded or not.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable
from collections.abc import Sequence as Listed
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ...errors import InputError, worded
from ..collectives import collective_kind, dtype_bytes, kernel_kind, recorded_wire_bytes
from ..phases import Spread
from .period import AGREE, Period, Run, Sequence, Steps, lag_at, period_of, repeating_run, spread_ms
from .records import Communication
from .trace import Kernel, RankTrace

__all__ = ["Beat", "StreamFinder", "kind_of", "kinds_of", "known_wire_bytes"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Beat:
    """How one stream repeats: kernels ``begin`` to ``end`` every ``lag``.

    ``times_ms`` are the begins of these kernels, or their ends where those repeat far more steadily.
    """

    kernels: tuple[Kernel, ...]
    times_ms: FloatArray
    lag: int
    begin: int
    end: int
    period_ms: float
    resized: bool = False
    paused: bool = False

    @property
    def rows(self) -> int:
        """Whole iterations."""
        return (self.end - self.begin) // self.lag

    def spread_ms(self) -> Spread:
        """Begin to begin of iterations, ms: each by its middle kernel, the typical one of those without a pause."""
        steps = self.times_ms[self.lag :] - self.times_ms[: -self.lag]
        # A pause in the middle of an iteration parts its kernels: the lower median is one of the two distances.
        each = [statistics.median_low(steps[at : at + self.lag].tolist()) for at in range(0, len(steps), self.lag)]
        even = [one for one in each if abs(one - self.period_ms) <= AGREE * self.period_ms] or [self.period_ms]
        return Spread(statistics.median_low(even), min(each), max(each), len(each))

    def starts_ms(self) -> FloatArray:
        """Begins of the first kernel of each whole iteration, ms."""
        return np.array([kernel.start_ms for kernel in self.kernels[self.begin : self.end : self.lag]][: self.rows])

    def outside(self) -> tuple[Kernel, ...]:
        """Kernels that do not repeat."""
        return (*self.kernels[: self.begin], *self.kernels[self.end :])


_MANY = 4
"""Iterations whose ends are believed although their begins are unsteady."""

_STEADIER = 2.0
"""Ends are believed where begins vary so many times as much: chance alone makes some difference."""

# Thousands of kernels bear a few names.
_kind_named = lru_cache(256)(collective_kind)
_element_bytes = lru_cache(256)(dtype_bytes)
_kind_in = lru_cache(256)(kernel_kind)


def known_wire_bytes(record: Communication | None, rank: int | None) -> float | None:
    """Bytes one rank puts on the wire; None where the collective or the type is not known."""
    if record is None:
        return None
    if record.group_size == 1:
        return 0.0
    kind, element = _kind_named(record.collective), _element_bytes(record.dtype)
    if kind is None or element is None:
        return None
    own = record.group_ranks.index(rank) if rank in record.group_ranks else None
    return recorded_wire_bytes(
        kind,
        record.in_elements * element,
        record.out_elements * element,
        record.group_size,
        splits=(record.in_splits, record.out_splits),
        own=own,
    )


class StreamFinder:
    """Looks for the iteration of one trace, stream by stream."""

    def __init__(self, trace: RankTrace, given_ms: float | None, negligible: float) -> None:
        self.trace = trace
        self.given_ms = given_ms
        self.negligible = negligible
        self.begins = np.array([step.start_ms for step in trace.steps])
        self.step_ms = _least_step(trace)
        self.all_known = all(known_wire_bytes(k.communication, trace.rank) is not None for k in trace.kernels)

    def own(self, kernels: tuple[Kernel, ...]) -> Beat | None:
        """How one stream repeats by itself."""
        if self.given_ms is None and len(self.begins) < 2:
            return None
        found: list[tuple[float, bool, Beat]] = []
        for sequence, resized in self._sequences(kernels):
            run = repeating_run(sequence, 1 if self.given_ms is not None else 2)
            one = None if run is None else self._period(kernels[run.begin : run.end], run.lag)
            if run is not None and one is not None and self._may_lose(kernels, run, one[0], sequence):
                period, times = one
                beat = Beat(
                    kernels, times, period.lag, run.begin, run.end, period.typical_ms, resized, not period.steady
                )
                found.append((run.lost, resized, beat))
        if not found:
            return None if self.given_ms is None else self._one_iteration(kernels, self.given_ms)
        return min(found, key=lambda one: one[:2])[2]

    def _period(self, run: tuple[Kernel, ...], unit: int) -> tuple[Period, FloatArray] | None:
        """The period of a run by the begins of its kernels, or by their ends where those are far steadier; the times.

        A kernel that waits for other ranks begins at any time, but all ranks end together.
        """
        found = []
        for by_ends in (False, True):
            times = np.array([kernel.end_ms if by_ends else kernel.start_ms for kernel in run])
            if self.given_ms is None:
                period = period_of(times, unit, self._steps(run))
            else:
                lag = lag_at(times, unit, self.given_ms, given=True)
                period = None if lag is None else Period(lag, self.given_ms, steady=True)
            # Unsteady begins are evidence against a period, which takes more than two distances to outweigh.
            if period is not None and (not by_ends or (period.steady and len(run) >= _MANY * period.lag)):
                found.append((period, times))
        if not found or found[0][0].lag != found[-1][0].lag:
            return None
        if len(found) == 2 and all(period.steady for period, _ in found):
            begins, ends = (spread_ms(times, period.lag) for period, times in found)
            return found[begins > _STEADIER * ends]
        return min(found, key=lambda one: not one[0].steady)

    def at(self, kernels: tuple[Kernel, ...], period_ms: float) -> Beat | None:
        """How one stream repeats with a period that another one showed."""
        for sequence, resized in self._sequences(kernels):
            run = repeating_run(sequence)
            if run is None:
                continue
            part = kernels[run.begin : run.end]
            for times in (np.array([kernel.start_ms for kernel in part]), np.array([kernel.end_ms for kernel in part])):
                lag = lag_at(times, run.lag, period_ms)
                period = None if lag is None else Period(lag, period_ms, steady=True)
                if period is not None and self._may_lose(kernels, run, period, sequence):
                    return Beat(kernels, times, period.lag, run.begin, run.end, period_ms, resized)
        return None

    def _one_iteration(self, kernels: tuple[Kernel, ...], given_ms: float) -> Beat | None:
        """All of a stream as one iteration, where nothing in it repeats."""
        if max(kernel.end_ms for kernel in kernels) - kernels[0].start_ms > given_ms:
            return None
        starts = np.array([kernel.start_ms for kernel in kernels])
        return Beat(kernels, starts, len(kernels), 0, len(kernels), given_ms)

    def _may_lose(self, kernels: tuple[Kernel, ...], run: Run, period: Period, sequence: Sequence) -> bool:
        """Whether what does not repeat is negligible, or a first iteration that sends the same in other pieces."""
        if run.end - run.begin == len(kernels):
            return True
        first, unit = kernels[: run.begin], kernels[run.begin : run.begin + period.lag]
        if run.end == len(kernels) and self.all_known and _totals(first) == _totals(unit):
            return True
        return run.lost <= self.negligible * float(np.sum(sequence.weights))

    def weights(self, kernels: Listed[Kernel]) -> FloatArray:
        """What each kernel counts: its bytes where those of all are known, else its time."""
        if self.all_known:
            rank = self.trace.rank
            return np.array([known_wire_bytes(kernel.communication, rank) or 0.0 for kernel in kernels])
        return np.array([kernel.duration_ms for kernel in kernels])

    def _sequences(self, kernels: tuple[Kernel, ...]) -> list[tuple[Sequence, bool]]:
        """The stream with sizes as part of what a collective is; and where they change, without."""
        weights = self.weights(kernels)
        launched = next((i for i, k in enumerate(kernels) if k.launch_ms is not None), 0)
        names: dict[object, int] = {}
        kinds = np.array([names.setdefault(_kind_in(kernel.name), len(names)) for kernel in kernels])
        sized, plain, sizes = [], [], []
        for index, kernel in enumerate(kernels):
            record = kernel.communication
            if record is None:
                # Launched before the recording began, so that nobody noted what it is.
                code = -1 if index < launched and kernel.launch_ms is None else names[_kind_in(kernel.name)]
                sized.append(code)
                plain.append(code)
                sizes.append(0.0)
            else:
                key = (record.collective, record.group, record.group_size, record.dtype)
                plain.append(names.setdefault(key, len(names)))
                sized.append(names.setdefault((*key, record.in_elements, record.out_elements), len(names)))
                sizes.append(float(np.log2(1.0 + max(record.in_elements, record.out_elements))))
        both = [(Sequence(weights, np.array(sized), kinds), False)]
        if sized != plain:
            both.append((Sequence(weights, np.array(plain), kinds, np.array(sizes)), True))
        return both

    def _steps(self, kernels: tuple[Kernel, ...]) -> Steps:
        """What the annotated steps say of a stream."""
        if len(self.begins) < 2:
            return Steps(len(self.begins), self.step_ms, None)
        known = all(kernel.launch_ms is not None for kernel in kernels)
        times = [kernel.launch_ms if known and kernel.launch_ms is not None else kernel.start_ms for kernel in kernels]
        where = np.searchsorted(self.begins, np.array(times), side="right")
        counts = np.bincount(where, minlength=len(self.begins) + 1)[1:-1]
        apart = np.maximum(1, np.diff([step.number for step in self.trace.steps]))
        each = Counter((counts // apart)[counts % apart == 0].tolist())
        agreed = [count for count, steps in each.items() if 2 * steps > len(counts)]
        return Steps(len(self.begins), self.step_ms, agreed[0] if agreed else None)

    def refusal(self, kernels: tuple[Kernel, ...]) -> InputError:
        """Why one stream shows no iteration time."""
        hint = "record more steps, or say the iteration time with iteration_ms (--iteration-ms)"
        what = kinds_of(kernels)
        if self.given_ms is not None:
            span = max(kernel.end_ms for kernel in kernels) - kernels[0].start_ms
            return InputError(
                f"{self.trace.path}: expected iterations of {self.given_ms:.6g} ms as given, got {len(kernels)} "
                f"kernels ({what}) over {span:.6g} ms of which none begin that far apart"
            )
        if len(self.begins) < 2:
            return InputError(
                f"{self.trace.path}: expected at least two annotated steps (ProfilerStep#N, which torch.profiler "
                f"writes when the training loop calls step() on it), got {len(self.begins)}; {hint}"
            )
        sequence = self._sequences(kernels)[0][0]
        run = repeating_run(sequence, 1)
        if run is not None and run.end - run.begin == len(kernels):
            begins = [kernel.start_ms for kernel in kernels[run.begin : run.end : run.lag]]
            shown = ", ".join(f"{distance:.4g}" for distance in np.diff(begins)[:5])
            return InputError(
                f"{self.trace.path}: expected two distances between iterations that agree, got {shown} ms "
                f"({what}); {hint}"
            )
        return InputError(
            f"{self.trace.path}: expected collectives that repeat at least three times in the same order, got "
            f"{len(kernels)} kernels ({what}) that do not; {hint}"
        )


def _least_step(trace: RankTrace) -> float:
    """What an annotated step takes at least, ms; 0 where fewer than two were annotated.

    Begin to begin; where only the begin of steps was annotated, an annotation is shorter, and never longer.
    """
    if len(trace.steps) < 2:
        return 0.0
    longest = statistics.median_low(step.duration_ms for step in trace.steps)
    begins = [step.start_ms for step in trace.steps]
    return max(longest, statistics.median_low(two - one for one, two in itertools.pairwise(begins)))


def _totals(kernels: Listed[Kernel]) -> Counter[tuple[str, str, int]]:
    totals: Counter[tuple[str, str, int]] = Counter()
    for kernel in kernels:
        record = kernel.communication
        if record is not None:
            totals[record.collective, record.group, record.group_size] += record.in_elements + record.out_elements
    return totals


def kinds_of(kernels: Iterable[Kernel]) -> str:
    """How many of which collectives, for a message."""
    kinds = Counter(kind_of(kernel) for kernel in kernels)
    return ", ".join(f"{count} {worded(kind)}" for kind, count in kinds.most_common(4))


def kind_of(kernel: Kernel) -> str:
    """The collective as recorded, else as the kernel's name has it."""
    record = kernel.communication
    return _kind_in(kernel.name) if record is None else _kind_named(record.collective) or record.collective
