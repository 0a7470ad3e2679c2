"""The report on replayed rounds says what was measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

pytest.importorskip("matplotlib")

from bench.progress import Progress  # noqa: E402
from bench.ranking import replay_report  # noqa: E402
from bench.ranking.replay_stages import OTHER, STAGES  # noqa: E402

from cassini_core import Ranker, rank  # noqa: E402


def test_the_quick_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay_report.main(["--quick", "--out", str(tmp_path)]) == 0
    written = [tmp_path / f"ranking-replay.{end}" for end in ("md", "json", "png")]
    assert capsys.readouterr().out.split() == [str(file) for file in written]
    assert all(file.stat().st_size > 0 for file in written)
    text, document = written[0].read_text(), json.loads(written[1].read_text())
    for one, study in zip(document["studies"], replay_report.studies(True), strict=True):
        assert f"| {study.name} |" in text
        assert len(one["rounds"]) == study.rounds
        first, *others = one["rounds"]
        assert first["hits"] == 0
        assert all(each["hits"] > 0 for each in others)
        for count, each in enumerate(one["rounds"], 1):
            for way in ("plain", "ranker"):
                assert set(each[way]["stage_cpu_s"]) == {*STAGES.values(), OTHER}
                assert sum(each[way]["stage_cpu_s"].values()) == pytest.approx(each[way]["cpu_s"], abs=1e-3)
            assert each["answers"]["number"] == sum(past["misses"] for past in one["rounds"][:count])
            # No less than the question and an object or two, no more than some kB.
            assert 500 < each["answers"]["size"] / each["answers"]["number"] < 3000
            assert 200 < each["scores"]["size"] / each["scores"]["number"] < 2000


def test_rankings_that_differ_end_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranker, "rank", lambda self, problem, **options: rank(problem, loops="discard", **options))
    with pytest.raises(AssertionError, match="round 0: not the same bytes"):
        replay_report.run(replay_report.studies(True)[0], Progress())
