"""The candidates of a ranking as JSON: each whole, or told by its difference from what most say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .answer_differences import LISTS, MAPPINGS, SAMPLE, Base, Told
from .formats import by_id, finite, finite_or_none, json_part

__all__ = ["Fields", "candidates_content", "differences_content"]

Fields = Callable[[], Mapping[str, Any]]
"""Makes all fields of a candidate by name. One candidate at a time is held whole."""

_NOTHING = Base()


def candidates_content(candidates: Sequence[Fields]) -> dict[str, Any]:
    """The key of a ``cassini-ranking/1`` object that has the candidates."""
    return {"candidates": [json_part(_whole(fields(), {}, at)) for at, fields in enumerate(candidates)]}


def differences_content(candidates: Sequence[Fields], solved: Sequence[bool]) -> dict[str, Any]:
    """The keys of a ``cassini-ranking/2`` object that have the candidates; ``solved`` tells which have a score."""
    groups = [[fields for fields, own in zip(candidates, solved, strict=True) if own is one] for one in (True, False)]
    bases = [Base.of([fields() for fields in group[:: -(-len(group) // SAMPLE)]]) for group in groups if group]
    told = []
    for at, (make, own) in enumerate(zip(candidates, solved, strict=True)):
        fields, number = make(), 0 if own else len(bases) - 1
        one = bases[number].told(fields)
        if one.size < sum(len(fields[name]) for name in (*MAPPINGS, *LISTS)):
            told.append(json_part(_candidate(fields, {"base": number}, one, f"candidates[{at}]")))
        else:
            told.append(json_part(_whole(fields, {"base": None}, at)))
    return {
        "bases": [
            _details(_NOTHING.told({**base.mappings, **base.lists}), f"bases[{at}]") for at, base in enumerate(bases)
        ],
        "candidates": told,
    }


def _whole(fields: Mapping[str, Any], own: Mapping[str, Any], at: int) -> dict[str, Any]:
    return _candidate(fields, own, _NOTHING.told(fields), f"candidates[{at}]")


def _candidate(fields: Mapping[str, Any], own: Mapping[str, Any], told: Told, place: str) -> dict[str, Any]:
    details = _details(told, place)
    content: dict[str, Any] = {
        "id": fields["id"],
        **own,
        "score": finite_or_none(fields["score"], f"{place}.score"),
        "upper_bound": finite(fields["upper_bound"], f"{place}.upper_bound"),
        "optimal": bool(fields["optimal"]),
        "resolution_ms": finite_or_none(fields["resolution_ms"], f"{place}.resolution_ms"),
        "status": fields["status"],
        "jobs_placed": int(fields["jobs_placed"]),
        "shifts_ms": details["shifts_ms"],
        "slack_ms": details["slack_ms"],
        "hold_ms": finite_or_none(fields["hold_ms"], f"{place}.hold_ms"),
        "free_jobs": details["free_jobs"],
        "worst_link": fields["worst_link"],
        "total_excess_gbps": finite_or_none(fields["total_excess_gbps"], f"{place}.total_excess_gbps"),
        "links": details["links"],
        "narrow_links": details["narrow_links"],
        "warnings": details["warnings"],
    }
    found = fields["disturbance"]
    if found is not None:
        content["disturbance"] = {
            "moves_ms": by_id(found.moves_ms, f"{place}.disturbance.moves_ms"),
            "score_if_kept": finite(found.score_if_kept, f"{place}.disturbance.score_if_kept"),
            "upper_bound_if_kept": finite(found.upper_bound_if_kept, f"{place}.disturbance.upper_bound_if_kept"),
        }
    return content


def _details(told: Told, place: str) -> dict[str, Any]:
    mappings = {name: by_id(told.mappings[name], f"{place}.{name}") for name in MAPPINGS}
    return mappings | {name: _list(name, told.lists[name], f"{place}.{name}") for name in LISTS}


def _list(name: str, pieces: Sequence[list[int] | tuple[int, Any]], place: str) -> list[Any]:
    write = _ENTRIES.get(name, lambda text, _: str(text))
    return [one if isinstance(one, list) else write(one[1], f"{place}[{one[0]}]") for one in pieces]


def _link(link: Any, place: str) -> dict[str, Any]:
    return {
        "id": link.id,
        "score": finite_or_none(link.score, f"{place}.score"),
        "upper_bound": finite(link.upper_bound, f"{place}.upper_bound"),
    }


def _narrow_link(link: Any, place: str) -> dict[str, Any]:
    return {
        "id": link.id,
        "job": link.job,
        "score": finite(link.score, f"{place}.score"),
        "excess_gbps": finite(link.excess_gbps, f"{place}.excess_gbps"),
    }


_ENTRIES = {"links": _link, "narrow_links": _narrow_link}
