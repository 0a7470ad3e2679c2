"""Hypothesis profiles and the path to the test data.

``HYPOTHESIS_PROFILE`` picks the profile. ``ci`` tries the same examples every time, so that a change is judged by what
it changes; ``thorough`` explores and is for the night.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A runner that was started in the background hands down "ignore Ctrl-C"; tests that interrupt a child need the usual.
signal.signal(signal.SIGINT, signal.default_int_handler)

_SLOW_DRAWS = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=_SLOW_DRAWS)
settings.register_profile(
    "ci", max_examples=50, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_DRAWS
)
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=_SLOW_DRAWS)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """``tests/data``."""
    return Path(__file__).parent / "data"
