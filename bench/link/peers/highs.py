"""HiGHS on the paper's formulation: a mixed-integer program with one-hot rotations, one thread."""

from __future__ import annotations

import itertools
from typing import Any

import highspy
import numpy as np

from bench.link.grid import Grid

from .answer import PeerAnswer


def solve(grid: Grid, time_limit_s: float) -> PeerAnswer:
    """Minimise the sum of the excess."""
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", time_limit_s)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("parallel", "off")
    # Proven means proven: the default stops within 0.01 %. The objective is a multiple of 1 / C.
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", 0.5 / grid.capacity)
    solver.passModel(_model(grid))
    solver.run()
    info = solver.getInfo()
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return PeerAnswer.nothing()
    values = np.array(solver.getSolution().col_value)
    first = np.concatenate([[0], np.cumsum(grid.searched())])
    rotation = [int(values[begin:end].argmax()) for begin, end in itertools.pairwise(first)]
    proved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return PeerAnswer.of(grid, rotation, info.objective_function_value * grid.capacity, proved_optimal=proved)


def _model(grid: Grid) -> highspy.HighsLp:
    """Columns: one per job and rotation, then one excess per point. Rows: one per job, then one per point.

    Demands are in units of the capacity: on whole numbers HiGHS 1.16 takes the excess for integer variables and is ten
    times slower, or runs far past its time limit.
    """
    searched, points = grid.searched(), grid.points
    n_jobs, n_chosen = len(searched), sum(searched)
    turned = np.concatenate([grid.turned(j)[:count] for j, count in enumerate(searched)])
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = n_chosen + points, n_jobs + points
    model.col_cost_ = np.concatenate([np.zeros(n_chosen), np.ones(points)])
    model.col_lower_ = np.zeros(n_chosen + points)
    model.col_upper_ = np.concatenate([np.ones(n_chosen), np.full(points, highspy.kHighsInf)])
    model.row_lower_ = np.concatenate([np.ones(n_jobs), np.full(points, -highspy.kHighsInf)])
    model.row_upper_ = np.concatenate([np.ones(n_jobs), np.ones(points)])
    integer, continuous = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    model.integrality_ = [integer] * n_chosen + [continuous] * points
    # By columns: a rotation's one-hot row and the points it demands; an excess's own point.
    starts, index, value = [0], [], []
    for job, demand in zip(np.repeat(np.arange(n_jobs), searched), turned, strict=True):
        used = np.flatnonzero(demand)
        index.append(np.concatenate([[job], n_jobs + used]))
        value.append(np.concatenate([[1.0], demand[used] / grid.capacity]))
        starts.append(starts[-1] + used.size + 1)
    index.append(n_jobs + np.arange(points))
    value.append(np.full(points, -1.0))
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.concatenate([starts, starts[-1] + 1 + np.arange(points)])
    model.a_matrix_.index_ = np.concatenate(index)
    model.a_matrix_.value_ = np.concatenate(value)
    return model
