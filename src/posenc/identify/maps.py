"""Flattened maps: tables of named two-dimensional conventions over a grid, with or without a class row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from ..convention import Plan, conventions
from ..encode.grid import grid
from ..errors import PosencError
from .match import Match
from .tolerance import TILE, narrowest_dtype, unit_of

# Phases in float32, for coordinates up to the size of the map and the fastest pair, one radian a cell.
_PHASE = 2.0**-21


@dataclass(frozen=True)
class _Reading:
    sizes: tuple[int, int]
    order: str
    skip: int


@lru_cache(maxsize=32)
def _plans(dim: int) -> tuple[tuple[Plan, tuple[str, ...]], ...]:
    groups: dict[object, tuple[Plan, list[str]]] = {}
    for name, convention in conventions.items():
        try:
            plan = convention.plan(dim)
        except PosencError:
            continue
        if plan.axes == 2 and not plan.inputs:
            key = (
                plan.blocks,
                convention.cells,
                convention.cell_origin,
                convention.cell_epsilon,
                convention.trained_size,
            )
            groups.setdefault(key, (plan, []))[1].append(name)
    return tuple((plan, tuple(names)) for plan, names in groups.values())


def map_matches(table: Tensor, sizes: tuple[int, int] | None = None) -> list[Match]:
    """Rows (rows * columns, dim), or one more before them -> every name that explains them, or []."""
    values = table.detach().cpu()
    dtype = narrowest_dtype(values)
    rows = values.double()
    for reading in _readings(rows, sizes):
        part = rows[reading.skip :]
        # Sines and cosines of pairs: every row has one length, the root of the number of pairs.
        lengths = part.square().sum(1)
        if bool(((lengths - lengths[0]).abs() > 4 * unit_of(dtype) * table.shape[1]).any()):
            continue
        found = []
        for plan, names in _plans(table.shape[1]):
            error = _distance(part, plan, reading, unit_of(dtype))
            if error is not None:
                found += [_match(part, name, names, error, reading, dtype) for name in names]
        if found:
            return found
    return []


def _readings(rows: Tensor, sizes: tuple[int, int] | None) -> list[_Reading]:
    length = len(rows)
    if sizes is not None:
        return [_Reading(sizes, order, length - sizes[0] * sizes[1]) for order in ("rows", "columns")]
    found = []
    for skip in (0, 1):
        side = math.isqrt(length - skip)
        if side > 1 and side * side == length - skip:
            found += [_Reading((side, side), order, skip) for order in ("rows", "columns")]
    return found


def _distance(part: Tensor, plan: Plan, reading: _Reading, unit: float) -> float | None:
    height, width = reading.sizes
    if len(part) * plan.dim > TILE * TILE * 16:
        return None
    made = grid(reading.sizes, plan.dim, plan.convention, dtype=torch.float64)
    flat = (made if reading.order == "rows" else made.transpose(0, 1)).reshape(-1, plan.dim)
    error = (part - flat).abs().max().item()
    return error if error <= unit + _PHASE * max(height, width) else None


def _match(
    part: Tensor, name: str, names: tuple[str, ...], error: float, reading: _Reading, dtype: torch.dtype
) -> Match:
    convention = conventions[name]
    height, width = reading.sizes
    note = f"a map of {height} x {width}, flattened by {reading.order}"
    if reading.skip:
        note += f", behind {reading.skip} class row"
    return Match(
        name, convention, 0, error, error / part.square().mean().sqrt().item(), "float32", dtype, "named",
        len(part), tuple(other for other in names if other != name), note=note,
    )  # fmt: skip
