"""``cassini-core profile model``, ``workload``, ``show`` and ``fit``: what they write, say and refuse."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import cassini_core as cc
from cassini_core.problem_file import job_to_json
from cassini_core.profiles.compare import compare_jobs
from commands import Run

DATA = Path(__file__).parents[1] / "data"
MODEL = ["profile", "model", "--workers", "4", "--compute-ms", "141", "--gbps", "50", "--parameters", "138e6"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_a_model_becomes_a_job_file_that_says_so(run: Run) -> None:
    answer = run(*MODEL, "--no-overlap", "-o", "vgg16.json")
    assert (answer.status, answer.err) == (0, "")
    job, about = cc.load_profile("vgg16.json")
    assert job == cc.Job("vgg16", 207.24, [cc.Phase(141, 66.24, 50)])
    assert about["made_by"] == f"cassini-core {cc.__version__} profile model"
    assert (about["iteration_from"], about["rate_from"]) == ("computed", "computed")
    assert about["model"]["parameters"] == 138e6
    assert lines(answer.out)[0] == f"Warning: {about['warnings'][0]}"
    assert "data all_reduce      1                 414.000" in answer.out
    assert lines(answer.out)[-1] == "Wrote vgg16.json."


def test_standard_output_holds_the_job_and_nothing_else(run: Run) -> None:
    answer = run(*MODEL, "-o", "-", "--id", "x")
    assert json.loads(answer.out)["id"] == "x"
    assert run(*MODEL, "-o", "-").status == 0


def test_a_workload_becomes_a_job_file(run: Run) -> None:
    path = str(DATA / "workload/Resnet50_DataParallel.txt")
    assert run("profile", "workload", path, "--gbps", "100", "--workers", "16", "-o", "r.json").status == 0
    job, about = cc.load_profile("r.json")
    assert about["inputs"] == ["Resnet50_DataParallel.txt"]
    assert sum(phase.duration_ms * phase.gbps for phase in job.phases) / 8 == pytest.approx(191.272, abs=1e-3)


def test_warnings_come_before_everything_else(run: Run) -> None:
    run("profile", "workload", str(DATA / "workload/Transformer_HybridParallel.txt"), "--gbps", "9", "--workers", "8",
        "-o", "t.json")  # fmt: skip
    warnings = cc.load_profile("t.json")[1]["warnings"]
    assert len(warnings) > 1
    for answer in (
        run("profile", "show", "t.json"),
        run("profile", "kineto", str(DATA / "kineto/rank3_of_8.json.gz"), "--gbps", "50", "-o", "k.json"),
    ):
        said = [line.startswith("Warning: ") for line in lines(answer.out)]
        assert said[0]
        assert said == sorted(said, reverse=True)
    shown = lines(run("profile", "show", "t.json").out)
    assert shown[: len(warnings)] == [f"Warning: {one}" for one in warnings]


def test_show_says_where_figures_come_from(run: Run) -> None:
    about = {
        "made_by": "cassini-core 9 profile kineto", "inputs": ["r0.json", "r1.json"],
        "iteration_ms": {"typical": 255, "least": 250.5, "most": 261, "count": 7}, "iteration_from": "measured",
        "rate_from": "given", "recorded_gbps": 20.0, "kept_gbps": 19.8, "warnings": ["one rank only"],
    }  # fmt: skip
    Path("j.json").write_bytes(job_to_json(cc.Job("vgg", 255, [cc.Phase(141, 114, 45)]), about))
    out = run("profile", "show", "j.json").out
    assert lines(out)[0] == "Warning: one rank only"
    for line in (
        "  141.000      114.000  45.000  641.250",
        "One iteration takes 255.000 ms and puts 641.250 MB on the wire (20.118 Gbit/s on average, 45.000 at most).",
        "Made by cassini-core 9 profile kineto from r0.json, r1.json.",
        "Iteration time: measured; between 250.500 and 261.000 ms, 7 of them.",
        "Bytes: given; the phases carry 99.0% of the bytes known.",
    ):
        assert line in out.splitlines()


@pytest.mark.parametrize(
    "about",
    [
        None,
        {},
        {"measured_by": "cassini-core 0.1.0 profile counters", "iteration_ms": {"least": 1.0, "most": 2.5}},
        {"made_by": ["x\n", {}], "inputs": 5, "iteration_ms": [], "iteration_from": None, "rate_from": {},
         "recorded_gbps": "much", "kept_gbps": True, "warnings": "no list"},
        {"iteration_ms": {"least": "a", "most": None}, "warnings": [1, None, "\u202e\n"], "recorded_gbps": 0,
         "kept_gbps": 1, "rate_from": "measured"},
    ],
)  # fmt: skip
def test_show_takes_whatever_a_file_says_of_itself(run: Run, about: dict[str, Any] | None) -> None:
    Path("j.json").write_bytes(job_to_json(cc.Job("a", 40), about))
    answer = run("profile", "show", "j.json")
    assert (answer.status, answer.err) == (0, "")
    assert "\u202e" not in answer.out
    if about and "measured_by" in about:
        assert "Made by cassini-core 0.1.0 profile counters." in answer.out
        assert "Iteration time: measured; between 1.000 and 2.500 ms." in answer.out
    if not about:
        assert "The file does not say where its figures come from." in answer.out


def test_every_picture_is_also_numbers(run: Run) -> None:
    run(*MODEL, "--no-overlap", "-o", "j.json")
    for name, begins in (("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.pdf", b"%PDF")):
        answer = run("profile", "show", "j.json", "--plot", name)
        assert (answer.status, lines(answer.out)[-1]) == (0, f"Wrote {name}.")
        assert Path(name).read_bytes().startswith(begins)
    data = json.loads(run("profile", "show", "j.json", "--plot", "q.png", "--json").out)
    assert data["format"] == "cassini-job-plot/1"
    assert data["demand"] == {"time_ms": [0, 141, 141, 207.24], "gbps": [0, 0, 50, 50]}
    assert data["circle"] == [{"from_degrees": pytest.approx(141 / 207.24 * 360), "to_degrees": 360, "gbps": 50}]
    assert Path("q.png").exists()


def test_a_picture_without_matplotlib_is_refused_in_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run(*MODEL, "-o", "j.json")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    answer = run("profile", "show", "j.json", "--plot", "p.png")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "cassini-core[plots]" in answer.err
    assert not Path("p.png").exists()
    assert run("profile", "show", "j.json", "--json").status == 0


def test_fit_prints_what_the_comparison_says(run: Run) -> None:
    run(*MODEL, "--no-overlap", "-o", "a.json")
    run(*[*MODEL[:6], "--gbps", "48", *MODEL[8:]], "--no-overlap", "-o", "b.json")
    found = compare_jobs(cc.load_profile("a.json")[0], cc.load_profile("b.json")[0])
    answer = run("profile", "fit", "a.json", "b.json")
    assert (answer.status, lines(answer.out)[-1]) == (0, f"{found.verdict}.")
    assert "b agrees with a" in found.verdict
    data = json.loads(run("profile", "fit", "a.json", "b.json", "--json").out)
    assert (data["format"], data["ids"]) == ("cassini-job-fit/1", ["a", "b"])
    assert data["overlap"] == found.overlap
    assert data["verdict"] == found.verdict


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("fit - -", "expected one file from standard input, got '-' twice"),
        ("model -o j.json --compute-ms 1 --gbps 1 --parameters 1", "--workers"),
        (
            "model -o j.json --workers 1.5 --compute-ms 1 --gbps 1 --parameters 1",
            "whole number of at least 1, got '1.5'",
        ),
        ("model -o j.json --workers 2 --layers 0x10 --compute-ms 1 --gbps 1 --parameters 1", "got '0x10'"),
        ("model -o j.json --workers 2 --compute-ms 1 --gbps 1", "expected either this or gradient_bytes"),
        (
            "model -o j.json --workers 2 --compute-ms nan --gbps 1 --parameters 1",
            "compute_ms: expected a finite number",
        ),
        ("model -o j.json --workers 2 --compute-ms 1 --gbps 1 --parameters 1 --sharding zero", '"optimizer"'),
        ("model -o none/j.json --workers 2 --compute-ms 1 --gbps 1 --parameters 1", "--output"),
        ("workload - -o j.json --gbps 1", "not read from standard input"),
        ("workload none.txt -o j.json --gbps 1", "none.txt"),
        ("workload none.txt -o j.json", "--gbps"),
        ("show none.json", "none.json"),
        ("show none.json --plot p.gif", ".png, .svg, .pdf"),
        ("show none.json --plot none/p.png", "--plot: expected a file in a folder that exists"),
        ("fit none.json", "argument"),
    ],
)
def test_wrong_calls_are_one_line_and_status_2(run: Run, line: str, word: str) -> None:
    answer = run("profile", *line.split())
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert word in answer.err
    assert list(Path().iterdir()) == []
