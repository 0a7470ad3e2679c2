"""Rankings of differences made whole, by the words of docs/formats.md alone."""

from __future__ import annotations

import copy
from typing import Any

MAPPINGS = "shifts_ms", "slack_ms"
LISTS = "free_jobs", "links", "narrow_links", "warnings"


def as_whole(told: Any) -> Any:
    """The ``cassini-ranking/1`` object of a ``cassini-ranking/2`` object, both decoded."""
    content = copy.deepcopy(told)
    assert content["format"] == "cassini-ranking/2"
    content["format"] = "cassini-ranking/1"
    bases = content.pop("bases")
    for one in content["candidates"]:
        number = one.pop("base")
        base = None if number is None else bases[number]
        for name in MAPPINGS:
            values = {} if base is None else dict(base[name])
            for job, value in one[name].items():
                if value is None:
                    del values[job]
                else:
                    values[job] = value
            one[name] = values
        for name in LISTS:
            entries = []
            for piece in one[name]:
                if isinstance(piece, list):
                    begin, end = piece
                    entries += base[name][begin:end]
                else:
                    entries.append(piece)
            one[name] = entries
    return content
