"""Routes of workers: what the router says, asked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core.placement import worker_routes
from cassini_core.placement.cluster import Cluster
from cassini_core.placement.job_request import NAMED_PATTERNS, Hybrid, flows_of
from cassini_core.placement.worker_routes import WorkerRoutes
from cassini_core.topology.patterns import Flows
from cassini_core.topology.routing import Router
from training_tasks import racks_of

NETWORK = racks_of(3, 2)
CLUSTER = Cluster(NETWORK, 4)


class Counting:
    """A router that counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0
        self._router = Router(NETWORK)

    def route(self, workers: Sequence[str], flows: Flows) -> dict[str, float]:
        self.asked += 1
        return self._router.route(workers, flows)


@st.composite
def places(draw: st.DrawFn) -> tuple[Any, tuple[tuple[int, int], ...]]:
    hosts = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True))
    where = tuple((host, draw(st.integers(1, 3))) for host in sorted(hosts))
    workers = sum(count for _, count in where)
    hybrid = Hybrid(workers, 1, 1, (("data", 1.0),)) if workers > 1 else "ring"
    return draw(st.sampled_from([*NAMED_PATTERNS, hybrid])), where


@given(st.lists(places(), max_size=5))
def test_routes_are_those_of_the_router_and_asked_for_once(asked: list[tuple[Any, Any]]) -> None:
    counting = Counting()
    routes = WorkerRoutes(counting)  # type: ignore[arg-type]
    for pattern, where in [*asked, *asked]:
        workers = [CLUSTER.hosts[host] for host, count in where for _ in range(count)]
        assert routes.of(CLUSTER, pattern, where) == Router(NETWORK).route(workers, flows_of(pattern, len(workers)))
        assert routes.knows(pattern, where)
    assert counting.asked == len({one for one in asked if len(one[1]) > 1})


def test_no_more_are_kept_than_memory_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_routes, "MAX_ROUTES", 2)
    routes = WorkerRoutes(Router(NETWORK))
    places = [((0, 1), (host, 1)) for host in range(1, 5)]
    for where in places:
        routes.of(CLUSTER, "ring", where)
    assert [routes.knows("ring", where) for where in places] == [False, False, True, True]
