"""A job that asks for GPUs, or holds them: its traffic, its workers, and who of them sends to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from ..checks import identifier, number_between, whole_number
from ..errors import InputError, refusal, shown
from ..model import Job
from ..topology import patterns
from ..topology.patterns import Flows

__all__ = ["MAX_FLOWS", "MAX_WORKERS", "NAMED_PATTERNS", "Hybrid", "JobRequest", "Pattern", "flows_of"]

MAX_WORKERS = 100_000
"""Workers of one job."""

MAX_FLOWS = 1_000_000
"""Flows of an all-to-all, among 1,000 workers: they are followed once for each placement of the job."""

NamedPattern = Literal["ring", "tree", "all_to_all", "pipeline"]
NAMED_PATTERNS: tuple[str, ...] = get_args(NamedPattern)


@dataclass(frozen=True, slots=True)
class Hybrid:
    """Data, tensor and pipeline parallelism at once, as :func:`cassini_core.topology.patterns.hybrid` has it.

    Parameters
    ----------
    data, tensor, pipeline : int
        Sizes of the groups, at least 1.
    shares : mapping of str to float
        Part of the demand that belongs to each kind of groups of more than one. Kept as pairs, sorted.
    """

    data: int
    tensor: int
    pipeline: int
    shares: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        for name in ("data", "tensor", "pipeline"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name, most=MAX_WORKERS))
        shares: Any = self.shares
        pairs = shares.items() if isinstance(shares, Mapping) else shares
        checked = ((str(kind), number_between(share, 0.0, 1e12, "", f"shares[{kind!r}]")) for kind, share in pairs)
        object.__setattr__(self, "shares", tuple(sorted(checked)))
        sizes = {name for name in ("data", "tensor", "pipeline") if getattr(self, name) > 1}
        if {kind for kind, _ in self.shares} != sizes:
            raise refusal("", "shares", f"one of each of {sorted(sizes)}", shown(dict(self.shares)))


Pattern = NamedPattern | Hybrid
"""Who of a job's workers sends to whom."""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job with its workers.

    Parameters
    ----------
    job : Job
        Its demand is what its busiest worker sends.
    workers : int
        1 to :data:`MAX_WORKERS`. A profile of one rank is that of a worker with one GPU; a profile of a host's port is
        that of a worker with all GPUs of a host.
    gpus_per_worker : int
        At least 1; all on one host.
    pattern : {"ring", "tree", "all_to_all", "pipeline"} or Hybrid
        Who sends to whom.
    hosts : mapping of str to int, optional
        Where the job runs: workers by host, as many as ``workers`` in all. None for a job that waits.

    Raises
    ------
    InputError
        A number is wrong, the workers do not fit the pattern, or the hosts have more or fewer workers.
    """

    job: Job
    workers: int
    gpus_per_worker: int = 1
    pattern: Pattern = "ring"
    hosts: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "workers", whole_number(self.workers, "workers", most=MAX_WORKERS))
        gpus = whole_number(self.gpus_per_worker, "gpus_per_worker", most=MAX_WORKERS)
        object.__setattr__(self, "gpus_per_worker", gpus)
        self._check_pattern()
        if self.hosts is not None:
            object.__setattr__(self, "hosts", MappingProxyType(_checked_hosts(self.hosts, self.workers)))

    def _check_pattern(self) -> None:
        if isinstance(self.pattern, Hybrid):
            product = self.pattern.data * self.pattern.tensor * self.pattern.pipeline
            if product != self.workers:
                raise refusal("", "pattern", f"data * tensor * pipeline of {self.workers} workers", str(product))
        elif self.pattern not in NAMED_PATTERNS:
            raise refusal("", "pattern", f"one of {', '.join(NAMED_PATTERNS)}, or hybrid", shown(self.pattern))
        elif self.pattern == "all_to_all" and self.workers * (self.workers - 1) > MAX_FLOWS:
            count = self.workers * (self.workers - 1)
            raise refusal("", "workers", f"at most {MAX_FLOWS} flows", f"{count} of an all-to-all")


@lru_cache(maxsize=64)
def flows_of(pattern: Pattern, workers: int) -> Flows:
    """The flows between the workers of a job."""
    if isinstance(pattern, Hybrid):
        return patterns.hybrid(pattern.data, pattern.tensor, pattern.pipeline, dict(pattern.shares))
    named = {
        "ring": patterns.ring,
        "tree": patterns.tree,
        "all_to_all": patterns.all_to_all,
        "pipeline": patterns.pipeline,
    }
    return named[pattern](workers)


def _checked_hosts(hosts: Mapping[str, int], workers: int) -> dict[str, int]:
    if not isinstance(hosts, Mapping):
        raise refusal("", "hosts", "a mapping of hosts to workers", shown(hosts))
    found: dict[str, int] = {}
    for host, count in hosts.items():
        name = identifier(host, "", "hosts")
        try:
            found[name] = whole_number(count, "", most=MAX_WORKERS)
        except InputError as error:
            place = f"hosts[{shown(name)}]"
            raise InputError(f"{place}: {error.reason}", place=place, reason=error.reason) from None
    if sum(found.values()) != workers:
        raise refusal("", "hosts", f"{workers} workers, those of the job", str(sum(found.values())))
    return dict(sorted(found.items()))
