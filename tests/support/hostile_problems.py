"""Problem files of at most 1 MB that are meant to take as much time and memory as they can.

:class:`Shape` says what a file looks like; :data:`HOSTILE` are the nastiest found, by name, and :data:`MALFORMED` are
files that are no problems at all. ``python tests/support/hostile_search.py`` looks for nastier ones.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

__all__ = ["HOSTILE", "MALFORMED", "MOST_BYTES", "PERIODS", "RATES", "Shape", "link_file", "problem_file"]

MOST_BYTES = 2**20


@dataclass(frozen=True)
class Shape:
    """What a problem file looks like; ``fill`` names the count that is made as large as the file allows.

    Every link carries ``per_link`` jobs, from one of ``groups`` groups of jobs that never meet. A job uses the network
    for ``sharing`` of its iteration, in ``phases`` phases. ``unused`` jobs are placed without network, in the first
    candidate alone; ``id_bytes`` are added to the id of every link.
    """

    jobs: int = 6
    phases: int = 1
    links: int = 10
    per_link: int = 3
    candidates: int = 1
    groups: int = 1
    fill: str = "links"
    period: str = "equal"  # one of PERIODS
    rates: str = "distinct"  # one of RATES
    sharing: float = 0.45
    capacity: str = "distinct"  # or same, least
    multiplier: str = "none"  # or distinct, huge
    phase_kind: str = "random"  # or spaced, equal, silent, nested
    unused: int = 0
    id_bytes: int = 0
    seed: int = 1


HOSTILE: Mapping[str, Shape] = {
    # One link, or few.
    "8 jobs of thousands of phases": Shape(jobs=8, links=1, per_link=8, fill="phases", period="round"),
    "1024 jobs on one link": Shape(jobs=1024, links=1, per_link=1024, fill="phases"),
    "24 jobs of many levels": Shape(jobs=24, per_link=24, phases=20, period="tiny", rates="powers"),
    "200 jobs on all links": Shape(jobs=200, per_link=200),
    "60 jobs a link, odd periods": Shape(jobs=300, per_link=60, phases=4, period="odd"),
    "60 jobs a link, round periods": Shape(jobs=300, per_link=60, phases=2, period="round"),
    # Thousands of links.
    "long phases on all links": Shape(jobs=3, phases=1000),
    "50 phases on thousands of links": Shape(jobs=20, phases=50, period="round"),
    "many links, round periods": Shape(jobs=12, phases=3, period="round"),
    "many links of 8 jobs": Shape(jobs=12, phases=3, per_link=8),
    "many links of 4 jobs": Shape(jobs=8, phases=3, per_link=4),
    "coprime periods": Shape(jobs=60, phases=2, per_link=6, period="odd"),
    "prime factors": Shape(jobs=60, phases=2, per_link=4, period="factors"),
    "a block of 300 jobs": Shape(jobs=300, phases=3, per_link=4),
    "silent phases": Shape(jobs=100, phases=50, phase_kind="silent"),
    "nested phases": Shape(jobs=6, phases=300, phase_kind="nested"),
    "multipliers": Shape(jobs=4, phases=2, multiplier="distinct"),
    "multipliers of many phases": Shape(jobs=2, phases=30, multiplier="distinct"),
    "extreme rates": Shape(jobs=30, phases=3, rates="extreme", capacity="least", period="huge"),
    "long ids": Shape(jobs=4, id_bytes=2000),
    "jobs that share nothing": Shape(jobs=2, per_link=1, phases=3),
    "narrow links": Shape(jobs=3, per_link=1, phases=1000, capacity="least"),
    "narrow links in thousands of candidates": Shape(jobs=6, per_link=1, capacity="least", fill="candidates"),
    # Iteration times that almost agree.
    "thousands of pairs, noisy periods": Shape(links=3000, groups=3000, per_link=2, fill="jobs", period="noisy"),
    "thousands of blocks": Shape(links=6000, groups=2000, fill="jobs"),
    "one component, nearly round periods": Shape(links=4000, fill="jobs", period="nearly", rates="same"),
    "1000 jobs, nearly round periods": Shape(jobs=1000, per_link=8, phases=2, period="nearly", rates="same"),
    # Thousands of candidates.
    "thousands of candidates of 6 jobs": Shape(jobs=6, links=6, phases=3, fill="candidates"),
    "thousands of candidates, round periods": Shape(
        jobs=6, links=4, per_link=4, phases=3, fill="candidates", period="round"
    ),
    "loops of 12 jobs": Shape(jobs=12, links=12, per_link=5, phases=2, fill="candidates", period="round"),
    "large candidates": Shape(jobs=200, links=150, fill="candidates"),
    "empty candidates beside thousands of jobs": Shape(jobs=2, links=1, per_link=2, unused=8000, fill="candidates"),
}
"""By name."""


def problem_file(shape: Shape, most_bytes: int = MOST_BYTES) -> bytes:
    """The file, with as much of ``shape.fill`` as there is room for."""
    best, count = b"", 32
    for _ in range(8):
        data = _written(replace(shape, **{shape.fill: count}))
        if len(data) <= most_bytes:
            best = max(best, data, key=len)
        if 0.93 * most_bytes < len(data) <= most_bytes:
            break
        # Most of a file grows with the count. No try at many times the size: writing takes longer than reading.
        count = max(1, int(count * min(8.0, 0.97 * most_bytes / len(data))))
    return best


def differences_file(most_bytes: int = MOST_BYTES, *, jobs: int = 4000) -> bytes:
    """As many candidates as there is room for, told in a few bytes each: a large base without one of its jobs."""
    names = [f"j{k}" for k in range(jobs)]
    phases = [{"start_ms": 0, "duration_ms": 30, "gbps": 40}]
    content: dict[str, object] = {
        "format": "cassini-problem/2",
        "jobs": [{"id": name, "iteration_ms": 100, "phases": phases} for name in names],
        "links": [{"id": f"l{k}", "capacity_gbps": 50} for k in range(jobs // 2)],
        "base": {"routes": {name: [f"l{k // 2}"] for k, name in enumerate(names)}},
        "candidates": [],
    }
    room = most_bytes - len(json.dumps(content, separators=(",", ":")))
    count = room // len('{"id":"c12345","moves":{"j1234":null}},')
    content["candidates"] = [{"id": f"c{k}", "moves": {names[k % jobs]: None}} for k in range(count)]
    return json.dumps(content, separators=(",", ":")).encode()


def link_file(shape: Shape, most_bytes: int = MOST_BYTES) -> bytes:
    """The jobs of the problem file on one link."""
    jobs = json.loads(problem_file(shape, most_bytes))["jobs"]
    return json.dumps({"capacity_gbps": 20.0 * max(1, len(jobs)) ** 0.5, "jobs": jobs}).encode()


def _of_jobs(jobs: str) -> bytes:
    return f'{{"format":"cassini-problem/1","jobs":{jobs},"links":[],"candidates":[]}}'.encode()


MALFORMED: Mapping[str, bytes] = {
    "deep arrays": _of_jobs("[" * 500_000 + "]" * 500_000),
    "deep objects": _of_jobs('{"a":' * 150_000 + "1" + "}" * 150_000),
    "a million digits": _of_jobs('[{"id":"a","iteration_ms":' + "9" * 10**6 + "}]"),
    "a million decimals": _of_jobs('[{"id":"a","iteration_ms":0.' + "9" * 10**6 + "}]"),
    "a long exponent": _of_jobs('[{"id":"a","iteration_ms":1e' + "9" * 10**6 + "}]"),
    "many keys": _of_jobs("{" + ",".join(f'"k{k}":0' for k in range(80_000)) + "}"),
    "repeated keys": _of_jobs("[" + ",".join(['{"id":"a","id":"a"}'] * 50_000) + "]"),
    "colons in an id": _of_jobs('[{"id":"' + ":\\" * 300_000 + '","iteration_ms":1}]'),
    "a long id twice": _of_jobs("[" + ",".join(['{"id":"%s","iteration_ms":1}' % ("é" * 200_000)] * 2) + "]"),
    "surrogates": _of_jobs('[{"id":"' + "\\ud800" * 150_000 + '"}]'),
    "wrong at the end": _of_jobs("[" + '{"id":"a","iteration_ms":1,"phases":[]},' * 25_000 + "{}]"),
}
"""Files that are refused, by name."""


def _written(shape: Shape) -> bytes:
    rng = random.Random(shape.seed)
    parts = {
        "format": "cassini-problem/1",
        "jobs": list(_jobs(shape, rng)),
        "links": list(_links(shape, rng)),
        "candidates": list(_candidates(shape, rng)),
    }
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=False).encode()


def _jobs(shape: Shape, rng: random.Random) -> Iterator[dict[str, object]]:
    for index in range(shape.jobs):
        period = _period_ticks(shape, index, rng)
        yield {"id": _name(index), "iteration_ms": period / 1e6, "phases": list(_phases(shape, period, rng))}
    for index in range(shape.unused):
        yield {"id": "u" + _name(index), "iteration_ms": 9, "phases": []}


_ROUND_MS = (100, 120, 150, 180, 200, 240, 250, 300, 360, 400)
PERIODS = ("equal", "round", "noisy", "nearly", "odd", "factors", "tiny", "huge")
RATES = ("same", "few", "distinct", "powers", "extreme")
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
            case other:
                raise ValueError(other)
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
    room = middle * shape.per_link * max(shape.sharing, 0.05)
    for index in range(shape.links):
        match shape.capacity:
            case "same":
                capacity = round(room, 3)
            case "distinct":
                capacity = round(room * rng.uniform(0.5, 1.5), 6)
            case "least":
                capacity = 1e-6
            case other:
                raise ValueError(other)
        yield {"id": "i" * shape.id_bytes + _name(index), "capacity_gbps": max(1e-6, capacity)}


def _candidates(shape: Shape, rng: random.Random) -> Iterator[dict[str, object]]:
    groups = max(1, min(shape.groups, shape.jobs // max(1, shape.per_link)))
    size = shape.jobs // groups
    for candidate in range(shape.candidates):
        crossed: list[list[str]] = [[] for _ in range(shape.jobs)]
        for link in range(shape.links):
            group = (link % groups) * size
            for job in rng.sample(range(group, group + size), min(size, shape.per_link)):
                crossed[job].append("i" * shape.id_bytes + _name(link))
        routes = {_name(job): _route(shape, links, rng) for job, links in enumerate(crossed)}
        if candidate == 0:
            routes |= {"u" + _name(index): [] for index in range(shape.unused)}
        yield {"id": _name(candidate), "routes": routes}


def _route(shape: Shape, links: list[str], rng: random.Random) -> list[str] | dict[str, float]:
    match shape.multiplier:
        case "none":
            return links
        case "distinct":
            return {link: rng.randrange(1, 10**6) / 1e5 for link in links}
        case "huge":
            return dict.fromkeys(links, 10_000.0)
    raise ValueError(shape.multiplier)


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _name(number: int) -> str:
    name = _DIGITS[number % 62]
    while number := number // 62:
        name += _DIGITS[number % 62]
    return name
