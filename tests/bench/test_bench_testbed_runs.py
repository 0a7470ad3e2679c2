"""Cases that are run: what is known of them without a simulation; and an experiment from end to end, quickly."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

import cassini_core as cc

pytest.importorskip("numba")

from bench.testbed.__main__ import experiments, main
from bench.testbed.cases import Case, run_case
from bench.testbed.changed import changed_profile
from bench.testbed.comparison import run_cases
from bench.testbed.experiment import Settings
from bench.testbed.schemes import named_cases

FEW = {"count": 6, "iterations": (20, 40)}


@functools.cache
def profile(workers: int) -> cc.Job:
    return cc.Job("a", 300.0, [cc.Phase(100.0, 60.0, 45.0), cc.Phase(240.0, 60.0, 20.0)])


@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_a_changed_profile_sends_the_same_for_the_part_that_is_asked(share: float) -> None:
    job = changed_profile(profile, share, 0.0, 4)
    assert [phase.duration_ms for phase in job.phases] == [60.0, 60.0]
    assert 120.0 / job.iteration_ms == pytest.approx(share)
    assert job.phases[-1].start_ms + 60.0 == pytest.approx(job.iteration_ms)


def test_commensurate_profiles_are_stretched_by_one_factor() -> None:
    job = changed_profile(profile, None, 100.0, 4)
    assert job.iteration_ms == 400.0
    assert [phase.duration_ms for phase in job.phases] == pytest.approx([80.0, 80.0])
    assert changed_profile(profile, None, 0.0, 4) == profile(4)


def test_ideal_is_slowed_by_nothing() -> None:
    found = run_case(Case("Ideal", tasks=FEW, options={"jitter_share": 0.0}), 1)
    assert found["slowdown"]["mean"] == pytest.approx(1.0, abs=1e-3)
    assert found["ended"] == found["tasks"] == 6
    assert found["restarts"] == 0


def test_a_record_says_which_models_ran_and_how_often() -> None:
    found = run_case(Case("Packed+Cassini", tasks=FEW), 2)
    assert sum(one["iteration_ms"]["n"] for one in found["models"].values()) == found["iteration_ms"]["n"]
    assert found["iteration_ms"]["n"] >= 6 * 20
    assert {one["candidates"] for one in found["ranked"]} <= set(range(11))


def test_worn_clusters_begin_the_same_for_all_schemes() -> None:
    base = Case("Themis", "dynamic", {"iterations": 20, "arriving": ()}, options={"jitter_share": 0.0}, worn=True)
    first, second = (run_case(case, 1) for case in named_cases(["Themis", "Packed"], base).values())
    assert first["slowdown"]["quantiles"] == second["slowdown"]["quantiles"]


def test_what_was_run_is_not_run_again_and_more_seeds_go_on(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    cases = {"one": Case("Packed", tasks=FEW), "other": Case("Random", tasks=FEW)}

    def settings(seeds: int) -> Settings:
        return Settings(seeds, tmp_path, 1, progress=lambda done, total: told.append((done, total)))

    before = run_cases(cases, settings(1))
    assert told == [(1, 2), (2, 2)]
    after = run_cases(cases, settings(2))
    assert told[2:] == [(3, 4), (4, 4)]
    assert before["one"]["slowdown"]["mean"] == after["one"]["slowdown"]["mean"][:1]


SAID = {
    "pairs": "| 2 jobs, sending 10 %, iteration times 0 % apart: mean slowdown, random phases over shifts |",
    "multi_gpu": "| Th+Cassini over Themis: mean iteration time | 1.4× |",
}


@pytest.mark.parametrize("name", ["pairs", pytest.param("multi_gpu", marks=pytest.mark.slow)])
def test_an_experiment_from_end_to_end(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["--quick", "--seeds", "1", "--processes", "1", "--out", str(out), "--kept", str(tmp_path / "kept")]
    assert main(["--only", name, *arguments]) == 0
    text = (out / "paper.md").read_text(encoding="utf-8")
    assert SAID[name] in text
    assert "Not to be quoted" in text
    assert (out / f"paper-{name}.png").stat().st_size > 10_000
    assert [path.name for path in out.glob("*.json")] == [f"paper-{name}.json"]
    figures = json.loads((out / f"paper-{name}.json").read_text(encoding="utf-8"))
    assert (figures["quick"], figures["seeds"]) == (True, 1)
    assert figures["figures"]


def test_every_experiment_has_the_four_names() -> None:
    there = experiments()
    assert len(there) >= 10
    for one in there.values():
        assert one.TITLE
        assert all(callable(getattr(one, name)) for name in ("run", "rows", "plot"))
