"""Products of fine and coarse rows for consecutive blocks of 256 positions, in tiles that stay in cache."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ..frequency import Ladder
from ..phase import phase_of, step_limbs
from .quarter import cos_sin
from .rows import ERROR_PER_ROW, RADIX, coarse, digits_of, places_of, rows, signs_of

TILE_BLOCKS = 8
# Below this many blocks, evaluating their phases costs less than preparing rows for all digits.
FEW_BLOCKS = 32


def consecutive(first: int, count: int) -> Tensor:
    """The integers first, first + 1, ... (count,), to the last of int64."""
    # Not arange(first, end): the end of int64 has no successor.
    return torch.arange(count, dtype=torch.int64, device="cpu") + first


def error_of(low: int, high: int) -> float:
    """Error bound of the values of blocks low .. high - 1, however their factors are made."""
    return (1 + max(1, places_of(consecutive(low, high - low)))) * ERROR_PER_ROW


def _factors(blocks: Tensor, ladder: Ladder, group: slice) -> Tensor:
    """exp(-i phase(256 * block)) (blocks, pairs of the group), complex128."""
    if len(blocks) < FEW_BLOCKS:
        steps = step_limbs(ladder)[:, :, group].clone()
        # The fine rows hold the offset of the convention.
        steps[-1] = 0
        # A block of int64 times 256 is the position of its first row, in int64 again.
        cosine, sine = cos_sin(phase_of((blocks * RADIX).unsqueeze(-1), steps))
        return torch.complex(cosine, -sine)
    return coarse(digits_of(blocks, max(1, places_of(blocks))), signs_of(blocks), ladder, group)


def tiles(low: int, high: int, ladder: Ladder, group: slice) -> Iterator[tuple[int, Tensor]]:
    """Blocks low .. high - 1 -> first block and values (blocks, 256, pairs of the group, 2) of each tile.

    Values are sine and cosine, float64. The memory of a tile is used again for the next.
    """
    factors = _factors(consecutive(low, high - low), ladder, group).unsqueeze(1)
    fine = rows(ladder, group, 0)
    tile = fine.new_empty((min(TILE_BLOCKS, high - low), *fine.shape))
    values = torch.view_as_real(tile)
    for i in range(0, high - low, TILE_BLOCKS):
        if high - low - i < len(tile):
            tile, values = tile[: high - low - i], values[: high - low - i]
        torch.mul(factors[i : i + TILE_BLOCKS], fine, out=tile)
        yield low + i, values
