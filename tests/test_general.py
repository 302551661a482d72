"""Conventions that are more than one axis of plain pairs: gains, zero rows, inputs, several axes, slips, by hand."""

import math
from dataclasses import replace

import pytest
import torch
from tests.judge import compare, misrounded, moments, truth, unit
from tests.laws import BEYOND_HALF, NEARLY_HALF
from tests.named import ready, width
from tests.strategies import DTYPES, INT64_MAX, INT64_MIN

from posenc import Convention, conventions, encode, table

IMAGE = ("row", "column")
# Before the one rounding a float position costs at most 2^-50, of every axis that is added.
FLOAT_ERROR = 2.0**-50


def sines(*angles):
    return [math.sin(angle) for angle in angles]


def cosines(*angles):
    return [math.cos(angle) for angle in angles]


def close(row, expected):
    assert row.tolist() == pytest.approx(expected, abs=1e-15)


def row_of(position, dim, convention):
    return encode(position, dim, convention, dtype=torch.float64)


# The frequencies 1 and 1/10, and a point of three unlike coordinates.
TENTHS = {"base": 10, "spacing": "powers"}
A, B, C = 0.7, -2.0, 3.0
FIRST, SECOND, THIRD = (A, A / 10), (B, B / 10), (C, C / 10)


def test_a_gain_multiplies_every_value():
    plain = row_of(3, 8, Convention())

    assert torch.equal(row_of(3, 8, Convention(gain=-0.5)), -0.5 * plain)
    close(row_of(3, 8, Convention(gain="inverse-root")), (plain / math.sqrt(8)).tolist())


def test_zero_rows_are_zero_and_no_others():
    convention = Convention(zero_rows=(0, -2, 5))
    rows, plain = table(9, 8, convention, start=-3), table(9, 8, start=-3)

    for row, position in enumerate(range(-3, 6)):
        assert torch.equal(rows[row], plain[row] * (position not in (0, -2, 5)))
    assert encode([0.0, 5.0, 5.5], 8, convention).count_nonzero(-1).tolist() == [0, 0, 8]
    assert not torch.signbit(encode([-2], 8, convention)).any()


def test_zero_rows_of_a_map_are_the_callers_to_join():
    assert torch.equal(encode([[0, 0]], 16, "mae-2d-cls"), encode([[0, 0]], 16, "mae-2d"))


def test_the_frame_before_the_first_is_zero():
    rows = table(3, 8, "kimi-k25-time")

    assert rows[0].count_nonzero() == 0
    assert torch.equal(rows[1:], table(2, 8, "marian"))


INPUTS = {
    ("none", "interleaved"): [*sines(A), *cosines(A), *sines(A / 10), *cosines(A / 10)],
    ("prefix", "interleaved"): [A, *sines(A), *cosines(A), *sines(A / 10), *cosines(A / 10)],
    ("suffix", "halves"): [*sines(*FIRST), *cosines(*FIRST), A],
}


@pytest.mark.parametrize(("said", "expected"), INPUTS.items(), ids=str)
def test_the_input_beside_its_waves(said, expected):
    convention = Convention(include_input=said[0], layout=said[1], **TENTHS)

    close(row_of(A, len(expected), convention), expected)


