"""Where memory runs out a call raises ``MemoryError``, and the process, the problem and the ranker are as before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hosts

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="preloads a library, and looks into /proc"),
    pytest.mark.unsanitized(reason="a sanitizer keeps allocations to itself, and takes terabytes of addresses"),
]


@pytest.fixture(scope="module")
def failing_malloc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``failing_malloc.c`` as a library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("preloaded") / "failing_malloc.so"
    source = hosts.SUPPORT / "failing_malloc.c"
    options = ["-std=gnu11", "-O1", "-fno-builtin", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", library, source], check=True)
    return library


SWEEP = """
    import ctypes, sys
    import hosts
    import cassini_core as cc
    from cassini_core.problem_file import ranking_to_json

    process = ctypes.CDLL(None)
    problem = hosts.problem({problem!r})
    jobs, candidate = problem.jobs[:3], problem.candidates[0]

    def ranked(ranker):
        return ranking_to_json(ranker.rank(problem, threads={threads}, **hosts.FEW_NODES))

    calls = {{
        "solve_link": lambda: cc.solve_link(jobs, 50),
        "angles": lambda: cc.solve_link(jobs, 50, method="angles"),
        "score_link": lambda: cc.score_link(jobs, 50, dict.fromkeys([job.id for job in jobs], 1.0)),
        "score_bounds": lambda: cc.score_bounds(jobs, 50, dict.fromkeys([job.id for job in jobs], 1.0)),
        "harmonize": lambda: cc.harmonize(jobs),
        "rank": lambda: ranked(cc),
        "Ranker": lambda: ranked(kept),
    }}
    for name in {names!r}:
        call = calls[name]
        kept = cc.Ranker()
        expected = call()
        refused = answered = n = 0
        for rest in (0, 1):
            n, failed = 0, True
            while failed:
                kept.clear()
                process.fail_after(ctypes.c_long(n), rest)
                try:
                    assert call() == expected, (name, n)
                    answered += 1
                except MemoryError:
                    refused += 1
                finally:
                    failed = process.fail_no_more() > 0
                if n % 16 == 0:
                    assert call() == expected, (name, n)
                n += 1 + n // 8
        print(refused, answered)
"""


@pytest.mark.parametrize(
    ("names", "problem", "threads"),
    [
        (("solve_link", "angles", "score_link", "score_bounds", "harmonize", "rank"), "tree", 1),
        (("rank",), "loop", 2),
        (("Ranker",), "loop", 1),
        pytest.param(("rank",), "round", 2, marks=pytest.mark.slow),
    ],
)
def test_each_allocation_of_the_kernel_may_fail(
    failing_malloc: Path, names: tuple[str, ...], problem: str, threads: int
) -> None:
    script = SWEEP.format(names=names, problem=problem, threads=threads)
    preloaded = " ".join([*os.environ.get("LD_PRELOAD", "").split(), str(failing_malloc)])
    lines = hosts.run_host(script, env={"LD_PRELOAD": preloaded}, patience_s=180).splitlines()
    assert len(lines) == len(names)
    for line in lines:
        refused, answered = map(int, line.split())
        assert refused >= 10
        assert answered >= 2


LIMITED = """
    import random, resource
    import cassini_core as cc

    # Some 12 MB of demand levels. So few nodes are searched by the calling thread itself: Thread.start() of CPython
    # hangs where there is no memory for the first frame of the thread, and no library can help that.
    rng = random.Random(3)
    jobs = []
    for k in range(12):
        cuts = [rng.randrange(500_000) / 1000 for _ in range(100)]
        jobs.append(cc.Job(f"j{k}", 500, [cc.Phase(cut, 5 + k / 9, 5 + cut / 200) for cut in cuts]))

    def mapped():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()

    said = []
    for room in range(0, 32 << 20, 2 << 20):
        resource.setrlimit(resource.RLIMIT_AS, (mapped() + room, resource.RLIM_INFINITY))
        try:
            said.append(cc.solve_link(jobs, 50, node_limit=50))
        except MemoryError:
            said.append(None)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert {str(one) for one in said if one is not None} <= {str(cc.solve_link(jobs, 50, node_limit=50))}
    print(said.count(None), len(said) - said.count(None))
"""


def test_a_process_that_may_not_grow_is_told() -> None:
    refused, answered = map(int, hosts.run_host(LIMITED, patience_s=180).split())
    assert refused >= 3
    assert answered >= 3
