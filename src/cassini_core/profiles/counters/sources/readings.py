"""What the readers of text share: times, totals, lines, and how readings of several counters become one recording."""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np

from ....errors import InputError, shown
from ..samples import BREAK, MISSING, Channel, Group, Recording, Samples

__all__ = ["TIME_NAMES", "Readings", "iso_time_ns", "named_time_ns", "read_lines", "seconds_ns", "total_of"]

_NS_PER_UNIT = {"time_s": 1_000_000_000, "time_ms": 1_000_000, "time_us": 1000, "time_ns": 1}
TIME_NAMES = ("time", *_NS_PER_UNIT)
"""What a time is called: by ISO 8601, or a number with its unit."""

_MOST_CHANNELS = 1024
_MOST_VALUES = 1 << 26
_MOST_RAW = 1 << 64
_MOST_TIME_NS = 1 << 62
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,3})?")
_FASTEST_PER_SECOND = 10**12  # bytes: no server sends so much, though a column may be the sum of its ports
_LAG_S = 0.02
_FALLING = 0.2  # of the readings that differ: so many falls make no total that is reset now and then


def named_time_ns(name: str, text: str) -> int:
    """The time that a field says, ns; ``name`` is one of :data:`TIME_NAMES`.

    Raises
    ------
    ValueError
        It is no time, or is beyond 146 years from 0. So do the others here: what was expected, what came.
    """
    if name == "time":
        return iso_time_ns(text)
    number = Decimal(text) * _NS_PER_UNIT[name] if _NUMBER.fullmatch(text) else None
    if number is None or abs(number) >= _MOST_TIME_NS:
        raise ValueError(f"expected a time in {name.removeprefix('time_')}, got {shown(text)}")
    return int(number.to_integral_value())


def seconds_ns(text: str) -> int:
    """The time that a number of seconds says, ns."""
    return named_time_ns("time_s", text)