# (x, y, z) among columns in the order (z, x, y): by layout of the axes and place of the input.
OF_AXES = {
    ("outer", "halves", "none"): [
        *sines(*THIRD), *cosines(*THIRD), *sines(*FIRST), *cosines(*FIRST), *sines(*SECOND), *cosines(*SECOND),
    ],
    ("middle", "halves", "none"): [
        *sines(*THIRD, *FIRST, *SECOND), *cosines(*THIRD, *FIRST, *SECOND),
    ],
    ("middle", "interleaved", "none"): [
        *sines(C), *cosines(C), *sines(A), *cosines(A), *sines(B), *cosines(B),
        *sines(C / 10), *cosines(C / 10), *sines(A / 10), *cosines(A / 10), *sines(B / 10), *cosines(B / 10),
    ],
    ("inner", "interleaved", "none"): [
        *sines(C, A, B), *cosines(C, A, B), *sines(C / 10, A / 10, B / 10), *cosines(C / 10, A / 10, B / 10),
    ],
    ("inner", "halves", "none"): [
        *sines(C, A, B, C / 10, A / 10, B / 10), *cosines(C, A, B, C / 10, A / 10, B / 10),
    ],
    ("middle", "halves", "prefix"): [
        A, B, C, *sines(*THIRD, *FIRST, *SECOND), *cosines(*THIRD, *FIRST, *SECOND),
    ],
    ("inner", "interleaved", "suffix"): [
        *sines(C, A, B), *cosines(C, A, B), *sines(C / 10, A / 10, B / 10), *cosines(C / 10, A / 10, B / 10), A, B, C,
    ],
    ("outer", "halves", "suffix-per-axis"): [
        *sines(*THIRD), *cosines(*THIRD), C, *sines(*FIRST), *cosines(*FIRST), A, *sines(*SECOND), *cosines(*SECOND), B,
    ],
}  # fmt: skip


@pytest.mark.parametrize(("said", "expected"), OF_AXES.items(), ids=str)
def test_three_axes_by_hand(said, expected):
    convention = Convention(axes=("z", "x", "y"), axis_layout=said[0], layout=said[1], include_input=said[2], **TENTHS)

    close(row_of([A, B, C], len(expected), convention), expected)


@pytest.mark.parametrize("order", ["sine-first", "cosine-first"])
def test_positions_hold_rows_before_columns_whatever_the_order_of_the_columns(order):
    for axes in (IMAGE, IMAGE[::-1]):
        row = row_of([A, B], 4, Convention(axes=axes, order=order))
        held = dict(zip(axes, row.view(2, 2).tolist(), strict=True))
        for axis, value in zip(IMAGE, (A, B), strict=True):
            expected = [math.sin(value), math.cos(value)]
            assert held[axis] == pytest.approx(expected if order == "sine-first" else expected[::-1], abs=1e-15)


def test_every_axis_has_its_own_offset_scale_and_end():
    convention = Convention(
        axes=("column", "row"), position_offset=(1, -0.5), position_scale=(2, 3), last=(0.1, 0.25), endpoint_shift=1
    )
    column, row = 2 * (B + 1), 3 * (A - 0.5)

    close(
        row_of([A, B], 8, convention),
        [
            math.sin(column), math.cos(column), math.sin(column / 10), math.cos(column / 10),
            math.sin(row), math.cos(row), math.sin(row / 4), math.cos(row / 4),
        ],
    )  # fmt: skip


def test_linear_frequencies():
    convention = Convention(spacing="linear", first=1, last=4, endpoint_shift=1, layout="halves")

    close(row_of(A, 8, convention), [*sines(A, 2 * A, 3 * A, 4 * A), *cosines(A, 2 * A, 3 * A, 4 * A)])
    without = Convention(spacing="linear", first=1, last=4, layout="halves")
    close(row_of(A, 6, without), [*sines(A, 2 * A, 3 * A), *cosines(A, 2 * A, 3 * A)])


def test_one_row_of_frequencies_serves_every_axis():
    one = Convention(axes=IMAGE, spacing="explicit", frequencies=(0.5, -2.0))
    each = replace(one, frequencies=((0.5, -2.0), (0.5, -2.0)))

    assert torch.equal(row_of([A, B], 8, one), row_of([A, B], 8, each))
    close(row_of([A, 0], 8, one)[:4], [math.sin(A / 2), math.cos(A / 2), math.sin(-2 * A), math.cos(-2 * A)])


def test_angles_of_the_axes_may_be_added():
    convention = Convention(
        axes=("y", "x"), axis_layout="sum", layout="halves", spacing="explicit", frequencies=((3.0, 0.1), (0.5, -1.0))
    )
    angles = 3 * B + 0.5 * A, 0.1 * B - A

    close(row_of([A, B], 4, convention), [*sines(*angles), *cosines(*angles)])
    # Each is below 2^63, their sum is not.
    far = encode([[2.0**62, 2.0**62], [2**62, 2**62]], 4, convention, dtype=torch.float64)
    assert torch.equal(far[0], encode([2**62, 2**62], 4, convention, dtype=torch.float64))


