"""Measures whether attention sees the order of words, without positions and with the encoding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..model import repeatable
from ..modules import PositionalEncoding

Layer = Callable[[Tensor], Tensor]


def measure(
    text: Sequence[str], sentences: tuple[Sequence[str], Sequence[str]], *, dim: int, seed: int
) -> dict[str, Any]:
    """Shuffles the text and compares the sentences, on untrained layers of torch in eval mode.

    `shuffle`: the largest |f(P x) - P f(x)| over all outputs, P a random order of the words.
    `sentences`: the largest difference between the two sentences, each pooled to the mean output.
    Both for each layer, without positions ("none") and with the encoding ("sinusoidal"),
    in float32 and float64: what shrinks with the precision was rounding.
    """
    first, second = sentences
    shuffle: dict[str, Any] = {"words": len(text)}
    pooled: dict[str, Any] = {
        "first": list(first),
        "second": list(second),
        "words": "same" if Counter(first) == Counter(second) else "different",
        "order": "same" if list(first) == list(second) else "different",
    }
    # New words last, so that the text keeps its vectors whatever the sentences are.
    vocabulary = [*sorted(set(text)), *sorted({*first, *second} - set(text))]
    for dtype in (torch.float32, torch.float64):
        precision = str(dtype).removeprefix("torch.")
        with repeatable(seed), torch.no_grad():
            order = _shuffled(len(text))
            layers = _layers(dim, dtype)
            # One by one and in float64: torch draws many numbers otherwise than few, and both precisions alike.
            vectors = torch.stack([torch.randn(dim, dtype=torch.float64) for _ in vocabulary]).to(dtype)
            longest = max(len(text), len(first), len(second))
            encoding = PositionalEncoding(dim, dropout=0.0, max_len=longest, dtype=dtype).eval()
            place = {word: i for i, word in enumerate(vocabulary)}
            x, a, b = (vectors[[place[word] for word in words]].unsqueeze(0) for words in (text, first, second))
            for name, layer in layers.items():
                for positions, encode in (("none", _unchanged), ("sinusoidal", encoding)):
                    moved = layer(encode(x[:, order])) - layer(encode(x))[:, order]
                    apart = layer(encode(a)).mean(dim=1) - layer(encode(b)).mean(dim=1)
                    for found, difference in ((shuffle, moved), (pooled, apart)):
                        entry = found.setdefault(name, {}).setdefault(positions, {})
                        entry[precision] = difference.abs().max().item()
    return {"dim": dim, "shuffle": shuffle, "sentences": pooled}


def _shuffled(length: int) -> Tensor:
    """A random order of so many words (at least two) that is not the order they stand in."""
    order = torch.arange(length)
    while torch.equal(order, torch.arange(length)):
        order = torch.randperm(length)
    return order


def _unchanged(x: Tensor) -> Tensor:
    return x


def _layers(dim: int, dtype: torch.dtype) -> dict[str, Layer]:
    heads = 4 if dim % 4 == 0 else 2
    attention = nn.MultiheadAttention(dim, heads, batch_first=True).to(dtype).eval()
    encoder = nn.TransformerEncoderLayer(dim, heads, 4 * dim, batch_first=True).to(dtype).eval()
    return {
        "MultiheadAttention": lambda x: attention(x, x, x, need_weights=False)[0],
        "TransformerEncoderLayer": encoder,
    }
