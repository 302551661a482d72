"""The formula itself: exponents by pairs, order of columns, and the numbers that tell a wrong copy."""

from __future__ import annotations

import pytest
import torch
from tests.golden import STEMS, records

from posenc import Convention, PositionalEncoding, convert, encode, shift_matrix, similarity, table, wavelengths

from .formula import FLOAT32, frequencies, off, row, rows
from .register import case

HALVES = Convention(layout="halves")


@case("B121")
def a_pair_shares_one_frequency():
    got = encode(1, 6, dtype=torch.float64)
    assert off(got, [0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0]) <= 5e-5  # four digits are given
    assert off(got, row(1, 6)) <= 1e-15
    for position in (1, 7, 1000):
        pairs = encode(position, 6, dtype=torch.float64).view(3, 2)
        assert off(pairs.square().sum(-1), torch.ones(3)) <= 1e-15


@case("B122")
def columns_2_and_3_are_a_pair():
    got = encode(7, 6, dtype=torch.float64)
    assert abs((got[2] ** 2 + got[3] ** 2).item() - 1) <= 1e-15
    # The slip is on record, under a name of its own.
    slip = encode(7, 6, Convention(pairing="columns"), dtype=torch.float64)
    assert abs((slip[2] ** 2 + slip[3] ** 2).item() - 1) > 1e-4


def _residual(values: torch.Tensor, offset: int) -> float:
    """What is left of the best linear map from each row to the row `offset` later."""
    before, after = values[:-offset], values[offset:]
    return (before @ torch.linalg.lstsq(before, after, driver="gelsd").solution - after).abs().max().item()


@case("B123")
def a_shift_is_one_linear_map():
    right = table(57, 16, dtype=torch.float64)
    assert _residual(right, 7) < 1e-10
    assert (right[:-7] @ shift_matrix(7, 16).T - right[7:]).abs().max() < 1e-14
    # Halves are as good; a frequency for each column is not.
    assert _residual(table(57, 16, HALVES, dtype=torch.float64), 7) < 1e-10
    assert _residual(table(57, 16, Convention(pairing="columns"), dtype=torch.float64), 7) > 0.5


@case("B124")
def products_depend_on_the_distance_alone():
    values = table(30, 16, dtype=torch.float64)
    gram = values @ values.T
    assert (gram.diagonal() - 8).abs().max() <= 1e-12
    for distance in range(30):
        line = gram.diagonal(distance)
        assert (line - line[0]).abs().max() <= 1e-12
        assert abs(line[0] - similarity(distance, 16)) <= 1e-12


@case("B125")
def layouts_have_names():
    wanted = [0.8415, 0.0464, 0.0022, 0.5403, 0.9989, 1.0]
    assert off(encode(1, 6, HALVES), wanted) <= 5e-5
    assert off(encode(1, 6, HALVES), row(1, 6, layout="halves")) <= FLOAT32
    assert "layout='halves'" in repr(PositionalEncoding(6, convention=HALVES))
    there = convert(encode(1, 6), "transformer", HALVES)
    assert torch.equal(there, encode(1, 6, HALVES))
    assert torch.equal(convert(there, HALVES, "transformer"), encode(1, 6))


@case("B127")
def exponents_are_no_integers():
    # One radian a position is a wavelength of 2 pi.
    got = 2 * torch.pi / wavelengths(8)
    assert off(got, [1, 0.1, 0.01, 0.001]) <= 1e-15
    assert off(encode(1, 8, dtype=torch.float64)[0::2], torch.tensor([1, 0.1, 0.01, 0.001]).double().sin()) <= 1e-8


@case("B128")
def the_default_dtype_changes_the_rounding_alone():
    before = torch.get_default_dtype()
    found = {}
    for dtype in (torch.float64, torch.float32):
        try:
            torch.set_default_dtype(dtype)
            found[dtype] = (table(9, 8), PositionalEncoding(8, 0.0, 9).pe[0], encode(range(9), 8))
        finally:
            torch.set_default_dtype(before)
    for dtype, close in ((torch.float64, 1e-15), (torch.float32, FLOAT32)):
        for got in found[dtype]:
            assert got.dtype == dtype
            assert off(got, rows(range(9), 8)) <= close


@case("B129")
def named_variants_match_what_systems_put_out():
    seen = 0
    for stem in STEMS:
        for record in records(stem):
            if record.dim != 8 or record.convention.standardised_rows:
                continue
            got = encode(record.released[:2], 8, record.convention.as_released(), dtype=record.values.dtype)
            assert (got - record.rows[:2]).abs().max() <= 1e-6, stem
            seen += 1
    assert seen > 50


@case("B130")
def frequencies_begin_at_1_and_fall():
    assert frequencies(8) == pytest.approx([1, 0.1, 0.01, 0.001], rel=1e-15)
    for dim, last in ((8, 0.001), (512, 1.0366e-4)):
        got = 2 * torch.pi / wavelengths(dim)
        assert got[0] == pytest.approx(1, rel=1e-15)
        assert got[-1] == pytest.approx(last, rel=5e-5)
        assert bool((got.diff() < 0).all())
        assert off(got, frequencies(dim)) <= 1e-14
    steps = table(200, 512, dtype=torch.float64).diff(dim=0).norm(dim=-1)
    assert (steps - steps[0]).abs().max() <= 1e-12
