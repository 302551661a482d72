"""AlibiBias: the slopes of real systems, values by hand, one rounding, and what softmax makes of it."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention as attention

from posenc import AlibiBias, positions_from_mask
from posenc.errors import DtypeError, PosencError
from posenc.modules import alibi as home

FILES = sorted((Path(__file__).parent / "data" / "systems").glob("alibi_*.json"))
RECORDS = [record for path in FILES for record in json.loads(path.read_text(encoding="utf-8"))]
FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
# Slopes are below 1: one unit in the last place of float64 is at most this.
UNIT = 2.0**-53


# ---- slopes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record['system']}-{record['dim']}")
def test_slopes_of_real_systems(record):
    # The system's own error, as measured when it was recorded, and one unit in the last place of ours.
    allowed = record["unified_float64_max_abs_error"] + UNIT
    recorded = torch.tensor(record["values"][0], dtype=torch.float64)

    assert (AlibiBias(record["dim"]).slopes - recorded).abs().max() <= allowed


@pytest.mark.parametrize("heads", [1, 2, 3, 5, 8, 12, 71, 112, 128, 4096])
def test_slopes_are_powers_of_two_to_the_last_place(heads):
    below = 2 ** int(math.log2(heads))
    exponents = [Fraction(-8 * j, below) for j in range(1, below + 1)]
    exponents += [Fraction(-8 * j, 2 * below) for j in range(1, 2 * below, 2)][: heads - below]

    with mpmath.workprec(200):
        for got, exponent in zip(AlibiBias(heads).slopes.tolist(), exponents, strict=True):
            exact = mpmath.mpf(2) ** (mpmath.mpf(exponent.numerator) / exponent.denominator)
            assert abs(got - exact) <= math.ulp(got)


def test_the_attribute_is_a_copy():
    bias = AlibiBias(4)
    before = bias(3, 3)
    bias.slopes.zero_()

    assert torch.equal(bias(3, 3), before)


# ---- values --------------------------------------------------------------------------------------------------------

NO = -math.inf
BY_HAND = {
    # Two heads have slopes 1/16 and 1/256: these are multiples of them, three queries and four keys.
    ("symmetric", "open"): [[-1, 0, -1, -2], [-2, -1, 0, -1], [-3, -2, -1, 0]],
    ("symmetric", "masked"): [[-1, 0, NO, NO], [-2, -1, 0, NO], [-3, -2, -1, 0]],
    ("past-nearer", "open"): [[-0.5, 0, -1, -2], [-1.5, -0.5, 0, -1], [-2.5, -1.5, -0.5, 0]],
    ("past-nearer", "masked"): [[-0.5, 0, NO, NO], [-1.5, -0.5, 0, NO], [-2.5, -1.5, -0.5, 0]],
    ("keys", "open"): [[0, 1, 2, 3]],
    ("keys", "masked"): [[0, 1, NO, NO], [0, 1, 2, NO], [0, 1, 2, 3]],
    ("keys-from-end", "open"): [[-3, -2, -1, 0]],
    ("keys-from-end", "masked"): [[-3, -2, NO, NO], [-3, -2, -1, NO], [-3, -2, -1, 0]],
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("form", "future"), BY_HAND)
def test_values_by_hand(form, future, dtype):
    rows = torch.tensor(BY_HAND[form, future])
    bias = AlibiBias(2, form=form, future=future, dtype=dtype)
    wanted = torch.stack([rows / 16, rows / 256]).to(dtype)

    for got in (bias(3, 4), bias(3, 4, offset=1), bias(3, 4, key_positions=torch.arange(4))):
        assert torch.equal(got, wanted)
        assert not torch.signbit(got[got == 0]).any()


def nearest(value: Fraction, dtype: torch.dtype) -> float:
    """The number of this dtype that is nearest, ties to even, found by comparing fractions."""
    guess = torch.tensor(float(value), dtype=torch.float64).to(dtype)
    around = [guess, *(torch.nextafter(guess, torch.tensor(end, dtype=dtype)) for end in (-math.inf, math.inf))]
    bits = {torch.float32: torch.int32, torch.float64: torch.int64}.get(dtype, torch.int16)
    return min(around, key=lambda x: (abs(Fraction(x.item()) - value), x.view(bits).item() & 1)).item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("form", ["symmetric", "past-nearer"])
def test_every_value_is_rounded_once(form, dtype):
    bias = AlibiBias(12, form=form, dtype=dtype)
    got = bias(1, 1500, offset=700)[:, 0]

    for head in (0, 6, 8, 11):
        slope = Fraction(bias.slopes[head].item())
        for key in range(0, 1500, 7):
            fall = -abs(key - 700) + (Fraction(1, 2) if form == "past-nearer" and key < 700 else 0)
            assert got[head, key].item() == nearest(slope * fall, dtype)


def test_no_value_is_rounded_twice():
    # float32 lies between: here its own rounding ends on the border of two numbers of float16.
    bias = AlibiBias(12, dtype=torch.float16)
    got, slopes = bias(1, 19602, offset=0)[8:, 0, 19601], bias.slopes[8:]

    assert got.tolist() == [nearest(-19601 * Fraction(slope), torch.float16) for slope in slopes.tolist()]
    assert (got != (-19601 * slopes).half()).all()


def test_where_bfloat16_begins_to_merge_distances():
    bias = AlibiBias(8, dtype=torch.bfloat16)(1, 400, offset=0)[:, 0]

    assert all(len(row.unique()) == 257 for row in bias[:, :257])
    assert (bias[:, 257] == bias[:, 256]).all()


# ---- laws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("future", ["open", "masked"])
@pytest.mark.parametrize("form", ["symmetric", "past-nearer", "keys"])
def test_rows_of_a_decoder_are_rows_of_the_whole(form, future, dtype):
    bias = AlibiBias(12, form=form, future=future, dtype=dtype)
    whole = bias(40, 40).expand(12, 40, 40)
    by_row = bias(3, 40, offset=torch.tensor([4, 30])).expand(2, 12, 3, 40)

    for start, stop in ((0, 1), (17, 18), (20, 33), (39, 40)):
        piece = whole[:, start:stop]
        assert torch.equal(bias(stop - start, 40, offset=start).expand_as(piece), piece)
        assert torch.equal(bias(stop - start, stop).expand_as(piece[..., :stop]), piece[..., :stop])
    assert torch.equal(by_row[0], whole[:, 4:7])
    assert torch.equal(by_row[1], whole[:, 30:33])


@pytest.mark.parametrize("form", ["symmetric", "past-nearer"])
def test_common_shifts_change_nothing(form):
    bias = AlibiBias(12, form=form)
    for shift in (-7, 2**62, -(2**63)):
        moved = torch.arange(9) + shift
        assert torch.equal(bias(9, 9, query_positions=moved, key_positions=moved), bias(9, 9))
        assert torch.equal(bias(9, 9, query_positions=torch.arange(9), key_positions=moved, offset=shift), bias(9, 9))


def test_who_can_tell_left_from_right():
    symmetric, broken = AlibiBias(8)(9, 9), AlibiBias(8, form="past-nearer")(9, 9)

    assert torch.equal(symmetric.flip(-1, -2), symmetric)
    assert torch.equal(symmetric, symmetric.mT)
    assert (broken.flip(-1, -2) != broken).any(-1).all()
    # Half a step, to the keys before the query alone.
    assert torch.equal(broken - symmetric, torch.ones(9, 9).tril(-1) * AlibiBias(8).slopes[:, None, None] / 2)


@pytest.mark.parametrize("form", ["past-nearer", "keys", "keys-from-end"])
def test_softmax_sees_one_bias_in_every_causal_form(form):
    q, k, v = torch.randn(3, 2, 8, 20, 16, dtype=torch.float64)
    options = {"future": "masked", "dtype": torch.float64}
    paper = attention(q, k, v, attn_mask=AlibiBias(8, **options)(20, 20))
    other = attention(q, k, v, attn_mask=AlibiBias(8, form=form, **options)(20, 20))

    # Scores below 2^6, weights and values of 20 keys: all far below 2^-40.
    same = (paper - other).abs().max() < 2.0**-40
    # What is nearer by half a step is not the same for a query and its past.
    assert same == (form != "past-nearer")


def test_masked_is_the_causal_mask():
    q, k, v = torch.randn(3, 2, 8, 20, 16)
    bias = AlibiBias(8)(20, 20)
    causal = torch.ones(20, 20, dtype=torch.bool).tril()

    got = attention(q, k, v, attn_mask=AlibiBias(8, future="masked")(20, 20))

    assert torch.equal(got, attention(q, k, v, attn_mask=bias.masked_fill(~causal, -math.inf)))
    v[..., 12:, :] += 1
    assert torch.equal(
        attention(q, k, v, attn_mask=AlibiBias(8, future="masked")(20, 20))[..., :12, :], got[..., :12, :]
    )


def test_left_padding_is_that_of_bloom():
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    # (cumsum - 1) * mask, times the slopes.
    wanted = torch.tensor([[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]])[:, None, None] * AlibiBias(4).slopes[:, None, None]

    got = AlibiBias(4, form="keys")(5, 5, key_positions=positions_from_mask(mask))

    assert got.shape == (2, 4, 1, 5)
    assert torch.equal(got, wanted.float())
    short = AlibiBias(4)(3, 3)
    assert torch.equal(AlibiBias(4)(3, 5, key_positions=positions_from_mask(mask))[0, ..., 2:], short)


def test_the_bias_of_mpt():
    # 1 / 2^(8 j / 2^ceil(log2 heads)), every second one first.
    ladder = [2.0 ** (-8 * j / 16) for j in range(1, 17)]
    slopes = torch.tensor([*ladder[1::2], *ladder[::2]][:12], dtype=torch.float64)

    got = AlibiBias(12, form="keys-from-end")(9, 9)

    assert torch.equal(got, (slopes[:, None, None] * torch.arange(-8, 1)).float())


def test_times_may_be_fractions_and_in_any_order():
    times = torch.tensor([0.5, 0.0, 2.25])
    got = AlibiBias(2, future="masked")(3, 3, query_positions=times, key_positions=times)

    wanted = torch.tensor([[0, -0.5, NO], [NO, 0, NO], [-1.75, -2.25, 0]]) / 16
    assert torch.equal(got[0], wanted)
    shuffled = torch.randperm(30)
    assert torch.equal(AlibiBias(8)(30, 30, query_positions=shuffled), AlibiBias(8)(30, 30)[:, shuffled])


# ---- life ----------------------------------------------------------------------------------------------------------


def test_nothing_is_held():
    bias = AlibiBias(12)
    bias(30, 30)

    assert list(bias.state_dict()) == [*bias.parameters()] == [*bias.buffers()] == []
    assert not [key for key, value in vars(bias).items() if isinstance(value, torch.Tensor)]
    assert nn.Sequential(bias).load_state_dict({}) == ([], [])


@pytest.mark.parametrize("dtype", FLOATS)
def test_casts_and_moves_of_the_module_are_those_of_its_results(dtype):
    model = nn.Sequential(AlibiBias(12))
    before = model[0](5, 5)

    assert torch.equal(model.to(dtype)[0](5, 5), AlibiBias(12, dtype=dtype)(5, 5))
    assert model[0].slopes.dtype == torch.float64
    assert torch.equal(model.half().float()[0](5, 5), before)
    assert model.to("meta")[0](5, 5).is_meta
    assert torch.equal(model.to_empty(device="cpu")[0](5, 5), before)
    with pytest.raises(DtypeError, match="cast of the module"):
        model.to(torch.float8_e5m2)


def test_copies_pickles_and_other_defaults():
    bias = AlibiBias(12, form="past-nearer", future="masked", dtype=torch.float16)
    for other in (copy.deepcopy(bias), pickle.loads(pickle.dumps(bias))):
        assert torch.equal(other(4, 6), bias(4, 6))
        assert repr(other) == repr(bias)
    with torch.device("meta"):
        assert AlibiBias(3)(2, 2).is_meta
    with torch.inference_mode():
        made = AlibiBias(3)
        kept = made(2, 2)
    assert not made(2, 2).is_inference()
    assert torch.equal(made(2, 2), kept)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(made(2, 2), kept)


def test_a_device_without_float64_gets_its_bias_from_the_cpu(monkeypatch):
    monkeypatch.setattr(home, "WITHOUT_FLOAT64", {"meta"})

    assert AlibiBias(3, device="meta").slopes.device.type == "cpu"
    assert AlibiBias(3, device="meta")(2, 5).is_meta


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1)])
@pytest.mark.parametrize("form", ["symmetric", "past-nearer", "keys", "keys-from-end"])
def test_hostile_shapes(form, shape):
    rows = 1 if form.startswith("keys") else shape[0]

    assert AlibiBias(2, form=form)(*shape, offset=0).shape == (2, rows, shape[1])
    assert AlibiBias(2, form=form, future="masked")(*shape, offset=0).shape == (2, *shape)
    leading = torch.zeros(3, 1, 4, shape[1], dtype=torch.int64)
    assert AlibiBias(2, form=form)(*shape, offset=0, key_positions=leading).shape == (3, 1, 4, 2, rows, shape[1])


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("num_heads", [0, 2.0, True, 5000, None]),
        ("form", ["causal", None, 3]),
        ("future", ["closed", True]),
        ("dtype", [torch.int64]),
        ("device", ["nowhere"]),
    ],
)
def test_what_it_is_not_made_with(option, values):
    for value in values:
        with pytest.raises(PosencError, match=f"got {option}="):
            AlibiBias(**{"num_heads": 4, option: value})
