"""Nothing that is handed out is shared: to write into a result changes no later result."""

from __future__ import annotations

import pytest
import torch

import posenc
from posenc import positions

X = torch.zeros(2, 5, 16)
Q = torch.ones(1, 2, 5, 16)
ALIBI, T5 = posenc.AlibiBias(4), posenc.RelativePositionBias(4)
ROTARY, LAYER = posenc.RotaryEmbedding(16), posenc.PositionalEncoding(16, 0.0, max_len=32)
LEARNED = posenc.LearnedPositionalEmbedding(32, 16).eval()
TIMES = posenc.TimestepEmbedding(16)
BLOCK = posenc.EncoderBlock(16, 2, 32).eval()
MASK = torch.ones(2, 5)

CALLS = {
    "rows_for": lambda: LAYER.rows_for(X),
    "rows_for of computed rows": lambda: LAYER.rows_for(X, offset=1000),
    "rows_for of positions": lambda: LAYER.rows_for(X, positions=torch.arange(5)),
    "rows_for of one token": lambda: LAYER.rows_for(X[:, :1], offset=1000),
    "layer": lambda: LAYER(X, offset=1000),
    "learned rows_for": lambda: LEARNED.rows_for(X),
    "learned rows_for of positions": lambda: LEARNED.rows_for(X, positions=torch.arange(5)),
    "encode": lambda: posenc.encode(torch.arange(5), 16),
    "encode one": lambda: posenc.encode(3, 16),
    "table": lambda: posenc.table(5, 16),
    "grid": lambda: posenc.grid((3, 4), 16),
    "shift": lambda: posenc.shift(posenc.table(5, 16), 3),
    "shift by none": lambda: posenc.shift(posenc.table(5, 16), 0),
    "shift_matrix": lambda: posenc.shift_matrix(3, 16),
    "similarity": lambda: posenc.similarity(torch.arange(3), 16),
    "wavelengths": lambda: posenc.wavelengths(16),
    "locate": lambda: posenc.locate(posenc.table(5, 16)),
    "slopes": lambda: ALIBI.slopes,
    "alibi": lambda: ALIBI(5, 5),
    "alibi of one query": lambda: ALIBI(1, 5),
    "t5": lambda: T5(5, 5),
    "t5 buckets": lambda: T5.bucket(torch.arange(3)),
    "rotary": lambda: ROTARY(Q, Q)[0],
    "rotary, one token": lambda: ROTARY(Q[:, :, :1], Q[:, :, :1], offset=3)[0],
    "rotate": lambda: posenc.rotate(Q, torch.arange(5)),
    "timesteps": lambda: TIMES(torch.tensor([1.0, 2.0])),
    "block": lambda: BLOCK(X),
    "positions_from_mask": lambda: posenc.positions_from_mask(MASK),
    "positions_from_lengths": lambda: posenc.positions_from_lengths([2, 3]),
    "grid_positions": lambda: positions.grid_positions((2, 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_to_write_into_a_result_changes_no_later_one(name):
    call = CALLS[name]
    with torch.no_grad():
        call()
        handed = call()
        wanted = handed.clone()
        handed.add_(1)

        assert torch.equal(call(), wanted)


def test_to_write_into_rows_changes_no_other_layer():
    """rows_for handed out a block of a cache that all layers share."""
    one, other = (posenc.PositionalEncoding(16, 0.0, max_len=32) for _ in range(2))
    wanted = other(X, offset=1000)
    one.rows_for(X, offset=1000).mul_(0.5)

    assert torch.equal(other(X, offset=1000), wanted)


@pytest.mark.parametrize("name", ["encode", "layer", "rotary"])
def test_rows_of_the_cpu_are_new_memory(name):
    first, second = CALLS[name](), CALLS[name]()

    assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()
