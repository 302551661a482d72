"""Longer contexts: linear, dynamic and YaRN scaling, and what each of them changes."""

from __future__ import annotations

import math

import pytest
import torch

from posenc import RotaryEmbedding
from posenc.errors import ConventionError

from .formula import FLOAT32_ROTATION, off, turned
from .register import case

DYNAMIC = {"rope_type": "dynamic", "factor": 4.0, "max_position_embeddings": 8}


@case("B140")
def cached_keys_keep_their_base_where_the_length_is_fixed():
    rotary, x = RotaryEmbedding(8, scaling=DYNAMIC), torch.randn(1, 1, 64, 8)
    whole, _ = rotary(x, x)

    def steps(**options):
        each = [rotary(x[:, :, t : t + 1], x[:, :, t : t + 1], offset=t, **options)[0] for t in range(64)]
        return torch.cat(each, 2)

    assert torch.equal(steps(length=64), whole)
    # A base that grows with the length: what was turned before would have another one.
    with pytest.raises(ValueError, match="pass length="):
        rotary(x[:, :, 1:2], x[:, :, 1:2], offset=1)
    # Keys that are cached unturned are turned at every step, by one base.
    last, keys = rotary(x[:, :, 63:], x)
    assert torch.equal(keys, whole)
    assert torch.equal(last, whole[:, :, 63:])
    # And positions without a length are refused.
    with pytest.raises(ValueError, match="length"):
        rotary(x, x, positions=torch.arange(64))


@case("B142")
def every_position_can_be_had():
    q = torch.ones(1, 1, 1, 8)
    linear = RotaryEmbedding(8, scaling={"rope_type": "linear", "factor": 4.0, "max_position_embeddings": 8})
    assert off(linear(q, q, offset=31)[0][0, 0, 0], turned([1.0] * 8, 31 / 4)) <= FLOAT32_ROTATION
    base = 10000 * (4 * 32 / 8 - 3) ** (8 / 6)
    dynamic = RotaryEmbedding(8, scaling=DYNAMIC)
    assert off(dynamic(q, q, offset=31, length=32)[0][0, 0, 0], turned([1.0] * 8, 31, base=base)) <= FLOAT32_ROTATION
    far = linear(q, q, offset=2**40)[0][0, 0, 0]
    assert off(far, turned([1.0] * 8, 2.0**38)) <= FLOAT32_ROTATION + 2.0**38 * 2.0**-52


@case("B143")
def each_kind_changes_one_thing():
    q, found = torch.ones(1, 1, 1, 8), {}
    for kind, scaling in {
        "none": None,
        "linear": {"rope_type": "linear", "factor": 4.0},
        "dynamic": {"rope_type": "dynamic", "factor": 4.0, "max_position_embeddings": 2048},
    }.items():
        rotary = RotaryEmbedding(8, scaling=scaling)
        found[kind] = rotary(q, q, offset=8, length=9)[0][0, 0, 0]
    for kind, position in (("none", 8), ("linear", 2), ("dynamic", 8)):
        assert off(found[kind], turned([1.0] * 8, position)) <= FLOAT32_ROTATION
    with pytest.raises(ConventionError, match="ntk-aware"):
        RotaryEmbedding(8, scaling={"rope_type": "ntk-aware", "factor": 4.0})


@case("B145")
def the_two_factors_of_yarn_follow_transformers():
    yarn = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 64}
    plain = 0.1 * math.log(16) + 1
    assert plain == pytest.approx(1.277259, abs=5e-7)
    assert RotaryEmbedding(8, scaling=yarn).attention_factor == pytest.approx(plain, rel=1e-15)
    # Both fields: their ratio, as modeling_rope_utils has it; one of them alone is none.
    both = RotaryEmbedding(8, scaling=yarn | {"mscale": 1.0, "mscale_all_dim": 1.0})
    assert both.attention_factor == 1.0
    one = RotaryEmbedding(8, scaling=yarn | {"mscale": 1.0})
    assert one.attention_factor == pytest.approx(plain, rel=1e-15)
    ratio = RotaryEmbedding(8, scaling=yarn | {"mscale": 2.0, "mscale_all_dim": 1.0})
    assert ratio.attention_factor == pytest.approx((0.2 * math.log(16) + 1) / plain, rel=1e-15)
    # Said plainly, and said in the repr; 1.0 turns it off.
    said = RotaryEmbedding(8, scaling=yarn | {"attention_factor": 1.0})
    assert said.attention_factor == 1.0
    assert "attention_factor=1.27726" in repr(one)


@case("B146")
def fast_pairs_stay_and_slow_ones_are_divided():
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "attention_factor": 1.0}
    with pytest.raises(ValueError, match="swap beta_fast and beta_slow"):
        RotaryEmbedding(64, scaling=yarn | {"beta_fast": 1.0, "beta_slow": 32.0})
    rotary = RotaryEmbedding(64, scaling=yarn | {"beta_fast": 32.0, "beta_slow": 1.0})
    q = torch.ones(1, 1, 1, 64, dtype=torch.float64)
    made, _ = rotary(q, q, offset=1)
    # (cos - sin, cos + sin) of pair k in columns k and k + 32.
    angles = torch.atan2(made[0, 0, 0, 32:] - made[0, 0, 0, :32], made[0, 0, 0, 32:] + made[0, 0, 0, :32])
    assert angles[0].item() == pytest.approx(1, rel=1e-14)
    assert angles[-1].item() == pytest.approx(10000 ** (-62 / 64) / 4, rel=1e-10)
