"""What solve_link and its kin refuse, how they are interrupted, and that concurrent calls do not disturb each other."""

from __future__ import annotations

import concurrent.futures
import os
import re
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import cassini_core as cc
from cassini_core import InputError, Job, KernelError, Phase, score_bounds, score_link, solve_link
from cassini_core.kernel import _kernel
from cassini_core.kernel.prepared_link import PreparedLink
from interrupts import interrupted
from work import works_less_than

A = Job("a", 255, [Phase(141, 114, 45)])
B = Job("b", 255, [Phase(141, 114, 45)])


def hard_jobs(n: int = 8) -> list[Job]:
    """Far more than a second's work."""
    rng = np.random.default_rng(99)
    return [
        Job(f"j{k}", 255, [Phase(rng.uniform(0, 254), rng.uniform(5, 50), rng.uniform(5, 50)) for _ in range(3)])
        for k in range(n)
    ]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"jobs": []}, "jobs"),
        ({"jobs": 7}, "jobs"),
        ({"jobs": [A, A]}, r"jobs\[1\].id: expected an id of its own, got 'a' again"),
        ({"jobs": [A, "b"]}, r"jobs\[1\]"),
        ({"capacity_gbps": 0}, "capacity_gbps"),
        ({"capacity_gbps": -1}, "capacity_gbps"),
        ({"capacity_gbps": float("nan")}, "capacity_gbps"),
        ({"capacity_gbps": float("inf")}, "capacity_gbps"),
        ({"capacity_gbps": "50"}, "capacity_gbps"),
        ({"capacity_gbps": True}, "capacity_gbps"),
        ({"capacity_gbps": 1e-9}, "capacity_gbps"),
        ({"capacity_gbps": 1e9}, "capacity_gbps"),
        ({"method": "best"}, "method"),
        ({"angles": 0}, "angles"),
        ({"angles": 2**20 + 1}, "angles"),
        ({"angles": 72.0}, "angles"),
        ({"resolution_ms": -1}, "resolution_ms"),
        ({"resolution_ms": float("nan")}, "resolution_ms"),
        ({"resolution_ms": 1e300}, "resolution_ms"),
        ({"resolution_ms": None}, "resolution_ms"),
        ({"slack_tolerance": -0.1}, "slack_tolerance"),
        ({"slack_tolerance": float("inf")}, "slack_tolerance"),
        ({"node_limit": 0}, "node_limit"),
        ({"node_limit": 1.5}, "node_limit"),
        ({"node_limit": True}, "node_limit"),
        ({"node_limit": 2**63}, "node_limit"),
        ({"deadline_s": -1}, "deadline_s"),
        ({"deadline_s": float("nan")}, "deadline_s"),
        ({"multipliers": {"x": 1.0}}, "'x'"),
        ({"multipliers": {"a": 0}}, "multipliers"),
        ({"multipliers": {"a": float("nan")}}, "multipliers"),
        ({"multipliers": {"a": 1e300}}, "multiplier"),
        ({"multipliers": {"a": 1e308}}, "multiplier"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], named: str) -> None:
    jobs = arguments.pop("jobs", [A, B])
    capacity = arguments.pop("capacity_gbps", 50)
    with pytest.raises(InputError, match=named):
        solve_link(jobs, capacity, **arguments)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, True])
def test_a_wrong_shift_is_named(value: Any) -> None:
    with pytest.raises(InputError, match=r"shifts_ms\['b'\]"):
        score_link([A, B], 50, {"b": value})


def test_a_shift_of_an_unknown_job_is_refused() -> None:
    with pytest.raises(InputError, match="'x'"):
        score_bounds([A, B], 50, {"x": 1.0})


def test_too_many_jobs_are_refused() -> None:
    with pytest.raises(InputError, match="1024"):
        solve_link([Job(f"j{k}", 10) for k in range(1025)], 50)


@pytest.mark.parametrize("name", ["period", "phase_offset", "phase_start", "phase_length", "phase_rate"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda array: None,
        lambda array: array.astype(np.float64),
        lambda array: array.astype(np.int32),
        lambda array: array[:0],
        lambda array: np.concatenate([array, array]),
        lambda array: np.stack([array, array]),
        lambda array: np.repeat(array, 2)[::2],
        lambda array: -1 - array,
        lambda array: np.full_like(array, 2**63 - 1),
    ],
    ids=["none", "float", "int32", "empty", "longer", "2-d", "strided", "negative", "huge"],
)
def test_the_kernel_refuses_wrong_arrays(name: str, spoil: Any) -> None:
    problem = PreparedLink.from_jobs([A, B], 50)
    arrays = {
        key: getattr(problem, key) for key in ("period", "phase_offset", "phase_start", "phase_length", "phase_rate")
    }
    arrays[name] = spoil(arrays[name])
    with pytest.raises((InputError, TypeError, ValueError)) as caught:
        _kernel.Link(*arrays.values(), problem.capacity)._solve(_kernel.Options())
    if isinstance(caught.value, InputError):
        assert re.fullmatch("expected .+, got .+", caught.value.reason)
        assert caught.value.place.startswith(("period", "phase"))


