"""RelativePositionBias: the buckets of T5, the bias it looks up, and what its buckets have been trained on."""

from __future__ import annotations

import copy
import json
import math
import pickle
import warnings
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as attention

from posenc import RelativePositionBias, positions_from_mask
from posenc.errors import DtypeError, PosencError

FILE = Path(__file__).parent / "data" / "systems" / "t5_relative_bucket.json"
RECORDS = json.loads(FILE.read_text(encoding="utf-8"))
DIRECTIONS = ["bidirectional", "causal"]


def t5_bucket(relative, direction, num_buckets, max_distance):
    """The buckets as T5 computes them, in float32, and the quotient before it is cut."""
    buckets = torch.zeros_like(relative)
    if direction == "bidirectional":
        num_buckets //= 2
        buckets = (relative > 0).long() * num_buckets
        relative = relative.abs()
    else:
        relative = (-relative).clamp(min=0)
    single = num_buckets // 2
    quotient = (relative.float() / single).log() / math.log(max_distance / single) * (num_buckets - single)
    grown = (single + quotient.long()).clamp(max=num_buckets - 1)
    return buckets + torch.where(relative < single, relative, grown), quotient


# ---- buckets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["call"][26:])
def test_buckets_of_t5(record):
    said = record["params"]
    direction = "bidirectional" if said["bidirectional"] else "causal"
    bias = RelativePositionBias(1, said["num_buckets"], said["max_distance"], direction=direction)

    assert bias.bucket(torch.tensor(record["positions"])).tolist() == [int(row[0]) for row in record["values"]]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_no_distance_is_put_elsewhere_than_by_t5(direction):
    relative = torch.arange(-5000, 5001)
    for num_buckets in (4, 6, 8, 12, 16, 20, 32, 48, 64, 128, 256):
        for max_distance in (16, 20, 32, 50, 64, 100, 128, 200, 256, 512, 1000, 1024, 2048, 4096):
            if max_distance <= num_buckets // (4 if direction == "bidirectional" else 2):
                continue
            bias = RelativePositionBias(1, num_buckets, max_distance, direction=direction)
            theirs, quotient = t5_bucket(relative, direction, num_buckets, max_distance)
            differs = bias.bucket(relative) != theirs
            # None differs where this was written; a logarithm of another machine may fall short of a whole number.
            assert ((quotient - quotient.round()).abs()[differs] < 2.0**-18).all()


@pytest.mark.parametrize(
    ("buckets", "most"), [(2, 2), (7, 9), (16, 64), (16, 128), (32, 128), (33, 10**6), (256, 2**62)]
)
def test_boundaries_by_integers_alone(buckets, most):
    single, found = buckets // 2, RelativePositionBias(1, buckets, most, direction="causal").boundaries
    grown = buckets - single

    assert found[:single] == tuple(range(1, single + 1))
    assert len(found) == buckets - 1
    for k, first in enumerate(found[single:], start=1):
        # (d / single)^grown >= (most / single)^k, for this d and for none before it.
        limit = most**k * single**grown
        assert first**grown * single**k >= limit > (first - 1) ** grown * single**k


def test_the_boundaries_that_everybody_has():
    causal = RelativePositionBias(1, direction="causal")

    assert RelativePositionBias(1).boundaries == (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91)
    assert causal.boundaries[15:] == (16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113)
    assert causal.bucket([-112, -113, 0, 5]).tolist() == [30, 31, 0, 0]


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
def test_every_integer_has_a_bucket(dtype):
    ends = torch.tensor([torch.iinfo(dtype).min, torch.iinfo(dtype).max, 0, 1]).to(dtype)
    far = 15 if ends[0] < 0 else 0

    assert RelativePositionBias(1).bucket(ends).tolist() == [far, 31, 0, 17]
    far = 31 if ends[0] < 0 else 0
    assert RelativePositionBias(1, direction="causal").bucket(ends).tolist() == [far, 0, 0, 0]
    assert RelativePositionBias(1, 4, 2**62).bucket(torch.zeros(2, 0, 3, dtype=dtype)).shape == (2, 0, 3)


