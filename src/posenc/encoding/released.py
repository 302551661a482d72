"""Rows as real systems computed them, by the recipe of a convention."""

from __future__ import annotations

import torch
from torch import Tensor

from ..convention import Plan
from ..recipes import released, released_sum


def coordinate(positions: Tensor, plan: Plan, axis: int) -> Tensor:
    """One axis (...) of positions (...) or (..., axes)."""
    return positions if plan.axes == 1 else positions[..., axis]


def _released_waves(positions: Tensor, plan: Plan) -> Tensor:
    """Positions (n,) or (n, axes) -> (n, width) as the system computes them, before any gain."""
    recipe = plan.recipe
    if plan.convention.position_sign == "dropped":
        # The smallest int64 has no positive counterpart; in floating point it is that of its neighbour.
        positions = positions.clamp(min=1 - (1 << 63)).abs()
    out = None
    for block in plan.blocks:
        if block.axis is None:
            sines, cosines = released_sum(positions, block.ladders, recipe)
        else:
            sines, cosines = released(coordinate(positions, plan, block.axis), block.ladder, recipe)
        if block.by_column:
            sines, cosines = sines[:, 0::2], cosines[:, 1::2]
        if out is None:
            out = sines.new_zeros(len(positions), plan.width)
        for values, columns in ((sines, block.columns.sines), (cosines, block.columns.cosines)):
            into = out[:, columns]
            into.copy_(values[:, : into.shape[1]])
    return out if out is not None else positions.new_zeros(len(positions), plan.width)


def released_rows(positions: Tensor, plan: Plan) -> Tensor:
    """Positions (n,) or (n, axes) on the CPU -> (n, width), float32 or float64 as the system has them."""
    out = _released_waves(positions, plan)
    rows = plan.convention.standardised_rows
    if rows:
        table = _released_waves(torch.arange(rows, device="cpu"), plan)
        mean = table.mean()
        out = (out - mean) / ((table - mean).std() * 10)
    return out if plan.gain == 1 else out * torch.tensor(plan.gain, dtype=out.dtype, device="cpu")
