"""Magnitudes: norms of rows, sqrt(d_model), amplitude and dropout."""

from __future__ import annotations

import math

import pytest
import torch

from posenc import Convention, PositionalEncoding, SequenceEmbedding, table

from .formula import FLOAT32, off, rows
from .register import case


@case("B161")
def rows_have_the_norm_sqrt_of_half_the_width():
    norms = table(5000, 512, dtype=torch.float64).norm(dim=-1)
    assert off(norms, torch.full((5000,), 16.0)) <= 1e-13
    assert off(table(5000, 512).double().norm(dim=-1), torch.full((5000,), 16.0)) <= 16 * FLOAT32
    small = table(10, 512, Convention(gain=0.5), dtype=torch.float64).norm(dim=-1)
    assert off(small, torch.full((10,), 8.0)) <= 1e-13


@case("B162")
def the_factor_is_where_it_is_named():
    x, layer = torch.ones(1, 1, 512), PositionalEncoding(512, 0.0)
    # The layer adds, and multiplies nothing.
    assert off((layer(x) - layer.pe[:, :1])[0, 0], torch.ones(512)) <= 2 * FLOAT32
    front = SequenceEmbedding(10, 512, 0.0)
    assert front.scale == pytest.approx(22.627417, abs=5e-7)
    with torch.no_grad():
        front.embedding.weight.fill_(1)
    part = front(torch.tensor([[3]])) - front.encoding.pe[:, :1]
    assert off(part[0, 0], torch.full((512,), math.sqrt(512))) <= 64 * FLOAT32


@case("B164")
def tokens_and_codes_are_of_one_size():
    d = 512
    front = SequenceEmbedding(4000, d, 0.0)
    vectors = front.scale * front.embedding.weight.detach()
    # sqrt(d) * init * sqrt(d), with init = d^-0.5: the mean of 4000 norms, each within 1/sqrt(2 * 512) of it.
    expected = math.sqrt(d)
    assert abs(vectors.norm(dim=-1).mean().item() / expected - 1) < 5 / math.sqrt(2 * d * 4000)
    assert off(front.encoding.pe[0].double().norm(dim=-1), torch.full((5000,), math.sqrt(d / 2))) <= 16 * FLOAT32


@case("B165")
def the_amplitude_is_1():
    assert table(5000, 64).max() == 1
    assert table(5000, 64).abs().max() == 1
    assert Convention().gain == 1


@case("B166")
def dropout_is_that_of_the_paper_and_can_be_left_out():
    # 0.1 by default, as in section 5.4 of the paper, and in the repr.
    layer = PositionalEncoding(64)
    assert "p=0.1" in repr(layer)
    x = torch.zeros(4, 16, 64)
    first, second = layer(x), layer(x)
    assert not torch.equal(first, second)
    dropped = (first == 0) & (layer.pe[:, :16] != 0)
    share = dropped.sum() / (layer.pe[:, :16] != 0).expand_as(first).sum()
    # Of 4096 values less the zeros of position 0; five deviations of a share of 0.1.
    assert abs(share.item() - 0.1) < 5 * math.sqrt(0.1 * 0.9 / 4000)
    for quiet in (PositionalEncoding(64, 0.0), layer.eval()):
        assert torch.equal(quiet(x), quiet(x))
        assert off(quiet(x)[0], rows(range(16), 64)) <= FLOAT32
