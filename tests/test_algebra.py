"""Shifts, rotation matrices, similarity, wavelengths and positions read back: what they take and give."""

import math

import pytest
import torch
from tests.named import distinct, ready, turned, width
from tests.strategies import DTYPES, INT64_MAX

from posenc import Convention, encode, locate, shift, shift_matrix, similarity, table, wavelengths
from posenc.errors import ConventionError

# A rotation is two products and a sum, in float64; both ends were rounded to their dtype.
TURN_ERROR = 2.0**-50


def unit_of(dtype: torch.dtype) -> float:
    """One rounding of a number below 1, and two numbers a pair."""
    return 2 * torch.finfo(dtype).eps


def of_axes(convention, value):
    """A position or an offset as a convention takes it: the number itself, or one for each axis."""
    return [value + axis for axis in range(len(convention.axes))] if convention.axes else value


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", turned())
def test_shift_goes_where_it_says(name, dtype):
    convention = ready(name)
    dim = width(convention)
    places = torch.tensor([of_axes(convention, place) for place in (0, 5, -7, 10**9)], dtype=torch.float64)
    rows = encode(places, dim, convention, dtype=dtype)
    for each in (0, 1, -5, 10**6, 0.5):
        offset = of_axes(convention, each)
        there = encode(places + torch.tensor(offset), dim, convention, dtype=dtype)
        moved = shift(rows, offset, convention)
        assert (moved.double() - there.double()).abs().max() <= unit_of(dtype) + TURN_ERROR


def test_shift_by_hand():
    # A quarter turn forward takes (sine 0, cosine 1) to (1, 0).
    assert shift(torch.tensor([0.0, 1.0]), 1, Convention(first=math.pi / 2)).tolist() == pytest.approx([1, 0], abs=1e-7)


def test_shift_by_nothing_is_the_row():
    rows = torch.randn(5, 3, 16)

    assert torch.equal(shift(rows, 0), rows)


def test_shift_takes_an_offset_for_each_row():
    rows = encode(torch.arange(6).view(2, 3), 8)
    offsets = torch.tensor([[1, -1, 100], [0, 7, -3]])

    for one, there in ((offsets, offsets), (offsets[0], offsets[0]), ([[5], [6]], torch.tensor([[5], [6]]))):
        moved = shift(rows, one)
        assert moved.shape == rows.shape
        assert torch.allclose(moved, encode(torch.arange(6).view(2, 3) + there, 8), atol=1e-6)


def test_shift_leaves_the_rows_alone():
    rows = encode([1, 2], 8)
    before = rows.clone()
    shift(rows, 3)

    assert torch.equal(rows, before)


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_a_gradient_goes_through_shift(layout):
    convention = Convention(layout=layout)
    rows = encode([3, 4], 8, convention, dtype=torch.float64).requires_grad_()

    assert torch.autograd.gradcheck(lambda x: shift(x, 3, convention), rows)
    # The rotation is orthogonal: the gradient of a length is turned back.
    (shift(rows, 3, convention) * encode([6, 7], 8, convention, dtype=torch.float64)).sum().backward()
    assert torch.allclose(rows.grad, rows.detach(), atol=1e-14)


@pytest.mark.parametrize("name", turned())
def test_the_matrix_is_the_shift(name):
    convention = ready(name)
    dim = width(convention)
    rows = encode([of_axes(convention, place) for place in (0, 3, 1000)], dim, convention, dtype=torch.float64)

    for each in (0, 1, -4, 0.25, 10**12):
        offset = of_axes(convention, each)
        matrix = shift_matrix(offset, dim, convention)
        assert torch.allclose(rows @ matrix.T, shift(rows, offset, convention), atol=1e-14, rtol=0)


def test_the_matrix_of_nothing_is_one():
    assert torch.equal(shift_matrix(0, 12), torch.eye(12, dtype=torch.float64))


def test_similarity_by_hand():
    assert similarity(0, 512).item() == 256
    assert similarity(3, 2).item() == pytest.approx(math.cos(3), abs=1e-16)
    assert similarity([[1, -1], [2, -2]], 64).shape == (2, 2)
    assert similarity(44, 512) > similarity(43, 512)


