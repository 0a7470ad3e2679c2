"""Files of jobs: what is read from JSON and CSV, and what is refused, with file and place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from cassini_core import InputError, Job, Phase
from cassini_core.placement import jobs_file
from cassini_core.placement.job_request import Hybrid, JobRequest
from cassini_core.placement.jobs_file import jobs_from_bytes, load_jobs
from cassini_core.problem_file import job_to_json
from placing import rounds

INLINE = {"iteration_ms": 40, "phases": [{"start_ms": 0, "duration_ms": 20, "gbps": 50}]}
JOB = Job("vgg", 40, [Phase(0, 20, 50)])


def file_of(*jobs: dict[str, Any]) -> bytes:
    return json.dumps({"format": "cassini-jobs/1", "jobs": list(jobs)}).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "vgg.json").write_bytes(job_to_json(JOB))
    return tmp_path


def test_json_and_csv_say_the_same(folder: Path) -> None:
    rows = [
        {"id": "a", "profile": "profiles/vgg.json", "workers": 4, "hosts": {"n1": 2, "n2": 2}},
        {"id": "b", "profile": "profiles/vgg.json", "workers": 8, "gpus_per_worker": 2, "pattern": "tree"},
        {"id": "c", "profile": INLINE, "workers": 3, "hosts": {"n3": 1, "n9": 2}},
    ]
    (folder / "jobs.json").write_bytes(file_of(*rows))
    (folder / "jobs.csv").write_text(
        "id, workers, profile, gpus_per_worker, pattern, hosts\n"
        "a, 4, profiles/vgg.json, , , n[1-2]\n"
        "\n"
        "b, 8, profiles/vgg.json, 2, tree,\n"
        "c, 3, profiles/vgg.json, 1, ring, n9:2 n3:1\n"
    )
    expected = [
        JobRequest(Job("a", 40, JOB.phases), 4, hosts={"n1": 2, "n2": 2}),
        JobRequest(Job("b", 40, JOB.phases), 8, 2, "tree"),
        JobRequest(Job("c", 40, JOB.phases), 3, hosts={"n3": 1, "n9": 2}),
    ]
    assert load_jobs(folder / "jobs.json") == expected
    assert load_jobs(folder / "jobs.csv") == expected


def test_profiles_of_standard_input_count_from_the_working_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (one,) = jobs_from_bytes(b"id,profile,workers\r\na,profiles/vgg.json,1\r\n", "standard input")
    assert one.job == Job("a", 40, JOB.phases)


def test_a_hybrid_pattern_is_read() -> None:
    hybrid = {"data": 2, "tensor": 1, "pipeline": 2, "shares": {"data": 3, "pipeline": 1}}
    (one,) = jobs_from_bytes(file_of({"id": "a", "workers": 4, "profile": INLINE, "pattern": {"hybrid": hybrid}}))
    assert one.pattern == Hybrid(2, 1, 2, (("data", 3.0), ("pipeline", 1.0)))


@given(rounds())
def test_what_is_written_is_read(case: tuple[object, list[JobRequest]]) -> None:
    jobs = []
    for one in case[1]:
        phases = [{"start_ms": p.start_ms, "duration_ms": p.duration_ms, "gbps": p.gbps} for p in one.job.phases]
        profile = {"iteration_ms": one.job.iteration_ms, "phases": phases}
        row: dict[str, Any] = {"id": one.job.id, "workers": one.workers, "profile": profile, "pattern": one.pattern}
        row |= {"gpus_per_worker": one.gpus_per_worker} | ({"hosts": dict(one.hosts)} if one.hosts else {})
        jobs.append(row)
    assert jobs_from_bytes(file_of(*jobs)) == case[1]


ONE = {"id": "a", "workers": 2, "profile": INLINE}

WRONG = {
    "nothing": (b"", "jobs: expected cassini-jobs/1 or a line id,profile,workers, got an empty file"),
    "no jobs": (file_of(), "expected at least one job"),
    "only a head": (b"id,profile,workers\n", "expected at least one job"),
    "another format": (
        b'{"format": "cassini-problem/1"}',
        "$.format: expected 'cassini-jobs/1', got 'cassini-problem/1'",
    ),
    "unknown key": (file_of({**ONE, "gpu": 1}), "$.jobs[0]: expected no keys but"),
    "missing key": (
        file_of({"id": "a", "workers": 1}),
        "$.jobs[0].profile: expected a string or an object, got nothing",
    ),
    "repeated key": (b'{"format": "cassini-jobs/1", "jobs": [], "jobs": []}', "expected each key once"),
    "repeated host": (
        file_of({**ONE, "hosts": {"x": 1}}).replace(b'"x": 1', b'"x": 1, "x": 2'),
        "$.jobs[0].hosts: expected each key once",
    ),
    "twins": (file_of(ONE, ONE), "$.jobs[1].id: expected an id of its own, got 'a' again"),
    "half a worker": (file_of({**ONE, "workers": 1.5}), "$.jobs[0].workers: expected a whole number, got 1.5"),
    "a word": (file_of({**ONE, "workers": "2"}), "$.jobs[0].workers: expected a whole number, got '2'"),
    "no worker": (file_of({**ONE, "workers": 0}), "$.jobs[0].workers: expected a whole number from 1 to 100000, got 0"),
    "huge": (file_of({**ONE, "workers": 10**30}), "$.jobs[0].workers: expected a whole number"),
    "a star": (
        file_of({**ONE, "pattern": "star"}),
        "$.jobs[0].pattern: expected 'ring' or 'tree' or 'all_to_all' or 'pipeline', got 'star'",
    ),
    "a number for a pattern": (
        file_of({**ONE, "pattern": 1}),
        "$.jobs[0].pattern: expected 'ring' or 'tree' or 'all_to_all' or 'pipeline' or an object, got 1",
    ),
    "a list": (file_of({**ONE, "profile": []}), "$.jobs[0].profile: expected a string or an object, got an array"),
    "a phase": (
        file_of({**ONE, "profile": {"iteration_ms": 1, "phases": [{"start_ms": 2, "duration_ms": 0, "gbps": 1}]}}),
        "$.jobs[0].phases[0].start_ms: expected",
    ),
    "hosts": (file_of({**ONE, "hosts": {"x": 1}}), "$.jobs[0].hosts: expected 2 workers, those of the job, got 1"),
    "a file that is not there": (
        file_of({**ONE, "profile": "no.json"}),
        "$.jobs[0].profile: no.json: expected a readable",
    ),
    "a long path": (file_of({**ONE, "profile": "9" * 1001}), "$.jobs[0].profile: expected a path of at most 1000"),
    "columns": (
        b"id,workers\n",
        "line 1: expected JSON, or the columns id,profile,workers of a table, got 'id,workers'",
    ),
    "a column too many": (b"id,profile,workers,x\n", "line 1: expected no columns but id, profile, workers"),
    "a column twice": (b"id,profile,workers,id\n", "line 1: expected each column once"),
    "cells": (b"id,profile,workers\n\na,b\n", "line 3: expected 3 cells, one for each column, got 2"),
    "a count": (b"id,profile,workers\na,b,two\n", "line 2.workers: expected a whole number of at least 1, got 'two'"),
    "bytes": (b"id,profile,workers\n\xff", "byte 19: expected text in UTF-8, got the byte 0xff"),
    "quotes": (b'id,profile,workers\n"a', "line 2: expected comma-separated values"),
    "uneven": (
        b"id,profile,workers,hosts\na,b,5,n[1-2]\n",
        "line 2.hosts: expected hosts over which 5 workers divide evenly, or how many each has (a:4 b:2), got 2 hosts",
    ),
    "some with numbers": (b"id,profile,workers,hosts\na,b,5,n1:2 n2\n", "line 2.hosts: expected workers for each host"),
    "a host twice": (b"id,profile,workers,hosts\na,b,4,n1:2 n1:2\n", "line 2.hosts: expected each host once"),
    "no hostlist": (b"id,profile,workers,hosts\na,b,4,n[1\n", "line 2.hosts: expected a hostlist"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_in_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, said = WRONG[name]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as refused:
        jobs_from_bytes(data)
    assert str(refused.value).startswith("jobs: ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_wrong_profile_is_told_with_its_file(folder: Path) -> None:
    (folder / "profiles" / "vgg.json").write_text('{"format": "cassini-job/1"}')
    (folder / "jobs.csv").write_text("id,profile,workers\na,profiles/vgg.json,1\n")
    with pytest.raises(
        InputError, match=r"jobs\.csv: line 2\.profile: .*profiles/vgg\.json: \$\.id: expected a string"
    ):
        load_jobs(folder / "jobs.csv")


def test_an_id_that_comes_again_is_told_with_its_line(folder: Path) -> None:
    (folder / "jobs.csv").write_text("id,profile,workers\na,profiles/vgg.json,1\n\na,profiles/vgg.json,2\n")
    with pytest.raises(InputError, match=r"jobs\.csv: line 4\.id: expected an id of its own, got 'a' again"):
        load_jobs(folder / "jobs.csv")


def test_there_are_so_many_jobs_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_file, "MAX_JOBS", 1)
    with pytest.raises(InputError, match=r"\$\.jobs\[1\]: expected at most 1 jobs, got more"):
        jobs_from_bytes(file_of(ONE, {**ONE, "id": "b"}))
