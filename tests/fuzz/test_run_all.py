"""The driver of fuzzing, with targets of a few lines in place of the engines."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

DRIVER = Path(__file__).with_name("run_all.py")

# Both say how they were called. The second breaks, as libFuzzer does: it writes the input, names it, ends with not 0.
GOOD = """#!/usr/bin/env bash
echo "called with $*"
echo '#128 DONE cov: 12 ft: 34 corp: 5/67b'
"""
FAILING = """#!/usr/bin/env bash
echo "called with $*"
for argument in "$@"; do
  case "$argument" in -artifact_prefix=*) prefix="${argument#-artifact_prefix=}" ;; esac
done
printf '\\000broken\\377' > "${prefix}crash-1"
echo '#64 NEW cov: 12 ft: 34 corp: 5/67b'
echo 'what broke it'
echo "artifact_prefix='$prefix'; Test unit written to ${prefix}crash-1"
exit 77
"""


def build(folder: Path, **targets: str) -> Path:
    """A build folder whose targets are these scripts."""
    (folder / "csrc" / "fuzz").mkdir(parents=True)
    for name, text in targets.items():
        path = folder / "csrc" / "fuzz" / f"fuzz_{name}"
        path.write_text(text)
        path.chmod(0o755)
    return folder


def run(folder: Path, *targets: str, seed: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "FUZZ_SEED"}
    if seed is not None:
        environment["FUZZ_SEED"] = seed
    command = [sys.executable, str(DRIVER), "3", str(folder), *targets]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_a_finding_is_printed_whole_and_all_targets_are_run(tmp_path: Path) -> None:
    folder = build(tmp_path, boundary=FAILING, search=GOOD)
    done = run(folder, "boundary", "search")
    assert done.returncode == 1
    finding = folder / "found" / "boundary-crash-1"
    assert finding.read_bytes() == b"\0broken\xff"
    assert "boundary: ended with status 77" in done.stdout
    assert "\nwhat broke it\n" in done.stdout
    assert f"replay: {folder}/csrc/fuzz/fuzz_boundary {finding}\n" in done.stdout
    printed = done.stdout.partition("base64 -d <<< ")[2].split()[0]
    assert base64.b64decode(printed) == finding.read_bytes()
    assert "128 runs      12 edges      34 features" in done.stdout.splitlines()[-1]


def test_without_a_finding_the_status_is_0(tmp_path: Path) -> None:
    done = run(build(tmp_path, search=GOOD), "search")
    assert (done.returncode, done.stderr) == (0, "")
    assert "base64" not in done.stdout


def test_seed_and_seconds_are_passed_on(tmp_path: Path) -> None:
    folder = build(tmp_path, search=GOOD)
    for seed, passed in (("7", "7"), (None, "0")):
        assert run(folder, "search", seed=seed).returncode == 0
        called = (folder / "search.log").read_text().splitlines()[0].split()
        assert f"-seed={passed}" in called
        assert "-max_total_time=3" in called
        assert called[-2:] == [str(folder / "corpus" / "search"), str(DRIVER.parents[2] / "csrc/fuzz/corpus/search")]


def test_a_target_that_does_not_exist_is_no_success(tmp_path: Path) -> None:
    assert run(build(tmp_path, search=GOOD), "serach").returncode == 1
