"""Which schedules are taken, and what becomes of them when clocks move or the daemon comes back."""

from __future__ import annotations

import msgspec

from ..schedule import DAY_NS, MAX_VERSION, Schedule, ScheduleError
from .clocks import OFFSET_STEP_NS, CoordinatorClock, OffsetNs
from .messages import CLEAR, to_job
from .registry import Job, RefusedError, Registry, on_host

__all__ = ["Schedules"]

FOLLOW_NS = 100_000
"""A grid that drifted less than this is left alone: each change costs a message and a write of the journal. Where jobs
are held more closely than that, by some tenths of a millisecond, it counts."""


class _KeptJob(msgspec.Struct):
    """What must outlive the daemon; ``owner`` and ``offset_ns`` mean nothing after a reboot."""

    job: str
    version: int
    cleared: bool
    keep_until_unix_ns: int
    owner: int | None
    offered: Schedule | None
    offset_ns: OffsetNs | None


class _Kept(msgspec.Struct):
    boot: str
    offset_ns: OffsetNs | None
    jobs: list[_KeptJob]


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
        self._kept_offset_ns: int | None = None

    def offer(self, job_id: str, schedule: Schedule) -> tuple[Job, bool]:
        """Take a schedule for a job and pass it on; False if it was in force already.

        Raises
        ------
        RefusedError
            ``wrong_job``, ``out_of_bounds``, ``expired``, ``older_version``, ``same_version_differs``, ``cleared``,
            ``too_many_jobs``.
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
        job.version, job.cleared, job.offered, job.offset_ns = schedule.version, False, schedule, offset_ns
        if secret is not None and secret != had_secret:
            self._registry.check_secret(job, secret)
        job.keep_until_ns = max(job.keep_until_ns, schedule.expires_ns + offset_ns)
        job.send(to_job(on_host(schedule, offset_ns)))
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
        return job.offset_ns is not None

    def clear(self, job_id: str, version: int) -> Job:
        """Let a job run free. With the greatest version there is, no schedule of it is known any more.

        Raises
        ------
        RefusedError
            ``out_of_bounds``, ``older_version``, ``too_many_jobs``.
        """
        if not 1 <= version <= MAX_VERSION:
            raise RefusedError("out_of_bounds", f"version: expected 1 to {MAX_VERSION}, got {version}")
        now_ns = self._clock.clocks.monotonic_ns()
        job = self._registry.get_or_add(job_id, now_ns)
        if version < job.version:
            raise RefusedError("older_version", f"version: expected {job.version} or more, got {version}")
        job.version, job.cleared, job.offset_ns = version, True, None
        # Any schedule that is older than this expires within a day.
        job.keep_until_ns = now_ns + DAY_NS
        if version == MAX_VERSION:  # else nothing could follow what was numbered wrongly
            job.version, job.cleared, job.offered, job.keep_until_ns = 0, False, None, 0
        job.send(CLEAR)
        return job

    def follow(self, offset_ns: int) -> bool:
        """The host's monotonic clock minus the coordinator's, as that says now; whether the journal must know.

        Schedules that are further away than clocks drift stay where they are: a clock was set, and the jobs did not
        move. Those that come later are on the new clock.
        """
        self._clock.give(offset_ns)
        known = self._kept_offset_ns
        moved = known is None or abs(offset_ns - known) > FOLLOW_NS
        now_ns = self._clock.clocks.monotonic_ns()
        for job in self._registry:
            if job.offset_ns is None or job.in_force(now_ns) is None:
                continue
            if FOLLOW_NS < abs(offset_ns - job.offset_ns) <= OFFSET_STEP_NS:
                job.offset_ns, moved = offset_ns, True
                if (held := job.in_force(now_ns)) is not None:
                    job.send(to_job(held))
        return moved

    def kept(self) -> bytes:
        """What the journal is to hold: the clock's offset, and the jobs that a command was given for."""
        reading = self._clock.observe()
        self._kept_offset_ns = self._clock.offset_ns
        jobs = [
            _KeptJob(
                job.id,
                job.version,
                job.cleared,
                job.keep_until_ns - reading.monotonic_ns + reading.unix_ns,
                job.owner,
                job.offered,
                job.offset_ns,
            )
            for job in self._registry
            if job.version > 0
        ]
        return msgspec.json.encode(_Kept(self._boot, self._clock.offset_ns, jobs))

    def restore(self, kept: bytes) -> None:
        """Bring back what was kept, as far as there is room.

        Raises
        ------
        ValueError
            It makes no sense; nothing is brought back.
        """
        found = msgspec.json.decode(kept, type=_Kept)
        is_same_boot = found.boot == self._boot
        reading = self._clock.observe()
        if is_same_boot:
            self._clock.offset_ns = found.offset_ns
        for one in found.jobs:
            keep_until_ns = one.keep_until_unix_ns - reading.unix_ns + reading.monotonic_ns
            if keep_until_ns <= reading.monotonic_ns and not (is_same_boot and one.owner is not None):
                continue
            try:
                job = self._registry.get_or_add(one.job, reading.monotonic_ns)
            except RefusedError:
                return
            job.version, job.cleared, job.offered, job.keep_until_ns = (
                one.version,
                one.cleared,
                one.offered,
                keep_until_ns,
            )
            if is_same_boot:
                job.owner, job.offset_ns = one.owner, one.offset_ns
