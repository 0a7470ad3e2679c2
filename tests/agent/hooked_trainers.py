"""Trainers whose DDP model has a communication hook before the agent comes to it: torchrun, argument: the trainer."""

from __future__ import annotations

import logging
import sys
import tempfile
from typing import Any

import torch
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.utils.data import DataLoader, TensorDataset


def compress(model: Any) -> None:
    """Register a hook. Not PowerSGD: over gloo that hangs now and then by itself, as it waits inside callbacks."""
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)


def lightning() -> dict[str, Any]:
    """A callback before the agent's registers the hook."""
    import lightning.pytorch as pl

    from cassini_agent.integrations.lightning import CassiniCallback

    class Model(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(16, 4)

        def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], batch_idx: int) -> torch.Tensor:
            return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    class Compressing(pl.Callback):
        def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
            compress(trainer.strategy.model)

    callback = CassiniCallback()
    trainer = pl.Trainer(
        max_steps=10,
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        callbacks=[Compressing(), callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Model(), DataLoader(TensorDataset(torch.randn(400, 16), torch.randint(0, 4, (400,))), batch_size=8))
    return callback.summary


def transformers() -> dict[str, Any]:
    """A callback before the agent's registers the hook."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    from cassini_agent.integrations.transformers import CassiniCallback

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(16, 4)

        def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": torch.nn.functional.cross_entropy(self.layer(inputs), labels)}

    class Compressing(TrainerCallback):
        trainer: Any = None
        done = False

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            if not self.done:
                self.done = True
                compress(self.trainer.model_wrapped)

    data = [{"inputs": torch.randn(16), "labels": torch.tensor(k % 4)} for k in range(400)]
    compressing, callback = Compressing(), CassiniCallback()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, max_steps=10, use_cpu=True, report_to=[], save_strategy="no")
        trainer = Trainer(Model(), arguments, train_dataset=data, callbacks=[compressing, callback])
        compressing.trainer = callback.trainer = trainer
        trainer.train()
    return callback.summary


if __name__ == "__main__":
    logging.basicConfig()
    print("iterations:", {"lightning": lightning, "transformers": transformers}[sys.argv[1]]()["iterations"])
