"""How time grows with the number of candidates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def growing(sizes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rounds with unperturbed periods and most jobs, by their number of candidates."""
    most = max(row["jobs"] for row in sizes)
    own = [row for row in sizes if row["jobs"] == most and not row["perturbation"]]
    return sorted(own, key=lambda row: row["candidates"])


def slope(candidates: Sequence[float], seconds: Sequence[float]) -> float:
    """The exponent ``b`` of ``seconds = a * candidates ** b``: least squares in logarithms; NaN for fewer than two."""
    if len(candidates) < 2:
        return math.nan
    return float(np.polyfit(np.log(candidates), np.log(seconds), 1)[0])
