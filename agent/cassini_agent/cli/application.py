"""The verbs of ``cassini-agent``, as cyclopts takes them."""

from __future__ import annotations

from cyclopts import App
from cyclopts.config import Env

from . import interleave, schedule, serve, status, systemd_unit
from .errors import PROGRAM

__all__ = ["application"]

HELP = """Hold the time-shifts of training jobs, and show whether they are held.

One daemon per server passes schedules from the scheduler to the jobs and measurements back: `cassini-agent serve`.
`cassini-agent status` shows the jobs of a server, `cassini-agent interleave` keeps the jobs of some servers
interleaved.

Every option may also come from the environment: --token-file is CASSINI_AGENT_TOKEN_FILE.

Exit status: 0 done, 2 the input or the configuration is wrong, 1 anything else.
"""


def application() -> App:
    """The verbs and their options."""
    made = App(
        name=PROGRAM,
        help=HELP,
        help_format="markdown",
        version=_version,
        config=Env("CASSINI_AGENT_", command=False),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
    )
    made.command(serve.serve, sort_key=1)
    made.command(serve.check_config, name="check-config", sort_key=2)
    made.command(status.status, sort_key=3)
    made.command(interleave.interleave, sort_key=4)
    made.command(schedule.schedule, sort_key=5)
    made.command(systemd_unit.systemd_unit, name="systemd-unit", sort_key=6)
    return made


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{PROGRAM} {version('cassini-agent')}"
    except PackageNotFoundError:
        return f"{PROGRAM} {version('cassini-core')}"
