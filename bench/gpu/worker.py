"""One rank of a training job on a GPU: DistributedDataParallel, and no step ever waits for the GPU.

Started by ``bench.gpu.two_jobs`` with the environment of ``torch.distributed`` (RANK, WORLD_SIZE, MASTER_ADDR,
MASTER_PORT) and of the agent. The three lines that a user adds to a loop are those with ``agent``: connect, attach to
the model's hook, and one call an iteration. Everything else that this file knows of the agent is what it writes down
for the report. How far the host runs ahead of its GPU is left to CUDA's launch queue.
"""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import cassini_agent
from cassini_agent.integrations import ddp

from .models import MODELS, Work
from .requests import answer, requests, wait_for

WARM_UP = 12
"""Iterations: the allocator, cuDNN, connections; and in its first ten DDP itself waits for the GPU, to learn times."""


class Starts:
    """When iterations began: on a GPU by events, which are read after the run, else by the host's clock."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._marks: list[Any] = []

    def mark(self) -> None:
        """Here; the GPU is not waited for."""
        if self._device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self._marks.append(event)
        else:
            self._marks.append(time.monotonic_ns())

    def read(self) -> list[int]:
        """All of them on the monotonic clock, ns. Waits for the GPU: for the end of a run."""
        if self._device.type != "cuda":
            return list(self._marks)
        torch.cuda.synchronize()
        reference = torch.cuda.Event(enable_timing=True)
        reference.record()
        torch.cuda.synchronize()
        now_ns = time.monotonic_ns()
        return [now_ns - round(mark.elapsed_time(reference) * 1e6) for mark in self._marks]


class Training:
    """A model whose gradients DDP reduces."""

    def __init__(self, work: Work, device: torch.device) -> None:
        self.work, self.device = work, device
        self.model = DistributedDataParallel(work.model, gradient_as_bucket_view=True)

    def step(self, micro_batches: int | None = None) -> None:
        """All micro-batches; the gradients are reduced while the last one's are computed."""
        for _ in range((micro_batches or self.work.micro_batches) - 1):
            with self.model.no_sync():  # the forward pass too, or DDP reduces
                self._micro_batch()
        self._micro_batch()
        self.work.optimizer.step()
        self.work.optimizer.zero_grad()

    def _micro_batch(self) -> None:
        if self.work.pause_s:
            time.sleep(self.work.pause_s)
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(self.model(self.work.inputs), self.work.labels)
        loss.backward()


def serve(arguments: argparse.Namespace) -> None:
    """Do what is asked until the input ends."""
    on_gpu = arguments.gpu is not None
    device = torch.device("cuda", arguments.gpu) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    make, size = MODELS[arguments.model]
    work = make(device, arguments.size or size, arguments.tiny)
    training, agent = None, None
    asked = requests()
    while True:
        # Between two runs the job pauses, as for an evaluation.
        with agent.paused() if agent is not None else nullcontext():
            request = next(asked, None)
        if request is None:
            break
        if request["do"] == "prepare":
            dist.init_process_group("nccl" if on_gpu else "gloo")
            training = Training(work, device)
            if arguments.agent:
                agent = cassini_agent.connect(device=device)
                ddp.attach(agent, training.model)
            for _ in range(WARM_UP):
                training.step(1)
            known = {
                "bytes": sum(each.numel() * each.element_size() for each in training.model.parameters()),
                "waiting_operations": waiting_operations(training),
            }
            Starts(device).read()  # the GPU is done
        else:
            assert training is not None
            known = run(training, agent, request)
        if dist.get_rank() == 0:
            answer(request, **known)
    if agent is not None:
        agent.close()
    if training is not None:
        dist.barrier()
        dist.destroy_process_group()


def run(training: Training, agent: cassini_agent.Agent | None, request: dict[str, Any]) -> dict[str, Any]:
    """Some iterations, and when they began: for the GPU and for its host."""
    starts, came_ns = Starts(training.device), []
    trace = request.get("trace") if dist.get_rank() == 0 else None
    wait_for(request)
    with profiled(trace) if trace is not None else nullcontext(), torch.profiler.record_function("training loop"):
        for _ in range(request["iterations"]):
            if agent is not None:
                agent.iteration()
            came_ns.append(time.monotonic_ns())
            starts.mark()
            training.step()
        starts.mark()
    summary = agent.summary() if agent is not None else None
    return {"starts_ns": starts.read(), "came_ns": came_ns, "agent": summary}


def waiting_operations(training: Training) -> list[str]:
    """One step; which operations of PyTorch waited for the GPU in it: none, or the benchmark is not what it says."""
    if training.device.type != "cuda":
        training.step()
        return []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        training.step()
        torch.cuda.set_sync_debug_mode("default")
    return sorted(
        {f"{Path(one.filename).name}:{one.lineno}" for one in caught if "called a synchronizing" in str(one.message)}
    )


def profiled(path: str) -> torch.profiler.profile:
    """The profiler, writing a trace when it ends."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    return torch.profiler.profile(activities=activities, on_trace_ready=lambda p: p.export_chrome_trace(path))


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=sorted(MODELS), required=True)
    parser.add_argument("--gpu", type=int, help="default: the processor, and gloo")
    parser.add_argument("--size", type=int, help="images or sequences of a micro-batch")
    parser.add_argument("--tiny", action="store_true", help="a tiny model, to rehearse with")
    parser.add_argument("--agent", action="store_true")
    arguments = parser.parse_args()
    if arguments.gpu is None:
        torch.set_num_threads(1)
    serve(arguments)


if __name__ == "__main__":
    main()
