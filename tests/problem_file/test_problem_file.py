"""JSON in and out: what is written reads back equal, the bytes are fixed, and large files load in seconds."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
import wild_strategies as wild
from cassini_core.errors import InputError
from cassini_core.model import Candidate, Job, Link, Phase, Problem
from cassini_core.problem_file import (
    decoding,
    job_to_json,
    link_solution_to_json,
    load_job,
    load_link,
    load_problem,
    load_profile,
    problem_from_json,
    problem_to_json,
    ranking_to_json,
)
from cassini_core.results import LinkScore, LinkSolution, NarrowLink, RankedCandidate, Ranking
from work import works_less_than

DATA = Path(__file__).parents[1] / "data"
LINKS = json.loads((DATA / "links.json").read_bytes())["instances"]
LOOPS = json.loads((DATA / "loops.json").read_bytes())["instances"]


# --- problems ---


@given(st.one_of(wild.problems(), strategies.problems(loops=True, max_candidates=3)))
def test_a_written_problem_reads_back_equal(problem):
    content = problem_to_json(problem)
    again = problem_from_json(content)
    assert again == problem
    assert problem_to_json(again) == content


@given(wild.problems())
def test_a_problem_written_by_another_program_reads_the_same(problem):
    content = json.loads(problem_to_json(problem))
    for indent in (None, 1):
        for ascii_only in (False, True):
            text = json.dumps(content, indent=indent, ensure_ascii=ascii_only)
            assert problem_from_json(text.encode()) == problem


@given(wild.problems(), st.data())
def test_a_repeated_key_is_always_found(problem, data):
    content = json.loads(problem_to_json(problem))
    places = [content, *content["jobs"], *content["links"], *content["candidates"]]
    places += [phase for job in content["jobs"] for phase in job["phases"]]
    places += [candidate["routes"] for candidate in content["candidates"]]
    place = data.draw(st.sampled_from([place for place in places if place]))
    key = data.draw(st.sampled_from(list(place)))
    mark = "\x00repeated\x00"
    place[mark] = place[key]
    text = json.dumps(content).replace(json.dumps(mark), json.dumps(key))
    with pytest.raises(InputError, match="expected each key once"):
        problem_from_json(text.encode())


@pytest.mark.parametrize("name", ["two-jobs.json", "tree.json", "loop.json"])
def test_whole_numbers_and_fractions_are_the_same(name):
    content = (DATA / name).read_bytes()
    fractions = json.dumps(json.loads(content, parse_int=float)).encode()
    assert b"255.0" in fractions or b"200.0" in fractions
    assert problem_from_json(fractions) == problem_from_json(content)


def test_the_example_means_what_it_says():
    phase = Phase(start_ms=141, duration_ms=114, gbps=45)
    jobs = [Job("a", 255, [phase]), Job("b", 255, [phase])]
    routes = {"a": ["tor1-up"], "b": ["tor1-up"]}
    assert load_problem(DATA / "two-jobs.json") == Problem(jobs, [Link("tor1-up", 50)], [Candidate("c0", routes)])


def test_a_problem_is_written_like_this():
    job = Job("a", 255, [Phase(0, 1 / 3, 45)])
    problem = Problem([job], [Link("l", 50)], [Candidate("c", {"a": {"l": 2}}), Candidate("d", {"a": ["l"]})])
    assert problem_to_json(problem) == (
        b'{"format":"cassini-problem/1",'
        b'"jobs":[{"id":"a","iteration_ms":255.0,'
        b'"phases":[{"start_ms":0.0,"duration_ms":0.3333333333333333,"gbps":45.0}]}],'
        b'"links":[{"id":"l","capacity_gbps":50.0}],'
        b'"candidates":[{"id":"c","routes":{"a":{"l":2.0}}},{"id":"d","routes":{"a":["l"]}}]}\n'
    )


def is_forest(problem: Problem, candidate: Candidate) -> bool:
    graph = nx.Graph([((0, job), (1, link)) for job, route in candidate.routes.items() for link in route])
    return nx.is_forest(graph)


def test_the_tree_has_no_loop_and_several_components():
    problem = load_problem(DATA / "tree.json")
    assert len(problem.candidates) == 3
    for candidate in problem.candidates:
        assert is_forest(problem, candidate)
        pairs = [(job, link) for job, route in candidate.routes.items() for link in route]
        shared = [pair for pair in pairs if sum(link == pair[1] for _, link in pairs) > 1]
        assert nx.number_connected_components(nx.Graph([((0, job), (1, link)) for job, link in shared])) >= 2


def test_the_loop_has_loops_everywhere():
    problem = load_problem(DATA / "loop.json")
    assert not any(is_forest(problem, candidate) for candidate in problem.candidates)


@pytest.mark.parametrize("instance", LOOPS, ids=lambda instance: instance["name"])
def test_the_loop_instances_load(instance):
    problem = problem_from_json(json.dumps(instance["problem"]).encode())
    assert problem_from_json(problem_to_json(problem)) == problem
    assert json.loads(problem_to_json(problem)) == instance["problem"]


def test_colons_in_ids_are_no_repeated_keys():
    ids = ['":', " :", "a:b", '":"', "\\", '\\":', "\t:", "::"]
    jobs = [Job(name, 1) for name in ids]
    links = [Link(name, 1) for name in ids]
    problem = Problem(jobs, links, [Candidate(name, dict.fromkeys(ids, ids)) for name in ids])
    assert problem_from_json(problem_to_json(problem)) == problem


@pytest.mark.parametrize("space", [":", ": ", " : ", "\n:\t"])
@pytest.mark.parametrize("name", ["two-jobs.json", "tree.json", "loop.json"])
def test_a_usual_file_is_parsed_once(monkeypatch, name, space):
    monkeypatch.setattr(decoding, "explain", None)
    content = (DATA / name).read_bytes().replace(b":", space.encode())
    assert problem_from_json(content) == load_problem(DATA / name)


def test_a_pipe_can_be_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = (DATA / "tree.json").read_bytes()
    writer = threading.Thread(target=pipe.write_bytes, args=[content])
    writer.start()
    try:
        assert load_problem(pipe) == problem_from_json(content)
    finally:
        writer.join()


def test_an_integer_is_no_path():
    with pytest.raises(InputError, match="path-like"):
        load_problem(0)


# --- links and jobs ---


@pytest.mark.parametrize("instance", LINKS, ids=lambda instance: instance["name"])
def test_the_link_instances_load(tmp_path, instance):
    path = tmp_path / "link.json"
    content = {"capacity_gbps": instance["capacity_gbps"], "jobs": instance["jobs"]}
    path.write_text(json.dumps(content))
    jobs, capacity_gbps = load_link(path)
    assert capacity_gbps == instance["capacity_gbps"]
    assert [job.id for job in jobs] == [job["id"] for job in instance["jobs"]]
    assert [len(job.phases) for job in jobs] == [len(job["phases"]) for job in instance["jobs"]]
    path.write_text(json.dumps({"format": "cassini-link/1"} | content))
    assert load_link(path) == (jobs, capacity_gbps)


@given(wild.jobs())
def test_a_written_job_reads_back_equal(tmp_path_factory, job):
    path = tmp_path_factory.mktemp("job") / "job.json"
    path.write_bytes(job_to_json(job))
    assert load_job(path) == job
    path.write_bytes(job_to_json(job, {"source": "a:b", "steps": [1, 2.5], "more": {"x": None, "y": True}}))
    assert load_job(path) == job


@given(wild.jobs())
def test_a_profile_is_the_job_and_what_was_said_of_it(tmp_path_factory, job):
    path = tmp_path_factory.mktemp("job") / "job.json"
    path.write_bytes(job_to_json(job))
    assert load_profile(path) == (job, {})
    about = {"made_by": "x", "warnings": ["a:b"], "iteration_ms": {"count": 3}, "recorded_gbps": None}
    path.write_bytes(job_to_json(job, about))
    assert load_profile(path) == (job, about)


def test_the_word_of_older_files_for_what_made_them_is_understood(tmp_path):
    path = tmp_path / "job.json"
    for about, made_by in (({"measured_by": "old"}, "old"), ({"measured_by": "old", "made_by": "new"}, "new")):
        path.write_bytes(job_to_json(Job("a", 255), about))
        assert load_profile(path)[1] == {"made_by": made_by}


def test_a_job_is_written_like_this():
    content = job_to_json(Job("a", 255, [Phase(141, 114, 45)]), {"trace": "x.json", "steps": np.int64(3)})
    assert (
        content.decode()
        == """{
  "format": "cassini-job/1",
  "id": "a",
  "iteration_ms": 255.0,
  "phases": [
    {
      "start_ms": 141.0,
      "duration_ms": 114.0,
      "gbps": 45.0
    }
  ],
  "about": {
    "trace": "x.json",
    "steps": 3
  }
}
"""
    )


def test_about_is_carried_as_plain_json():
    about = {"a": np.float32(0.5), "b": (1, [np.int8(2)]), "c": {"d": "\udcff"}, "e": None, "f": True, 7: "seven"}
    written = json.loads(job_to_json(Job("a", 1), about))["about"]
    assert written == {"a": 0.5, "b": [1, [2]], "c": {"d": "?"}, "e": None, "f": True, "7": "seven"}


BAD_ABOUT = {
    "about['x']: expected a finite number, got nan": math.nan,
    "about['x'][1]: expected a finite number, got inf": [1, math.inf],
    "about['x']['y']: expected a string, number, list or mapping, got b'z'": {"y": b"z"},
    "about['x']: expected an integer of 64 bits, got 18446744073709551616": 2**64,
}


@pytest.mark.parametrize("message", BAD_ABOUT)
def test_about_has_nothing_that_json_has_not(message):
    with pytest.raises(InputError) as caught:
        job_to_json(Job("a", 1), {"x": BAD_ABOUT[message]})
    assert str(caught.value) == message


# --- answers ---


def ranking(**changes: Any) -> Ranking:
    """A ranking of two candidates; ``changes`` go to the first."""
    first: dict[str, Any] = {
        "id": "c1",
        "score": 1.0,
        "upper_bound": 1.0,
        "optimal": True,
        "status": "tree",
        "shifts_ms": {"b": 120.25, "a": 0.0},
        "slack_ms": {"b": 3.0, "a": 3.0},
        "hold_ms": 1.5,
        "free_jobs": ("c",),
        "worst_link": "l",
        "total_excess_gbps": 0.0,
        "links": (LinkScore("l", 1.0, 1.0),),
        "warnings": ("job 'd' alone is above the capacity of link 'm'",),
        "jobs_placed": 4,
        "narrow_links": (NarrowLink("m", "d", 0.75, 12.5),),
        "resolution_ms": 0.5,
    }
    best = RankedCandidate(**(first | changes))
    other = RankedCandidate(
        "c0", None, 0.5, False, "bound_only", {}, {}, None, (), None, None, (LinkScore("l", None, 0.5),)
    )
    return Ranking(best, True, {"b": 255.0, "a": 255.0}, (best, other))


def test_a_ranking_is_written_like_this():
    assert ranking_to_json(ranking()) == (
        b'{"format":"cassini-ranking/1","best":"c1","best_proven":true,"order":"jobs_placed",'
        b'"aggregate":"per_job","slack_tolerance":0.01,"resolution_ms":null,'
        b'"paces_ms":{"a":255.0,"b":255.0},"candidates":['
        b'{"id":"c1","score":1.0,"upper_bound":1.0,"optimal":true,"resolution_ms":0.5,"status":"tree","jobs_placed":4,'
        b'"shifts_ms":{"a":0.0,"b":120.25},"slack_ms":{"a":3.0,"b":3.0},"hold_ms":1.5,"free_jobs":["c"],'
        b'"worst_link":"l","total_excess_gbps":0.0,"links":[{"id":"l","score":1.0,"upper_bound":1.0}],'
        b'"narrow_links":[{"id":"m","job":"d","score":0.75,"excess_gbps":12.5}],'
        b"\"warnings\":[\"job 'd' alone is above the capacity of link 'm'\"]},"
        b'{"id":"c0","score":null,"upper_bound":0.5,"optimal":false,"resolution_ms":null,"status":"bound_only",'
        b'"jobs_placed":0,'
        b'"shifts_ms":{},"slack_ms":{},"hold_ms":null,"free_jobs":[],'
        b'"worst_link":null,"total_excess_gbps":null,"links":[{"id":"l","score":null,"upper_bound":0.5}],'
        b'"narrow_links":[],"warnings":[]}],"warnings":[]}\n'
    )


def test_nothing_solved_has_no_best():
    written = json.loads(ranking_to_json(Ranking(None, False, {}, ())))
    assert written["best"] is None
    assert written["candidates"] == []


@given(st.dictionaries(wild.ids, st.floats(-1e9, 1e9), min_size=2), st.randoms())
def test_equal_rankings_have_equal_bytes(shifts, rng):
    shuffled = list(shifts.items())
    rng.shuffle(shuffled)
    shuffled = [(job, np.float64(-0.0 if shift == 0 else shift)) for job, shift in shuffled]
    one, two = ranking(shifts_ms=shifts), ranking(shifts_ms=dict(shuffled), optimal=np.True_)
    assert one == two
    assert ranking_to_json(one) == ranking_to_json(two)
    assert json.loads(ranking_to_json(one))["candidates"][0]["shifts_ms"] == shifts


NUMBERS = ["score", "upper_bound", "resolution_ms", "hold_ms", "total_excess_gbps", "shifts_ms['a']", "slack_ms['a']"]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", NUMBERS)
def test_a_ranking_with_a_number_that_is_none_is_not_written(field, bad):
    name = field.removesuffix("['a']")
    with pytest.raises(InputError) as caught:
        ranking_to_json(ranking(**{name: bad if name == field else {"a": bad}}))
    assert str(caught.value) == f"candidates[0].{field}: expected a finite number, got {bad!r}"


SOLUTION = LinkSolution(
    0.75, True, np.float64(0.8), False, 0.7, {"b": 1.0, "a": 0.0}, {"b": 0.5, "a": 2.0}, 0.25, ("c",), 510.0, 42
)


def test_a_link_solution_is_written_like_this():
    assert link_solution_to_json(SOLUTION) == (
        b'{"format":"cassini-link-solution/1","score":0.75,"score_is_exact":true,"upper_bound":0.8,"optimal":false,'
        b'"claimed_score":0.7,"shifts_ms":{"a":0.0,"b":1.0},"slack_ms":{"a":2.0,"b":0.5},"hold_ms":0.25,'
        b'"free_jobs":["c"],"perimeter_ms":510.0,"nodes":42,"resolution_ms":null}\n'
    )


# --- size and time ---


def large_problem(path: Path, n_jobs: int, n_candidates: int) -> None:
    """A fabric of racks and spines; in every candidate each job crosses about eight links, one in ten with weights."""
    rng = random.Random(1)
    racks, spines = max(n_jobs // 8, 4), 16
    names = [f"leaf{r:04d}-spine{s:02d}-{way}" for r in range(racks) for s in range(spines) for way in ("up", "down")]
    jobs = []
    for k in range(n_jobs):
        period = round(rng.uniform(80, 400), 4)
        starts = [round(rng.uniform(0, 0.99) * period, 4) for _ in range(6)]
        phases = [{"start_ms": at, "duration_ms": round(period / 8, 4), "gbps": round(at, 3)} for at in starts]
        jobs.append({"id": f"job-{k:05d}", "iteration_ms": period, "phases": phases})

    def route() -> Any:
        hops = [(rng.randrange(racks), rng.randrange(spines)) for _ in range(4)]
        links = [f"leaf{rack:04d}-spine{spine:02d}-{way}" for rack, spine in hops for way in ("up", "down")]
        links = list(dict.fromkeys(links))
        return links if rng.random() < 0.9 else dict.fromkeys(links, 2)

    with path.open("w") as out:
        links = [{"id": name, "capacity_gbps": 100} for name in names]
        out.write(f'{{"format": "cassini-problem/1", "jobs": {json.dumps(jobs)}, "links": {json.dumps(links)}')
        for k in range(n_candidates):
            routes = {job["id"]: route() for job in jobs}
            before = ', "candidates": [' if k == 0 else ", "
            out.write(before + json.dumps({"id": f"candidate-{k:04d}", "routes": routes}))
        out.write("]}")


def test_ten_megabytes_load_in_a_second_or_two(tmp_path):
    path = tmp_path / "large.json"
    large_problem(path, 500, 95)
    assert path.stat().st_size > 10e6
    with works_less_than(5.0):
        problem = load_problem(path)
    assert len(problem.candidates) == 95
    assert problem_from_json(problem_to_json(problem)) == problem


MEASURE = """
import resource, sys, time
from cassini_core import load_problem
started = time.process_time()
problem = load_problem(sys.argv[1])
print(len(problem.jobs), len(problem.candidates), time.process_time() - started,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("n_jobs", "n_candidates"), [(500, 1000), (4000, 120)])
def test_a_hundred_megabytes_load_in_seconds(tmp_path, n_jobs, n_candidates):
    path = tmp_path / "large.json"
    large_problem(path, n_jobs, n_candidates)
    assert path.stat().st_size > 100e6
    ran = subprocess.run([sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True)
    jobs, candidates, seconds, mib = map(float, ran.stdout.split())
    assert (jobs, candidates) == (n_jobs, n_candidates)
    assert seconds < 10
    assert mib < 2048


def test_the_json_library_is_loaded_on_first_use_only():
    code = "import sys, cassini_core; assert 'msgspec' not in sys.modules; cassini_core.load_problem(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, DATA / "tree.json"], check=True)
