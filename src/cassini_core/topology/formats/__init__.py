"""Topology files, recognised by what they contain: Slurm, topograph, InfiniBand, Kueue, Volcano, Lingjun, our own."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ...errors import InputError, refusal, shown
from ..model import Topology
from . import documents, ibnetdiscover, kubernetes, lingjun, slurm, topograph

__all__ = ["MAX_FILE_BYTES", "Reading", "read_topology", "topology_from_bytes"]

MAX_FILE_BYTES = 256 * 2**20
"""Longer files are refused."""

_EXPECTED = (
    "a topology.conf or topology.yaml of Slurm, a model or graph of topograph, output of ibnetdiscover, a Kueue "
    "Topology with nodes, HyperNodes of Volcano, a topo.csv of Lingjun, or cassini-topology/1"
)


class Reading(NamedTuple):
    """A network and the name of the format it was read from."""

    topology: Topology
    format: str


def read_topology(path: str | os.PathLike[str], *, name: str | None = None, storage: str | None = None) -> Reading:
    """Read a topology file of any known format.

    Parameters
    ----------
    path : str or path-like
        At most 256 MiB.
    name : str, optional
        Which topology, where a file of Slurm or Kueue holds several.
    storage : str, optional
        For InfiniBand: a regular expression for the adapters of a storage network.

    Returns
    -------
    Reading
        Capacities that the file does not give are None; ``overlay`` fills them.

    Raises
    ------
    InputError
        The file cannot be read, is none of the formats, or is wrong; one line with file, place, what was expected and
        what came. Also if PyYAML or ClusterShell is needed and not installed (extra ``topology``).

    Notes
    -----
    Cost: a second for 1 to 2 MB of YAML (at most 32 MiB), or for some 5 MB of the others.
    """
    source = os.fsdecode(path)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _within(source, refusal("", "", "a readable file", f"the error {shown(str(error))}")) from None
    return topology_from_bytes(data, source, name=name, storage=storage)


def topology_from_bytes(
    data: bytes, source: str = "topology", *, name: str | None = None, storage: str | None = None
) -> Reading:
    """As :func:`read_topology`, from bytes; ``source`` stands for the file in messages."""
    try:
        if len(data) > MAX_FILE_BYTES:
            raise refusal("", "", f"at most {MAX_FILE_BYTES} bytes", "more")
        try:
            text = data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise refusal("", f"byte {error.start}", "text in UTF-8", "other bytes") from None
        reading = _read(text, name, storage)
        if name is not None and reading.format not in ("Slurm topology.yaml", "Kubernetes objects"):
            raise refusal("", "name", f"none for the format {reading.format}", shown(name))
        if storage is not None and reading.format != "ibnetdiscover":
            raise refusal("", "storage", f"none for the format {reading.format}", shown(storage))
        return reading
    except InputError as error:
        raise _within(source, error) from None


def _read(text: str, name: str | None, storage: str | None) -> Reading:
    start = text.lstrip()
    if ibnetdiscover.IS_IBNETDISCOVER.search(text):
        return Reading(ibnetdiscover.topology_from_ibnetdiscover(text, storage), "ibnetdiscover")
    if start.partition("\n")[0].strip() == lingjun.IS_LINGJUN:
        return Reading(lingjun.topology_from_csv(start), "Lingjun topo.csv")
    if start.startswith(("{", "[")):
        return _from_documents([documents.json_document(text)], name)
    if slurm.IS_CONF.search(text):
        return Reading(slurm.topology_from_conf(text), "Slurm topology.conf")
    return _from_documents(documents.yaml_documents(text), name)


def _from_documents(found: list[Any], name: str | None) -> Reading:
    kept = [document for document in found if document is not None]
    first = kept[0] if kept else None
    if isinstance(first, list) and first and all(isinstance(one, dict) and "topology" in one for one in first):
        return Reading(slurm.topology_from_yaml(first, name), "Slurm topology.yaml")
    if isinstance(first, dict):
        if "format" in first:
            from . import native

            return Reading(native.topology_from_document(first), native.FORMAT)
        if "instances" in first:
            return Reading(topograph.topology_from_graph(first), "topograph graph")
        if "kind" in first:
            return Reading(kubernetes.topology_from_objects(kept, name), "Kubernetes objects")
        if {"switches", "blocks"} & set(first):
            return Reading(topograph.topology_from_model(first), "topograph model")
    raise refusal("", "", _EXPECTED, "an empty file" if first is None else shown(first))


def _within(source: str, error: InputError) -> InputError:
    """An error told by the file it is in."""
    name = source if source.isprintable() else shown(source)
    return InputError(f"{name}: {error}", place=error.place, reason=error.reason)
