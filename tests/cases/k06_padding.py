"""Padding and the numbering of positions: which tokens count, which mask means what, and where the next one stands."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from posenc import (
    LearnedPositionalEmbedding,
    PositionalEncoding,
    RotaryEmbedding,
    SequenceEmbedding,
    encode,
    positions_from_mask,
    table,
)
from posenc.positions import next_positions

from .formula import FLOAT32, off, row, rows
from .register import case

# Sums of float32 products of numbers near 1, 16 columns.
SCORES = 1e-6


@case("B43")
def left_padding_changes_nothing():
    length, pad = 5, 3
    x = torch.randn(1, length, 16)
    padded = torch.cat([torch.randn(1, pad, 16), x], 1)
    mask = torch.tensor([[0] * pad + [1] * length])
    # Rotary: scores hang on distances, so that even shifted positions agree, once padding is not attended to.
    rotary = RotaryEmbedding(16)

    def attend(tokens, real, **options):
        q, k = rotary(tokens.unsqueeze(1), tokens.unsqueeze(1), **options)
        return scaled_dot_product_attention(q, k, tokens.unsqueeze(1), attn_mask=real.bool()[:, None, None, :])

    alone = attend(x, torch.ones(1, length))
    assert (attend(padded, mask)[:, :, pad:] - alone).abs().max() < SCORES
    # What is added agrees where positions begin at the first real token, and only there.
    layer = PositionalEncoding(16, 0.0)
    numbered = layer(padded, positions=positions_from_mask(mask))
    assert torch.equal(numbered[:, pad:], layer(x))
    assert not torch.allclose(layer(padded)[:, pad:], layer(x))


@case("B45")
def without_padding_nothing_happens():
    ones = torch.ones(2, 6, dtype=torch.int64)
    assert torch.equal(positions_from_mask(ones), torch.arange(6).expand(2, 6))
    # Positions that are given are those that are used.
    given, layer = torch.tensor([[5, 3, 0, 9]]), PositionalEncoding(8, 0.0)
    out = layer(torch.zeros(1, 4, 8), positions=given)
    assert off(out[0], rows([5, 3, 0, 9], 8)) <= FLOAT32
    assert given.tolist() == [[5, 3, 0, 9]]


@case("B46")
def the_id_of_padding_shifts_nothing():
    ids = torch.tensor([[2, 3, 4, 5]])
    found = []
    for padding in (None, 1, 5000):
        front = SequenceEmbedding(6000, 8, 0.0, padding_idx=padding)
        found.append(front(ids) - front.scale * front.embedding(ids))
    for each in found:
        # A sum of vectors below 4 was rounded once.
        assert off(each[0], rows(range(4), 8)) <= 8 * FLOAT32
    assert off(PositionalEncoding(8, 0.0)(torch.zeros(1, 4, 8))[0], rows(range(4), 8)) <= FLOAT32
    # An offset is said, or belongs to the convention.
    assert off(PositionalEncoding(8, 0.0)(torch.zeros(1, 4, 8), offset=2)[0], rows(range(2, 6), 8)) <= FLOAT32
    learned = LearnedPositionalEmbedding(16, 8, 0.0, position_offset=2)
    assert torch.equal(learned(torch.zeros(1, 1, 8))[0, 0], learned.weight[2])


@case("B48")
def fairseq_counts_from_the_id_of_padding():
    ids = torch.tensor([[5, 6, 7, 1, 1]])
    mask = ids != 1
    assert (positions_from_mask(mask, filler=-1) + 2).tolist() == [[2, 3, 4, 1, 1]]
    front = SequenceEmbedding(10, 8, 0.0, convention="fairseq", padding_idx=1)
    with torch.no_grad():
        front.embedding.weight.zero_()
    # fairseq: halves, with the ladder to its end, 10000^(-k / 3) for the four pairs.
    wanted = [[t * 10000 ** (-k / 3) for k in range(4)] for t in (2, 3, 4)]
    angles = torch.tensor(wanted, dtype=torch.float64)
    out = front(ids)
    assert off(out[0, :3], torch.cat([angles.sin(), angles.cos()], -1)) <= FLOAT32
    assert not out[0, 3:].any()


@case("B49")
def padding_gets_a_position_that_every_table_has():
    padding, length = 50000, 32
    ids = torch.full((1, length), padding)
    ids[0, :4] = torch.tensor([7, 8, 9, 10])
    positions = positions_from_mask(ids != padding)
    assert positions[0].tolist() == [0, 1, 2, 3, *[0] * 28]
    LearnedPositionalEmbedding(length, 8)(torch.zeros(1, length, 8), positions=positions)


@case("B50")
def the_name_of_a_mask_says_what_it_means():
    real = torch.arange(5) < torch.tensor([[3], [5]])
    out = PositionalEncoding(8, 0.0)(torch.zeros(2, 5, 8), padding_mask=~real)
    norms = out.double().norm(dim=-1)
    # sqrt(d / 2), to the rounding of eight squares.
    assert (norms[real] - 2).abs().max() < 1e-6
    assert not norms[~real].any()
    assert torch.equal(positions_from_mask(real), positions_from_mask(key_padding_mask=~real))
    # One that hides every token of a row is most often the other one: where positions come from it, it is refused.
    for mask in ({"attention_mask": real & False}, {"key_padding_mask": real | True}):
        with pytest.raises(ValueError, match="all padding"):
            positions_from_mask(**mask)


@case("B51")
def padding_stays_zero_when_it_is_named():
    x = torch.randn(1, 5, 8)
    padding = torch.tensor([[False, False, False, True, True]])
    x = x.masked_fill(padding.unsqueeze(-1), 0)
    layer = PositionalEncoding(8, 0.0)
    assert not layer(x, padding_mask=padding)[0, 3:].any()
    assert off(layer(x)[0, 3:], rows([3, 4], 8)) <= FLOAT32


@case("B52")
def tokens_or_columns_are_counted():
    mask = torch.tensor([[1, 1, 0, 1]])
    assert positions_from_mask(mask).tolist() == [[0, 1, 0, 2]]
    # Columns are what the layer counts by itself, masked or not.
    out = PositionalEncoding(8, 0.0)(torch.zeros(1, 4, 8), padding_mask=mask == 0)
    assert off(out[0, [0, 1, 3]], rows([0, 1, 3], 8)) <= FLOAT32
    # Conventions say which of them a system does.
    ids = torch.tensor([[4, 5, 1, 6]])
    for convention, last in (("transformer", 3), ("fairseq", 2)):
        front = SequenceEmbedding(10, 8, 0.0, convention=convention, padding_idx=1)
        with torch.no_grad():
            front.embedding.weight.zero_()
        assert torch.equal(front(ids)[0, 3], encode(last, 8, convention))


@case("B53")
def the_next_position_is_the_number_of_real_tokens():
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    assert next_positions(mask).tolist() == [3, 5, 3]
    out = PositionalEncoding(8, 0.0)(torch.zeros(3, 1, 8), offset=next_positions(mask))
    assert off(out[:, 0], rows([3, 5, 3], 8)) <= FLOAT32


@case("B54")
def position_0_is_sines_of_nothing():
    assert table(1, 8)[0].tolist() == [0, 1] * 4
    assert encode(0, 8).tolist() == row(0, 8)
    # A row of zeros is a matter of a convention that has one.
    assert not encode(0, 8, "lex-glue-hierbert").any()
    assert encode(1, 8, "lex-glue-hierbert").any()


@case("B90")
def there_is_one_rule_for_positions():
    positions = positions_from_mask(torch.tensor([0, 0, 1, 1, 1]))
    assert positions.tolist() == [0, 0, 0, 1, 2]
    masks = (torch.rand(50, 9) < 0.5) | (torch.arange(9) == 4)
    assert positions_from_mask(masks).min() == 0
    assert torch.equal(positions_from_mask(masks)[~masks].unique(), torch.tensor([0]))
