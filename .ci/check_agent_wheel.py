"""Install the wheel of the agent alone, in a bare environment: what it brings, and what works there.

Usage: check_agent_wheel.py DIST

First as a job has it, with the standard library alone; then as a server has it, with the extra ``daemon``. Prints a
table of sizes and times; exit status 1 if anything is not as it must be.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

TOKEN = "a-token-for-this-check"
RUNS = 15
STARTS_WITHIN_S = 30.0
ENGINE = ("numpy", "cassini-core", "networkx", "numba", "scipy", "torch")
SCHEDULE = """
{"format": "cassini-schedule/1", "job": "a", "component": "a", "version": 1, "epoch_ns": %(now)d, "pace_ns": 100000000,
 "shift_ns": 0, "iteration_ns": 100000000, "hold_ns": 1000000, "slack_ns": 1000000, "gain_ns": 0,
 "expires_ns": %(then)d}
"""
JOB = """
import cassini_agent, sys
agent = cassini_agent.connect("a-job")
for _ in range(3):
    agent.iteration()
others = {name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'cassini_agent', '__main__'}
print(sorted(others))
"""


class Environment:
    """A bare virtual environment in a folder."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "env" / "bin"
        run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")])
        (self.library,) = (folder / "env" / "lib").glob("python*/site-packages")

    def install(self, what: str) -> list[str]:
        """Names of the distributions that are there then."""
        python = str(self.bin / "python")
        pip = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "--python", python]
        run([*pip, "install", "--no-compile", what])
        return sorted(one.name.partition("-")[0].replace("_", "-").lower() for one in self.library.glob("*.dist-info"))

    def size(self) -> int:
        """Bytes of what is installed, without compiled files."""
        return sum(f.stat().st_size for f in self.library.rglob("*") if f.is_file() and f.suffix != ".pyc")

    def import_ms(self, modules: str) -> float:
        """Median over what the interpreter alone takes, files warm and compiled."""

        def once(program: str) -> float:
            began = time.perf_counter()
            run([str(self.bin / "python"), "-c", program])
            return 1000 * (time.perf_counter() - began)

        once(f"import {modules}")
        pairs = [(once(f"import {modules}"), once("pass")) for _ in range(RUNS)]
        return statistics.median(a for a, _ in pairs) - statistics.median(b for _, b in pairs)


def run(command: list[str], status: int = 0) -> str:
    """What it prints. Nothing of the caller's environment helps."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CASSINI"))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode != status:
        raise SystemExit(f"{command}: exit status {done.returncode}, expected {status}\n{done.stdout}{done.stderr}")
    return done.stdout + (done.stderr if status else "")


def expect(found: object, wanted: object, what: str) -> None:
    """Equal, or the check ends."""
    if found != wanted:
        raise SystemExit(f"{what}: expected {wanted}, got {found}")


def check_names(wheel: Path) -> None:
    """Nothing but Python, whatever the platform, and the license."""
    expect(re.search(r"-py3-none-any\.whl$", wheel.name) is not None, True, f"{wheel.name}: a wheel for any platform")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
    kinds = {Path(name).suffix for name in names if name.startswith("cassini_agent/")} - {""}
    expect(kinds <= {".py", ".typed", ".service", ".socket"}, True, f"{wheel.name}: no kinds of files but {kinds}")
    expect(any(name.endswith("LICENSE") for name in names), True, f"{wheel.name}: the license")


def as_a_job(wheel: Path, folder: Path) -> tuple[str, ...]:
    """The wheel and the standard library."""
    there = Environment(folder)
    expect(there.install(str(wheel)), ["cassini-agent"], "distributions")
    expect(run([str(there.bin / "python"), "-c", JOB]).strip(), "[]", "modules of others in a job")
    said = run([str(there.bin / "cassini-agent"), "serve"], status=2)
    expect(said, "cassini-agent: cyclopts is missing: pip install 'cassini-agent[daemon]'\n", "the command")
    return "in a job", "1", f"{there.size():,}", f"{there.import_ms('cassini_agent'):.0f}"


def as_a_server(wheel: Path, folder: Path) -> tuple[str, ...]:
    """With the extra: the daemon runs, and is asked."""
    there = Environment(folder)
    installed = there.install(f"{wheel}[daemon]")
    expect([name for name in ENGINE if name in installed], [], "distributions that a server does not need")
    command = str(there.bin / "cassini-agent")
    token, port = folder / "token", folder / "port"
    token.write_text(TOKEN)
    token.chmod(0o600)
    options = ["--port=0", f"--port-file={port}", f"--socket={folder / 'agent.sock'}", f"--token-file={token}"]
    run([command, "--version"])
    run([command, "check-config", *options])
    daemon = subprocess.Popen([command, "serve", *options])
    try:
        end = time.monotonic() + STARTS_WITHIN_S
        while not (port.exists() and port.read_text().endswith("\n")):
            if daemon.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"the daemon did not start: {daemon.poll()}")
            time.sleep(0.02)
        access = [f"--url=http://127.0.0.1:{port.read_text().strip()}", f"--token-file={token}"]
        expect(json.loads(run([command, "status", "--json", *access]))["jobs"], [], "jobs of a new daemon")
        (folder / "schedule.json").write_text(SCHEDULE % {"now": time.time_ns(), "then": time.time_ns() + 60 * 10**9})
        sent = run([command, "schedule", str(folder / "schedule.json"), *access])
        expect(json.loads(sent)["accepted"], True, "a schedule")
        expect("a" in run([command, "status", "--once", *access]), True, "the job in the table")
    finally:
        daemon.terminate()
        status = daemon.wait(10)
    expect(status, 0, "the status that the daemon ended with")
    said = run([command, "interleave", "--daemon=http://127.0.0.1:1", "--link=a=1"], status=2)
    wanted = "cassini-agent: cassini_core is missing: pip install 'cassini-core[agent]'\n"
    expect(said, wanted, "a verb that needs the engine")
    milliseconds = there.import_ms("cassini_agent.cli.application, cassini_agent.daemon.service")
    return "on a server", str(len(installed)), f"{there.size():,}", f"{milliseconds:.0f}"


def main() -> None:
    """Exit status 1 if anything is not as it must be."""
    (wheel,) = Path(sys.argv[1]).resolve().glob("cassini_agent-*.whl")
    check_names(wheel)
    rows: list[tuple[str, ...]] = [("the agent", "distributions", "bytes", "import, ms")]
    for use in (as_a_job, as_a_server):
        with tempfile.TemporaryDirectory(prefix="agent-", ignore_cleanup_errors=True) as folder:
            rows.append(use(wheel, Path(folder).resolve()))
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
    for row in rows:
        print(f"{row[0]:<12}{row[1]:>14}{row[2]:>14}{row[3]:>12}")


if __name__ == "__main__":
    main()
