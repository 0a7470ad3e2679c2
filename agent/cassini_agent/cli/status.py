"""``cassini-agent status``: the jobs of a server, live."""

from __future__ import annotations

import json as json_library
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from .client import Daemon
from .errors import AnswerError
from .tables import STYLES, milliseconds, plain, print_table

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["status"]

EVERY_S = 1.0
COLUMNS = ("job", "state", "iteration", "error", "spread", "adjustments", "delay", "dropped", "note")


def status(
    *,
    once: Annotated[bool, Parameter(negative=(), help="Print the table once and end.")] = False,
    json: Annotated[bool, Parameter(negative=(), help="Print the daemon's answer as JSON once and end.")] = False,
    daemon: Daemon = Daemon(),  # noqa: B008  cyclopts fills it in; it is frozen
) -> None:
    """Show the jobs of a server: what they hold, how far they are from it, and what it costs them.

    Times are milliseconds. The error is the median distance of the last iterations from the grid, negative is early;
    the delay is what the agent has added to the job so far.
    """
    if json:
        print(json_library.dumps(_ask(daemon)))
    elif once:
        print_table(_table(_jobs(daemon)))
    else:
        _live(daemon)


def _ask(daemon: Daemon) -> dict[str, Any]:
    return daemon.ask(lambda http, endpoint: http.request("GET", endpoint, "/v1/jobs"))


def _jobs(daemon: Daemon) -> list[Mapping[str, Any]]:
    answer = _ask(daemon)
    if not isinstance(answer.get("jobs"), list):
        raise AnswerError("expected a list of jobs from the daemon")
    return sorted(answer["jobs"], key=lambda job: str(job.get("job")))


def _live(daemon: Daemon) -> None:
    """Until interrupted; a daemon that is away for a while is waited for, and so is a token that is being replaced."""
    from rich.console import Console
    from rich.live import Live

    console = Console(markup=False, emoji=False, highlight=False)
    with Live(_table(_jobs(daemon)), console=console, auto_refresh=False, screen=console.is_terminal) as live:
        while True:
            time.sleep(EVERY_S)
            try:
                table = _table(_jobs(daemon))
            except (AnswerError, ValueError) as error:
                table = _table([])
                table.caption = str(error)
            live.update(table, refresh=True)


def _table(jobs: list[Mapping[str, Any]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{len(jobs)} jobs", title_justify="left", caption_justify="left")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in ("job", "state", "note") else "right")
    for job in jobs:
        state = str(job.get("state")) + ("" if job.get("connected") else ", away")
        note = " ".join(plain(job[key]) for key in ("note", "disagreement") if job.get(key))
        table.add_row(
            Text(plain(job.get("job"))),
            Text(plain(state), style=STYLES.get(str(job.get("state")), "")),
            *(milliseconds(job.get(key)) for key in ("iteration_ns", "error_ns", "error_spread_ns")),
            str(job.get("adjustments")),
            milliseconds(job.get("delay_total_ns")),
            str(job.get("dropped")),
            Text(note),
        )
    if ports := next((job["counters"] for job in jobs if job.get("counters")), None):
        table.caption = f"ports: {json_library.dumps(ports)}"
    return table
