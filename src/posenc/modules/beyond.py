"""Rows beyond the table of a layer, made a block at a time: a decoder asks for the next one right after."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cache import Cache
from ..convention import Convention
from ..encoding.values import table

BLOCK = 256
# Longer ones cost more than the block around them would save.
SHORT = 16
BLOCKS = Cache(8 << 20)


def rows_beyond(offset: int, length: int, dim: int, convention: Convention, dtype: torch.dtype) -> Tensor:
    """Rows (length, dim) of offset, offset + 1, ..., on the CPU; not to be written to."""
    first = offset // BLOCK * BLOCK
    if length > SHORT or offset + length > first + BLOCK or first + BLOCK > 1 << 63:
        return table(length, dim, convention, start=offset, dtype=dtype, device="cpu")

    def make() -> Tensor:
        with torch.inference_mode(False):
            return table(BLOCK, dim, convention, start=first, dtype=dtype, device="cpu")

    rows = BLOCKS.get((convention, dim, dtype, first), make, lambda made: made.numel() * made.element_size())
    return rows.narrow(0, offset - first, length)
