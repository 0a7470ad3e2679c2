"""Links of a ranking solved by the workers of a Dask cluster, some of which are killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pytest
from bench.ranking.rounds import Settings, generate

from cassini_core import executor_runner, rank
from cassini_core.joint.base_search import BaseSearch
from cassini_core.kernel import link_arrays as link_batch
from lossy_executors import count_chunks_solved_here, die_at_the_second_chunk, many_links, ranked

pytestmark = pytest.mark.slow


@pytest.fixture
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Two worker processes with a nanny each, reached through the loopback alone."""
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    config = {"distributed.scheduler.allowed-failures": getattr(request, "param", 3)}
    with (
        dask.config.set(config),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            local_directory=str(tmp_path),
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


def test_a_cluster_answers_the_same(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 60.0)
    problem, expected = many_links(), ranked(many_links(), None)
    solved_here = count_chunks_solved_here(monkeypatch)
    executor = client.get_executor()
    assert isinstance(executor, Executor)
    assert ranked(problem, executor) == expected
    assert ranked(problem, executor, deadline_s=1e6) == expected
    assert not solved_here
    executor.shutdown()
    assert ranked(problem, executor) == expected
    assert solved_here


@pytest.mark.parametrize("client", [3, 0], indirect=True, ids=["tried again", "given up"])
def test_a_worker_killed_in_mid_run_loses_nothing(
    client: Any, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler gives the chunk to another worker; or, where it gives up, it is solved here."""
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 60.0)
    problem, expected, token = many_links(), ranked(many_links(), None), tmp_path / "killed"
    solved_here = count_chunks_solved_here(monkeypatch)
    assert len(client.run(die_at_the_second_chunk, str(token))) == 2
    assert ranked(problem, client.get_executor()) == expected
    assert token.exists()
    assert bool(solved_here) == ("given up" in request.node.name)


def test_a_cluster_searches_candidates(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_runner, "PATIENCE_S", 60.0)
    problem = generate(Settings(racks=20, gpus_per_rack=32, uplinks=3, jobs=150, candidates=24, moves=3))
    expected = ranked(problem, None, node_limit=100)
    monkeypatch.setattr(BaseSearch, "near", None)  # nothing is searched here
    assert ranked(problem, client.get_executor(), node_limit=100) == expected


def test_a_cluster_that_is_gone(client: Any) -> None:
    problem, expected = many_links(), ranked(many_links(), None)
    executor = client.get_executor()
    client.close()
    assert ranked(problem, executor) == expected


def fall_asleep() -> None:
    """Runs in a worker: its chunks take half a minute from now on."""
    solve = link_batch.solve_chunk

    def solve_late(*arguments: Any) -> Any:
        time.sleep(30.0)
        return solve(*arguments)

    link_batch.solve_chunk = solve_late


def test_a_deadline_is_kept_where_workers_are_slow(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they do not answer in time is solved here, as far as time permits."""
    solved_here = count_chunks_solved_here(monkeypatch)
    problem = many_links()
    best = {one.id: one.score or 0.0 for one in rank(problem, period_tolerance=0.0).candidates}
    solved_here.clear()
    client.run(fall_asleep)
    start = time.monotonic()
    ranking = rank(problem, executor=client.get_executor(), deadline_s=0.5, period_tolerance=0.0)
    assert time.monotonic() - start < 20.0
    assert solved_here
    assert best.keys() == {one.id for one in ranking.candidates}
    assert all(one.upper_bound >= best[one.id] - 1e-9 for one in ranking.candidates)
