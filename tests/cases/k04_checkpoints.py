"""Constant tables in checkpoints: what is computed is never taken from a file, and breaks no strict load."""

from __future__ import annotations

import io
import itertools

import pytest
import torch
from torch import nn

from posenc import AlibiBias, PositionalEncoding, RotaryEmbedding, SequenceEmbedding, TimestepEmbedding, table

from .formula import FLOAT32, FLOAT32_ROTATION, off, rows, turned
from .register import case


@case("B28")
def any_two_lengths_load_into_each_other():
    # What holds nothing saves nothing.
    for module in (RotaryEmbedding(8), TimestepEmbedding(8), AlibiBias(4), PositionalEncoding(8, persistent=False)):
        assert list(module.state_dict()) == []
    # The layer saves `pe`, as the paper's reference code does; no length, and no missing or extra one, breaks a load.
    assert list(PositionalEncoding(8).state_dict()) == ["pe"]
    made = [PositionalEncoding(8, 0.0, size, persistent=kept) for size in (5, 64) for kept in (True, False)]
    for one, other in itertools.permutations(made, 2):
        other.load_state_dict(one.state_dict())
        assert off(other.pe[0], rows(range(other.max_len), 8)) <= FLOAT32


@case("B29")
def computed_tables_are_never_stretched():
    # 14 x 14 patches, and a model of 16 x 16.
    layer = PositionalEncoding(8, 0.0, 16 * 16)
    layer.load_state_dict({"pe": table(14 * 14, 8).unsqueeze(0)})
    assert torch.equal(layer.pe[0], table(16 * 16, 8))
    # One that was stretched by somebody else is refused, with what it is measured to be.
    stretched = nn.functional.interpolate(table(196, 8).T.unsqueeze(0), size=256, mode="linear")[0].T
    with pytest.raises(RuntimeError, match="pe: got 'pe' off by up to"):
        layer.load_state_dict({"pe": stretched})
    assert torch.equal(layer.pe[0], table(16 * 16, 8))


@case("B31")
def frequencies_in_a_file_change_nothing():
    wrong = torch.full((4,), 0.5)
    rotary, q = RotaryEmbedding(8, base=500.0), torch.randn(1, 1, 5, 8)
    with pytest.raises(RuntimeError, match="inv_freq"):
        rotary.load_state_dict({"inv_freq": wrong})
    rotary.load_state_dict({"inv_freq": torch.tensor([1.0, 500**-0.25, 500**-0.5, 500**-0.75]).half()})
    made, _ = rotary(q, q)
    assert off(made[0, 0, 4], turned(q[0, 0, 4].tolist(), 4, base=500.0)) <= 4 * FLOAT32_ROTATION
    # So they are where they are part of the record of a system whose rows are added.
    layer = PositionalEncoding(8, 0.0, convention="positional-encodings")
    before = layer.pe.clone()
    with pytest.raises(RuntimeError, match="inv_freq"):
        layer.load_state_dict({"inv_freq": wrong})
    assert torch.equal(layer.pe, before)


@case("B32")
def a_table_that_was_saved_as_a_weight_loads_at_another_length():
    long = PositionalEncoding(8, 0.0, 4096, convention="hf-whisper")
    short = PositionalEncoding(8, 0.0, 1024, convention="hf-whisper")
    for state in (long.state_dict(), {"weight": long.pe[0].clone()}):
        short.load_state_dict(dict(state))
        assert torch.equal(short.pe[0], table(1024, 8, "hf-whisper"))


@case("B42")
def it_is_nothing_that_is_trained():
    class Parent(nn.Module):
        def __init__(self, persistent: bool):
            super().__init__()
            self.encoding, self.linear = PositionalEncoding(8, 0.0, 16, persistent=persistent), nn.Linear(8, 8)

    for persistent in (True, False):
        parent, file = Parent(persistent), io.BytesIO()
        torch.save(parent.state_dict(), file)
        file.seek(0)
        parent.load_state_dict(torch.load(file))
        # Saved when that is asked for, and never a parameter.
        kept = ["encoding.pe"] if persistent else []
        assert list(parent.state_dict()) == [*kept, "linear.weight", "linear.bias"]
        optimizer = torch.optim.SGD(parent.parameters(), lr=0.1)
        assert sum(p.numel() for group in optimizer.param_groups for p in group["params"]) == 8 * 8 + 8
    # With ids in front, only the vectors of the vocabulary are trained.
    assert [name for name, _ in SequenceEmbedding(10, 8).named_parameters()] == ["embedding.weight"]
