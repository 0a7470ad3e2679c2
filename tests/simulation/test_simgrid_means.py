"""Mean iteration times against SimGrid's for the same jobs (``bench.testbed.validation.simgrid_check``)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("numba")

from bench.testbed.validation.scenarios import mean_ms, ours

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "simgrid-means.json").read_text())


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["name"])
def test_means_are_those_of_simgrid(case) -> None:
    assert mean_ms(case["scenario"], ours(case["scenario"])) == pytest.approx(case["simgrid_ms"], rel=1e-6)
