"""What is to be interleaved: on which links, under which daemons, which jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..endpoint import Endpoint
from ..job_secret import JobSecret
from .network import Network

__all__ = ["Scope"]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a scheduler says.

    Attributes
    ----------
    network : Network
    hosts : mapping of str to Endpoint
        Daemons by the names of their hosts.
    wanted : frozenset of str or None
        Jobs that take part; None: all that the daemons have and the network knows.
    secrets : mapping of str to JobSecret
        By job.

    Raises
    ------
    ValueError
        A job that is wanted crosses no link.
    """

    network: Network
    hosts: Mapping[str, Endpoint]
    wanted: frozenset[str] | None = None
    secrets: Mapping[str, JobSecret] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if unknown := sorted(job for job in self.wanted or () if not self.network.route(job)):
            raise ValueError(f"jobs: expected jobs that cross a link of the network, got {unknown[0]!r}")

    def takes_part(self, job: str) -> bool:
        """Whether a job of this name does, wherever it runs."""
        return bool(self.network.route(job)) and (self.wanted is None or job in self.wanted)
