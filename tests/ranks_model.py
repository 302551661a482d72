"""The model that every rank of test_distributed.py trains, and its data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import posenc

DIM, HEADS, WORDS, LENGTH, BATCH = 16, 4, 50, 16, 8


class Model(nn.Module):
    """Embedding with its encoding, a learned one, three blocks with rotary and both biases, and a head."""

    def __init__(self, max_len: int = 64, *, persistent: bool = True, device: str | None = None) -> None:
        super().__init__()
        options = {"device": device, "dtype": torch.float64}
        self.front = posenc.SequenceEmbedding(
            WORDS, DIM, dropout=0.0, max_len=max_len, persistent=persistent, **options
        )
        self.learned = posenc.LearnedPositionalEmbedding(64, DIM, dropout=0.0, **options)
        slots: list[dict[str, Any]] = [
            {"rotary": posenc.RotaryEmbedding(DIM // HEADS)},
            {"bias": posenc.AlibiBias(HEADS)},
            {"bias": posenc.RelativePositionBias(HEADS, **options)},
        ]
        self.blocks = nn.ModuleList([posenc.EncoderBlock(DIM, HEADS, 32, 0.0, **slot, **options) for slot in slots])
        self.head = nn.Linear(DIM, 1, **options)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.learned(self.front(ids))
        for block in self.blocks:
            x = block(x)
        return self.head(x).squeeze(-1)


def example() -> tuple[Model, Tensor, Tensor]:
    """The same model and data on every rank."""
    torch.manual_seed(7)
    return Model(), torch.randint(1, WORDS, (BATCH, LENGTH)), torch.randn(BATCH, LENGTH, dtype=torch.float64)


def train(model: nn.Module, parameters: Any, ids: Tensor, wanted: Tensor, steps: int = 3) -> list[float]:
    """Losses of some steps."""
    optimizer = torch.optim.SGD(parameters, lr=0.05)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(ids) - wanted).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def mine(x: Tensor, rank: int, world: int) -> Tensor:
    """The part of a batch that this rank holds."""
    return x[rank * len(x) // world : (rank + 1) * len(x) // world]
