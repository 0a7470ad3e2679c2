"""What ``cassini-core rank`` says where scores alone mislead: narrow links, jobs left out, proofs of fast jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cassini_core import Problem
from cassini_core.cli import main
from cassini_core.problem_file import problem_to_json
from placements import problem_of, up

Said = Callable[..., str]

A, B, C = up("a", 255, 141, 114, 45), up("b", 255, 141, 114, 45), up("c", 255, 0, 200, 380)
WIDE = {job: ["b"] for job in "abc"}
STARVED = {"a": ["b"], "b": ["b"], "c": ["s"]}
FAST = [up("fast", 0.1, 0, 0.05, 45), up("fast2", 0.1, 0, 0.05, 45)]


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """What the program prints about a problem."""

    def ask(problem: Problem, *options: str) -> str:
        file = tmp_path / "problem.json"
        file.write_bytes(problem_to_json(problem))
        assert main(["rank", str(file), *options]) == 0
        return capsys.readouterr().out

    return ask


def row_of(text: str, name: str) -> list[str]:
    """The cells of a candidate in the first table."""
    (line,) = [line for line in text.split("\n\n")[2].splitlines() if line.split()[1:2] == [name]]
    return line.split()


PAIR = [up("a", 40, 0, 15, 50), up("b", 40, 0, 15, 50), up("c", 40, 0, 8, 50)]


def running(**shifts_ms: float) -> Problem:
    problem = problem_of(PAIR, {"x": 50}, c={"a": ["x"], "b": ["x"], "c": ["x"]})
    return Problem(problem.jobs, problem.links, problem.candidates, shifts_ms)


def test_running_jobs_that_move_are_named_and_what_staying_would_score(said: Said) -> None:
    text = said(running(a=7, b=27))
    assert "Of 2 running jobs 1 move, each waiting once: a 4.333 ms. If all stayed, it would score 0.9250" in text
    text = said(running(a=7, b=27), "--running-tolerance", "0.1")
    assert "No running job moves: 2 jobs of this candidate that share links run, and stay." in text
    assert "running" not in said(running())


def test_jobs_run_where_an_earlier_answer_put_them(said: Said, tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    before.write_text(said(running(a=7, b=27), "--json"))
    answer = json.loads(said(running(), "--running", str(before), "--with-problem"))
    (one,) = answer["candidates"]
    assert one["disturbance"] == {"moves_ms": {}, "score_if_kept": 1.0, "upper_bound_if_kept": 1.0}
    assert answer["problem"]["running_shifts_ms"] == one["shifts_ms"]
    assert one["shifts_ms"] == json.loads(before.read_text())["candidates"][0]["shifts_ms"]


def test_of_equal_candidates_the_sentence_says_which_moves_fewer_jobs(said: Said) -> None:
    jobs = [*PAIR[:2], up("d", 40, 0, 15, 50)]
    together, apart = {"a": ["x"], "b": ["y"], "d": ["y"]}, {"a": ["x"], "b": ["y"], "d": ["x"]}
    problem = problem_of(jobs, {"x": 50, "y": 50}, together=together, apart=apart)
    problem = Problem(problem.jobs, problem.links, problem.candidates, {"a": 30.0, "b": 3.0, "d": 6.0})
    text = said(problem)
    assert '"apart" and "together" tie at 1.0000' in text
    assert '"apart" comes first because it moves the fewest running jobs' in text


def test_a_starved_job_is_seen_in_the_table_and_in_the_sentence(said: Said) -> None:
    text = said(problem_of([A, B, C], {"s": 50, "b": 400}, starved=STARVED, shared=WIDE))
    assert row_of(text, "shared")[0] == "1"
    assert row_of(text, "starved") == ["2", "starved", "-0.7255", "-0.7255", "proven", "tree", "63.750", "s", "-4.1765"]
    assert 'the runner-up\'s worst "s" scores -4.1765 (too narrow for "c" alone)' in text
    assert "Narrow links" not in text  # those of the best are listed, and it has none


def test_narrow_links_of_the_best_are_listed_with_how_much_finds_no_room(said: Said) -> None:
    text = said(problem_of([A, B, C], {"s": 50, "b": 400}, starved=STARVED))
    title, header, rows = text.partition("Narrow links: too narrow for their only job")[2].split("\n\n")[0:3]
    assert title == ""
    assert header.split("\n")[0].split() == ["link", "job", "Gbit/s", "above", "capacity,", "on", "average", "score"]
    assert header.split("\n")[2].split() == ["s", "c", "258.8235", "-4.1765"]
    assert "Demand above capacity: 258.8235 Gbit/s on average, over 1 shared link and 1 narrow link." in rows
    assert "Warning: link 's': job 'c' alone needs 380 of 50 Gbit/s" in text
    assert 'its worst link "s" scores -4.1765 (too narrow for "c" alone); proven: no shifts score more.' in text


def test_of_many_narrow_links_the_worst_are_listed(said: Said) -> None:
    capacities = {f"l{k:02}": 100.0 - k for k in range(30)}
    text = said(problem_of([C], capacities, only={"c": list(capacities)}))
    rows = text.partition("Narrow links")[2].split("\n\n")[1].splitlines()[2:]
    assert [row.split()[0] for row in rows] == [f"l{k:02}" for k in range(29, 19, -1)]
    assert "20 more narrow links score no less: --json has them." in text
    assert text.count("Warning: link") == 10
    assert "Warning: 20 more: --json has them." in text


def test_a_candidate_that_shares_nothing_can_have_a_narrow_link(said: Said) -> None:
    text = said(problem_of([C], {"s": 50, "t": 100}, only={"c": ["s", "t"]}), "--aggregate", "mean")
    narrow = "mean over its shared links, and over links too narrow for their only job where that is less"
    assert f'"only" is the only candidate and scores -4.1765 ({narrow})' in text
    assert "over 2 narrow links." in text
    assert "no shift is needed" not in text
    assert "Shifts of" not in text


def sets() -> Problem:
    routes: dict[str, Any] = {"none": {}, "only-a": {"a": ["l"]}, "both": {"a": ["l"], "b": ["l"]}}
    return problem_of([A, B], {"l": 50}, **routes)


def test_candidates_that_place_more_jobs_come_first_and_it_is_said(said: Said) -> None:
    text = said(sets())
    assert [row_of(text, name)[:3] for name in ("both", "only-a", "none")] == [
        ["1", "both", "2"],
        ["2", "only-a", "1"],
        ["3", "none", "0"],
    ]
    assert "Warning: candidates place from 0 to 2 jobs: those that place more come first, whatever they score" in text
    sentence = text.splitlines()[-1]
    assert ': it places 2 jobs, the runner-up "only-a" (1.0000) only 1;' in sentence
    assert sentence.endswith("; no other candidate places as many jobs.")


def test_scores_alone_if_asked_for(said: Said) -> None:
    text = said(sets(), "--order", "score")
    assert [row_of(text, name)[:3] for name in ("none", "only-a", "both")] == [
        ["1", "none", "0"],
        ["2", "only-a", "1"],
        ["3", "both", "2"],
    ]
    assert "Warning: candidates place from 0 to 2 jobs, and the order looks at their scores alone" in text
    assert text.rstrip().endswith("proven: no other candidate can score more.")
    assert json.loads(said(sets(), "--order", "score", "--json"))["order"] == "score"


def test_proof_among_those_that_place_as_many(said: Said) -> None:
    problem = problem_of([A, B], {"l": 50}, both={"a": ["l"], "b": ["l"]}, worse={"a": {"l": 1.2}, "b": ["l"]}, none={})
    text = said(problem)
    assert '0.0358 above the runner-up "worse" (0.9642)' in text
    assert text.rstrip().endswith("; proven: no other candidate that places as many jobs can score more.")


def test_an_unsolved_candidate_that_places_more_stands_in_the_sentence(said: Said) -> None:
    loop = {"a": ["x", "z"], "b": ["x", "y"], "c": ["y", "z"]}
    jobs = [up(name, 100, 0, 60, 50) for name in "abc"]
    text = said(problem_of(jobs, {"x": 50, "y": 51, "z": 52}, few={"a": ["x"]}, all=loop), "--loops", "discard")
    assert text.splitlines()[-1].startswith('"few" scores 1.0000 and is the only one of 2 candidates that was solved')
    assert text.rstrip().endswith('; not proven: "all" places 3 jobs and was not solved.')


def test_jobs_are_not_counted_where_all_place_as_many(said: Said) -> None:
    text = said(problem_of([A, B], {"l": 50}, c={"a": ["l"], "b": ["l"]}, d={"a": ["l"], "b": []}))
    assert " jobs " not in text.split("\n\n")[2]
    assert "Warning" not in text


def test_proof_names_the_resolution_where_shifts_held_better_might_score_more(said: Said) -> None:
    problem = problem_of(FAST, {"l": 50}, x={"fast": ["l"], "fast2": ["l"]})
    text = said(problem)
    assert "  proven at 0.5 ms  " in text
    assert text.rstrip().endswith("; proven at a resolution of 0.5 ms: no shifts score more.")
    fine = said(problem, "--resolution-ms", "0")
    assert " at 0" not in fine
    assert fine.rstrip().endswith("; proven: no shifts score more.")


def test_a_link_names_its_resolution_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = json.loads(problem_to_json(problem_of(FAST, {"l": 50})))["jobs"]
    file = tmp_path / "link.json"
    file.write_text(json.dumps({"capacity_gbps": 50, "jobs": jobs}))
    assert main(["link", str(file)]) == 0
    text = capsys.readouterr().out
    assert "Score 0.8000, bound 0.8000 (proven at 0.5 ms);" in text
    assert "; proven at a resolution of 0.5 ms: no shifts score more; no shift matters" in text


def test_a_deadline_of_nothing_is_refused_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "problem.json"
    file.write_bytes(problem_to_json(sets()))
    assert main(["rank", str(file), "--deadline-s", "0"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "cassini-core: --deadline-s: expected a number above 0, got '0'\n")
