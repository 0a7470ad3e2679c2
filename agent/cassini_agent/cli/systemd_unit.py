"""``cassini-agent systemd-unit``: the units that come with the package."""

from __future__ import annotations

import sysconfig
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

__all__ = ["systemd_unit"]

WRITTEN_FOR = "/usr/local/bin/cassini-agent"


def systemd_unit(
    *, socket: Annotated[bool, Parameter(negative=(), help="The unit of its sockets instead.")] = False
) -> None:
    """Print a hardened systemd unit for the daemon, with the path of this installation.

    Put it into /etc/systemd/system/cassini-agent.service, that of --socket into cassini-agent.socket beside it, a token
    into /etc/cassini-agent/token, and options as environment variables into /etc/cassini-agent/environment.
    """
    name = f"cassini-agent.{'socket' if socket else 'service'}"
    text = files("cassini_agent").joinpath("systemd", name).read_text(encoding="utf-8")
    here = Path(sysconfig.get_path("scripts")) / "cassini-agent"
    print(text.replace(WRITTEN_FOR, str(here) if here.exists() else WRITTEN_FOR), end="")
