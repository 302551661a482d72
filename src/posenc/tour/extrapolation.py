"""Measures rows beyond the layer's table against the arbitrary-precision reference."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..modules import PositionalEncoding
from ..reference import columns

FAR = (5_000, 100_000, 10_000_000, 1_000_000_000)


def measure(length: int, dim: int) -> dict[str, Any]:
    """Asks a layer of max_len = `length` for later positions, in float32; errors are the largest.

    `textbook_error` is that of sin and cos of position * exp(-i log(10000) / dim), all in float32.
    """
    layer = PositionalEncoding(dim, dropout=0.0, max_len=length, dtype=torch.float32).eval()
    nothing = torch.zeros(1, 1, dim)
    positions = []
    for position in (length - 1, length, *(far for far in FAR if far > length)):
        exact = torch.tensor(columns([position], [0], dim).high, dtype=torch.float64).flatten()
        ours = layer(nothing, offset=position)[0, 0].double()
        positions.append(
            {
                "position": position,
                "where": "inside" if position < length else "beyond",
                "error": (ours - exact).abs().max().item(),
                "textbook_error": (textbook(position, dim).double() - exact).abs().max().item(),
            }
        )
    return {"max_len": length, "positions": positions}


def textbook(position: int, dim: int) -> Tensor:
    """The row that is copied everywhere, (dim,), in its own float32 arithmetic."""
    slowing = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
    angle = torch.tensor(position, dtype=torch.float32) * slowing
    row = torch.zeros(dim)
    row[0::2] = torch.sin(angle)
    row[1::2] = torch.cos(angle)
    return row
