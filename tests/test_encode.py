"""The public functions take what people have, and give what they say."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from tests.judge import largest_error, misrounded, rounded, truth
from tests.strategies import DTYPES, INT64_MAX, INT64_MIN, dims, float_positions, modest
from tests.strategies import conventions as any_convention

from posenc import Convention, conventions, encode, shift, shift_matrix, table, wavelengths

PAPER = Convention()
# Before the one rounding a float position costs at most 2^-50; a value of float32 then half a unit below 1.
FLOAT_ERROR = 2.0**-50
FLOAT32_ROUNDING = 2.0**-25
FLOAT64_ERROR = 1e-15
# Four digits below the point, each times less than a unit of 2^-128 turn: 4 * 2^16 * 2 pi / 2^128.
LAST_UNITS = 2.0**-107

# By hand, from a table of sines: position 1 of width 4 and base 10000.
SIN_1, COS_1, SIN_001, COS_001 = 0.8414709848078965, 0.5403023058681398, 0.009999833334166664, 0.9999500004166653
BY_HAND = {
    ("interleaved", "sine-first"): [SIN_1, COS_1, SIN_001, COS_001],
    ("interleaved", "cosine-first"): [COS_1, SIN_1, COS_001, SIN_001],
    ("halves", "sine-first"): [SIN_1, SIN_001, COS_1, COS_001],
    ("halves", "cosine-first"): [COS_1, COS_001, SIN_1, SIN_001],
}


@pytest.mark.parametrize(("arrangement", "row"), BY_HAND.items(), ids=str)
def test_by_hand(arrangement, row):
    convention = Convention(layout=arrangement[0], order=arrangement[1])

    assert encode(1, 4, convention, dtype=torch.float64).tolist() == pytest.approx(row, abs=1e-16)


def test_a_quarter_turn_takes_position_zero_to_sine_one():
    # The direction of the turn, which no law can see.
    step = Convention(first=math.pi / 2)

    assert encode(0, 2, step).tolist() == [0, 1]
    assert encode(1, 2, step).tolist() == pytest.approx([1, 0], abs=1e-7)
    assert encode(-1, 2, step).tolist() == pytest.approx([-1, 0], abs=1e-7)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_position_zero_is_exact(dtype):
    for row in (encode(0, 64, dtype=dtype), table(1, 64, dtype=dtype)[0], encode(-0.0, 64, dtype=dtype)):
        assert row.tolist() == [0, 1] * 32
        assert not torch.signbit(row).any()


@pytest.mark.parametrize("offset", [0.5, 2, 0.1, -3.25, 2**40])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_position_that_cancels_the_offset_is_exact(dtype, offset):
    row = encode(-offset, 8, Convention(position_offset=offset), dtype=dtype)

    assert row.tolist() == pytest.approx([0, 1] * 4, abs=LAST_UNITS if dtype == torch.float64 else 0, rel=0)


SHAPES = [(), (0,), (1,), (5,), (2, 3), (0, 3), (2, 0, 4), (2, 3, 1, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dim", [1, 2, 5, 8])
def test_shapes(shape, dim):
    positions = torch.arange(math.prod(shape)).view(shape)
    rows = encode(positions, dim)

    assert rows.shape == (*shape, dim)
    assert torch.equal(rows.view(-1, dim), table(positions.numel(), dim))
    assert rows.is_contiguous()


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.uint8, torch.uint16, torch.uint32])
def test_every_integer_dtype(dtype):
    edges = [torch.iinfo(dtype).min, 0, 1, torch.iinfo(dtype).max]
    rows = encode(torch.tensor(edges, dtype=dtype), 6)

    assert torch.equal(rows, encode(torch.tensor(edges), 6))


SAME = [
    [0, 1, 300],
    (0, 1, 300),
    range(0, 301, 1),
    [torch.tensor(0), torch.tensor(1), torch.tensor(300)],
    np.array([0, 1, 300]),
    np.array([0, 1, 300], dtype=np.uint16),
    np.array([0.0, 1.0, 300.0]),
    [0.0, 1.0, 300.0],
    torch.tensor([0.0, 1.0, 300.0], dtype=torch.float64),
    torch.tensor([0.0, 1.0, 300.0], dtype=torch.float16),
    torch.tensor([[0, 9], [1, 9], [300, 9]])[:, 0],
    torch.nn.Parameter(torch.tensor([0, 1, 300]), requires_grad=False),
]


@pytest.mark.parametrize("positions", SAME, ids=lambda it: type(it).__name__)
def test_whatever_holds_positions(positions):
    rows = encode(positions, 6)

    assert torch.equal(rows if len(rows) == 3 else rows[[0, 1, 300]], encode(torch.tensor([0, 1, 300]), 6))


@pytest.mark.parametrize("position", [7, 7.0, np.int32(7), np.float64(7), np.array(7), torch.tensor(7)])
def test_one_position(position):
    assert torch.equal(encode(position, 6), table(8, 6)[7])


def test_python_floats_are_not_cut_to_float32():
    assert torch.equal(encode([16777217.0], 6), encode([16777217], 6))
    assert torch.equal(encode(16777217.0, 6), encode(16777217, 6))


def test_reversed_and_read_only_arrays():
    backwards = np.arange(4)[::-1]
    fixed = np.arange(4)
    fixed.flags.writeable = False

    assert torch.equal(encode(backwards, 6), table(4, 6).flip(0))
    assert torch.equal(encode(fixed, 6), table(4, 6))


def test_half_precision_positions_are_refused_once_neighbours_merge():
    for dtype, limit in ((torch.float16, 2048), (torch.bfloat16, 256)):
        ends = [1 - limit, limit - 1]
        assert torch.equal(encode(torch.tensor(ends, dtype=dtype), 6), encode(ends, 6))
        for merged in (limit, -limit, limit + 1, limit * 1.25):
            with pytest.raises(ValueError, match=f"{limit} may be {limit + 1} that was rounded"):
                encode(torch.tensor([merged], dtype=dtype), 6)


@pytest.mark.parametrize("dtype", [None, *DTYPES], ids=str)
def test_the_dtype_is_the_one_asked_for(dtype):
    wanted = dtype or torch.get_default_dtype()

    assert encode([1], 6, dtype=dtype).dtype == wanted
    assert table(3, 6, dtype=dtype).dtype == wanted
    assert shift_matrix(1, 6, dtype=dtype or torch.float64).dtype == (dtype or torch.float64)
    assert shift(encode([1], 6, dtype=wanted), 1).dtype == wanted


@pytest.mark.parametrize("start", [0, 1, -1, 255, 256, -300, 2**40 - 2, INT64_MIN, INT64_MAX - 599])
@pytest.mark.parametrize("length", [0, 1, 2, 600])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_table_is_its_rows(start, length, dtype):
    rows = table(length, 10, start=start, dtype=dtype)

    assert rows.shape == (length, 10)
    assert torch.equal(rows, encode(torch.tensor(range(start, start + length), dtype=torch.int64), 10, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("convention", ["transformer", "fairseq"])
def test_the_last_positions_of_int64(dtype, convention):
    convention = conventions[convention]
    last = [INT64_MAX - 2, INT64_MAX - 1, INT64_MAX]
    rows = encode(last, 10, convention, dtype=dtype)

    assert torch.equal(table(3, 10, convention, start=last[0], dtype=dtype), rows)
    if dtype == torch.float64:
        assert largest_error(rows, last, convention) <= FLOAT64_ERROR
    else:
        assert misrounded(rows, last, convention) == []


OUTS = {
    "whole": lambda dtype: torch.empty(600, 10, dtype=dtype),
    "rows of more": lambda dtype: torch.empty(700, 10, dtype=dtype)[50:650],
    "columns of more": lambda dtype: torch.empty(600, 30, dtype=dtype)[:, 7:17],
    "every other": lambda dtype: torch.empty(1200, 20, dtype=dtype)[::2, ::2],
    "turned": lambda dtype: torch.empty(10, 600, dtype=dtype).t(),
    "a parameter": lambda dtype: torch.nn.Parameter(torch.empty(600, 10, dtype=dtype), requires_grad=False),
}


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("make", OUTS.values(), ids=OUTS)
def test_out_may_be_any_memory(make, dtype, layout):
    out = make(dtype)
    whole = out._base if out._base is not None else out
    given_back = table(600, 10, Convention(layout=layout), start=-5, out=out)

    assert given_back is out
    assert torch.equal(out, table(600, 10, Convention(layout=layout), start=-5, dtype=dtype))
    # What is not ours is not written: it still holds what torch.empty left there.
    assert int(whole.isnan().sum()) == whole.numel() - out.numel()


@pytest.mark.parametrize("strides", [(0, 1), (1, 1), (4, 0), (3, 1)])
def test_out_that_overlaps_itself_is_refused(strides):
    memory = torch.zeros(100)
    with pytest.raises(ValueError, match="out"):
        table(5, 4, out=memory.as_strided((5, 4), strides))

    assert not memory.any()


@pytest.mark.parametrize("dim", [1, 3, 5, 7, 129])
@pytest.mark.parametrize("odd", ["truncate", "pad", "round-up"])
@pytest.mark.parametrize("layout", ["interleaved", "halves"])
@pytest.mark.parametrize("order", ["sine-first", "cosine-first"])
def test_odd_widths(dim, odd, layout, order):
    if (dim, odd) == (1, "pad"):
        return
    convention = Convention(odd=odd, layout=layout, order=order, endpoint_shift=0.25)
    places = [-300, -1, 0, 1, 2, 511]
    rows = encode(places, dim, convention)

    assert misrounded(rows, places, convention) == []
    assert torch.equal(table(812, dim, convention, start=-300)[[0, 299, 300, 301, 302, 811]], rows)


def test_dim_one_is_the_sine():
    assert encode([-1, 0, 2], 1).tolist() == [[rounded(truth(p, 1, PAPER)[0], torch.float32)] for p in (-1, 0, 2)]


@modest
@given(convention=any_convention(), dim=dims(4), position=float_positions())
def test_floats_are_within_their_bound(convention, dim, position):
    exact = encode([position], dim, convention, dtype=torch.float64)
    single = encode([position], dim, convention)
    # The bound is for one radian a position; faster ladders turn further in what a position loses.
    reach = max(1.0, 2 * math.pi / float(wavelengths(dim, convention).min()))

    assert largest_error(exact, [position], convention) <= FLOAT_ERROR * reach
    assert largest_error(single, [position], convention) <= FLOAT_ERROR * reach + FLOAT32_ROUNDING


@pytest.mark.parametrize("size", [1e-5, 1e-10, 1e-16, 1e-18, 1e-19, 1e-20, 1e-30, 5e-324, 0.1, 1234.567])
@pytest.mark.parametrize("sign", [1, -1])
def test_small_floats_are_rounded_correctly_on_both_sides_of_zero(size, sign):
    assert misrounded(encode([sign * size], 8), [sign * size], PAPER) == []


def test_a_single_row_may_have_any_stride():
    out = torch.empty(4).as_strided((1, 4), (0, 1))

    assert torch.equal(table(1, 4, out=out), table(1, 4))
