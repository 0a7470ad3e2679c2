"""What is shown: a problem with its ranking, from a file that has both, or of a problem that is ranked first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .console import Waiting
from .inputs import read_input

if TYPE_CHECKING:
    from ..model import Problem
    from ..results import Ranking

__all__ = ["answer_from", "read_answer"]


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
    from ..errors import InputError
    from ..problem_file import answer_from_json, problem_from_json
    from ..problem_file.decoding import format_of
    from ..ranking.rank_problem import rank

    if format_of(data) == "cassini-ranking/1":
        ranking, problem = answer_from_json(data, source)
        if problem is None:
            raise InputError(
                f"{source}: expected a ranking with its problem (cassini-core rank --with-problem), got one without"
            )
        return problem, ranking
    problem = problem_from_json(data, source)
    with Waiting("ranking candidates") as waiting:
        return problem, rank(problem, progress=waiting.update)
