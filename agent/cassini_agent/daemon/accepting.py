"""Connections as they come: for sockets of which asyncio is to know nothing until somebody has a place for them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

__all__ = ["BACKLOG", "accept_all"]

BACKLOG = 1024
"""Connections that wait to be taken."""

REST_S = 0.1
"""Out of descriptors: the listener stays readable, so look away for a while."""


async def accept_all(
    listener: socket.socket, take: Callable[[socket.socket, Any], None], on_error: Callable[[Exception], None]
) -> None:
    """Hand over each connection and its address, one in a turn of the loop, until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            take(*await loop.sock_accept(listener))
            await asyncio.sleep(0)
        except Exception as error:
            on_error(error)
            await asyncio.sleep(REST_S)
