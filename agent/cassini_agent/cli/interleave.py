"""``cassini-agent interleave``: jobs that run already, interleaved and kept so, live."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..daemon.changed_files import ChangedFiles
from .client import Access
from .errors import AnswerError, UsageError
from .tables import STYLES, milliseconds, plain, print_table

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from ..endpoint import Endpoint
    from ..interleave import Interleaving, Network, Row
    from ..interleave.events import Event

__all__ = ["interleave"]

COLUMNS = ("job", "host", "state", "iteration", "pace", "error", "spread", "waited", "adjustments", "note")
LEFT = ("job", "host", "state", "note")

EVERY_S = 1.0
SHOWN_EVENTS = 12

ONCE_S = 180.0
"""So long ``--once`` waits for profiles: jobs have to be parted before they can be known."""

ANSWER_S = 1.5
"""And so long for what jobs say of what they were just sent."""


def interleave(
    *,
    job: Annotated[tuple[str, ...], Parameter(help="JOB@URL: a job, and the daemon of its rank 0. Repeat.")] = (),
    daemon: Annotated[tuple[str, ...], Parameter(help="URL of a daemon all of whose jobs take part. Repeat.")] = (),
    link: Annotated[tuple[str, ...], Parameter(help="NAME=GBPS: a link that all jobs cross. Repeat.")] = (),
    problem: Annotated[
        Path | None, Parameter(help="Links and routes: cassini-problem/1; jobs that it does not list are measured.")
    ] = None,
    candidate: Annotated[str | None, Parameter(help="Which candidate of the problem, if it has several.")] = None,
    rate: Annotated[
        tuple[str, ...], Parameter(help="JOB=GBPS: how fast it sends. Default: as its narrowest link carries. Repeat.")
    ] = (),
    once: Annotated[bool, Parameter(negative=(), help="Arrange the jobs once, print the table and end.")] = False,
    release: Annotated[bool, Parameter(negative=(), help="At the end set the jobs free.")] = False,
    access: Access = Access(),  # noqa: B008  cyclopts fills it in; it is frozen
) -> None:
    """Interleave jobs that run already, and keep them interleaved until Ctrl-C.

    Takes their profiles from their daemons, ranks, sends schedules, coordinates, and arranges them anew when one joins,
    leaves or changes. Afterwards jobs keep their schedules for up to an hour; started again, it goes on with them.

    Times are milliseconds; the error is the median distance of the last iterations from the grid, negative is early.
    """
    from ..coordinator.events import Failed
    from ..interleave import Interleaving

    jobs, daemons = _where(job, daemon, access)
    network = _network(link, problem, candidate, rate)
    if "CASSINI_DEBUG" not in os.environ:  # what fails is an event, and a traceback would break the table
        logging.getLogger("cassini_agent").addHandler(logging.NullHandler())
    told: SimpleQueue[Event] = SimpleQueue()
    files = ChangedFiles(access.files())

    def refresh() -> None:
        """Of the token and the certificates, where they have been replaced."""
        if files.look():
            try:
                running.update(daemons=_where(job, daemon, access)[1])
            except ValueError as error:
                event = Failed("reading the token or certificates", str(error), 1)
                running.events.append((time.time(), event))
                told.put(event)

    is_live = not once and sys.stdout.isatty()
    try:
        with Interleaving(network, daemons, jobs=jobs, tell=None if is_live else told.put) as running:
            try:
                if once:
                    _once(running, told)
                elif is_live:
                    _show(running, refresh)
                else:
                    _go_on(running, told, refresh)
            except KeyboardInterrupt:
                pass
            finally:
                if release:
                    running.release()
            rows = running.status()
            _print_new(told)
    except ValueError as error:
        raise UsageError(str(error)) from None
    held = sum(row.status.schedule is not None for row in rows)
    if held and not release:
        print(f"{held} jobs keep their schedules for up to an hour; cassini-agent interleave goes on with them")


def _where(
    jobs: tuple[str, ...], daemons: tuple[str, ...], access: Access
) -> tuple[set[str] | None, dict[str, Endpoint]]:
    """Which jobs take part, None for all that there are; and the daemons, by address."""
    found: dict[str, Endpoint] = {}
    names = set()
    for one in jobs:
        match = re.fullmatch(r"(.+)@(https?://[^@]+)", one)
        if match is None:
            raise UsageError(f"--job: expected JOB@URL, got {one!r}")
        names.add(match[1])
        found[_short(match[2])] = access.endpoint(match[2])
    for url in daemons:
        found[_short(url)] = access.endpoint(url)
    if not found:
        raise UsageError("expected --job JOB@URL or --daemon URL, got neither")
    return (None if daemons else names), found


def _short(url: str) -> str:
    return url.partition("://")[2].rstrip("/") or url


def _network(link: tuple[str, ...], problem: Path | None, candidate: str | None, rate: tuple[str, ...]) -> Network:
    from cassini_core import InputError

    from ..interleave import Network

    if bool(link) == (problem is not None):
        raise UsageError(f"expected --link or --problem, got {'both' if link else 'neither'}")
    links, rates = (dict(_pair(one, option) for one in many) for option, many in (("--link", link), ("--rate", rate)))
    try:
        if problem is None:
            return Network(links, gbps=rates)
        known = Network.from_file(problem, candidate)
        return Network(known.links, known.routes, rates, known.profiles)
    except OSError as error:
        raise UsageError(f"{problem}: {error.strerror}") from None
    except (InputError, ValueError) as error:
        raise UsageError(str(error)) from None


def _pair(text: str, option: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not (name and 0 < number < float("inf")):
        raise UsageError(f"{option}: expected NAME=GBPS, got {text!r}")
    return name, number


def _line(event: Event, at_s: float) -> str:
    from ..interleave import describe

    return f"{time.strftime('%H:%M:%S', time.localtime(at_s))} {plain(describe(event))}"


def _print_new(told: SimpleQueue[Event]) -> None:
    """By the main thread, where it is an error that nobody reads any more."""
    while not told.empty():
        print(_line(told.get(), time.time()), flush=True)


def _once(running: Interleaving, told: SimpleQueue[Event]) -> None:
    end_s = time.monotonic() + ONCE_S
    while not running.is_arranged() and time.monotonic() < end_s:
        _print_new(told)
        time.sleep(0.2)
    time.sleep(ANSWER_S)
    _print_new(told)
    rows = running.status()
    print_table(_table(rows))
    if missing := [row for row in rows if row.state == "missing"]:
        raise AnswerError(f"{missing[0].job}: {missing[0].note}")
    if not running.is_arranged():
        raise AnswerError(f"not all jobs were arranged within {ONCE_S:g} s")
    if refused := [row.answer for row in rows if row.answer is not None and not row.answer.accepted]:
        raise AnswerError(f"{refused[0].job}: {refused[0].reason}")


def _go_on(running: Interleaving, told: SimpleQueue[Event], refresh: Callable[[], None]) -> None:
    while True:
        running.status()  # raises what ended it
        refresh()
        _print_new(told)
        time.sleep(EVERY_S)


def _show(running: Interleaving, refresh: Callable[[], None]) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console(markup=False, emoji=False, highlight=False)
    with Live(console=console, auto_refresh=False, screen=True) as live:
        while True:
            refresh()
            live.update(_screen(running), refresh=True)
            time.sleep(EVERY_S)


def _screen(running: Interleaving) -> Group:
    from rich.console import Group
    from rich.text import Text

    told = [_line(event, at_s) for at_s, event in list(running.events)[-SHOWN_EVENTS:]]
    lines = [Text(line, style="dim", overflow="ellipsis", no_wrap=True) for line in told]
    return Group(_table(running.status()), Text(""), *lines)


def _table(rows: list[Row]) -> Table:
    from rich.table import Table
    from rich.text import Text

    held = sum(row.state == "held" for row in rows)
    table = Table(title=f"{len(rows)} jobs, {held} held", title_justify="left")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in LEFT else "right")
    for row in rows:
        told = row.status
        pace_ns = None if told.schedule is None else told.schedule.pace_ns
        table.add_row(
            Text(plain(row.job)),
            Text(plain(row.host)),
            Text(plain(row.state), style=STYLES.get(row.state, "")),
            *(milliseconds(time) for time in (told.iteration_ns, pace_ns, told.error_ns, told.error_spread_ns)),
            milliseconds(told.delay_total_ns),
            str(told.adjustments),
            Text(plain(row.note)),
        )
    return table
