"""``cassini-core place``: what it writes, says and refuses; and the pipe from a network to a ranking."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from cassini_core import load_problem
from cassini_core.cli import main
from cassini_core.cli.place import place as command
from cassini_core.placement import place as place_module
from cassini_core.placement.place import DEFAULT_CANDIDATES, place
from cassini_core.problem_file import problem_from_json

PROFILE = {"iteration_ms": 255, "phases": [{"start_ms": 141, "duration_ms": 114, "gbps": 45}]}
JOBS = [
    {"id": "runs", "workers": 2, "profile": PROFILE, "hosts": {"server1": 1, "server5": 1}},
    {"id": "waits", "workers": 5, "profile": PROFILE},
    {"id": "more", "workers": 7, "profile": {**PROFILE, "iteration_ms": 340}},
]


class Answer(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Answer]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def call(*arguments: str, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        return Answer(main(arguments), *capsys.readouterr())

    return call


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"format": "cassini-jobs/1", "jobs": JOBS}))
    return str(path)


def test_a_pipe_leads_from_a_network_to_a_ranking(run: Run, jobs: str) -> None:
    network = run("topology", "leaf-spine", "--leaves", "3", "--spines", "2", "--hosts", "4", "-o", "-")
    waits = json.dumps({"format": "cassini-jobs/1", "jobs": [JOBS[1]]}).encode()
    Path(jobs).write_bytes(waits)
    placed = run("place", "-", "--jobs", jobs, "--gpus", "1", stdin=network.out.encode())
    assert placed.status == 0
    assert "0 jobs on 0 GPUs run, 1 job for 5 wait; 12 of 12 GPUs are free." in placed.err
    assert "Warning: Assumed capacities are nobody's figures" in placed.err
    assert placed.out.startswith('{"format":"cassini-problem/2"')
    ranked = run("rank", "-", "--with-problem", stdin=placed.out.encode())
    assert ranked.status == 0
    assert json.loads(ranked.out)["best"] == "packed"
    page = Path(jobs).parent / "report.html"
    assert run("report", "-", "-o", str(page), stdin=ranked.out.encode()).status == 0
    assert "packed" in page.read_text()


def test_a_file_is_written_and_people_are_told(run: Run, jobs: str, tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    answer = run("place", "testbed", "--jobs", jobs, "--candidates", "6", "-o", str(path))
    assert (answer.status, answer.err) == (0, "")
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["packed", "1", "3", "0"] in rows
    assert ["spread", "1", "3", "0"] in rows
    assert "1 job on 2 GPUs run, 2 jobs for 12 wait; 22 of 24 GPUs are free." in answer.out
    assert "Traffic: ring (3 jobs)." in answer.out
    assert "ssumed" not in answer.out
    problem = load_problem(path)
    assert len(problem.candidates) == 6
    assert all(dict(one.hosts["runs"]) == {"server1": 1, "server5": 1} for one in problem.candidates)
    assert run("place", "testbed", "--jobs", jobs, "--candidates", "6", "-o", "-").out.encode() == path.read_bytes()
    assert run("place", "testbed", "--jobs", jobs, "--candidates", "6", "--seed", "1").out.encode() != path.read_bytes()


def test_as_many_candidates_are_made_by_default_as_by_the_call() -> None:
    for option, default in (
        ("candidates", DEFAULT_CANDIDATES),
        ("seed", 0),
        ("move_running", False),
        ("ecmp", "spread"),
    ):
        assert signature(command).parameters[option].default == default == signature(place).parameters[option].default


def test_work_that_is_cut_short_is_said(run: Run, jobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_module, "MAX_WORK", 5_000)
    assert "Warning: no more than 2 candidates: others would take long" in run("place", "testbed", "--jobs", jobs).err


def test_jobs_may_come_by_standard_input(run: Run, jobs: str) -> None:
    answer = run("place", "testbed", "--jobs", "-", stdin=Path(jobs).read_bytes())
    assert answer.out == run("place", "testbed", "--jobs", jobs).out


def test_running_jobs_move_if_they_may_and_the_name_says_so(run: Run, jobs: str) -> None:
    answer = run("place", "testbed", "--jobs", jobs, "--move-running")
    names = [one.id for one in problem_from_json(answer.out.encode()).candidates]
    assert any(name.endswith("-moves-1") for name in names)
    assert "0 to 1" in answer.err


def test_jobs_without_room_are_named(run: Run, jobs: str) -> None:
    answer = run("place", "testbed-two-gpus", "--jobs", jobs)
    assert answer.status == 0
    many = [{**JOBS[1], "id": f"w{k}"} for k in range(15)]
    Path(jobs).write_text(json.dumps({"format": "cassini-jobs/1", "jobs": many}))
    answer = run("place", "testbed-two-gpus", "--jobs", jobs)
    assert "Warning: no room for 'w2' (5 GPUs), 'w3' (5 GPUs), " in answer.err
    assert " and 3 more in any candidate" in answer.err


def test_it_is_said_whether_a_job_has_room_in_no_candidate(run: Run, jobs: str) -> None:
    large = {**JOBS[1], "id": "large", "workers": 2, "gpus_per_worker": 3}
    Path(jobs).write_text(json.dumps({"format": "cassini-jobs/1", "jobs": [large, JOBS[1]]}))
    said = "Warning: no room for 'large' (2 workers of 3 GPUs) in any candidate\n"
    assert said in run("place", "testbed-two-gpus", "--jobs", jobs).err


def test_on_a_terminal_nothing_but_the_table_is_shown(run: Run, jobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    answer = run("place", "testbed", "--jobs", jobs)
    assert "cassini-problem/2" not in answer.out
    assert "Nothing was written: say -o FILE, or pipe into cassini-core rank -." in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-", "--jobs", "-"), "--jobs: expected a file, as the network is read from standard input, got -"),
        (("leaf-spine", "--jobs", "JOBS"), "leaf-spine: expected a file; cassini-core topology leaf-spine makes one"),
        (("no.yaml", "--jobs", "JOBS"), "no.yaml: expected a readable file"),
        (("testbed", "--jobs", "no.csv"), "no.csv: expected a readable file"),
        (("testbed", "--jobs", "JOBS", "-o", "JOBS"), "--output: expected another file than the input"),
        (("testbed", "--jobs", "JOBS", "--candidates", "0"), "--candidates: expected a whole number of at least 1"),
        (("testbed", "--jobs", "JOBS", "--seed", "x"), "--seed: expected a whole number of at least 0"),
        (("testbed",), "--jobs"),
    ],
)
def test_what_is_wrong_is_refused(run: Run, jobs: str, arguments: tuple[str, ...], said: str) -> None:
    answer = run("place", *(jobs if word == "JOBS" else word for word in arguments))
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


def test_a_host_that_is_not_there_is_told_with_the_file(run: Run, jobs: str) -> None:
    Path(jobs).write_text(Path(jobs).read_text().replace("server5", "server99"))
    answer = run("place", "testbed", "--jobs", jobs)
    assert answer.status == 2
    assert f"{jobs}: jobs['runs'].hosts: expected hosts of the network, got 'server99'" in answer.err
