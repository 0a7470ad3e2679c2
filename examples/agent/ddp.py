"""PyTorch DistributedDataParallel with the agent: DDP's all-reduces are seen through a communication hook.

torchrun --nproc-per-node 2 examples/agent/ddp.py
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import cassini_agent
from cassini_agent.integrations.ddp import attach


def main() -> None:
    """Train a small model on random data, two micro-batches an iteration."""
    dist.init_process_group("gloo")
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    agent = cassini_agent.connect()
    attach(agent, model)
    for _ in range(40):
        agent.iteration()
        optimizer.zero_grad()
        with model.no_sync():
            torch.nn.functional.cross_entropy(model(torch.randn(64, 256)), torch.randint(0, 10, (64,))).backward()
        loss = torch.nn.functional.cross_entropy(model(torch.randn(64, 256)), torch.randint(0, 10, (64,)))
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        print(
            f"trained: loss {loss.item():.3f}, {agent.summary()['iterations']} iterations, {agent.summary()['state']}"
        )
    agent.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
