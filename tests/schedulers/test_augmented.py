"""A scheduler with Cassini: it chooses among what is proposed as the ranking does, and says how to shift."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings

import cassini_core as cc
from cassini_core.errors import InputError
from cassini_core.placement.cluster import Cluster
from cassini_core.schedulers.augmented import PAPERS_RULE, Augmented, Plain
from cassini_core.schedulers.ideal import Ideal
from cassini_core.schedulers.in_order import Random
from cassini_core.schedulers.state import Allocation, ClusterState, TrainingTask
from cassini_core.topology.generated import paper_testbed
from training_tasks import plain, racks_of, states, task

NETWORK = racks_of(2, 4)
CLUSTER = Cluster(NETWORK, 1)


class Fixed:
    """Proposes what it is given."""

    interval_s = None

    def __init__(self, *allocations: Allocation) -> None:
        self._allocations = allocations

    def propose(self, state: ClusterState, candidates: int) -> Sequence[Allocation]:
        return self._allocations[:candidates]


def half(name: str, gbps: float) -> TrainingTask:
    """A task that sends half of the time."""
    job = cc.Job("any", 200, [cc.Phase(100, 100, gbps)])
    return TrainingTask(name, 0.0, 100, lambda workers: job, 2)


# Whoever has one host in each rack crosses the uplinks.
ACROSS = {"a": {"h1-1": 1, "h2-1": 1}, "b": {"h1-2": 1, "h2-2": 1}, "c": {"h1-3": 1, "h1-4": 1}}
OTHERS = {"a": {"h1-1": 1, "h2-1": 1}, "c": {"h1-2": 1, "h2-2": 1}, "b": {"h1-3": 1, "h1-4": 1}}


def capacity_gbps() -> float:
    return next(link.capacity_gbps for link in NETWORK.links() if link.id == "leaf1->spine1")


def test_the_compatible_candidate_is_chosen_and_its_jobs_are_interleaved() -> None:
    full = capacity_gbps()
    tasks = [half("a", full), half("b", full), half("c", full)]
    always = cc.Job("any", 200, [cc.Phase(0, 200, full)])
    tasks[1] = TrainingTask("b", 0.0, 100, lambda workers: always, 2)
    state = ClusterState(CLUSTER, 0.0, tasks)
    decision = Augmented(Fixed(ACROSS, OTHERS), NETWORK).decide(state)
    assert decision.allocation == OTHERS
    assert decision.ranking is not None
    assert decision.ranking.best is not None
    assert decision.ranking.best.score == 1.0
    assert (decision.shifts_ms["c"] - decision.shifts_ms["a"]) % 200 == 100
    assert Plain(Fixed(ACROSS, OTHERS)).decide(state).allocation == ACROSS


def test_running_tasks_keep_their_shifts_and_those_that_move_do_not_hold_any() -> None:
    full = capacity_gbps()
    state = ClusterState(CLUSTER, 9.0, [half("a", full), half("b", full), half("c", full)], {"a": ACROSS["a"]})
    decision = Augmented(Fixed(ACROSS), NETWORK).decide(state, {"a": 37.0})
    assert decision.shifts_ms == {"a": 37.0, "b": 137.0}
    moved = ClusterState(CLUSTER, 9.0, state.tasks, {"a": {"h1-3": 1, "h1-4": 1}})
    assert Augmented(Fixed(ACROSS), NETWORK).decide(moved, {"a": 37.0}).shifts_ms == {"a": 0.0, "b": 100.0}


def test_a_task_with_other_workers_in_another_candidate_has_another_profile() -> None:
    profiles = {2: cc.Job("x", 200, [cc.Phase(0, 100, 10)]), 3: cc.Job("x", 300, [cc.Phase(0, 100, 10)])}
    tasks = [TrainingTask(name, 0.0, 100, profiles.__getitem__, 2, max_workers=3) for name in "ab"]
    more = {"a": {"h1-1": 1, "h2-1": 1}, "b": {"h1-2": 1, "h1-3": 1, "h2-2": 1}}
    fewer = {"a": {"h1-1": 1, "h2-1": 1}, "b": {"h1-2": 1, "h2-2": 1}}
    problem_jobs = []

    class Spying(Augmented):
        def _problem(self, *arguments: object) -> cc.Problem:  # type: ignore[override]
            made = super()._problem(*arguments)  # type: ignore[arg-type]
            problem_jobs.extend(made.jobs)
            return made

    decision = Spying(Fixed(more, fewer), NETWORK).decide(ClusterState(CLUSTER, 0.0, tasks))
    assert {job.iteration_ms for job in problem_jobs} == {200.0, 300.0}
    assert decision.shifts_ms.keys() <= {"a", "b"}
    assert decision.allocation in (more, fewer)


def test_where_the_papers_rule_discards_all_the_scheduler_goes_on_as_without() -> None:
    state = ClusterState(CLUSTER, 0.0, [half("a", 50), half("b", 50), half("c", 50)])
    decision = Augmented(Fixed(ACROSS, OTHERS), NETWORK, **PAPERS_RULE).decide(state)
    assert decision.ranking is not None
    assert {one.status for one in decision.ranking} == {"discarded"}
    assert decision.allocation == ACROSS
    assert decision.shifts_ms == {}


def test_an_empty_cluster_is_left_empty() -> None:
    assert Augmented(Random(), NETWORK).decide(ClusterState(CLUSTER, 0.0, [])).allocation == {}


def test_what_cannot_be_augmented_is_refused() -> None:
    with pytest.raises(InputError, match="share a cluster"):
        Augmented(Ideal(), NETWORK)
    with pytest.raises(InputError, match="at least one allocation"):
        Augmented(Fixed(), NETWORK).decide(ClusterState(CLUSTER, 0.0, []))
    with pytest.raises(InputError, match="hosts of the network"):
        Augmented(Fixed({"a": {"nowhere": 1}}), NETWORK).decide(ClusterState(CLUSTER, 0.0, [task("a", 1)]))


@settings(max_examples=20)
@given(states())
def test_the_choice_is_one_of_the_proposals(state: ClusterState) -> None:
    racks = len(state.cluster.tiers[1].start)
    topology = racks_of(racks, len(state.cluster.hosts) // racks)
    decision = Augmented(Random(), topology).decide(state)
    assert plain(decision.allocation) in [plain(one) for one in Random().propose(state, 10)]


def test_rounds_of_the_papers_testbed_are_deterministic() -> None:
    network = paper_testbed()
    state = ClusterState(Cluster(network), 0.0, [task(f"t{n}", 2 + n % 4) for n in range(7)])
    first, second = (Augmented(Random(3), network).decide(state) for _ in range(2))
    assert first == second
