"""From a recording of byte counters to bytes per time step on an even grid.

Readings come at uneven times and some are missing, but a counter is a total: it is interpolated, and differences of
what was interpolated keep every byte. Where it was reset, or not read for long, the traffic is unknown (NaN).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from .recording import BREAK, Recording, Samples, read_recording
from .selection import select_counters

__all__ = ["Traffic", "read_traffic"]

FloatArray = npt.NDArray[np.float64]

_LONGEST_GAP = 5  # samples; over a longer one the shape of the traffic is not known
_MOST_STEPS = 1 << 22


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a set of devices carried in one direction.

    Attributes
    ----------
    times_ms : ndarray of float64, [steps + 1]
        Edges of the steps since the first sample; evenly spaced.
    total : ndarray of float64, [steps + 1]
        Bytes up to each edge; what is unknown counts as nothing.
    known : ndarray of bool, [steps]
    step_ms, refresh_ms : float
        Time between samples, and between the counter's own refreshes, where these are rarer.
    direction : str
        ``tx`` or ``rx``.
    devices : tuple of str
    line_gbps : float or None
        What the devices' links carry at most, Gbit/s; None where the recording does not say.
    warnings : tuple of str
    """

    times_ms: FloatArray
    total: FloatArray
    known: npt.NDArray[np.bool_]
    step_ms: float
    refresh_ms: float
    direction: str
    devices: tuple[str, ...]
    line_gbps: float | None
    warnings: tuple[str, ...]

    @property
    def per_step(self) -> FloatArray:
        """Bytes in each step, NaN where unknown."""
        return np.where(self.known, np.diff(self.total), np.nan)

    def per_bin(self, starts_ms: FloatArray, bins: int, bin_ms: float) -> FloatArray:
        """Bytes in each bin of windows that begin at any time, ``[windows, bins]``."""
        edges = starts_ms[:, None] + np.arange(bins + 1)[None, :] * bin_ms
        return np.asarray(np.diff(np.interp(edges, self.times_ms, self.total), axis=1))


def read_traffic(source: str | Path | Recording, *, devices: Sequence[str], direction: str) -> Traffic:
    """The traffic of a recording.

    Parameters
    ----------
    source : path or Recording
        A recording in any format that :func:`.recording.read_recording` knows, or what was read from one.
    devices : sequence of str
        Whose traffic to add up, as named in the recording; empty: all.
    direction : str
        ``tx``, ``rx``, or ``busier``: the one with more bytes.

    Raises
    ------
    InputError
        The file cannot be read, lacks the devices, or holds too little; no counter of the direction is there, could
        ever be read, or counted anything.
    """
    recording = source if isinstance(source, Recording) else read_recording(source)
    directions = ("tx", "rx") if direction == "busier" else (direction,)
    samples, chosen, warnings = select_counters(recording, devices, directions)
    found = [_direction(recording, samples, one, chosen) for one in directions]
    traffic = max(found, key=lambda one: float(one.total[-1]))
    if traffic.total[-1] <= 0:
        known = f"as far as it is known: {'; '.join(warnings[:8])}" if warnings else "while its counters were read"
        raise InputError(f"{recording.path}: no traffic on {', '.join(chosen)} {known}")
    return replace(traffic, warnings=(*warnings, *traffic.warnings))


def _line_gbps(samples: Samples, devices: tuple[str, ...]) -> float | None:
    rates = {channel.device: channel.gbps or 0.0 for channel in samples.group.channels}
    known = [rates.get(device, 0.0) for device in devices]
    return sum(known) if min(known, default=0.0) > 0 else None


