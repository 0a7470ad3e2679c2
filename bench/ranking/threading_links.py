"""The distinct link problems of a scheduling round, concatenated as cassini.h takes them, and their answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cassini_core import Problem
from cassini_core.kernel import _kernel
from cassini_core.links.shared_links import LinkCatalog

IntArray = npt.NDArray[np.int64]

NODE_LIMIT = 300
"""Search nodes of a link: what ``rank`` allows where there are thousands."""


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Many links; all arrays are int64, see ``cassini_links``."""

    job_offset: IntArray
    period: IntArray
    phase_offset: IntArray
    phase_start: IntArray
    phase_length: IntArray
    phase_rate: IntArray
    capacity: IntArray

    def __len__(self) -> int:
        return len(self.capacity)

    def part(self, first: int, last: int) -> tuple[IntArray, ...]:
        """Links ``first`` to ``last - 1`` as the arguments of ``_kernel.solve_links``."""
        jobs = slice(self.job_offset[first], self.job_offset[last])
        phases = slice(self.phase_offset[jobs.start], self.phase_offset[jobs.stop])
        return (
            self.job_offset[first : last + 1] - jobs.start,
            self.period[jobs],
            self.phase_offset[jobs.start : jobs.stop + 1] - phases.start,
            self.phase_start[phases],
            self.phase_length[phases],
            self.phase_rate[phases],
            self.capacity[first:last],
        )

    def save(self, path: Path) -> None:
        """Write to a file."""
        np.savez(path, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Links:
        """Read what ``save`` wrote."""
        with np.load(path) as arrays:
            return cls(**arrays)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What the kernel writes, of all links."""

    shift: IntArray
    slack: IntArray
    free: npt.NDArray[np.bool_]
    results: npt.NDArray[np.void]
    status: npt.NDArray[np.int32]

    @classmethod
    def empty(cls, links: Links) -> Answers:
        """Room for the answers, with the sizes the kernel wants to see."""
        n_jobs = len(links.period)
        results = np.zeros(len(links), dtype=_kernel.result_dtype)
        results["size"] = _kernel.result_dtype.itemsize
        ticks = np.zeros((2, n_jobs), dtype=np.int64)
        return cls(ticks[0], ticks[1], np.zeros(n_jobs, dtype=np.bool_), results, np.zeros(len(links), dtype=np.int32))

    def digest(self) -> str:
        """Of every byte."""
        return hashlib.sha256(b"".join(getattr(self, field.name).tobytes() for field in fields(self))).hexdigest()


def links_of(problem: Problem, parts: int = 1) -> list[Links]:
    """The distinct link problems of all candidates, as ``rank`` finds them, without pacing; dealt out into parts."""
    problems = LinkCatalog(problem).problems
    return [Links(*problems.part(np.arange(k, len(problems), parts)).columns()) for k in range(parts)]
