"""Tests that make namespaces run where they can be made; ``CASSINI_NEED_NETLAB=1`` makes a skip a failure."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest
from bench.netlab.network import missing


@pytest.fixture(scope="session")
def labs() -> None:
    """Skips where no labs can be made."""
    lacks = missing()
    if lacks and os.environ.get("CASSINI_NEED_NETLAB"):
        pytest.fail("CASSINI_NEED_NETLAB is set and there is no " + "; no ".join(lacks))
    if lacks:
        pytest.skip("no " + "; no ".join(lacks))


@pytest.fixture
def spaces(labs: None) -> Callable[[str], list[str]]:
    """Names of namespaces that begin with a prefix."""

    def listed(prefix: str) -> list[str]:
        said = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
        return [line.split()[0] for line in said.splitlines() if line.startswith(prefix)]

    return listed
