"""Encodings of consecutive positions: blocks times fine rows, in tiles that stay in cache.

Which values float64 cannot decide is found once for each block of 256 positions and kept.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..frequency import Ladder
from ..layout import Columns
from ..phase import step_limbs
from .render import Candidates, direct, put, settle, write
from .rounding import doubtful
from .rows import (
    ERROR_PER_ROW,
    RADIX,
    RADIX_BITS,
    Cache,
    coarse,
    digits_of,
    groups,
    places_of,
    rows,
    signs_of,
)

TILE_BLOCKS = 4
CHUNK_BLOCKS = 256
# What is kept of a block is mostly that it needs no repair: some 100 bytes.
_BLOCK_BYTES = 160
CERTIFIED = Cache(4 << 20)

_Decided = dict[int, tuple[Candidates, Tensor] | None]


def _consecutive(first: int, count: int) -> Tensor:
    # Not arange(first, end): the end of int64 has no successor.
    return torch.arange(count, dtype=torch.int64, device="cpu") + first


def _certified(ladder: Ladder, dtype: torch.dtype, group: slice, chunk: int) -> _Decided:
    key = (ladder, dtype, group.start, group.stop, chunk)
    return CERTIFIED.get(key, dict, lambda _: CHUNK_BLOCKS * _BLOCK_BYTES)


def _certify(
    values: Tensor, block: int, bound: float, ladder: Ladder, group: slice, dtype: torch.dtype
) -> tuple[Candidates, Tensor] | None:
    """What one block (256, pairs, 2) needs to be put right."""
    mask = doubtful(values, bound, dtype)
    if block == 0 and not ladder.offset:
        # The row of position zero is exact.
        mask[0] = False
    if not bool(mask.any()):
        return None
    with torch.inference_mode(False):
        where = Candidates.of(mask.clone(), 0, group.start)
        positions = _consecutive(block * RADIX, RADIX)
        return where, settle(where, positions, ladder, dtype)


def tabulate(out: Tensor, start: int, ladder: Ladder, columns: Columns) -> None:
    """Fill out (n, dim), on the CPU, with the encodings of start, start + 1, ...

    Law: equal, bit for bit, to `render` of the same positions.
    """
    if out.dtype == torch.float64:
        _tabulate_float64(out, start, ladder, columns)
        return
    stop = start + len(out)
    first, last = start >> RADIX_BITS, (stop - 1) >> RADIX_BITS
    for group in groups(ladder):
        fine = rows(ladder, group, 0)
        tile = fine.new_empty((TILE_BLOCKS, *fine.shape))
        for low in range(first, last + 1, CHUNK_BLOCKS):
            blocks = _consecutive(low, min(CHUNK_BLOCKS, last + 1 - low))
            places = max(1, places_of(blocks))
            factors = coarse(digits_of(blocks, places), signs_of(blocks), ladder, group)
            bound = (places + 1) * ERROR_PER_ROW
            for i in range(0, len(blocks), TILE_BLOCKS):
                count = min(TILE_BLOCKS, len(blocks) - i)
                torch.mul(factors[i : i + count].unsqueeze(1), fine, out=tile[:count])
                values = torch.view_as_real(tile[:count])
                begin = (low + i) * RADIX
                skip = max(0, start - begin)
                end = min(count * RADIX, stop - begin)
                into = out[begin + skip - start : begin + end - start]
                write(into, values.flatten(0, 1)[skip:end], columns, group)
                for j in range(count):
                    block = low + i + j
                    decided = _certified(ladder, out.dtype, group, block // CHUNK_BLOCKS)
                    if block not in decided:
                        decided[block] = _certify(values[j], block, bound, ladder, group, out.dtype)
                    if (needed := decided[block]) is not None:
                        _put_block(out, *needed, block * RADIX - start, columns)
    out[:, columns.spare] = 0


def _put_block(out: Tensor, where: Candidates, values: Tensor, shift: int, columns: Columns) -> None:
    row = where.rows + shift
    inside = (row >= 0) & (row < len(out))
    put(out, where._replace(rows=row).chosen(inside), values[inside], columns)


def _tabulate_float64(out: Tensor, start: int, ladder: Ladder, columns: Columns) -> None:
    steps = step_limbs(ladder)
    for group in groups(ladder):
        for i in range(0, len(out), 2 * RADIX):
            into = out[i : i + 2 * RADIX]
            positions = _consecutive(start + i, len(into))
            write(into, direct(positions, steps[:, :, group]), columns, group)
    out[:, columns.spare] = 0
