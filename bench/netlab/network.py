"""A network of namespaces that is taken down again, whatever happens."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from . import names
from .topology import Queue, Topology, marked, setup

__all__ = ["clean_up", "folder", "missing", "network", "refused"]

FOLDERS = Path(tempfile.gettempdir())
BUCKET = "qdisc add dev e0 root tbf rate 1mbit burst 10k limit 10k"


def missing() -> list[str]:
    """What this machine lacks for a lab, in words; empty if nothing."""
    found = []
    if os.geteuid() != 0:
        found.append("root: namespaces and queues are made by root alone")
    found += [f"{tool}: Debian's package iproute2 has it" for tool in ("ip", "tc") if shutil.which(tool) is None]
    if found:
        return found
    try:
        with _probe():
            pass
    except (OSError, RuntimeError) as error:
        found.append(f"namespaces with shaped veth pairs: {error}")
    return found


def refused(marker: str) -> str:
    """Why this machine does not load an ECN marker; empty if it does."""
    try:
        with _probe() as space:
            for command in marked(space, "e0", marker):
                _run(command)
    except (OSError, RuntimeError) as error:
        return str(error)
    return ""


@contextmanager
def _probe() -> Iterator[str]:
    """A namespace with what every lab needs."""
    space = names.name(0, "probe")
    _run(["ip", "netns", "add", space])
    try:
        for words in ("ip link add e0 type veth peer name e1", "tc qdisc add dev e1 root handle 1: htb"):
            _run([words[:2], "-n", space, *words[3:].split()])
        _run(["tc", "-n", space, *BUCKET.split()])
        yield space
    finally:
        _run(["ip", "netns", "del", space])


@contextmanager
def network(topology: Topology, queue: Queue, congestion: str, marker: str | None, lane: int) -> Iterator[str]:
    """The network of a lane; the prefix of its namespaces' names. All that runs in them is ended before they go."""
    prefix = names.prefix(lane)
    try:
        for command in setup(topology, queue, congestion, marker, prefix):
            _run(command)
        yield prefix
    finally:
        _remove([one for one in _namespaces() if one.startswith(prefix)])


def clean_up() -> list[str]:
    """Remove what labs left whose process is gone: their processes, namespaces and folders. Their names."""
    spaces = names.left_behind(_namespaces(), _alive)
    folders = names.left_behind((one.name for one in FOLDERS.iterdir()), _alive)
    _remove(spaces)
    for folder in folders:
        shutil.rmtree(FOLDERS / folder, ignore_errors=True)
    return spaces + folders


def folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for what a lab writes while it runs."""
    return tempfile.TemporaryDirectory(prefix=f"{names.PREFIX}{os.getpid()}-files-", dir=FOLDERS)


def _remove(spaces: Sequence[str]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        for space in spaces:
            for pid in _processes(space):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        if not any(_processes(space) for space in spaces):
            break
        time.sleep(0.2)
    for space in spaces:
        with contextlib.suppress(RuntimeError):  # somebody else's clean-up came first
            _run(["ip", "netns", "del", space])


def _namespaces() -> list[str]:
    said = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    return [line.split()[0] for line in said.splitlines() if line.strip()]


def _processes(space: str) -> list[int]:
    said = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True).stdout
    return [int(line) for line in said.split()]


def _alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def _run(command: Sequence[str]) -> None:
    # In a session of its own: Ctrl-C must not end a command that takes the network down.
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
