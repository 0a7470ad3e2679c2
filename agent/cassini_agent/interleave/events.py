"""What interleaving tells beside the coordinator's events, and all of them in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields

from ..coordinator import events as of_coordinator
from ..schedule import MS_NS

__all__ = ["Arranged", "Event", "Found", "GoesOn", "Gone", "NotHeld", "describe"]


@dataclass(frozen=True, slots=True)
class Found:
    """A job runs under this daemon."""

    job: str
    host: str


@dataclass(frozen=True, slots=True)
class Gone:
    """A job has not been seen for long."""

    job: str


@dataclass(frozen=True, slots=True)
class NotHeld:
    """A job is not held, or not yet: there is no profile of it, it is left free, or its daemon did not take what it was
    sent, which the coordinator tries again. Told once for each reason.
    """

    job: str
    why: str


@dataclass(frozen=True, slots=True)
class Arranged:
    """Jobs that meet were ranked, and schedules sent; by job, the pace in ns. ``because`` says what was new."""

    because: str
    pace_ns: dict[str, int]
    score: float | None


@dataclass(frozen=True, slots=True)
class GoesOn:
    """These jobs are held already, as by an interleaving before: they keep their grid."""

    component: str
    jobs: tuple[str, ...]


Event = Found | Gone | NotHeld | Arranged | GoesOn | of_coordinator.Event


def describe(event: Event) -> str:
    """One line for people; times in ms."""
    match event:
        case Found(job, host):
            return f"{job}: runs at {host}"
        case Arranged(because, pace_ns, score):
            told = ", ".join(f"{job} {pace / MS_NS:.1f} ms" for job, pace in sorted(pace_ns.items()))
            scored = "" if score is None else f", score {score:.3f}"
            return f"arranged ({because}): {f'paces {told}' if told else 'nobody is held'}{scored}"
        case GoesOn(component, jobs):
            return f"{component}: goes on as it is: {', '.join(jobs)}"
        case of_coordinator.Failed(what, error, count):
            return f"{what} failed{'' if count == 1 else f' {count} times'}: {error}"
        case _:
            return _in_general(event)


def _in_general(event: object) -> str:
    """``MemberMissing(component="c", job="a", why="silent")``: ``c: a: member missing: silent``."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(event).__name__).lower()
    places, rest = [], []
    for field in fields(event):  # type: ignore[arg-type]
        value = getattr(event, field.name)
        if field.name in ("component", "host", "job"):
            places.append(str(value))
        elif field.name.endswith("_ns") and isinstance(value, (int, float)):
            rest.append(f"{field.name[:-3].replace('_', ' ')} {value / MS_NS:.1f} ms")
        elif isinstance(value, dict):
            rest += [f"{key} {one / MS_NS:.1f} ms" for key, one in sorted(value.items())]
        elif isinstance(value, Iterable) and not isinstance(value, str):
            rest += [str(one) for one in value]
        elif field.name in ("why", "reason", "error"):
            rest.append(str(value))
        else:
            rest.append(f"{field.name} {value:.3g}" if isinstance(value, float) else f"{field.name} {value}")
    return ": ".join([*places, words, *([", ".join(rest)] if rest else [])])
