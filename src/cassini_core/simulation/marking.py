"""What a flow-level model can say of ECN marks: how many packets a queue marks while congestion control holds it.

With max-min rates that hold at once there is no queue, so no mark follows from them. What follows is *when* a link is
contended: it is full, and more is wanted of it. Of that time two things are assumed:

- **Onset.** Congestion control needs ``reaction_ms`` to act. So long the senders offer what they want, the queue grows
  by what is beyond the capacity, and marks with WRED's probability: none up to ``min_cells``, all beyond ``max_cells``,
  in between in proportion.
- **Then** the queue stands where the transport's own fixed point has it, and a constant share of all packets is marked:
  :func:`dcqcn_share` or :func:`dctcp_share`.

When contention ends, the queue is gone at once; it held some tens of microseconds of traffic. Packets of all jobs that
cross the link are marked alike. A path through two contended links is counted at both, although the first one's queue
keeps the second one's short; a link that is full but of which no more is wanted marks nothing. The number of senders is
that of jobs on the link times ``flows_per_job``: with more flows each is slower, and more of its packets are marked.

Orders of magnitude and directions are meant, not counts: beside packets in ns-3 (DCTCP, two jobs on a link) those in
phase have two to three times as many marks here, and interleaved ones none in both
(``python -m bench.testbed.validation.ns3_check``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..arrays import Float64Array
from ..errors import refusal, shown

__all__ = ["Marking", "Transport", "dcqcn_share", "dctcp_share"]

Transport = Literal["dcqcn", "dctcp"]

_BITS = 8.0


@dataclass(frozen=True, slots=True)
class Marking:
    """Switches that mark, and transports that heed it.

    Parameters
    ----------
    transport : {"dcqcn", "dctcp"}
        Whose fixed point counts.
    min_cells, max_cells : float
        WRED's thresholds. 1000 and 2000 cells are those of the Cassini paper's testbed (section 5.1), which does not
        say with what probability it marks at the upper one; here with 1.
    cell_bytes : float
        The paper does not say; 80 bytes is what is said of its switch, not checked. Packets are taken to fill theirs.
    packet_bytes : float
        1024 is the largest payload that RoCE takes on Ethernet without jumbo frames; 1500 suits TCP.
    reaction_ms : float
        From the begin of contention until senders have given way. 0.05 ms is DCQCN's least time between two
        notifications (SIGCOMM 2015, section 5.1); for TCP it is a round trip.
    rtt_ms : float
        Round trip without queues; for ``dctcp``.
    flows_per_job : int
        Flows of a job on a link.

    Raises
    ------
    InputError
        A value out of bounds.
    """

    transport: Transport = "dcqcn"
    min_cells: float = 1000.0
    max_cells: float = 2000.0
    cell_bytes: float = 80.0
    packet_bytes: float = 1024.0
    reaction_ms: float = 0.05
    rtt_ms: float = 0.01
    flows_per_job: int = 1

    def __post_init__(self) -> None:
        if self.transport not in get_args(Transport):
            raise refusal("marking", "transport", "dcqcn or dctcp", shown(self.transport))
        for name in ("min_cells", "reaction_ms", "rtt_ms"):
            if not 0 <= getattr(self, name) < math.inf:
                raise refusal("marking", name, "a number, at least 0", shown(getattr(self, name)))
        for name in ("cell_bytes", "packet_bytes", "flows_per_job"):
            if not 0 < getattr(self, name) < math.inf:
                raise refusal("marking", name, "a number above 0", shown(getattr(self, name)))
        if not self.min_cells < self.max_cells < math.inf:
            raise refusal("marking", "max_cells", f"more than min_cells {self.min_cells}", shown(self.max_cells))

    @property
    def packets_per_mbit(self) -> float:
        """Packets that carry a million bits."""
        return 1e6 / (_BITS * self.packet_bytes)

    def share(self, senders: int, capacity_gbps: float) -> float:
        """Of the packets that cross a contended link, the share that is marked once its senders give way.

        Parameters
        ----------
        senders : int
            Jobs that send on it, at least 1.
        capacity_gbps : float
        """
        packets_per_ms = capacity_gbps * self.packets_per_mbit
        flows = senders * self.flows_per_job
        if self.transport == "dcqcn":
            return dcqcn_share(flows, packets_per_ms, self.packet_bytes)
        cells = self.cell_bytes / self.packet_bytes
        low, high = self.min_cells * cells, self.max_cells * cells
        return dctcp_share(flows, packets_per_ms * self.rtt_ms, low, high)

    def table(self, capacities_gbps: Float64Array, senders: int) -> Float64Array:
        """Marked packets per Mbit, shape (capacities, senders + 1); column 0, for nobody, is 0."""
        found = np.zeros((len(capacities_gbps), senders + 1))
        for row, capacity in enumerate(capacities_gbps.tolist()):
            for count in range(1, senders + 1):
                found[row, count] = self.packets_per_mbit * self.share(count, capacity)
        return found

    def law(self) -> Float64Array:
        """Reaction time (ms), thresholds (Mbit), packets per Mbit."""
        mbit = _BITS * 1e-6 * self.cell_bytes
        return np.array([self.reaction_ms, self.min_cells * mbit, self.max_cells * mbit, self.packets_per_mbit])


def dcqcn_share(
    flows: int,
    packets_per_ms: float,
    packet_bytes: float = 1024.0,
    *,
    increase_gbps: float = 0.04,
    timer_ms: float = 0.055,
    counter_bytes: float = 1e7,
    alpha_ms: float = 0.055,
) -> float:
    """The marking probability at which equal DCQCN flows neither gain nor lose.

    Where the gains of a flow (additive increase ``R_AI`` after each timer ``T`` and byte counter ``B``) and its losses
    (cuts by half of the marked share, learnt over ``tau'``) are equal, and marking is rare,
    ``p**3 = R_AI * N**2 / (tau' * C**2) * (1 / B + N / (T * C))**2``, in packets (Zhu et al., *ECN or Delay*, CoNEXT
    2016, section 3.1).

    Parameters
    ----------
    flows : int
        ``N``.
    packets_per_ms : float
        ``C``.
    packet_bytes : float
    increase_gbps, timer_ms, counter_bytes, alpha_ms : float
        ``R_AI``, ``T``, ``B``, ``tau'``; the values of that paper's table 2.

    Returns
    -------
    float
        At most 1.
    """
    increase = increase_gbps * 1e6 / (_BITS * packet_bytes)
    counter = counter_bytes / packet_bytes
    gain = (
        increase * flows**2 / (alpha_ms * packets_per_ms**2) * (1 / counter + flows / (timer_ms * packets_per_ms)) ** 2
    )
    return float(min(1.0, gain ** (1 / 3)))


def dctcp_share(flows: int, in_flight: float, low: float, high: float) -> float:
    """The share of packets that is marked when equal DCTCP flows swing about the threshold.

    ``alpha**2 * (1 - alpha / 4) = (2 * W + 1) / (W + 1)**2``, with ``W`` the window at which the queue reaches the
    threshold (Alizadeh et al., *Data Center TCP*, SIGCOMM 2010, equation 6). With a ramp instead of one threshold the
    queue stands where the ramp marks that share.

    Parameters
    ----------
    flows : int
    in_flight : float
        Packets on the way at full capacity, without queue.
    low, high : float
        Where the ramp begins and ends, packets.

    Returns
    -------
    float
        At most 1.
    """
    least, most = 0.0, 1.0
    for _ in range(40):  # the share falls with the window, and the window grows with the share: one crossing
        share = (least + most) / 2
        window = (in_flight + low + share * (high - low)) / flows
        if share**2 * (1 - share / 4) < (2 * window + 1) / (window + 1) ** 2:
            least = share
        else:
            most = share
    return (least + most) / 2
