"""PyTorch Lightning: a callback that marks iterations, and keeps the agent quiet while the loop pauses."""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError:
    from pytorch_lightning import Callback, LightningModule, Trainer  # the older name of the same package
from torch.nn.parallel import DistributedDataParallel

from .callback_base import CallbackBase

__all__ = ["CassiniCallback"]


class CassiniCallback(CallbackBase, Callback):
    """``Trainer(callbacks=[CassiniCallback()])``.

    An iteration is one optimizer step: ``accumulate_grad_batches`` batches. Validation and checkpoints count as pauses.

    Parameters
    ----------
    agent : Agent, optional
        Default: connects, from the environment, when training starts.

    Attributes
    ----------
    summary : dict
        What the agent did, once training has ended.
    """

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Connect, and mark the all-reduces of a DDP model."""
        self._begin(trainer.global_rank, trainer.world_size)
        model = trainer.strategy.model
        if isinstance(model, DistributedDataParallel):
            self._attach(model)

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Begin an iteration with the first batch of an optimizer step."""
        if self.agent is not None and batch_idx % trainer.accumulate_grad_batches == 0:
            self.agent.iteration()

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Training pauses."""
        self._interrupted()

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Training pauses."""
        self._interrupted()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Keep the summary; close an agent that was made here."""
        self._end()
