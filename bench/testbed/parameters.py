"""What all experiments assume beside models and traces, and where all parameters of the report come from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from .model_table import MODELS

__all__ = ["MARKING", "OPTIONS", "parameters"]

MARKING: Mapping[str, Any] = MappingProxyType({"min_cells": 1000.0, "max_cells": 2000.0})
"""WRED's thresholds of the paper's testbed (section 5.1); else as :class:`cassini_core.simulation.marking.Marking`."""

OPTIONS: Mapping[str, Any] = MappingProxyType({"restart_s": 30.0, "jitter": "lognormal", "jitter_share": 0.014})
"""Of every simulation."""

_OF_ALL = (
    ("network", "24 servers of one GPU, 13 switches, 48 cables of 50 Gbit/s, 2:1 above the ToRs", "paper, appendix A"),
    ("", "six ToRs of four servers, four aggregation switches, three cores", "assumed: the drawing is not in the text"),
    ("servers with two GPUs", "six, under three ToRs with one uplink of 50 Gbit/s", "paper: the six; the rest assumed"),
    ("paths", "one for each pair of hosts, drawn", "paper, section 5.1: rules by input port and destination"),
    (
        "sharing of links",
        "max-min fair, at once, without loss of capacity",
        "assumed; beside SimGrid and ns-3 elsewhere",
    ),
    ("rings", "workers in the order of the cluster's hosts", "assumed: as NCCL orders them when told of the topology"),
    ("requested workers", "1 to 12 (Poisson), 3 to 6 and 4 (dynamic), 4, 3", "paper, section 5.1; the others assumed"),
    ("iterations of a task", "200 to 1,000 (Poisson), 1,000 (dynamic)", "paper, section 5.1; 1,000 assumed"),
    ("tasks of the Poisson trace", "60, load 0.9", "load: paper, 0.8 to 1.0; how many is assumed"),
    ("arrival in the dynamic traces", "after 60 s", "assumed"),
    ("places at first, dynamic traces", "drawn at random, the same for all schemes", "assumed: the paper does not say"),
    ("batch sizes", "drawn from the range of the model", "paper, appendix B.2"),
    (
        "jitter of computing",
        "1.4 %, lognormal",
        "size: published profiler traces (traces.py); shape assumed",
    ),
    ("restart", "30 s, not counted in iteration times", "Pollux (OSDI 2021, section 5.3)"),
    ("phases", "random where nothing is held", "assumed: no baseline starts in phase"),
    ("Themis", "leases of 10 minutes, fairness 0.8", "paper, section 5.1; Themis' evaluation"),
    ("Pollux", "every 60 s, population and generations 100, power -1", "Pollux, section 4"),
    ("Cassini", "up to 10 candidates", "paper, section 5.1"),
    ("", "the ranking's defaults, or the paper's rule: loops discarded, mean over links", "ours; paper, section 4.2"),
    ("", "starts later than 5 % of an iteration wait for the next one", "paper, section 5.7"),
    ("", "margins of the agent for the jitter that is simulated", "ours"),
    ("ECN", "WRED from 1,000 to 2,000 cells", "paper, section 5.1"),
    ("", "DCQCN's fixed point (simulation/marking.py)", "Zhu et al., CoNEXT 2016"),
)


def parameters() -> list[list[str]]:
    """What, its value, and its source, as rows; models last."""
    found = [list(one) for one in _OF_ALL]
    for model in MODELS.values():
        for name, figure in model.figures().items():
            found.append(
                [f"{model.name}: {name.replace('_', ' ')}", f"{figure.value:.4g}", f"{figure.source}: {figure.where}"]
            )
    return found
