"""Clocks: of noisy round trips the quickest count, also where clocks run apart; another boot is begun anew."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.control.clock_sync import KEPT, MIN_SPAN_NS, MOST_PPB, ClockSample, ClockTrack
from cassini_agent.schedule import MS_NS, SECOND_NS

UNIX_NS = 1_800_000_000 * SECOND_NS


def ahead_ns(at_ns: int, rate_ppb: int) -> int:
    """The true offset of a host whose clock runs so much faster."""
    return -UNIX_NS + 5 * MS_NS + (at_ns - UNIX_NS) * rate_ppb // SECOND_NS


def sampled(
    rate_ppb: int, rng: random.Random, count: int, *, every_ns: int = SECOND_NS, slow: float = 0.2
) -> list[ClockSample]:
    """Round trips of 0.2 ms and more; some take up to 50 ms on one way."""
    samples, now = [], UNIX_NS
    for _ in range(count):
        ways = [100_000 + int(rng.expovariate(1 / 50_000)) for _ in range(2)]
        if rng.random() < slow:
            ways[rng.randrange(2)] += rng.randrange(50 * MS_NS)
        there = now + ways[0]
        samples.append(ClockSample(now, there + ahead_ns(there, rate_ppb), now + sum(ways)))
        now += every_ns + rng.randrange(every_ns // 10)
    return samples


@given(st.integers(0, 2**32), st.integers(1, 100), st.sampled_from([0.0, 0.2, 0.7]))
def test_of_clocks_that_run_alike_the_error_is_within_half_a_round_trip(seed: int, count: int, slow: float) -> None:
    samples = sampled(0, random.Random(seed), count, every_ns=MIN_SPAN_NS // 101, slow=slow)
    track = ClockTrack()
    for number, sample in enumerate(samples, 1):
        offset_ns = track.add(sample)
        newer = samples[:number][-max(1, min(number, KEPT) // 3) :]
        quickest_ns = min(one.round_trip_ns for one in newer)
        assert abs(offset_ns - ahead_ns(sample.middle_ns, 0)) <= quickest_ns // 2 + 1


@pytest.mark.parametrize("rate_ppb", [-300_000, -50_000, 0, 50_000, 300_000])
@pytest.mark.parametrize("slow", [0.2, 0.7])
@pytest.mark.parametrize("seed", range(5))
def test_drifting_clocks_are_followed_through_slow_answers(rate_ppb: int, slow: float, seed: int) -> None:
    track = ClockTrack()
    for number, sample in enumerate(sampled(rate_ppb, random.Random(seed), 150, slow=slow)):
        offset_ns = track.add(sample)
        if number >= 40:
            # Where most answers are slow it happens that all of the newest are.
            assert abs(offset_ns - ahead_ns(sample.middle_ns, rate_ppb)) < (500_000 if slow < 0.5 else 3 * MS_NS)


def test_clocks_that_are_asked_rarely_are_followed() -> None:
    track = ClockTrack()
    for number, sample in enumerate(sampled(50_000, random.Random(1), 9, every_ns=600 * SECOND_NS)):
        offset_ns = track.add(sample)
        if number >= 1:
            assert abs(offset_ns - ahead_ns(sample.middle_ns, 50_000)) < 60 * MS_NS


@given(st.integers(-MOST_PPB // 2, MOST_PPB // 2), st.integers(0, 2**32), st.integers(1, 10))
def test_however_fast_clocks_drift_no_boot_is_seen_that_was_not(rate_ppb: int, seed: int, every_s: int) -> None:
    track = ClockTrack()
    for number, sample in enumerate(sampled(rate_ppb, random.Random(seed), 30, every_ns=every_s * SECOND_NS), 1):
        track.add(sample)
        assert len(track._samples) == number


@pytest.mark.parametrize("step_ns", [-SECOND_NS, -3 * MS_NS, 3 * MS_NS, 3600 * SECOND_NS])
def test_another_boot_or_a_step_beyond_all_drift_is_followed_at_once(step_ns: int) -> None:
    track = ClockTrack()
    for sample in sampled(20_000, random.Random(2), 60, slow=0):
        track.add(sample)
    sent_ns = sample.sent_ns + SECOND_NS
    host_ns = sent_ns + 100_000 + ahead_ns(sent_ns, 20_000) + step_ns
    assert track.add(ClockSample(sent_ns, host_ns, sent_ns + 200_000)) == host_ns - sent_ns - 100_000


def test_an_answer_before_its_request_is_refused() -> None:
    with pytest.raises(ValueError, match="expected an answer after its request"):
        ClockSample(10, 5, 9)
