"""What the commands that compute a job say and write: the same for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .job_output import deliver, made_by

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ...profiles.model import ComputedProfile

__all__ = ["deliver_computed"]


def deliver_computed(output: str, profiled: ComputedProfile, command: str) -> None:
    """Writes the job file and reports; ``command`` is the name of the profile command."""
    from ...problem_file import job_to_json

    data = job_to_json(profiled.job, profiled.about.to_dict(made_by(command)))
    deliver(output, data, _report(profiled), profiled.about.warnings)


def _report(profiled: ComputedProfile) -> Iterator[RenderableType]:
    from rich.text import Text

    from ..tables import Listing, phase_table, volume_sentence

    headers = ("operation", "times", "MB through the network", "MB inside the server")
    table = Listing("What one rank sends in an iteration", headers, "lrrr")
    for one in profiled.messages:
        table.add(one.name, str(one.count), f"{one.network_bytes / 1e6:.3f}", f"{one.local_bytes / 1e6:.3f}")
    yield table
    yield phase_table(profiled.job)
    yield Text(f"{volume_sentence(profiled.job)} Computed, not measured.")
