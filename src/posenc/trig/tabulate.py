"""Encodings of consecutive positions, correctly rounded, written into memory that is there."""

from __future__ import annotations

import torch
from torch import Tensor

from ..frequency import Ladder
from ..layout import Columns
from ..phase import step_limbs
from .blocks import TILE_BLOCKS, consecutive, tiles
from .certify import CHUNK_BLOCKS, decided
from .render import FEW, Candidates, direct, parts_of, put, put_decided, render, render_directly, write
from .rounding import round_into
from .rows import RADIX, RADIX_BITS, groups, is_slow

# Wider than for rows in any order: only one row of factors and the fine rows are read for a tile.
TABLE_GROUP = 256


def tabulate(out: Tensor, start: int, ladder: Ladder, columns: Columns) -> None:
    """Fill out (n, dim), on the CPU, with the encodings of start, start + 1, ...

    Law: equal, bit for bit, to `render` of the same positions.
    """
    if len(out) < FEW:
        render(out, consecutive(start, len(out)), ladder, columns)
        return
    out[:, columns.spare] = 0
    last = start + len(out) - 1
    for group in groups(ladder, TABLE_GROUP):
        if out.dtype == torch.float64:
            _tabulate_float64(out, start, ladder, columns, group)
        elif is_slow(ladder, group, max(abs(start), abs(last))):
            positions = consecutive(start, len(out))
            put_decided(out, render_directly(out, positions, ladder, columns, group), positions, ladder, columns)
        else:
            _tabulate_by_blocks(out, start, ladder, columns, group)


def _tabulate_by_blocks(out: Tensor, start: int, ladder: Ladder, columns: Columns, group: slice) -> None:
    stop = start + len(out)
    first, end = start >> RADIX_BITS, (stop - 1 >> RADIX_BITS) + 1
    for number in range(first // CHUNK_BLOCKS, (end - 1) // CHUNK_BLOCKS + 1):
        low, high = max(first, number * CHUNK_BLOCKS), min(end, (number + 1) * CHUNK_BLOCKS)
        # Blocks that the table holds whole are filled where they are, the others beside it.
        inner = range(low + (low * RADIX < start), high - (high * RADIX > stop))
        if inner:
            row = inner.start * RADIX - start
            blocks = out[row : row + len(inner) * RADIX].unflatten(0, (len(inner), RADIX))
            _fill(blocks, inner.start, ladder, columns, group)
        for block in {low, high - 1} - set(inner):
            _fill_partly(out, block * RADIX - start, block, ladder, columns, group)
        _put_blocks(out, start, low, high, ladder, columns, group)


def _fill(out: Tensor, low: int, ladder: Ladder, columns: Columns, group: slice) -> None:
    """Blocks low, low + 1, ... into out (blocks, 256, dim), but for what float64 has not decided."""
    views = parts_of(out, columns, group)
    for block, values in tiles(low, low + len(out), ladder, group):
        i = block - low
        for into, index in views:
            round_into(into[i : i + TILE_BLOCKS], values[index])


def _fill_partly(out: Tensor, row: int, block: int, ladder: Ladder, columns: Columns, group: slice) -> None:
    """The rows of a block that out (n, dim) has, where the block would begin at `row`."""
    skip, end = max(0, -row), min(RADIX, len(out) - row)
    for _, values in tiles(block, block + 1, ladder, group):
        write(out[row + skip : row + end], values[0, skip:end], columns, group)


def _put_blocks(out: Tensor, start: int, low: int, high: int, ladder: Ladder, columns: Columns, group: slice) -> None:
    found = decided(low, high, ladder, group, out.dtype)
    if not found:
        return
    places = [where.moved(block * RADIX - start, 0) for block, (where, _) in found]
    where = Candidates(*(torch.cat(parts) for parts in zip(*places, strict=True)))
    inside = (where.rows >= 0) & (where.rows < len(out))
    put(out, where.chosen(inside), torch.cat([values for _, (_, values) in found])[inside], columns)


def _tabulate_float64(out: Tensor, start: int, ladder: Ladder, columns: Columns, group: slice) -> None:
    steps = step_limbs(ladder)[:, :, group]
    for i in range(0, len(out), 2 * RADIX):
        into = out[i : i + 2 * RADIX]
        write(into, direct(consecutive(start + i, len(into)), steps), columns, group)
