"""What are candidates worth, and how long does the pipe from a network to a ranking take?

``python -m bench.placement --topology TOPO.csv --trace CLUSTER_TRACE.csv`` writes ``placement.md``, its figures as
JSON, and a plot. The files are ``data/topo.csv`` of alibaba/alibaba-lingjun-dataset-2023 and ``cluster_trace.csv`` of
Rivendile/Muri (``cluster_exp/trace-data``), both under the Apache licence.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

from bench.measuring import machine, reports
from bench.measuring.progress import Progress

from .gain import gain
from .muri_trace import muri_jobs
from .pipe import time_pipe
from .report import draw, markdown
from .worn_cluster import network

CLUSTERS, CANDIDATES, GPUS_PER_WORKER = 20, 64, 4


def main(argv: list[str] | None = None) -> int:
    """Run the study and write its report."""
    parser = reports.parser("bench.placement", __doc__, "few clusters and candidates")
    parser.add_argument("--topology", type=Path, required=True, help="topo.csv of the Lingjun data set")
    parser.add_argument("--trace", type=Path, required=True, help="cluster_trace.csv of Muri")
    options = parser.parse_args(argv)
    about, progress = machine.about(), Progress()
    clusters, candidates = (2, 8) if options.quick else (CLUSTERS, CANDIDATES)
    progress.study("pipe")
    pipe = time_pipe(options.topology, options.trace)
    topology = network()
    kinds = [one for one in muri_jobs(options.trace, 400, GPUS_PER_WORKER) if one.job.phases]
    gains = []
    for family in ("packed", "scattered"):
        progress.study(family)
        for seed in range(clusters // 2):
            progress.step(seed, clusters // 2, family)
            gains.append(gain(topology, kinds, family, seed, candidates))
    progress.done()
    options.out.mkdir(parents=True, exist_ok=True)
    draw(gains, options.out / "placement.png", reports.footnote(about, options.quick))
    text = markdown(pipe, gains, candidates, about, options.quick)
    figures = {"format": "cassini-bench-placement/1", "quick": options.quick, "machine": about, "pipe": asdict(pipe)}
    reports.write(
        options.out, "placement", text, figures | {"gains": [asdict(one) for one in gains]}, ["placement.png"]
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
