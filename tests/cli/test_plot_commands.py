"""``cassini-core plot``: which picture, of what, where to, and what is said where there is none."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cassini_core as cc
from cassini_core.cli import main
from cassini_core.plots.demand import demand_plot_data
from cassini_core.problem_file import answer_to_json, problem_to_json

ROOT = Path(__file__).parents[2]
PROBLEM = str(ROOT / "examples" / "three-racks.json")
JOB = str(ROOT / "examples" / "profiles" / "resnet50.json")
LINK = json.dumps(
    {
        "capacity_gbps": 50,
        "jobs": [
            {"id": name, "iteration_ms": 255, "phases": [{"start_ms": 141, "duration_ms": 114, "gbps": 45}]}
            for name in ("a,b", "c")
        ],
    }
)


class Answer(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Answer]


@pytest.fixture(scope="module")
def answer_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The example with its ranking, so that it is ranked once."""
    path = tmp_path_factory.mktemp("plot") / "answer.json"
    problem = cc.load_problem(PROBLEM)
    path.write_bytes(answer_to_json(cc.rank(problem), problem))
    return str(path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("link.json").write_text(LINK)

    def call(*arguments: str) -> Answer:
        status = main(["plot", *arguments])
        return Answer(status, *capsys.readouterr())

    return call


def numbers(answer: Answer) -> dict[str, Any]:
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.count("\n") == 1
    found: dict[str, Any] = json.loads(answer.out)
    assert found["format"] == "cassini-plot/1"
    return found


def test_by_default_the_best_candidate_and_its_worst_link_are_shown(run: Run, answer_file: str) -> None:
    for kind in ("circles", "demand", "landscape"):
        found = numbers(run(kind, answer_file, "--json"))
        assert (found["kind"], found["candidate"], found["link"]) == (kind, "beside-its-twin", "S9-down2")
    assert numbers(run("affinity", answer_file, "--json"))["candidate"] == "beside-its-twin"
    assert numbers(run("candidates", answer_file, "--json"))["best"] == "beside-its-twin"


def test_by_default_a_link_that_jobs_share_is_preferred_to_a_narrow_one(run: Run, tmp_path: Path) -> None:
    jobs = [cc.Job(name, 100, [cc.Phase(0, 30, 40)]) for name in "ab"]
    links = [cc.Link("narrow", 10), cc.Link("shared", 50)]
    routes = {"a": ["narrow", "shared"], "b": ["shared"]}
    file = tmp_path / "narrow.json"
    file.write_bytes(problem_to_json(cc.Problem(jobs, links, [cc.Candidate("c", routes)])))
    assert numbers(run("demand", str(file), "--json"))["link"] == "shared"
    file.write_bytes(problem_to_json(cc.Problem(jobs[:1], links, [cc.Candidate("c", {"a": routes["a"]})])))
    assert numbers(run("demand", str(file), "--json"))["link"] == "narrow"


def test_a_candidate_a_link_and_jobs_can_be_chosen(run: Run, answer_file: str) -> None:
    chosen = ["--candidate", "one-plane", "--link", "S2-down1"]
    found = numbers(run("landscape", answer_file, *chosen, "--jobs", "vgg16-b,vgg16-a", "--json"))
    assert (found["candidate"], found["held"], found["moved"]) == ("one-plane", "vgg16-b", "vgg16-a")
    assert found["n_others"] == 2
    near = numbers(run("affinity", answer_file, "--candidate", "triangle", "--job", "vgg16-a", "--json"))
    assert [job["id"] for job in near["jobs"]] == ["vgg16-a", "vgg16-b", "wideresnet101"]


def test_a_problem_is_ranked_first(run: Run, answer_file: str) -> None:
    assert run("candidates", PROBLEM, "--json") == run("candidates", answer_file, "--json")


def test_a_link_file_is_solved_first(run: Run) -> None:
    found = numbers(run("demand", "link.json", "--json"))
    jobs, capacity_gbps = cc.problem_file.load_link("link.json")
    solution = cc.solve_link(jobs, capacity_gbps)
    expected = demand_plot_data(jobs, capacity_gbps, solution.shifts_ms, solution.free_jobs)
    assert found["after"] == json.loads(json.dumps(expected["after"]))
    assert numbers(run("landscape", "link.json", "--jobs", "c,a,b", "--json"))["moved"] == "a,b"


def test_standard_input_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINK.encode())))
    assert numbers(run("circles", "-", "--json"))["link"] == "standard input"


