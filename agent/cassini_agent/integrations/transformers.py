"""Hugging Face Trainer: a callback that marks iterations, and keeps the agent quiet while the loop pauses."""

from __future__ import annotations

from typing import Any

from torch.nn.parallel import DistributedDataParallel
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ..loop import Agent
from .callback_base import CallbackBase

__all__ = ["CassiniCallback"]


class CassiniCallback(CallbackBase, TrainerCallback):
    """``Trainer(callbacks=[CassiniCallback()])``.

    An iteration is one optimizer step, gradient accumulation included. Evaluations and checkpoints count as pauses.

    The trainer shows its callbacks the bare model alone. To have the all-reduces of its DDP model marked too, tell the
    callback: ``callback.trainer = trainer``. Iterations are held without that.

    Parameters
    ----------
    agent : Agent, optional
        Default: connects, from the environment, when training begins.

    Attributes
    ----------
    summary : dict
        What the agent did, once training has ended.
    """

    def __init__(self, agent: Agent | None = None) -> None:
        super().__init__(agent)
        self._attached: Any = None
        self.trainer: Any = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Connect."""
        self._begin(args.process_index, args.world_size)

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Begin an iteration; first see whether the model has been wrapped meanwhile."""
        if self.agent is None:
            return
        model = getattr(self.trainer, "model_wrapped", None)
        if isinstance(model, DistributedDataParallel) and self._attached is not model:
            self._attached = model
            self._attach(model)
        self.agent.iteration()

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """The loop paused."""
        self._interrupted()

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """The loop paused."""
        self._interrupted()

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Keep the summary; close an agent that was made here."""
        self._end()
