"""MonkeyTree's setting: what its jobs send where, paths, placement, and what comes out when it is known."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from bench.testbed.experiment import Settings
from bench.testbed.experiments import monkeytree
from bench.testbed.monkeytree.chosen import Chosen
from bench.testbed.monkeytree.fabric import RACKS, SERVERS, SPINES, Running, links, route
from bench.testbed.monkeytree.flows import FlowNetwork
from bench.testbed.monkeytree.jobs import KINDS, Kind, of_one_period, read_kinds
from bench.testbed.monkeytree.placing import best_fit, beyond, calmest
from bench.testbed.monkeytree.routing import crux, ecmp, edge_colours, even, perfect
from bench.testbed.monkeytree.shifts import Shifts
from bench.testbed.monkeytree.simulate import Policy, slowdowns
from bench.testbed.monkeytree.trace import Arrival, trace
from hypothesis import given
from hypothesis import strategies as st

NAMED = {kind.name: kind for kind in KINDS}
RINGS_OF_8, ONE_RING = NAMED["llama3_70b_tp_dp"], NAMED["llama3_70b_fsdp"]
FLOWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda flow: flow[0] != flow[1]), max_size=60)


def arrival(name: str, kind: Kind, gpus: int, at_ms: float = 0.0, iterations: int = 20) -> Arrival:
    return Arrival(name, at_ms, kind, gpus, iterations)


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Running]:
    found = {}
    for number in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(KINDS))
        gpus = draw(st.sampled_from(kind.gpus))
        racks = draw(st.lists(st.integers(0, 3), min_size=gpus // 8, max_size=gpus // 8))
        found[str(number)] = Running.of(arrival(str(number), kind, gpus), racks)
    return {name: one for name, one in found.items() if one.flows}


def test_a_known_kind_takes_as_long_as_its_bytes_say() -> None:
    # 17.18 GB in a ring of two: each sends them once, at 50 GB/s.
    assert RINGS_OF_8.sending_ms(16) == pytest.approx(343.6)
    assert RINGS_OF_8.iteration_ms(32) == pytest.approx(743 + 1.5 * 343.6)
    # GPipe: two stages and eight microbatches of 171 ms take nine steps.
    assert NAMED["llama2_70b_tp_dp_pp_2"].computing_ms(32) == pytest.approx(9 * 171 + 16 * 0.00839 / 50 * 1e3)


@given(st.sampled_from(KINDS), st.data())
def test_rings_leave_each_rack_as_often_as_they_reach_it(kind: Kind, data: st.DataObject) -> None:
    servers = data.draw(st.sampled_from(kind.gpus)) // 8
    racks = data.draw(st.lists(st.integers(0, 4), min_size=servers, max_size=servers))
    flows = kind.flows(racks)
    assert Counter(here for here, _ in flows) == Counter(there for _, there in flows)
    size = servers // kind.stages
    stages = [set(racks[at : at + size]) for at in range(0, servers, size)]
    assert len(flows) == kind.rings * sum(len(stage) for stage in stages if len(stage) > 1)


def test_load_is_what_was_asked_for() -> None:
    arrivals = trace(0, 4000, load=0.7)
    asked = sum(one.gpus * one.iterations * one.kind.busy_ms(one.gpus) for one in arrivals)
    assert asked / 1024 / arrivals[-1].at_ms == pytest.approx(0.7, rel=0.05)


@pytest.mark.parametrize("kind", of_one_period(KINDS, 1000.0), ids=lambda kind: f"{kind.name}-{kind.gpus[0]}")
def test_with_one_period_duties_stay(kind: Kind) -> None:
    (gpus,) = kind.gpus
    assert kind.iteration_ms(gpus) == pytest.approx(1000.0)
    assert kind.duty(gpus) == pytest.approx(NAMED[kind.name].duty(gpus))


def test_job_files_are_read(tmp_path: Path) -> None:
    ring = "model_size_bytes: 2000\nsteps:\n- !compute\n  duration_us: 3000\n- !all_reduce {}\n"
    for name in NAMED:
        (tmp_path / f"{name}.yaml").write_text(ring)
    (tmp_path / "llama2_70b_tp_dp.yaml").write_text(
        "model_size_bytes: 1\nsteps:\n- !compute\n  duration_us: 7\n"
        "- !strided_ring\n  stride: 8\n  model_size_bytes: 5000000000\n"
    )
    (tmp_path / "llama2_70b_tp_dp_pp_2.yaml").write_text(
        "model_size_bytes: 1\nsteps:\n- !pipeline\n  num_stages: 2\n  tp_size: 8\n  microbatches: 4\n"
        "  forward_us: 1000\n  backward_us: 2000\n  activation_size_bytes: 1000000\n  model_shard_bytes: 3000000000\n"
    )
    (tmp_path / "gpt_oss_20b_dp_moe.yaml").write_text(
        ring + "- !all_to_all_ring\n  total_size_bytes: 1000000000\n- !compute\n  duration_us: 1000\n"
    )
    found = {kind.name: kind for kind in read_kinds(tmp_path)}
    assert (found["gpt_7b_dp"].compute_ms, found["gpt_7b_dp"].gradients_gb, found["gpt_7b_dp"].rings) == (3.0, 2e-6, 1)
    assert (found["llama2_70b_tp_dp"].gradients_gb, found["llama2_70b_tp_dp"].rings) == (5.0, 8)
    pipeline = found["llama2_70b_tp_dp_pp_2"]
    assert (pipeline.compute_ms, pipeline.stages, pipeline.microbatches, pipeline.gradients_gb) == (12.0, 2, 4, 3.0)
    assert (found["gpt_oss_20b_dp_moe"].compute_ms, found["gpt_oss_20b_dp_moe"].exchanged_gb) == (4.0, 1.0)


def test_a_job_file_with_an_unknown_step_is_refused(tmp_path: Path) -> None:
    for name in NAMED:
        (tmp_path / f"{name}.yaml").write_text("model_size_bytes: 1\nsteps:\n- !broadcast {}\n")
    with pytest.raises(ValueError, match="broadcast"):
        read_kinds(tmp_path)


@given(FLOWS)
def test_colours_are_proper_and_as_few_as_can_be(flows: list[tuple[int, int]]) -> None:
    colours = edge_colours(flows)
    for side in range(2):
        assert len({(flow[side], colour) for flow, colour in zip(flows, colours, strict=True)}) == len(flows)
    degree = max((n for side in range(2) for n in Counter(flow[side] for flow in flows).values()), default=0)
    assert set(colours) <= set(range(degree))


@given(clusters(), st.sampled_from([ecmp, crux, perfect, even, Chosen(1), Chosen(2), Chosen(4)]))
def test_every_flow_is_carried_once(jobs: dict[str, Running], paths: object) -> None:
    found = paths(jobs, {})  # type: ignore[operator]
    for name, one in jobs.items():
        on = route(one.flows, found[name])
        for flow, many in Counter(one.flows).items():
            assert sum(on.get(links(flow, spine)[0], 0.0) for spine in range(SPINES)) >= many - 1e-9
        assert sum(on.values()) == pytest.approx(2 * len(one.flows))


def slowed(jobs: dict[str, Running], paths: dict[str, tuple[tuple[int, ...], ...]]) -> dict[str, float]:
    """By how much each job is slowed down on the worst of its links: every case of who else sends."""
    on: dict[str, dict[str, float]] = defaultdict(dict)
    for name, one in jobs.items():
        for link, load in route(one.flows, paths[name]).items():
            on[link][name] = load
    duty = {name: one.job.kind.duty(one.job.gpus) for name, one in jobs.items()}
    found = dict.fromkeys(jobs, 0.0)
    for loads in on.values():
        for name, load in loads.items():
            others = [other for other in loads if other != name]
            beyond = 0.0
            for sends in itertools.product((False, True), repeat=len(others)):
                chance, wanted = 1.0, load
                for other, does in zip(others, sends, strict=True):
                    chance *= duty[other] if does else 1 - duty[other]
                    wanted += loads[other] * does
                beyond += chance * max(0.0, wanted - 1)
            found[name] = max(found[name], duty[name] * beyond)
    return found


@given(clusters(), st.sampled_from([1, 2, 4]))
def test_chosen_paths_slow_jobs_down_no_more_than_all_on_the_first_spines(
    jobs: dict[str, Running], per_flow: int
) -> None:
    def cost(paths: dict[str, tuple[tuple[int, ...], ...]]) -> float:
        return sum(one**1.5 for one in slowed(jobs, paths).values())

    chosen = Chosen(per_flow)(jobs, {})
    first = {
        name: tuple(
            tuple(at * per_flow % SPINES + path for path in range(per_flow))
            for at in (flow % one.job.kind.rings for flow in range(len(one.flows)))
        )
        for name, one in jobs.items()
    }
    many = sum(len(one.flows) for one in jobs.values()) * 4
    assert cost(chosen) <= cost(first) + 1e-4 * many


def test_two_bundles_of_a_rack_share_no_spine() -> None:
    jobs = {name: Running.of(arrival(name, RINGS_OF_8, 16), racks) for name, racks in (("a", (0, 1)), ("b", (0, 2)))}
    assert slowed(jobs, Chosen()(jobs, {})) == {"a": 0.0, "b": 0.0}


def test_best_fit_is_the_fullest_rack_with_room_or_the_emptiest_ones() -> None:
    free = [8, 3, 0, 2, *([0] * (RACKS - 4))]
    assert best_fit(free, arrival("a", RINGS_OF_8, 16), {}) == [3, 3]
    assert best_fit(free, arrival("a", RINGS_OF_8, 32), {}) == [0] * 4
    assert best_fit([3, 0, 1, 2, *([0] * (RACKS - 4))], arrival("a", RINGS_OF_8, 32), {}) == [0, 0, 0, 3]


@given(clusters(), st.lists(st.integers(0, SERVERS), min_size=RACKS, max_size=RACKS), st.data())
def test_the_calmest_place_is_free_and_in_as_few_racks(
    there: dict[str, Running], free: list[int], data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    job = arrival("new", kind, data.draw(st.sampled_from(kind.gpus)))
    if sum(free) * 8 < job.gpus:
        return
    racks, usual = calmest(free, job, there), best_fit(free, job, there)
    assert len(racks) == job.gpus // 8
    assert len(set(racks)) == len(set(usual))
    assert all(count <= free[rack] for rack, count in Counter(racks).items())


def test_the_calmest_place_leaves_a_full_rack_alone() -> None:
    there = {str(n): Running.of(arrival(str(n), RINGS_OF_8, 16), (0, n + 3)) for n in range(2)}
    free = [3, 1, 2, *([0] * (RACKS - 3))]
    job = arrival("new", RINGS_OF_8, 32)
    assert best_fit(free, job, there) == [0, 0, 0, 2]
    calm = calmest([3, 3, 2, *([0] * (RACKS - 3))], job, there)
    assert 0 not in calm


@given(st.lists(st.tuples(st.sampled_from([1, 2, 8]), st.floats(0, 1)), max_size=5), st.integers(0, 20))
def test_flows_beyond_what_a_rack_can_send_are_those_of_all_cases(senders: list[tuple[int, float]], most: int) -> None:
    expected = 0.0
    for sends in itertools.product((False, True), repeat=len(senders)):
        chance, flows = 1.0, 0
        for (count, duty), does in zip(senders, sends, strict=True):
            chance *= duty if does else 1 - duty
            flows += count * does
        expected += chance * max(0, flows - most)
    assert beyond(senders, most) == pytest.approx(expected, abs=1e-9)


def one_spine(jobs: dict[str, Running], before: object) -> dict[str, tuple[tuple[int, ...], ...]]:
    return {name: ((0,),) * len(one.flows) for name, one in jobs.items()}


def apart(free: object, job: Arrival, there: object) -> list[int]:
    return [0, *([1] * (job.gpus // 8 - 1))]


@pytest.fixture(params=[False, True], ids=["one rate", "flows"])
def flows(request: pytest.FixtureRequest) -> FlowNetwork | None:
    return FlowNetwork() if request.param else None


def test_a_job_alone_is_not_slowed_down(flows: FlowNetwork | None) -> None:
    (slowdown,) = slowdowns([arrival("a", ONE_RING, 16)], Policy(one_spine, place=apart), flows).values()
    assert slowdown == pytest.approx(1.0)


def test_two_jobs_in_phase_on_one_link_take_twice_as_long_to_send(flows: FlowNetwork | None) -> None:
    jobs = [arrival(name, ONE_RING, 16) for name in "ab"]
    computing, sending = ONE_RING.computing_ms(16), ONE_RING.sending_ms(16)
    for slowdown in slowdowns(jobs, Policy(one_spine, place=apart), flows).values():
        assert slowdown == pytest.approx((computing + 2 * sending) / (computing + sending))


def test_flows_of_a_job_that_meet_share_a_link(flows: FlowNetwork | None) -> None:
    (slowdown,) = slowdowns([arrival("a", RINGS_OF_8, 16)], Policy(one_spine, place=apart), flows).values()
    assert slowdown == pytest.approx((743 + 8 * 343.6) / (743 + 343.6))


def test_sglb_puts_flows_of_a_job_on_spines_of_their_own() -> None:
    found = slowdowns([arrival("a", RINGS_OF_8, 16)], Policy(one_spine, place=apart), FlowNetwork(sglb=True))
    assert found["a"] == pytest.approx(1.0)


def test_flows_of_their_own_rates_are_at_most_as_slow() -> None:
    arrivals = [one for one in trace(1, 90) if one.gpus > 16]
    many = [arrival(one.id, one.kind, one.gpus, one.at_ms / 20, 20) for one in arrivals]
    one_rate, own_rates = (sum(slowdowns(many, Policy(perfect), each).values()) for each in (None, FlowNetwork()))
    assert len(many) <= own_rates <= one_rate * 1.01


def test_shifted_jobs_of_one_kind_do_not_meet() -> None:
    # Two that send half of the time: one waits for the other once, and never again.
    jobs = [arrival(name, ONE_RING, 16, iterations=50) for name in "ab"]
    found = slowdowns(jobs, Policy(one_spine, Shifts(), apart))
    assert max(found.values()) < 1.02


def test_jobs_wait_in_order_and_waiting_is_not_running() -> None:
    many = [arrival(str(n), RINGS_OF_8, 32, iterations=2) for n in range(40)]  # room for 32
    found = slowdowns(many, Policy(even))
    assert list(found.values()) == pytest.approx([1.0] * 40)


def test_the_experiment_says_and_draws_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monkeytree, "QUICK", 20)
    groups = {}
    for key, group in monkeytree.GROUPS.items():
        groups[key] = replace(group, schemes=dict(list(group.schemes.items())[:2]))
    monkeypatch.setattr(monkeytree, "GROUPS", groups)
    data = monkeytree.run(Settings(seeds=2, folder=tmp_path, processes=1, quick=True))
    shown = {row.what: row for row in monkeytree.rows(data)}
    assert shown["ECMP: slowdown, mean / p99"].paper == "1.606 / 3.743"
    assert len(data["published"]["ECMP"]["by_seed"]) == 2
    monkeytree.plot(data, tmp_path / "shown.png")
    assert (tmp_path / "shown.png").stat().st_size > 10_000
