"""Processes forked from one that has imported what they need: that takes longer than what most tests ask of them."""

from __future__ import annotations

import multiprocessing
from multiprocessing.context import ForkServerContext

__all__ = ["FORK_SERVER"]

FORK_SERVER: ForkServerContext = multiprocessing.get_context("forkserver")
"""One for all tests of a process. What it forks has imported the packages, and called nothing of them."""

FORK_SERVER.set_forkserver_preload(
    [
        "cassini_agent.cli",
        "cassini_agent.daemon.service",
        "cassini_core.cli.rank",
        "cassini_core.placement.place",
        "cassini_core.problem_file",
        "cassini_core.ranking.rank_problem",
        "cassini_core.topology.generated",
        "hosts",
        "lossy_executors",
        "networkx",
    ]
)
