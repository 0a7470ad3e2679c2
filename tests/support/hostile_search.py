"""Looks for problem files that take longer than those in ``hostile_problems``: mutates the worst ones found.

``python tests/support/hostile_search.py --minutes 60`` prints every file that took more than any before.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bounded_calls import Cost, measured
from hostile_problems import HOSTILE, PERIODS, RATES, Shape, problem_file

KEPT = 12
"""Shapes from which others are made."""


def mutated(shape: Shape, rng: random.Random) -> Shape:
    """The shape with one or two things changed."""
    for _ in range(rng.randint(1, 2)):
        name = rng.choice(("jobs", "phases", "links", "per_link", "candidates", "groups", "period", "rates", "sharing",
                           "capacity", "multiplier", "phase_kind", "fill", "seed"))  # fmt: skip
        value: Any = getattr(shape, name)
        drawn: dict[str, Any] = {
            "period": rng.choice(PERIODS),
            "rates": rng.choice(RATES),
            "sharing": rng.uniform(0.05, 1.0),
            "capacity": rng.choice(("same", "distinct", "least")),
            "multiplier": rng.choice(("none", "none", "distinct", "huge")),
            "phase_kind": rng.choice(("random", "spaced", "equal", "nested")),
            "fill": rng.choice(("links", "jobs", "phases", "candidates")),
            "seed": rng.randrange(10**6),
        }
        new = drawn.get(name) or max(1, round(value * rng.choice((0.3, 0.5, 0.8, 1.25, 2, 3))))
        shape = replace(shape, **{name: new})
    return replace(shape, jobs=max(2, shape.jobs), per_link=max(1, min(shape.per_link, 1024)))


def main() -> None:
    """Search for so many minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    end = time.monotonic() + 60 * arguments.minutes
    found: list[tuple[Cost, Shape]] = []
    todo = list(HOSTILE.values())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "problem.json")
        while time.monotonic() < end:
            shape = todo.pop(0) if todo else mutated(rng.choice(found)[1], rng)
            data = problem_file(shape)
            if not data:
                continue
            file.write_bytes(data)
            cost = measured("rank", file)
            worst = not found or cost.seconds > found[0][0].seconds or cost.mib > max(one.mib for one, _ in found)
            if worst:
                print(f"{cost.seconds:6.2f} s {cost.mib:6.0f} MiB {shape} {cost.outcome}", flush=True)
            found = sorted([*found, (cost, shape)], key=lambda one: -(one[0].seconds + one[0].mib / 100))[:KEPT]


if __name__ == "__main__":
    main()
