"""Groups of ranks, and what their collectives put on the network.

Ranks are numbered as Megatron-LM does by default: tensor parallel neighbours first, then expert and data parallel ones,
then pipeline stages. ``local_ranks`` ranks of consecutive numbers share a server.

Every figure is what one rank sends, in bytes, through its share of its server's network: its own NIC, or an equal part
of a NIC that several ranks share.

* All-reduce, reduce-scatter, all-gather: a flat ring over all ranks of the group, as NCCL builds it between hosts for
  large messages. A rank passes on ``2 (n-1)/n S`` for an all-reduce of ``S`` bytes (Patarasuk and Yuan, "Bandwidth
  optimal all-reduce algorithms for clusters of workstations", Journal of Parallel and Distributed Computing, 2009) and
  half of it for each of the others (Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
  Operations in MPICH", 2005). A ring enters and leaves each server once, whatever number ``k`` of its ranks sits there;
  with a ring per NIC, as NCCL has, each carries a ``k``-th.
* All-to-all: each rank sends ``S/n`` to each other rank; ``n-k`` of them sit in other servers.
* A group of which all ranks sit in one server puts nothing on the network.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import InputError
from ..collectives import wire_bytes

__all__ = ["Group", "Message", "rank_groups"]


@dataclass(frozen=True, slots=True)
class Message:
    """One rank's part in an operation: bytes through the network, and bytes that stay inside the server.

    ``name`` says what it is, for example ``tensor all_reduce``; ``count`` how many such operations were put together.
    """

    name: str
    network_bytes: float
    local_bytes: float
    count: int = 1

    def part(self, share: float) -> Message:
        """A share of the message, for what is sent piece by piece."""
        return Message(self.name, share * self.network_bytes, share * self.local_bytes, self.count)

    def times(self, count: int) -> Message:
        """So many of the same, one after the other."""
        return Message(self.name, count * self.network_bytes, count * self.local_bytes, count * self.count)


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks that communicate with each other.

    Attributes
    ----------
    name : str
        ``tensor``, ``data``, ``expert``, ``expert data``, ``pipeline``.
    size : int
        Ranks in the group.
    local : int
        Ranks of the group in one server, from 1 to ``size``.
    """

    name: str
    size: int
    local: int

    @property
    def crosses(self) -> bool:
        """Whether it uses the network."""
        return self.local < self.size

    def message(self, kind: str, payload_bytes: float) -> Message:
        """One rank's part in a collective; ``payload_bytes`` is the whole tensor: the larger of input and output."""
        wire = wire_bytes(kind, payload_bytes, payload_bytes, self.size)
        if not self.crosses:
            return Message(f"{self.name} {kind}", 0.0, wire)
        elsewhere = (self.size - self.local) / self.size
        network = payload_bytes * elsewhere if kind == "all_to_all" else wire / self.local
        return Message(f"{self.name} {kind}", network, wire - network)


def rank_groups(
    workers: int, *, tensor: int = 1, pipeline: int = 1, expert: int = 1, local_ranks: int = 1
) -> dict[str, Group]:
    """The groups of one rank, by name; those of size 1 are there too.

    Raises
    ------
    InputError
        The numbers do not divide each other; or a group does not fill servers evenly: then its servers differ, and one
        figure cannot stand for all.
    """
    if workers % (tensor * pipeline):
        raise InputError(f"workers: expected a multiple of tensor times pipeline, {tensor * pipeline}, got {workers}")
    data, in_server = workers // (tensor * pipeline), min(local_ranks, workers)
    if data % expert:
        raise InputError(f"expert: expected a divisor of the {data} data parallel ranks, got {expert}")
    shapes = {
        "tensor": (tensor, 1),
        "data": (data, tensor),
        "expert": (expert, tensor),
        "expert data": (data // expert, tensor * expert),
        "pipeline": (pipeline, tensor * data),
    }
    return {name: Group(name, size, _local(name, size, step, in_server)) for name, (size, step) in shapes.items()}


def _local(name: str, size: int, step: int, local_ranks: int) -> int:
    """How many of a group's ranks sit in one server, where neighbours in the group are ``step`` numbers apart."""
    if size == 1 or step % local_ranks == 0:
        return 1
    if local_ranks % step == 0:
        local = local_ranks // step
        if local % size == 0 or size % local == 0:
            return min(local, size)
    raise InputError(
        f"local_ranks: expected servers that the {name} groups ({size} ranks, {step} numbers apart) fill evenly, got "
        f"{local_ranks} ranks in a server; {step} or {step * size} would do"
    )
