"""The inputs that fuzzing kept, and those that once broke something, through their targets: no engine needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import counters, jobs, kineto, problem_file, tasks, topology, workload

FUZZ = Path(__file__).parent
TARGETS = {
    "counters": counters.run,
    "jobs": jobs.run,
    "kineto": kineto.run,
    "problem_file": problem_file.run,
    "tasks": tasks.run,
    "topology": topology.run,
    "workload": workload.run,
}


@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs_break_nothing(name: str, tmp_path: Path) -> None:
    inputs = sorted((FUZZ / "corpus" / name).iterdir())
    assert len(inputs) >= 10
    for path in inputs:
        try:
            TARGETS[name](path.read_bytes(), tmp_path)
        except BaseException as error:
            error.add_note(f"input: {path}")
            raise
