"""What a lab makes is taken down again, and nothing else is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench.netlab import __main__ as command
from bench.netlab import names
from bench.netlab.network import clean_up, network
from bench.netlab.topology import DUMBBELL, TOPOLOGIES, Queue, Topology

ROOT = Path(__file__).parents[2]
Spaces = Callable[[str], list[str]]

REACH = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), timeout=5)
except ConnectionRefusedError:  # somebody answered
    pass
"""

MAKE_AND_WAIT = """
import subprocess, sys, time
from bench.netlab.network import folder, network
from bench.netlab.topology import LOOP, Queue
with folder() as own, network(LOOP, Queue(400), "cubic", None, 0) as prefix:
    subprocess.Popen(["ip", "netns", "exec", prefix + "a0", "sleep", "600"], start_new_session=True)
    print(own, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("name", ["cnl12-0-a0", "cnl12-31-m", "cnl12-files-x7_a"])
def test_what_a_dead_process_left_is_found(name: str) -> None:
    assert names.left_behind([name], lambda pid: pid != 12) == [name]
    assert names.left_behind([name], lambda pid: pid == 12) == []


@pytest.mark.parametrize(
    "name", ["cnl", "cnl12", "cnl12-0-a0 x", "xcnl12-0-a0", "cnl12-a0", "cwa1", "eth0", "cnlx-0-a"]
)
def test_other_names_are_never_ours(name: str) -> None:
    assert names.left_behind([name], lambda pid: False) == []


def test_names_of_a_lab_are_ours() -> None:
    assert names.left_behind([names.name(3, "a0")], lambda pid: pid != os.getpid()) == [names.name(3, "a0")]


def interfaces() -> str:
    return subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout


def test_a_network_is_gone_after_its_block_and_outside_nothing_changed(spaces: Spaces) -> None:
    before = interfaces()
    with network(DUMBBELL, Queue(400, per_job=True), "reno", None, 7) as prefix:
        assert len(spaces(prefix)) == len(DUMBBELL.hosts) + len(DUMBBELL.routers) + 1
        for host in ("b1", "c0"):
            told = [sys.executable, "-c", REACH, DUMBBELL.address(host)]
            subprocess.run(["ip", "netns", "exec", prefix + "a0", *told], check=True)
        assert interfaces() == before
    assert spaces(prefix) == []
    assert interfaces() == before


@pytest.mark.parametrize("topology", TOPOLOGIES.values(), ids=TOPOLOGIES)
def test_nobody_asks_for_a_hardware_address(topology: Topology) -> None:
    # The kernel's table of those that were asked for is one for all labs, and not long.
    with network(topology, Queue(400), "cubic", None, 7) as prefix:
        spaces = [prefix + one for one in (*topology.hosts, *topology.routers, "m")]
        pairs = [("m", topology.management(host)) for host in topology.hosts]
        for job in topology.jobs:
            pairs += [(f"{job}0", topology.address(f"{job}1")), (f"{job}1", topology.management(f"{job}0"))]
        for space, address in pairs:
            subprocess.run(["ip", "netns", "exec", prefix + space, sys.executable, "-c", REACH, address], check=True)
        known = ["ip", "-4", "neigh", "show", "nud", "all"]
        told = [
            line
            for space in spaces
            for line in subprocess.run(
                [*known[:1], "-n", space, *known[1:]], capture_output=True, text=True
            ).stdout.splitlines()
        ]
    assert len(told) >= 2 * len(pairs)
    assert [line for line in told if "PERMANENT" not in line and not line.startswith("224.")] == []


def test_a_network_is_gone_after_an_exception(spaces: Spaces) -> None:
    with pytest.raises(ZeroDivisionError), network(DUMBBELL, Queue(400), "cubic", None, 8) as prefix:
        raise ZeroDivisionError
    assert spaces(prefix) == []


def test_a_network_that_cannot_be_made_whole_is_taken_down(spaces: Spaces) -> None:
    with (
        pytest.raises(RuntimeError, match="no-such"),
        network(DUMBBELL, Queue(400), "no-such", None, 9),
    ):
        pass
    assert spaces(names.prefix(9)) == []


@contextmanager
def waiting() -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process with a lab in which something runs, and its folder."""
    with subprocess.Popen(
        [sys.executable, "-c", MAKE_AND_WAIT], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def processes(space: str) -> list[str]:
    return subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True, check=True).stdout.split()


def running(pid: str) -> bool:
    """Whether a process is there, and not just its exit status that nobody asked for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_what_a_killed_process_left_is_removed_and_what_others_have_is_kept(spaces: Spaces) -> None:
    with waiting() as (alive, kept), waiting() as (killed, left):
        mine, theirs = names.prefix(0, alive.pid), names.prefix(0, killed.pid)
        while not (inside := processes(theirs + "a0")):
            time.sleep(0.05)
        assert spaces(theirs)
        assert left.exists()
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        clean_up()  # or that of a lab in another test at the same time
        assert spaces(theirs) == []
        assert not left.exists()
        assert not any(running(pid) for pid in inside)
        assert len(spaces(mine)) == 8
        assert kept.exists()
        alive.kill()
        alive.wait()
        clean_up()
        assert spaces(mine) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_takes_its_lab_down_on_a_signal(spaces: Spaces, tmp_path: Path, number: int) -> None:
    words = [sys.executable, "-m", "bench.netlab", "--quick", "--out", str(tmp_path)]
    with subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        prefix = f"{names.PREFIX}{process.pid}-"
        while not spaces(prefix + "0-a0"):
            assert process.poll() is None
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert spaces(prefix) == []
    assert not list(Path("/tmp").glob(prefix + "*"))


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["netlab"])
    assert command.main() == 2
    assert "root" in capsys.readouterr().err


def test_without_its_tools_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sys, "argv", ["netlab"])
    monkeypatch.setenv("PATH", "")
    assert command.main() == 2
    said = capsys.readouterr().err
    assert "ip: Debian's package iproute2" in said
    assert "tc: Debian's package iproute2" in said
