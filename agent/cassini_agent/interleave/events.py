"""What interleaving tells beside the coordinator's events, and all of them in words."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

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
    reason: str


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
    """One line for people; times in ms: ``MemberMissing("c", "a", "silent")`` is ``c: a: member missing: silent``."""
    match event:
        case Found(job, host):
            return f"{job}: runs at {host}"
        case Arranged(because, pace_ns, score):
            told = ", ".join(f"{job} {pace / MS_NS:.1f} ms" for job, pace in sorted(pace_ns.items()))
            scored = "" if score is None else f", score {score:.3f}"
            return f"arranged ({because}): {f'paces {told}' if told else 'nobody is held'}{scored}"
        case of_coordinator.Failed(what, error, count):
            return f"{what} failed{'' if count == 1 else f' {count} times'}: {error}"
    said = {field.name: getattr(event, field.name) for field in fields(event)}  # type: ignore[arg-type]
    places = [str(said.pop(name)) for name in [*said] if name in ("component", "host", "job")]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(event).__name__).lower()
    rest = ", ".join(_shown(name, value) for name, value in said.items())
    return ": ".join(filter(None, [*places, words, rest]))


def _shown(name: str, value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{key} {one / MS_NS:.1f} ms" for key, one in sorted(value.items()))
        case tuple():
            return ", ".join(value)
        case _ if name in ("reason", "error"):
            return str(value)
        case int() | float() if name.endswith("_ns"):
            return f"{name[:-3].replace('_', ' ')} {value / MS_NS:.1f} ms"
    return f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
