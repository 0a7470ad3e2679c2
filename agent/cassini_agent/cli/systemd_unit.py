"""``cassini-agent systemd-unit``: the unit that comes with the package."""

from __future__ import annotations

import sysconfig
from importlib.resources import files
from pathlib import Path

__all__ = ["systemd_unit"]

WRITTEN_FOR = "/usr/local/bin/cassini-agent"


def systemd_unit() -> None:
    """Print a hardened systemd unit for the daemon, with the path of this installation.

    Put it into /etc/systemd/system/cassini-agent.service, a token into /etc/cassini-agent/token, and options as
    environment variables into /etc/cassini-agent/environment.
    """
    text = files("cassini_agent").joinpath("systemd", "cassini-agent.service").read_text(encoding="utf-8")
    here = Path(sysconfig.get_path("scripts")) / "cassini-agent"
    print(text.replace(WRITTEN_FOR, str(here) if here.exists() else WRITTEN_FOR), end="")
