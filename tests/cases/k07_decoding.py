"""Decoding step by step: where a token stands that comes after others, row by row, and that nothing is remembered."""

from __future__ import annotations

import torch
from torch.nn.functional import scaled_dot_product_attention

from posenc import (
    AlibiBias,
    LearnedPositionalEmbedding,
    PositionalEncoding,
    RelativePositionBias,
    RotaryEmbedding,
    SequenceEmbedding,
    rotate,
)
from posenc.positions import decoding_positions, last_positions

from .formula import FLOAT32, FLOAT32_ROTATION, off, rows, turned
from .register import case

# Sums of float32 products of numbers near 1, a dozen tokens.
SCORES = 1e-6


@case("B55")
def the_offset_grows_by_the_tokens_of_the_call():
    layer, x, offsets, offset = PositionalEncoding(8, 0.0), torch.randn(1, 9, 8), [], 0
    pieces = []
    for step in (6, 1, 1, 1):
        offsets.append(offset)
        assert decoding_positions(step, offset).tolist() == list(range(offset, offset + step))
        pieces.append(layer(x[:, offset : offset + step], offset=offset))
        offset += step
    assert offsets == [0, 6, 7, 8]
    assert torch.equal(torch.cat(pieces, 1), layer(x))


def _decoded(rotary: RotaryEmbedding, x: torch.Tensor, steps: list[int], layers: int = 2) -> torch.Tensor:
    """Causal attention, layer upon layer, with keys cached as they were turned."""
    caches = [x.new_empty(1, 2, 0, 8) for _ in range(layers)]
    past, values, done, made = list(caches), list(caches), 0, []
    for step in steps:
        hidden = x[:, :, done : done + step]
        for i in range(layers):
            q, k = rotary(hidden, hidden, offset=done)
            past[i], values[i] = torch.cat([past[i], k], 2), torch.cat([values[i], hidden], 2)
            seen = torch.arange(done + step) <= torch.arange(done, done + step).unsqueeze(-1)
            hidden = scaled_dot_product_attention(q, past[i], values[i], attn_mask=seen)
        made.append(hidden)
        done += step
    return torch.cat(made, 2)


@case("B56")
def layers_share_one_encoding_that_remembers_nothing():
    rotary, x = RotaryEmbedding(8), torch.randn(1, 2, 5, 8)
    before = dict(rotary.__dict__)
    whole = _decoded(rotary, x, [5])
    assert (_decoded(rotary, x, [1] * 5) - whole).abs().max() < SCORES
    assert rotary.__dict__ == before


@case("B58")
def queries_are_the_last_of_the_keys():
    rotary, x = RotaryEmbedding(8), torch.randn(1, 2, 7, 8)
    whole, _ = rotary(x, x)
    for n in (1, 2, 7):
        q, k = rotary(x[:, :, 7 - n :], x)
        assert torch.equal(q, whole[:, :, 7 - n :])
        assert torch.equal(k, whole)
        assert last_positions(n, 7).tolist() == list(range(7 - n, 7))
    mask = torch.ones(7, 7).tril().bool()
    full = scaled_dot_product_attention(whole, whole, x, attn_mask=mask)
    step = scaled_dot_product_attention(rotary(x[:, :, 6:], x)[0], rotary(x, x)[1], x)
    assert (full[:, :, 6:] - step).abs().max() < SCORES


@case("B59")
def every_row_has_its_own_offset():
    offsets, x = torch.tensor([3, 5]), torch.randn(2, 2, 8)
    assert decoding_positions(2, offsets).tolist() == [[3, 4], [5, 6]]
    layer = PositionalEncoding(8, 0.0)
    out = layer(x, offset=offsets)
    assert off(layer(x * 0, offset=offsets), torch.stack([rows([3, 4], 8), rows([5, 6], 8)])) <= FLOAT32
    q = torch.randn(2, 3, 2, 8)
    turn, _ = RotaryEmbedding(8)(q, q, offset=offsets)
    for i, offset in enumerate([3, 5]):
        assert torch.equal(out[i], layer(x[i], offset=offset))
        assert torch.equal(turn[i : i + 1], RotaryEmbedding(8)(q[i : i + 1], q[i : i + 1], offset=offset)[0])


@case("B60")
def a_turn_by_the_difference_renumbers_a_key():
    key = torch.randn(1, 1, 1, 8)
    moved = rotate(rotate(key, [9]), [-2])
    assert (moved - rotate(key, [7])).abs().max() < 1e-6
    assert off(moved[0, 0, 0], turned(key[0, 0, 0].tolist(), 7)) <= 4 * FLOAT32_ROTATION
    # Positions of every key at once, in a cache whose oldest entries were dropped.
    keys, old, new = torch.randn(1, 2, 6, 8), torch.tensor([4, 5, 6, 7, 8, 9]), torch.arange(6)
    assert (rotate(rotate(keys, old), new - old) - rotate(keys, new)).abs().max() < 2e-6


@case("B61")
def one_token_is_nothing_special():
    x = torch.randn(6, 1, 8)
    made, _ = RotaryEmbedding(8)(x, x, offset=5)
    for i in range(6):
        assert off(made[i, 0], turned(x[i, 0].tolist(), 5)) <= 4 * FLOAT32_ROTATION
        assert torch.equal(made[i], rotate(x[i], [5]))
    assert off(made.norm(dim=-1), x.double().norm(dim=-1)) <= 4 * FLOAT32_ROTATION


@case("B89")
def pieces_equal_the_whole():
    x, ids, q = torch.randn(2, 6, 8), torch.randint(0, 9, (2, 6)), torch.randn(2, 2, 6, 8)
    later = (4, torch.tensor(4), torch.tensor([4, 4]))
    for module in (PositionalEncoding(8, 0.0), LearnedPositionalEmbedding(16, 8, 0.0), SequenceEmbedding(9, 8, 0.0)):
        given = ids if isinstance(module, SequenceEmbedding) else x
        for offset in later:
            pieces = [module(given[:, :4], offset=0), module(given[:, 4:], offset=offset)]
            assert torch.equal(torch.cat(pieces, 1), module(given))
    rotary, whole = RotaryEmbedding(8), RotaryEmbedding(8)(q, q)[0]
    for offset in later:
        pieces = [rotary(part, part, offset=at)[0] for part, at in ((q[:, :, :4], 0), (q[:, :, 4:], offset))]
        assert torch.equal(torch.cat(pieces, 2), whole)
    for bias in (AlibiBias(2), RelativePositionBias(2)):
        for offset in later:
            pieces = [bias(4, 6, offset=0), bias(2, 6, offset=offset)]
            leading = torch.broadcast_shapes(*(piece.shape[:-2] for piece in pieces))
            joined = torch.cat([piece.expand(*leading, *piece.shape[-2:]) for piece in pieces], -2)
            assert torch.equal(joined, bias(6, 6).expand_as(joined))
