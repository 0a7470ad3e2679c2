"""Files that nobody writes but somebody may hand in: refused in one line, in little time and memory."""

from __future__ import annotations

import builtins
import json
import random
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fuzz import json_mutator
from hypothesis import given
from hypothesis import strategies as st

import topology_files as files
from cassini_core import InputError
from cassini_core.topology import formats
from cassini_core.topology.formats import documents, read_topology, topology_from_bytes
from cassini_core.topology.formats.hostlists import Hostlists
from cassini_core.topology.generated import leaf_spine
from topologies import trees
from work import works_less_than

MIB = 2**20
CORPUS = sorted((Path(__file__).parents[1] / "fuzz" / "corpus" / "topology").iterdir())
K8S = {"apiVersion": "v1", "kind": "Node"}
HYPER = {"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode"}


def refusal(data: bytes | str, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        topology_from_bytes(data.encode() if isinstance(data, str) else data, "file", **options)
    text = str(caught.value)
    assert text.startswith("file: ")
    assert text.isprintable()
    assert len(text) < 1000
    return text


def hyper(name: str, *members: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    listed = [{"type": kind, "selector": selector} for kind, selector in members]
    return {**HYPER, "metadata": {"name": name}, "spec": {"tier": 1, "members": listed}}


def objects(*items: dict[str, Any]) -> str:
    return json.dumps({"kind": "List", "items": items})


NODE = {**K8S, "metadata": {"name": "n1", "labels": {"rack": "r1"}}}
NAMED_AS_RACK = {**K8S, "metadata": {"name": "r1", "labels": {"rack": "r2"}}}
EXACT = {"exactMatch": {"name": "n1"}}


def kueue(*levels: str, name: str = "t") -> dict[str, Any]:
    spec = {"levels": [{"nodeLabel": level} for level in levels]}
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Topology", "metadata": {"name": name}, "spec": spec}


IB = 'Switch\t2 "S-1"\t# "sw" base\n'

WRONG: list[tuple[str, str]] = [
    # none of the formats
    ("", "expected a topology.conf"),
    ("hello", "expected a topology.conf"),
    ("{}", "expected a topology.conf"),
    ("[1]", "expected a topology.conf"),
    ("a: 1", "expected a topology.conf"),
    ('{"a": ', "line 1: expected JSON"),
    ('{"format": NaN}', "expected JSON, got NaN"),
    ('{"hosts": [], "hosts": []}', "expected each key once, got 'hosts' again"),
    ('{"a": ' + "9" * 5000 + "}", "expected JSON"),
    ("switches: {a: {}, a: {}}", "line 1: expected each key once, got 'a' again"),
    ("switches: {[a]: 1}", "line 1: expected a scalar for a key"),
    ("switches: [", "expected YAML, got the error"),
    ("switches:\n\t- a", "expected YAML, got the error"),
    ("switches: \x07", "expected YAML, got the error"),
    # Slurm
    ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", "line 2: expected each switch once, got 'a' again"),
    ("SwitchName=a Switches=b", "line 1: expected child switches that the file defines, got 'b'"),
    ("SwitchName=a Nodes=b\nSwitchName=b Nodes=n", "expected hosts and switches of different names, got 'b' as both"),
    ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "expected no switch above itself"),
    ("SwitchName=a Switches=a", "expected no switch above itself"),
    ("SwitchName=a Nods=n1", "line 1: expected each of"),
    ("SwitchName=a Nodes=n1 nodes=n2", "line 1: expected each of"),
    ("SwitchName=a\nNodes=n1", "line 2: expected SwitchName or BlockName"),
    ("SwitchName=a Nodes=n[1-", "expected a hostlist such as"),
    ("SwitchName=a Nodes=n[5-1]", "expected a hostlist such as"),
    ("SwitchName=a Nodes=@group", "expected a hostlist such as"),
    ("SwitchName=a Nodes=n1,,n2", "expected a hostlist such as"),
    ("SwitchName=a Nodes=ALL", "the file does not say who belongs to ALL"),
    ("SwitchName=a Nodes=b->c", "expected a hostlist such as"),
    ("SwitchName=a->b Nodes=c", "a name without '->'"),
    ("SwitchName=a Nodes=n[1-1000000]", "expected at most 100000 names"),
    ("SwitchName=a Nodes=n[1-999999999999999999]", "expected at most 100000 names"),
    ("SwitchName=a Nodes=n[1-9999999999999999999999]", "expected a hostlist"),
    ("SwitchName=a Nodes=n[-9999999999-5]", "expected a hostlist"),
    ("SwitchName=a Nodes=n[1-9/0]", "expected a hostlist"),
    ("SwitchName=a Nodes=n[0-1]" + "7" * 80, "expected ranges from one number to less than 1000000000 more"),
    ("SwitchName=a Nodes=n[0-1]777777777", "expected ranges from one number to less than 1000000000 more"),
    ("SwitchName=a Nodes=" + ",".join(f"n[{i}-{i + 999}]" for i in range(0, 300_000, 1000)), "at most 100000 names"),
    ("\n".join(f"SwitchName=s{i} Nodes=n[1-99999]" for i in range(9)), "line 4: expected at most 300000 names in all"),
    ("SwitchName=a Nodes=" + "x".join(["[1-9]"] * 9), "expected at most 100000 names"),
    ("- topology: a\n- topology: a", "$[1].topology: expected a name of its own"),
    ("- topology: a\n  flat: true", "$[0]: expected a tree or block topology, got ['flat']"),
    ("- topology: a\n- topology: b", "name: expected one of the file's topologies: 'a', 'b', got None"),
    ("- topology: a\n  tree: {switches: [{nodes: n1}]}", "$[0].tree.switches[0].switch: expected a non-empty string"),
    ("- topology: a\n  tree: [x]", "$[0].tree: expected a mapping"),
    (
        "\n".join(f"SwitchName=s{i} Switches=s{i + 1}" for i in range(9999)) + "\nSwitchName=s9999 Nodes=n",
        "tier: expected a whole number from 1 to 64",
    ),
    # topograph
    ("switches: {a: {switches: [b]}, b: {switches: [a]}}", "expected no switch above itself"),
    ("switches: {a: [b]}", "$.switches['a']: expected a mapping"),
    ("blocks: [{switch: a}, {switch: a}]", "$.blocks[1].switch: expected each leaf switch once"),
    ("blocks: [{nodes: [n1]}]", "$.blocks[0].switch: expected a non-empty string, got None"),
    ("blocks: [{switch: a, nodes: [[n1]]}]", "$.blocks[0].nodes: expected a hostlist"),
    ("blocks: [{switch: a, nodes: ['n[1-1000000]']}]", "expected at most 100000 names"),
    ('{"instances": [{"id": "a"}, {"id": "a"}]}', "$.instances[1].id: expected each instance once"),
    ('{"instances": [{"id": "a", "network_layers": [1]}]}', "$.instances[0].network_layers[0]: expected a non-empty"),
    (
        '{"instances": [{"id": "a", "network_layers": ["s", "a"]}]}',
        "expected hosts and switches of different names, got 'a'",
    ),
    (
        "switches: {a: {nodes: [b]}, b: {nodes: [n1]}}",
        "expected hosts and switches of different names, got 'b' as both",
    ),
    (
        "blocks: [{switch: a, nodes: [b]}, {switch: b}]",
        "expected hosts and switches of different names, got 'b' as both",
    ),
    ("switches: {a: {}}\nnodes: {a: {}}", "expected hosts and switches of different names, got 'a' as both"),
    ('{"instances": [{"id": "a", "network_layers": ["s", "t", "s"]}]}', "expected no switch above itself"),
    # InfiniBand
    (IB + "[1]\tnonsense", "line 2: expected [PORT]"),
    ("Switch\t2 nonsense\n" + IB, "line 1: expected KIND PORTS"),
    (
        IB + '[1]\t"H-1"[1] # "a HCA-1" lid 1\n[1]\t"H-2"[1] # "b HCA-1" lid 1',
        "line 3: expected each port at one other",
    ),
    # Lingjun
    ("ip,DSW,PSW,ASW\na,b,c", "line 2: expected ip,DSW,PSW,ASW, got 'a,b,c'"),
    ("ip,DSW,PSW,ASW\na,b,c,d\na,b,c,e", "line 3: expected each host once, got 'a' again"),
    ("ip,DSW,PSW,ASW\na,b,,d", "line 2: expected ip,DSW,PSW,ASW"),
    ("ip,DSW,PSW,ASW\nG2,G1,P,S\nb,G2,P,S", "expected hosts and switches of different names, got 'G2' as both"),
    ("ip,DSW,PSW,ASW\na,b/c,d,e\nf,b,c/d,e", "line 2: expected ip,DSW,PSW,ASW"),
    ("ip,DSW,PSW,ASW\n" + "a" * 200_000 + ",b,c,d", "expected CSV, got the error"),
    # Kubernetes
    (objects(NODE), "expected HyperNodes, or nodes with one Kueue Topology"),
    (objects(kueue("rack"), kueue("rack", name="u"), NODE), "nodes with one Kueue Topology of ['t', 'u']"),
    (objects(kueue("rack"), hyper("h", ("Node", EXACT))), "expected HyperNodes, or nodes"),
    (objects(kueue("kubernetes.io/hostname"), NODE), "spec.levels: expected at least one level above the hosts"),
    (objects(NODE, NODE, kueue("rack")), "$[0].items[1].metadata.name: expected each Node once"),
    (objects(hyper("n1", ("Node", EXACT)), NODE), "hosts and switches of different names, got 'n1' as both"),
    (objects(hyper("n1"), hyper("h", ("Node", EXACT))), "hosts and switches of different names, got 'n1' as both"),
    (objects(NODE, NAMED_AS_RACK, kueue("rack")), "hosts and switches of different names, got 'r1' as both"),
    (objects(hyper("h", ("Pod", EXACT))), "members[0].type: expected Node or HyperNode, got 'Pod'"),
    (objects(hyper("h", ("HyperNode", EXACT))), "exactMatch.name: expected a HyperNode of the file, got 'n1'"),
    (objects(hyper("h", ("Node", {"regexMatch": {"pattern": "n"}}))), "exactMatch, or the nodes in the file too"),
    (objects(hyper("h", ("Node", {"regexMatch": {"pattern": "("}})), NODE), "expected a regular expression"),
    (objects(hyper("h", ("Node", {"regexMatch": {"pattern": "(a+)+$"}})), NODE), "expected a pattern with few of"),
    (objects(hyper("h", ("Node", {"regexMatch": {"pattern": "a*b*c*d*e"}})), NODE), "expected a pattern with few of"),
    (objects(hyper("h", ("Node", {"regexMatch": {"pattern": "(a|a)" * 40}})), NODE), "expected a pattern with few of"),
    (objects(hyper("h", ("Node", {"regexMatch": {"pattern": "\\\\*" * 9}})), NODE), "expected a pattern with few of"),
    (objects(hyper("h", ("Node", {})), NODE), "labelMatch: expected exactMatch, regexMatch or matchLabels"),
    (objects(hyper("g", ("HyperNode", {"exactMatch": {"name": "g"}}))), "expected no switch above itself"),
    ('{"kind": "List", "items": 5}', "$[0].items: expected a list, got 5"),
    # our own
    ('{"format": "cassini-topology/2"}', "$.format: expected 'cassini-topology/1', got 'cassini-topology/2'"),
    ('{"format": "cassini-topology/1", "hosts": [], "switches": []}', "missing required field"),
    ('{"format": "cassini-topology/1", "hosts": [{"id": "a", "x": 1}], "switches": [], "cables": []}', "unknown field"),
    ('{"format": "cassini-topology/1", "hosts": [{"id": 5}], "switches": [], "cables": []}', "$.hosts[0].id: expected"),
    (
        '{"format": "cassini-topology/1", "hosts": [{"id": "a"}, {"id": "a"}], "switches": [], "cables": []}',
        "expected an id of its own",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text[:40] for text, _ in WRONG])
def test_what_is_wrong_is_refused_with_its_place(text: str, message: str) -> None:
    with works_less_than(5.0):
        assert message in refusal(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    assert "byte 3: expected text in UTF-8" in refusal(b"abc\xff")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", '{"a": '])
def test_deep_nesting_is_refused(opening: str) -> None:
    with works_less_than(5.0):
        text = refusal("switches: " * (opening[0] != "{") + opening * 100_000)
    assert any(reason in text for reason in ("at most 64 levels", "nested too deep", "expected YAML", "expected JSON"))


def test_an_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))]
    assert "line 2: expected YAML without aliases, got *a0" in refusal("\n".join(lines))


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.system ['true']", "!!timestamp 2026-01-01", "!!int 5"])
def test_tags_construct_nothing(tag: str) -> None:
    """A tag is passed over: what is tagged is text or a list like any other."""
    text = f"blocks:\n- switch: a\n  nodes: [n1]\n  annotations: {{x: {tag}}}\n"
    assert len(topology_from_bytes(text.encode()).topology.hosts) == 1