def test_jobs_without_demand_change_nothing() -> None:
    idle = Job("idle", 77.7)
    zero = Job("zero", 13.3, [Phase(0, 0, 50), Phase(1, 2, 0)])
    alone, with_idle = solve_link([A, B], 50), solve_link([idle, A, zero, B], 50)
    assert (alone.score, alone.hold_ms, alone.shifts_ms["b"]) == (
        with_idle.score,
        with_idle.hold_ms,
        with_idle.shifts_ms["b"],
    )
    assert with_idle.shifts_ms["idle"] == with_idle.shifts_ms["zero"] == 0
    assert with_idle.free_jobs == ()


def test_documented_numbers() -> None:
    """40/60 ms fit perfectly though 5 degrees do not show it; 255/247/331 ms cannot be held: all free, closed form."""
    pair = [Job("a", 40, [Phase(0, 10, 50)]), Job("b", 60, [Phase(0, 10, 50)])]
    assert solve_link(pair, 50).score == 1.0
    assert solve_link(pair, 50).perimeter_ms == 120
    trio = [Job("a", 255, [Phase(0, 114, 45)]), Job("b", 247, [Phase(9, 100, 40)]), Job("c", 331, [Phase(7, 90, 30)])]
    solution = solve_link(trio, 50)
    assert solution.free_jobs == ("a", "b", "c")
    assert solution.perimeter_ms == 255 * 247 * 331
    p, q, r = 114 / 255, 100 / 247, 90 / 331
    excess = p * q * (1 - r) * 35 + p * r * (1 - q) * 25 + q * r * (1 - p) * 20 + p * q * r * 65
    assert solution.score == pytest.approx(1 - excess / 50, abs=1e-12)
    # 200/250/300 ms on the paper's grid: one angle is 41.7 ms, and the claim is not what the shifts score.
    coarse = [Job("a", 200, [Phase(0, 90, 50)]), Job("b", 250, [Phase(0, 90, 50)]), Job("c", 300, [Phase(0, 90, 50)])]
    grid = solve_link(coarse, 50, method="angles", node_limit=None)
    assert grid.score <= solve_link(coarse, 50).score
    assert grid.claimed_score != pytest.approx(grid.score, abs=1e-6)


def test_demand_above_capacity_scores_below_zero() -> None:
    always = [Job("a", 100, [Phase(0, 100, 90)]), Job("b", 70, [Phase(0, 70, 60)])]
    assert solve_link(always, 50).score == -1.0


def test_the_two_methods_agree_where_the_grid_is_fine_enough() -> None:
    jobs = [Job("a", 72, [Phase(3, 20, 50)]), Job("b", 72, [Phase(50, 40, 30)]), Job("c", 36, [Phase(1, 7, 45)])]
    assert solve_link(jobs, 50, method="angles", angles=72).score == pytest.approx(
        solve_link(jobs, 50).score, abs=1e-12
    )


def test_deadline_is_kept_and_the_answer_is_valid() -> None:
    jobs = hard_jobs()
    solve_link(jobs, 50, node_limit=10)
    with works_less_than(2.0):
        solution = solve_link(jobs, 50, node_limit=None, deadline_s=0.2)
    assert not solution.optimal
    assert score_link(jobs, 50, solution.shifts_ms) == pytest.approx(solution.score, abs=1e-12)


def test_a_cancel_flag_stops_a_search() -> None:
    cancel = np.zeros(1, dtype=np.int32)
    timer = threading.Timer(0.2, lambda: cancel.__setitem__(0, 1))
    timer.start()
    with works_less_than(3.0), pytest.raises(KernelError, match="canceled"):
        PreparedLink.from_jobs(hard_jobs(), 50).solve(node_limit=None, cancel=cancel)
    timer.join()


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to a process")
def test_ctrl_c_ends_a_search_at_once() -> None:
    script = """
        from test_link_input import hard_jobs
        from cassini_core import solve_link
        print("ready", flush=True)
        try:
            solve_link(hard_jobs(), 50, node_limit=None)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    rest, work_s = interrupted(script)
    assert rest == "interrupted\n"
    assert work_s < 3.0  # the imports, half a second of search, and the end of the process


def test_concurrent_calls_give_the_same_answers() -> None:
    rng = np.random.default_rng(3)
    problems = [
        PreparedLink.from_jobs(
            [Job(f"j{k}", 255, [Phase(rng.uniform(0, 254), rng.uniform(5, 90), 40)]) for k in range(2 + i % 3)], 50
        )
        for i in range(24)
    ]

    def solve(problem: PreparedLink) -> tuple[Any, ...]:
        answer = problem.solve()
        return answer.shift.tolist(), answer.score_lower, answer.upper_bound, answer.slack.tolist(), answer.hold

    expected = [solve(problem) for problem in problems]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(4):
            assert list(pool.map(solve, problems)) == expected


def test_versions_agree() -> None:
    assert cc.__version__ == _kernel.library_version


def test_heavy_libraries_are_loaded_only_when_needed() -> None:
    program = (
        "import sys, cassini_core; from cassini_core import *; "
        "print([m for m in ('networkx', 'numba', 'msgspec', 'rich', 'cyclopts') if m in sys.modules])"
    )
    # `import *` asks for every public name, so the first line is what a plain import loads.
    plain = "import sys, cassini_core; print([m for m in ('networkx', 'numba', 'msgspec', 'rich') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", plain], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
    subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
