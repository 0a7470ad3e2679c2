"""PyTorch FSDP2 (fully_shard) with the agent: one call, before the first micro-batch of an iteration.

    torchrun --nproc-per-node 2 examples/agent/fsdp2.py

Parameters are gathered and gradients scattered all through forward and backward, so no part of the loop is "the
communication": when the job sends is seen by the counters of its network ports.
"""

import os
import time

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import cassini_agent

MICRO_BATCHES = 2


def main() -> None:
    """Train a small model on random data, two micro-batches an iteration, gradients reduced in the second."""
    on_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    dist.init_process_group("nccl" if on_gpus else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpus else torch.device("cpu")
    if on_gpus:
        torch.cuda.set_device(device)
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).to(device)
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    agent = cassini_agent.connect()
    for _ in range(40):
        agent.iteration()  # once for all micro-batches: an iteration ends with the optimizer's step
        optimizer.zero_grad()
        for k in range(MICRO_BATCHES):
            model.set_requires_gradient_sync(k == MICRO_BATCHES - 1)  # what no_sync is to DDP
            inputs, labels = torch.randn(64, 256, device=device), torch.randint(0, 10, (64,), device=device)
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            (loss / MICRO_BATCHES).backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(
            f"trained: loss {loss.item():.3f}, {agent.summary()['iterations']} iterations, {agent.summary()['state']}"
        )
    agent.close()
    if not on_gpus:
        # Gloo's threads drop what the last backward gave them when they hold Python's lock, and PyTorch 2.13 does not
        # wait for that: one that finds the interpreter ending aborts the process. Nobody holds the lock meanwhile.
        time.sleep(0.5)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
