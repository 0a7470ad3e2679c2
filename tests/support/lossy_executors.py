"""Executors that lose what they are given, and a round with many links for them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable
from concurrent.futures import Executor, Future
from types import ModuleType
from typing import Any

import pytest

from cassini_core import Job, Phase, Problem
from cassini_core.joint import search_away
from cassini_core.kernel import link_arrays as link_batch
from cassini_core.links import batch_solver
from cassini_core.problem_file import ranking_to_json
from cassini_core.ranking.rank_problem import rank
from placements import problem_of


def many_links(n_links: int = 40) -> Problem:
    """A round with many distinct link problems of two to four jobs."""
    rng = random.Random(7)
    jobs = [
        Job(f"j{k:02}", rng.choice([100.0, 150.0, 200.0]), [Phase(rng.randrange(60), rng.randint(5, 39), 10 + k)])
        for k in range(30)
    ]
    routes: dict[str, list[str]] = {job.id: [] for job in jobs}
    for link in range(n_links):
        for job in rng.sample(jobs, rng.randint(2, 4)):
            routes[job.id].append(f"l{link:02}")
    capacities = {f"l{link:02}": 40.0 + link for link in range(n_links)}
    return problem_of(jobs, capacities, c=routes, part={job: links[:1] for job, links in routes.items()})


def ranked(problem: Problem, executor: Executor | None, **arguments: Any) -> bytes:
    """The ranking as JSON; all threads here count as one."""
    return ranking_to_json(rank(problem, executor=executor, threads=1, period_tolerance=0.0, **arguments))


class Forgetful(Executor):
    """Takes everything and answers nothing."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.futures.append(Future())
        return self.futures[-1]


class Failing(Executor):
    """Every other chunk ends with an error; the others are solved at once."""

    def __init__(self, error: BaseException) -> None:
        self.error, self.count = error, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.count += 1
        future: Future[Any] = Future()
        if self.count % 2:
            future.set_exception(self.error)
        else:
            future.set_result(fn(*args, **kwargs))
        return future


class Refusing(Executor):
    """Takes the first few chunks only."""

    def __init__(self, error: Exception, after: int) -> None:
        self.error, self.left = error, after

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.left == 0:
            raise self.error
        self.left -= 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Gone(Exception):
    """An error of this module, which the executors here are of, too."""


def count_chunks_solved_here(monkeypatch: pytest.MonkeyPatch) -> list[batch_solver.Chunk]:
    """Filled with the chunks that threads of this process solve in place of an executor."""
    seen: list[batch_solver.Chunk] = []
    solve = batch_solver._solve

    def count(chunk: batch_solver.Chunk, *arguments: Any) -> Any:
        seen.append(chunk)
        return solve(chunk, *arguments)

    monkeypatch.setattr(batch_solver, "_solve", count)
    return seen


def die_at_call(number: int, module: ModuleType, name: str, token: str) -> None:
    """Runs in each worker process. The first worker that is at this call of a function is killed there."""
    function, calls = getattr(module, name), [0]

    def run_or_die(*arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == number:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(token, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)

    setattr(module, name, run_or_die)  # what was sent is looked up by name


def die_at_the_second_chunk(token: str) -> None:
    """Runs in each worker process when it starts."""
    die_at_call(2, link_batch, "solve_chunk", token)


def die_at_the_third_part(token: str) -> None:
    """Runs in each worker process when it starts."""
    die_at_call(3, search_away, "search_placements", token)
