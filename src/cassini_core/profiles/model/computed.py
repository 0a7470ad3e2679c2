"""From a played iteration to a job that says of itself that it was computed: :class:`ComputedProfile`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...errors import refusal, shown
from ...model import Job, Phase
from ...units import MAX_TICKS, TICKS_PER_MS
from ..phases import Spread, round_phases, simplify, volume_mbit
from ..provenance import Provenance
from .groups import Message
from .timeline import Timeline

__all__ = ["ComputedProfile", "computed_profile"]

MERGE_GAP_MS = 0.1
"""Phases closer than this become one: agents hold no shift that fits in between."""

MAX_PHASES = 16


@dataclass(frozen=True, slots=True)
class ComputedProfile:
    """A job that was computed, not measured.

    Attributes
    ----------
    job : Job
        Times rounded to 1 ns, rates to 9 figures.
    about : Provenance
        What it was computed from; the first warning says that nothing was measured.
    messages : tuple of Message
        What one rank sends in an iteration, all of one name together.
    """

    job: Job
    about: Provenance
    messages: tuple[Message, ...]


def computed_profile(
    job_id: str,
    timeline: Timeline,
    iteration_ms: float,
    *,
    method: str,
    inputs: Sequence[str] = (),
    warnings: Iterable[str] = (),
    details: Mapping[str, Any],
) -> ComputedProfile:
    """The profile of the rank that a timeline shows, in an iteration of that length, ms."""
    iteration_ms = round(iteration_ms, 6)
    longest_ms = MAX_TICKS / TICKS_PER_MS
    if not 0 < iteration_ms <= longest_ms:
        raise refusal("", "iteration_ms", f"an iteration of up to {longest_ms!r} ms", shown(iteration_ms))
    sent = [
        Phase(one.start_ms, one.end_ms - one.start_ms, _gbps(one.message.network_bytes, one.end_ms - one.start_ms))
        for one in timeline.transfers
        if one.end_ms > one.start_ms
    ]
    phases, gap_ms = simplify(sent, iteration_ms, gap_ms=MERGE_GAP_MS, negligible=0.0, max_phases=MAX_PHASES)
    job = Job(job_id, iteration_ms, round_phases(phases, iteration_ms, digits=6, figures=9))
    messages = _totals([*(one.message for one in timeline.transfers), *timeline.local])
    about = Provenance(
        method=method,
        inputs=tuple(inputs),
        iteration_ms=Spread(iteration_ms, iteration_ms, iteration_ms, 0),
        iteration_from="computed",
        rate_from="computed",
        recorded_gbps=_gbps(sum(one.network_bytes for one in messages), iteration_ms),
        kept_gbps=volume_mbit(job.phases) / iteration_ms,
        details={
            **details,
            "messages": [asdict(one) for one in messages],
        },
    )
    return ComputedProfile(job, _warned(about, gap_ms, warnings), messages)


def _warned(about: Provenance, gap_ms: float, warnings: Iterable[str]) -> Provenance:
    found = ["computed from a model, not measured: compare it with a recording (cassini-core profile fit)", *warnings]
    if not about.recorded_gbps:
        found.append("nothing is sent through the network: the job has no phases")
    if gap_ms > MERGE_GAP_MS:
        found.append(f"phases up to {gap_ms:.3g} ms apart were joined to have at most {MAX_PHASES}")
    lost = about.conservation_warning()
    return replace(about, warnings=(*found, *([lost] if lost else [])))


def _gbps(size_bytes: float, ms: float) -> float:
    return 8e-6 * size_bytes / ms


def _totals(messages: Iterable[Message]) -> tuple[Message, ...]:
    totals: dict[str, Message] = {}
    for one in messages:
        total = totals.get(one.name, Message(one.name, 0.0, 0.0, 0))
        network, local = total.network_bytes + one.network_bytes, total.local_bytes + one.local_bytes
        totals[one.name] = Message(one.name, network, local, total.count + one.count)
    return tuple(totals.values())
