"""What all experiments assume beside models and traces, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["MARKING", "OPTIONS"]

MARKING: Mapping[str, Any] = MappingProxyType({"min_cells": 1000.0, "max_cells": 2000.0})
"""WRED's thresholds of the paper's testbed (section 5.1); else as :class:`cassini_core.simulation.marking.Marking`."""

OPTIONS: Mapping[str, Any] = MappingProxyType({"restart_s": 30.0, "jitter": "lognormal", "jitter_share": 0.014})
"""Of every simulation."""
