"""One iteration of a :class:`~.training_job.TrainingJob`, played rank by rank.

What is sent, and the source of each figure:

* *Tensor parallelism*: activations of ``b s h`` elements are all-reduced twice in the forward and twice in the backward
  pass of each layer and micro-batch, and computation waits (Shoeybi et al., "Megatron-LM: Training Multi-Billion
  Parameter Language Models Using Model Parallelism", 2019, section 3; Narayanan et al., "Efficient Large-Scale Language
  Model Training on GPU Clusters Using Megatron-LM", 2021, section 3.2).
* *Pipeline*: the schedule 1F1B (Narayanan et al., "PipeDream", 2019; with a flush at the end of each iteration: 2021,
  section 2.2.1). The bubble is ``(p-1)/m`` of the computation where messages take no time. Each stage sends ``b s h``
  elements to the next one in the forward and to the previous one in the backward pass of each micro-batch (2021,
  section 3.2). With sequence parallelism tensor parallel ranks send a ``t``-th each.
* *Experts*: tokens are sent to their experts and back by an all-to-all each, in both passes (Lepikhin et al., "GShard",
  2020; Fedus et al., "Switch Transformers", 2021): ``b s k c h`` elements with ``k`` experts per token and the capacity
  factor ``c``, whatever the routing: buffers are sent whole.
* *Gradients*: an all-reduce of the rank's parameters over its data parallel group, in buckets as soon as they are ready
  in the last micro-batch's backward pass (Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel
  Training", 2020). Experts' gradients are reduced over the ranks that hold the same experts.
  In a pipeline a stage sends them after its last pass.
* *Sharding*: a reduce-scatter and an all-gather in place of the all-reduce, as many bytes; with parameters sharded too
  an all-gather in the forward and one in the backward pass, and a reduce-scatter: half as many again (Rajbhandari et
  al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020, section 7; Zhao et al., "PyTorch
  FSDP: Experiences on Scaling Fully Sharded Data Parallel", 2023), for each micro-batch. With overlap a layer's
  parameters are gathered while the layer before it computes.
* *Computation*: the backward pass takes twice the forward pass (Kaplan et al., "Scaling Laws for Neural Language
  Models", 2020, section 2.1) unless told otherwise.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence

from ...errors import refusal
from .groups import Group, Message
from .timeline import MAX_TRANSFERS, Timeline
from .training_job import TrainingJob

__all__ = ["play"]

_MOST_UNITS = 256

MAX_PASSES = 1_000_000
"""Passes through layers in an iteration, of all stages together: some ten seconds."""


def play(job: TrainingJob) -> list[Timeline]:
    """One iteration: the timeline of a rank of each pipeline stage. Cost: some 5 µs for each layer and micro-batch."""
    through_layers = 2 * job.microbatches * max(job.layers or 0, job.pipeline)
    if through_layers > MAX_PASSES:
        expected = f"at most {MAX_PASSES} passes of micro-batches through layers, forward and backward"
        raise refusal("", "microbatches", expected, str(through_layers))
    ranks = [_Rank(job, stage) for stage in range(job.pipeline)]
    waiting = [deque(_order(stage, job.pipeline, job.microbatches)) for stage in range(job.pipeline)]
    arrived: dict[tuple[bool, int, int], float] = {}
    for microbatch in range(job.microbatches):
        arrived[True, 0, microbatch] = arrived[False, job.pipeline - 1, microbatch] = 0.0
    while any(waiting):
        for stage, passes in enumerate(waiting):
            while passes and (passes[0][0], stage, passes[0][1]) in arrived:
                forward, microbatch = passes.popleft()
                done = ranks[stage].run(forward, arrived.pop((forward, stage, microbatch)), last=not passes)
                following = stage + 1 if forward else stage - 1
                if 0 <= following < job.pipeline:
                    arrived[forward, following, microbatch] = done
    return [rank.timeline for rank in ranks]


def _order(stage: int, stages: int, microbatches: int) -> Iterator[tuple[bool, int]]:
    """The passes of a stage in 1F1B: whether forward, and the micro-batch."""
    ahead = min(stages - 1 - stage, microbatches)
    yield from ((True, number) for number in range(ahead))
    for number in range(microbatches - ahead):
        yield True, ahead + number
        yield False, number
    yield from ((False, number) for number in range(microbatches - ahead, microbatches))


class _Rank:
    """A rank of one stage. Its computation is cut into units: its layers, or without them as many as buckets."""

    def __init__(self, job: TrainingJob, stage: int) -> None:
        self.timeline = Timeline(job.gbps, job.local_gbps)
        self._job = job
        groups = job.groups
        spread = job.tensor * job.pipeline
        dense = job.dense_bytes / spread
        expert = job.bytes_per_parameter * (job.expert_parameters or 0.0) / (spread * job.expert)
        self._shards = [(groups["data"], dense), (groups["expert data"], expert)]
        self._units = _units(job, max(dense, expert))
        whole_ms = job.compute_ms / job.microbatches / len(self._units)
        self._unit_ms = {True: job.forward_share * whole_ms, False: (1 - job.forward_share) * whole_ms}
        self._sends = {
            forward: Group("pipeline", 2, 2 if upper % groups["pipeline"].local else 1).message(
                "send", _activations(job) / (job.tensor if job.sequence_parallel else 1)
            )
            for forward, upper in ((True, stage + 1), (False, stage))
            if 0 < upper < job.pipeline
        }

    def run(self, forward: bool, ready_ms: float, *, last: bool) -> float:
        """One pass of a micro-batch from when its input is there; when the next stage has the result, ms."""
        job, timeline, units = self._job, self.timeline, len(self._units)
        timeline.wait_until(ready_ms)
        gathers = [one.part(1 / units) for one in self._collectives("all_gather")] if job.sharding == "full" else []
        arrival = self._start(gathers)
        for number, messages in enumerate(self._units if forward else reversed(self._units)):
            timeline.wait_until(arrival)
            following = gathers if number + 1 < units else []
            if job.overlap:
                arrival = self._start(following)
            timeline.compute(self._unit_ms[forward])
            for message in messages:
                timeline.run(message)
            if not forward:
                self._send_gradients(number, last)
            if not job.overlap:
                arrival = self._start(following)
        done = timeline.start(self._sends[forward]) if forward in self._sends else timeline.now_ms
        if last:
            self._finish()
        return done

    @property
    def _buckets_early(self) -> bool:
        """Whether gradients are sent during the backward pass.

        Not in a pipeline: they would go before what the stage before waits for. They are sent after the stage's last
        pass, while the stages before it go on.
        """
        return self._job.overlap and self._job.pipeline == 1

    def _send_gradients(self, number: int, last: bool) -> None:
        """What is ready after the ``number``-th unit of a backward pass."""
        units = len(self._units)
        if self._job.sharding == "full":
            done = self._start([one.part(1 / units) for one in self._collectives("reduce_scatter")])
            if not self._job.overlap:
                self.timeline.wait_until(done)
        elif last and self._buckets_early:
            for message, size in self._gradients():
                count = _bucket_count(self._job, size)
                self._start([message.part(1 / count)] * ((number + 1) * count // units - number * count // units))

    def _finish(self) -> None:
        """What follows the last backward pass."""
        if not self._buckets_early:
            self._start([message for message, _ in self._gradients()])
        self.timeline.wait_until(self.timeline.end_ms)
        if self._job.sharding == "optimizer":
            self.timeline.wait_until(self._start(self._collectives("all_gather")))

    def _start(self, messages: Sequence[Message]) -> float:
        return max([self.timeline.start(message) for message in messages], default=self.timeline.now_ms)

    def _collectives(self, kind: str) -> list[Message]:
        return [group.message(kind, size) for group, size in self._shards if size > 0 and group.size > 1]

    def _gradients(self) -> list[tuple[Message, float]]:
        """The collectives of all gradients, each with the bytes of the gradients."""
        if self._job.sharding == "full":
            return []
        kind = "all_reduce" if self._job.sharding == "none" else "reduce_scatter"
        return [(group.message(kind, size), size) for group, size in self._shards if size > 0 and group.size > 1]


def _units(job: TrainingJob, gradient_bytes: float) -> list[tuple[Message, ...]]:
    """Of each unit the messages that its computation waits for, in either pass."""
    if job.layers is None:
        return [()] * (min(_bucket_count(job, gradient_bytes), _MOST_UNITS) if job.overlap else 1)
    tensor, expert = job.groups["tensor"], job.groups["expert"]
    dense: tuple[Message, ...] = ()
    if tensor.size > 1:
        dense = (tensor.message("all_reduce", _activations(job)).times(2),)
    experts = dense
    if expert.size > 1:
        tokens = _activations(job) / (job.tensor if job.sequence_parallel else 1)
        experts = (*dense, expert.message("all_to_all", tokens * job.top_k * job.capacity_factor).times(2))
    every = job.layers // (job.moe_layers or job.layers)
    return [dense if number % every else experts for number in range(job.layers // job.pipeline)]


def _activations(job: TrainingJob) -> float:
    """Bytes of a layer's output for a micro-batch; 0 where nothing asks for them."""
    if job.batch is None or job.sequence is None or job.hidden is None:
        return 0.0
    return job.activation_bytes * job.batch * job.sequence * job.hidden


def _bucket_count(job: TrainingJob, gradient_bytes: float) -> int:
    count = gradient_bytes / job.bucket_bytes
    if count > MAX_TRANSFERS:
        raise refusal("", "bucket_bytes", f"at most {MAX_TRANSFERS} buckets", f"{count:.4g}")
    return max(1, math.ceil(count))
