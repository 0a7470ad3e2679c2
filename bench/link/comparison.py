"""The engine beside its peers, on the same instances in the same run, every answer scored again exactly."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import Any

from bench.link import cases, engine
from bench.measuring import timing
from bench.measuring.progress import Progress

from .grid import Grid, angle_grid, tick_grid
from .peers import PEERS, Peer, PeerAnswer, available
from .verify import CLOSE, WrongAnswer, true_score

ENOUGH_S = 1.0
"""One peer on one instance is not repeated beyond this."""

ENGINE_SAMPLES = 3


@dataclass(frozen=True, slots=True)
class Group:
    """Instances that are compared on one grid: 72 angles, or 1 ms ticks.

    Attributes
    ----------
    said : str
    members : list of Case
    angles : bool
    few : int
        How many of the members, from the first, the solvers of integer programs get.
    enumerated : int
        The same for the enumerations.
    """

    said: str
    members: list[cases.Case]
    angles: bool
    few: int
    enumerated: int

    def grid(self, case: cases.Case) -> Grid:
        """The grid the peers search."""
        return angle_grid(case.jobs, case.capacity_gbps) if self.angles else tick_grid(case.jobs, case.capacity_gbps)

    def peers(self, index: int) -> list[Peer]:
        """The peers that are asked about the member at ``index``."""

        def asked(peer: Peer) -> bool:
            if not peer.proves:
                return True
            return index < (self.enumerated if peer.module.endswith("enumeration") else self.few)

        return [peer for peer in available() if asked(peer)]


def groups(quick: bool) -> list[Group]:
    """Equal iteration times by number of jobs, then mixed ones; fewer instances for peers that meet their limit."""
    # Jobs, rounds of three loads, then members for integer programs and enumerations, on angles and on ticks.
    full = ((2, 3, 3, 9, 3, 9), (3, 3, 3, 9, 3, 9), (4, 3, 2, 9, 1, 1), (5, 3, 1, 1, 0, 0), (6, 2, 1, 1, 0, 0))
    short = ((2, 1, 1, 3, 1, 3), (3, 1, 1, 3, 1, 3), (4, 1, 1, 3, 0, 0))
    found = []
    for n_jobs, per_load, *counts in short if quick else full:
        drawn = cases.equal(n_jobs, 3, per_load)
        # The middle load first: neither trivial nor hopeless.
        drawn = [*drawn[1:], drawn[0]]
        found.append(Group(f"{n_jobs} jobs", drawn, True, counts[0], counts[1]))
        found.append(Group(f"{n_jobs} jobs", drawn, False, counts[2], counts[3]))
    if not quick:
        mixed = cases.mixed(3, 2)
        found += [Group("3 jobs, mixed", mixed, True, 2, 6), Group("3 jobs, mixed", mixed, False, 1, 2)]
    # Only quick heuristics: how far from a perfect fit do they stay?
    for n_jobs in (4, 6, 8):
        found.append(Group(f"{n_jobs} copies that just fit", cases.tight_copies(n_jobs, 3), False, 0, 0))
    return found


def run(quick: bool, progress: Progress) -> dict[str, Any]:
    """Time engine and peers alternately."""
    progress.study("comparison with peers")
    limit_s = 2.0 if quick else 10.0
    _warm(available())
    found: list[dict[str, Any]] = []
    chosen = groups(quick)
    total = sum(len(group.peers(index)) for group in chosen for index in range(len(group.members)))
    for group in chosen:
        for index, case in enumerate(group.members):
            runs: list[dict[str, Any]] = []
            for peer in group.peers(index):
                progress.step(len(found) + len(runs), total, f"{group.said}, {_grid_said(group)}, {peer.name}")
                runs.append(_beside(case, group, peer, limit_s, 2 if quick else 7))
            _check_proofs(case, group, runs)
            found += runs
    missing = [peer.name for peer in PEERS if peer not in available()]
    return {"limit_s": limit_s, "runs": found, "notes": [f"Not installed: {', '.join(missing)}"] if missing else []}


def _warm(peers: list[Peer]) -> None:
    # Imports and compilation are not what a scheduler waits for at every round.
    case = cases.equal(2, 1, 1)[0]
    for peer in peers:
        peer.solve()(angle_grid(case.jobs, case.capacity_gbps, 8), 1.0)


def _beside(case: cases.Case, group: Group, peer: Peer, limit_s: float, rounds: int) -> dict[str, Any]:
    """One peer on one instance; the engine runs before and after each of its runs."""
    solve = peer.solve()
    call = engine.PreparedCall(case)
    ours, whole, laid_out, theirs = [], [], [], []
    repeats = 50 if timing.sample(call, 1) < 1e-3 else 1
    grid = group.grid(case)
    answer = PeerAnswer.nothing()

    def ask() -> None:
        nonlocal answer
        answer = solve(grid, limit_s)

    def run_engine() -> None:
        for _ in range(ENGINE_SAMPLES if repeats > 1 else 1):
            ours.append(timing.sample(call, repeats))
            whole.append(timing.sample(lambda: engine.whole_call(case, None), repeats))

    start = time.perf_counter()
    for _ in range(rounds):
        run_engine()
        laid_out.append(timing.sample(lambda: group.grid(case), 1))
        theirs.append(timing.sample(ask, 1))
        if time.perf_counter() - start > ENOUGH_S:
            break
    run_engine()
    exact = call.checked_answer()
    return {
        "group": group.said,
        "grid": _grid_said(group),
        "jobs": len(case.jobs),
        "case": case.name,
        "peer": peer.name,
        "points": grid.points,
        "rotations": math.prod(grid.searched()),
        "engine_s": statistics.median(ours),
        "engine_whole_s": statistics.median(whole),
        "layout_s": statistics.median(laid_out),
        "peer_s": statistics.median(theirs),
        "cut_short": peer.proves and not answer.proved_optimal,
        "proved": answer.proved_optimal,
        "claimed": answer.claimed_score,
        "on_grid": answer.grid_score,
        "true": true_score(case, answer.shifts_ms) if answer.shifts_ms else math.nan,
        "exact": exact.score_lower,
        "engine_proved": exact.optimal,
    }


def _grid_said(group: Group) -> str:
    return "72 angles" if group.angles else "1 ms ticks"


def _check_proofs(case: cases.Case, group: Group, runs: list[dict[str, Any]]) -> None:
    """All proven optima of one grid must be one number, and no answer may beat it or the exact one."""
    proven = {run["peer"]: run["on_grid"] for run in runs if run["proved"]}
    if group.angles:
        own = engine.solve_angles(engine.prepared(case), 72, 5.0)
        if own.stopped_by == "complete":
            proven["angles"] = own.claimed_score
    else:
        # Whole ms in, so some optimum is a whole ms.
        proven["exact"] = runs[0]["exact"]
    if proven and max(proven.values()) - min(proven.values()) > CLOSE:
        raise WrongAnswer(f"{case.name}, {_grid_said(group)}: proven optima differ: {proven}")
    for run in runs:
        if proven and run["on_grid"] > max(proven.values()) + CLOSE:
            raise WrongAnswer(f"{case.name}: {run['peer']} beats a proven optimum: {run['on_grid']} > {proven}")
        if run["true"] > run["exact"] + CLOSE and run["engine_proved"]:
            raise WrongAnswer(f"{case.name}: {run['peer']} beats the exact optimum: {run['true']} > {run['exact']}")
        # Tolerances of a solver of real numbers.
        if run["proved"] and abs(run["claimed"] - run["on_grid"]) > 1e-6:
            raise WrongAnswer(f"{case.name}: {run['peer']} claims {run['claimed']}, its shifts score {run['on_grid']}")
