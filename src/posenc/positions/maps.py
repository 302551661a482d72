"""Positions of the cells of a map: all of them, or the valid ones of a padded map."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..arguments.memory import made
from ..convention import Convention, resolve
from ..encoding.arguments import INT64_MAX, with_float64
from ..encoding.cells import Cells, cells_of, placed
from ..encoding.prepared import packed, unpacked
from ..errors import ConventionError, DtypeError, refuse
from ..tracing import constant_in_graphs
from .arguments import check_count, check_place, numbers
from .masks import real_tokens


def grid_positions(sizes: tuple[int, ...] | list[int], *, device: torch.device | str | None = None) -> Tensor:
    """The cells of a map -> int64 coordinates (*sizes, axes), rows first: cell (i, j) stands at (i, j).

    For functions and layers that take coordinates; `flatten(0, -2)` gives the tokens of an image row by row. Where
    a convention scales or centres its coordinates, `posenc.grid` makes the encodings at once.

    Raises:
        PosencError: for sizes that are no ints of at least 0, or none.

    >>> grid_positions((2, 3)).flatten(0, -2).tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    """
    fix = "pass a tuple with one size for each axis, as in (14, 14)"
    if not isinstance(sizes, (tuple, list)) or not sizes:
        refuse(f"sizes={sizes!r}", "a tuple of ints, one for each axis", fix, error=DtypeError)
    shape = [check_count(size, f"sizes[{axis}]", 0, INT64_MAX, fix) for axis, size in enumerate(sizes)]
    place = check_place(device)
    axes = [numbers(size, place) for size in shape]
    whole = (*shape, len(shape))
    return made(
        lambda: torch.stack(torch.meshgrid(*axes, indexing="ij"), -1),
        whole,
        torch.int64,
        place,
        "a map of positions",
        "pass smaller sizes",
    )


class _Rule(NamedTuple):
    """What a convention says of the coordinates of cells, and how many axes they have."""

    axes: int
    cells: Cells


def positions_of_map(
    pixel_mask: Tensor | None = None,
    *,
    padding_mask: Tensor | None = None,
    convention: str | Convention = "detr-2d-normalized",
) -> Tensor:
    """The mask of a padded map (..., H, W) -> the positions of its cells (..., H, W, 2), (row, column).

    A cell is counted along its own column and its own row, over valid cells alone, and a map of any size in a
    larger batch gets the positions that it would have alone. Volumes and video have their axes in the order of the
    convention's positions. `convention` says what a count becomes, as in `posenc.grid`: the fraction
    (i + cell_origin) / (n + cell_epsilon) of the n valid cells, or the index i itself.

    Law: in the valid rectangle encode(positions, dim, convention) is grid((h, w), dim, convention), bit for bit:
    numbers are exact, rounded once to float64, or int64 where they are indices. As released they are the system's
    float32. Padding repeats the last count; before the first valid cell, and where there is none, that is 0, and the
    index -1. Its positions are finite and mean nothing.

    Args:
        pixel_mask: non-zero is a valid cell, as image processors of Hugging Face give it.
        padding_mask: True is padding, as DETR itself holds it.
        convention: a name in `posenc.conventions` of several axes, or a `Convention`.

    Raises:
        PosencError: for no mask or two, a wrong dtype, floats other than 0 and 1, a map that is all padding, a
            convention of one axis.

    Source: Carion et al. 2020 (DETR).

    >>> valid = torch.tensor([[1, 1, 0], [1, 1, 0]])
    >>> positions_of_map(valid, convention="detr-2d")[1].tolist()
    [[1, 0], [1, 1], [-1, 1]]
    >>> positions_of_map(valid)[1, :, 1]
    tensor([0.5000, 1.0000, 1.0000], dtype=torch.float64)
    """
    rule = _rule(packed(convention))
    axes = ("H", "W") if rule.axes == 2 else tuple(f"size {axis}" for axis in range(rule.axes))
    valid = real_tokens(pixel_mask, padding_mask, ("pixel_mask", "padding_mask"), axes, row="map")
    if not rule.cells.are_counted:
        valid = with_float64(valid)
    return torch.stack([_along(valid.to(torch.int64).cumsum(axis), axis, rule) for axis in range(-rule.axes, 0)], -1)


@constant_in_graphs
def _rule(convention: Any) -> _Rule:
    known = resolve(unpacked(convention))
    if len(known.axes) < 2:
        refuse(
            f"convention {known.label} of one axis",
            "one of several axes",
            "use positions_from_mask for a sequence",
            error=ConventionError,
        )
    exact = known.arithmetic == "exact"
    if not exact and (known.trained_size or known.cells in ("centres", "ends")):
        refuse(
            f"convention {known.label}",
            "the exact convention: the system itself has no arithmetic for padded maps",
            "leave as_released out",
            error=ConventionError,
        )
    return _Rule(len(known.axes), cells_of(known, known.trained_size))


def _along(counts: Tensor, axis: int, rule: _Rule) -> Tensor:
    """Running counts of valid cells along one axis -> their coordinates, as the rule of `posenc.grid` has them."""
    # Of an empty map there is no last count, and none is needed.
    return placed(counts - 1, counts.movedim(axis, -1)[..., -1:].movedim(-1, axis), rule.cells)