@pytest.mark.parametrize("arguments", [("job", JOB), ("landscape", "link.json", "--dark")])
def test_a_picture_is_written_and_it_is_said(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments, "-o", "a.svg") == (0, "Wrote a.svg.\n", "")
    assert Path("a.svg").read_bytes().startswith(b"<?xml")


def test_numbers_and_picture_come_together(run: Run) -> None:
    assert numbers(run("landscape", "link.json", "--json", "-o", "a.png"))["kind"] == "landscape"
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("demand", "link.json"), "plot: expected -o PICTURE (.png, .svg or .pdf) or --json, got neither"),
        (("demand", "link.json", "-o", "a.gif"), "plot: expected a file name ending in .png, .svg, .pdf, got 'a.gif'"),
        (("demand", "link.json", "-o", "-"), "plot: expected a file name ending in .png, .svg, .pdf, got '-'"),
        (("demand", "link.json", "-o", "no/a.svg"), "--output: expected a file in a folder that exists"),
        (("demand", "link.json", "--link", "x", "--json"), "--link: expected a problem or an answer to choose from"),
        (("landscape", "link.json", "--jobs", "c,d", "--json"), "--jobs: expected HELD,MOVED, two jobs of the link"),
        (
            ("demand", "ANSWER", "--candidate", "x", "--json"),
            "--candidate: expected one of the file ('beside-its-twin'",
        ),
        (("demand", "ANSWER", "--link", "x", "--json"), "--link: expected a shared or narrow link of candidate"),
        (("affinity", "ANSWER", "--link", "x", "--json"), "link: expected one that several jobs share ('S2-down1'"),
        (("affinity", "ANSWER", "--job", "x", "--json"), "job: expected one that shares a link ('recommender-a'"),
        (("affinity", "ANSWER", "--job", "a", "--link", "b", "--json"), "affinity: expected a job or a link to show"),
        (("job", "link.json", "--json"), "link.json: "),
        (("demand", "nowhere.json", "--json"), "nowhere.json: expected a readable file"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(
    run: Run, answer_file: str, arguments: tuple[str, ...], message: str
) -> None:
    answer = run(*(answer_file if one == "ANSWER" else one for one in arguments))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"cassini-core: {message}")
    assert answer.err.count("\n") == 1


def test_a_candidate_without_shared_links_is_no_picture_and_says_so(run: Run) -> None:
    job = cc.Job("a", 100, [cc.Phase(0, 50, 40)])
    problem = cc.Problem([job], [cc.Link("x", 50)], [cc.Candidate("alone", {"a": ["x"]})])
    Path("alone.json").write_bytes(problem_to_json(problem))
    said = "candidate 'alone': expected a shared or narrow link, got none: there is nothing to draw"
    assert run("circles", "alone.json", "--json").err == f"cassini-core: {said}\n"
    assert "expected a candidate whose jobs share a link" in run("affinity", "alone.json", "--json").err
    assert numbers(run("candidates", "alone.json", "--json"))["best"] == "alone"


def test_a_candidate_that_was_not_solved_has_a_graph_but_no_shifts(run: Run) -> None:
    problem = cc.load_problem(PROBLEM)
    Path("paper.json").write_bytes(answer_to_json(cc.rank(problem, loops="discard"), problem))
    answer = run("demand", "paper.json", "--candidate", "triangle", "--json")
    assert answer.err == "cassini-core: candidate 'triangle': expected one that was solved, got discarded\n"
    found = numbers(run("affinity", "paper.json", "--candidate", "triangle", "--json"))
    assert {edge["shift_ms"] for edge in found["edges"]} == {None}
    assert run("affinity", "paper.json", "--candidate", "triangle", "-o", "a.svg").status == 0
