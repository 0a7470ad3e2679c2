"""Which schedules are taken, and what becomes of them when clocks move or the daemon comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ..schedule import DAY_NS, MAX_VERSION, Schedule, ScheduleError
from .clocks import CoordinatorClock, checked_offset
from .host_schedule import grid_move_ns, on_host
from .messages import CLEAR, to_job
from .registry import Job, Registry, TooManyError

__all__ = ["RefusedError", "Schedules"]

FOLLOW_NS = 100_000
"""A grid that drifted less than this is left alone: each change costs a message and a write of the journal. Where jobs
are held more closely than that, by some tenths of a millisecond, it counts."""


class RefusedError(Exception):
    """A command that is not obeyed: a word for the metrics, a sentence for the caller."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Schedules:
    """Accepts or refuses commands, keeps each job's grid on the host's monotonic clock, and tells the job.

    Parameters
    ----------
    registry : Registry
        Where the jobs are.
    clock : CoordinatorClock
        Puts schedules on the host's clock.
    boot : str
        Names this boot; what was kept from another one is on another monotonic clock.
    """

    def __init__(self, registry: Registry, clock: CoordinatorClock, boot: str) -> None:
        self._registry = registry
        self._clock = clock
        self._boot = boot
        self._recorded_offset_ns: int | None = None

    def offer(self, job_id: str, schedule: Schedule) -> tuple[Job, bool]:
        """Take a schedule for a job and pass it on; False if it was in force already.

        Raises
        ------
        RefusedError
            ``wrong_job``, ``out_of_bounds``, ``expired``, ``older_version``, ``same_version_differs``, ``cleared``.
        TooManyError
            No room for another job.
        """
        if schedule.job != job_id:
            raise RefusedError("wrong_job", f"schedule.job: expected {job_id!r}, got {schedule.job!r}")
        offset_ns = self._clock.current()
        now_ns = self._clock.clocks.monotonic_ns()
        coordinator_ns = now_ns - offset_ns
        try:
            schedule.check_near(coordinator_ns)
        except ScheduleError as error:
            raise RefusedError("out_of_bounds", str(error)) from None
        if schedule.expires_ns <= coordinator_ns:
            raise RefusedError("expired", f"schedule.expires_ns: {coordinator_ns - schedule.expires_ns} ns ago")
        known = self._registry.get(job_id)
        if known is not None and self._is_repeated(known, schedule):
            return known, False
        job = known or self._registry.get_or_add(job_id, now_ns)
        if job.offered is None or job.offered.iteration_ns != schedule.iteration_ns:
            job.changed = None  # else it is as true as before, and the job will not say it again
        had_secret, secret = job.secret_sha256(now_ns), schedule.secret_sha256
        job.version, job.cleared, job.offered, job.line = schedule.version, False, schedule, b""
        if secret is not None and secret != had_secret:
            self._registry.check_secret(job, secret)
        job.host, job.follows = on_host(schedule, offset_ns, now_ns), True
        job.keep_until_ns = max(job.keep_until_ns, job.host.expires_ns)
        job.revision += 1
        job.send(to_job(job.host))
        return job, True

    @staticmethod
    def _is_repeated(job: Job, schedule: Schedule) -> bool:
        """Whether this very schedule is in force; an older one, or another under the same version, is refused."""
        if schedule.version < job.version:
            raise RefusedError(
                "older_version", f"schedule.version: expected {job.version} or more, got {schedule.version}"
            )
        if schedule.version > job.version:
            return False
        if job.cleared:
            raise RefusedError("cleared", f"schedule.version: {job.version} was cleared")
        if job.offered != schedule:
            raise RefusedError("same_version_differs", f"schedule.version: {job.version} came with other contents")
        return job.host is not None

    def clear(self, job_id: str, version: int) -> Job:
        """Let a job run free. With the greatest version there is, no schedule of it is known any more.

        Raises
        ------
        RefusedError
            ``older_version``, ``out_of_bounds``.
        TooManyError
            No room for another job.
        """
        if not 1 <= version <= MAX_VERSION:
            raise RefusedError("out_of_bounds", f"version: expected 1 to {MAX_VERSION}, got {version}")
        now_ns = self._clock.clocks.monotonic_ns()
        job = self._registry.get_or_add(job_id, now_ns)
        if version < job.version:
            raise RefusedError("older_version", f"version: expected {job.version} or more, got {version}")
        job.version, job.cleared, job.host, job.line = version, True, None, b""
        # Any schedule that is older than this expires within a day.
        job.keep_until_ns = now_ns + DAY_NS
        if version == MAX_VERSION:  # else nothing could follow what was numbered wrongly
            job.version, job.cleared, job.offered, job.keep_until_ns = 0, False, None, 0
        job.revision += 1
        job.send(CLEAR)
        return job

    def follow(self, offset_ns: int) -> bool:
        """The host's monotonic clock minus the coordinator's, as that says now; whether the journal must know.

        After a step the schedules in force stay where they are: the jobs they are for did not move. Schedules that come
        later are on the new clock.
        """
        follows = self._clock.give(offset_ns)
        known = self._recorded_offset_ns
        changed = not follows or known is None or abs(offset_ns - known) > FOLLOW_NS
        now_ns = self._clock.clocks.monotonic_ns()
        for job in self._registry:
            if not follows:
                job.follows, job.line = False, b""
            held = job.in_force(now_ns)
            if held is None or not job.follows or job.offered is None:
                continue
            moved = on_host(job.offered, offset_ns, now_ns)
            if grid_move_ns(held, moved) > FOLLOW_NS:
                job.host, job.line = moved, b""
                job.revision += 1
                job.send(to_job(moved))
                changed = True
        return changed

    def record(self, job: Job) -> bytes:
        """The line of the journal that brings this job back."""
        reading = self._clock.observe()
        line: dict[str, Any] = {"job": job.id, "version": job.version, "cleared": job.cleared, "boot": self._boot}
        line["keep_until_ns"] = job.keep_until_ns
        line["keep_until_unix_ns"] = job.keep_until_ns - reading.monotonic_ns + reading.unix_ns
        line["owner"] = job.owner
        line["offered"] = None if job.offered is None else job.offered.to_mapping()
        line["host"] = None if job.host is None else job.host.to_mapping()
        line["follows"] = job.follows
        job.line = msgspec.json.encode(line)
        return job.line

    def records(self) -> list[bytes]:
        """All lines of the journal."""
        self._recorded_offset_ns = self._clock.offset_ns
        clock = msgspec.json.encode({"offset_ns": self._clock.offset_ns, "boot": self._boot})
        return [clock, *(job.line or self.record(job) for job in self._registry)]

    def restore(self, lines: Iterable[Mapping[str, Any]]) -> int:
        """Bring back what was recorded; how many lines made no sense."""
        newest: dict[str, Mapping[str, Any]] = {}
        strange = 0
        for line in lines:
            if "offset_ns" in line:
                strange += not self._restore_offset(line)
            elif isinstance(line.get("job"), str):
                newest.pop(line["job"], None)
                newest[line["job"]] = line
            else:
                strange += 1
        for line in newest.values():
            strange += not self._restore_job(line)
        return strange

    def _restore_offset(self, line: Mapping[str, Any]) -> bool:
        if line.get("boot") != self._boot or line["offset_ns"] is None:
            return True
        try:
            self._clock.offset_ns = checked_offset(line["offset_ns"])
        except ValueError:
            return False
        return True

    def _restore_job(self, line: Mapping[str, Any]) -> bool:
        reading = self._clock.observe()
        same_boot = line.get("boot") == self._boot
        try:
            if same_boot:
                keep_until_ns = int(line["keep_until_ns"])
            else:
                keep_until_ns = int(line["keep_until_unix_ns"]) - reading.unix_ns + reading.monotonic_ns
            owner = line["owner"] if same_boot else None
            if keep_until_ns <= reading.monotonic_ns and owner is None:
                return True
            offered, host = (_schedule(line[key]) for key in ("offered", "host"))
            version, cleared, follows = int(line["version"]), bool(line["cleared"]), bool(line["follows"])
            job = self._registry.get_or_add(line["job"], reading.monotonic_ns)
        except (KeyError, TypeError, ValueError, OverflowError, TooManyError):
            return False
        job.version, job.cleared, job.offered, job.keep_until_ns = version, cleared, offered, keep_until_ns
        if type(owner) is int:
            self._registry.claim(job, owner)
        if same_boot and host is not None:
            job.host, job.follows = host, follows
        return True


def _schedule(mapping: object) -> Schedule | None:
    if mapping is None:
        return None
    if not isinstance(mapping, Mapping):
        raise TypeError(f"expected an object, got {type(mapping).__name__}")
    return Schedule.from_mapping(mapping)
