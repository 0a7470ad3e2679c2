"""The examples of examples/agent run, with the frameworks they are for, and their iterations are seen as they are."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "agent"

pytestmark = pytest.mark.slow


class Listener:
    """A daemon that only listens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.messages: list[dict[str, Any]] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen(4)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        with peer:
            while data := peer.recv(1 << 16):
                self.messages.append(json.loads(data))
        self._listener.close()

    def column(self, name: str) -> list[Any]:
        self._thread.join(10)
        return [value for m in self.messages if m["type"] == "iterations" for value in m[name]]


def run(name: str, ranks: int, tmp_path: Path) -> tuple[str, Listener]:
    listener = Listener(tmp_path / "agent.sock")
    command = [sys.executable, str(EXAMPLES / name)]
    if ranks > 1:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", f"--master-port={port}"]
        command += [str(EXAMPLES / name)]
    environment = {**os.environ, "CASSINI_AGENT_SOCKET": str(listener.path), "CASSINI_JOB_ID": "example"}
    environment |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "stops after a failure" not in done.stderr
    return done.stdout, listener


@pytest.mark.parametrize(
    ("needs", "name", "ranks", "iterations", "communicates"),
    [
        ("torch", "plain.py", 2, 40, True),
        ("torch", "ddp.py", 2, 40, True),
        ("torch", "fsdp2.py", 2, 40, False),
        ("deepspeed", "deepspeed_engine.py", 2, 40, False),
        ("lightning", "lightning_trainer.py", 1, 20, False),
        ("transformers", "huggingface_trainer.py", 1, 20, False),
    ],
)
def test_examples_run_and_their_iterations_are_seen(
    needs: str, name: str, ranks: int, iterations: int, communicates: bool, tmp_path: Path
) -> None:
    if subprocess.run([sys.executable, "-c", f"import {needs}"], capture_output=True).returncode != 0:
        pytest.skip(f"{needs} is not installed")
    out, listener = run(name, ranks, tmp_path)
    assert f"{iterations} iterations" in out
    starts, ends = listener.column("communication_start_ns"), listener.column("communication_end_ns")
    began, natural = listener.column("start_ns"), listener.column("natural_ns")
    assert listener.messages[0] == {
        "type": "hello",
        "protocol": 1,
        "job": "example",
        "rank": 0,
        "world_size": ranks,
        "pid": listener.messages[0]["pid"],
    }
    assert iterations - 1 <= len(began) <= iterations
    for start, end, start_ns, natural_ns in zip(starts, ends, began, natural, strict=True):
        if communicates:
            assert start_ns < start < end
            assert natural_ns is None or end <= start_ns + natural_ns
        else:
            assert start is None


@pytest.mark.parametrize("trainer", ["lightning", "transformers"])
def test_trainers_whose_model_has_a_hook_go_on_with_it(trainer: str, tmp_path: Path) -> None:
    if subprocess.run([sys.executable, "-c", f"import {trainer}"], capture_output=True).returncode != 0:
        pytest.skip(f"{trainer} is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", f"--master-port={port}"]
    environment = {**os.environ, "CASSINI_AGENT_SOCKET": str(tmp_path / "none"), "GLOO_SOCKET_IFNAME": "lo"}
    done = subprocess.run(
        [*command, str(Path(__file__).with_name("hooked_trainers.py")), trainer],
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("iterations: 10") == 2
    assert done.stderr.count("it has a communication hook already") == 1  # rank 0 says so
