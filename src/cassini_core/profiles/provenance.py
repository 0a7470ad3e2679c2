"""Where a profile's figures come from, and how sure they are: the same words for every importer.

A job file keeps them under ``about`` (``cassini-job/1``), so that whoever finds the file later can judge it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..model import Job
from .phases import Spread

__all__ = ["Basis", "Measured", "Provenance"]

Basis = Literal["measured", "given", "computed"]
"""How a figure came about: read off a recording, stated by the user, or derived from a model of the job."""

_LOST = 0.05
"""Share of the recorded bytes by which a profile may differ before it says so."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a profile's figures come from.

    Attributes
    ----------
    method : str
        ``kineto``, ``counters``, ``model``, ``workload``.
    inputs : tuple of str
        Names of the files read, without folders, which differ between hosts.
    iteration_ms : Spread
        The iteration time and how it varied, ms; its ``count`` is the number of distances observed.
    iteration_from, rate_from : str
        One of :data:`Basis`, for the iteration time and for the bytes or rates.
    recorded_gbps, kept_gbps : float or None
        All bytes that the inputs record for the job, and the profile's, as a mean over time, Gbit/s. None
        where bytes were not recorded.
    warnings : tuple of str
        What a user should know before trusting the figures, gravest first.
    details : mapping
        What only this method knows, ready for JSON.
    """

    method: str
    inputs: tuple[str, ...]
    iteration_ms: Spread
    iteration_from: Basis
    rate_from: Basis
    recorded_gbps: float | None
    kept_gbps: float
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def kept_share(self) -> float | None:
        """Bytes of the profile by bytes recorded; None where none were recorded."""
        if not self.recorded_gbps:
            return None
        return self.kept_gbps / self.recorded_gbps

    def conservation_warning(self) -> str | None:
        """One line if the profile carries over 5 % more or less than was recorded."""
        share = self.kept_share
        if share is None or abs(share - 1) <= _LOST:
            return None
        return (
            f"the profile carries {share:.0%} of the bytes recorded: {self.kept_gbps:.4g} of "
            f"{self.recorded_gbps:.4g} Gbit/s on average"
        )

    def to_dict(self, made_by: str) -> dict[str, Any]:
        """What a job file says under ``about``; ``made_by``: program, version and command."""
        spread = self.iteration_ms
        return {
            "made_by": made_by,
            "inputs": list(self.inputs),
            "iteration_ms": {
                "typical": spread.typical,
                "least": spread.least,
                "most": spread.most,
                "count": spread.count,
            },
            "iteration_from": self.iteration_from,
            "rate_from": self.rate_from,
            "recorded_gbps": self.recorded_gbps,
            "kept_gbps": self.kept_gbps,
            "warnings": list(self.warnings),
            **self.details,
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """A job that was measured; each source adds what only it knows."""

    job: Job
    provenance: Provenance

    @property
    def iteration_ms(self) -> Spread:
        """The iteration time and how it varied, ms."""
        return self.provenance.iteration_ms

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know before trusting the figures, gravest first."""
        return self.provenance.warnings
