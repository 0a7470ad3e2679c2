"""What `cassini-core link --json` prints is what its shifts score, rescored from the bytes by the reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cassini_core import Job, Phase, _reference
from cassini_core.cli import main

INSTANCES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "links.json").read_text())[
    "instances"
]


@pytest.mark.parametrize("method", ["exact", "angles"])
@pytest.mark.parametrize("instance", INSTANCES[::9], ids=lambda instance: instance["name"])
def test_the_printed_score_is_that_of_the_printed_shifts(
    instance: dict[str, Any], method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "link.json"
    file.write_text(json.dumps({"capacity_gbps": instance["capacity_gbps"], "jobs": instance["jobs"]}))
    assert main(["link", str(file), "--json", "--method", method]) == 0
    answer = json.loads(capsys.readouterr().out)
    jobs = [
        Job(job["id"], job["iteration_ms"], [Phase(**phase) for phase in job["phases"]]) for job in instance["jobs"]
    ]
    rescored = _reference.score(jobs, instance["capacity_gbps"], answer["shifts_ms"])
    assert answer["score"] == pytest.approx(rescored, abs=1e-9)
    assert answer["upper_bound"] >= instance["optimal_score"] - 1e-9