def test_a_share_of_the_width_for_each_axis():
    convention = Convention(axes=("time", *IMAGE), axis_shares=(2, 1, 1), **TENTHS)
    row = row_of([A, B, C], 8, convention)

    close(
        row,
        [*sum(zip(sines(*FIRST), cosines(*FIRST), strict=True), ()), *sines(B), *cosines(B), *sines(C), *cosines(C)],
    )


# Four columns are an even share of two axes; of six, "truncate" and "round-up" begin a second pair, "pad" adds zeros.
CUT = {
    "truncate": [1, 1, 10000 ** (-1 / 1.5)],
    "round-up": [1, 1, 0.01],
    "pad": [1, 0],
}


@pytest.mark.parametrize(("odd", "frequencies"), CUT.items(), ids=str)
def test_a_width_that_does_not_divide(odd, frequencies):
    row = row_of([A, B], 6, Convention(axes=IMAGE, odd=odd))

    if odd == "pad":
        close(row, [*sines(A), *cosines(A), *sines(B), *cosines(B), 0, 0])
        return
    slow = A * frequencies[2]
    close(row, [*sines(A), *cosines(A), *sines(slow), *cosines(slow), *sines(B), *cosines(B)])


def test_a_distance_that_is_dropped():
    convention = conventions["speechbrain-relposencxl"]
    edges = [INT64_MIN, INT64_MIN + 1, -5, 5, INT64_MAX]
    rows = encode(edges, 8, convention, dtype=torch.float64)

    assert torch.equal(rows[1:3], rows[[4, 3]])
    # The one distance that int64 cannot hold.
    close(rows[0], [float(value) for value in truth(2**63, 8, Convention())])
    assert torch.equal(encode(edges, 8, convention)[[3, 4]], encode([5, INT64_MAX], 8))
    assert torch.equal(encode([-0.5, 0.25], 8, convention), encode([0.5, 0.25], 8))
    moved = replace(convention, position_offset=2)
    assert torch.equal(encode([-5], 8, moved), encode([7], 8))


def test_columns_counted_in_the_exponent():
    row = row_of(A, 4, replace(conventions["lex-glue-hierbert"], zero_rows=()))
    angles = [A * 10000 ** (-2 * column / 4) for column in range(4)]

    close(row, [math.sin(angles[0]), math.cos(angles[1]), math.sin(angles[2]), math.cos(angles[3])])


def test_a_table_that_was_standardised():
    convention = replace(conventions["patchtst"], standardised_rows=20)
    rows = table(20, 8, convention, dtype=torch.float64)
    mean, deviation = moments(8, convention)

    assert abs(rows.mean().item()) < 1e-15
    assert rows.std().item() == pytest.approx(0.1, abs=1e-15)
    close(row_of(31, 8, convention), [float((value - mean) / (10 * deviation)) for value in truth(31, 8, Convention())])


SYSTEMS = ["mae-2d", "x-transformers", "perceiver", "gligen-box", "timm-fourier-log", "sam", "patchtst", "nerf"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", SYSTEMS)
def test_values_of_a_system_are_right_at_any_coordinate(name, dtype):
    convention = ready(name)
    dim, axes = width(convention), len(convention.axes)
    where = [[place + axis / 7 for axis in range(axes)] if axes else place for place in (0.0, 1.1, -3.7, 70_000.2)]

    for _, _, got, true in compare(encode(where, dim, convention, dtype=dtype), where, convention):
        beyond = dtype == torch.float16 and abs(true) > BEYOND_HALF
        assert beyond or abs(got - true) <= unit(true, dtype) * NEARLY_HALF + max(1, axes) * FLOAT_ERROR


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_far_cells_of_a_map_are_correctly_rounded(dtype):
    cells = [[INT64_MIN, INT64_MAX], [2**53 + 1, -7], [10**7, 123_456]]

    assert misrounded(encode(cells, 16, "detr-2d", dtype=dtype), cells, conventions["detr-2d"]) == []
