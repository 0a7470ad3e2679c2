"""Which network a collective uses: process groups that stay inside a server load no link of the cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...errors import InputError, shown, worded
from .records import Communication

__all__ = ["GroupProfile", "Scope", "group_name"]


@dataclass(frozen=True, slots=True)
class GroupProfile:
    """A process group in an iteration.

    Attributes
    ----------
    name : str
        As recorded: number, description; empty where nothing was.
    ranks : tuple of int
        Its global ranks; empty where unknown.
    size : int or None
        How many ranks it has, where recorded.
    wire_bytes : float or None
        What one rank puts on the wire in an iteration, bytes; None where not recorded.
    collectives : float
        How many there are in an iteration.
    counted : bool
        Whether they are in the job's phases.
    """

    name: str
    ranks: tuple[int, ...]
    size: int | None
    wire_bytes: float | None
    collectives: float
    counted: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """Which groups count: those named, or all; without those inside a server of ``local_ranks`` ranks."""

    local_ranks: int | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.local_ranks is not None and self.local_ranks < 1:
            raise InputError(f"local_ranks: expected at least 1, got {self.local_ranks!r}")

    def counts(self, record: Communication | None) -> bool:
        """Whether a collective with this record is in the job's phases.

        Raises
        ------
        InputError
            It cannot be told, because the record does not say enough.
        """
        if record is None:
            if self.names or self.local_ranks is not None:
                raise InputError(
                    "expected the process group of every collective, as groups are to be left out; "
                    "some kernels have no record of theirs"
                )
            return True
        if self.names and not self._names(record):
            return False
        return self.local_ranks is None or not self._is_local(record, self.local_ranks)

    def _names(self, record: Communication) -> bool:
        return not {record.group, record.group_label, *record.group_label.split(" ", 1)}.isdisjoint(self.names)

    def _is_local(self, record: Communication, local_ranks: int) -> bool:
        if record.group_size > local_ranks:
            return False
        if not record.group_ranks and record.group_size > 1:
            raise InputError(
                f"group {worded(group_name(record))}: expected its ranks in the trace, to tell whether it stays in a "
                "server, got none; name the groups that count with --group"
            )
        return len({rank // local_ranks for rank in record.group_ranks}) <= 1

    def check_names(self, records: Iterable[Communication]) -> None:
        """Refuse a name that no group has."""
        known = list(records)
        for name in self.names:
            if not any(Scope(names=(name,)).counts(record) for record in known):
                found = sorted({worded(group_name(record)) for record in known})
                raise InputError(
                    f"group: expected a process group of the trace ({', '.join(found[:10]) or 'none is recorded'}), "
                    f"got {shown(name)}"
                )


def group_name(record: Communication) -> str:
    """What people call the group."""
    return record.group_label or record.group
