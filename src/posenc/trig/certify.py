"""What float64 cannot decide in blocks of 256 consecutive positions, found once and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby

import torch
from torch import Tensor

from ..cache import Cache
from ..frequency import Ladder
from .blocks import consecutive, error_of, tiles
from .render import Candidates, settle
from .rounding import doubtful
from .rows import RADIX

CHUNK_BLOCKS = 256
# Values kept of a chunk: where more are in doubt, those of the rest are found again each time.
_ROOM = 1024
_CHUNK_BYTES = 128 << 10
CERTIFIED = Cache(4 << 20)

# Where the values of a block stand, rows counted from its first one, and what they are.
Decided = tuple[Candidates, Tensor]


@dataclass
class _Chunk:
    """What is known of 256 blocks: None for one that needs nothing. Threads may both find the same entry."""

    blocks: dict[int, Decided | None] = field(default_factory=dict)
    room: int = _ROOM

    def keep(self, block: int, decided: Decided | None) -> None:
        size = 0 if decided is None else len(decided[1])
        if block not in self.blocks and size <= self.room:
            self.room -= size
            self.blocks[block] = decided


def decided(low: int, high: int, ladder: Ladder, group: slice, dtype: torch.dtype) -> list[tuple[int, Decided]]:
    """The blocks of low .. high - 1, all of one chunk, that need something, and what."""
    key = (ladder, dtype, group.start, group.stop, low // CHUNK_BLOCKS)
    chunk = CERTIFIED.get(key, _Chunk, lambda _: _CHUNK_BYTES)
    found = {block: chunk.blocks[block] for block in range(low, high) if block in chunk.blocks}
    missing = [block for block in range(low, high) if block not in found]
    # Runs of neighbours: their numbers less their places in the list are equal.
    for _, run in groupby(enumerate(missing), lambda entry: entry[1] - entry[0]):
        numbers = [block for _, block in run]
        with torch.inference_mode(False), torch.no_grad():
            new = _look(numbers[0], numbers[-1] + 1, ladder, group, dtype)
        for block in numbers:
            chunk.keep(block, new.get(block))
        found |= new
    return [(block, entry) for block, entry in found.items() if entry is not None]


def _look(low: int, high: int, ladder: Ladder, group: slice, dtype: torch.dtype) -> dict[int, Decided]:
    # Twice the bound: the values that will be written come from another evaluation, off by as much again.
    bound = 2 * error_of(low, high)
    found = {}
    for first, values in tiles(low, high, ladder, group):
        mask = doubtful(values, bound, dtype)
        if first <= 0 < first + len(values) and not ladder.offset:
            # The row of position zero is exact.
            mask[-first, 0] = False
        for i in mask.flatten(1).any(1).nonzero().flatten().tolist():
            where = Candidates.of(mask[i]).moved(0, group.start)
            found[first + i] = where, settle(where, consecutive((first + i) * RADIX, RADIX), ladder, dtype)
    return found
