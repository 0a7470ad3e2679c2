"""What is shown: a problem with its ranking, from a file that has both, or of a problem that is ranked first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InputError, shown
from ..formats import listed
from .console import Waiting
from .inputs import read_input

if TYPE_CHECKING:
    from ..model import Problem
    from ..results import RankedCandidate, Ranking

__all__ = ["answer_from", "chosen_candidate", "read_answer"]


def read_answer(file: str) -> tuple[Problem, Ranking]:
    """A problem and its ranking.

    Parameters
    ----------
    file : str
        A problem file, which is ranked with the default options, or what ``cassini-core rank --with-problem`` printed;
        standard input for ``-``.

    Raises
    ------
    InputError
        The file is neither, or a ranking without its problem.
    """
    return answer_from(*read_input(file))


def answer_from(data: bytes, source: str) -> tuple[Problem, Ranking]:
    """As :func:`read_answer`, of bytes that are read already."""
    from ..problem_file import answer_from_json, problem_from_json
    from ..problem_file.decoding import format_of
    from ..ranking.rank_problem import rank

    found = format_of(data)
    if found in ("cassini-ranking/1", "cassini-ranking/2"):
        ranking, problem = answer_from_json(data, source)
        if problem is None:
            raise InputError(
                f"{source}: expected a ranking with its problem (cassini-core rank --with-problem), got one without"
            )
        return problem, ranking
    if isinstance(found, str) and found not in ("cassini-problem/1", "cassini-problem/2"):
        expected = "a problem (cassini-problem/1 or /2), or a ranking with its problem (cassini-ranking/1 or /2)"
        raise InputError(f"{source}: $.format: expected {expected}, got {shown(found)}")
    problem = problem_from_json(data, source)
    with Waiting("ranking candidates") as waiting:
        return problem, rank(problem, progress=waiting.update)


def chosen_candidate(ranking: Ranking, candidate: str | None) -> RankedCandidate:
    """The candidate of an id, or the best."""
    if candidate is not None:
        if candidate not in ranking:
            known = listed(one.id for one in ranking)
            raise InputError(f"--candidate: expected one of the file ({known}), got {shown(candidate)}")
        return ranking[candidate]
    if ranking.best is None:
        raise InputError(
            f"plot: expected a candidate that was solved, got none of {len(ranking)}; --candidate names one"
        )
    return ranking.best
