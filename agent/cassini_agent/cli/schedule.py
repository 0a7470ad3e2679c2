"""``cassini-agent schedule``: send one schedule by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ..requests import put_schedule
from ..schedule import Schedule
from .client import Daemon
from .errors import UsageError

__all__ = ["schedule"]


def schedule(file: str, /, *, daemon: Daemon = Daemon()) -> None:  # noqa: B008  cyclopts fills it in; it is frozen
    """Send a schedule to the daemon and print its answer.

    Parameters
    ----------
    file
        The schedule, cassini-schedule/1 in JSON; - for standard input.
    """
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    one = Schedule.from_json(data)
    print(json.dumps(daemon.ask(lambda http, endpoint: put_schedule(http, endpoint, one))))
