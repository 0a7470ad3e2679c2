"""PyTorch Lightning with the agent: one callback.

python examples/agent/lightning_trainer.py      (pip install lightning)
"""

import logging

import lightning.pytorch as pl
import torch
from torch.utils.data import DataLoader, TensorDataset

from cassini_agent.integrations.lightning import CassiniCallback


class Classifier(pl.LightningModule):
    """A small model."""

    def __init__(self) -> None:
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], batch_idx: int) -> torch.Tensor:
        """Loss of a batch."""
        inputs, labels = batch
        return torch.nn.functional.cross_entropy(self.model(inputs), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Plain gradient descent."""
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main() -> None:
    """Train on random data, two batches per optimizer step."""
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    data = TensorDataset(torch.randn(2560, 256), torch.randint(0, 10, (2560,)))
    callback = CassiniCallback()
    trainer = pl.Trainer(
        max_epochs=1,
        accelerator="auto",
        devices=1,
        accumulate_grad_batches=2,
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(), DataLoader(data, batch_size=64))
    did = callback.summary
    print(f"trained: {trainer.global_step} steps, {did['iterations']} iterations, {did['state']}")


if __name__ == "__main__":
    main()