def _direction(recording: Recording, samples: Samples, direction: str, devices: tuple[str, ...]) -> Traffic:
    times = np.asarray(samples.times_ns, dtype=np.int64)
    times_ms = np.asarray((times - times[0]) / 1e6, dtype=np.float64)
    if np.any(np.diff(times_ms) < 0):
        raise InputError(f"{recording.path}: expected times that grow, but samples go back in time")
    # A sampler that had to slow down says so only by the times of its samples.
    step_ms = max(samples.group.interval_ns / 1e6, round(float(np.median(np.diff(times_ms))), 1))
    steps = int(times_ms[-1] / step_ms)
    if not 8 <= steps <= _MOST_STEPS:
        raise InputError(f"{recording.path}: expected from 8 to {_MOST_STEPS} steps of {step_ms:g} ms, got {steps}")
    grid = np.asarray(np.arange(steps + 1) * step_ms, dtype=np.float64)
    total, unknown_ms = np.zeros(steps + 1), np.zeros(steps + 1)
    refreshes: list[float] = []
    warnings = [f"{recording.path}: {recording.problem}"] if recording.problem else []
    for channel, column in zip(samples.group.channels, samples.values, strict=True):
        if channel.device not in devices or channel.name != f"{direction}_bytes":
            continue
        values = np.asarray(column, dtype=np.int64)
        known = (values >= 0) | (values == BREAK)
        if np.count_nonzero(values >= 0) < 2:
            continue  # Nothing is known of it, which was said when it was chosen.
        refresh_ms = _refresh_ms(times_ms[values >= 0], values[values >= 0])
        refreshes.append(refresh_ms)
        read = times_ms[known], values[known]
        if refresh_ms > 1.5 * step_ms:
            read = _refreshed(*read, refresh_ms)
        carried, lost = _interpolate(*read, grid, _LONGEST_GAP * max(step_ms, refresh_ms))
        total, unknown_ms = total + carried, unknown_ms + lost
        resets = int(np.count_nonzero(values == BREAK))
        if resets:
            warnings.append(f"{channel.device} {channel.name}: {resets} resets or gaps; what they hide was left out")
    return Traffic(
        grid,
        total,
        np.diff(unknown_ms) <= 1e-9,
        step_ms,
        max([step_ms, *refreshes]),
        direction,
        devices,
        _line_gbps(samples, devices),
        tuple(warnings),
    )


def _interpolate(
    times_ms: FloatArray, values: npt.NDArray[np.int64], grid: FloatArray, longest_ms: float
) -> tuple[FloatArray, FloatArray]:
    """Bytes up to each point of the grid, and ms up to it in which the traffic is unknown."""
    # A break carries no value, but the total goes on from there as it was.
    last = np.maximum.accumulate(np.where(values >= 0, np.arange(len(values)), -1))
    totals = np.where(last >= 0, values[np.maximum(last, 0)], 0)
    counted, spans = np.diff(totals).astype(np.float64), np.diff(times_ms)
    # Where nothing was counted, the shape of the traffic is known over any time.
    unknown = (values[1:] == BREAK) | (counted < 0) | ((spans > longest_ms) & (counted > 0))
    # Before the first reading and after the last one nothing is known either.
    times_ms = np.concatenate([[min(0.0, times_ms[0])], times_ms, [max(grid[-1], times_ms[-1])]])
    spans = np.diff(times_ms)
    unknown = np.concatenate([[True], unknown, [True]])
    carried = np.concatenate([[0.0], np.cumsum(np.concatenate([[0.0], np.where(unknown[1:-1], 0.0, counted), [0.0]]))])
    lost = np.concatenate([[0.0], np.cumsum(np.where(unknown, spans, 0.0))])
    return np.interp(grid, times_ms, carried), np.interp(grid, times_ms, lost)


def _refreshed(
    times_ms: FloatArray, values: npt.NDArray[np.int64], refresh_ms: float
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Where a counter says something: when it has changed, and one refresh before that, if it had stood still.

    What it counted meanwhile came within that last refresh, or the refresh before would have shown it.
    """
    last = np.concatenate([[-1], np.flatnonzero(np.diff(values) != 0)])  # of those that are alike
    shown = last + 1
    still = np.append(times_ms[shown[1:]], times_ms[-1] + refresh_ms) - times_ms[shown] > 1.5 * refresh_ms
    until = np.append(times_ms[shown[1:]] - refresh_ms, times_ms[-1])[still]
    times = np.concatenate([times_ms[shown], until])
    order = np.argsort(times, kind="stable")
    return times[order], np.concatenate([values[shown], values[shown][still]])[order]


def _refresh_ms(times_ms: FloatArray, values: npt.NDArray[np.int64]) -> float:
    """How long a counter stands still while it counts: a tenth of the bytes come sooner after the change before."""
    changes = np.flatnonzero(np.diff(values)) + 1
    if len(changes) < 2:
        return 0.0
    spans = np.diff(times_ms[changes])
    counted = np.maximum(np.diff(values)[changes[1:] - 1].astype(np.float64), 0.0)
    order = np.argsort(spans)
    weight = np.cumsum(counted[order])
    least = float(spans[order][int(np.searchsorted(weight, weight[-1] / 10))])
    if least <= 0:
        return 0.0
    turns = np.round(spans / least)
    near = np.abs(spans / np.maximum(turns, 1) - least) <= 0.25 * least
    return float(spans[near].sum() / turns[near].sum())