# ---- the bias ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_bias_is_the_weight_of_the_bucket(direction):
    bias = RelativePositionBias(3, 8, 20, direction=direction)
    got = bias(7, 30, offset=11)

    assert got.shape == (1, 3, 7, 30)
    for query in range(7):
        for key in range(30):
            bucket = t5_bucket(torch.tensor(key - (query + 11)), direction, 8, 20)[0]
            assert torch.equal(got[0, :, query, key], bias.weight[bucket])


def test_a_checkpoint_of_t5_loads_under_its_own_name():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.relative_attention_bias = RelativePositionBias(8)

    weight = torch.randn(32, 8)
    model = Attention()
    model.load_state_dict({"relative_attention_bias.weight": weight})

    assert list(model.state_dict()) == ["relative_attention_bias.weight"]
    assert torch.equal(model.relative_attention_bias(1, 1).flatten(), weight[0])
    with pytest.raises(RuntimeError, match="size mismatch"):
        RelativePositionBias(8, 16).load_state_dict({"weight": weight})


def test_rows_of_a_decoder_are_rows_of_the_whole():
    bias = RelativePositionBias(4, direction="causal", future="masked")
    whole = bias(200, 200)

    assert torch.equal(bias(1, 180), whole[..., 179:180, :180])
    assert torch.equal(bias(5, 200, offset=torch.tensor([3, 150]))[1], whole[0, :, 150:155])
    assert torch.equal(torch.cat([bias(50, 200, offset=start) for start in range(0, 200, 50)], -2), whole)
    moved = torch.arange(200) - 2**63
    assert torch.equal(bias(200, 200, query_positions=moved, key_positions=moved), whole)


def test_left_padding():
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    bias = RelativePositionBias(4)

    got = bias(5, 5, key_positions=positions_from_mask(mask))

    assert got.shape == (2, 4, 5, 5)
    assert torch.equal(got[1], bias(5, 5)[0])
    assert torch.equal(got[0, :, 2:, 2:], bias(3, 3)[0])


def test_the_future():
    q, k, v = torch.randn(3, 2, 4, 20, 8)
    masked = RelativePositionBias(4, direction="causal", future="masked")
    opened = RelativePositionBias(4, direction="causal")
    opened.load_state_dict(masked.state_dict())
    causal = torch.ones(20, 20, dtype=torch.bool).tril()

    assert torch.equal(opened(20, 20)[0].masked_fill(~causal, -math.inf), masked(20, 20)[0])
    before = attention(q, k, v, attn_mask=masked(20, 20))
    v[..., 12:, :] += 1
    assert torch.equal(attention(q, k, v, attn_mask=masked(20, 20))[..., :12, :], before[..., :12, :])
    # The future has no buckets of its own.
    assert (opened(1, 20, offset=0)[..., 1:] == opened.weight[0].view(1, 4, 1, 1)).all()


@pytest.mark.parametrize("positions", [None, torch.arange(60)])
@pytest.mark.parametrize("future", ["open", "masked"])
def test_gradients_count_the_pairs_of_each_bucket(positions, future):
    bias = RelativePositionBias(2, direction="causal", future=future, dtype=torch.float64)
    got = bias(60, 60, key_positions=positions)
    got[got.isfinite()].sum().backward()

    visible = [key - query for query in range(60) for key in range(60) if future == "open" or key <= query]
    counts = Counter(bias.bucket(torch.tensor(visible)).tolist())
    assert bias.weight.grad[:, 0].tolist() == [counts[bucket] for bucket in range(32)]


# ---- training ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "direction", "wanted"),
    [
        (64, "causal", (-66, None)),
        (1, "causal", (0, None)),
        (113, "causal", (-112, None)),
        (114, "causal", (None, None)),
        (64, "bidirectional", (-63, 63)),
        (65, "bidirectional", (-90, 90)),
        (512, "bidirectional", (None, None)),
    ],
)
def test_what_buckets_were_trained(length, direction, wanted):
    bias = RelativePositionBias(2, direction=direction, trained_length=length)
    seen = set(bias.bucket(torch.arange(1 - length, length)).tolist())

    assert bias.trained_range == wanted
    assert f"trained_length={length}, trained_range={wanted}" in repr(bias)
    for end, step in zip(wanted, (-1, 1), strict=True):
        far = step * 10**9 if end is None else end
        assert bias.bucket([far]).item() in seen
        assert end is None or bias.bucket([end + step]).item() not in seen


