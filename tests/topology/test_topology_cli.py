"""``cassini-core topology``: what it prints, writes and refuses."""

from __future__ import annotations

import io
import json
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from cassini_core.topology.formats import read_topology
from cassini_core.topology.generated import fat_tree, paper_testbed
from cassini_core.topology.model import Cable, Host, Switch, Topology
from cassini_core.topology.overlay import with_capacities
from cassini_core.topology.summary import Capacity, summarize
from commands import Answer, Run

DATA = Path(__file__).parents[1] / "data" / "topology"


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "topology")


def lines(answer: Answer) -> list[list[str]]:
    assert (answer.status, answer.err) == (0, "")
    return [line.split() for line in answer.out.splitlines()]


def test_the_testbed_shows_the_numbers_of_the_paper(run: Run) -> None:
    shown = lines(run("testbed"))
    assert ["1", "24", "hosts", "24", "50", "given", "-"] in shown
    assert ["2", "6", "switches", "12", "50", "given", "2:1"] in shown
    assert ["24", "hosts,", "13", "switches,", "48", "cables", "(generated", "testbed)."] in shown


def test_what_is_assumed_is_said(run: Run) -> None:
    answer = run(str(DATA / "topograph-medium.yaml"))
    assert ["1", "8", "hosts", "8", "100", "assumed", "-"] in lines(answer)
    assert "Assumed capacities are nobody's figures" in answer.out
    said = run(
        str(DATA / "topograph-medium.yaml"),
        "--tier",
        "1:gbps=25",
        "--tier",
        "2:gbps=50",
        "--tier",
        "3:gbps=50,parallel=2",
    )
    assert ["3", "2", "switches", "4", "50", "given", "1:1"] in lines(said)
    assert "ssumed" not in said.out


def test_json_says_the_same_for_programs(run: Run) -> None:
    answer = json.loads(
        run(
            "leaf-spine", "--leaves", "3", "--spines", "2", "--hosts", "4", "--tier", "2:oversubscription=4", "--json"
        ).out
    )
    assert answer == {
        "format": "cassini-topology-summary/1",
        "read_as": "generated leaf-spine",
        "hosts": 12,
        "switches": 5,
        "cables": 18,
        "tiers": [
            {
                "tier": 1,
                "nodes": 12,
                "capacities": [{"gbps": 100.0, "basis": "assumed", "cables": 12}],
                "oversubscription": None,
            },
            {
                "tier": 2,
                "nodes": 3,
                "capacities": [{"gbps": 50.0, "basis": "given", "cables": 6}],
                "oversubscription": [4.0, 4.0],
            },
        ],
        "parts": [{"hosts": 12, "switches": 5}],
        "oddities": [],
    }


def test_what_is_written_is_read_back(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "network.json"
    assert run("fat-tree", "--k", "4", "-o", str(path)).status == 0
    assert read_topology(path) == (with_capacities(fat_tree(4)), "cassini-topology/1")
    again = run(str(path), "-o", "-")
    assert again.out.encode() == path.read_bytes()


def test_standard_input_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"SwitchName=s Nodes=n[1-3]\n")))
    assert "3 hosts, 1 switch, 3 cables (Slurm topology.conf)." in run("-").out


