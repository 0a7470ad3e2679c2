"""The study of placements: jobs of the trace, worn clusters, problems put together."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.placement.muri_trace import GBPS, muri_jobs, write_files
from bench.placement.worn_cluster import GPUS, at_random, network, together, worn_cluster

from cassini_core.placement.jobs_file import load_jobs
from cassini_core.placement.place import place

TRACE = """\
job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,resource_time_0,resource_time_1,resource_time_2,priority
0,8,0,1,gpt2,4,1,1,437,0.6,419,49,0
1,1,0,1,a2c,64,1,1,517,514,14,0,0
2,32,0,1,vgg19,16,1,1,356,89,79,141,1
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return path


def test_a_job_sends_at_the_end_of_its_iteration_for_the_third_time(trace: Path, tmp_path: Path) -> None:
    gpt, a2c, _ = jobs = muri_jobs(trace, 3, 4)
    (phase,) = gpt.job.phases
    assert (phase.start_ms, phase.duration_ms, phase.gbps, gpt.workers) == (388, 49, GBPS, 8)
    assert a2c.job.phases == ()
    assert load_jobs(write_files(jobs, tmp_path)) == jobs


@pytest.mark.parametrize("scattered", [False, True])
def test_all_that_wait_in_a_worn_cluster_have_room(trace: Path, scattered: bool) -> None:
    topology = network()
    requests = worn_cluster(
        topology, [one for one in muri_jobs(trace, 3, 4) if one.job.phases], "a", scattered=scattered
    )
    assert {one.hosts is None for one in requests} == {True, False}
    made = place(topology, requests, gpus_per_host=GPUS, candidates=2)
    assert not made.placed[0].left_out
    drawn = at_random(topology, requests, "b")
    both = together([made.problem, drawn], ["", "random "])
    assert [one.id for one in both.candidates] == ["packed", "spread", "random running"]
    assert all(len(one.routes) == len(requests) for one in both.candidates)
