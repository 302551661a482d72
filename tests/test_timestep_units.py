"""The unit of diffusion times: those in [0, 1] are told of where the convention expects thousands."""

from __future__ import annotations

import warnings

import pytest
import torch

from posenc import Convention, TimestepEmbedding, encode

UNIT = [torch.tensor([0.0, 1.0]), torch.tensor([0.25]).bfloat16(), 0.5, [0.0, 0.75]]


@pytest.mark.parametrize("t", UNIT, ids=str)
def test_times_in_the_unit_interval_are_warned_of_once(t):
    embed = TimestepEmbedding(8)
    with pytest.warns(UserWarning, match=r"float times from .* to .* no pair turns by more than a radian") as caught:
        first = embed(t)

    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(embed(t), first)
    times = t if isinstance(t, torch.Tensor) else torch.tensor(t, dtype=torch.float64)
    assert torch.equal(first, encode(times, 8, "ddpm-timestep"))


def test_times_that_may_well_be_meant_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Whole numbers, nothing but zeros, and none.
        for t in (torch.tensor([0, 1]), torch.zeros(3), torch.empty(0), [0.5, 1.5], torch.tensor([-0.5])):
            TimestepEmbedding(8)(t)
        # A sampler that comes down to its last steps.
        embed = TimestepEmbedding(8)
        for t in (999.0, 1.0, 0.5, 0.0):
            embed(torch.tensor([t]))
        # Systems that want such times.
        for convention in ("pi0-timestep", "diffusers-timestep-scaled", Convention(position_scale=1000)):
            TimestepEmbedding(8, convention)(torch.tensor([0.25, 0.5]))
