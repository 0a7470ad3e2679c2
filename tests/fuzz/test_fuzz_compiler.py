"""``.ci/run`` on machines whose clang has no libFuzzer, or that have none: what it installs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What the script itself calls; the rest of the machine is made of stubs.
TOOLS = ("bash", "cut", "dirname", "env", "grep", "mktemp", "rm", "sort", "touch", "cp")

# Links only where the runtime of its version is there.
CLANG = """#!/usr/bin/env bash
if [ "$1" = -dumpversion ]; then echo {version}.1.7; exit; fi
case "$*" in *-fsanitize=fuzzer*) test -e "$STATE/libclang-rt-{version}-dev" ;; esac
"""
APT_GET = """#!/usr/bin/env bash
echo "$*" >> "$STATE/log"
[ "$1" = install ] || exit 0
shift
for package in "$@"; do
  case "$package" in
    clang-[0-9]*) cp "$STATE/$package" "$STATE/bin/clang++-${package#clang-}" ;;
    libclang-rt-*) touch "$STATE/$package" ;;
  esac
done
"""
APT_CACHE = """#!/usr/bin/env bash
case "$2" in {known}) exit 0 ;; *) exit 100 ;; esac
"""


class Machine:
    """A folder of stubs as the whole PATH."""

    def __init__(self, folder: Path, clangs: dict[str, int], runtimes: tuple[int, ...], to_be_had: tuple[int, ...]):
        self.folder = folder
        (folder / "bin").mkdir()
        for tool in TOOLS:
            (folder / "bin" / tool).symlink_to(str(shutil.which(tool)))
        for program in ("make", "c++", "valgrind", "pkg-config", "go", "cargo", "chromium", "ip", "tc", "python"):
            self._stub(f"bin/{program}", "#!/usr/bin/env bash\n")
        self._stub("bin/apt-get", APT_GET)
        self._stub("bin/apt-cache", APT_CACHE.format(known="|".join(f"libclang-rt-{v}-dev" for v in to_be_had)))
        for name, version in clangs.items():
            self._stub(f"bin/{name}", CLANG.format(version=version))
        for version in to_be_had:
            self._stub(f"clang-{version}", CLANG.format(version=version))
        for version in runtimes:
            (folder / f"libclang-rt-{version}-dev").touch()

    def _stub(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.folder / "bin"), "STATE": str(self.folder), "PYTHON": "python"}
        environment["TMPDIR"] = os.environ.get("TMPDIR", "/tmp")
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    def installed(self) -> str:
        """What apt-get was asked to install by ``.ci/run``."""
        done = self.run(".ci/run")
        assert done.returncode == 0, done.stderr
        log = self.folder / "log"
        asked = log.read_text().splitlines() if log.exists() else []
        assert asked[:1] in ([], ["update -qq"])
        packages = [package for line in asked[1:] for package in line.partition("--no-install-recommends ")[2].split()]
        return " ".join(package for package in packages if package != "libbpf-dev")  # a header, which is no program

    def compiler(self) -> str:
        return self.run(".ci/fuzz_compiler").stdout.strip()


DEBIAN_12 = (14, 19)
DEBIAN_13 = (17, 19)


@pytest.mark.parametrize(
    ("clangs", "runtimes", "to_be_had", "installed", "compiler"),
    [
        ({"clang++-19": 19}, (), DEBIAN_13, "clang-19 libclang-rt-19-dev", "clang++-19"),
        ({"clang++": 19, "clang++-19": 19}, (), DEBIAN_12, "clang-19 libclang-rt-19-dev", "clang++"),
        ({"clang++-14": 14}, (), DEBIAN_12, "clang-14 libclang-rt-14-dev", "clang++-14"),
        ({}, (), DEBIAN_12, "clang-14 libclang-rt-14-dev", "clang++-14"),
        ({"clang++": 22}, (), (19,), "clang-19 libclang-rt-19-dev", "clang++-19"),
        ({"clang++": 14, "clang++-14": 14}, (14,), DEBIAN_12, "", "clang++"),
        ({"clang++": 19, "clang++-14": 14}, (14,), DEBIAN_12, "", "clang++-14"),
        ({"clang++-9": 9, "clang++-19": 19}, (9, 19), (), "", "clang++-19"),
    ],
)
def test_a_clang_that_links_is_taken_or_made_whole(
    clangs: dict[str, int],
    runtimes: tuple[int, ...],
    to_be_had: tuple[int, ...],
    installed: str,
    compiler: str,
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path, clangs, runtimes, to_be_had)
    assert machine.installed() == installed
    assert machine.compiler() == compiler


def test_where_nothing_is_to_be_had_that_is_said(tmp_path: Path) -> None:
    machine = Machine(tmp_path, {"clang++": 22}, (), ())
    done = machine.run(".ci/run")
    assert done.returncode == 1
    assert "clang++ with libFuzzer" in done.stderr
    assert machine.run(".ci/fuzz_compiler").returncode == 1