def test_parts_are_counted_and_joined(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=a Nodes=n[1-3] LinkSpeed=9\nSwitchName=b Nodes=n[4-5]\n")
    answer = run(str(path))
    assert "Parts (hosts+switches): 3+1, 2+1." in answer.out
    assert "2 parts that no cable joins" in answer.out
    assert "LinkSpeed of 1 line was not taken" in answer.out
    joined = run(str(path), "--join", "root")
    assert "Parts" not in joined.out
    assert ["2", "2", "switches", "2", "200", "to", "300", "assumed", "1:1"] in lines(joined)


def test_a_storage_network_is_suspected_and_can_be_named(run: Run, tmp_path: Path) -> None:
    text = ""
    for switch in range(5):
        text += f'Switch\t9 "S-{switch}"\t\t# "switch{switch}" base port 0 lid 1 lmc 0\n'
        for host in range(4) if switch == 4 else (0, 1) if switch < 2 else (2, 3):
            adapter = 4 if switch == 4 else switch % 2
            text += f'[{host}]\t"H-{host}{adapter}"[1](1)\t\t# "n{host} mlx5_{adapter}" lid 1 4xEDR\n'
    path = tmp_path / "fabric"
    path.write_text(text)
    assert "such as 'switch4'; a storage network?" in run(str(path)).out
    named = run(str(path), "--storage", "mlx5_4")
    assert "a storage network?" not in named.out
    assert "4 cables of a storage network, not used by training" in named.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.yaml"], "nowhere.yaml: expected a readable file"),
        (["leaf-spine", "--leaves", "2", "--spines", "2"], "--hosts: expected a value for 'leaf-spine', got none"),
        (["testbed", "--k", "4"], "--k: expected nothing for 'testbed', got 4"),
        (["testbed", "--storage", "x"], "--storage: expected a file to read, got testbed"),
        (["fat-tree", "--k", "0"], "--k: expected a whole number of at least 1, got '0'"),
        (["fat-tree", "--k", "5"], "k: expected an even number of ports, got 5"),
        (["testbed", "--tier", "2"], "--tier: expected TIER:KEY=NUMBER"),
        (["testbed", "--tier", "x:gbps=1"], "--tier: expected TIER:KEY=NUMBER"),
        (["testbed", "--tier", "2:gbps=nan"], "--tier: expected TIER:KEY=NUMBER"),
        (
            ["testbed", "--tier", "2:gbps=1,oversubscription=2"],
            "--tier: tier: expected gbps or oversubscription, got both",
        ),
        (["testbed", "--tier", "2:parallel=1.5"], "--tier: tier parallel: expected a whole number"),
        (["testbed", "--tier", "4:gbps=1"], "tier: expected a tier of the network: 1, 2, 3, got 4"),
        (["testbed", "--tier", "1:gbps=1", "--tier", "1:parallel=2"], "--tier: expected each tier once"),
        (["testbed", "--tier", "-"], "oversubscription, parallel, got '-'"),
        ([str(DATA.parent / "tree.json")], "expected 'cassini-topology/1', got 'cassini-problem/1'"),
        (["/dev/null"], "/dev/null: expected a topology.conf or topology.yaml of Slurm"),
        (["/dev/null"], "got an empty file"),
        (["testbed", "--join", "x"], "join: expected at least two parts with switches, got 1"),
        (["testbed", "-o", "no/such/folder/x"], "--output: expected a file in a folder that exists"),
        ([str(DATA / "topograph-medium.yaml"), "--name", "x"], "name: expected none for the format topograph model"),
        ([str(DATA / "topograph-medium.yaml"), "--storage", "x"], "storage: expected none for the format topograph"),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(run: Run, arguments: list[str], message: str) -> None:
    answer = run(*arguments)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_a_file_in_the_place_of_a_generated_network_can_be_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "testbed").write_text("SwitchName=s Nodes=n1\n")
    assert "1 host, 1 switch, 1 cable" in run("./testbed").out


# --- the summary ------------------------------------------------------------------------------------------------------


def test_unusual_networks_are_told() -> None:
    hosts = [Host("a"), Host("b"), Host("idle")]
    switches = [Switch("t1", 1), Switch("t2", 1), Switch("s", 2), Switch("c", 3), Switch("empty", 1)]
    ends = [("a", "t1"), ("a", "t2"), ("b", "s"), ("t1", "t2"), ("t1", "s"), ("t2", "c"), ("s", "c")]
    found = summarize(Topology(hosts, switches, [Cable(*pair) for pair in ends], ["from the file"]))
    assert found.parts == ((2, 4), (1, 0), (0, 1))
    assert found.oddities == (
        "from the file",
        "3 parts that no cable joins",
        "1 host without a cable",
        "switches with nothing below: 1, such as 'empty'",
        "1 cable from hosts to switches above tier 1",
        "1 cable between switches of one tier",
        "cables that skip a tier: 1",
        "1 host under 2 switches",
    )
    assert found.tiers[0].capacities == (Capacity(None, None, 3),)
    assert [tier.oversubscription for tier in found.tiers] == [None, None, None]


def test_an_ordinary_network_has_no_oddities() -> None:
    assert summarize(paper_testbed()).oddities == ()
    assert [tier.oversubscription for tier in summarize(paper_testbed()).tiers] == [None, (2.0, 2.0), (1.0, 1.0)]
