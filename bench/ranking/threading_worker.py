"""A process that solves links in one way after the other, as it is told on standard input: one threading layer each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def environment(layer: str, cache: Path | str) -> dict[str, str]:
    """Of a process with a threading layer and a folder for compiled code."""
    # The wheel of TBB puts its library where the loader does not look.
    libraries = [os.path.join(sysconfig.get_path("data"), "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return {
        **os.environ,
        "NUMBA_THREADING_LAYER": layer,
        "NUMBA_NUM_THREADS": "2",
        "NUMBA_CACHE_DIR": str(cache),
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries)),
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
    }


class Worker:
    """The process seen from outside."""

    def __init__(self, files: list[Path], env: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", __name__, *map(str, files)]
        self._process = subprocess.Popen(
            command, env=env, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self, way: str, part: int) -> dict[str, Any]:
        """Seconds, CPU seconds of all threads, digest and layer of one way over one part of the links."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([way, part]), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{way}: the process ended with {self._process.wait()}")
        said: dict[str, Any] = json.loads(line)
        return said

    def close(self) -> None:
        """End it."""
        with suppress(BrokenPipeError):
            self._process.communicate("", timeout=60)


def main() -> None:
    """Answer one line for each that comes."""
    from .threading_links import Links
    from .threading_ways import NUMBA, PYTHON

    parts = [Links.load(Path(file)) for file in sys.argv[1:]]
    for line in sys.stdin:
        way, part = json.loads(line)
        solve = {**PYTHON, **NUMBA}[way]
        begin, cpu_begin = time.perf_counter(), time.process_time()
        answers = solve(parts[part])
        took = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - cpu_begin}
        said = {**took, "digest": answers.digest(), "links": len(parts[part])}
        if way in NUMBA:
            import numba

            said["layer"] = numba.threading_layer()
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
