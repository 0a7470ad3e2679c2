"""Hypothesis profiles and the path to the test data.

``HYPOTHESIS_PROFILE`` picks the profile. ``ci`` tries the same examples every time, so that a change is judged by what
it changes; ``thorough`` explores and is for the night; ``sanitized`` tries few, as each takes several times as long.

``CASSINI_SANITIZED`` says that the package was built with sanitizers: tests marked ``unsanitized`` are skipped.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from commands import Answer, Run

# A runner that was started in the background hands down "ignore Ctrl-C"; tests that interrupt a child need the usual.
signal.signal(signal.SIGINT, signal.default_int_handler)

_SLOW_DRAWS = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=_SLOW_DRAWS)
settings.register_profile(
    "ci", max_examples=50, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_DRAWS
)
settings.register_profile(
    "sanitized", max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_DRAWS
)
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=_SLOW_DRAWS)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("CASSINI_SANITIZED"):
        return
    for item in items:
        mark = item.get_closest_marker("unsanitized")
        if mark is not None:
            item.add_marker(pytest.mark.skip(reason=f"under sanitizers: {mark.kwargs['reason']}"))


def pytest_collection_finish() -> None:
    """Garbage collections need not walk all that was imported and collected; and seldom all that tests left."""
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, 100)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """``cassini-core`` in this process."""
    from cassini_core.cli import main

    def call(*arguments: str) -> Answer:
        status = main(list(arguments))
        return Answer(status, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """``tests/data``."""
    return Path(__file__).parent / "data"
