"""Whether a trained table looks like a map that was laid out row by row: an image's, and not a line's."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

# Rows that stand before a map: none, a class token, and one for distillation beside it.
_BEFORE = (0, 1, 2)
# Fewer rows or columns show no pattern.
_LEAST = 4
# How much longer the step from the end of a row of the map to the next one is, and by how many deviations of its mean;
# how much nearer cells one row apart are than cells half a row apart. Steps of a sinusoidal table
# are all of one length, and of 6300 tables of noise two passed, of 16 rows and at most 2 columns.
_LONGER, _DEVIATIONS, _NEARER = 1.3, 6.0, 0.8


class MapSize(NamedTuple):
    """Rows of the table before the map, and the map's own rows and columns."""

    before: int
    height: int
    width: int


def map_size(table: Tensor) -> MapSize | None:
    """The map that rows (L, d) look like, or None.

    In a map of W columns neighbours are alike, and so are cells W apart, one above the other; but every W-th step,
    from the end of a row to the beginning of the next, goes across the whole map. In a line no step is special.

    >>> columns = torch.arange(196.0).remainder(14).unsqueeze(1)
    >>> map_size(columns), map_size(torch.arange(196.0).unsqueeze(1))
    (MapSize(before=0, height=14, width=14), None)
    """
    rows = table.detach().to("cpu", torch.float64)
    steps = (rows[1:] - rows[:-1]).square().sum(-1)
    found = [
        (_special(steps, size), size)
        for before in _BEFORE
        for size in _sizes(before, len(rows) - before)
        if _special(steps, size) and _are_alike(rows, size)
    ]
    return max(found)[1] if found else None


def _sizes(before: int, cells: int) -> list[MapSize]:
    """Every height and width of so many cells."""
    widths = [width for width in range(_LEAST, cells // _LEAST + 1) if cells % width == 0]
    return [MapSize(before, cells // width, width) for width in widths]


def _special(steps: Tensor, size: MapSize) -> float:
    """By how many deviations steps to the next row of the map are longer than those inside of one; 0 below six."""
    inside = steps[size.before :]
    is_across = torch.arange(1, len(inside) + 1) % size.width == 0
    across, within = inside[is_across], inside[~is_across]
    mean, deviation = within.mean().item(), within.std().item() / len(across) ** 0.5
    more = across.mean().item() - mean
    if not (more > (_LONGER - 1) * mean and more > _DEVIATIONS * deviation):
        return 0.0
    return more / deviation if deviation else float("inf")


def _are_alike(rows: Tensor, size: MapSize) -> bool:
    """Whether cells one above the other are more alike than cells half a row of the map apart."""
    cells = rows[size.before :]
    apart = [(cells[lag:] - cells[:-lag]).square().sum(-1).mean().item() for lag in (size.width, size.width // 2)]
    return apart[0] < _NEARER * apart[1]
