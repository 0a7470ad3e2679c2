"""Recordings: what is written is read back, and of what is cut off or damaged the sound part."""

from __future__ import annotations

import dataclasses
import gzip
import json
import resource
import subprocess
import sys
import tracemalloc
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassini_agent.counters import recorder as counter_recorder
from cassini_agent.counters.recorder import Group, Recorder, _line, end_line, header_line, sample_line
from cassini_agent.counters.sampler import Sampler
from cassini_agent.counters.sources import Channel
from cassini_agent.counters.unwrap import BREAK, MISSING
from cassini_core import InputError
from cassini_core.profiles.counters import samples as counter_samples
from cassini_core.profiles.counters.recording import read_recording
from cassini_core.profiles.counters.sources import recorded as counter_recording
from cassini_core.profiles.counters.sources.recorded import MAGIC

MS = 1_000_000
TX, RX = Channel("eth0", "tx_bytes", "bytes"), Channel("eth0", "rx_bytes", "bytes")
MARKS = Channel("mlx5_0/1", "cnp_sent", "packets", absent=True, gbps=25.0)
GROUPS = [Group(MS, (TX, RX)), Group(100 * MS, (MARKS,))]

values = st.one_of(st.sampled_from([MISSING, BREAK, 0, 2**63 - 1]), st.integers(0, 2**63 - 1), st.integers(0, 10**6))
rows_of_two = st.lists(st.tuples(st.integers(0, 2**62), values, values), min_size=1, max_size=50)


def test_writer_and_reader_name_the_format_alike() -> None:
    assert counter_recorder.FORMAT == counter_recording.FORMAT
    assert (MISSING, BREAK) == (counter_samples.MISSING, counter_samples.BREAK)


