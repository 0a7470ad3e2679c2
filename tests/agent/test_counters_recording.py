"""Recordings: what is written is read back, and of what is cut off or damaged the sound part."""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import subprocess
import sys
import time
import tracemalloc
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassini_agent.counters import blocks
from cassini_agent.counters.blocks import HEAD, MAGIC, Group, _block, end_block, header_block, sample_block
from cassini_agent.counters.recorder import Recorder
from cassini_agent.counters.sampler import Sampler
from cassini_agent.counters.sources import Channel
from cassini_agent.counters.unwrap import BREAK, MISSING
from cassini_agent.counters.varints import write_varints, zigzag
from cassini_core import InputError
from cassini_core.profiles.counters import samples as counter_samples
from cassini_core.profiles.counters.recording import read_recording
from cassini_core.profiles.counters.sources import recorded as counter_recording
from cassini_core.profiles.counters.sources.recorded import _unzigzag, _varints

MS = 1_000_000
TX, RX = Channel("eth0", "tx_bytes", "bytes"), Channel("eth0", "rx_bytes", "bytes")
RATE = Channel("eth0", "rate", "Mbit/s", gauge=True)
GROUPS = [Group(MS, (TX, RX)), Group(100 * MS, (RATE,))]

values = st.one_of(st.sampled_from([MISSING, BREAK, 0, 2**63 - 1]), st.integers(0, 2**63 - 1), st.integers(0, 10**6))
rows_of_two = st.lists(st.tuples(st.integers(0, 2**62), values, values), min_size=1, max_size=50)


@given(numbers=st.lists(st.integers(-(2**62), 2**62), max_size=100))
def test_integers_survive(numbers: list[int]) -> None:
    packed = write_varints(map(zigzag, numbers))
    assert _varints(packed, len(numbers)) == [zigzag(one) for one in numbers]
    assert [_unzigzag(zigzag(one)) for one in numbers] == numbers
    assert _varints(packed, len(numbers) + 1) is None
    assert _varints(packed + b"\x80", len(numbers)) is None


def test_writer_and_reader_name_the_format_alike() -> None:
    for name in ("MAGIC", "FORMAT", "TIME_UNIT_NS"):
        assert getattr(blocks, name) == getattr(counter_recording, name)
    assert blocks.HEAD.format == counter_recording.HEAD.format
    assert blocks.CHECKSUM.format == counter_recording.CHECKSUM.format
    assert (MISSING, BREAK) == (counter_samples.MISSING, counter_samples.BREAK)


