"""Links on which other methods blow up in time or memory; the engine must stay bounded and its interval true.

The hard sets of ``tests/kernel/test_hard_links.py``, with the seeds used there.
"""

from __future__ import annotations

import numpy as np

from cassini_core import Job, Phase

from .cases import Case

_TICK_MS = 1e-6


def _up(index: int, period_ticks: int) -> Job:
    return Job(f"j{index}", period_ticks * _TICK_MS, [Phase(0, round(period_ticks * 0.45) * _TICK_MS, 50)])


def _random_periods(seed: int, n_jobs: int, n_phases: int) -> tuple[Job, ...]:
    rng = np.random.default_rng(seed)
    jobs = []
    for index in range(n_jobs):
        period = int(rng.integers(100_000_000, 600_000_000))
        phases = [
            Phase(
                float(rng.integers(period)) * _TICK_MS,
                float(rng.integers(1, period // 5)) * _TICK_MS,
                rng.uniform(1, 10),
            )
            for _ in range(n_phases)
        ]
        jobs.append(Job(f"j{index}", period * _TICK_MS, phases))
    return tuple(jobs)


def _eight_round() -> tuple[Job, ...]:
    rng = np.random.default_rng(6)
    periods = (120.0, 180.0, 240.0, 300.0)
    return tuple(
        Job(f"j{k}", periods[k % 4], [Phase(25.0 * i, 15.0, rng.uniform(1, 10)) for i in range(4)]) for k in range(8)
    )


def _forty_held() -> tuple[Job, ...]:
    rng = np.random.default_rng(8)
    periods = (150.0, 200.0, 300.0, 600.0)
    return tuple(
        Job(f"j{k}", periods[k % 4], [Phase(float(rng.integers(100)), 40.0, rng.uniform(5, 50))]) for k in range(40)
    )


def _thousands_of_phases() -> tuple[Job, ...]:
    rng = np.random.default_rng(9)
    return tuple(
        Job(f"j{k}", 2000.0, [Phase(float(i), 0.5, float(rng.integers(5, 50))) for i in range(2000)]) for k in range(3)
    )


def _one_cannot_be_held() -> tuple[Job, ...]:
    return _up(0, 255_000_000), _up(1, 255_000_000), _up(2, 247_000_001)


def hard_links() -> list[Case]:
    """One case each; ``resolution_ms=0`` where nothing shall be free."""
    pairwise = tuple(_up(index, period) for index, period in enumerate((10403, 11021, 10807)))
    endless = tuple(_up(index, period) for index, period in enumerate((1113121, 1244017, 1425829, 1535557)))
    forty, eight = _random_periods(1, 40, 1), _random_periods(2, 8, 4)
    sets = [
        ("periods that share a factor pairwise", pairwise, 50.0, 0.0),
        ("a folded circle of 1.7e12 ticks", endless, 50.0, 0.0),
        ("40 jobs, random periods, resolution 0", forty, 30.0, 0.0),
        ("40 jobs, random periods", forty, 30.0, 0.5),
        ("8 jobs of 4 levels, random periods, resolution 0", eight, 20.0, 0.0),
        ("8 jobs of 4 levels, random periods", eight, 20.0, 0.5),
        ("8 jobs of 4 levels, round periods", _eight_round(), 20.0, 0.5),
        ("40 jobs that can be held", _forty_held(), 150.0, 0.5),
        ("3 jobs of 2000 phases", _thousands_of_phases(), 50.0, 0.5),
        ("one of 3 jobs cannot be held", _one_cannot_be_held(), 50.0, 0.5),
        ("one of 3 jobs cannot be held, resolution 0", _one_cannot_be_held(), 50.0, 0.0),
    ]
    return [Case(name, "hard", jobs, capacity, None, resolution) for name, jobs, capacity, resolution in sets]
