"""Whole maps: the coordinates of their cells, and that every cell is what `encode` says of it."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.named import TABLES
from tests.strategies import DTYPES, modest

from posenc import Convention, conventions, encode, grid, table
from posenc.errors import ConventionError
from posenc.recipes import released_coordinates

SIZES = (3, 5, 2, 4)
DIMS = (12, 16, 18, 10, 27)

ROW_COLUMN = ("row", "column")
MAPS = {
    "corners": Convention(axes=ROW_COLUMN),
    "centres": Convention(axes=ROW_COLUMN, cells="centres"),
    "first-to-last": Convention(axes=ROW_COLUMN, cells="first-to-last"),
    "trained ends": Convention(axes=ROW_COLUMN, cells="first-to-last", trained_size=14),
    "fractions": Convention(axes=ROW_COLUMN, cells="fractions", cell_origin=0.5, cell_epsilon=1e-6, position_scale=7),
    "ends": Convention(axes=ROW_COLUMN, cells="ends", position_scale=3),
    "trained": Convention(axes=ROW_COLUMN, trained_size=16),
    "columns first": Convention(axes=("column", "row"), layout="halves", order="cosine-first"),
    "middle": Convention(axes=ROW_COLUMN, axis_layout="middle"),
    "inner": Convention(axes=("z", "x", "y"), axis_layout="inner", layout="halves"),
    "shares": Convention(axes=("time", "column", "row"), axis_shares=(2, 1, 1)),
    "cut": Convention(axes=ROW_COLUMN, odd="round-up"),
    "real span": Convention(axes=ROW_COLUMN, odd="truncate", layout="halves"),
    "padded": Convention(axes=ROW_COLUMN, odd="pad"),
    "gain": Convention(axes=ROW_COLUMN, gain="inverse-root"),
    "sign": Convention(axes=ROW_COLUMN, position_sign="dropped", position_offset=-1),
    "prefix": Convention(axes=("column", "row"), include_input="prefix", odd="pad"),
    "suffix": Convention(axes=("column", "row"), include_input="suffix", axis_layout="inner", odd="pad"),
    "suffixes": Convention(axes=("column", "row"), include_input="suffix-per-axis", odd="pad"),
    "offsets": Convention(axes=ROW_COLUMN, position_offset=(0.5, -3), position_scale=(-1, 0.25), trained_size=7),
}


def drawn(convention: Convention, dim: int) -> Convention:
    """The convention with frequencies, where it comes without."""
    if convention.spacing != "explicit":
        return convention
    pairs = dim // 2
    return convention.with_frequencies(torch.linspace(-2, 3, pairs * max(1, len(convention.axes))).view(-1, pairs))


def fraction(convention: Convention, i: int, size: int, trained: int | None) -> Fraction:
    """Where cell i of `size` stands, by the definition of `cells`."""
    if convention.cells == "ends":
        return Fraction(2 * i, size - 1) - 1 if size > 1 else Fraction(-1)
    if convention.cells == "fractions":
        return (i + Fraction(convention.cell_origin)) / (size + Fraction(convention.cell_epsilon))
    if convention.cells == "first-to-last" and trained:
        return Fraction(i * (trained - 1), size - 1) if size > 1 else Fraction(0)
    place = i + Fraction(convention.cells == "centres") / 2
    return place * Fraction(trained, size) if trained else place


def cells(convention: Convention, sizes, trained=None) -> torch.Tensor:
    """The coordinates of every cell, rows first, float64."""
    trained = trained or (convention.trained_size,) * len(sizes)
    axes = [
        torch.tensor([float(fraction(convention, i, size, known)) for i in range(size)], dtype=torch.float64)
        for size, known in zip(sizes, trained, strict=True)
    ]
    mesh = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1)
    return mesh if convention.axes else mesh[..., 0]


def coordinates(convention: Convention, size: int, trained: int | None) -> torch.Tensor:
    """What the module makes of them."""
    return importlib.import_module("posenc.encoding.cells").coordinates(convention.plan(8), size, trained)


def released_cells(convention: Convention, sizes) -> torch.Tensor:
    options = convention.trained_size, convention.cell_origin, convention.cell_epsilon
    axes = [released_coordinates(convention.cells, size, *options).double() for size in sizes]
    mesh = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1)
    return mesh if convention.axes else mesh[..., 0]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", MAPS)
def test_every_cell_is_what_encode_says(kind, dtype):
    convention = MAPS[kind]
    sizes = SIZES[: len(convention.axes)]
    seen = 0
    for dim in DIMS:
        try:
            convention.plan(dim)
        except ConventionError:
            continue
        got = grid(sizes, dim, convention, dtype=dtype)
        assert got.shape == (*sizes, dim)
        assert got.dtype == dtype
        assert torch.equal(got, encode(cells(convention, sizes), dim, convention, dtype=dtype))
        seen += 1
    assert seen


@pytest.mark.parametrize("name", TABLES)
def test_every_named_system(name):
    for dim in DIMS:
        convention = drawn(conventions[name], dim)
        try:
            convention.plan(dim)
        except ConventionError:
            continue
        sizes = SIZES[: max(1, len(convention.axes))]
        assert torch.equal(grid(sizes, dim, convention), encode(cells(convention, sizes), dim, convention))
        released = convention.as_released()
        assert torch.equal(grid(sizes, dim, released), encode(released_cells(convention, sizes), dim, released))
        return
    pytest.fail(f"no width in {DIMS} fits {name}")


def test_by_hand_rows_first():
    # MAE holds the column before the row: width 4 is sin x, cos x, sin y, cos y.
    got = grid((2, 3), 4, dtype=torch.float64)

    assert got[1, 2].tolist() == pytest.approx([math.sin(2), math.cos(2), math.sin(1), math.cos(1)], abs=1e-15)
    assert torch.equal(got.flatten(0, 1)[1 * 3 + 2], got[1, 2])


def test_video_is_time_row_column():
    got = grid((2, 3, 4), 32, "diffusers-3d")

    assert torch.equal(got[1, 2, 3], encode([1, 2, 3], 32, "diffusers-3d"))
    assert not torch.equal(got[1, 2, 3], encode([3, 2, 1], 32, "diffusers-3d"))


def test_one_axis_is_a_table():
    assert torch.equal(grid((7,), 16, conventions["fairseq"]), table(7, 16, "fairseq"))
    assert torch.equal(grid([5000], 8, conventions["transformer"]), table(5000, 8))
    # Twice the length in the range that was trained: positions at half steps.
    halves = encode(torch.arange(14) / 2, 16)
    assert torch.equal(grid((14,), 16, conventions["transformer"], trained_sizes=7), halves)


def test_long_axes_are_written_in_tiles():
    for sizes in ((5000, 2), (2, 5000)):
        got = grid(sizes, 8)
        for at in ((0, 0), (sizes[0] - 1, sizes[1] - 1), (sizes[0] // 2, sizes[1] // 2)):
            assert torch.equal(got[at], encode(list(at), 8, "mae-2d"))
    sam = drawn(conventions["sam"], 8)
    assert torch.equal(grid((70, 60), 8, sam)[69, 3], encode([69.5 / 70, 3.5 / 60], 8, sam))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 32, 100])
@pytest.mark.parametrize("trained", [None, 1, 7, 14, 2**60 + 1])
@pytest.mark.parametrize("kind", ["corners", "centres", "first-to-last", "fractions", "ends"])
def test_coordinates_are_rounded_once(kind, trained, size):
    convention = MAPS[kind]
    if trained and kind in ("fractions", "ends"):
        return
    places = coordinates(convention, size, trained)
    exact = [fraction(convention, i, size, trained) for i in range(size)]

    if all(x.denominator == 1 for x in exact):
        assert places.dtype == torch.int64
    assert [Fraction(x) for x in places.tolist()] == [
        x if places.dtype == torch.int64 else Fraction(float(x)) for x in exact
    ]


@modest
@given(size=st.integers(1, 300), trained=st.integers(1, 300), centres=st.booleans())
def test_the_range_that_was_trained_is_kept(size, trained, centres):
    convention = MAPS["centres" if centres else "corners"]
    places = coordinates(convention, size, trained).double()
    known = coordinates(convention, trained, None).double()
    cell = trained / size

    # Cells tile the same range: from the first corner to the last one plus a cell.
    start = cell / 2 if centres else 0
    assert places[0].item() == start
    end, known_end = places[-1].item() + cell - start, known[-1].item() + (0.5 if centres else 1)
    assert end == pytest.approx(known_end, rel=2.0**-51)


@modest
@given(size=st.integers(2, 300), trained=st.integers(1, 300))
def test_the_first_and_the_last_cell_keep_their_places(size, trained):
    places = coordinates(MAPS["first-to-last"], size, trained)

    assert (places[0].item(), places[-1].item()) == (0, trained - 1)
    # torch's own rule of the same kind, applied to a line.
    line = torch.arange(trained, dtype=torch.float64).view(1, 1, trained)
    drawn_out = torch.nn.functional.interpolate(line, size=size, mode="linear", align_corners=True)
    assert (places - drawn_out[0, 0]).abs().max() <= trained * 2.0**-50
    released = released_coordinates("first-to-last", size, trained, 0, 0)
    assert (places - released).abs().max() <= trained * 2.0**-22


@pytest.mark.parametrize("kind", ["corners", "centres", "first-to-last"])
def test_the_size_of_training_changes_nothing(kind):
    assert torch.equal(grid((6, 9), 8, MAPS[kind], trained_sizes=(6, 9)), grid((6, 9), 8, MAPS[kind]))


def test_twice_the_resolution_by_coordinates():
    coarse, fine = grid((14, 14), 64), grid((28, 28), 64, trained_sizes=14)

    assert torch.equal(fine[::2, ::2], coarse)
    assert torch.equal(fine[3, 5], encode([1.5, 2.5], 64, "mae-2d"))
    # Cells of another shape, and one size for each axis.
    wide = grid((14, 28), 64, trained_sizes=(14, 14))
    assert torch.equal(wide[:, ::2], coarse)
    assert torch.equal(grid((7, 7), 64, trained_sizes=14), coarse[::2, ::2])


def test_the_trained_size_of_a_system_can_be_overridden():
    assert torch.equal(grid((4, 4), 16, "diffusers-2d"), encode(4 * cells(MAPS["corners"], (4, 4)), 16, "diffusers-2d"))
    assert torch.equal(grid((4, 4), 16, "diffusers-2d", trained_sizes=4), grid((4, 4), 16, "dit-2d"))
