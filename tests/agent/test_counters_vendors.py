"""Ports of other vendors than the captured ones: where they keep their counters, and what they do not have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fake_sysfs import FakePort
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassini_agent.counters.netdev import open_device
from cassini_agent.counters.rdma import find_ports, open_port
from cassini_agent.counters.recorder import Recorder
from cassini_agent.counters.sampler import Sampler
from cassini_agent.counters.sources import Source
from cassini_agent.counters.unwrap import BREAK, MISSING
from cassini_core import Job, Phase
from cassini_core.profiles.counters import profile_counters
from cassini_core.profiles.counters.recording import Channel, read_recording
from counter_jobs import Disturbance, read_job

CAPTURED = Path(__file__).parent / "data/rdma"
MS = 1_000_000
NO_PMA = "N/A (no PMA)"


def port_with(root: Path, device: str, files: dict[str, object], rate: str = "100 Gb/sec (4X EDR)") -> FakePort:
    """A port that shows these files and no others but its state and rate."""
    port = FakePort(root, device, rate)
    for name in ("port_xmit_data", "port_rcv_data"):
        (port.folder / "counters" / name).unlink()
    (port.folder / "counters").rmdir()
    for place, text in files.items():
        port.write(place, text)
    return port


# As kernels without (older: with) files for what a port without performance management does not count.
EFA = {"hw_counters/tx_bytes": 1000, "hw_counters/rx_bytes": 50, "hw_counters/tx_pkts": 3, "hw_counters/lifespan": 10}
OLD_EFA = {"counters/port_xmit_data": NO_PMA, "counters/port_rcv_data": NO_PMA, **EFA}
ERDMA = {"hw_counters/hw_tx_bytes_cnt": 1000, "hw_counters/hw_rx_bytes_cnt": 50, "hw_counters/hw_tx_packets_cnt": 3}
BNXT = {**EFA, "hw_counters/rx_cnp_pkts": 5, "hw_counters/tx_cnp_pkts": 6, "hw_counters/rx_ecn_marked_pkts": 7}
IRDMA = {"hw_counters/cnpHandled": 5, "hw_counters/cnpSent": 6, "hw_counters/RxECNMrkd": 7}
MLX5 = {"counters/port_xmit_data": 250, "counters/port_rcv_data": 50, "hw_counters/rp_cnp_handled": 5}


def opened(port: FakePort) -> tuple[dict[str, Source], dict[str, Source]]:
    fast, slow = open_port(find_ports(root=str(port.root))[0], root=str(port.root), pread=port.pread)
    return {one.channels[0].name: one for one in fast}, {one.channels[0].name: one for one in slow}


@pytest.mark.parametrize("files", [EFA, OLD_EFA, ERDMA, BNXT])
def test_bytes_of_hardware_counters_are_bytes(tmp_path: Path, files: dict[str, object]) -> None:
    port = port_with(tmp_path, "efa_0", files)
    fast, _ = opened(port)
    place = "hw_counters/hw_tx_bytes_cnt" if files is ERDMA else "hw_counters/tx_bytes"
    assert fast["tx_bytes"].sample(0)[0] == 0
    port.write(place, 1250)
    assert fast["tx_bytes"].sample(MS)[0] == 250
    assert not fast["tx_bytes"].channels[0].absent


def test_words_are_preferred_where_they_can_be_read(tmp_path: Path) -> None:
    port = port_with(tmp_path, "mlx5_0", {**MLX5, "hw_counters/tx_bytes": 7})
    fast, _ = opened(port)
    fast["tx_bytes"].sample(0)
    port.write("counters/port_xmit_data", 251)
    assert fast["tx_bytes"].sample(MS)[0] == 4


@pytest.mark.parametrize(
    ("files", "there"),
    [
        (BNXT, {"cnp_handled", "cnp_sent", "ecn_marked"}),
        (IRDMA, {"cnp_handled", "cnp_sent", "ecn_marked"}),
        (MLX5, {"cnp_handled"}),
        (EFA, set()),
    ],
)
def test_congestion_counters_have_one_name(tmp_path: Path, files: dict[str, object], there: set[str]) -> None:
    port = port_with(tmp_path, "x_0", files)
    _, slow = opened(port)
    assert {name for name in slow if name.startswith(("cnp", "ecn"))} == there
    for place in [place for place in files if "cnp" in place.lower() or "ecn" in place.lower()]:
        port.write(place, 5)
    first = {name: slow[name].sample(0)[0] for name in there}
    for place in [place for place in files if "cnp" in place.lower() or "ecn" in place.lower()]:
        port.write(place, 8)
    assert {name: slow[name].sample(MS)[0] - first[name] for name in there} == dict.fromkeys(there, 3)


def test_a_restarted_driver_is_no_wrap(tmp_path: Path) -> None:
    port = port_with(tmp_path, "efa_0", {**EFA, "hw_counters/tx_bytes": 2**32 - 100})
    fast, _ = opened(port)
    fast["tx_bytes"].sample(0)
    port.write("hw_counters/tx_bytes", 10)
    assert fast["tx_bytes"].sample(MS)[0] == BREAK
    port.write("hw_counters/tx_bytes", 30)
    assert fast["tx_bytes"].sample(2 * MS)[0] == 20


shows = st.sampled_from([None, NO_PMA, "", 5, 10**12])


@given(words=shows, efa=shows, erdma=shows)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_is_there_the_answer_is_right(
    words: object, efa: object, erdma: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A number is read wherever it stands; what is there without one is never readable; all else is not there."""
    files = {"counters/port_xmit_data": words, "hw_counters/tx_bytes": efa, "hw_counters/hw_tx_bytes_cnt": erdma}
    there = {place: text for place, text in files.items() if text is not None}
    port = port_with(tmp_path_factory.mktemp("port"), "x_0", there)
    source = opened(port)[0]["tx_bytes"]
    numbers = [place for place, text in there.items() if isinstance(text, int)]
    assert source.channels[0].absent == (not there)
    assert (source.sample(0)[0] == 0) == bool(numbers)
    if numbers:
        port.write(numbers[0], there[numbers[0]] + 3)  # type: ignore[operator]
        assert source.sample(MS)[0] == (12 if numbers[0] == "counters/port_xmit_data" else 3)
    source.close()


