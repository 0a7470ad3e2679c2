"""One rank of a training job: VGG16 on synthetic images, one all-reduce of all gradients at the end of each iteration.

Started by ``bench.gpu.two_jobs`` with the environment of ``torch.distributed`` (RANK, WORLD_SIZE, MASTER_ADDR,
MASTER_PORT) and of the agent. The three lines that a user adds to a loop are those with ``agent``. Everything else that
this file knows of the agent is what it writes down for the report.
"""

from __future__ import annotations

import argparse
import json
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

import cassini_agent


def vgg16() -> nn.Module:
    """VGG16 for 1,000 classes (138.4 million parameters), without dropout: an iteration is like the next."""
    layers: list[nn.Module] = []
    channels = 3
    for block in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(block[1]):
            layers += [nn.Conv2d(channels, block[0], 3, padding=1), nn.ReLU(inplace=True)]
            channels = block[0]
        layers.append(nn.MaxPool2d(2))
    head = [nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers, *head)


class Training:
    """The model, its data and its one flat gradient."""

    def __init__(self, device: torch.device, images: int, micro_batches: int) -> None:
        self.model = vgg16().to(device, memory_format=torch.channels_last)
        self.parameters = list(self.model.parameters())
        # Gradients are views of one flat tensor: what is reduced is what the optimizer reads.
        self.flat = torch.zeros(sum(p.numel() for p in self.parameters), device=device)
        at = 0
        for parameter in self.parameters:
            parameter.grad = self.flat[at : at + parameter.numel()].view_as(parameter)
            at += parameter.numel()
        self.optimizer = torch.optim.SGD(self.parameters, lr=1e-4)
        self.images = torch.randn(images, 3, 224, 224, device=device).to(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 1000, (images,), device=device)
        self.micro_batches = micro_batches

    def compute(self) -> None:
        """Forward and backward of all micro-batches; gradients add up."""
        self.flat.zero_()
        for _ in range(self.micro_batches):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(self.model(self.images), self.labels)
            loss.backward()

    def reduce(self) -> None:
        """Add up the gradients of all ranks."""
        dist.all_reduce(self.flat)

    def step(self) -> None:
        """Take the step."""
        self.optimizer.step()


def run(arguments: argparse.Namespace) -> None:
    """Train for some iterations and write down when they began."""
    dist.init_process_group(arguments.backend)
    device = torch.device("cuda", arguments.gpu)
    torch.cuda.set_device(device)
    training = Training(device, arguments.images, arguments.micro_batches)
    for _ in range(3):  # allocator, cuDNN, connections
        training.compute()
        training.reduce()
        training.step()
    torch.cuda.synchronize()
    print("ready", flush=True)
    dist.barrier()
    time.sleep(max(0.0, arguments.start_monotonic_s - time.monotonic()))

    agent = cassini_agent.connect() if arguments.agent else None
    profiler = profiled(arguments) if arguments.trace else nullcontext()
    starts_ns = []
    with profiler:
        for _ in range(arguments.iterations):
            if agent is not None:
                agent.iteration()
            starts_ns.append(time.monotonic_ns())
            training.compute()
            with agent.communication() if agent is not None else nullcontext():
                training.reduce()
            training.step()
            torch.cuda.synchronize()  # as a loop does that looks at its loss: the host runs at most one iteration ahead
        starts_ns.append(time.monotonic_ns())
    if dist.get_rank() == 0:
        written = {"starts_ns": starts_ns, "agent": agent.summary() if agent is not None else None}
        written["bytes"] = training.flat.numel() * training.flat.element_size()
        Path(arguments.out).write_text(json.dumps(written))
    if agent is not None:
        agent.close()
    dist.barrier()
    dist.destroy_process_group()


def profiled(arguments: argparse.Namespace) -> torch.profiler.profile:
    """The profiler, writing a trace when it ends."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    return torch.profiler.profile(
        activities=activities, on_trace_ready=lambda p: p.export_chrome_trace(arguments.trace)
    )


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=["nccl", "gloo"], required=True)
    parser.add_argument("--gpu", type=int, required=True)
    parser.add_argument("--images", type=int, required=True, help="of a micro-batch, on this rank")
    parser.add_argument("--micro-batches", type=int, default=3)
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--start-monotonic-s", type=float, default=0.0)
    parser.add_argument("--agent", action="store_true")
    parser.add_argument("--trace", help="file for a profiler's trace")
    parser.add_argument("--out", required=True)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
