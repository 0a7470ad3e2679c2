"""Any bytes, as a recording of counters in whichever format they look like: a profile of a job, or a refusal."""

from __future__ import annotations

from pathlib import Path

from cassini_core import InputError
from cassini_core.problem_file import job_to_json, load_job
from cassini_core.profiles.counters import profile_counters
from cassini_core.profiles.counters.recording import BREAK, Recording, read_recording


def run(data: bytes, scratch: Path) -> None:
    """One input; ``scratch`` is a folder for the files. Anything but a refusal that comes out is a finding."""
    path = scratch / "recording"
    path.write_bytes(data)
    try:
        recording = read_recording(path)
    except InputError as error:
        _check_refusal(error)
        return
    _check_recording(recording, from_text=not data.startswith(b"\x1f\x8b"))
    devices = {channel.device for samples in recording.samples for channel in samples.group.channels}
    for wanted in ((), tuple(sorted(devices))[:1]):
        try:
            profile = profile_counters(path, job_id="job", devices=wanted)
        except InputError as error:
            _check_refusal(error)
            continue
        written = scratch / "job.json"
        written.write_bytes(job_to_json(profile.job, {"warnings": profile.warnings}))
        assert load_job(written) == profile.job


def _check_refusal(error: InputError) -> None:
    text = str(error)
    if not text or not text.isprintable() or len(text) > 4000:
        raise AssertionError(f"expected one printable line, got {text!r}") from error


def _check_recording(recording: Recording, from_text: bool) -> None:
    for samples in recording.samples:
        assert samples.group.interval_ns > 0
        assert len(samples.values) == len(samples.group.channels)
        assert all(len(column) == len(samples.times_ns) for column in samples.values)
        if from_text:
            assert all(before < after for before, after in zip(samples.times_ns, samples.times_ns[1:], strict=False))
            for column in samples.values:
                totals = [value for value in column if value >= 0]
                assert min(column, default=0) >= BREAK
                assert totals == sorted(totals)
                assert totals[:1] in ([], [0])
