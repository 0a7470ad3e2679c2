"""``cassini-agent`` as an operator meets it."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Start
from daemon_process import PATIENCE_S, READ_TOKEN, DaemonProcess, iterations_of, schedule_of
from daemon_process import wait_until as until

from cassini_agent.cli import main


def access(daemon: DaemonProcess, token: str = "token") -> tuple[str, str]:
    return f"--url=http://127.0.0.1:{daemon.port}", f"--token-file={daemon.folder / token}"


def test_status_shows_jobs_as_a_table_or_as_json(daemon: DaemonProcess, capsys: pytest.CaptureFixture[str]) -> None:
    with daemon.job("vgg\x1b[31m16") as job:
        job.send(iterations_of(state="adjusting", note="why\nnot"))
        until(lambda: daemon.ask("GET", "/v1/jobs").body["jobs"][0]["iterations"])
        assert main(["status", "--once", *access(daemon, "read-token")]) == 0
        shown = capsys.readouterr().out
        assert "vgg\\x1b[31m16" in shown
        assert "why\\nnot" in shown
        assert "adjusting" in shown
        assert "195.000" in shown
        assert "\x1b" not in shown
        assert main(["status", "--json", *access(daemon)]) == 0
        assert json.loads(capsys.readouterr().out)["jobs"][0]["adjustments"] == 3


def test_schedule_sends_one_and_says_why_not(
    daemon: DaemonProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "schedule.json"
    with daemon.job("a/b ü?#%2F") as job:
        file.write_text(json.dumps(schedule_of("a/b ü?#%2F", version=2)))
        assert main(["schedule", str(file), *access(daemon)]) == 0
        assert json.loads(capsys.readouterr().out) == {"accepted": True, "version": 2, "connected": True}
        received = job.receive()
        assert received is not None
        assert received["job"] == "a/b ü?#%2F"
    file.write_text(json.dumps(schedule_of("a/b ü?#%2F", version=1)))
    assert main(["schedule", str(file), *access(daemon)]) == 2
    assert "409 older_version" in capsys.readouterr().err
    assert main(["schedule", str(file), *access(daemon, "read-token")]) == 2
    assert "401" in capsys.readouterr().err
    file.write_text("{")
    assert main(["schedule", str(file), *access(daemon)]) == 2
    assert main(["schedule", str(tmp_path / "gone"), *access(daemon)]) == 2
    assert main(["schedule", str(file), "--url=ftp://x"]) == 2
    assert READ_TOKEN not in capsys.readouterr().err


def test_without_a_daemon_the_exit_status_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"--url=http://127.0.0.1:{free.getsockname()[1]}"
        assert main(["status", "--once", url]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_options_come_from_the_environment_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text(READ_TOKEN)
    token.chmod(0o600)
    monkeypatch.setenv("CASSINI_AGENT_TOKEN_FILE", str(token))
    monkeypatch.setenv("CASSINI_AGENT_SOCKET", str(tmp_path / "s"))
    assert main(["check-config", "--port=0"]) == 0
    assert capsys.readouterr().out == "fine: http://127.0.0.1:0, access by token\n"
    assert main(["check-config", "--no-such-option"]) == 2


def test_systemd_hears_when_the_daemon_is_ready(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.settimeout(PATIENCE_S)
        notified.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        monkeypatch.delenv("WATCHDOG_PID", raising=False)
        daemon = start()
        assert [notified.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        assert daemon.stop() == 0
        said = b""
        while said != b"STOPPING=1":
            said = notified.recv(100)
    assert not daemon.socket.exists()


def test_the_units_are_ones_that_systemd_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    units = {}
    for name, option in (("cassini-agent.service", ()), ("cassini-agent.socket", ("--socket",))):
        assert main(["systemd-unit", *option]) == 0
        units[name] = capsys.readouterr().out
    assert "Type=notify" in units["cassini-agent.service"]
    assert "RuntimeDirectory" not in units["cassini-agent.service"]  # it would be another folder after each restart
    assert "ListenSequentialPacket=/run/cassini-agent/agent.sock\n" in units["cassini-agent.socket"]
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    for name, text in units.items():
        (tmp_path / name).write_text(re.sub("^ExecStart=.*$", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    command = ["systemd-analyze", "verify", *(str(tmp_path / name) for name in units)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "cassini-agent" not in done.stderr, done.stderr


def test_the_job_s_own_part_imports_neither_the_daemon_nor_its_libraries() -> None:
    program = (
        "import sys, cassini_agent.local_link, cassini_agent.schedule\n"
        "others = ('aiohttp', 'msgspec', 'cyclopts', 'rich', 'numpy', 'asyncio')\n"
        "print([name for name in others if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, env=os.environ)
    assert done.stdout.strip() == "[]", done.stderr