@given(written=st.lists(rows_of_two, max_size=5), about=st.dictionaries(st.text(max_size=5), st.integers(), max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back(
    written: list[list[tuple[int, int, int]]], about: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("r") / "x"
    path.write_bytes(header_block(GROUPS, about) + b"".join(sample_block(0, MS, one) for one in written))
    recording = read_recording(path)
    rows = [row for block in written for row in block]
    assert (recording.about, recording.ended, recording.problem) == (about, None, None)
    assert [one.group for one in recording.samples] == [dataclasses.astuple(group) for group in GROUPS]
    assert list(recording.samples[0].times_ns) == [row[0] // 1000 * 1000 for row in rows]
    assert [list(column) for column in recording.samples[0].values] == [[r[1] for r in rows], [r[2] for r in rows]]
    assert len(recording.samples[1].times_ns) == 0


def whole_file() -> tuple[bytes, list[int]]:
    """A small recording, and where its blocks end."""
    parts = [header_block(GROUPS, {"host": "h"})]
    for block in range(2):
        rows = [((block * 5 + n) * MS, 1000 * (block * 5 + n), MISSING if n == 2 else n) for n in range(5)]
        parts.append(sample_block(0, MS, rows))
        parts.append(sample_block(1, 100 * MS, [(block * 5 * MS, 25_000)]))
    parts.append(end_block("stopped"))
    return b"".join(parts), [sum(map(len, parts[: n + 1])) for n in range(len(parts))]


def test_a_file_cut_off_anywhere_gives_its_whole_blocks(tmp_path: Path) -> None:
    data, ends = whole_file()
    path = tmp_path / "x"
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        if length < ends[0]:
            with pytest.raises(InputError):
                read_recording(path)
            continue
        recording = read_recording(path)
        blocks = sum(end <= length for end in ends) - 1
        assert len(recording.samples[0].times_ns) == 5 * min((blocks + 1) // 2, 2)
        assert len(recording.samples[1].times_ns) == min(blocks // 2, 2)
        assert (recording.problem is None) == (length in ends)
        assert recording.ended == ("stopped" if length == len(data) else None)
        if recording.problem:
            assert f"the last {length - max(end for end in ends if end <= length)} bytes" in recording.problem


@given(place=st.integers(0, 10**6), change=st.integers(1, 255))
def test_a_damaged_byte_is_noticed_and_what_comes_before_is_sound(
    place: int, change: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data, ends = whole_file()
    place %= len(data)
    damaged = bytearray(data)
    damaged[place] ^= change
    path = tmp_path_factory.mktemp("r") / "x"
    path.write_bytes(damaged)
    if place < ends[0]:
        with pytest.raises(InputError):
            read_recording(path)
        return
    recording = read_recording(path)
    assert recording.problem is not None
    whole = read_recording_of(data, path)
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
    path.write_bytes(header_block(GROUPS, {}) + data)
    if data:
        assert read_recording(path).problem is not None


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "expected format 'cassini-counters/1' in the header, got None"),
        (b'{"format": "cassini-counters/2"}', "got 'cassini-counters/2'"),
        (b'{"format": "cassini-counters/1"}', "lacks a key"),
        (b'{"format":"cassini-counters/1","time_unit_ns":7,"groups":[],"about":{}}', "out of range"),
        (b'{"format":"cassini-counters/1","time_unit_ns":1000,"groups":[3],"about":{}}', "wrong type"),
        (
            b'{"format":"cassini-counters/1","time_unit_ns":1000,"about":{},'
            b'"groups":[{"interval_ns":Infinity,"channels":[]}]}',
            "wrong type",
        ),
    ],
)
def test_a_wrong_header_is_said_to_be_wrong(tmp_path: Path, payload: bytes, said: str) -> None:
    (tmp_path / "x").write_bytes(MAGIC + _block(b"H", 0, 0, payload))
    with pytest.raises(InputError, match=said):
        read_recording(tmp_path / "x")


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (_block(b"S", 9, 1, zlib.compress(b"\0\0\0")), "group 9, of 2"),
        (_block(b"S", 0, 2, zlib.compress(b"\0\0\0")), "does not hold 2 rows"),
        (_block(b"S", 0, 1, b"no zlib"), "cannot be unpacked"),
        (_block(b"S", 0, 1, zlib.compress(b"\xff" * 9 + b"\x01" + b"\0\0")), "does not hold 1 rows|more than 64 bits"),
        (_block(b"S", 0, 60000, zlib.compress(bytes(1 << 26))), "does not hold"),
        (_block(b"E", 0, 0, b"[]"), "gives no reason"),
        (_block(b"E", 0, 0, b"[" * 100_000), "gives no reason"),
        (HEAD.pack(b"S", 0, 1, 1 << 31) + bytes(4), "length of 2147483648 bytes"),
    ],
)
def test_blocks_that_lie_are_not_believed(tmp_path: Path, block: bytes, said: str) -> None:
    (tmp_path / "x").write_bytes(header_block(GROUPS, {}) + sample_block(0, MS, [(0, 1, 2)]) + block)
    recording = read_recording(tmp_path / "x")
    assert len(recording.samples[0].times_ns) == 1
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(recording.problem)


def test_a_block_that_would_fill_the_memory_does_not(tmp_path: Path) -> None:
    bomb = _block(b"S", 0, 60000, zlib.compress(bytes(1 << 27)))
    (tmp_path / "x").write_bytes(header_block(GROUPS, {}) + bomb)
    tracemalloc.start()
    assert read_recording(tmp_path / "x").problem is not None
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 25


def test_blocks_of_later_versions_are_passed_over(tmp_path: Path) -> None:
    later = _block(b"Z", 3, 4, b"what this will be")
    (tmp_path / "x").write_bytes(header_block(GROUPS, {}) + later + sample_block(0, MS, [(0, 1, 2)]))
    recording = read_recording(tmp_path / "x")
    assert recording.problem is None
    assert recording.samples[0].values == (array("q", [1]), array("q", [2]))


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
        sampler.tick(tick * MS + 40_000, with_slow=tick % 100 == 0)


def test_a_recorder_writes_what_the_sampler_reads(tmp_path: Path) -> None:
    sampler = Sampler([Counting()], [Counting()])
    ticked(sampler, 50)
    recorder = Recorder(sampler, tmp_path / "x", about={"job": "vgg"})
    ticked(sampler, 3000, 50)
    recorder.flush()
    ticked(sampler, 10, 3050)
    recorder.stop()
    recorder.stop()
    recording = read_recording(tmp_path / "x")
    assert (recording.ended, recording.problem, recording.about) == ("stopped", None, {"job": "vgg"})
    assert list(recording.samples[0].times_ns) == [tick * MS + 40_000 for tick in range(50, 3060)]
    assert list(recording.samples[0].values[0]) == [1_500_000 * (tick + 1) for tick in range(50, 3060)]
    assert (recorder.lost, recorder.rows) == (0, 3010 + 30)
    assert recorder.bytes == (tmp_path / "x").stat().st_size
    assert not recorder.recording


def test_the_thread_writes_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassini_agent.counters.recorder._PERIOD_S", 0.02)
    sampler = Sampler([Counting()])
    recorder = Recorder(sampler, tmp_path / "x")
    recorder.start()
    sampler.start()
    deadline = time.monotonic() + 60
    while recorder.rows < 100 and time.monotonic() < deadline:
        time.sleep(0.02)
    # What a writer that is killed now would leave behind.
    assert len(read_recording(tmp_path / "x").samples[0].times_ns) >= 100
    sampler.stop()
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
    assert not recorder.recording
    assert "recording ended" in (recorder.problem or "")
    ticked(sampler, 10, 2000)
    recorder.flush()
    recorder.stop()
    assert sampler.stats().samples == 2010
    recording = read_recording(tmp_path / "x")
    assert len(recording.samples[0].times_ns) == 1000
    assert (recording.problem, recording.ended) == (None, None)  # There was no room to say why either.


def test_a_recording_grows_no_larger_than_it_may(tmp_path: Path) -> None:
    sampler = Sampler([Counting()])
    recorder = Recorder(sampler, tmp_path / "x", most_bytes=800)
    for second in range(20):
        ticked(sampler, 1000, 1000 * second)
        recorder.flush()
    assert "as large as it may be (800 bytes)" in (recorder.problem or "")
    assert os.path.getsize(tmp_path / "x") < 800 + 64
    assert read_recording(tmp_path / "x").ended == "full"


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


def test_rows_that_were_overwritten_are_counted(tmp_path: Path) -> None:
    sampler = Sampler([Counting()], capacity=100)
    recorder = Recorder(sampler, tmp_path / "x")
    ticked(sampler, 250)
    recorder.stop()
    times = read_recording(tmp_path / "x").samples[0].times_ns
    assert len(times) + recorder.lost == 250
    assert times[-1] == 249 * MS + 40_000


def test_a_sample_takes_few_bytes(tmp_path: Path) -> None:
    sampler = Sampler([Counting()])
    recorder = Recorder(sampler, tmp_path / "x")
    ticked(sampler, 5000)
    recorder.stop()
    assert recorder.bytes / 5000 < 8
    json.dumps(read_recording(tmp_path / "x").about)
