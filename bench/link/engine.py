"""The engine's calls as the studies time them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cassini_core import LinkSolution, solve_link
from cassini_core.kernel import _kernel
from cassini_core.kernel.prepared_link import Int64Array, LinkAnswer, PreparedLink
from cassini_core.units import ticks_from_ms

from .cases import Case
from .verify import WrongAnswer, check_answer

# A caller's own flag: the search then stays on the calling thread, however long it is.
_NEVER_CANCELED = np.zeros(1, dtype=np.int32)


def prepared(case: Case) -> PreparedLink:
    """The case as the kernel takes it."""
    return PreparedLink.from_jobs(case.jobs, case.capacity_gbps)


def solve(case: Case, problem: PreparedLink, deadline_s: float | None) -> LinkAnswer:
    """Solve until proven or the deadline, without a limit on nodes."""
    return problem.solve(
        resolution_ms=case.resolution_ms, node_limit=None, deadline_s=deadline_s, cancel=_NEVER_CANCELED
    )


def solve_angles(problem: PreparedLink, angles: int, deadline_s: float) -> LinkAnswer:
    """The paper's grid, searched by the engine; at resolution 0, so that every job is turned."""
    return problem.solve(
        method="angles",
        angles=angles,
        resolution_ms=0.0,
        node_limit=None,
        deadline_s=deadline_s,
        cancel=_NEVER_CANCELED,
    )


class PreparedCall:
    """``PreparedLink.solve`` on one case: the kernel's call with a microsecond or two of Python around it.

    The last answer is kept, so that what was timed can be checked without running it again.
    """

    def __init__(self, case: Case, deadline_s: float | None = None) -> None:
        self.case, self.problem, self.deadline_s = case, prepared(case), deadline_s
        self._answer: LinkAnswer | None = None

    def __call__(self) -> LinkAnswer:
        self._answer = solve(self.case, self.problem, self.deadline_s)
        return self._answer

    def checked_answer(self) -> LinkAnswer:
        """The last answer, or a first one, after ``verify.check_answer``."""
        answer = self._answer or self()
        check_answer(self.case, self.problem, answer)
        return answer


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """One link's share of what the batch call returns; as ``LinkAnswer``."""

    shift: Int64Array
    score_lower: float
    score_upper: float
    upper_bound: float
    optimal: bool
    free: npt.NDArray[np.bool_]
    nodes: int


class BatchCall:
    """Many cases in one call of the C function ``cassini_solve_links``: no Python between the links.

    All cases share the resolution of the first. The last answers are kept.
    """

    def __init__(self, members: Sequence[Case], deadline_s: float | None = None) -> None:
        self.members, self.problems = members, [prepared(case) for case in members]
        self._job_offset = _offsets([len(problem) for problem in self.problems])
        counts = np.concatenate([np.diff(problem.phase_offset) for problem in self.problems])
        self._arrays = (
            self._job_offset,
            np.concatenate([problem.period for problem in self.problems]),
            _offsets(counts.tolist()),
            np.concatenate([problem.phase_start for problem in self.problems]),
            np.concatenate([problem.phase_length for problem in self.problems]),
            np.concatenate([problem.phase_rate for problem in self.problems]),
            np.array([problem.capacity for problem in self.problems], dtype=np.int64),
        )
        self._options = _kernel.Options(
            resolution=ticks_from_ms(members[0].resolution_ms),
            deadline_ns=None if deadline_s is None else round(deadline_s * 1e9),
        )
        self._outcome: Any = None

    def __call__(self) -> None:
        self._outcome = _kernel.solve_links(*self._arrays, self._options)

    def checked_answers(self) -> list[BatchAnswer]:
        """The last answers, or the first ones, each after ``verify.check_answer``."""
        if self._outcome is None:
            self()
        shift, _, free, results, status = self._outcome
        if status.any():
            raise WrongAnswer(f"{self.members[int(status.argmax())].name}: status {status.max()}")
        answers = []
        for index, (case, problem) in enumerate(zip(self.members, self.problems, strict=True)):
            own = slice(self._job_offset[index], self._job_offset[index + 1])
            names = ("score_lower", "score_upper", "upper_bound", "optimal", "nodes")
            said = {name: results[name][index].item() for name in names}
            answer = BatchAnswer(shift=shift[own], free=free[own], **said | {"optimal": bool(said["optimal"])})
            check_answer(case, problem, answer)
            answers.append(answer)
        return answers


def _offsets(counts: Sequence[int]) -> Int64Array:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def whole_call(case: Case, deadline_s: float | None) -> LinkSolution:
    """``solve_link``: from jobs in ms to shifts in ms."""
    return solve_link(
        case.jobs, case.capacity_gbps, resolution_ms=case.resolution_ms, node_limit=None, deadline_s=deadline_s
    )
