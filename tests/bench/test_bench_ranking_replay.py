"""The report on replayed rounds says what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.measuring.progress import Progress
from bench.ranking import replay_report

from cassini_core import Ranker, rank


@pytest.mark.slow
def test_the_quick_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay_report.main(["--quick", "--out", str(tmp_path)]) == 0
    written = [tmp_path / f"ranking-replay.{end}" for end in ("md", "json")]
    assert capsys.readouterr().out.split() == [str(file) for file in written]
    text, document = written[0].read_text(), json.loads(written[1].read_text())
    for study in replay_report.studies(True):
        assert f"| {study.name} |" in text
        rounds = document["studies"][study.name]["rounds"]
        assert len(rounds) == study.rounds
        first, *others = rounds
        assert first["hits"] == 0
        assert all(each["hits"] > 0 for each in others)
        assert all(min(each["rank_s"], each["ranker_s"], each["rank_cpu_s"]) > 0 for each in rounds)


def test_rankings_that_differ_end_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ranker, "rank", lambda self, problem, **options: rank(problem, loops="discard", **options))
    with pytest.raises(AssertionError, match="round 0: not the same bytes"):
        replay_report.run(replay_report.studies(True)[0], Progress())
