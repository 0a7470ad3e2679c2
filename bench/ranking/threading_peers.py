"""Numba's ``prange`` calling the kernel by symbol, or Python threads? The same links, bytes, and two threads for each.

``python -m bench.ranking.threading_peers [--quick] [--out FOLDER]`` writes ``ranking-threading.md`` and its figures as
JSON. A full run takes some minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import machine
from bench.progress import Progress

from .rounds import Settings, generate
from .threading_cold import cold
from .threading_hazards import outcomes
from .threading_links import Links, links_of
from .threading_tables import markdown
from .threading_ways import LAYERS, NUMBA, PYTHON
from .threading_worker import Worker, environment

WAYS = [("", way) for way in PYTHON] + [(layer, way) for layer in LAYERS for way in NUMBA]
"""Threading layer and way."""


def layers_here(links: Path, cache: Path) -> list[str]:
    """The threading layers that Numba can load on this machine; what they need is then compiled."""
    found = []
    for layer in LAYERS:
        worker = Worker([links], environment(layer, cache))
        try:
            if worker.run(next(iter(NUMBA)), 0)["layer"] == layer:
                found.append(layer)
        except RuntimeError:  # it says why on standard error
            pass
        finally:
            worker.close()
    return found


def timed(parts: Sequence[Path], layers: Sequence[str], cache: Path, progress: Progress) -> list[dict[str, Any]]:
    """Every way over every part of the links, in turns; each way's rows are in the order of the parts.

    Raises
    ------
    RuntimeError
        Two ways disagree in a byte.
    """
    ways = [(layer, way) for layer, way in WAYS if not layer or layer in layers]
    # The first file is for warming up.
    workers = {layer: Worker(list(parts), environment(layer or "default", cache)) for layer in {one for one, _ in ways}}
    try:
        for layer, way in ways:
            workers[layer].run(way, 0)
        rows = []
        for part in range(1, len(parts)):
            progress.step(part - 1, len(parts) - 1, "part of the links")
            # Another one begins each time: whoever follows whom should not matter.
            turn = [ways[(place + part) % len(ways)] for place in range(len(ways))]
            found = {one: workers[one[0]].run(one[1], part) for one in turn}
            if len({said["digest"] for said in found.values()}) != 1:
                raise RuntimeError(f"part {part}: not all ways give the same bytes")
            rows += [{"way": way, "part": part, **found[layer, way], "layer": layer} for layer, way in ways]
    finally:
        for worker in workers.values():
            worker.close()
    return rows


def run(settings: Settings, n_parts: int, tries: int, progress: Progress) -> dict[str, Any]:
    """All figures of the report."""
    progress.study(f"{settings.candidates} candidates")
    dealt = links_of(generate(settings), n_parts)
    with tempfile.TemporaryDirectory() as folder:
        cache, files = Path(folder) / "compiled", [Path(folder) / f"{k}.npz" for k in range(n_parts + 1)]
        for file, links in zip(files, [_few(dealt[0]), *dealt], strict=True):
            links.save(file)
        progress.study("layers, and what they compile")
        layers = layers_here(files[0], cache)
        progress.study("ways in turns")
        rows = timed(files, layers, cache, progress)
        progress.study("first calls and memory")
        first = cold(files[0], next(one for one in ("omp", *layers) if one in layers), cache, tries)
        progress.study("hazards")
        ways = {"Python threads": ("Python threads, 2", "default")}
        ways |= {"Numba serial in Python threads": ("Numba serial in Python threads, 2", "default")}
        ways |= {f"prange, {layer}": ("prange, chunks, 2", layer) for layer in layers}
        hazards = [asdict(one) for one in outcomes(files[0], files[1], ways, cache)]
    progress.done()
    return {"links": sum(map(len, dealt)), "layers": layers, "times": rows, "cold": first, "hazards": hazards}


def _few(links: Links) -> Links:
    """The first links of many: for warming up."""
    n = min(40, len(links))
    job_offset, period, phase_offset, *rest = links.part(0, n)
    return Links(job_offset, period, phase_offset, *rest)


def main(argv: list[str] | None = None) -> int:
    """Measure all and write the report."""
    options = _parser().parse_args(argv)
    about, progress = machine.about(), Progress()
    settings = Settings(candidates=20 if options.quick else 1000)
    found = run(settings, 2 if options.quick else options.parts, 1 if options.quick else 3, progress)
    options.out.mkdir(parents=True, exist_ok=True)
    document = {"format": "cassini-bench-threading/1", "quick": options.quick, "machine": about, **found}
    contents = {
        "ranking-threading.md": markdown(found, about, sum(progress.seconds.values()), options.quick),
        "ranking-threading.json": json.dumps(document, indent=1, allow_nan=False) + "\n",
    }
    for name, content in contents.items():
        (options.out / name).write_text(content, encoding="utf-8")
        print(options.out / name)
    return 0


def _parser() -> argparse.ArgumentParser:
    description = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m bench.ranking.threading_peers", description=description)
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    parser.add_argument("--quick", action="store_true", help="few links: to see that all works")
    parser.add_argument("--parts", type=int, default=8, help="the links are dealt out into so many turns (default 8)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
