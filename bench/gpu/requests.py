"""How the ranks of a job are told what to do: lines of JSON on their standard input, answers of rank 0 as files."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["answer", "requests", "wait_for"]


def requests() -> Iterator[dict[str, Any]]:
    """What is asked, until the input ends. Each has ``do``, ``answer`` (a file) and what belongs to it."""
    for line in sys.stdin:
        yield json.loads(line)


def answer(request: dict[str, Any], **known: Any) -> None:
    """Write the answer; it is there as a whole or not at all."""
    path = Path(request["answer"])
    part = path.with_suffix(".part")
    part.write_text(json.dumps(known))
    part.rename(path)


def wait_for(request: dict[str, Any]) -> None:
    """Until the run that is asked for begins (``begin_s``, on the monotonic clock)."""
    time.sleep(max(0.0, request["begin_s"] - time.monotonic()))
