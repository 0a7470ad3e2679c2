"""JSON in and out: problem, link and job files, rankings and link solutions.

It imports the JSON library at once; import it where it is used, not at the top, because loading it takes longer than
loading the rest of ``cassini_core``.

Reading is strict: unknown, missing and repeated keys are errors, numbers are JSON numbers (never strings, booleans,
NaN or infinities), text is UTF-8 without a byte order mark. Every failure is one :class:`~cassini_core.InputError` of
one line: file, place, what was expected, what came. Writing is deterministic: fixed order of keys, ids sorted where a
mapping is keyed by id, floats in the shortest form that reads back as the same number.
"""

from __future__ import annotations

from .answer_reader import answer_from_json, load_ranking
from .reader import (
    link_from_json,
    load_job,
    load_link,
    load_problem,
    load_profile,
    problem_from_json,
    profile_from_json,
)
from .writer import answer_to_json, job_to_json, link_solution_to_json, problem_to_json, ranking_to_json

__all__ = [
    "answer_from_json",
    "answer_to_json",
    "job_to_json",
    "link_from_json",
    "link_solution_to_json",
    "load_job",
    "load_link",
    "load_problem",
    "load_profile",
    "load_ranking",
    "problem_from_json",
    "problem_to_json",
    "profile_from_json",
    "ranking_to_json",
]
