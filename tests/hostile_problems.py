"""Problem files of at most 1 MB that are meant to take as much time and memory as they can.

:class:`Shape` says what a file looks like; :data:`HOSTILE` are the nastiest found, by name. The search that found them
is ``python tests/hostile_search.py``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["HOSTILE", "MOST_BYTES", "Shape", "problem_file"]

MOST_BYTES = 2**20


@dataclass(frozen=True)
class Shape:
    """What a problem file looks like; ``fill`` names the count that is made as large as the file allows.

    Every link carries ``per_link`` jobs, from one of ``groups`` groups of jobs that never meet. ``sharing`` is the share
    of its iteration for which a job uses the network, ``gbps`` its demand, both of one phase of ``phases``.
    """

    jobs: int = 6
    phases: int = 1
    links: int = 10
    per_link: int = 3
    candidates: int = 1
    groups: int = 1
    fill: str = "links"
    period: str = "equal"  # equal, round, noisy, odd, factors, tiny, huge
    rates: str = "same"  # same, distinct, few, extreme
    sharing: float = 0.45
    capacity: str = "distinct"  # same, distinct, least
    multiplier: str = "none"  # none, distinct, huge
    unused: int = 0  # jobs placed without network, once, in a candidate of their own
    id_bytes: int = 0  # added to the id of every link
    phase_kind: str = "random"  # random, equal, silent, nested
    seed: int = 1


def problem_file(shape: Shape) -> bytes:
    """The file, with as much of ``shape.fill`` as 1 MB holds."""
    least, most = 1, 2**17
    best = b""
    while least <= most:
        middle = (least + most) // 2 if best or most < 2**17 else 64
        data = _written(replace(shape, **{shape.fill: middle}), best=bool(best))
        if len(data) <= MOST_BYTES:
            best, least = data, middle + 1
        else:
            most = middle - 1
        if best and len(best) > 0.98 * MOST_BYTES:
            break
    return best


def _written(shape: Shape, *, best: bool) -> bytes:
    parts = {"format": "cassini-problem/1"}
    rng = random.Random(shape.seed)
    jobs = list(_jobs(shape, rng))
    parts |= {"jobs": jobs, "links": list(_links(shape, rng)), "candidates": list(_candidates(shape, rng))}
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode()


def _jobs(shape: Shape, rng: random.Random) -> Iterator[dict[str, object]]:
    for index in range(shape.jobs):
        period = _period_ticks(shape, index, rng)
        yield {"id": _name(index), "iteration_ms": period / 1e6, "phases": list(_phases(shape, period, rng))}
    for index in range(shape.unused):
        yield {"id": "u" + _name(index), "iteration_ms": 9, "phases": []}


_ROUND_MS = (100, 120, 150, 180, 200, 240, 250, 300, 360, 400)
_PRIMES = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179)


def _period_ticks(shape: Shape, index: int, rng: random.Random) -> int:
    match shape.period:
        case "equal":
            return 255_000_000
        case "round":
            return 1_000_000 * rng.choice(_ROUND_MS)
        case "noisy":
            return 200_000_000 + 1000 * rng.randrange(2000)
        case "nearly":
            return round(1_000_000 * rng.choice(_ROUND_MS) * rng.uniform(0.995, 1.005))
        case "odd":
            return rng.randrange(100_000_000, 600_000_000)
        case "factors":
            return 1_000_000 * rng.choice(_PRIMES) * rng.choice((1, 2, 3, 4))
        case "tiny":
            return rng.randrange(2, 2_000_000)
        case "huge":
            return 2**40 - rng.randrange(10_000)
    raise ValueError(shape.period)


def _phases(shape: Shape, period: int, rng: random.Random) -> Iterator[dict[str, float]]:
    n = max(1, shape.phases)
    for index in range(shape.phases):
        length = max(1, round(period * shape.sharing / n))
        match shape.phase_kind:
            case "random":
                start = rng.randrange(period)
            case "spaced":
                start = index * (period // n)
            case "equal":
                start = 0
            case "silent":
                start, length = rng.randrange(period), 0
            case "nested":
                start, length = index, max(1, period // 2 - index)
        yield {"start_ms": start / 1e6, "duration_ms": length / 1e6, "gbps": _gbps(shape, rng)}


def _gbps(shape: Shape, rng: random.Random) -> float:
    match shape.rates:
        case "same":
            return 45
        case "few":
            return rng.choice((5, 10, 20, 40))
        case "distinct":
            return rng.randrange(1, 50_000_000) / 1e6
        case "powers":
            return 2 ** rng.randrange(17) / 1e3
        case "extreme":
            return rng.choice((1e-6, 1.0e6, 0.000013))
    raise ValueError(shape.rates)


def _links(shape: Shape, rng: random.Random) -> Iterator[dict[str, object]]:
    middle = {"same": 45, "few": 20, "distinct": 25, "powers": 10, "extreme": 1e5}[shape.rates]
    room = max(1e-6, middle * (shape.per_link * max(shape.sharing, 0.05)) * (1 if shape.phases else 1))
    for index in range(shape.links):
        match shape.capacity:
            case "same":
                capacity = round(room, 3)
            case "distinct":
                capacity = round(room * rng.uniform(0.5, 1.5), 6)
            case "least":
                capacity = 1e-6
            case "prime":
                capacity = rng.randrange(10_000_019, 90_000_000) / 1e6
            case other:
                raise ValueError(other)
        yield {"id": "i" * shape.id_bytes + _name(index), "capacity_gbps": max(1e-6, capacity)}


def _candidates(shape: Shape, rng: random.Random) -> Iterator[dict[str, object]]:
    groups = max(1, min(shape.groups, shape.jobs // max(1, shape.per_link)))
    size = shape.jobs // groups
    multiplier = shape.multiplier
    for candidate in range(shape.candidates):
        routes: dict[str, object] = {}
        crossed: list[list[str]] = [[] for _ in range(shape.jobs)]
        for link in range(shape.links):
            group = (link % groups) * size
            for job in rng.sample(range(group, group + size), min(size, shape.per_link)):
                crossed[job].append("i" * shape.id_bytes + _name(link))
        for job, links in enumerate(crossed):
            if multiplier == "none":
                routes[_name(job)] = links
            else:
                draw = (lambda: rng.randrange(1, 10**6) / 1e5) if multiplier == "distinct" else (lambda: 10_000.0)
                routes[_name(job)] = {link: draw() for link in links}
        if candidate == 0:
            routes |= {"u" + _name(index): [] for index in range(shape.unused)}
        yield {"id": _name(candidate), "routes": routes}


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _name(number: int) -> str:
    name = _DIGITS[number % 62]
    while number := number // 62:
        name += _DIGITS[number % 62]
    return name
