"""Maps: tables of named conventions of several axes over a grid, flattened or not, with or without class rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from ..convention import Plan, conventions, systems
from ..encoding.grids import grid
from ..errors import PosencError
from .match import Match
from .tolerance import frequencies, narrowest_dtype, scaled_unit, unit_of

# Phases in float32, each rounded a few times.
_PHASE = 2.0**-21
# Rows before the map: none, a class token, and a distillation token beside it.
_CLASS_ROWS = (0, 1, 2)
_LARGEST = 1 << 22
_ROWS = 64
# Columns that move by so many units do not seem to stand still; so many of them begin again with the next row.
_MOVING = 16
_AGAIN = 0.9


@dataclass(frozen=True)
class _Reading:
    """Rows after `skip` are the cells of a map of these sizes, the last axis first in order "rows"."""

    sizes: tuple[int, ...]
    order: str
    skip: int


@lru_cache(maxsize=128)
def _plans(dim: int) -> tuple[tuple[Plan, tuple[str, ...]], ...]:
    """Every distinct named convention of several axes at this width."""
    groups: dict[object, tuple[Plan, list[str]]] = {}
    for name, convention in conventions.items():
        if systems[name].family == "rotary":
            # What turns queries and keys is no table.
            continue
        try:
            plan = convention.plan(dim)
        except PosencError:
            continue
        if plan.axes > 1:
            rule = convention
            cells = rule.cells, rule.cell_origin, rule.cell_epsilon, rule.trained_size
            key = plan.axes, plan.blocks, plan.inputs, plan.gain, cells
            groups.setdefault(key, (plan, []))[1].append(name)
    return tuple((plan, tuple(names)) for plan, names in groups.values())


def map_matches(table: Tensor, sizes: tuple[int, ...] | None = None) -> list[Match]:
    """Rows (cells, dim), or some more before them -> every name that explains them, or []."""
    dim = table.shape[1]
    if not _plans(dim) or table.numel() > _LARGEST:
        return []
    dtype = narrowest_dtype(table.detach().cpu())
    rows = table.detach().cpu().double()
    unit = unit_of(dtype)
    for reading in _readings(rows, sizes, unit):
        part = rows[reading.skip :]
        found = []
        for plan, names in _plans(dim):
            error = _error(part, plan, reading, unit) if plan.axes == len(reading.sizes) else None
            if error is not None:
                found += [_match(part, name, names, error, reading, dtype) for name in names]
        if found:
            return found
    return []


def _readings(rows: Tensor, sizes: tuple[int, ...] | None, unit: float) -> Iterator[_Reading]:
    if sizes is not None:
        yield _Reading(sizes, "rows", 0)
        yield _Reading(sizes, "columns", 0)
        return
    for skip in _CLASS_ROWS:
        length = len(rows) - skip
        for period in _periods(rows[skip:], unit):
            yield _Reading((length // period, period), "rows", skip)
            yield _Reading((period, length // period), "columns", skip)


def _periods(rows: Tensor, unit: float) -> list[int]:
    """Divisors of the length after which the columns that move begin again, the squarest first."""
    length = len(rows)
    divisors = [n for n in range(2, length // 2 + 1) if length % n == 0]
    found = []
    for period in sorted(divisors, key=lambda n: abs(n * n - length)):
        count = min(_ROWS, period)
        first, again = rows[:count], rows[period : period + count]
        moving = first.amax(0) - first.amin(0) > _MOVING * (unit + 2.0**-20)
        same = ((first - again).abs() <= 2 * unit + 2.0**-20).all(0)
        # The axis that turns fastest starts again, and the others have not begun to move.
        if bool(moving.any()) and (same & moving).sum() >= _AGAIN * moving.sum():
            found.append(period)
    return found


def _furthest(plan: Plan, sizes: tuple[int, ...]) -> float:
    """The largest phase of a map in radians, or more."""
    rule = plan.convention
    most = 2.0 if rule.cells in ("fractions", "ends") else max(*sizes, rule.trained_size or 0)
    ladders = [ladder for block in plan.blocks for ladder in block.ladders]
    return max(frequencies(ladder).abs().max().item() * (most + abs(float(ladder.offset))) for ladder in ladders)


def _error(part: Tensor, plan: Plan, reading: _Reading, unit: float) -> float | None:
    """The largest difference of rows from a convention, None where it is more than float32 explains."""
    allowed = scaled_unit(unit, plan.gain) + _PHASE * _furthest(plan, reading.sizes) * abs(plan.gain)
    if allowed > 0.5 * abs(plan.gain):
        return None
    made = grid(reading.sizes, plan.dim, plan.convention, dtype=torch.float64, device="cpu")
    flat = made if reading.order == "rows" else made.permute(*range(plan.axes - 1, -1, -1), plan.axes)
    error = (part - flat.reshape(-1, plan.dim)).abs().max().item()
    return error if error <= allowed else None


def _match(
    part: Tensor, name: str, names: tuple[str, ...], error: float, reading: _Reading, dtype: torch.dtype
) -> Match:
    sizes = " x ".join(map(str, reading.sizes))
    note = f"a map of {sizes}, cells by {reading.order}"
    if reading.skip:
        note += f", behind {reading.skip} class row{'s' * (reading.skip > 1)}"
    return Match(
        name, conventions[name], 0, error, error / part.square().mean().sqrt().item(), "float32", dtype, "named",
        rows=len(part), names=tuple(other for other in names if other != name), note=note, dim=part.shape[1],
        sizes=reading.sizes,
    )  # fmt: skip
