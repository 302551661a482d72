"""What learners ask: what the pairs are for, where 10000 comes from, and what is trained."""

from __future__ import annotations

import math
import warnings

import pytest
import torch

import posenc
from posenc import LearnedPositionalEmbedding, PositionalEncoding, encode, shift, table, wavelengths

from .formula import FLOAT32, off, row, rows
from .register import case


@case("B167")
def pairs_make_shifts_linear():
    values = table(67, 16, dtype=torch.float64)
    found = {}
    for name, columns in (("pairs", values), ("sines", values[:, 0::2])):
        before, after = columns[:-7], columns[7:]
        solution = torch.linalg.lstsq(before, after, driver="gelsd").solution
        found[name] = (before @ solution - after).abs().max().item()
    assert found["pairs"] < 1e-10
    assert found["sines"] == pytest.approx(0.89, abs=0.005)
    assert (shift(values[:-7], 7) - values[7:]).abs().max() < 1e-14


@case("B168")
def wavelengths_run_from_two_pi():
    got = wavelengths(512)
    assert got[0].item() == pytest.approx(6.2832, abs=5e-5)
    assert got[-1].item() == pytest.approx(10000 ** (510 / 512) * 2 * math.pi, rel=1e-14)
    assert got[-1].item() == pytest.approx(60611, abs=0.5)
    # Pairs that turn by less than a twentieth within a sentence of 50.
    assert int((50 / got < 0.05).sum()) == sum(50 / (2 * math.pi * 10000 ** (2 * k / 512)) < 0.05 for k in range(256))


@case("B170")
def a_power_is_a_power():
    p, dim = 1_000_000, 64
    exact = torch.tensor(row(p, dim), dtype=torch.float64)
    k = torch.arange(0, dim, 2)
    position = torch.tensor(float(p))
    forms = [torch.exp(k * (-math.log(10000.0) / dim)), 1 / 10000 ** (k.float() / dim)]
    errors = [((position * w).sin().double() - exact[0::2]).abs().max().item() for w in forms]
    # Both forms in float32 are wrong in the second digit, each in its own way.
    assert 0.005 < min(errors) < max(errors) < 0.1
    assert off(encode(p, dim), exact) <= FLOAT32 + p * 2.0**-52


@case("B171")
def two_columns_are_one_pair():
    values = table(100, 32, dtype=torch.float64)
    assert off(values[:, 0::2] ** 2 + values[:, 1::2] ** 2, torch.ones(100, 16)) <= 1e-15
    for k in range(16):
        assert off(values[1, 2 * k], math.sin(10000 ** (-2 * k / 32))) <= 1e-15
        assert off(values[1, 2 * k + 1], math.cos(10000 ** (-2 * k / 32))) <= 1e-15


@case("B172")
def nothing_repeats_after_10000():
    far = encode([0, 10000], 512, dtype=torch.float64)
    assert (far[0] - far[1]).abs().max().item() == pytest.approx(1.99999, abs=5e-6)
    near = table(20001, 8, dtype=torch.float64)
    assert (near[1:] - near[0]).norm(dim=-1).min().item() == pytest.approx(0.186, abs=5e-4)


@case("B173")
def the_first_columns_are_the_fast_ones():
    values = table(50, 512, dtype=torch.float64)
    changes = [int((values[1:, column].sign().diff() != 0).sum()) for column in (0, 510)]
    assert changes == [15, 0]
    assert bool((wavelengths(512).diff() > 0).all())


@case("B175")
def fixed_is_fixed_and_learned_is_learned():
    assert sum(p.numel() for p in PositionalEncoding(8).parameters()) == 0
    learned = LearnedPositionalEmbedding(16, 8)
    assert sum(p.numel() for p in learned.parameters()) == 16 * 8
    # One may begin as the other.
    begun = LearnedPositionalEmbedding(16, 8, init="transformer")
    assert off(begun.weight, rows(range(16), 8)) <= FLOAT32


@case("B176")
def the_three_lists_of_a_module():
    for persistent in (True, False):
        layer = PositionalEncoding(8, 0.0, 16, persistent=persistent)
        assert list(layer.parameters()) == []
        assert [name for name, _ in layer.named_buffers()] == ["pe"]
        assert list(layer.state_dict()) == (["pe"] if persistent else [])
        for dtype in (torch.float64, torch.bfloat16, torch.float32):
            layer.to(dtype)
            assert layer.pe.dtype == dtype
            assert layer(torch.zeros(1, 4, 8, dtype=dtype)).dtype == dtype
        layer.to("meta")
        assert layer(torch.zeros(1, 4, 8, device="meta")).is_meta
    for module in (posenc.RotaryEmbedding(8), posenc.TimestepEmbedding(8), posenc.AlibiBias(2)):
        assert (list(module.parameters()), list(module.buffers()), list(module.state_dict())) == ([], [], [])


@case("B177")
def the_code_exists_and_the_model_has_not_seen_it():
    layer = PositionalEncoding(8, 0.0, trained_length=512)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = layer(torch.zeros(1, 1, 8), offset=100000)
    assert off(got[0, 0], row(100000, 8)) <= FLOAT32
    assert "a model trained on shorter sequences has not seen it" in str(caught[0].message)
    assert "no model trained on shorter ones has seen it" in " ".join((PositionalEncoding.__doc__ or "").split())
