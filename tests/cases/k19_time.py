"""Diffusion times: the end of the ladder, the unit of time, and one rounding at the end."""

from __future__ import annotations

import math

import pytest
import torch

from posenc import Convention, TimestepEmbedding

from .formula import FLOAT32, off, row
from .register import case


@case("B156")
def the_shift_of_the_divisor_belongs_to_the_preset():
    wanted = {"stable-diffusion-timestep": [0.841471, 0.0099998], "diffusers-timestep-default": [0.841471, 0.0001]}
    for name, sines in wanted.items():
        embed = TimestepEmbedding(4, name)
        got = embed(1)
        # Cosines come first in Stable Diffusion.
        found = got[2:] if name.startswith("stable") else got[:2]
        assert off(found, sines) <= 5e-7
        assert name in repr(embed)
    own = [TimestepEmbedding(4, Convention(layout="halves", endpoint_shift=shift)) for shift in (0, 1)]
    assert "endpoint_shift=1" in repr(own[1])
    for embed, second in zip(own, (0.01, 0.0001), strict=True):
        assert off(embed(1)[:2], [math.sin(1), math.sin(second)]) <= FLOAT32


@case("B158")
def times_have_a_unit():
    thousand = Convention(layout="halves", position_scale=1000)
    assert "position_scale=1000" in repr(TimestepEmbedding(256, thousand))
    times = torch.tensor([0.0, 1.0])
    with pytest.warns(UserWarning, match=r"float times from 0 to 1 .* position_scale=1000"):
        same = TimestepEmbedding(256, Convention(layout="halves"))(times)
    apart = TimestepEmbedding(256, thousand)(times)
    for got, wanted in ((same, 0.972), (apart, 0.193)):
        assert torch.cosine_similarity(got[0], got[1], dim=0).item() == pytest.approx(wanted, abs=5e-4)


@case("B160")
def time_is_kept_whole_and_the_result_is_rounded():
    embed = TimestepEmbedding(8, Convention(position_scale=1000), dtype=torch.bfloat16)
    exact = torch.tensor(row(333.7, 8), dtype=torch.float64)
    for t in (torch.tensor(0.3337, dtype=torch.float64), 0.3337):
        got = embed(t)
        assert got.dtype == torch.bfloat16
        # The nearest of bfloat16: half of its unit at most.
        unit = 2.0 ** (exact.abs().log2().floor() - 7)
        assert bool(((got.double() - exact).abs() <= unit / 2).all())
    # Rounded before, the time is 0.333984375, and the code that of 333.98.
    early = TimestepEmbedding(8, Convention(position_scale=1000))(torch.tensor(0.3337).bfloat16())
    assert off(early, row(333.984375, 8)) <= FLOAT32
