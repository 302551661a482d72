"""Positions that are given: packed, repeated, sharded over ranks, and relative ones."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import softmax

from posenc import (
    AlibiBias,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
    encode,
    positions_from_lengths,
    shard_positions,
)
from posenc.errors import InputError
from posenc.positions import cumulative_lengths, shard_indices

from .formula import FLOAT32, FLOAT32_ROTATION, off, rows, turned
from .register import case


@case("B104")
def every_position_is_looked_up():
    layer, rotary = PositionalEncoding(8, 0.0), RotaryEmbedding(8)
    for given in ([0, 1, 0, 1, 2], [7, 3, 3, 0, 100]):
        out = layer(torch.zeros(1, 5, 8), positions=torch.tensor([given]))
        assert off(out[0], rows(given, 8)) <= FLOAT32
        q = torch.randn(1, 1, 1, 8).expand(1, 1, 5, 8)
        made, _ = rotary(q, q, positions=torch.tensor([given]))
        wanted = [turned(q[0, 0, 0].tolist(), p) for p in given]
        assert off(made[0, 0], wanted) <= 4 * FLOAT32_ROTATION
    assert torch.equal(out[0, 1], out[0, 2])
    assert torch.equal(made[0, 0, 1], made[0, 0, 2])


@case("B105")
def packed_sequences_begin_again():
    positions = positions_from_lengths(cu_seqlens=torch.tensor([0, 2, 5]))
    assert positions.tolist() == [0, 1, 0, 1, 2]
    layer, x = PositionalEncoding(8, 0.0), torch.randn(1, 5, 8)
    apart = torch.cat([layer(x[:, :2]), layer(x[:, 2:])], 1)
    assert torch.equal(layer(x, positions=positions), apart)
    q = torch.randn(1, 1, 5, 8)
    rotary = RotaryEmbedding(8)
    pieces = [rotary(part, part)[0] for part in (q[:, :, :2], q[:, :, 2:])]
    assert torch.equal(rotary(q, q, positions=positions)[0], torch.cat(pieces, 2))
    assert positions_from_lengths(cu_seqlens=torch.tensor([0, 2, 2, 5])).tolist() == [0, 1, 0, 1, 2]


@case("B107")
def shards_make_the_whole():
    wanted = {"zigzag": [[0, 1, 6, 7], [2, 3, 4, 5]], "contiguous": [[0, 1, 2, 3], [4, 5, 6, 7]]}
    layer, x = PositionalEncoding(8, 0.0), torch.randn(1, 8, 8)
    for kind, lists in wanted.items():
        joined = torch.empty(1, 8, 8)
        for rank, expected in enumerate(lists):
            positions, indices = shard_positions(8, rank, 2, kind=kind), shard_indices(8, rank, 2, kind=kind)
            assert positions.tolist() == indices.tolist() == expected
            joined[:, indices] = layer(x[:, indices], positions=positions)
        assert torch.equal(joined, layer(x))


@case("B108")
def a_piece_may_begin_inside_a_document():
    local = torch.tensor([1024, 1025, 1026, 1027, 0, 1])
    assert cumulative_lengths(local).tolist() == [0, 4, 6]


@case("B109")
def positions_of_three_axes_are_no_packing():
    for call in (
        lambda: cumulative_lengths(torch.zeros(3, 1, 4, dtype=torch.int64)),
        lambda: RotaryEmbedding(8)(*[torch.zeros(1, 1, 4, 8)] * 2, positions=torch.zeros(3, 1, 4)),
        lambda: PositionalEncoding(8)(torch.zeros(1, 4, 8), positions=torch.zeros(3, 1, 4)),
    ):
        with pytest.raises(InputError, match=r"positions of shape \(3, 1, 4\)"):
            call()
    # Where three axes are meant, they are sections of the ladder, and stand last.
    rotary = RotaryEmbedding(16, sections=(4, 2, 2))
    q = torch.randn(1, 1, 4, 16)
    with pytest.raises(InputError, match=r"\(1, 4, 3\)"):
        rotary(q, q, positions=torch.zeros(3, 1, 4))
    rotary(q, q, positions=torch.zeros(1, 4, 3))


@case("B112")
def rows_are_told_by_their_distance():
    queries, keys = 2, 4
    # Queries are the last of the keys: positions 2 and 3.
    between = [[j - i for j in range(keys)] for i in (2, 3)]
    slopes = [2.0**-4, 2.0**-8]
    alibi = AlibiBias(2)(queries, keys)
    for head, slope in enumerate(slopes):
        assert alibi[head].tolist() == [[-slope * abs(d) for d in line] for line in between]
    bias = RelativePositionBias(2)
    got = bias(queries, keys)
    for i, line in enumerate(between):
        for j, d in enumerate(line):
            bucket = abs(d) + (16 if d > 0 else 0)  # below 8, every distance has its own
            assert torch.equal(got[0, :, i, j], bias.weight[bucket])
    # Rows of a relative table, keys before queries: i - j from the longest distance down.
    distances = torch.arange(keys - 1, -queries, -1)
    table = encode(distances, 8)
    for i in range(queries):
        for j in range(keys):
            place = queries - 1 - i + j
            distance = keys - queries + i - j
            assert distances[place] == distance
            assert off(table[place], rows([distance], 8)[0]) <= FLOAT32
    assert off(softmax(alibi, -1).sum(-1), torch.ones(2, queries)) <= 4 * FLOAT32
