"""OR-tools CP-SAT on the paper's formulation: one Boolean per job and rotation, one excess per point, one worker.

On two cores more workers took as long or longer on these models.
"""

from __future__ import annotations

import numpy as np
from ortools.sat.python import cp_model

from bench.link.grid import Grid

from .answer import PeerAnswer


def solve(grid: Grid, time_limit_s: float, workers: int = 1) -> PeerAnswer:
    """Minimise the sum of the excess on ``workers`` threads."""
    model = cp_model.CpModel()
    searched = grid.searched()
    chosen = [[model.new_bool_var(f"x{j}_{r}") for r in range(count)] for j, count in enumerate(searched)]
    for one_hot in chosen:
        model.add_exactly_one(one_hot)
    flat = np.array([variable for one_hot in chosen for variable in one_hot], dtype=object)
    turned = np.concatenate([grid.turned(j)[:count] for j, count in enumerate(searched)])
    most = int(grid.demand.max(axis=1).sum()) - grid.capacity
    excess = [model.new_int_var(0, max(0, most), f"e{k}") for k in range(grid.points)]
    for k, variable in enumerate(excess):
        used = np.flatnonzero(turned[:, k])
        demand = cp_model.LinearExpr.weighted_sum(flat[used].tolist(), turned[used, k].tolist())
        model.add(variable >= demand - grid.capacity)
    model.minimize(sum(excess))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = time_limit_s
    solver.parameters.num_workers = workers
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return PeerAnswer.nothing()
    rotation = [next(r for r, variable in enumerate(one_hot) if solver.boolean_value(variable)) for one_hot in chosen]
    return PeerAnswer.of(grid, rotation, solver.objective_value, proved_optimal=status == cp_model.OPTIMAL)
