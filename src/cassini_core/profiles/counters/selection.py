"""Which counters of a recording a profile is made of, and what is to be said of those of which nothing is known.

Of a counter there are four answers, and only one of them is a zero: it counted; it was read and stood still (no
traffic); it was there and never gave a value (never readable); the device has no such counter (not there).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import InputError, worded
from .samples import BREAK, MISSING, Channel, Recording, Samples

__all__ = ["COARSEST_MS", "select_counters"]

COARSEST_MS = 20.0
"""Iterations of training jobs take some 50 ms or more. Between readings further apart than this, an iteration may begin
and end unseen, and what then repeats is an alias of it: several iterations, or a beat."""

_FEWEST_SAMPLES = 16
_NOT_THERE, _NEVER_READABLE = "not there", "never readable"


def select_counters(
    recording: Recording, devices: Sequence[str], directions: Sequence[str]
) -> tuple[Samples, tuple[str, ...], list[str]]:
    """The group that was read most often among those that count bytes, its devices that are wanted, and warnings.

    Parameters
    ----------
    recording : Recording
    devices : sequence of str
        As named there; ``mlx5_0`` stands for all of its ports. Empty: all.
    directions : sequence of str
        ``tx``, ``rx`` or both.

    Raises
    ------
    InputError
        A device is not there, devices must be named, nothing is known of any of them, or readings are too far apart.
    """
    groups = [samples for samples in recording.samples if any(_counts_bytes(c) for c in samples.group.channels)]
    if not groups:
        raise InputError(f"{recording.path}: expected a counter of bytes among the channels, got none")
    samples = min(groups, key=lambda one: one.group.interval_ns)
    chosen = _devices(recording, samples, devices)
    if len(samples.times_ns) < _FEWEST_SAMPLES:
        raise InputError(f"{recording.path}: expected at least {_FEWEST_SAMPLES} samples, got {len(samples.times_ns)}")
    warnings, known = [], False
    for device in chosen:
        answers = {way: _answer(recording, samples, device, f"{way}_bytes") for way in directions}
        unknown = {way: text for way, text in answers.items() if text in (_NOT_THERE, _NEVER_READABLE)}
        warnings += [f"{worded(device)} {way}_bytes: {text}, so unknown, not zero" for way, text in unknown.items()]
        known = known or len(unknown) < len(answers)
        if len(chosen) > 1 and set(answers.values()) == {"no traffic"}:
            warnings.append(f"{worded(device)}: no traffic")
    if not known:
        raise InputError(f"{recording.path}: expected a counter with values, got none: {'; '.join(warnings[:8])}")
    return samples, chosen, warnings


def _devices(recording: Recording, samples: Samples, wanted: Sequence[str]) -> tuple[str, ...]:
    there = tuple(dict.fromkeys(c.device for c in samples.group.channels if _counts_bytes(c)))
    listed = ", ".join(map(worded, there[:64])) + (", ..." if len(there) > 64 else "")
    if not wanted and recording.choose and len(there) > 1:
        raise InputError(
            f"{recording.path}: expected the devices that carry the job to be named, got none: {recording.choose}; "
            f"there are {listed}"
        )
    chosen: dict[str, None] = {}
    for name in wanted:
        found = [device for device in there if device == name or device.startswith((f"{name}/", f"{name}@"))]
        if not found:
            raise InputError(f"{recording.path}: expected a device of the recording ({listed}), got {name!r}")
        chosen.update(dict.fromkeys(found))
    return tuple(chosen) or there


def _answer(recording: Recording, samples: Samples, device: str, name: str) -> str:
    found = [
        (channel, np.asarray(column))
        for channel, column in zip(samples.group.channels, samples.values, strict=True)
        if (channel.device, channel.name) == (device, name)
    ]
    if not found:
        return _NOT_THERE
    channel, values = found[0]
    totals = values[values >= 0]
    if len(totals) < 2:
        return _NOT_THERE if channel.absent and not np.any(values == BREAK) else _NEVER_READABLE
    apart_ms = float(np.median(np.diff(np.asarray(samples.times_ns)[values != MISSING]))) / 1e6
    apart_ms = max(apart_ms, channel.refresh_ms)
    if apart_ms > COARSEST_MS:
        raise InputError(
            f"{recording.path}: {worded(device)} {name}: expected readings at most {COARSEST_MS:g} ms apart, got a new "
            f"value every {apart_ms:.6g} ms: iterations may begin and end between two of them, so their length cannot "
            "be told; python -m cassini_agent.counters reads every ms"
        )
    return "counted" if totals[-1] > totals[0] or np.any(values == BREAK) else "no traffic"


def _counts_bytes(channel: Channel) -> bool:
    return channel.name.endswith("_bytes")
