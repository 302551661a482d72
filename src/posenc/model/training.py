"""Fits a classifier to labelled sequences, and scores it."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

WARM_UP = 0.1  # share of the steps in which the learning rate rises


def fit(
    model: nn.Module,
    tokens: Tensor,
    labels: Tensor,
    *,
    steps: int,
    batch_size: int = 64,
    learning_rate: float = 1e-2,
    on_step: Callable[[int, float], None] | None = None,
) -> float:
    """Train on tokens (N, S) with labels (N,) of 0 and 1, in the order given; the last loss, in nats.

    AdamW, one-cycle learning rate, binary cross-entropy. Begins again when the examples run out.
    `on_step` hears the number of steps done, and the loss.
    """
    optimiser = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, learning_rate, total_steps=steps, pct_start=WARM_UP)
    targets = labels.to(torch.get_default_dtype())
    value = float("nan")
    model.train()
    for step in range(steps):
        rows = torch.arange(step * batch_size, (step + 1) * batch_size) % len(tokens)
        loss = functional.binary_cross_entropy_with_logits(model(tokens[rows]), targets[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        value = loss.item()
        if on_step is not None:
            on_step(step + 1, value)
    return value


def logits(model: nn.Module, tokens: Tensor) -> Tensor:
    """The model's answers to tokens (N, S), in float64, (N,); the model itself is left as it is.

    In float64, so that rounding in the order of a sum cannot tip an answer that is close to zero.
    """
    judge = copy.deepcopy(model).double().eval()
    with torch.no_grad():
        answers: Tensor = judge(tokens)
    return answers


def accuracy(answers: Tensor, labels: Tensor) -> float:
    """Share of the logits (N,) that fall on the side of their label, 0 or 1.

    >>> accuracy(torch.tensor([2.0, -1.0, 0.5, 3.0]), torch.tensor([1, 0, 0, 1]))
    0.75
    """
    return ((answers > 0) == (labels > 0)).double().mean().item()
