"""Marks on a CUDA stream, against a GPU that the test plays: its clock, its queue, its interruptions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from played_loop import Link

from cassini_agent.control.controller import Controller
from cassini_agent.loop import Agent
from cassini_agent.loop.cuda_timeline import DRIFT_PPM, MOST_PENDING, RENEW_NS, CudaTimeline
from cassini_agent.loop.rank0_controller import Rank0Controller


class Host:
    """A monotonic clock that moves when told, and a little with each reading."""

    def __init__(self) -> None:
        self.now_ns = 7 * 10**15
        self.reading_ns = 1_000

    def __call__(self) -> int:
        self.now_ns += self.reading_ns
        return self.now_ns


@dataclass
class Event:
    """An event of the fake GPU."""

    gpu: Gpu
    at_ns: int | None = None  # host time at which the GPU comes to it

    def record(self, stream: str) -> None:
        assert not self.gpu.captures, "the event would be one of the graph"
        self.at_ns = self.gpu.host.now_ns + (self.gpu.behind_ns if stream == "work" else 0)

    def query(self) -> bool:
        assert not self.gpu.captures, "the capture would be ended with an error"
        self.gpu.queries += 1
        return self.at_ns is not None and self.at_ns <= self.gpu.host.now_ns

    def elapsed_time(self, other: Event) -> float:
        assert self.query(), "asked before the GPU had come to it"
        assert other.query(), "asked before the GPU had come to it"
        return (other.at_ns - self.at_ns) * (1 + self.gpu.rate_ppm * 1e-6) / 1e6

    def synchronize(self) -> None:
        raise AssertionError("the training loop was made to wait")


class Gpu:
    """What ``torch.cuda`` offers the timeline."""

    def __init__(self, host: Host, rate_ppm: float = 0.0) -> None:
        self.host, self.rate_ppm = host, rate_ppm
        self.behind_ns = 0  # how long the work stream is occupied
        self.made = self.queries = 0
        self.captures = False

    def Event(self, enable_timing: bool) -> Event:
        assert enable_timing
        self.made += 1
        return Event(self)

    def Stream(self, device: object, priority: int) -> str:
        return "reference"

    def current_stream(self, device: object) -> str:
        return "work"

    def is_current_stream_capturing(self) -> bool:
        return self.captures


def timeline(host: Host, gpu: Gpu) -> CudaTimeline:
    return CudaTimeline(0, host, gpu)


@given(
    steps=st.lists(st.tuples(st.integers(10**6, 10**9), st.integers(0, 3 * 10**8)), min_size=1, max_size=60),
    rate_ppm=st.floats(-DRIFT_PPM, DRIFT_PPM),
)
def test_times_are_those_of_the_gpu_on_the_clock_of_the_host(steps: list[tuple[int, int]], rate_ppm: float) -> None:
    host = Host()
    gpu = Gpu(host, rate_ppm)
    marks = timeline(host, gpu)
    truth: dict[int, int] = {}
    got: dict[int, int] = {}
    last_ns = 0
    for k, (passes_ns, behind_ns) in enumerate(steps):
        host.now_ns += passes_ns
        gpu.behind_ns = max(behind_ns, last_ns - host.now_ns)  # a stream keeps its order
        marks.mark(("x", k))
        last_ns = truth[k] = marks._pending[-1][1].at_ns
        got.update((k, at_ns) for (_, k), at_ns in marks.known())
    host.now_ns += 10**10
    got.update((k, at_ns) for (_, k), at_ns in marks.known())
    assert got.keys() == truth.keys()
    for k, at_ns in got.items():
        # What the readings lie apart, and what the clocks drift in a reference event's life and while a mark waits.
        age_ns = RENEW_NS + 2 * 10**10
        assert abs(at_ns - truth[k]) <= 10 * host.reading_ns + age_ns * DRIFT_PPM / 1e6


def test_what_the_gpu_has_not_come_to_is_not_known() -> None:
    host = Host()
    gpu = Gpu(host)
    marks = timeline(host, gpu)
    gpu.behind_ns = 10**8
    marks.mark(("a", 0))
    assert marks.known() == []
    host.now_ns += 10**8
    assert [name for name, _ in marks.known()] == [("a", 0)]
    assert marks.known() == []


def test_order_is_kept_where_an_early_mark_waits() -> None:
    host = Host()
    gpu = Gpu(host)
    marks = timeline(host, gpu)
    gpu.behind_ns = 10**8
    marks.mark(("late", 0))
    gpu.behind_ns = 0
    marks.mark(("soon", 0))
    host.now_ns += 10**6
    assert marks.known() == []


def test_events_are_used_again() -> None:
    host = Host()
    gpu = Gpu(host)
    marks = timeline(host, gpu)
    for _ in range(1000):
        host.now_ns += 10**6
        marks.mark(("x", 0))
        marks.known()
    assert gpu.made < 10


def test_a_gpu_that_stands_still_costs_bounded_memory() -> None:
    host = Host()
    gpu = Gpu(host)
    gpu.behind_ns = 10**18
    marks = timeline(host, gpu)
    for k in range(3 * MOST_PENDING):
        marks.mark(("x", k))
    assert len(marks._pending) == MOST_PENDING


def test_a_reference_event_taken_while_the_host_was_interrupted_is_not_believed() -> None:
    host = Host()
    gpu = Gpu(host)
    marks = timeline(host, gpu)
    marks.mark(("first", 0))
    marks.known()
    host.now_ns += RENEW_NS
    host.reading_ns = 40_000_000  # the host loses the processor between the two readings
    marks.mark(("second", 0))
    host.reading_ns = 1_000
    truth = marks._pending[-1][1].at_ns
    ((_, at_ns),) = marks.known()
    assert abs(at_ns - truth) < 300_000
    # The next mark tries again.
    gpu.rate_ppm = DRIFT_PPM
    host.now_ns += 100 * RENEW_NS
    for _ in range(2):
        marks.mark(("third", 0))
        truth = marks._pending[-1][1].at_ns
        ((_, at_ns),) = marks.known()
    assert abs(at_ns - truth) < 10_000


CALLS: list[Callable[[Agent], object]] = [
    Agent.iteration,
    Agent.communication_started,
    Agent.communication_ended,
    Agent.interrupted,
    Agent.summary,
]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(CALLS)), max_size=60))
def test_while_a_graph_is_captured_no_event_is_touched_and_no_iteration_counted(
    calls: list[tuple[bool, Callable[[Agent], object]]],
) -> None:
    host = Host()
    gpu = Gpu(host)
    rank0_controller = Rank0Controller(Link(), Controller())
    agent = Agent(timeline(host, gpu), rank0_controller, host, lambda _: None)
    begun = 0
    for gpu.captures, call in calls:
        call(agent)
        host.now_ns += 10**8
        begun += call is Agent.iteration and not gpu.captures
    gpu.captures = False
    agent.iteration()
    assert agent.summary()["iterations"] == begun + 1
    assert agent.summary()["note"] == ""
