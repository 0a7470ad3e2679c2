"""The comparison of threads: every way to solve many links gives the bytes of one call."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

pytest.importorskip("numba")

from bench.ranking import threading_peers  # noqa: E402
from bench.ranking.rounds import Settings, generate  # noqa: E402
from bench.ranking.threading_links import Links, links_of  # noqa: E402
from bench.ranking.threading_ways import NUMBA, PYTHON, one_call  # noqa: E402

SMALL = Settings(seed="host", racks=8, gpus_per_rack=16, uplinks=2, jobs=30, candidates=4, moves=3)


@pytest.fixture(scope="module")
def links() -> Links:
    return links_of(generate(SMALL))[0]


def test_links_dealt_out_are_all_the_links(links: Links) -> None:
    dealt = links_of(generate(SMALL), 3)
    assert sorted(len(part) for part in dealt) == sorted(len(range(k, len(links), 3)) for k in range(3))
    whole = one_call(links, 50)
    for k, part in enumerate(dealt):
        assert one_call(part, 50).results.tobytes() == whole.results[k::3].tobytes()


@pytest.mark.parametrize("way", ["Python threads, 2", "Numba serial in Python threads, 2"])
def test_every_way_gives_the_bytes_of_one_call(links: Links, way: str) -> None:
    answers = one_call(links, 50)
    assert not answers.status.any()
    assert (answers.results["upper_bound"] >= answers.results["score_lower"] - 1e-9).all()
    assert PYTHON[way](links, 50).digest() == answers.digest()


@pytest.mark.slow
def test_every_layer_gives_the_same_bytes_and_the_command_writes_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading_peers, "outcomes", lambda *_: [])  # some of them wait to be killed
    assert threading_peers.main(["--quick", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "ranking-threading.md").read_text()
    document = json.loads((tmp_path / "ranking-threading.json").read_text())
    assert str(tmp_path / "ranking-threading.md") in capsys.readouterr().out
    assert document["layers"]
    assert len({row["digest"] for row in document["times"]}) == 2  # of as many parts
    for layer in document["layers"]:
        assert all(f"{way} ({layer})" in text for way in NUMBA)