@pytest.mark.parametrize("dim", [1, 2, 3, 8, 512])
def test_wavelengths_of_the_paper(dim):
    waves = wavelengths(dim)
    pairs = (dim + 1) // 2

    assert waves.dtype == torch.float64
    assert waves.tolist() == pytest.approx([2 * math.pi * 10000 ** (2 * i / dim) for i in range(pairs)], rel=1e-14)


def test_wavelengths_of_the_part_of_a_head_that_turns():
    # Pair k of w columns: 2 pi base^(2k / w).
    wanted = [2 * math.pi * 10000 ** (2 * k / 16) for k in range(8)]
    for rule, dim in (("gpt-neox-rotary", 32), (Convention(rotary_dim=16), 20), (Convention(rotary_dim=0.25), 64)):
        assert wavelengths(dim, rule).tolist() == pytest.approx(wanted, rel=1e-14)

    with pytest.raises(ConventionError, match="a rotary width of 20 from rotary_dim=20 for heads of 16"):
        wavelengths(16, Convention(rotary_dim=20))


def test_wavelengths_have_no_direction():
    assert torch.equal(wavelengths(8, Convention(position_scale=-1)), wavelengths(8))


@pytest.mark.parametrize("dim", [2, 4, 8, 64, 512])
@pytest.mark.parametrize("name", distinct())
def test_locate_finds_both_ends(name, dim):
    last = max(0, math.floor(wavelengths(dim, name).max().item()) - 1)
    places = sorted({0, min(1, last), last // 2, max(0, last - 1), last})

    assert locate(encode(places, dim, name), name).tolist() == places


def test_locate_keeps_the_shape():
    rows = table(24, 16).view(2, 3, 4, 16)

    assert locate(rows).tolist() == torch.arange(24).view(2, 3, 4).tolist()
    assert locate(rows[0, 0, 0]).shape == ()
    assert locate(rows[:0]).shape == (0, 3, 4)
    assert locate(rows).dtype == torch.int64


def test_locate_stays_below_the_limit():
    assert locate(table(40, 16), limit=40).tolist() == list(range(40))
    with pytest.raises(ValueError, match=r"row 40,"):
        locate(table(41, 16), limit=40)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_row_that_is_no_encoding_is_refused(dtype):
    rows = encode([3, 4], 16, dtype=dtype)
    rows[1, 5] += 4 * torch.finfo(dtype).eps
    with pytest.raises(ValueError, match=r"row 1,"):
        locate(rows)


def test_a_row_of_another_convention_is_refused():
    with pytest.raises(ValueError, match="nearest encoding"):
        locate(table(9, 16, "tensor2tensor"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("base", [1e17, 1e25])
def test_locate_on_a_ladder_slower_than_float64_can_count(base, dtype):
    # The law holds up to any limit below the slowest wavelength, and no position is beyond int64.
    convention = Convention(base=base)
    last = min(math.floor(wavelengths(64, convention).max().item()) - 1, INT64_MAX)
    places = [0, 5, 2**53 + 1, last // 3]

    assert locate(encode(places, 64, convention, dtype=dtype), convention).tolist() == places


def test_locate_where_the_slowest_sine_is_lost():
    # float16 has no number between 0 and 6e-8: just before its full turn the slowest pair looks like none.
    convention = Convention(base=1e12)
    last = math.floor(wavelengths(64, convention).max().item()) - 1
    rows = encode([0, last // 2, last], 64, convention, dtype=torch.float16)

    assert locate(rows, convention).tolist() == [0, last // 2, last]


def test_locate_does_not_guess_between_equal_rows():
    # The fastest pair turns by 1/1000: in bfloat16 its neighbours are one row.
    convention = Convention(first=0.001)
    rows = table(6000, 8, convention, dtype=torch.bfloat16)
    alike = (rows[1:] == rows[:-1]).all(-1).nonzero().flatten()
    assert len(alike) > 100

    with pytest.raises(ValueError, match="row"):
        locate(rows[alike], convention)


@pytest.mark.parametrize("function", [shift, locate])
def test_odd_widths_are_refused(function):
    arguments = (torch.zeros(2, 7), 1)[: 2 if function is shift else 1]
    with pytest.raises(ValueError, match="even width"):
        function(*arguments)


@pytest.mark.parametrize("function", [shift_matrix, similarity])
def test_odd_widths_are_refused_by_dim(function):
    with pytest.raises(ValueError, match="even width"):
        function(1, 7)
