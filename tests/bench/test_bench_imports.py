"""What measures the product follows its names: every module of ``bench`` can be imported."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPTIONAL = {"torch", "ortools", "highspy", "ns", "simgrid"}
"""Peers and frameworks that a machine need not have."""

MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "bench").rglob("*.py")
    if path.stem not in ("__init__", "__main__")
)


def test_every_module_can_be_imported() -> None:
    assert len(MODULES) > 100
    for module in MODULES:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in OPTIONAL:
                pytest.fail(f"{module}: {error}")
