"""One browser for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chromium import Browser, browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A running Chromium."""
    with browser() as running:
        yield running
