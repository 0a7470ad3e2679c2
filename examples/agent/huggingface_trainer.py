"""Hugging Face Trainer with the agent: one callback.

python examples/agent/huggingface_trainer.py      (pip install transformers accelerate)
"""

import tempfile

import torch
from transformers import Trainer, TrainingArguments

from cassini_agent.integrations.transformers import CassiniCallback


class Classifier(torch.nn.Module):
    """A small model that gives its loss, as the Trainer expects."""

    def __init__(self) -> None:
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """Loss and logits."""
        logits = self.model(inputs)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def main() -> None:
    """Train on random data, two batches per optimizer step."""
    data = [{"inputs": torch.randn(256), "labels": torch.randint(0, 10, ()).item()} for _ in range(1280)]
    callback = CassiniCallback()
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=20,
            per_device_train_batch_size=32,
            gradient_accumulation_steps=2,
            report_to=[],
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = Trainer(model=Classifier(), args=arguments, train_dataset=data, callbacks=[callback])
        callback.trainer = trainer  # its DDP model, where there is one
        trainer.train()
    steps = trainer.state.global_step
    print(f"trained: {steps} steps, {callback.summary['iterations']} iterations, {callback.summary['state']}")


if __name__ == "__main__":
    main()
