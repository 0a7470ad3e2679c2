"""The iteration time of jobs whose CPU and GPU run apart: right, or refused. Never wrong."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from cassini_core.errors import InputError
from cassini_core.profiles.kineto import KinetoProfile, period, profile_kineto
from cassini_core.profiles.kineto.period import Sequence, lag_at, repeating_run
from cassini_core.profiles.phases import volume_mbit
from kineto_traces import Training, Transfer
from work import works_less_than

BROADCAST = {"collective": "broadcast", "kernel": "ncclDevKernel_Broadcast_RING_LL"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("period")


@st.composite
def transfers(draw: st.DrawFn, step_ms: float, first: float, last: float, most: int, **kind: str) -> list[Transfer]:
    """Up to ``most`` collectives between two shares of a step, none touching another."""
    count = draw(st.integers(1, most))
    cell = (last - first) * step_ms / count
    return [
        Transfer(
            first * step_ms + cell * (index + draw(st.floats(0.0, 0.4))),
            cell * draw(st.floats(0.05, 0.5)),
            draw(st.sampled_from([53, 10**4, 10**6, 8 * 10**6]) | st.integers(10**5, 10**8)),
            **kind,  # type: ignore[arg-type]
        )
        for index in range(count)
    ]


@st.composite
def trainings(draw: st.DrawFn) -> Training:
    """Everything that goes wrong with recordings, at once."""
    step_ms = draw(st.floats(5.0, 400.0))
    micro_steps = draw(st.sampled_from([1, 1, 2, 4]))
    each, last = [], []
    if micro_steps == 1 or draw(st.booleans()):
        each = draw(transfers(step_ms, 0.0, 0.5, 3, **draw(st.sampled_from([{}, BROADCAST]))))
    if micro_steps > 1 or not each:
        last = draw(transfers(step_ms, 0.55, 0.95, 5))
    if draw(st.booleans()):
        each = [Transfer(t.start_ms, t.duration_ms, t.elements, t.collective, t.kernel, group="[0, 4]") for t in each]
    steps = draw(st.integers(1, 4 * micro_steps + 6) | st.integers(3 * micro_steps + 1, 5 * micro_steps))
    iterations = steps // micro_steps
    # Pauses of different lengths, before fewer than half of the iterations.
    at = draw(st.lists(st.integers(1, max(1, steps - 1)), unique=True, max_size=max(0, (iterations - 2) // 2)))
    assume(len({step // micro_steps for step in at}) == len(at))
    sizes = [draw(st.floats(0.02, 1.0)) * 3**index * step_ms * micro_steps for index in range(len(at))]
    assume(all(later > 1.3 * one for one, later in itertools.pairwise(sorted(sizes))))
    numbers: list[int | None] = draw(
        st.sampled_from(
            [
                list(range(10, 10 + steps)),
                list(range(1, 2 * steps, 2)),
                [7] * steps,
                [None] * steps,
                [number if number % 2 else None for number in range(steps)],
            ]
        )
        | st.lists(st.none() | st.integers(0, 99), min_size=steps, max_size=steps)
    )
    # Less than an iteration is missing at the ends.
    kernels = min(4, micro_steps * len(each) + len(last))
    head = draw(st.integers(0, kernels - 1))
    tail = draw(st.integers(0, kernels - 1 - head))
    # Nobody can tell a part of one iteration from several short ones, or what comes in a micro-step that is missing.
    assume(micro_steps == 1 or iterations >= 2)
    assume(micro_steps == 1 or steps * len(each) + iterations * len(last) - tail > micro_steps * len(each) + head)
    return Training(
        step_ms,
        tuple(each),
        tuple(last),
        micro_steps,
        steps,
        cpu_ms=step_ms * draw(st.sampled_from([1.0, 1.0, 0.85, 0.5, 0.1])),
        pauses_ms=tuple(zip(at, sizes, strict=True)),
        numbers=tuple(numbers),
        annotated_share=draw(st.floats(0.1, 1.0)),
        launches=tuple(draw(st.lists(st.booleans(), min_size=1, max_size=7))),
        head=head,
        tail=tail,
        jitter_ms=step_ms * draw(st.sampled_from([0.0, 0.002])),
        streams=draw(st.booleans()),
        seed=draw(st.integers(0, 99)),
    )


def parts(training: Training) -> int:
    """How often the traffic repeats in an iteration: equal collectives at equal distances are a shorter one."""
    truth, period = training.transfers, training.iteration_ms
    within = 0.011 * period / len(truth) + 4 * training.jitter_ms
    for count in range(len(truth), 1, -1):
        lag = len(truth) // count
        if len(truth) % count == 0 and all(
            (one.elements, one.collective, one.group) == (two.elements, two.collective, two.group)
            and (two.start_ms - one.start_ms) % period == pytest.approx(period / count, abs=within)
            for one, two in zip(truth, truth[lag:] + truth[:lag], strict=True)
        ):
            return count
    return 1


def assert_right(made: KinetoProfile, training: Training) -> None:
    """The iteration time, every collective of an iteration but negligible ones, and the distances between them."""
    if (shorter := parts(training)) > 1 and made.job.iteration_ms < 0.9 * training.iteration_ms:
        assert made.job.iteration_ms == pytest.approx(training.iteration_ms / shorter, rel=0.02)
        return
    period = training.iteration_ms
    within = 4 * training.jitter_ms + 1e-3
    assert made.job.iteration_ms == pytest.approx(period, abs=within)
    truth = training.transfers
    assert sum(p.duration_ms * p.gbps for p in made.job.phases) * 125e3 == pytest.approx(
        sum(one.wire_bytes for one in truth), rel=0.02, abs=1.0
    )
    assert sorted(row.wire_bytes or 0.0 for row in made.collectives) == pytest.approx(
        sorted(one.wire_bytes for one in truth)
    )
    # A common turn is a matter of where the circle starts: the same collective, then all others after it.
    least = min(truth, key=lambda one: one.wire_bytes).wire_bytes
    found = [
        sorted((row.start_ms - zero.start_ms) % period for row in made.collectives)
        for zero in made.collectives
        if zero.wire_bytes == pytest.approx(least)
    ]
    expected = [
        sorted((one.start_ms - zero.start_ms) % period for one in truth) for zero in truth if zero.wire_bytes == least
    ]
    assert any(one == pytest.approx(two, abs=within) for one in found for two in expected)


AHEAD = Training(
    step_ms=5.0,
    each=(),
    last=tuple(Transfer(start_ms=start_ms, duration_ms=0.25, elements=53) for start_ms in (2.75, 3.25, 3.75, 4.25)),
    micro_steps=4,
    steps=8,
    cpu_ms=0.5,
    numbers=tuple(range(10, 18)),
    annotated_share=1.0,
    launches=(False,),
)
"""As many equal transfers as annotated steps, which the host has done long before: no step for each."""


@given(trainings())
@example(AHEAD)
def test_the_iteration_is_right_or_refused(place: Path, training: Training) -> None:
    path = training.write(place / "trace.json")
    try:
        made = profile_kineto(path, job_id="job", merge_gap_ms=0.0)
    except InputError:
        event("refused")
        return
    event("right")
    assert_right(made, training)


@given(trainings())
def test_a_given_iteration_time_is_used_or_refused(place: Path, training: Training) -> None:
    path = training.write(place / "trace.json")
    try:
        made = profile_kineto(path, job_id="job", merge_gap_ms=0.0, iteration_ms=training.iteration_ms)
    except InputError:
        return
    assert made.job.iteration_ms == round(training.iteration_ms, 4)
    assert made.provenance.iteration_from == "given"


@given(st.integers(6, 60), st.integers(4, 8), st.floats(0.0, 0.9), st.floats(0.0, 0.002), st.booleans())
def test_equal_collectives_one_after_the_other_lose_none(
    place: Path, count: int, steps: int, heavy: float, jitter: float, told: bool
) -> None:
    """Bytes stay, whether the iteration time is given or shown by another stream, which may begin at any time."""
    step_ms = 10.0 * count
    equal = [Transfer(10.0 * index + 1, 4.0, 10**6) for index in range(count)]
    other = [] if told else [Transfer(heavy * step_ms + 3 * index, 2.0, 10**9, group="[0, 4]") for index in range(2)]
    training = Training(step_ms, (*equal, *other), steps=steps, streams=True, jitter_ms=jitter * step_ms)
    given_ms = step_ms if told else None
    path = training.but(numbers=(None,) if told else None).write(place / "trace.json")
    made = profile_kineto(path, job_id="job", iteration_ms=given_ms, max_phases=1000, negligible=0.0)
    mbit = sum(one.wire_bytes for one in training.transfers) * 8 / 1e6
    assert volume_mbit(made.job.phases) == pytest.approx(mbit, rel=0.01)


def test_many_collectives_take_time_in_proportion() -> None:
    """Neither a period of a third of all kernels nor sizes that differ now and then make all be compared with all."""
    times_ms = np.arange(30_000) * 0.01
    codes = (np.random.default_rng(1).random(30_000) < 0.03).astype(np.int64)
    sequence = Sequence(np.ones(len(codes)), codes, np.zeros(len(codes), np.int64))
    with works_less_than(3):
        assert lag_at(times_ms, 1, 100.0, given=True) == 10_000
        assert repeating_run(sequence) is not None


@settings(max_examples=25)
@given(st.lists(st.integers(0, 3), min_size=9, max_size=30), st.integers(2, 3), st.integers(0, 99), st.data())
def test_no_run_is_passed_over(pattern: list[int], times: int, more: int, data: st.DataObject) -> None:
    """Where some kernels are looked at before all are compared, the same is found."""
    codes = np.resize(np.repeat(np.array(pattern), 60), 60 * len(pattern) * times + more)
    codes[data.draw(st.lists(st.integers(0, len(codes) - 1), max_size=4))] = 4
    sequence = Sequence(np.ones(len(codes)), codes, np.zeros(len(codes), np.int64))
    found = repeating_run(sequence)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(period, "_may_repeat", lambda *_: True)
        assert repeating_run(sequence) == found
