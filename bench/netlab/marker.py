"""Compile what marks packets at the bottlenecks (ECN):  python -m bench.netlab.marker OUT.o

For a machine without clang: compile it elsewhere, and name the file in ``CASSINI_NETLAB_MARKER``.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
from pathlib import Path

__all__ = ["VARIABLE", "compiled", "usable"]

SOURCE = Path(__file__).with_name("marker.bpf.c")
VARIABLE = "CASSINI_NETLAB_MARKER"
CLANGS = ("clang", *(f"clang-{version}" for version in range(21, 13, -1)))
RATE_MBIT = 400
"""Of all bottlenecks; a compiled marker is for this rate alone."""


def compiled(out: Path) -> None:
    """Compile to ``out``.

    Raises
    ------
    RuntimeError
        There is no clang, or it says why it cannot.
    """
    clang = next(filter(None, map(shutil.which, CLANGS)), None)
    if clang is None:
        raise RuntimeError("clang: not found (Debian's packages clang and libbpf-dev)")
    command = [clang, "-O2", "-g", "-target", "bpf", f"-DRATE_BPS={RATE_MBIT}000000ULL"]
    # Debian keeps an architecture's kernel headers in a folder of its own, which clang leaves out for this target.
    command += ["-I", f"/usr/include/{platform.machine()}-linux-gnu", "-c", str(SOURCE), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"clang: {done.stderr.strip()[:500]}")


def usable(folder: Path) -> tuple[str | None, str]:
    """The object file to load, or None and why: what the environment names, else compiled into ``folder``."""
    if named := os.environ.get(VARIABLE):
        return (
            (str(Path(named).resolve()), "") if Path(named).is_file() else (None, f"{VARIABLE}: {named} is not there")
        )
    out = folder / "marker.o"
    try:
        compiled(out)
    except RuntimeError as error:
        return None, str(error)
    return str(out), ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    compiled(parser.parse_args().out)
