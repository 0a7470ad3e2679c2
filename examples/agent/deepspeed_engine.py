"""DeepSpeed with the agent: one call, before the first micro-batch of an iteration.

    torchrun --nproc-per-node 2 examples/agent/deepspeed_engine.py      (pip install deepspeed)

The engine accumulates by itself: it reduces gradients and steps the optimizer in the last of its micro-batches, its
``engine.step()`` does nothing in the others.
"""

import os

import torch
import torch.distributed as dist

import cassini_agent

MICRO_BATCHES = 2


def main() -> None:
    """Train a small model on random data with ZeRO stage 1."""
    on_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    if not on_gpus:
        os.environ.setdefault("DS_ACCELERATOR", "cpu")  # read as the package is imported
    import deepspeed

    deepspeed.init_distributed("nccl" if on_gpus else "gloo")
    engine, *_ = deepspeed.initialize(
        model=torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10)),
        config={
            "train_micro_batch_size_per_gpu": 64,
            "gradient_accumulation_steps": MICRO_BATCHES,
            "optimizer": {"type": "SGD", "params": {"lr": 0.01}},
            "zero_optimization": {"stage": 1},
            "zero_allow_untested_optimizer": True,
        },
    )
    agent = cassini_agent.connect()
    for _ in range(40):
        agent.iteration()  # once for all micro-batches: an iteration ends with the optimizer's step
        for _ in range(MICRO_BATCHES):
            inputs = torch.randn(64, 256, device=engine.device)
            labels = torch.randint(0, 10, (64,), device=engine.device)
            loss = torch.nn.functional.cross_entropy(engine(inputs), labels)
            engine.backward(loss)
            engine.step()
    assert engine.global_steps == 40
    if dist.get_rank() == 0:
        print(
            f"trained: loss {loss.item():.3f}, {agent.summary()['iterations']} iterations, {agent.summary()['state']}"
        )
    agent.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
