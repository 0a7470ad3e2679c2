"""What the GPU jobs train: VGG16, and a transformer of GPT-2's size, in plain PyTorch; tiny ones to rehearse with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

__all__ = ["MODELS", "Work"]

VOCABULARY = 50_304
"""GPT-2's 50,257 tokens, rounded up to a multiple of 64."""


@dataclass(frozen=True)
class Work:
    """What one rank does in an iteration.

    Attributes
    ----------
    model : nn.Module
        Called with ``inputs``; its loss is a cross entropy over the last dimension.
    inputs, labels : torch.Tensor
        One micro-batch, the same in every iteration.
    micro_batches : int
        Whose gradients are added up before they are reduced.
    optimizer : torch.optim.Optimizer
        Of the model.
    pause_s : float
        A wait in every micro-batch that stands for computation; 0 but for rehearsals.
    """

    model: nn.Module
    inputs: torch.Tensor
    labels: torch.Tensor
    micro_batches: int
    optimizer: torch.optim.Optimizer
    pause_s: float = 0.0


def vgg16(device: torch.device, size: int, tiny: bool) -> Work:
    """VGG16 (138.4 million parameters) on ``size`` images; no dropout: an iteration is like the next."""
    blocks = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]
    if tiny:
        blocks, size = [(8, 1), (8, 1), (16, 1), (16, 1), (16, 1)], 2
    layers: list[nn.Module] = []
    channels = 3
    for width, count in blocks:
        for _ in range(count):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
            channels = width
        layers.append(nn.MaxPool2d(2))
    hidden = 4096 if not tiny else 512
    layers += [nn.Flatten(), nn.Linear(channels * 49, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(hidden, 1000)).to(device, memory_format=torch.channels_last)
    images = torch.randn(size, 3, 224, 224, device=device).to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (size,), device=device)
    return Work(model, images, labels, 3, torch.optim.SGD(model.parameters(), lr=1e-4), 0.07 if tiny else 0.0)


class Block(nn.Module):
    """Attention and feed-forward, each after a layer norm and beside a residual path."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_forward = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.attended = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.forward_path = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of shape (sequences, tokens, width), as the result."""
        batch, length, width = x.shape
        split = self.queries_keys_values(self.before_attention(x)).view(batch, length, 3, self.heads, -1)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attended(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.forward_path(self.before_forward(x))


class Transformer(nn.Module):
    """A decoder whose output layer shares the weights of its token embedding."""

    def __init__(self, layers: int, width: int, heads: int, length: int, vocabulary: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.last_norm = nn.LayerNorm(width)
        self.register_buffer("places", torch.arange(length), persistent=False)
        for embedding in (self.tokens, self.positions):
            nn.init.normal_(embedding.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of the token that follows, of shape (sequences * tokens, vocabulary)."""
        x = self.tokens(tokens) + self.positions(self.places)
        x = self.last_norm(self.blocks(x))
        return nn.functional.linear(x, self.tokens.weight).flatten(0, 1)


def gpt2(device: torch.device, size: int, tiny: bool) -> Work:
    """A transformer of GPT-2's size (124 million parameters) on ``size`` sequences of 1,024 tokens."""
    if tiny:
        model, size, length, vocabulary = Transformer(2, 64, 2, 32, 8192), 2, 32, 8192
    else:
        length, vocabulary = 1024, VOCABULARY
        model = Transformer(12, 768, 12, length, vocabulary)
    model = model.to(device)
    tokens = torch.randint(0, vocabulary, (size, length), device=device)
    labels = torch.randint(0, vocabulary, (size * length,), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=device.type == "cuda")
    return Work(model, tokens, labels, 4, optimizer, 0.05 if tiny else 0.0)


MODELS: dict[str, tuple[Callable[[torch.device, int, bool], Work], int]] = {"vgg16": (vgg16, 500), "gpt2": (gpt2, 16)}
"""By name: what makes the work of a rank, and the usual size of a micro-batch."""