@given(written=st.lists(rows_of_two, max_size=5), about=st.dictionaries(st.text(max_size=5), st.integers(), max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(
    written: list[list[tuple[int, int, int]]], about: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("r") / "x"
    path.write_bytes(header_line(GROUPS, about) + b"".join(sample_line(0, one) for one in written))
    recording = read_recording(path)
    rows = [row for block in written for row in block]
    assert (recording.about, recording.ended, recording.problem) == (about, None, None)
    groups = [one.group for one in recording.samples]
    assert [group.interval_ns for group in groups] == [group.interval_ns for group in GROUPS]
    for read, written_ones in zip(groups, GROUPS, strict=True):
        assert [{key: getattr(one, key) for key in dataclasses.asdict(TX)} for one in read.channels] == [
            dataclasses.asdict(one) for one in written_ones.channels
        ]
    assert list(recording.samples[0].times_ns) == [row[0] for row in rows]
    assert [list(column) for column in recording.samples[0].values] == [[r[1] for r in rows], [r[2] for r in rows]]
    assert len(recording.samples[1].times_ns) == 0


def whole_file() -> tuple[bytes, list[int]]:
    """A small recording, and where its lines end."""
    parts = [header_line(GROUPS, {"host": "h"})]
    for block in range(2):
        rows = [((block * 5 + n) * MS, 1000 * (block * 5 + n), MISSING if n == 2 else n) for n in range(5)]
        parts.append(sample_line(0, rows))
        parts.append(sample_line(1, [(block * 5 * MS, 25_000)]))
    parts.append(end_line("stopped"))
    return b"".join(parts), [sum(map(len, parts[: n + 1])) for n in range(len(parts))]


def test_a_file_cut_off_anywhere_gives_its_whole_lines(tmp_path: Path) -> None:
    data, ends = whole_file()
    path = tmp_path / "x"
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        if length < ends[0]:
            with pytest.raises(InputError):
                read_recording(path)
            continue
        recording = read_recording(path)
        lines = sum(end <= length for end in ends) - 1
        assert len(recording.samples[0].times_ns) == 5 * min((lines + 1) // 2, 2)
        assert len(recording.samples[1].times_ns) == min(lines // 2, 2)
        assert (recording.problem is None) == (length in ends)
        assert recording.ended == ("stopped" if length == len(data) else None)
        if recording.problem:
            assert f"the last {length - max(end for end in ends if end <= length)} bytes" in recording.problem


@given(place=st.integers(0, 10**6), change=st.integers(1, 255))
def test_a_damaged_byte_is_noticed_or_harmless_and_what_comes_before_is_sound(
    place: int, change: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data, ends = whole_file()
    place %= len(data)
    damaged = bytearray(data)
    damaged[place] ^= change
    path = tmp_path_factory.mktemp("r") / "x"
    whole = dataclasses.replace(read_recording_of(data, path), path="")
    path.write_bytes(damaged)
    try:
        recording = dataclasses.replace(read_recording(path), path="")
    except InputError:
        assert place < ends[0]
        return
    if recording.problem is None:  # gzip's own head, which has a time and the like, and no checksum
        assert recording == whole
        return
    for found, true in zip(recording.samples, whole.samples, strict=True):
        count = len(found.times_ns)
        assert found.times_ns == true.times_ns[:count]
        assert [list(a) for a in found.values] == [list(b[:count]) for b in true.values]


def read_recording_of(data: bytes, path: Path):  # type: ignore[no-untyped-def]
    path.write_bytes(data)
    return read_recording(path)


@given(data=st.binary(max_size=300))
def test_garbage_is_refused_or_left_out(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("r") / "x"
    for content in (data, MAGIC + data):
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            read_recording(path)
        assert str(caught.value).startswith(str(path))
    path.write_bytes(header_line(GROUPS, {}) + data)
    if data:
        assert read_recording(path).problem is not None


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"9" * 10_000, "not JSON"),
        (b"[]", "no object"),
        (b"{}", "expected format 'cassini-counters/2' in the header, got None"),
        (b'{"format": "cassini-counters/3"}', "got 'cassini-counters/3'"),
        (b'{"format": "cassini-counters/2"}', "lacks a key"),
        (b'{"format":"cassini-counters/2","groups":[{"interval_ns":0,"channels":[]}],"about":{}}', "out of range"),
        (b'{"format":"cassini-counters/2","groups":[3],"about":{}}', "wrong type"),
        (
            b'{"format":"cassini-counters/2","about":{},"groups":[{"interval_ns":Infinity,"channels":[]}]}',
            "wrong type",
        ),
    ],
)
def test_a_wrong_header_is_said_to_be_wrong(tmp_path: Path, line: bytes, said: str) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(line))
    with pytest.raises(InputError, match=said):
        read_recording(tmp_path / "x")


@pytest.mark.parametrize(
    "line",
    [
        {"group": 9, "columns": [[0], [0], [0]]},
        {"group": -1, "columns": [[0], [0]]},
        {"group": [0], "columns": [[0], [0], [0]]},
        {"columns": [[0], [0], [0]]},
        {"group": 0, "columns": [[0], [0]]},
        {"group": 0, "columns": [[0], [0], [0], [0]]},
        {"group": 0, "columns": [[0, 1], [0], [0]]},
        {"group": 0, "columns": [[], [], []]},
        {"group": 0, "columns": [0, 0, 0]},
        {"group": 0, "columns": [[0], ["a"], [0]]},
        {"group": 0, "columns": [[0], [0.5], [0]]},
        {"group": 0, "columns": [[0], [None], [0]]},
        {"group": 0, "columns": [[0], [-3], [0]]},
        {"group": 0, "columns": [[0, 0], [2**63 - 1, 1], [0, 0]]},
        {"group": 0, "columns": [[2**64], [0], [0]]},
    ],
)
def test_lines_that_lie_are_not_believed(tmp_path: Path, line: dict[str, object]) -> None:
    (tmp_path / "x").write_bytes(header_line(GROUPS, {}) + sample_line(0, [(0, 1, 2)]) + _line(line))
    recording = read_recording(tmp_path / "x")
    assert [len(one) for one in (recording.samples[0].times_ns, *recording.samples[0].values)] == [1, 1, 1]
    assert "does not hold rows of one of its groups" in (recording.problem or "")


def test_a_line_that_would_fill_the_memory_does_not(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(header_line(GROUPS, {}) + gzip.compress(bytes(1 << 27)))
    tracemalloc.start()
    assert "longer than" in (read_recording(tmp_path / "x").problem or "")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 26


def test_lines_of_later_versions_are_passed_over(tmp_path: Path) -> None:
    later = _line({"what": "this will be"})
    (tmp_path / "x").write_bytes(header_line(GROUPS, {}) + later + sample_line(0, [(0, 1, 2)]))
    recording = read_recording(tmp_path / "x")
    assert recording.problem is None
    assert recording.samples[0].values == (array("q", [1]), array("q", [2]))


def test_a_recording_is_lines_of_json_for_any_tool(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(whole_file()[0])
    lines = [json.loads(line) for line in gzip.decompress((tmp_path / "x").read_bytes()).splitlines()]
    assert [next(iter(line)) for line in lines] == ["format", "group", "group", "group", "group", "ended"]


def test_a_file_that_is_not_there_is_said_not_to_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read the file: No such file"):
        read_recording(tmp_path / "none")


class Counting:
    """A source of two channels that counts by 1,500,000 a sample."""

    channels = (TX, RX)
    problem: str | None = None

    def __init__(self) -> None:
        self.samples = 0

    def sample(self, now_ns: int) -> Sequence[int]:
        self.samples += 1
        return [1_500_000 * self.samples, 0]

    def close(self) -> None:
        pass


def ticked(sampler: Sampler, ticks: int, first: int = 0) -> None:
    for tick in range(first, first + ticks):
        sampler.tick(tick * MS + 40_000)


def test_a_recorder_writes_what_the_sampler_reads(tmp_path: Path) -> None:
    sampler = Sampler([Counting()])
    recorder = Recorder(sampler, tmp_path / "x", about={"job": "vgg"})
    ticked(sampler, 3050)
    recorder.flush()
    ticked(sampler, 10, 3050)
    recorder.stop()
    recorder.stop()
    recording = read_recording(tmp_path / "x")
    assert (recording.ended, recording.problem, recording.about) == ("stopped", None, {"job": "vgg"})
    assert list(recording.samples[0].times_ns) == [tick * MS + 40_000 for tick in range(3060)]
    assert list(recording.samples[0].values[0]) == [1_500_000 * (tick + 1) for tick in range(3060)]
    assert recorder.rows == 3060
    assert recorder.bytes == (tmp_path / "x").stat().st_size
    assert recorder.answers() == [(TX, f"{1_500_000 * 3060} bytes"), (RX, "no traffic")]


def test_what_was_flushed_is_there_if_the_writer_is_killed_then(tmp_path: Path) -> None:
    sampler = Sampler([Counting()])
    recorder = Recorder(sampler, tmp_path / "x")
    ticked(sampler, 100)
    recorder.flush()
    assert len(read_recording(tmp_path / "x").samples[0].times_ns) == 100
    recorder.stop()
    assert read_recording(tmp_path / "x").ended == "stopped"


def test_a_full_disk_ends_the_recording_and_nothing_else(tmp_path: Path) -> None:
    sampler = Sampler([Counting()])
    recorder = Recorder(sampler, tmp_path / "x")
    ticked(sampler, 1000)
    recorder.flush()
    good = recorder.bytes
    # The same path as with a full disk: a write that stops in the middle, then an error (EFBIG for ENOSPC).
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (good + 10, before[1]))
    try:
        ticked(sampler, 1000, 1000)
        recorder.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "recording ended" in (recorder.problem or "")
    ticked(sampler, 10, 2000)
    recorder.flush()
    recorder.stop()
    assert sampler.samples == 2010
    recording = read_recording(tmp_path / "x")
    assert len(recording.samples[0].times_ns) == 1000
    assert (recording.problem, recording.ended) == (None, None)  # There was no room to say why either.


def test_a_recording_of_before_with_gauges_is_read(tmp_path: Path) -> None:
    channel = {"device": "eth0", "name": "tx_bytes", "unit": "bytes", "gauge": False, "absent": False, "refresh_ms": 0}
    rate = channel | {"name": "rate", "unit": "Mbit/s", "gauge": True}
    groups = [{"interval_ns": MS, "channels": [channel]}, {"interval_ns": 100 * MS, "channels": [rate]}]
    header = _line({"format": "cassini-counters/2", "clock": "monotonic", "groups": groups, "about": {}})
    (tmp_path / "x").write_bytes(header + sample_line(0, [(0, 1), (MS, 2)]) + sample_line(1, [(0, 25_000)]))
    recording = read_recording(tmp_path / "x")
    assert (recording.problem, list(recording.samples[0].values[0])) == (None, [1, 2])


def test_the_command_records(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cassini_agent.counters", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    path = str(tmp_path / "x")
    done = run(path, "--device", "lo", "--seconds", "0.3")
    assert done.returncode == 0, done.stderr
    assert " ticks, " in done.stdout
    recording = read_recording(path)
    assert recording.ended == "stopped"
    assert [channel.name for channel in recording.samples[0].group.channels] == ["rx_bytes", "tx_bytes"]
    assert len(recording.samples[0].times_ns) > 10
    assert run(path, "--device", "lo").stderr == f"{path}: File exists\n"
    assert "no RDMA device or port 'none'" in run(path + "y", "--port", "none").stderr


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("dear data")
    with pytest.raises(FileExistsError):
        Recorder(Sampler([Counting()]), tmp_path / "x")
    assert (tmp_path / "x").read_text() == "dear data"


def test_a_sample_takes_few_bytes(tmp_path: Path) -> None:
    sampler = Sampler([Counting()])
    recorder = Recorder(sampler, tmp_path / "x")
    ticked(sampler, 5000)
    recorder.stop()
    assert recorder.bytes / 5000 < 8
    json.dumps(read_recording(tmp_path / "x").about)
