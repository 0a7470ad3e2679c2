"""Kubernetes objects that describe a network: Kueue's ``Topology`` with node labels, and Volcano's ``HyperNode``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...errors import refusal, shown
from ...formats import counted
from ..model import Topology
from .documents import list_at, mapping_at, text_at
from .tree import topology_of

__all__ = ["topology_from_objects"]

_GPU = "nvidia.com/gpu"
_HOSTNAME = "kubernetes.io/hostname"
_KINDS = {"Topology": "kueue.x-k8s.io/", "HyperNode": "topology.volcano.sh/", "Node": "v1"}
_LONGEST_NAME = 253  # of an object of Kubernetes
_MOST_WAYS = 10**9

Object = tuple[str, dict[str, Any]]
"""Place in the file, and fields."""


def topology_from_objects(documents: list[Any], name: str | None = None) -> Topology:
    """The network of HyperNodes, or of a Kueue Topology and the nodes with its labels.

    Parameters
    ----------
    documents : list
        As ``yaml_documents`` or ``json_document`` read them; a ``List`` holds further ones. Other kinds do not
        matter.
    name : str, optional
        Which ``Topology``, where there are several.

    Raises
    ------
    InputError
        There is neither or both, an object has another shape or comes twice, a member is unknown, or a HyperNode is
        above itself.
    """
    found: dict[str, dict[str, Object]] = {kind: {} for kind in _KINDS}
    other = 0
    for place, fields in _objects(documents, "$"):
        kind = fields.get("kind")
        if (
            not isinstance(kind, str)
            or kind not in _KINDS
            or not str(fields.get("apiVersion")).startswith(_KINDS[kind])
        ):
            other += 1
            continue
        title = text_at(mapping_at(fields.get("metadata"), f"{place}.metadata").get("name"), f"{place}.metadata.name")
        if title in found[kind]:
            raise refusal("", f"{place}.metadata.name", f"each {kind} once", f"{shown(title)} again")
        found[kind][title] = place, fields
    notes = [f"{counted(other, 'object')} of other kinds passed over"] if other else []
    nodes = {title: _labels(*node) for title, node in found["Node"].items()}
    gpus = {title: _gpus(*node) for title, node in found["Node"].items()}
    if found["HyperNode"] and not found["Topology"]:
        below, hosts = _hypernodes(found["HyperNode"], nodes)
        return topology_of(below, dict.fromkeys(hosts) | gpus, notes)
    titles = list(found["Topology"])
    chosen = titles[0] if name is None and len(titles) == 1 and not found["HyperNode"] else name
    if chosen not in found["Topology"]:
        kinds = f"HyperNodes, or nodes with one Kueue Topology of {titles or 'which there is none'} (name)"
        raise refusal("", "", kinds, shown(name) if name is not None else "other objects")
    return _labelled(*found["Topology"][chosen], nodes, gpus, notes)


def _objects(documents: list[Any], place: str) -> Iterator[Object]:
    for index, document in enumerate(documents):
        here = f"{place}[{index}]"
        fields = mapping_at(document, here)
        if str(fields.get("kind")).endswith("List") and "items" in fields:
            for at, item in enumerate(list_at(fields["items"], f"{here}.items")):
                yield f"{here}.items[{at}]", mapping_at(item, f"{here}.items[{at}]")
        elif fields:
            yield here, fields


def _labels(place: str, fields: dict[str, Any]) -> dict[str, Any]:
    metadata = mapping_at(fields.get("metadata"), f"{place}.metadata")
    return mapping_at(metadata.get("labels"), f"{place}.metadata.labels")


def _gpus(place: str, fields: dict[str, Any]) -> int | None:
    status = mapping_at(fields.get("status"), f"{place}.status")
    count = str(mapping_at(status.get("allocatable"), f"{place}.status.allocatable").get(_GPU, ""))
    return int(count) if re.fullmatch("[1-9][0-9]{0,5}", count) else None


def _labelled(
    place: str, fields: dict[str, Any], nodes: dict[str, dict[str, Any]], gpus: dict[str, int | None], notes: list[str]
) -> Topology:
    """Nodes under the values of their labels. Values need only be unique below their parent: a path names a switch."""
    spec = mapping_at(fields.get("spec"), f"{place}.spec")
    levels = []
    for index, level in enumerate(list_at(spec.get("levels"), f"{place}.spec.levels")):
        here = f"{place}.spec.levels[{index}]"
        levels.append(text_at(mapping_at(level, here).get("nodeLabel"), f"{here}.nodeLabel"))
    if levels and levels[-1] == _HOSTNAME:
        del levels[-1]
    if not levels:
        raise refusal("", f"{place}.spec.levels", "at least one level above the hosts", "none")
    below: dict[str, dict[str, None]] = {}
    left_out = 0
    for node, labels in nodes.items():
        values = [labels.get(level) for level in levels]
        if not all(isinstance(value, str) and value for value in values):
            left_out += 1
            continue
        names = ["/".join(map(str, values[: depth + 1])) for depth in range(len(values))]
        for above, under in zip(names, [*names[1:], node], strict=True):
            below.setdefault(above, {})[under] = None
    if left_out:
        notes = [*notes, f"{counted(left_out, 'node')} without all labels of the topology left out"]
    members = {under for names in below.values() for under in names}
    return topology_of(below, {node: count for node, count in gpus.items() if node in members}, notes)


def _hypernodes(
    hypernodes: dict[str, Object], nodes: dict[str, dict[str, Any]]
) -> tuple[dict[str, dict[str, None]], set[str]]:
    """Members by HyperNode, and those that are nodes."""
    labels = {name: _labels(*hypernode) for name, hypernode in hypernodes.items()}
    below: dict[str, dict[str, None]] = {}
    hosts: set[str] = set()
    for name, (place, fields) in hypernodes.items():
        spec = mapping_at(fields.get("spec"), f"{place}.spec")
        below[name] = {}
        for index, member in enumerate(list_at(spec.get("members"), f"{place}.spec.members")):
            here = f"{place}.spec.members[{index}]"
            entry = mapping_at(member, here)
            kind = entry.get("type")
            if kind not in ("Node", "HyperNode"):
                raise refusal("", f"{here}.type", "Node or HyperNode", shown(kind))
            known = nodes if kind == "Node" else labels
            chosen = _selected(mapping_at(entry.get("selector"), f"{here}.selector"), known, kind, f"{here}.selector")
            below[name].update(dict.fromkeys(chosen))
            hosts.update(chosen if kind == "Node" else ())
    return below, hosts


def _selected(selector: dict[str, Any], known: dict[str, dict[str, Any]], kind: str, place: str) -> list[str]:
    """Names that a member selects. An exact name of a node needs no object of it; patterns and labels do."""
    if selector.get("exactMatch") is not None:
        place = f"{place}.exactMatch"
        name = text_at(mapping_at(selector["exactMatch"], place).get("name"), f"{place}.name")
        if kind == "HyperNode" and name not in known:
            raise refusal("", f"{place}.name", "a HyperNode of the file", shown(name))
        return [name]
    if not known:
        raise refusal("", place, "exactMatch, or the nodes in the file too (kubectl get nodes,hypernodes)", "no nodes")
    if selector.get("regexMatch") is not None:
        place = f"{place}.regexMatch"
        pattern = _pattern(mapping_at(selector["regexMatch"], place).get("pattern"), len(known), f"{place}.pattern")
        return [name for name in known if len(name) <= _LONGEST_NAME and pattern.search(name)]
    place = f"{place}.labelMatch"
    labels = mapping_at(selector.get("labelMatch"), place)
    wanted = mapping_at(labels.get("matchLabels"), f"{place}.matchLabels")
    if not wanted or labels.get("matchExpressions"):
        raise refusal(
            "", place, "exactMatch, regexMatch or matchLabels (matchExpressions are not read)", shown(selector)
        )
    return [name for name, has in known.items() if all(has.get(label) == value for label, value in wanted.items())]


def _pattern(value: Any, names: int, place: str) -> re.Pattern[str]:
    """The regular expression, if it can be matched with so many names in little time: it comes from a file."""
    text = text_at(value, place)
    # Each repetition tries every length of a name, each alternative doubles the ways.
    ways = _LONGEST_NAME ** len(re.findall(r"[*+?{]", text)) * 2 ** text.count("|")
    if len(text) > 500 or re.search(r"\)[*+?{]|\\[1-9]|\(\?", text) or ways * names > _MOST_WAYS:
        expected = "a pattern with few of * + ? {} |, no repeated group, and no (?"
        raise refusal("", place, expected, shown(text))
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise refusal("", place, "a regular expression", f"{shown(text)} ({shown(str(error))})") from None
