"""``cassini-core topology``: what a network is, read from a file or generated, and its file in our own format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..errors import InputError, shown
from .console import Waiting, check_output_path, emit_bytes, emit_renderables, write_file
from .inputs import STREAM
from .options import JsonFlag, PositiveCount

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..topology.model import Topology
    from ..topology.overlay import TierCables
    from ..topology.summary import Summary, TierSummary

__all__ = ["ASSUMED", "SIZED", "read_network", "topology"]

_GENERATED = {"leaf-spine": ("leaves", "spines", "hosts"), "fat-tree": ("k",), "testbed": (), "testbed-two-gpus": ()}
ASSUMED = "Assumed capacities are nobody's figures"
SIZED = ("leaf-spine", "fat-tree")
"""What is generated of a size that must be said."""

_TIER = "TIER:KEY=NUMBER[,KEY=NUMBER] with keys gbps, oversubscription, parallel"


def topology(
    source: str,
    /,
    *,
    json: JsonFlag = False,
    output: Annotated[str | None, Parameter(name=("--output", "-o"))] = None,
    tier: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    join: str | None = None,
    name: str | None = None,
    storage: str | None = None,
    leaves: PositiveCount = None,
    spines: PositiveCount = None,
    hosts: PositiveCount = None,
    k: PositiveCount = None,
) -> None:
    """Show a network: switches, hosts, cables, capacities and where they come from, parts, oddities.

    Reads Slurm, topograph, ibnetdiscover, Kueue, Volcano, Lingjun and cassini-topology/1 files, by their content.

    Parameters
    ----------
    source
        A file, - for standard input, or what to generate: leaf-spine, fat-tree, testbed (the paper's 24 servers) or
        testbed-two-gpus (its six servers of two GPUs). ./testbed is a file.
    output
        File to write the network to (cassini-topology/1), capacities included; - writes it to standard output instead
        of what it is.
    tier
        What is known of the cables from one tier up: TIER:KEY=NUMBER,... Tier 1 is that of the hosts. Keys: gbps of
        each cable and direction, oversubscription (from tier 2 on), parallel cables. Default: 100 Gbit/s at hosts, no
        oversubscription, where the file says nothing.
    join
        Name of a switch to put above all that have nothing above.
    name
        Which topology of a Slurm or Kueue file that has several.
    storage
        Regular expression for the names of InfiniBand adapters of a storage network, such as mlx5_4.
    leaves
        Leaf switches of leaf-spine.
    spines
        Spine switches of leaf-spine.
    hosts
        Hosts under each leaf switch of leaf-spine.
    k
        Ports of the switches of fat-tree.
    """
    from ..topology.overlay import joined, with_capacities
    from ..topology.summary import summarize

    if output is not None and output != STREAM:
        check_output_path(output, () if source == STREAM or source in _GENERATED else (source,))
    tiers = _tiers(tier)
    sizes = {"leaves": leaves, "spines": spines, "hosts": hosts, "k": k}
    with Waiting("reading the network"):
        network, read_as = read_network(source, sizes, name, storage)
        if join is not None:
            network = joined(network, join)
        network = with_capacities(network, tiers)
        summary = summarize(network)
    if output is not None:
        _write(output, network)
    if output == STREAM:
        return
    if json:
        emit_bytes(_json(summary, read_as))
    else:
        emit_renderables(*_report(summary, read_as))


def read_network(
    source: str, sizes: dict[str, int | None], name: str | None, storage: str | None
) -> tuple[Topology, str]:
    """The network without assumed capacities, and what it was read as."""
    wanted = _GENERATED.get(source, ())
    for option, value in sizes.items():
        if (value is None) == (option in wanted):
            said = "a value" if option in wanted else "nothing"
            raise InputError(f"--{option}: expected {said} for {shown(source)}, got {value or 'none'}")
    if source in _GENERATED:
        if name is not None or storage is not None:
            raise InputError(f"--{'name' if name is not None else 'storage'}: expected a file to read, got {source}")
        from ..topology import generated

        kinds: dict[str, Any] = {
            "leaf-spine": generated.leaf_spine,
            "fat-tree": generated.fat_tree,
            "testbed": generated.paper_testbed,
            "testbed-two-gpus": generated.paper_two_gpus,
        }
        return kinds[source](*(sizes[option] for option in wanted)), f"generated {source}"
    from ..topology.formats import topology_from_bytes
    from .inputs import read_input

    return topology_from_bytes(*read_input(source), name=name, storage=storage)


def _tiers(texts: tuple[str, ...]) -> dict[int, TierCables]:
    found: dict[int, TierCables] = {}
    for number, cables in map(_tier, texts):
        if number in found:
            raise InputError(f"--tier: expected each tier once, all of its keys together, got tier {number} again")
        found[number] = cables
    return found


def _tier(text: str) -> tuple[int, TierCables]:
    from ..topology.overlay import TierCables

    tier, _, words = text.partition(":")
    found: dict[str, float] = {}
    for word in words.split(","):
        key, _, value = word.partition("=")
        if key not in ("gbps", "oversubscription", "parallel") or key in found or not re.fullmatch(_NUMBER, value):
            raise InputError(f"--tier: expected {_TIER}, got {shown(text)}")
        found[key] = float(value) if key != "parallel" or "." in value else int(value)
    if not re.fullmatch("[1-9][0-9]{0,4}", tier):
        raise InputError(f"--tier: expected {_TIER}, got {shown(text)}")
    try:
        return int(tier), TierCables(**found)  # type: ignore[arg-type]
    except InputError as error:
        raise InputError(f"--tier: {error}") from None


_NUMBER = r"[0-9]{1,9}(\.[0-9]{1,9})?"


def _write(output: str, network: Topology) -> None:
    from ..topology.formats.native import topology_to_json

    data = topology_to_json(network)
    if output == STREAM:
        emit_bytes(data)
    else:
        write_file(output, data)


def _json(summary: Summary, read_as: str) -> bytes:
    from ..formats import json_line

    content = {"format": "cassini-topology-summary/1", "read_as": read_as, "hosts": summary.hosts}
    content |= {"switches": summary.switches, "cables": summary.cables, "tiers": summary.tiers}
    parts = [{"hosts": hosts, "switches": switches} for hosts, switches in summary.parts]
    return json_line(content | {"parts": parts, "oddities": summary.oddities})


def _report(summary: Summary, read_as: str) -> Iterator[RenderableType]:
    from rich.text import Text

    from ..formats import counted
    from .console import one_line
    from .tables import Listing

    table = Listing("Cables", ("tier", "from", "cables", "Gbit/s each way", "basis", "oversubscription"), "rlrlll")
    for tier in summary.tiers:
        ends = str(tier.tier), _lower(tier)
        for basis in sorted({capacity.basis for capacity in tier.capacities}, key=str):
            of_basis = [capacity for capacity in tier.capacities if capacity.basis == basis]
            least, most = (f"{capacity.gbps or 0:.6g}" for capacity in (of_basis[0], of_basis[-1]))
            gbps = least if least == most else f"{least} to {most}"
            over = _ratio(tier.oversubscription) if ends[0] else ""
            table.add(*ends, str(sum(one.cables for one in of_basis)), gbps, basis or "-", over)
            ends = "", ""
    yield table
    switches = f"{summary.switches} switch{'es' * (summary.switches != 1)}"
    sizes = f"{counted(summary.hosts, 'host')}, {switches}, {counted(summary.cables, 'cable')}"
    yield Text(f"{sizes} ({one_line(read_as)}).")
    if any(capacity.basis == "assumed" for tier in summary.tiers for capacity in tier.capacities):
        yield Text(f"{ASSUMED}; say what you know with --tier.")
    if len(summary.parts) > 1:
        listed = ", ".join(f"{hosts}+{others}" for hosts, others in summary.parts[:10])
        more = f" and {len(summary.parts) - 10} more" if len(summary.parts) > 10 else ""
        yield Text(f"Parts (hosts+switches): {listed}{more}.")
    for oddity in summary.oddities:
        yield Text(f"Note: {one_line(oddity)}")


def _lower(tier: TierSummary) -> str:
    return (
        f"{tier.nodes} {'host' if tier.tier == 1 else 'switch'}{('s' if tier.tier == 1 else 'es') * (tier.nodes != 1)}"
    )


def _ratio(span: tuple[float, float] | None) -> str:
    if span is None:
        return "-"
    least, most = (f"{value:.3g}:1" for value in span)
    return least if least == most else f"{least} to {most}"
