"""RDMA ports: what captured trees show, and a tree that changes while it is read."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from fake_sysfs import FakePort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassini_agent.counters.rdma import find_ports, open_port, parse_rate
from cassini_agent.counters.sampler import Sampler
from cassini_agent.counters.sources import Source
from cassini_agent.counters.unwrap import BREAK, MISSING

CAPTURED = str(Path(__file__).parent / "data/rdma")
MS = 1_000_000


def transmitted(port: FakePort) -> tuple[Source, list[Source]]:
    """The source of the bytes sent, and those of marks."""
    fast, slow = open_port(find_ports(root=str(port.root))[0], root=str(port.root), pread=port.pread)
    return next(one for one in fast if one.channels[0].name == "tx_bytes"), slow


def test_captured_ports_are_found_in_order() -> None:
    found = [(port.name, port.gbps, port.active) for port in find_ports(root=CAPTURED)]
    assert found == [
        ("hfi1_0/1", 100.0, True),
        ("mlx4_0/1", 40.0, True),
        ("mlx4_0/2", 40.0, True),
        ("mlx5_0/1", 25.0, True),
    ]


def test_ports_are_chosen_by_device_or_by_number() -> None:
    assert [port.name for port in find_ports(["mlx4_0"], root=CAPTURED)] == ["mlx4_0/1", "mlx4_0/2"]
    assert [port.name for port in find_ports(["mlx4_0/2", "none"], root=CAPTURED)] == ["mlx4_0/2"]
    assert find_ports(root="/nowhere") == []


def test_ten_devices_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number in (10, 9, 2):
        FakePort(tmp_path, f"mlx5_{number}")
    assert [port.device for port in find_ports(root=str(tmp_path))] == ["mlx5_2", "mlx5_9", "mlx5_10"]


def test_counters_that_a_port_lacks_are_left_out() -> None:
    for port in find_ports(root=CAPTURED):
        data, marks = open_port(port, root=CAPTURED)
        assert [source.channels[0].name for source in data] == ["tx_bytes", "rx_bytes"]
        # The captured mlx5 has hardware counters, but not those of congestion.
        assert marks == []
        assert all(source.sample(0) == [0] for source in data)
        assert {source.channels[0].gbps for source in data} == {port.gbps}
        for source in data:
            source.close()


def test_congestion_counters_are_read_where_they_are(tmp_path: Path) -> None:
    port = FakePort(tmp_path)
    for name in ("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled"):
        port.write(f"hw_counters/{name}", 7)
    _, slow = transmitted(port)
    assert {"cnp_sent", "ecn_marked", "cnp_handled"} <= {source.channels[0].name for source in slow}


@pytest.mark.parametrize(
    ("text", "gbps"),
    [("25 Gb/sec (1X EDR)", 25.0), ("2.5 Gb/sec (1X SDR)", 2.5), ("400 Gb/sec (4X NDR)\n", 400.0)],
)
def test_rates(text: str, gbps: float) -> None:
    assert parse_rate(text.encode()) == gbps


@pytest.mark.parametrize("text", ["", "N/A", "25", "-1 Gb/sec", "Gb/sec", "25 Mb/sec"])
def test_what_is_no_rate(text: str) -> None:
    assert parse_rate(text.encode()) is None


def test_words_are_four_bytes_whatever_the_lanes(tmp_path: Path) -> None:
    for rate in ("25 Gb/sec (1X EDR)", "100 Gb/sec (4X EDR)", "300 Gb/sec (12X EDR)"):
        port = FakePort(tmp_path, rate=rate)
        source, _ = transmitted(port)
        port.data(1000)
        first = source.sample(0)[0]
        port.data(1250)
        assert source.sample(MS)[0] - first == 1000
        source.close()


def test_not_available_is_missing_and_says_so(tmp_path: Path) -> None:
    port = FakePort(tmp_path)
    source, _ = transmitted(port)
    port.data(100)
    assert list(source.sample(0)) == [0]
    port.data("N/A (no PMA)")
    assert list(source.sample(MS)) == [MISSING]
    assert "N/A (no PMA)" in (source.problem or "")
    port.data(200)
    # It may have been another counter meanwhile.
    assert list(source.sample(2 * MS)) == [BREAK]
    assert source.problem is None


@pytest.mark.parametrize("text", ["", "garbage", "-5", "1 2", "0x10", "٣", str(2**64), "9" * 5000])
def test_what_is_no_number_is_missing(tmp_path: Path, text: str) -> None:
    port = FakePort(tmp_path)
    source, _ = transmitted(port)
    port.data(text)
    assert list(source.sample(0)) == [MISSING]
    assert source.problem


def test_a_device_that_goes_and_comes_back(tmp_path: Path) -> None:
    port = FakePort(tmp_path)
    source, _ = transmitted(port)
    port.data(1000)
    source.sample(0)
    port.unplug()
    assert [source.sample(n * MS)[0] for n in range(1, 150)] == [MISSING] * 149
    assert "port_xmit_data" in (source.problem or "")
    port.plug()
    port.data(50)
    # Within a second it is read again, and what it counted unseen is unknown.
    after = [source.sample(150 * MS + n * 100 * MS)[0] for n in range(60)]
    assert after.index(BREAK) <= 10
    assert set(after[after.index(BREAK) + 1 :]) == {0}
    port.data(75)
    assert source.sample(6060 * MS)[0] == 100


def test_a_counter_that_comes_back_higher_is_another_one_all_the_same(tmp_path: Path) -> None:
    port = FakePort(tmp_path)
    port.write("counters/unicast_xmit_packets", 0)  # Extended counters: 64 bits, so nothing else is in doubt.
    source, _ = transmitted(port)
    port.data(1000)
    source.sample(0)
    port.unplug()
    source.sample(MS)
    port.plug()
    port.data(5000)
    assert source.sample(200 * MS)[0] == BREAK
    port.data(5001)
    assert source.sample(201 * MS)[0] == 4


def test_a_device_that_stays_away_is_hardly_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = FakePort(tmp_path)
    source, _ = transmitted(port)
    port.unplug()
    tried = 0

    def refused(*_: object) -> int:
        nonlocal tried
        tried += 1
        raise OSError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr("os.open", refused)
    for tick in range(60_000):
        source.sample(tick * MS)
    assert 50 <= tried <= 61


def test_an_interrupted_reading_loses_nothing(tmp_path: Path) -> None:
    port = FakePort(tmp_path)
    source, _ = transmitted(port)
    source.sample(0)
    port.failing = errno.EAGAIN
    assert source.sample(MS)[0] == MISSING
    port.failing = None
    port.data(10)
    assert source.sample(2 * MS)[0] == 40


@pytest.mark.parametrize(
    ("state", "rate", "expected"),
    [
        ("4: ACTIVE", "100 Gb/sec (4X EDR)", 800_000),  # carried within a late reading: a wrap
        ("4: ACTIVE", "0.1 Gb/sec (1X)", BREAK),  # too much for the link: a reset
        ("1: DOWN", "0.1 Gb/sec (1X)", 800_000),  # not what the link will carry once it is up
    ],
)
def test_the_rate_of_the_link_tells_a_wrap_from_a_reset(tmp_path: Path, state: str, rate: str, expected: int) -> None:
    port = FakePort(tmp_path, rate=rate)
    port.write("state", state)
    port.data(2**32 - 100_000)
    source, _ = transmitted(port)
    assert source.sample(0) == [0]
    port.data(100_000)
    assert source.sample(MS) == [expected]


acts = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 3_000_000)),
        st.tuples(st.sampled_from(["n/a", "unplug", "reset", "interrupted"]), st.just(0)),
    ),
    min_size=1,
    max_size=40,
)


@given(acts=acts, start=st.integers(0, 2**32 - 2) | st.integers(2**33, 2**60))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_to_a_port_no_traffic_is_made_up(
    acts: list[tuple[str, int]], start: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    port = FakePort(tmp_path_factory.mktemp("port"))
    words, total, now = start, 0, 0
    port.data(words)
    source, _ = transmitted(port)
    assert source.sample(now)[0] == 0
    known = 0  # Total up to which every byte was seen.
    unseen = 0
    for act, amount in acts:
        now += MS
        if act == "send":
            words, unseen = words + amount, unseen + 4 * amount
            port.data(words % 2**32 if start < 2**32 else words)
        elif act == "n/a":
            port.data("N/A (no PMA)")
        elif act == "interrupted":
            port.failing = errno.EINTR
        elif act == "unplug":
            port.unplug()
            source.sample(now)
            port.plug()
            now += 200 * MS
        else:
            words = 0
            port.data(0)
        total = source.sample(now)[0]
        port.failing = None
        if total >= 0:
            carried = total - known
            # A narrow counter near its top that is reset looks like one that wraps: then less than the link carries.
            assert carried == unseen or (act in ("reset", "send") and 0 <= carried <= 1.25 * 12.5e9 * 0.021 + unseen)
            known, unseen = total, 0
        elif total == BREAK:
            unseen = 0
        if act in ("n/a", "unplug"):
            port.data(words % 2**32 if start < 2**32 else words)
    source.close()


def test_all_ports_are_sampled_together(tmp_path: Path) -> None:
    ports = [FakePort(tmp_path, f"mlx5_{number}") for number in range(3)]
    opened = [open_port(port, root=str(tmp_path)) for port in find_ports(root=str(tmp_path))]
    sampler = Sampler([source for data, _ in opened for source in data])
    sampler.tick(0)
    for number, port in enumerate(ports):
        port.data(10 * (number + 1), 1)
    sampler.tick(MS)
    assert [channel.device for channel in sampler.channels][::2] == ["mlx5_0/1", "mlx5_1/1", "mlx5_2/1"]
    assert list(sampler.rows) == [(0, 0, 0, 0, 0, 0, 0), (MS, 40, 4, 80, 4, 120, 4)]
    assert sampler.problems() == []
    sampler.stop()
