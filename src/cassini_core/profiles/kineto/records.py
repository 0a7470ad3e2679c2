"""What PyTorch notes about a collective, beside its kernel or on the CPU: names, sizes, process group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

__all__ = ["Args", "Communication", "communication_of", "configured_groups", "number_of", "whole_number_of"]

# Beyond these a time (31,000 years in µs) or a count is garbage, and sums of them could overflow.
_MAX_TIME_US = 1e18
_MAX_COUNT = 2**62
_LONGEST_LIST = 2**20


@dataclass(frozen=True, slots=True)
class Communication:
    """What was recorded about one collective: which, how many elements, of what type, among how many ranks.

    Attributes
    ----------
    group, group_label : str
        What tells the process group from others (its ranks, else its name), and what people call it.
    group_ranks : tuple of int
        Global ranks of the group; empty where unknown.
    in_splits, out_splits : tuple of int
        Shares of the peers in input and output, in units of any size; empty where not recorded, or even.
    """

    collective: str
    in_elements: int
    out_elements: int
    dtype: str
    group_size: int
    group: str
    group_label: str = ""
    group_ranks: tuple[int, ...] = ()
    in_splits: tuple[int, ...] = ()
    out_splits: tuple[int, ...] = ()


class Args(msgspec.Struct, gc=False):
    external: Any = msgspec.field(name="External id", default=None)
    external_old: Any = msgspec.field(name="external id", default=None)
    correlation: Any = None
    collective: Any = msgspec.field(name="Collective name", default=None)
    in_elements: Any = msgspec.field(name="In msg nelems", default=None)
    out_elements: Any = msgspec.field(name="Out msg nelems", default=None)
    dtype: Any = None
    group_size: Any = msgspec.field(name="Group size", default=None)
    group_ranks: Any = msgspec.field(name="Process Group Ranks", default=None)
    group_name: Any = msgspec.field(name="Process Group Name", default=None)
    group_description: Any = msgspec.field(name="Process Group Description", default=None)
    in_splits: Any = msgspec.field(name="In split size", default=None)
    out_splits: Any = msgspec.field(name="Out split size", default=None)
    device: Any = None
    stream: Any = None


def number_of(value: Any) -> float | None:
    """A float of at most ``_MAX_TIME_US``; Chrome's format allows numbers as strings."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= _MAX_TIME_US else None


def whole_number_of(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) <= _MAX_COUNT else None
    number = number_of(value)
    return int(number) if number is not None and number.is_integer() else None


def _integers(value: Any) -> tuple[int, ...]:
    """A list of whole numbers, or its text; empty where it is cut ("[0, 1, ...]") or something else."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return ()
    if not isinstance(value, list) or len(value) > _LONGEST_LIST:
        return ()
    numbers = [whole_number_of(one) for one in value]
    whole = tuple(number for number in numbers if number is not None and number >= 0)
    return whole if len(whole) == len(numbers) else ()


def configured_groups(info: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Ranks by name of the process groups that the trace's head lists."""
    config = info.get("pg_config")
    entries = [one for one in config if isinstance(one, dict)] if isinstance(config, list) else []
    return {str(one.get("pg_name")): _integers(one.get("ranks")) for one in entries}


def communication_of(args: Args, groups: dict[str, tuple[int, ...]]) -> Communication | None:
    """The record of a collective, or None where its name, a size or its group is missing."""
    inside, outside, group_size = (whole_number_of(v) for v in (args.in_elements, args.out_elements, args.group_size))
    if not isinstance(args.collective, str) or group_size is None or group_size < 1:
        return None
    if inside is None and outside is None:
        return None
    sizes = (inside or 0, outside or 0)
    if min(sizes) < 0 or not isinstance(args.dtype, str):
        return None
    name = "" if args.group_name is None else str(args.group_name)
    ranks = _integers(args.group_ranks) or groups.get(name, ())
    if len(set(ranks)) != group_size:
        ranks = ()
    listed = args.group_ranks not in (None, "", []) and "..." not in str(args.group_ranks)
    described = args.group_description if isinstance(args.group_description, str) else ""
    return Communication(
        args.collective,
        *sizes,
        args.dtype,
        group_size,
        group=str(args.group_ranks) if listed else name,
        group_label=" ".join(part for part in (name, described) if part),
        group_ranks=ranks,
        in_splits=_integers(args.in_splits),
        out_splits=_integers(args.out_splits),
    )
