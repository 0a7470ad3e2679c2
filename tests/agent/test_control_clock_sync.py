"""Clocks: a mapping from noisy round trips is as good as the quickest of them, and forgets another boot."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.control.clock_sync import MAX_RATE_PPB, ClockMapping, ClockSample, ClockTrack, fit
from cassini_agent.schedule import MS_NS, SECOND_NS

UNIX_NS = 1_800_000_000 * SECOND_NS

mappings = st.builds(
    ClockMapping,
    offset_ns=st.integers(-2 * UNIX_NS, 0),
    rate_ppb=st.integers(-MAX_RATE_PPB, MAX_RATE_PPB),
    reference_ns=st.just(UNIX_NS),
)


@given(mappings, st.integers(0, 10**6 * SECOND_NS))
def test_there_and_back_is_where_one_was(mapping: ClockMapping, ahead: int) -> None:
    assert abs(mapping.to_coordinator(mapping.to_host(UNIX_NS + ahead)) - (UNIX_NS + ahead)) <= 1


def sampled(
    truth: ClockMapping, rng: random.Random, count: int, *, every_ns: int = SECOND_NS, slow: float = 0.2
) -> list[ClockSample]:
    """Round trips of 0.2 ms and more; some take up to 50 ms on one way."""
    samples, now = [], UNIX_NS
    for _ in range(count):
        ways = [100_000 + int(rng.expovariate(1 / 50_000)) for _ in range(2)]
        if rng.random() < slow:
            ways[rng.randrange(2)] += rng.randrange(50 * MS_NS)
        samples.append(ClockSample(now, truth.to_host(now + ways[0]), now + sum(ways)))
        now += every_ns + rng.randrange(every_ns // 10)
    return samples


@pytest.mark.parametrize("rate_ppb", [-50_000, 0, 50_000, 300_000])
@pytest.mark.parametrize("seed", range(5))
def test_the_mapping_follows_a_drifting_clock_through_slow_answers(rate_ppb: int, seed: int) -> None:
    truth = ClockMapping(-UNIX_NS + 5 * MS_NS, rate_ppb, UNIX_NS)
    samples = sampled(truth, random.Random(seed), 60)
    track = ClockTrack()
    for sample in samples:
        track.add(sample)
    assert track.mapping is not None
    now = samples[-1].received_ns
    assert abs(track.mapping.to_host(now) - truth.to_host(now)) < 100_000
    # Half a minute without an answer costs little either.
    later = now + 30 * SECOND_NS
    assert abs(track.mapping.to_host(later) - truth.to_host(later)) < 300_000


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_the_error_is_within_its_bound_when_the_rate_is_known(seed: int, count: int) -> None:
    truth = ClockMapping(-UNIX_NS, 0, UNIX_NS)
    samples = sampled(truth, random.Random(seed), count, every_ns=SECOND_NS // 2)
    mapping, bound = fit(samples)
    now = samples[-1].middle_ns
    assert abs(mapping.to_host(now) - truth.to_host(now)) <= bound


@pytest.mark.parametrize("seed", range(5))
def test_answers_that_are_mostly_slow_on_one_way_count_for_nothing(seed: int) -> None:
    truth, rng = ClockMapping(-UNIX_NS, 20_000, UNIX_NS), random.Random(seed)
    track = ClockTrack()
    for sample in sampled(truth, rng, 60, slow=0):
        slower = rng.randrange(20 * MS_NS) if rng.random() < 0.7 else 0
        track.add(ClockSample(sample.sent_ns, sample.host_ns, sample.received_ns + slower))
    assert track.mapping is not None
    assert abs(track.mapping.to_host(sample.middle_ns) - truth.to_host(sample.middle_ns)) < 200_000


def test_another_boot_is_begun_anew() -> None:
    track, rng = ClockTrack(), random.Random(1)
    for sample in sampled(ClockMapping(-UNIX_NS, 20_000, UNIX_NS), rng, 30):
        track.add(sample)
    rebooted = ClockMapping(-UNIX_NS - 9 * SECOND_NS, 20_000, UNIX_NS)
    for sample in sampled(rebooted, rng, 3, slow=0):
        track.add(ClockSample(*(t + 60 * SECOND_NS for t in (sample.sent_ns, sample.host_ns, sample.received_ns))))
    assert track.mapping is not None
    now = UNIX_NS + 63 * SECOND_NS
    assert abs(track.mapping.to_host(now) - rebooted.to_host(now)) < 3 * MS_NS


@given(st.integers(-MAX_RATE_PPB, MAX_RATE_PPB), st.integers(0, 2**32))
def test_however_fast_clocks_drift_no_boot_is_seen_that_was_not(rate_ppb: int, seed: int) -> None:
    """Forgetting what is known would show: of a few samples no rate is known, and the mapping falls behind."""
    truth, track = ClockMapping(-UNIX_NS, rate_ppb, UNIX_NS), ClockTrack()
    for number, sample in enumerate(sampled(truth, random.Random(seed), 60)):
        mapping = track.add(sample)
        if number >= 32:
            assert abs(mapping.rate_ppb - rate_ppb) < 30_000
            assert abs(mapping.to_host(sample.middle_ns) - truth.to_host(sample.middle_ns)) < MS_NS


@pytest.mark.parametrize("step_ns", [-SECOND_NS, -3 * MS_NS, 3 * MS_NS, 3600 * SECOND_NS])
def test_a_step_beyond_all_drift_is_followed_at_once(step_ns: int) -> None:
    track, rng = ClockTrack(), random.Random(2)
    for sample in sampled(ClockMapping(-UNIX_NS, 20_000, UNIX_NS), rng, 60, slow=0):
        track.add(sample)
    host_ns = sample.host_ns + SECOND_NS + step_ns
    sent_ns = sample.sent_ns + SECOND_NS
    mapping = track.add(ClockSample(sent_ns, host_ns, sent_ns + 200_000))
    assert abs(mapping.to_host(sent_ns + 100_000) - host_ns) < 200_000


def test_an_answer_before_its_request_is_refused() -> None:
    with pytest.raises(ValueError, match="expected"):
        fit([ClockSample(10, 5, 9)])
    with pytest.raises(ValueError, match="expected"):
        fit([])
