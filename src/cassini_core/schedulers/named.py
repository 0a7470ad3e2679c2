"""Schedulers by name, as the command line has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

from ..errors import refusal, shown

if TYPE_CHECKING:
    from .scheduler import Scheduler

__all__ = ["SchedulerName", "scheduler_named"]

SchedulerName = Literal["first-fit", "packed", "random", "themis", "pollux", "ideal"]


def scheduler_named(name: SchedulerName, seed: int = 0) -> Scheduler:
    """A scheduler with its default settings.

    Parameters
    ----------
    name : {"first-fit", "packed", "random", "themis", "pollux", "ideal"}
    seed : int
        Of what it draws.

    Raises
    ------
    InputError
        There is none of this name, or what it needs is not installed.
    """
    if name == "ideal":
        from .ideal import Ideal

        return Ideal()
    if name == "themis":
        from .themis.themis import Themis

        return Themis(seed=seed)
    if name == "pollux":
        return _pollux(seed)
    from .in_order import FirstFit, Packed, Random

    in_order: dict[str, Callable[[int], Scheduler]] = {"first-fit": FirstFit, "packed": Packed, "random": Random}
    if name not in in_order:
        raise refusal("", "scheduler", f"one of {', '.join(get_args(SchedulerName))}", shown(name))
    return in_order[name](seed)


def _pollux(seed: int) -> Scheduler:
    try:
        from .pollux.pollux import Pollux
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pymoo":
            raise
        found = "none; pip install 'cassini-core[schedulers]' brings it"
        raise refusal("", "scheduler pollux", "pymoo to be installed", found) from None
    return Pollux(seed=seed)