ANSWERS = {
    "counted": ({"hw_counters/tx_bytes": 0, "hw_counters/rx_bytes": 0}, "250 bytes"),
    "silent": ({"hw_counters/tx_bytes": 7, "hw_counters/rx_bytes": 0}, "no traffic"),
    "unreadable": ({"counters/port_xmit_data": NO_PMA, "hw_counters/rx_bytes": 0}, "never readable"),
    "absent": ({"hw_counters/rx_bytes": 0}, "not there"),
    "at its top": ({"counters/port_xmit_data": 2**32 - 1, "counters/port_rcv_data": 0}, "not known"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_the_answers_are_kept_in_the_recording(tmp_path: Path, what: str) -> None:
    files, expected = ANSWERS[what]
    port = port_with(tmp_path, "x_0", files)
    fast, _ = opened(port)
    sampler = Sampler([*fast.values()])
    recorder = Recorder(sampler, tmp_path / "r")
    for tick in range(20):
        if what == "counted" and tick == 10:
            port.write("hw_counters/tx_bytes", 250)
        sampler.tick(tick * MS)
    recorder.stop()
    assert {channel.name: answer for channel, answer in recorder.answers()}["tx_bytes"] == expected
    (samples,) = read_recording(tmp_path / "r").samples
    assert samples.group.channels[0] == Channel("x_0/1", "tx_bytes", "bytes", what == "absent", gbps=100.0)
    seen = set(samples.values[0])
    assert (
        seen
        == {
            "counted": {0, 250},
            "silent": {0},
            "unreadable": {MISSING},
            "absent": {MISSING},
            "at its top": {0, BREAK},
        }[what]
    )


@pytest.mark.parametrize("device", ["hfi1_0", "mlx4_0", "mlx5_0"])
def test_captured_ports_that_stand_still_have_no_traffic(tmp_path: Path, device: str) -> None:
    fast, _ = open_port(find_ports([device], root=str(CAPTURED))[0], root=str(CAPTURED))
    sampler = Sampler(fast)
    recorder = Recorder(sampler, tmp_path / "r")
    for tick in range(20):
        sampler.tick(tick * MS)
    recorder.stop()
    sampler.stop()
    assert [answer for _, answer in recorder.answers()] == ["no traffic", "no traffic"]


def test_a_network_device_that_is_not_there_says_so_until_it_comes(tmp_path: Path) -> None:
    table = tmp_path / "proc/self/net/dev"
    table.parent.mkdir(parents=True)
    head = "Inter-|   Receive\n face |bytes\n"
    table.write_text(head)
    source = open_device("eth7", root=str(tmp_path))
    assert [channel.absent for channel in source.channels] == [True, True]
    assert list(source.sample(0)) == [MISSING, MISSING]
    table.write_text(f"{head}  eth7: 5 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n")
    source.sample(MS)
    table.write_text(f"{head}  eth7: 8 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n")
    assert list(source.sample(2 * MS)) == [3, 0]
    again = open_device("eth7", root=str(tmp_path))
    assert [channel.absent for channel in again.channels] == [False, False]


def test_the_commands_say_what_could_not_be_read(tmp_path: Path) -> None:
    def run(*command: str) -> tuple[int, str, str]:
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, " ".join(done.stderr.split())

    out = str(tmp_path / "r")
    status, said, wrong = run("cassini_agent.counters", out, "--device", "none7", "--seconds", "0.1")
    assert status == 1
    assert "none7 rx_bytes: not there\nnone7 tx_bytes: not there\n" in said
    assert f"{out}: no counter of bytes could be read; nothing is known of the traffic" in wrong
    status, _, wrong = run("cassini_core", "profile", "counters", out, "-o", str(tmp_path / "job.json"))
    assert status == 2
    assert "none7 tx_bytes: not there, so unknown, not zero" in wrong


def test_a_job_over_efa_comes_back_with_its_rate(tmp_path: Path) -> None:
    """Bytes, refreshed every 10 ms: from the files of the kernel to the profile."""
    port = port_with(tmp_path, "efa_0", EFA)
    fast, _ = opened(port)
    sampler = Sampler([*fast.values()])
    recorder = Recorder(sampler, tmp_path / "r")
    readings = read_job(Job("job", 210.0, (Phase(120.0, 60.0, 40.0),)), 20, Disturbance(lateness_ms=0))
    for tick, (at_ns, words) in enumerate(readings.rows):
        if tick % 10 == 0:
            port.write("hw_counters/tx_bytes", 4 * words)
        sampler.tick(at_ns)
    recorder.stop()
    found = profile_counters(tmp_path / "r", job_id="job")
    assert (found.direction, found.devices, found.resolution_ms) == ("tx", ("efa_0/1",), 10.0)
    assert found.job.iteration_ms == pytest.approx(210, abs=1)
    (phase,) = found.job.phases
    assert phase.gbps * phase.duration_ms == pytest.approx(40 * 60, rel=0.05)