def iso_time_ns(text: str) -> int:
    """The time that ISO 8601 says, ns since 1970; without an offset it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(text) if ":" in text else None
    except ValueError:
        moment = None
    if moment is None:
        hint = "; a number needs a unit: time_s, time_ms, time_us or time_ns" if _NUMBER.fullmatch(text) else ""
        raise ValueError(f"expected a time as in 2026-01-31T12:00:00.125Z, got {shown(text)}{hint}")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    at_ns = (moment - _EPOCH) // timedelta(microseconds=1) * 1000
    if abs(at_ns) >= _MOST_TIME_NS:
        raise ValueError(f"expected a time within 146 years of 1970, got {shown(text)}")
    return at_ns


def total_of(text: str) -> int | None:
    """The whole number that a counter shows; None where it says that there is none (empty, ``NaN``, ``N/A ...``)."""
    text = text.strip()
    if len(text) < 20 and text.isascii() and text.isdigit():
        return int(text)  # Nearly always, and much faster than what follows.
    if not text or text.lower() == "nan" or text.startswith("N/A"):
        return None
    number = Decimal(text) if _NUMBER.fullmatch(text) else None
    if number is None or not 0 <= number < _MOST_RAW or number != number.to_integral_value():
        raise ValueError(f"expected a total of bytes (a whole number from 0 to below 2^64), got {shown(text)}")
    return int(number)


def read_lines(name: str, data: bytes, parse: Callable[[str], None]) -> str | None:
    """Have each line parsed; what is wrong with it names the line.

    Returns
    -------
    str or None
        That the last line does not end as a line does. Its writer may have been killed in the middle of a number, which
        nobody could tell from a smaller one, so the line is left out.
    """
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}: line {number}: expected text in UTF-8, got {error.reason}") from None
    number = 0
    try:
        for line in io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig"):
            number += 1
            if number > 1 and not line.endswith("\n"):
                return f"line {number} is cut off and was left out"
            parse(line.rstrip("\n"))
    except ValueError as error:
        raise InputError(f"{name}: line {number}: {error}") from None
    return None


@dataclass(slots=True)
class _Counter:
    """Readings of one counter as totals since the first of them."""

    times_ns: array[int] = field(default_factory=lambda: array("q"))
    totals: array[int] = field(default_factory=lambda: array("q"))
    raw: int | None = None  # as last read, at raw_ns
    raw_ns: int = 0
    total: int = 0
    changed: int = 0
    fallen: int = 0

    def add(self, at_ns: int, raw: int | None) -> None:
        if self.times_ns and at_ns <= self.times_ns[-1]:
            if at_ns == self.times_ns[-1] and raw == self.raw:
                return  # Said twice.
            got = "two values at one" if at_ns == self.times_ns[-1] else "an earlier one"
            raise ValueError(f"expected times that grow, got {got}")
        value = MISSING
        if raw is not None:
            gained = 0 if self.raw is None else raw - self.raw
            self.changed += gained != 0
            self.fallen += gained < 0
            # It was reset, or it has gone round (its width is not known), or what it shows is nonsense.
            known = 0 <= gained <= _FASTEST_PER_SECOND * ((at_ns - self.raw_ns) / 1e9 + _LAG_S)
            self.total, self.raw, self.raw_ns = self.total + gained * known, raw, at_ns
            value = self.total if known else BREAK
        if value >= 1 << 63:
            raise ValueError("expected totals that grow by less than 2^63 in all")
        self.times_ns.append(at_ns)
        self.totals.append(value)

    def refresh_ms(self) -> int:
        """The usual time between changes."""
        changes = np.array(self.times_ns)[1:][np.diff(np.array(self.totals)) != 0]
        return int(np.median(np.diff(changes)) / 1e6) if len(changes) > 1 else 0


class Readings:
    """Readings of counters of bytes, by device and direction (``tx`` or ``rx``)."""

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str], _Counter] = {}

    def expect(self, device: str, direction: str) -> None:
        """There is such a counter, though it may never have a value."""
        if (device, direction) not in self._counters:
            if len(self._counters) == _MOST_CHANNELS:
                raise ValueError(f"expected at most {_MOST_CHANNELS} counters, got more")
            self._counters[device, direction] = _Counter()

    def add(self, device: str, direction: str, at_ns: int, raw: int | None) -> None:
        """One reading; None: no value. Raises ValueError where the time does not grow."""
        self.expect(device, direction)
        try:
            self._counters[device, direction].add(at_ns, raw)
        except ValueError as error:
            raise ValueError(f"{direction}_bytes of {shown(device)}: {error}") from None

    def __len__(self) -> int:
        return len(self._counters)

    def recording(
        self, name: str, source: str, *, problem: str | None = None, choose: str | None = None, repeats: bool = False
    ) -> Recording:
        """All of them over the times of all: where a counter has none it is ``MISSING``.

        Parameters
        ----------
        name, source, problem, choose
            As in :class:`Recording`.
        repeats : bool
            The source may say a value again that it has not read again; how long it does is found out.

        Raises
        ------
        InputError
            What should be a total falls again and again.
        """
        for (device, direction), one in self._counters.items():
            if one.fallen > max(3, _FALLING * one.changed):
                raise InputError(
                    f"{name}: {direction}_bytes of {shown(device)}: expected a total that grows, got one that falls "
                    f"{one.fallen} times; a rate cannot be profiled, nor a counter that goes round between readings"
                )
        counters = self._counters.values()
        times = np.unique(np.concatenate([np.zeros(0, np.int64), *(np.array(one.times_ns) for one in counters)]))
        if len(times) * len(counters) > _MOST_VALUES:
            raise InputError(
                f"{name}: expected at most {_MOST_VALUES} values, got {len(counters)} counters at {len(times)} times; "
                "leave out the devices that do not carry the job"
            )
        channels, columns = [], []
        for (device, direction), one in self._counters.items():
            column = np.full(len(times), MISSING, dtype=np.int64)
            column[np.searchsorted(times, one.times_ns)] = one.totals
            refresh_ms = one.refresh_ms() if repeats else 0
            channels.append(Channel(device, f"{direction}_bytes", "bytes", refresh_ms=refresh_ms))
            columns.append(array("q", column.tobytes()))
        # To three figures: what it was meant to be.
        interval_ns = float(f"{np.median(np.diff(times)):.3g}") if len(times) > 1 else 1.0
        samples = Samples(Group(max(1, int(interval_ns)), tuple(channels)), array("q", times.tobytes()), tuple(columns))
        return Recording(name, {"source": source}, (samples,), None, problem, choose)
