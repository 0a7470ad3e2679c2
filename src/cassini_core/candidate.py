"""A candidate placement as a frozen type: the links that each job crosses, and where its workers run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .checks import first_repeated, identifier, is_plain_id, number, whole_number
from .errors import InputError, refusal, shown
from .formats import counted
from .moved_mapping import MovedMapping, moved, told_by

__all__ = ["Candidate", "packed", "unpacked"]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, repr=False)
class Candidate:
    """One placement of all jobs: for each placed job the links it crosses, and if known the hosts it runs on.

    Parameters
    ----------
    id : str
        Non-empty.
    routes : mapping of str to (iterable of str, or mapping of str to float)
        Job id to the ids of its links, or to ``{link id: multiplier}`` where the job crosses a link
        with several flows: a multiplier is finite, above 0, and scales the job's demand. An empty
        route means placed without network; a job that is absent is not placed. Kept as a read-only
        mapping of read-only mappings from link id to multiplier, in the order given (a set: sorted).
    hosts : mapping of str to mapping of str to int, optional
        Job id to ``{host id: workers}``: where the workers of placed jobs run. It says how the candidate is carried
        out and plays no part in its score. Jobs may be left out. Kept as read-only mappings.

    Raises
    ------
    InputError
        A link occurs twice in one route, a multiplier is not a finite number above 0, a number of workers is not a
        whole number of at least 1, or ``hosts`` has a job without a route.

    Notes
    -----
    Equal where all fields are; hashed by ``id`` alone, because mappings have no hash.
    """

    id: str
    routes: Mapping[str, Mapping[str, float]] = field(hash=False)
    hosts: Mapping[str, Mapping[str, int]] = field(default_factory=dict, hash=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            id: str,
            routes: Mapping[str, Iterable[str] | Mapping[str, float]],
            hosts: Mapping[str, Mapping[str, int]] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", identifier(self.id, "candidate", "id"))
        subject = f"candidate {shown(self.id)}"
        if not isinstance(self.routes, Mapping):
            raise refusal(subject, "routes", "a mapping of job ids", shown(self.routes))
        routes: dict[str, Mapping[str, float]] = {}
        for given, route in self.routes.items():
            job = given if is_plain_id(given) else identifier(given, subject, "routes")
            try:
                checked = _checked_route(route)
            except InputError as error:
                place = f"routes[{shown(job)}]{error.place}"
                raise InputError(f"{subject} {place}: {error.reason}", place=place, reason=error.reason) from None
            # Most jobs of a large cluster stay inside one server; they share one empty route.
            routes[job] = MappingProxyType(checked) if checked else _NOTHING
        object.__setattr__(self, "routes", MappingProxyType(routes))
        object.__setattr__(self, "hosts", _checked_hosts(self.hosts, routes, subject))

    @classmethod
    def moved(
        cls,
        id: str,
        base: Candidate,
        routes: Mapping[str, Iterable[str] | Mapping[str, float] | None],
        hosts: Mapping[str, Mapping[str, int]] = _NOTHING,
    ) -> Candidate:
        """The candidate ``base`` with some jobs placed elsewhere.

        Parameters
        ----------
        id : str
            Of the new candidate.
        base : Candidate
            All other jobs keep its routes; the two share them, so that a candidate of many jobs takes little memory.
        routes : mapping of str to (iterable of str, mapping of str to float, or None)
            Job id to its new route, as in :class:`Candidate`; a job that ``base`` does not place is placed, and None
            takes a job away.
        hosts : mapping of str to mapping of str to int, optional
            Of these jobs, as in :class:`Candidate`. The hosts that ``base`` has for them are no longer true, and are
            not kept.

        Raises
        ------
        InputError
            As :class:`Candidate`; or a job is to be taken away that ``base`` does not place.

        Notes
        -----
        O(new routes) in time and memory, and only these are checked; where they are more than a fourth of those of
        ``base``, O(jobs of ``base``).

        Examples
        --------
        >>> import cassini_core as cc
        >>> base = cc.Candidate("c0", {"a": ["up1"], "b": ["up1"]})
        >>> dict(cc.Candidate.moved("c1", base, {"b": ["up2"]}).routes["b"])
        {'up2': 1.0}
        """
        given: Any = routes
        if isinstance(routes, Mapping):
            given = {job: () if route is None else route for job, route in routes.items()}
        new = cls(id, given, hosts)
        if not isinstance(base, Candidate):
            raise refusal(f"candidate {shown(new.id)}", "base", "a Candidate", shown(base))
        away = [job for job, route in routes.items() if route is None]
        for job in away:
            if job not in base.routes:
                raise refusal(f"candidate {shown(new.id)}", "routes", "jobs that base places", shown(job))
            if job in new.hosts:
                raise refusal(f"candidate {shown(new.id)}", "hosts", "jobs that have a route", shown(job))
        if base.hosts or new.hosts:
            lost = {job: None for job in new.routes if job in base.hosts}
            object.__setattr__(new, "hosts", _read_only(moved(base.hosts, {**lost, **new.hosts})))
        changes = {**new.routes, **dict.fromkeys(away)}
        object.__setattr__(new, "routes", _read_only(moved(base.routes, changes)))
        return new

    def __repr__(self) -> str:
        return f"<Candidate {shown(self.id)}: {counted(len(self.routes), 'job')} placed>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_unpacked_one, (packed([self]),))


def packed(candidates: Sequence[Candidate]) -> tuple[Any, ...]:
    """Candidates as plain dictionaries, which can be pickled; what they have in common is there once."""
    number: dict[int, int] = {}
    bases: list[dict[str, dict[str, Any]]] = []

    def of(mapping: Mapping[str, Mapping[str, Any]]) -> tuple[int, dict[str, Any]]:
        base, changes = told_by(mapping)
        if id(base) not in number:
            number[id(base)] = len(bases)
            bases.append({job: dict(value) for job, value in base.items()})
        return number[id(base)], {job: None if value is None else dict(value) for job, value in changes.items()}

    return bases, [(one.id, of(one.routes), of(one.hosts)) for one in candidates]


def unpacked(state: tuple[Any, ...]) -> tuple[Candidate, ...]:
    """The candidates that :func:`packed` made this of; they were checked before."""

    def frozen(mapping: Mapping[str, Any]) -> dict[str, Any]:
        of_job = {job: MappingProxyType(value) if value else _NOTHING for job, value in mapping.items()}
        return {**of_job, **{job: None for job, value in mapping.items() if value is None}}

    bases = [MappingProxyType(frozen(base)) if base else _NOTHING for base in state[0]]
    found = []
    for candidate_id, *mappings in state[1]:
        one = object.__new__(Candidate)
        object.__setattr__(one, "id", candidate_id)
        for name, (base, changes) in zip(("routes", "hosts"), mappings, strict=True):
            made = MovedMapping(bases[base], frozen(changes)) if changes else bases[base]
            object.__setattr__(one, name, made)
        found.append(one)
    return tuple(found)


def _unpacked_one(state: tuple[Any, ...]) -> Candidate:
    return unpacked(state)[0]


def _read_only(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(mapping) if isinstance(mapping, dict) else mapping


def _checked_route(route: Any) -> dict[str, float]:
    """One route as link id to multiplier. Runs for every route of every candidate, so places are named on failure."""
    if type(route) is not list and isinstance(route, Mapping):
        checked: dict[str, float] = {}
        for given, multiplier in route.items():
            link = given if is_plain_id(given) else identifier(given, "", "")
            if type(multiplier) is not float or not 0 < multiplier < math.inf:
                multiplier = number(multiplier, "", f"[{shown(link)}]")
                if multiplier <= 0:
                    raise refusal("", f"[{shown(link)}]", "a multiplier above 0", shown(multiplier))
            checked[link] = multiplier
        return checked
    if type(route) is not list and (isinstance(route, (str, bytes)) or not isinstance(route, Iterable)):
        raise refusal("", "", "a list of link ids or a mapping of link ids to multipliers", shown(route))
    links: list[str] = []
    for link in route:
        links.append(link if is_plain_id(link) else identifier(link, "", f"[{len(links)}]"))
    checked = dict.fromkeys(links, 1.0)
    if len(checked) < len(links):
        again = first_repeated(links)
        raise refusal("", f"[{again}]", "each link once", f"{shown(links[again])} again")
    # The order of a set of strings changes from run to run.
    return dict.fromkeys(sorted(links), 1.0) if isinstance(route, Set) else checked


def _checked_hosts(value: Any, routes: Mapping[str, Any], subject: str) -> Mapping[str, Mapping[str, int]]:
    """Where workers run, as read-only mappings."""
    if not isinstance(value, Mapping):
        raise refusal(subject, "hosts", "a mapping of job ids", shown(value))
    found: dict[str, Mapping[str, int]] = {}
    for given, workers in value.items():
        job = identifier(given, subject, "hosts")
        place = f"hosts[{shown(job)}]"
        if job not in routes:
            raise refusal(subject, "hosts", "jobs that have a route", shown(job))
        if not isinstance(workers, Mapping):
            raise refusal(subject, place, "a mapping of host ids to numbers of workers", shown(workers))
        checked: dict[str, int] = {}
        for one, number_of in workers.items():
            host = identifier(one, subject, place)
            if type(number_of) is not int or number_of < 1:
                try:
                    number_of = whole_number(number_of, f"{place}[{shown(host)}]")
                except InputError as error:
                    raise InputError(f"{subject} {error}", place=error.place, reason=error.reason) from None
            checked[host] = number_of
        found[job] = MappingProxyType(checked)
    return MappingProxyType(found) if found else _NOTHING
