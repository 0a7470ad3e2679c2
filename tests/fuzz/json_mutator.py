"""Changes one place of a JSON text, so that most mutants still parse; other texts are changed as bytes."""

from __future__ import annotations

import copy
import gzip
import json
import random
import zlib
from collections.abc import Callable
from typing import Any

_ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -0.0, 1, -1, 2, 0.5, 1e-6, 1e-300, 1e300, -1e300, 2**53 + 1, 2**63, 2**64, -(2**63), 10**30,
    1099511.627776, 1099511.7, 1e308, 1.7e308, "", "a", "1", "1e400", "nan", "inf", "\u0000", "\ud83d\ude00", "\u0663",
    [], {}, [[]], {"": ""}, [0, 0], "x" * 200, "9" * 5000,
)  # fmt: skip


def mutate(data: bytes, max_size: int, seed: int, mutate_bytes: Callable[[bytes, int], bytes]) -> bytes:
    """A changed copy of at most ``max_size`` bytes; ``mutate_bytes`` is the engine's own way."""
    rng = random.Random(seed)
    packed = data[:2] == b"\x1f\x8b"
    if rng.random() < 0.3:
        return mutate_bytes(data, max_size)
    try:
        value = json.loads(gzip.decompress(data) if packed else data)
    except (ValueError, RecursionError, OSError, EOFError, zlib.error):
        return mutate_bytes(data, max_size)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        value = _changed(rng, value)
    try:
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode()
    except (ValueError, RecursionError):
        return mutate_bytes(data, max_size)
    if packed != (rng.random() < 0.02):
        text = gzip.compress(text, mtime=0)
    return text if len(text) <= max_size else mutate_bytes(data, max_size)


def _changed(rng: random.Random, value: Any) -> Any:
    places = list(_places(value))
    if not places:
        return _odd_value(rng)
    holder, key = rng.choice(places)
    other_holder, other_key = rng.choice(places)
    match rng.randrange(7):
        case 0:
            holder[key] = _odd_value(rng)
        case 1 if isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(holder[key])))
        case 2:
            del holder[key]
        case 3:
            holder[key] = json.loads(json.dumps(other_holder[other_key]))
        case 4 if isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
            was = holder[key]
            third = was / 3 if isinstance(was, float) else was // 3  # a whole number may be beyond all floats
            holder[key] = rng.choice((was * 2, third, was + 1, -was, was * 1000))
        case 5 if isinstance(holder[key], str) and holder[key]:
            at = rng.randrange(len(holder[key]))
            holder[key] = (
                holder[key][:at] + rng.choice(("", "_", "#", "0", "1", "99", "\u00df")) + holder[key][at + 1 :]
            )
        case 6 if isinstance(holder, dict):
            holder[rng.choice(("name", "args", "id", "phases", key + "x", ""))] = holder.pop(key)
        case _:
            holder[key] = _odd_value(rng)
    return value


def _odd_value(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(_ODD_VALUES))  # or a later change would end up in all of them


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every holder and key, in order."""
    out: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        items = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, item in items:
            out.append((holder, key))
            waiting.append(item)
    return out
