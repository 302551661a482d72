"""Maps: which axis comes first, sizes that are not square, other sizes than those of training, and padding."""

from __future__ import annotations

import math

import pytest
import torch

from posenc import Convention, RotaryEmbedding, encode, grid
from posenc.positions import grid_positions, positions_of_map

from .formula import FLOAT32, FLOAT32_ROTATION, off, rows, turned
from .register import case

ROW_COLUMN = ("row", "column")


def _line(places, dim: int = 4) -> torch.Tensor:
    """The code of one axis in halves."""
    return rows(places, dim, layout="halves")


@case("B147")
def mae_holds_the_column_first():
    got = grid((2, 3), 8, "mae-2d").flatten(0, 1)
    assert off(got[:, :4], _line([0, 1, 2, 0, 1, 2])) <= FLOAT32
    assert off(got[:, 4:], _line([0, 0, 0, 1, 1, 1])) <= FLOAT32
    # The other way round is a convention of its own.
    other = Convention(axes=ROW_COLUMN, layout="halves")
    assert off(grid((2, 3), 8, other).flatten(0, 1)[:, :4], _line([0, 0, 0, 1, 1, 1])) <= FLOAT32


@case("B149")
def maps_of_another_shape():
    # Four columns are spread over five, four rows over two.
    got = grid((2, 5), 8, "mae-2d", trained_sizes=4)
    assert torch.equal(got[0, :, :4], got[1, :, :4])
    assert off(got[0, :, :4], _line([i * 4 / 5 for i in range(5)])) <= FLOAT32
    assert torch.equal(got[:, 0, 4:], got[:, 4, 4:])
    assert off(got[:, 0, 4:], _line([0, 2])) <= FLOAT32
    # The index of the column itself, where a convention holds it.
    held = Convention(axes=ROW_COLUMN, include_input="prefix", odd="pad")
    places = grid((2, 5), 10, held, trained_sizes=(4, 4))[..., :2]
    assert off(places[..., 1], torch.tensor([[i * 4 / 5 for i in range(5)]] * 2)) <= 4 * FLOAT32
    assert off(places[..., 0], torch.tensor([[0.0] * 5, [2.0] * 5])) == 0


@case("B150")
def a_line_is_a_map_of_one_row():
    line, nothing = _line(range(6)), _line([0])
    row, column = grid((1, 6), 8, "mae-2d"), grid((6, 1), 8, "mae-2d")
    assert off(row[0, :, :4], line) <= FLOAT32
    assert off(row[0, :, 4:], nothing.expand(6, 4)) == 0
    assert off(column[:, 0, 4:], line) <= FLOAT32
    assert off(column[:, 0, :4], nothing.expand(6, 4)) == 0


@case("B152")
def other_sizes_are_evaluated_by_a_named_rule():
    rules = {
        "centres": (Convention(axes=ROW_COLUMN, cells="centres", position_offset=-0.5), lambda i: (i + 0.5) / 2 - 0.5),
        "first-to-last": (Convention(axes=ROW_COLUMN, cells="first-to-last"), lambda i: i * 3 / 7),
        "corners": (Convention(axes=ROW_COLUMN), lambda i: i / 2),
    }
    assert [rules["centres"][1](i) for i in range(3)] == [-0.25, 0.25, 0.75]
    assert [rules["first-to-last"][1](i) for i in range(3)] == [0, 3 / 7, 6 / 7]
    for convention, place in rules.values():
        # Four cells, brought to eight.
        got = grid((8, 1), 8, convention, trained_sizes=(4, 1), dtype=torch.float64)[:, 0, :4]
        assert off(got, rows([place(i) for i in range(8)], 4)) <= 1e-15
        # At its own size a map stays what it is.
        assert torch.equal(grid((4, 3), 8, convention, trained_sizes=(4, 3)), grid((4, 3), 8, convention))


@case("B154")
def padded_maps_count_real_pixels():
    mask = torch.tensor([[1, 1, 1, 0]])
    fractions = positions_of_map(mask, convention="detr-2d-normalized")
    x = fractions[0, :, 1] * 2 * math.pi
    assert off(x[:3], [2 * math.pi / 3, 4 * math.pi / 3, 2 * math.pi]) <= 7e-6  # 2 pi times the system's 1e-6
    got = encode(fractions, 8, "detr-2d-normalized")
    alone = grid((1, 3), 8, "detr-2d-normalized")
    assert torch.equal(got[:, :3], alone)
    # Rows that are padding altogether, below a map.
    below = positions_of_map(torch.tensor([[1, 1, 1, 0], [0, 0, 0, 0]]), convention="detr-2d-normalized")
    assert bool(encode(below, 8, "detr-2d-normalized").isfinite().all())
    whole = positions_of_map(torch.ones(2, 3), convention="detr-2d-normalized")
    assert torch.equal(encode(whole, 8, "detr-2d-normalized"), grid((2, 3), 8, "detr-2d-normalized"))


@case("B155")
def axial_rotary_says_whose_columns_are_whose():
    rotary = RotaryEmbedding(8, Convention(axes=ROW_COLUMN, layout="interleaved"))
    q = torch.randn(1, 1, 1, 8).expand(1, 1, 4, 8)
    # One column of a map: rows 0 to 3, x = 2.
    places = torch.tensor([[row, 2] for row in range(4)])
    made, _ = rotary(q, q, positions=places)
    assert torch.equal(made[..., 4:], made[:, :, :1, 4:].expand(1, 1, 4, 4))
    assert off(made[0, 0, 3, 4:], turned(q[0, 0, 0, 4:].tolist(), 2, layout="interleaved")) <= 4 * FLOAT32_ROTATION
    assert off(made[0, 0, 3, :4], turned(q[0, 0, 0, :4].tolist(), 3, layout="interleaved")) <= 4 * FLOAT32_ROTATION
    # Tokens of a map, row by row.
    tokens = torch.randn(1, 1, 6, 8)
    flat = grid_positions((2, 3)).flatten(0, 1)
    assert flat.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert rotary(tokens, tokens, positions=flat)[0].shape == tokens.shape
    with pytest.raises(ValueError, match=r"\(6, 2\)"):
        rotary(tokens, tokens, positions=torch.arange(6))
