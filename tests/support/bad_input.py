"""Makes wrong problem files from a valid one, by changing its text in one place, and checks the form of refusals."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from cassini_core.errors import InputError
from cassini_core.model import Problem
from cassini_core.problem_file import load_problem, problem_from_json

VALID: dict[str, Any] = {
    "format": "cassini-problem/1",
    "jobs": [
        {"id": "a", "iteration_ms": 255, "phases": [{"start_ms": 141, "duration_ms": 114, "gbps": 45}]},
        {
            "id": "b",
            "iteration_ms": 200.5,
            "phases": [
                {"start_ms": 0, "duration_ms": 10, "gbps": 1},
                {"start_ms": 141, "duration_ms": 114, "gbps": 45},
            ],
        },
    ],
    "links": [{"id": "up", "capacity_gbps": 50}, {"id": "down", "capacity_gbps": 50}],
    "candidates": [
        {"id": "c0", "routes": {"a": ["up"], "b": ["up", "down"]}},
        {"id": "c1", "routes": {"a": {"up": 1, "down": 2.5}, "b": []}},
    ],
}
VALID_LINK = {"capacity_gbps": 50, "jobs": VALID["jobs"]}
VALID_JOB = {"format": "cassini-job/1", **VALID["jobs"][1], "about": {"steps": 3}}

NUMBERS = {
    "$.jobs[1].iteration_ms": ("jobs", 1, "iteration_ms"),
    "$.jobs[1].phases[1].start_ms": ("jobs", 1, "phases", 1, "start_ms"),
    "$.jobs[1].phases[1].duration_ms": ("jobs", 1, "phases", 1, "duration_ms"),
    "$.jobs[1].phases[1].gbps": ("jobs", 1, "phases", 1, "gbps"),
    "$.links[1].capacity_gbps": ("links", 1, "capacity_gbps"),
    "$.candidates[1].routes['a']['down']": ("candidates", 1, "routes", "a", "down"),
}
STRINGS = {
    "$.format": ("format",),
    "$.jobs[1].id": ("jobs", 1, "id"),
    "$.links[1].id": ("links", 1, "id"),
    "$.candidates[1].id": ("candidates", 1, "id"),
    "$.candidates[0].routes['b'][1]": ("candidates", 0, "routes", "b", 1),
}
ARRAYS = {
    "$.jobs": ("jobs",),
    "$.jobs[1].phases": ("jobs", 1, "phases"),
    "$.links": ("links",),
    "$.candidates": ("candidates",),
}
OBJECTS = {
    "$": (),
    "$.jobs[1]": ("jobs", 1),
    "$.jobs[1].phases[1]": ("jobs", 1, "phases", 1),
    "$.links[1]": ("links", 1),
    "$.candidates[1]": ("candidates", 1),
}
MAPPINGS = {
    "$.candidates[1].routes": ("candidates", 1, "routes"),
    "$.candidates[1].routes['a']": ("candidates", 1, "routes", "a"),
}

MARK = "@here@"


def at(content: Any, path: tuple[Any, ...]) -> Any:
    """What stands at ``path``."""
    for step in path:
        content = content[step]
    return content


def with_text(path: tuple[Any, ...], text: str, content: dict[str, Any] = VALID) -> bytes:
    """``content`` as JSON with ``text`` in place of the value at ``path``."""
    if not path:
        return text.encode(errors="surrogatepass")
    changed = json.loads(json.dumps(content))
    at(changed, path[:-1])[path[-1]] = MARK
    return json.dumps(changed).replace(json.dumps(MARK), text).encode(errors="surrogatepass")


def without(path: tuple[Any, ...], key: str) -> bytes:
    """``VALID`` as JSON without ``key`` in the object at ``path``."""
    changed = json.loads(json.dumps(VALID))
    del at(changed, path)[key]
    return json.dumps(changed).encode()


def with_key(path: tuple[Any, ...], key: str, value: Any = 1) -> bytes:
    """``VALID`` as JSON with one more ``key``, which may be there already, in the object at ``path``."""
    changed = json.loads(json.dumps(VALID))
    at(changed, path)[MARK] = value
    return json.dumps(changed).replace(json.dumps(MARK), json.dumps(key)).encode()


def refusal(tmp_path: Path, content: bytes, load: Any = load_problem) -> str:
    """The message for a file of this content, without the file name; checks the form every message has."""
    path = tmp_path / "in.json"
    path.write_bytes(content)
    return refusal_of(path, load)


def refusal_of(path: Any, load: Any = load_problem) -> str:
    with pytest.raises(InputError) as caught:
        load(path)
    error = caught.value
    text = str(error)
    name = os.fsdecode(path)
    assert text.isprintable(), "more than one line"
    assert len(text) < 400 + len(name)
    assert re.fullmatch(r"expected .+, got .+", error.reason)
    assert text.endswith(f"{error.place}: {error.reason}" if error.place else f": {error.reason}")
    if name.isprintable():
        assert text.startswith(f"{name}: ")
    # Nobody should see a chain of tracebacks of this package's own making.
    assert error.__suppress_context__ or error.__context__ is None
    return text[len(name) + 2 :]


def outcome(content: bytes) -> Problem | None:
    """The problem, or None for a refusal of the right form; anything else is raised."""
    try:
        return problem_from_json(content, "changed")
    except InputError as caught:
        error = caught
    assert str(error).isprintable()
    assert str(error).startswith("changed: ")
    assert re.fullmatch("expected .+, got .+", error.reason)
    assert "the error" not in error.reason, "a fault that was not explained"
    return None
