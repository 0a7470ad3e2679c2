"""The report on running jobs that are moved says what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.ranking import moves


def test_the_quick_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert moves.main(["--quick", "--out", str(tmp_path)]) == 0
    written = [tmp_path / f"ranking-moves.{end}" for end in ("md", "json")]
    assert capsys.readouterr().out.split() == [str(file) for file in written]
    text, document = written[0].read_text(), json.loads(written[1].read_text())
    (study,) = moves.studies(True)
    ways = document["studies"][study.name]["ways"]
    assert len(ways) == 1 + len(moves.TOLERANCES)
    for way, rounds in ways.items():
        assert f"| {study.name} | {way} |" in text
        assert len(rounds) == study.rounds - 1
        for one in rounds:
            assert 0 <= one["moved"] <= one["running"]
            assert one["waiting"] <= one["moved"]
    without, *others = ways.values()
    for others_rounds in others:
        assert sum(one["moved"] for one in others_rounds) < sum(one["moved"] for one in without)
