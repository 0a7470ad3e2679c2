"""A training loop of its own with the agent: three lines are the agent's.

    torchrun --nproc-per-node 2 examples/agent/plain.py

Without a daemon the agent does nothing and says so once. CASSINI_JOB_ID names the job to the scheduler.
"""

import os

import torch
import torch.distributed as dist

import cassini_agent


def main() -> None:
    """Train a small model on random data; gradients are averaged by hand."""
    # NCCL needs a GPU for each rank of the host.
    on_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    dist.init_process_group("nccl" if on_gpus else "gloo")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpus else torch.device("cpu")
    model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    agent = cassini_agent.connect()  # 1
    for _ in range(40):
        agent.iteration()  # 2
        optimizer.zero_grad()
        inputs, labels = torch.randn(64, 256, device=device), torch.randint(0, 10, (64,), device=device)
        loss = torch.nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        with agent.communication():  # 3
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()
        optimizer.step()
    if dist.get_rank() == 0:
        print(
            f"trained: loss {loss.item():.3f}, {agent.summary()['iterations']} iterations, {agent.summary()['state']}"
        )
    agent.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
