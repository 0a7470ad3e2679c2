"""Sources of samples: files of the kernel that are kept open, each giving one or more channels.

A source never raises for what a file holds or for a device that goes away: the sample then is ``MISSING`` and
:attr:`problem` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .kernel_file import KernelFile
from .unwrap import MISSING, Unwrapper

__all__ = ["Channel", "CounterSource", "GaugeSource", "Source", "TableSource"]


@dataclass(frozen=True, slots=True)
class Channel:
    """One column of samples.

    Attributes
    ----------
    device : str
        ``mlx5_0/1``, ``eth0``; empty for what is counted for a whole network namespace.
    name : str
        ``tx_bytes``, ``rx_bytes``, ``tx_packets``, ...; the direction is the host's.
    unit : str
        ``bytes``, ``packets``, ``events``, ``ticks`` (of the device) or ``Mbit/s``.
    gauge : bool
        A momentary value, not a total.
    absent : bool
        The device had no such counter when its source was opened. It may come; if no value ever does, there was none,
        which is another answer than a counter that cannot be read, or one that stands still.
    refresh_ms : int
        The kernel hands out the same value for so long; 0: not known to.
    """

    device: str
    name: str
    unit: str
    gauge: bool = False
    absent: bool = False
    refresh_ms: int = 0


class Source(Protocol):
    """What the sampler reads."""

    channels: tuple[Channel, ...]
    problem: str | None

    def sample(self, now_ns: int) -> Sequence[int]:
        """One value per channel: a total since the start, ``MISSING`` or ``BREAK``; 0 or more otherwise."""

    def close(self) -> None:
        """Give the file back."""


class CounterSource:
    """One counter in a file of its own, as sysfs has them.

    Parameters
    ----------
    channel : Channel
    file : KernelFile
        Holds a whole number, or words where there is none, e.g. ``N/A (no PMA)``.
    unwrapper : Unwrapper
    """

    __slots__ = ("_file", "_reopened", "_result", "_unwrapper", "channels", "problem")

    def __init__(self, channel: Channel, file: KernelFile, unwrapper: Unwrapper) -> None:
        self.channels: tuple[Channel, ...] = (channel,)
        self.problem: str | None = None
        self._file = file
        self._unwrapper = unwrapper
        self._reopened = 0
        self._result = [MISSING]

    def sample(self, now_ns: int) -> Sequence[int]:
        """The total at ``now_ns``; the list is used again by the next call."""
        result = self._result
        data = self._file.read(64, now_ns)
        if data is None:
            self.problem = self._file.problem
            result[0] = MISSING
            return result
        try:
            raw = int(data)
        except ValueError:
            raw = -1
        if raw < 0:
            self.problem = f"{self._file.path}: reads {_words(data)}"
            result[0] = MISSING
            return result
        if self._file.reopened != self._reopened:
            self._reopened = self._file.reopened
            self._unwrapper.lost()
        self.problem = None
        result[0] = self._unwrapper.advance(raw, now_ns)
        return result

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


class GaugeSource:
    """A momentary value in a file of its own, told to whoever needs it when it changes.

    Parameters
    ----------
    parse : callable
        From the contents to a value of at least 0, or None.
    changed : callable
        Called with the new value, or None.
    """

    __slots__ = ("_changed", "_file", "_parse", "_value", "channels", "problem")

    def __init__(
        self,
        channel: Channel,
        file: KernelFile,
        parse: Callable[[bytes], int | None],
        changed: Callable[[int | None], None],
    ) -> None:
        self.channels: tuple[Channel, ...] = (channel,)
        self.problem: str | None = None
        self._file = file
        self._parse = parse
        self._changed = changed
        self._value: int | None = None

    def sample(self, now_ns: int) -> Sequence[int]:
        """The value, or ``MISSING``."""
        data = self._file.read(256, now_ns)
        value = None if data is None else self._parse(data)
        if value is None:
            self.problem = self._file.problem if data is None else f"{self._file.path}: reads {_words(data)}"
            return (MISSING,)
        self.problem = None
        if value != self._value:
            self._value = value
            self._changed(value)
        return (value,)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


class TableSource:
    """Several counters in one file, e.g. ``/proc/net/dev``.

    Parameters
    ----------
    parse : callable
        From the contents to one raw value, or None, per channel.
    """

    __slots__ = ("_file", "_parse", "_unwrappers", "channels", "problem")

    def __init__(
        self,
        channels: Sequence[Channel],
        file: KernelFile,
        parse: Callable[[bytes], Sequence[int | None]],
        unwrappers: Sequence[Unwrapper],
    ) -> None:
        self.channels = tuple(channels)
        self.problem: str | None = None
        self._file = file
        self._parse = parse
        self._unwrappers = tuple(unwrappers)

    def sample(self, now_ns: int) -> Sequence[int]:
        """The totals at ``now_ns``. A counter that is not in the table has gone, and what comes back is another."""
        data = self._file.read_all(now_ns)
        if data is None:
            self.problem = self._file.problem
            return [MISSING] * len(self.channels)
        self.problem = None
        values = []
        for channel, raw, unwrapper in zip(self.channels, self._parse(data), self._unwrappers, strict=True):
            if raw is None:
                unwrapper.lost()
                self.problem = f"{self._file.path}: no {channel.name} of {channel.device or 'this namespace'}"
                values.append(MISSING)
            else:
                values.append(unwrapper.advance(raw, now_ns))
        return values

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def _words(data: bytes) -> str:
    text = data[:40].decode("ascii", "replace").strip()
    return repr(text) if text else "nothing"
