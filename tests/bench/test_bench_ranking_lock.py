"""What threads of a ranking do in Python, and what without the interpreter's lock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_all_that_threads_do_is_told_by_number_of_threads() -> None:
    """In a process of its own: what is watched stays watched."""
    asked = [sys.executable, "-m", "bench.ranking.lock", "--size", "12x300", "--threads", "1", "2", "--runs", "1"]
    said = subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    head, _, *rows = [line.strip("| ").split(" | ") for line in said.strip().splitlines()]
    assert head == [
        *("threads", "wall", "calling thread in Python", "others in Python", "others waiting", "others released")
    ]
    assert [row[0] for row in rows] == ["1", "2"]
    assert all(len(row) == len(head) and "0 ns" not in row for row in rows)
