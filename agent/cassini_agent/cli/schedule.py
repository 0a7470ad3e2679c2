"""``cassini-agent schedule``: send one schedule by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

from ..schedule import Schedule
from .client import Client, Daemon
from .errors import UsageError

__all__ = ["schedule"]


def schedule(file: str, /, *, daemon: Daemon = Daemon()) -> None:  # noqa: B008  cyclopts fills it in; it is frozen
    """Send a schedule to the daemon and print its answer.

    Parameters
    ----------
    file
        The schedule, cassini-schedule/1 in JSON; - for standard input.
    """
    import json

    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    one = Schedule.from_json(data)
    answer = Client(daemon).ask("PUT", f"/v1/jobs/{quote(one.job, safe='')}/schedule", one.to_mapping())
    print(json.dumps(answer))
