"""The cells of maps: whole ones, and the valid cells of padded ones as DETR counts them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from tests.golden import padded_fractions, records

from posenc import Convention, conventions, encode, grid
from posenc.encoding.cells import fraction
from posenc.positions import grid_positions, positions_of_map

NAMES = [
    "detr-2d",
    "detr-2d-normalized",
    "deformable-detr-2d-normalized",
    "sam2-2d",
    "mae-2d",
    "diffusers-2d",
    "perceiver",
]
IMAGE = ("row", "column")
OTHERS = [
    Convention(axes=IMAGE, cells="centres"),
    Convention(axes=IMAGE, cells="centres", trained_size=14),
    Convention(axes=IMAGE, cells="first-to-last"),
    Convention(axes=IMAGE, cells="first-to-last", trained_size=14),
    Convention(axes=IMAGE, cells="fractions", cell_origin=0.5),
    Convention(axes=IMAGE, cells="fractions", cell_origin=0.1, cell_epsilon=0.3, position_scale=7),
    Convention(axes=("depth", "row", "column"), cells="fractions", cell_origin=1, cell_epsilon=1e-6),
]
ALL = [*(conventions[name] for name in NAMES), *OTHERS]


def width(convention: Convention) -> int:
    """A small width that the convention has."""
    return 26 if convention.include_input != "none" else 24


def padded(batch: tuple, valid: tuple) -> torch.Tensor:
    """A mask that is True in the first cells of each axis."""
    mask = torch.zeros(batch, dtype=torch.bool)
    mask[tuple(slice(size) for size in valid)] = True
    return mask


@pytest.mark.parametrize("convention", ALL, ids=lambda c: c.label)
@pytest.mark.parametrize("valid", [(7, 5), (1, 9), (9, 1), (3, 10), (11, 10)], ids=str)
def test_the_valid_cells_are_a_grid(convention, valid):
    batch = (11, 11)
    if len(convention.axes) == 3:
        valid, batch = (2, *valid), (3, *batch)
    mask = padded(batch, valid)
    dim = width(convention)
    places = positions_of_map(mask, convention=convention)
    assert torch.equal(positions_of_map(padding_mask=~mask, convention=convention), places)
    assert places.isfinite().all()
    for dtype in (torch.float32, torch.float64):
        made = encode(places, dim, convention, dtype=dtype)[tuple(slice(size) for size in valid)]
        assert torch.equal(made, grid(valid, dim, convention, dtype=dtype))


def test_fractions_are_rounded_once():
    for origin, epsilon in ((1.0, 1e-6), (0.5, 1e-6), (0.1, 0.3), (0.5, 0.0), (1 / 3, 1e-12)):
        for size in (*range(1, 60), 640, 1333, 65535, 2**31 - 1):
            index = torch.arange(min(size, 60), dtype=torch.float64)
            made = fraction(index, origin, torch.full_like(index, size), epsilon)
            below = Fraction(size) + Fraction(epsilon)
            wanted = [float((Fraction(i) + Fraction(origin)) / below) for i in range(len(index))]
            assert made.tolist() == wanted


def test_a_single_division_is_not_enough():
    # What the sum of two float64 is for.
    off = [size for size in range(1, 400) if float(Fraction(1) / (size + Fraction(1e-6))) != 1 / (size + 1e-6)]
    assert off


def test_golden_detr():
    for record in records("detr_sine_2d_padded"):
        padding = torch.tensor(record.said["mask_is_padding"])
        released = record.convention.as_released()
        places = positions_of_map(padding_mask=padding, convention=released)
        assert torch.equal(places.flatten(0, 1), padded_fractions(record.said, torch.float32))
        values = encode(places, record.dim, released)
        assert (values.flatten(0, 1) - record.values).abs().max() <= record.recipe_error

        exact = encode(positions_of_map(padding_mask=padding), record.dim, "detr-2d-normalized")
        assert (exact.flatten(0, 1) - record.values).abs().max() <= record.system_error + record.unit


def test_a_row_of_counts():
    # Three cells and one of padding, beside a row that is all padding.
    mask = torch.tensor([[1, 1, 1, 0], [0, 0, 0, 0]])
    across = positions_of_map(mask, convention=replace(conventions["detr-2d-normalized"], cell_epsilon=0))[..., 1]
    assert across[0].tolist() == [1 / 3, 2 / 3, 1, 1]
    assert across[1].tolist() == [0, 0, 0, 0]
    assert positions_of_map(mask, convention="detr-2d")[..., 1].tolist() == [[0, 1, 2, 2], [-1] * 4]


@pytest.mark.parametrize("convention", ALL, ids=lambda c: c.label)
def test_padding_never_gives_nan(convention):
    mask = torch.rand(4, *(6 for _ in convention.axes)) < 0.2
    mask.flatten(1)[:, 0] = True

    assert encode(positions_of_map(mask, convention=convention), width(convention), convention).isfinite().all()


def test_every_map_of_a_batch_is_its_own():
    batch = torch.stack([padded((6, 8), size) for size in ((6, 8), (2, 3), (4, 1))]).view(1, 3, 6, 8)
    made = positions_of_map(batch.to(torch.float16))

    assert made.shape == (1, 3, 6, 8, 2)
    for one, mask in zip(made[0], batch[0], strict=True):
        assert torch.equal(one, positions_of_map(mask))
    assert positions_of_map(batch, convention="mae-2d").dtype == torch.int64
    assert positions_of_map(torch.ones(0, 3)).shape == (0, 3, 2)
    assert positions_of_map(torch.ones(2, 0)).shape == (2, 0, 2)


def test_released_fractions_are_those_of_the_system():
    released = conventions["deformable-detr-2d-normalized"].as_released()
    mask = padded((40, 50), (33, 37))
    counts = mask.cumsum(1, dtype=torch.float32)

    made = positions_of_map(mask, convention=released)

    assert made.dtype == torch.float32
    assert torch.equal(made[..., 1], (counts - 0.5) / (counts[:, -1:] + 1e-6))


@pytest.mark.parametrize("sizes", [(3,), (2, 3), (1, 4, 2), (0, 3), [2, 2]], ids=str)
def test_cells_of_a_map(sizes):
    made = grid_positions(sizes)

    assert made.shape == (*sizes, len(sizes))
    assert made.dtype == torch.int64
    for cell in torch.cartesian_prod(*(torch.arange(size) for size in sizes)).view(-1, len(sizes)):
        assert torch.equal(made[tuple(cell)], cell)
    made.add_(1)  # nothing is shared


def test_cells_of_a_map_are_encoded_as_the_grid():
    for name in ("mae-2d", "detr-2d", "diffusers-3d"):
        sizes = (4, 5, 3)[: len(conventions[name].axes)]
        assert torch.equal(encode(grid_positions(sizes), 48, name), grid(sizes, 48, name))