@pytest.mark.parametrize(
    ("arguments", "high"),
    [
        ({"query_length": 68, "key_length": 68}, 67),
        ({"query_length": 1, "key_length": 68}, 0),
        ({"query_length": 1, "key_length": 2, "key_positions": torch.tensor([0, 67])}, 0),
    ],
)
def test_untrained_buckets_are_told_of_once(arguments, high):
    bias = RelativePositionBias(2, direction="causal", trained_length=64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bias(67, 67)
        bias(1, 67)
        bias(1, 90, offset=3)
    said = f"relative positions from -67 to {high} came, but trained_length=64 reaches .* of those from -66 alone"
    with pytest.warns(UserWarning, match=said) as caught:
        bias(**arguments)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bias(**arguments)
        RelativePositionBias(2, trained_length=512)(5000, 5000)


def test_it_begins_small():
    bias = RelativePositionBias(2000, std=0.05)

    # The deviation of 64 000 draws is off by 1 / sqrt(128 000), a third of a percent; five of these.
    assert abs(bias.weight.std().item() / 0.05 - 1) < 0.014
    assert not RelativePositionBias(2, std=0).weight.any()


# ---- life ----------------------------------------------------------------------------------------------------------


def test_casts_copies_and_devices():
    bias = RelativePositionBias(3, direction="causal", future="masked", trained_length=64)
    for other in (copy.deepcopy(bias), pickle.loads(pickle.dumps(bias))):
        assert torch.equal(other(4, 6), bias(4, 6))
        assert repr(other) == repr(bias)
    assert torch.equal(copy.deepcopy(bias).bfloat16()(4, 6), bias(4, 6).bfloat16())
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(bias(4, 6), bias(4, 6).float())
    made = RelativePositionBias(3, device="meta")
    assert made(4, 6).is_meta
    assert made.bucket(torch.zeros(2, dtype=torch.int64, device="meta")).is_meta
    made.to_empty(device="cpu").reset_parameters()
    assert made(4, 6).isfinite().all()
    with torch.inference_mode():
        made, kept = RelativePositionBias(3), bias(4, 6)
    made(4, 6).sum().backward()
    assert torch.equal(bias(4, 6), kept)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
def test_hostile_shapes(shape):
    bias = RelativePositionBias(2, trained_length=5)

    assert bias(*shape, offset=0).shape == (1, 2, *shape)
    leading = torch.zeros(3, 1, 4, shape[1], dtype=torch.int64)
    assert bias(*shape, offset=0, key_positions=leading).shape == (3, 1, 4, 2, *shape)


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("num_heads", [0, 2.0, True]),
        ("num_buckets", [3, 5, 2, 0, 32.0, 10**6]),
        ("max_distance", [8, 0, -1, 128.0, 2**63]),
        ("direction", ["both", True, None]),
        ("future", ["masked", "closed"]),
        ("trained_length", [0, 1.5]),
        ("std", [-1, math.nan, math.inf, "1", None]),
        ("dtype", [torch.int64]),
    ],
)
def test_what_it_is_not_made_with(option, values):
    for value in values:
        with pytest.raises(PosencError, match=f"got {option}="):
            RelativePositionBias(**{"num_heads": 4, option: value})


def test_there_is_no_bucket_between_two():
    half = torch.tensor([0.5, 1.5])
    for options in ({"key_positions": half}, {"query_positions": half}):
        with pytest.raises(DtypeError, match="wanted integers: there are buckets"):
            RelativePositionBias(2)(2, 2, **options)
    with pytest.raises(DtypeError, match="got relative_positions"):
        RelativePositionBias(2).bucket(half)
    with pytest.raises(DtypeError, match="got relative_positions"):
        RelativePositionBias(2).bucket(None)
