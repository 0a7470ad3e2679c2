"""Schedulers compared: the figures are those of the runs, and what is kept, resumed or run side by side is the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from training_tasks import racks_of, task

pytest.importorskip("numba")

from cassini_core.schedulers.augmented import Augmented, Plain
from cassini_core.schedulers.in_order import FirstFit, Random
from cassini_core.schedulers.state import ClusterState, TrainingTask
from cassini_core.schedulers.task_models import FixedProfile
from cassini_core.simulation import comparison
from cassini_core.simulation.cluster import ClusterOptions, ClusterResult, simulate_cluster
from cassini_core.simulation.comparison import DEFAULT_OPTIONS, Comparison, compare_schedulers
from cassini_core.simulation.marking import Marking
from cassini_core.simulation.run_figures import FIGURES, SHARES
from cassini_core.topology.model import Topology
from cassini_core.topology.routing import Router

BURST = FixedProfile(cc.Job("any", 200, [cc.Phase(100, 100, 40)]))


def tasks(count: int = 3, iterations: int = 20) -> list[TrainingTask]:
    return [TrainingTask(f"t{number}", 2.0 * number, iterations, BURST, 3) for number in range(count)]


def compare(*schedulers: str, network: Topology | None = None, **more: Any) -> Comparison:
    some = more.pop("tasks", None)
    return compare_schedulers(
        network or racks_of(3, 2),
        tasks() if some is None else some,
        schedulers or ("random", "ideal"),  # type: ignore[arg-type]
        gpus_per_host=more.pop("gpus_per_host", 1),
        **{"seeds": 2, **more},
    )


def percentile(ordered: list[float], share: float) -> float:
    """Between the two nearest values, in proportion."""
    place = (len(ordered) - 1) * share / 100
    below = min(int(place), len(ordered) - 2)
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def figures_said_otherwise(result: ClusterResult) -> dict[str, float | None]:
    """The figures, task by task."""
    lengths = [ms for one in result.tasks for ms in (one.iterations.end_ms - one.iterations.came_ms).tolist()]
    ended = [one for one in result.tasks if one.end_s == one.end_s]
    started = [one for one in result.tasks if one.first_start_s == one.first_start_s]
    marked = [packets for one in result.tasks for packets in one.iterations.marked.tolist()]
    return {
        "tasks_done": len(ended),
        "iterations": len(lengths),
        "mean_ms": sum(lengths) / len(lengths) if lengths else None,
        "p99_ms": percentile(sorted(lengths), 99) if lengths else None,
        "waited_s": sum(one.first_start_s - one.arrival_s for one in started) / len(started) if started else None,
        "completion_s": sum(one.end_s - one.arrival_s for one in ended) / len(ended) if ended else None,
        "ended_s": result.now_s,
        "restarts": sum(one.restarts for one in result.tasks),
        "adjustments_per_min": sum(one.adjusted for one in result.tasks) * 6e4 / sum(lengths) if lengths else None,
        "marked": sum(marked) / len(marked) if marked else None,
    }


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 4), st.sampled_from(["grid", "agent"]), st.sampled_from([3.0, 1e9]), st.integers(0, 100))
def test_figures_are_those_of_the_runs(count: int, holding: Any, until_s: float, seed: int) -> None:
    network, some = racks_of(3, 2), tasks(count)
    options = ClusterOptions(holding=holding, until_s=until_s, jitter_share=0.05, marking=Marking())
    found = compare("random", network=network, tasks=some, seeds=[seed], options=options)
    for one in found.compared:
        scheduler = Random(seed)
        decider = Augmented(scheduler, network) if one.cassini else Plain(scheduler)
        result = simulate_cluster(decider, network, some, options, seed=seed, gpus_per_host=1)
        figures = one.runs[seed]["figures"]
        assert list(figures) == list(FIGURES)
        assert figures["discarded_rounds"] == (0 if one.cassini else None)
        for name, value in figures_said_otherwise(result).items():
            assert figures[name] == (None if value is None else pytest.approx(value))
        lengths = sorted(ms for each in result.tasks for ms in each.iterations.length_ms.tolist())
        assert one.percentiles_ms() == pytest.approx([percentile(lengths, share) for share in SHARES])


def test_each_scheduler_comes_plain_and_then_with_cassini_and_ideal_alone() -> None:
    found = compare("ideal", "random", "random", "packed", seeds=1)
    names = ["ideal", "random", "random + Cassini", "packed", "packed + Cassini"]
    assert [one.name for one in found.compared] == names
    assert found.gain("ideal", "mean_ms") is None
    assert found.gain("themis", "mean_ms") is None


def test_a_gain_is_the_ratio_seed_by_seed() -> None:
    found = compare("random", seeds=[7, 3, 5])
    assert found.seeds == (7, 3, 5)
    plain, held = ([run["figures"]["mean_ms"] for run in one.runs.values()] for one in found.compared)
    ratios = sorted(one / other for one, other in zip(plain, held, strict=True))
    gain = found.gain("random", "mean_ms")
    assert gain is not None
    assert [gain.low, gain.median, gain.high] == ratios


def test_where_nothing_ended_there_is_no_completion_and_no_gain() -> None:
    found = compare("random", options=ClusterOptions(until_s=0.1))
    for figure in ("mean_ms", "completion_s"):
        assert found.compared[0].estimate(figure) is None
        assert found.gain("random", figure) is None
    assert found.compared[0].percentiles_ms() == []
    told = json.loads(found.to_json())
    assert told["gains"] == [{"scheduler": "random", "mean_ms": None, "p99_ms": None, "completion_s": None}]


def test_schedulers_draw_with_the_seed_and_so_do_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def router(topology: Topology, *, ecmp: Any, seed: int) -> Router:
        asked.append((ecmp, seed))
        return Router(topology, ecmp=ecmp, seed=seed)

    monkeypatch.setattr(comparison, "Router", router)
    compare("random", seeds=[4, 9], ecmp="hash")
    assert set(asked) == {("hash", 4), ("hash", 9)}


def test_rounds_in_which_all_is_discarded_are_counted() -> None:
    # Three tasks, of which each two meet on another link.
    hosts = [{"h1-1": 1, "h2-1": 1}, {"h2-2": 1, "h3-1": 1}, {"h3-2": 1, "h1-2": 1}]
    some = [TrainingTask(f"t{at}", 0.0, 20, BURST, 2) for at in range(3)]

    class Crossed:
        interval_s = None

        def propose(self, state: ClusterState, candidates: int) -> list[dict[str, dict[str, int]]]:
            return [{one.id: hosts[int(one.id[1])] for one in state.tasks}]

    # With three tasks, with two, which meet on several links, and not with the last.
    for loops, expected in (("discard", 2), ("joint", 0)):
        decider = comparison._Counting(Augmented(Crossed(), racks_of(3, 2), loops=loops, resolution_ms=0))
        assert simulate_cluster(decider, racks_of(3, 2), some, gpus_per_host=1).rounds == 4
        assert decider.discarded_rounds == expected


def test_options_reach_the_ranking() -> None:
    network = racks_of(4, 3)
    few, many = (compare("random", network=network, candidates=count).to_json() for count in (1, 10))
    assert few != many
    with pytest.raises(cc.InputError, match="loops"):
        compare("random", rank_options={"loops": "never"})


# Kept, and gone on with.


def refused(*_: Any, **__: Any) -> ClusterResult:
    raise AssertionError("run again")


def test_what_is_kept_is_not_run_again_and_what_is_new_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    through = compare("random", "packed", seeds=3).to_json()
    kept = compare("random", seeds=2, folder=tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.json")) == [
        "random-cassini/seed-0.json",
        "random-cassini/seed-1.json",
        "random/seed-0.json",
        "random/seed-1.json",
    ]
    with monkeypatch.context() as patched:
        patched.setattr(comparison, "simulate_cluster", refused)
        assert compare("random", seeds=2, folder=tmp_path).to_json() == kept.to_json()
    assert compare("random", "packed", seeds=3, folder=tmp_path).to_json() == through


def test_a_run_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = 0

    def interrupted(*arguments: Any, **more: Any) -> ClusterResult:
        nonlocal runs
        runs += 1
        if runs == 4:
            raise KeyboardInterrupt
        return simulate_cluster(*arguments, **more)

    monkeypatch.setattr(comparison, "simulate_cluster", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare("random", "ideal", folder=tmp_path)
    assert compare("random", "ideal", folder=tmp_path).to_json() == compare("random", "ideal").to_json()


OTHER: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "iterations": (lambda: {"tasks": tasks(iterations=21)}, "tasks"),
    "profile": (
        lambda: {"tasks": [replace(one, profiles=FixedProfile(cc.Job("any", 201))) for one in tasks()]},
        "tasks",
    ),
    "pattern": (lambda: {"tasks": [replace(one, pattern="tree") for one in tasks()]}, "tasks"),
    "network": (lambda: {"network": racks_of(2, 4)}, "network"),
    "GPUs": (lambda: {"gpus_per_host": 2}, "gpus_per_host"),
    "options": (lambda: {"options": replace(DEFAULT_OPTIONS, margin=0.02)}, "options"),
    "marking": (lambda: {"options": replace(DEFAULT_OPTIONS, marking=Marking())}, "options"),
    "routes": (lambda: {"ecmp": "hash"}, "ecmp"),
}


@pytest.mark.parametrize("name", OTHER)
def test_runs_of_something_else_are_not_taken(name: str, tmp_path: Path) -> None:
    compare("random", seeds=1, folder=tmp_path)
    other, key = OTHER[name]
    with pytest.raises(cc.InputError, match=rf"random/seed-0\.json experiment\.{key}: expected .* another experiment"):
        compare("random", seeds=1, folder=tmp_path, **other())


def test_other_candidates_are_another_experiment_with_cassini_only(tmp_path: Path) -> None:
    compare("random", "ideal", seeds=1, folder=tmp_path)
    compare("ideal", seeds=1, folder=tmp_path, candidates=3)
    with pytest.raises(cc.InputError, match=r"random-cassini/seed-0\.json experiment\.candidates: expected 3, got 10"):
        compare("random", seeds=1, folder=tmp_path, candidates=3)


def test_endless_options_are_kept_as_json_that_anybody_reads(tmp_path: Path) -> None:
    compare("ideal", seeds=1, folder=tmp_path)
    text = (tmp_path / "ideal" / "seed-0.json").read_text()
    assert "Infinity" not in text
    assert "NaN" not in text


@pytest.mark.slow
def test_processes_say_the_same() -> None:
    one, two = (compare("random", "ideal", seeds=3, processes=count).to_json() for count in (1, 2))
    assert one == two


def test_progress_only_grows_and_counts_tasks_of_runs_under_way() -> None:
    told: list[float] = []

    def listen(done: float, total: int) -> None:
        assert total == 6
        told.append(done)

    compare("random", "ideal", seeds=2, progress=listen)
    assert told == sorted(told)
    assert {round(3 * done) for done in told} == set(range(19))
    assert told[-1] == 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tasks": []}, "tasks: expected at least one, got none"),
        ({"seeds": 0}, "seeds: expected a whole number of at least 1, got 0"),
        ({"seeds": []}, "seeds: expected at least one, got none"),
        ({"seeds": [-1]}, "seed: expected a whole number from 0"),
        ({"tasks": [task("big", 7)]}, "task 'big' workers: expected workers for which the network's 6 GPUs have room"),
        (
            {"tasks": [task("big", 1, gpus_per_worker=2)]},
            "task 'big' workers: expected workers of 2 GPUs for which the network's 6 GPUs have room, got 1",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(cc.InputError) as refused:
        compare("random", **arguments)
    assert said in str(refused.value)


def test_unknown_schedulers_are_refused() -> None:
    with pytest.raises(cc.InputError, match=r"scheduler: expected one of first-fit, packed, .*, got 'slurm'"):
        compare("slurm")
    with pytest.raises(cc.InputError, match="schedulers: expected at least one, got none"):
        compare_schedulers(racks_of(1, 2), tasks(), [])


def test_first_fit_is_first_fit() -> None:
    network, some = racks_of(3, 2), tasks()
    (plain, _) = compare("first-fit", network=network, seeds=[5]).compared
    result = simulate_cluster(Plain(FirstFit(5)), network, some, DEFAULT_OPTIONS, seed=5, gpus_per_host=1)
    assert plain.runs[5]["figures"]["ended_s"] == result.now_s
