"""How late the event loop wakes up: what every other wait in the daemon suffers too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["watch_loop_lag"]

EVERY_S = 0.05


async def watch_loop_lag(observe: Callable[[float], None]) -> None:
    """Tell ``observe`` the lag in seconds, twenty times a second, for ever."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + EVERY_S
        await asyncio.sleep(EVERY_S)
        observe(max(0.0, loop.time() - due))