def test_a_file_beyond_the_limit_is_refused_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_FILE_BYTES", MIB)
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(256 * MIB)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=f"at most {MIB} bytes"):
            read_topology(path)
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


def test_more_yaml_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_YAML_BYTES", 100)
    assert "at most 100 characters of YAML" in refusal("switches: {}\n" + "#" * 100)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", "a\0b"):
        with pytest.raises(InputError, match="a readable file"):
            read_topology(path)


@pytest.mark.parametrize(
    ("text", "package"),
    [("SwitchName=a Nodes=n[1-2]", "ClusterShell"), ("blocks: [{switch: a, nodes: [n1]}]", "PyYAML")],
)
def test_a_missing_library_is_named_with_the_extra(text: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without(name: str, *more: Any, **options: Any) -> Any:
        if name.partition(".")[0] in ("yaml", "ClusterShell"):
            raise ImportError(name)
        return load(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    message = refusal(text)
    assert package in message
    assert "pip install 'cassini-core[topology]'" in message


def test_plain_lists_need_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ClusterShell.NodeSet", None)
    assert len(topology_from_bytes(b"SwitchName=a Nodes=n1,n2").topology.hosts) == 2


@pytest.mark.unsanitized(reason="Python's own time, with an allocator that looks at every block")
@pytest.mark.parametrize("part", ["[", "],", "n[1],", "n1,", "[1]", "n[1-", "n[1,1", "n[[1]],"])
def test_long_hostlists_take_time_in_proportion(part: str) -> None:
    with works_less_than(10.0), suppress(InputError):
        Hostlists().at((part * 30_000).rstrip(","), "here")


HEADS = {
    "ib": IB + '[1]\t"H-1"[1] # "n HCA-1" lid 1',
    "ib name": 'Switch\t2 "S-1"\t# "MF0;',
    "conf": "SwitchName=a Nodes=",
    "yaml": "switches: ",
    "csv": "ip,DSW,PSW,ASW\n",
    "json": '{"instances": [',
    "nothing": "",
}


@pytest.mark.unsanitized(reason="Python's own time, with an allocator that looks at every block")
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize(
    "part", [" 4xEDR", "4x", "_1", " ", "\n", '"', "#", "Switch ", "SwitchName=", "&a ", "? ", "{", "-1", ",a", ";"]
)
def test_long_lines_take_time_in_proportion(head: str, part: str) -> None:
    with works_less_than(10.0), suppress(InputError):
        topology_from_bytes((HEADS[head] + part * 50_000 + "!").encode())


@given(st.lists(st.sampled_from([*"n1[]-,/ 9", "7" * 6, "9" * 12, "0" * 20, "[0-1]"]), max_size=12).map("".join))
def test_any_hostlist_is_expanded_or_refused(text: str) -> None:
    with suppress(InputError):
        assert all(name and "[" not in name for name in Hostlists().at(text, "here"))


@given(trees(), st.data())
def test_a_damaged_file_is_read_or_refused_in_one_line(topology: Any, data: st.DataObject) -> None:
    write = data.draw(
        st.sampled_from(
            [files.slurm_conf, files.slurm_yaml, files.topograph_model, files.topograph_graph, files.hypernodes]
        )
    )
    text = bytearray(write(topology, random.Random(1)).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        text = text or bytearray(b"x")
    refused = ""
    try:
        topology_from_bytes(bytes(text))
    except InputError as error:
        refused = str(error)
    assert refused.isprintable()


@given(st.integers(0, 2**32), st.integers(1, 3))
def test_a_document_with_any_value_anywhere_is_read_or_refused_in_one_line(seed: int, changes: int) -> None:
    """Lists for names, mappings for numbers, numbers for texts, and keys that are gone."""
    documents_of_all_kinds = [path.read_bytes() for path in CORPUS if path.read_bytes()[:1] in (b"{", b"[")]
    data = documents_of_all_kinds[seed % len(documents_of_all_kinds)]
    for change in range(changes):
        data = json_mutator.mutate(data, 2**20, seed + change, lambda same, _: same)
    refused = ""
    try:
        topology_from_bytes(data)
    except InputError as error:
        refused = str(error)
    assert refused.isprintable()


@pytest.mark.unsanitized(reason="Python's own time, with an allocator that looks at every block")
def test_large_files_take_time_in_proportion() -> None:
    network = leaf_spine(250, 8, 40)
    rng = random.Random(1)
    conf, graph = files.slurm_conf(network, rng), files.topograph_model(network, rng)
    with works_less_than(20.0):
        assert topology_from_bytes(conf.encode()).topology == network
        assert topology_from_bytes(graph.encode()).topology == network
