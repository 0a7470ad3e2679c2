"""Leases: for how long tasks hold their workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..state import Allocation, ClusterState

__all__ = ["Leases", "released"]

_SOON_S = 1e-6
"""A lease that is over so soon is over: whoever waits for it adds up rounded times."""


@dataclass(frozen=True, slots=True)
class _Lease:
    task: str
    host: str
    workers: int
    expires_s: float


class Leases:
    """Which workers may not be taken away yet.

    A scheduler proposes several allocations and learns which one was taken when it is asked again: what a task runs on
    beyond its leases was granted then.

    Parameters
    ----------
    lease_s : float
        s.
    """

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._leases: list[_Lease] = []
        self._granted_s: float | None = None

    def kept(self, state: ClusterState) -> dict[str, dict[str, int]]:
        """By task the workers whose lease has not expired; none of a task that cannot run with them alone."""
        self._learn(state.running)
        self._leases = [one for one in self._leases if one.expires_s > state.now_s + _SOON_S]
        kept: dict[str, dict[str, int]] = {}
        for one in self._leases:
            hosts = kept.setdefault(one.task, {})
            hosts[one.host] = hosts.get(one.host, 0) + one.workers
        tasks = state.by_id
        kept = {task: hosts for task, hosts in kept.items() if sum(hosts.values()) >= tasks[task].min_workers}
        self._leases = [one for one in self._leases if one.task in kept]
        return kept

    def grant(self, now_s: float) -> None:
        """What tasks run on beyond their leases when this is asked again was given to them now."""
        self._granted_s = now_s

    @property
    def until_next_s(self) -> float:
        """From the last grant until some lease is over, s."""
        if self._granted_s is None:
            return self._lease_s
        return min([self._lease_s, *(one.expires_s - self._granted_s for one in self._leases)])

    def _learn(self, running: Allocation) -> None:
        left = {(task, host): workers for task, hosts in running.items() for host, workers in hosts.items()}
        known = []
        for one in self._leases:  # workers that are there no more have no lease
            there = min(one.workers, left.get((one.task, one.host), 0))
            if there:
                known.append(_Lease(one.task, one.host, there, one.expires_s))
                left[one.task, one.host] -= there
        if self._granted_s is not None:
            expires_s = self._granted_s + self._lease_s
            known += [_Lease(task, host, workers, expires_s) for (task, host), workers in left.items() if workers]
        self._leases = known


def released(running: Mapping[str, int], kept: Mapping[str, int]) -> dict[str, int]:
    """Of a task's workers by host those that are not kept."""
    rest = {host: workers - kept.get(host, 0) for host, workers in running.items()}
    return {host: workers for host, workers in rest.items() if workers}
