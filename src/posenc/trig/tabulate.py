"""Encodings of consecutive positions: blocks times fine rows, in tiles that stay in cache.

Which values float64 cannot decide is found once for each block of 256 positions and kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..frequency import Ladder
from ..layout import Columns
from ..phase import step_limbs
from .render import Candidates, direct, parts_of, put, settle, write
from .rounding import doubtful, round_into
from .rows import ERROR_PER_ROW, RADIX, RADIX_BITS, Cache, coarse, digits_of, groups, places_of, rows, signs_of

# Wider than for rows in any order: only one row of factors and the fine rows are read for a tile.
TABLE_GROUP = 256
TILE_BLOCKS = 4
CHUNK_BLOCKS = 256
# What is kept of a block is mostly that it needs nothing: some 100 bytes.
_BLOCK_BYTES = 160
CERTIFIED = Cache(4 << 20)


@dataclass
class _Chunk:
    """What is known of 256 blocks: which were looked at, and where float64 had not decided a value."""

    known: set[int] = field(default_factory=set)
    where: list[Candidates] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)


def _consecutive(first: int, count: int) -> Tensor:
    # Not arange(first, end): the end of int64 has no successor.
    return torch.arange(count, dtype=torch.int64, device="cpu") + first


def _chunk(ladder: Ladder, dtype: torch.dtype, group: slice, number: int) -> _Chunk:
    key = (ladder, dtype, group.start, group.stop, number)
    return CERTIFIED.get(key, _Chunk, lambda _: CHUNK_BLOCKS * _BLOCK_BYTES)


def _tiles(low: int, high: int, ladder: Ladder, group: slice) -> Iterator[tuple[int, Tensor]]:
    """Blocks low .. high - 1 -> first block and values (blocks, 256, pairs of the group, 2) of each tile.

    The memory of a tile is used again for the next.
    """
    blocks = _consecutive(low, high - low)
    factors = coarse(digits_of(blocks, _places(blocks)), signs_of(blocks), ladder, group).unsqueeze(1)
    fine = rows(ladder, group, 0)
    tile = fine.new_empty((min(TILE_BLOCKS, high - low), *fine.shape))
    values = torch.view_as_real(tile)
    for i in range(0, high - low, TILE_BLOCKS):
        if high - low - i < len(tile):
            tile, values = tile[: high - low - i], values[: high - low - i]
        torch.mul(factors[i : i + TILE_BLOCKS], fine, out=tile)
        yield low + i, values


def _places(blocks: Tensor) -> int:
    return max(1, places_of(blocks))


def _certify(chunk: _Chunk, low: int, high: int, ladder: Ladder, group: slice, dtype: torch.dtype) -> None:
    """Look at blocks low .. high - 1 once and for all."""
    bound = (1 + _places(_consecutive(low, high - low))) * ERROR_PER_ROW
    for first, values in _tiles(low, high, ladder, group):
        mask = doubtful(values, bound, dtype).flatten(0, 1)
        if first <= 0 < first + len(values) and not ladder.offset:
            # The row of position zero is exact.
            mask[-first * RADIX] = False
        if bool(mask.any()):
            where = Candidates.of(mask).moved(0, group.start)
            chunk.values.append(settle(where, _consecutive(first * RADIX, len(mask)), ladder, dtype))
            chunk.where.append(where.moved(first * RADIX, 0))
        chunk.known.update(range(first, first + len(values)))


def _fill(out: Tensor, low: int, ladder: Ladder, columns: Columns, group: slice) -> None:
    """Blocks low, low + 1, ... into out (blocks, 256, dim), but for what float64 has not decided."""
    views = parts_of(out, columns, group)
    for block, values in _tiles(low, low + len(out), ladder, group):
        i = block - low
        for into, index in views:
            round_into(into[i : i + TILE_BLOCKS], values[index])


def tabulate(out: Tensor, start: int, ladder: Ladder, columns: Columns) -> None:
    """Fill out (n, dim), on the CPU, with the encodings of start, start + 1, ...

    Law: equal, bit for bit, to `render` of the same positions.
    """
    out[:, columns.spare] = 0
    if out.dtype == torch.float64:
        _tabulate_float64(out, start, ladder, columns)
        return
    stop = start + len(out)
    first, last = start >> RADIX_BITS, (stop - 1) >> RADIX_BITS
    for number in range(first // CHUNK_BLOCKS, last // CHUNK_BLOCKS + 1):
        low, high = max(first, number * CHUNK_BLOCKS), min(last + 1, (number + 1) * CHUNK_BLOCKS)
        # Blocks that the table holds whole are filled where they are, the others beside it.
        inner = slice(low + (low * RADIX < start), high - (high * RADIX > stop))
        whole = max(0, inner.stop - inner.start)
        for group in groups(ladder, TABLE_GROUP):
            if whole:
                row = inner.start * RADIX - start
                blocks = out[row : row + whole * RADIX].unflatten(0, (whole, RADIX))
                _fill(blocks, inner.start, ladder, columns, group)
            for block in {low, high - 1} - set(range(inner.start, inner.stop)):
                beside = out.new_empty(1, RADIX, columns.dim)
                _fill(beside, block, ladder, columns, group)
                row = block * RADIX - start
                skip, end = max(0, -row), min(RADIX, len(out) - row)
                there, here = (parts_of(t, columns, group) for t in (out[row + skip : row + end], beside[0, skip:end]))
                for (into, _), (values, _) in zip(there, here, strict=True):
                    into.copy_(values)
            chunk = _chunk(ladder, out.dtype, group, number)
            if not chunk.known.issuperset(range(low, high)):
                with torch.inference_mode(False), torch.no_grad():
                    _certify(chunk, low, high, ladder, group, out.dtype)
            _put_decided(out, start, chunk, columns)


def _put_decided(out: Tensor, start: int, chunk: _Chunk, columns: Columns) -> None:
    if not chunk.where:
        return
    where = Candidates(*(torch.cat(parts) for parts in zip(*chunk.where, strict=True)))
    where = where._replace(rows=where.rows - start)
    inside = (where.rows >= 0) & (where.rows < len(out))
    put(out, where.chosen(inside), torch.cat(chunk.values)[inside], columns)


def _tabulate_float64(out: Tensor, start: int, ladder: Ladder, columns: Columns) -> None:
    steps = step_limbs(ladder)
    for group in groups(ladder):
        for i in range(0, len(out), 2 * RADIX):
            into = out[i : i + 2 * RADIX]
            positions = _consecutive(start + i, len(into))
            write(into, direct(positions, steps[:, :, group]), columns, group)
