"""Where positions come from: padding masks, packed lengths, decoding, shards of a sequence, maps, timestamps."""

from .decoding import decoding_positions, last_positions, rolling_positions
from .maps import grid_positions, positions_of_map
from .masks import next_positions, positions_from_mask
from .packed import cumulative_lengths, positions_from_lengths
from .shards import shard_indices, shard_positions
from .timestamps import positions_from_timestamps

__all__ = [
    "cumulative_lengths",
    "decoding_positions",
    "grid_positions",
    "last_positions",
    "next_positions",
    "positions_from_lengths",
    "positions_from_mask",
    "positions_from_timestamps",
    "positions_of_map",
    "rolling_positions",
    "shard_indices",
    "shard_positions",
]
