"""The hosts of other languages: what their README shows is true. `make check-hosts` builds and runs them all."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType

import pytest

import cassini_core as cc
from cassini_core.problem_file import ranking_to_json
from hosts import hard
from work import works_less_than

HOSTS = Path(__file__).parents[2] / "examples" / "hosts"
README = (HOSTS / "README.md").read_text(encoding="utf-8")


def module(path: Path) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(f"host_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # dataclasses look for their module there
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return module(HOSTS / "check.py")


@pytest.fixture(scope="module")
def scheduler() -> ModuleType:
    return module(HOSTS / "python" / "rank.py")


def test_the_python_host_prints_what_is_shown(check: ModuleType) -> None:
    run = [sys.executable, str(HOSTS / "python" / "rank.py")]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout == check.read_output(README)


def test_the_two_jobs_alone_are_those_of_the_problem_file(check: ModuleType, data_dir: Path) -> None:
    ranking = json.loads(ranking_to_json(cc.rank(cc.load_problem(data_dir / "two-jobs.json"))))
    shown = check.read_output(README)
    assert check.missing_truth(ranking, shown) == []
    assert len(check.missing_truth(ranking, shown.replace("p+0", "p-1").replace("7", "8"))) == 4


def test_recipes_name_what_there_is(check: ModuleType) -> None:
    recipes = check.read_recipes(README)
    assert recipes.keys() == check.TOOLS.keys()
    for name, recipe in recipes.items():
        (folder,) = re.findall(r"^cd (\w+)$", recipe.build, re.MULTILINE)
        assert (HOSTS / folder).is_dir()
        assert recipe.run.startswith(("./", "python "))
        assert bool(recipe.test) == (name != "Python")


def test_a_prefix_stands_for_the_package(check: ModuleType) -> None:
    recipes = check.read_recipes(README)
    assert (
        "export PKG_CONFIG_PATH='/a prefix/lib64/pkgconfig'\n" in recipes["C"].against(Path("/a prefix"), "lib64").build
    )
    assert "-DCMAKE_PREFIX_PATH=/opt\n" in recipes["C++"].against(Path("/opt"), "lib").build
    assert "-Dcassini_DIR=/opt/lib64/cmake/cassini\n" in recipes["C++"].against(Path("/opt"), "lib64").build
    with pytest.raises(SystemExit, match="without Python"):
        check.Recipe('f="$(python -m cassini_core --library)"', "./rank", "").against(Path("/opt"), "lib")


def test_another_output_is_seen(check: ModuleType) -> None:
    rows = [check.Outcome(name, "cc", output, 1, 1, 1) for name, output in (("C", "1\n"), ("Go", "1 \n"))]
    assert [line.split(" | ")[2] for line in check.table(rows, "1\n").splitlines()[2:]] == ["same", "DIFFERS"]


def test_workers_give_one_answer_and_know_it_the_second_time(scheduler: ModuleType) -> None:
    with scheduler.Scheduler(workers=8, deadline_s=60) as workers:
        first = workers.submit(scheduler.make_round()).result()
        assert all(pending.result() == first for pending in [workers.submit(scheduler.make_round()) for _ in range(32)])
        assert workers._ranker.cache_info().misses == 2


def test_an_interrupted_scheduler_ends_by_its_deadline(scheduler: ModuleType) -> None:
    rounds: list[Future[cc.Ranking]] = []

    def interrupted() -> None:
        with scheduler.Scheduler(workers=2, deadline_s=0.5) as workers:
            rounds.extend(workers.submit(hard()) for _ in range(64))
            raise KeyboardInterrupt

    with works_less_than(8.0), pytest.raises(KeyboardInterrupt):  # all 64 take 32 s
        interrupted()
    assert all(pending.done() for pending in rounds)
    assert sum(pending.cancelled() for pending in rounds) >= 60
