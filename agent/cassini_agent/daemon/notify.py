"""``sd_notify``: tells systemd that the daemon is ready, alive, or leaving."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

__all__ = ["notify", "watchdog_s"]


def notify(state: str) -> None:
    """Send ``READY=1`` and the like to ``$NOTIFY_SOCKET``; without one, or if nobody reads it, nothing happens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        sock.setblocking(False)
        sock.sendto(state.encode(), address)


def watchdog_s() -> float | None:
    """How often systemd wants to hear ``WATCHDOG=1``, seconds: half of what it allows; None if it does not."""
    text = os.environ.get("WATCHDOG_USEC", "")
    for_us = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(text) / 2e6 if for_us and text.isascii() and text.isdecimal() and int(text) > 0 else None
