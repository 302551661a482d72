"""Rows of conventions that do more than one axis of plain pairs: several axes, gains, inputs, zero rows, recipes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from ..convention import Block, Plan
from ..errors import ConventionError, refuse
from ..phase import PLACES, Phase, Steps, add, negate, phase_of
from ..tracing import constant_in_graphs
from ..trig.quarter import cos_sin
from ..trig.render import render
from ..trig.rounding import round_once
from .decided import decided_waves
from .prepared import Prepared, packed, prepared, unpacked
from .released import coordinate, released_rows

# Positions at once, and values of a phase by phase evaluation at once: its float64 temporaries stay in cache.
TILE, _VALUES = 2048, 1 << 17


def _along(positions: Tensor, plan: Plan, axis: int, steps: Steps) -> Phase:
    places = coordinate(positions, plan, axis).unsqueeze(-1)
    phase = phase_of(places, steps)
    if plan.convention.position_sign == "kept":
        return phase
    # |p| in phases, since the smallest int64 has no positive counterpart: the start is not turned.
    start = Phase(*steps[2 * PLACES])
    turned = add(negate(phase), add(start, start))
    return Phase(*(torch.where(places < 0, a, b) for a, b in zip(turned, phase, strict=True)))


def _phase(positions: Tensor, plan: Plan, block: Block, steps: tuple[Steps, ...]) -> Phase:
    if block.axis is not None:
        return _along(positions, plan, block.axis, steps[0])
    total = _along(positions, plan, 0, steps[0])
    for axis in range(1, plan.axes):
        total = add(total, _along(positions, plan, axis, steps[axis]))
    return total


def waves(positions: Tensor, ready: Prepared, index: int) -> tuple[Tensor, Tensor]:
    """Sines and cosines (..., pairs) of one block, float64, before any gain."""
    block = ready.plan.blocks[index]
    cosine, sine = cos_sin(_phase(positions, ready.plan, block, ready.steps[index]))
    if block.by_column:
        return sine[..., 0::2], cosine[..., 1::2]
    return sine, cosine


@lru_cache(maxsize=16)
def _moments(plan: Plan) -> tuple[float, float]:
    """Mean and deviation of the table that a convention is standardised over, before that is done.

    Sums are exact, so that they do not depend on the number of threads.
    """
    ready, count = prepared(plan.convention, plan.dim), plan.convention.standardised_rows or 0

    def values() -> Iterator[Tensor]:
        for start in range(0, count, TILE):
            positions = torch.arange(start, min(start + TILE, count), dtype=torch.int64, device="cpu")
            yield from (part for i in range(len(plan.blocks)) for part in waves(positions, ready, i))

    mean = math.fsum(x for part in values() for x in part.flatten().tolist()) / (count * plan.dim)
    squares = math.fsum(x for part in values() for x in ((part - mean) ** 2).flatten().tolist())
    return mean, math.sqrt(squares / (count * plan.dim - 1))


def affine(plan: Plan) -> tuple[float, float]:
    """(shift, factor): values become (value + shift) * factor.

    What is standardised is off by at most 2^-48 times the gain before its rounding, where the deviation is at least a
    half. With u = 2^-53: the waves and so their mean are off by 6 u, a wave less the mean by 14 u, and the deviation
    by as much, which is 28 u of itself with 4 u for roundings; a result below 0.4 is off by 0.2 * 14 u + 0.4 * 32 u.
    """
    if not plan.convention.standardised_rows:
        return 0.0, plan.gain
    mean, deviation = _moments(plan)
    return -mean, plan.gain / (10 * deviation)


def _affine(plan: Plan) -> tuple[float, float]:
    """The same in a graph, where moments are constants."""
    rule = plan.convention
    return _standard(packed(rule), plan.dim) if rule.standardised_rows else (0.0, plan.gain)


@constant_in_graphs
def _standard(convention: Any, dim: int) -> tuple[float, float]:
    return affine(unpacked(convention).plan(dim))


def _check_gain(plan: Plan, dtype: torch.dtype) -> None:
    largest = torch.finfo(dtype).max
    if abs(plan.gain) > largest:
        refuse(
            f"gain={plan.gain:.6g} in {dtype}",
            f"values that the dtype holds, up to {largest:.6g}",
            "pass a wider dtype, or a smaller gain",
            error=ConventionError,
        )


def computed_rows(positions: Tensor, ready: Prepared, dtype: torch.dtype) -> Tensor:
    """Positions (...) or (..., axes) -> (..., dim), in plain tensor operations without a look at any value."""
    plan = ready.plan
    if plan.convention.arithmetic != "exact":
        refuse(
            f"convention {plan.convention.label} inside a compiled or exported graph, or beyond the CPU",
            "eager mode on the CPU, where its kernels were recorded",
            "compute a table before, or use the exact convention",
            error=ConventionError,
        )
    _check_gain(plan, dtype)
    pieces = [piece for index in range(len(plan.blocks)) for piece in pieces_of(positions, ready, index, dtype)]
    for axis, _ in plan.inputs:
        pieces.append(input_of(positions, plan, axis, dtype))
    return _without_zero_rows(assembled(pieces, ready), positions, plan)


def pieces_of(positions: Tensor, ready: Prepared, index: int, dtype: torch.dtype) -> list[Tensor]:
    """Sines and cosines (..., pairs) of one block, finished, in dtype; NaN where a position is not finite."""
    block = ready.plan.blocks[index]
    shift, factor = _affine(ready.plan)
    pieces = []
    for wave, count in zip(waves(positions, ready, index), ready.counts[index], strict=True):
        values = (wave + shift) * factor if shift or factor != 1 else wave
        if positions.is_floating_point():
            summed = block.axis is None
            places = positions.abs().amax(-1) if summed else coordinate(positions, ready.plan, block.axis or 0)
            values = torch.where((places.abs() < 2.0**63).unsqueeze(-1), values, torch.nan)
        pieces.append(round_once(values, dtype)[..., :count])
    return pieces


def input_of(positions: Tensor, plan: Plan, axis: int, dtype: torch.dtype) -> Tensor:
    """A position itself, where a convention holds it beside its waves, (..., 1)."""
    return round_once(coordinate(positions, plan, axis).double(), dtype).unsqueeze(-1)


def assembled(pieces: list[Tensor], ready: Prepared) -> Tensor:
    """The pieces of all blocks, then the inputs -> (..., dim).

    Joined and put in order by an index: compilers repeat all that a piece is made of for each strided write.
    """
    zero = pieces[0].new_zeros((*pieces[0].shape[:-1], 1))
    return torch.cat([*pieces, zero], -1).index_select(-1, ready.order)


def _shape(positions: Tensor, plan: Plan) -> tuple[int, ...]:
    return tuple(positions.shape if plan.axes == 1 else positions.shape[:-1])


def finished(out: Tensor, positions: Tensor, plan: Plan, dtype: torch.dtype) -> Tensor:
    """Inputs held beside their waves, rows of zeros, and the columns that are cut off."""
    for axis, column in plan.inputs:
        out[..., column] = round_once(coordinate(positions, plan, axis).double(), dtype)
    out = _without_zero_rows(out, positions, plan)
    return out[..., : plan.dim] if plan.width > plan.dim else out


def _without_zero_rows(out: Tensor, positions: Tensor, plan: Plan) -> Tensor:
    if plan.axes == 1:
        for row in plan.convention.zero_rows:
            # Compared with a float, a long int would be rounded to one.
            if not positions.is_floating_point() or int(float(row)) == row:
                out = out.masked_fill((positions == row).unsqueeze(-1), 0)
    return out


def general_rows(positions: Tensor, plan: Plan, dtype: torch.dtype) -> Tensor:
    """Positions (...) or (..., axes), readable on the CPU -> (..., dim)."""
    _check_gain(plan, dtype)
    positions = positions.detach()
    flat = positions.reshape(-1) if plan.axes == 1 else positions.reshape(-1, plan.axes)
    if not plan.is_exact:
        made = released_rows(flat, plan)
        if not bool(made.isfinite().all()):
            refuse(
                f"convention {plan.convention.label} at positions where its arithmetic overflows",
                f"angles that {made.dtype} holds",
                "use the exact convention, or smaller positions, frequencies and scales",
                error=ConventionError,
            )
        made = made.to(dtype)
        return finished(made, flat, plan, dtype).reshape(*_shape(positions, plan), plan.dim)
    out = torch.zeros(len(flat), plan.dim, dtype=dtype, device="cpu")
    ready = prepared(plan.convention, plan.dim)
    size = TILE if plan.is_rendered else max(1, min(TILE, _VALUES // plan.width))
    for start in range(0, len(flat), size):
        tile = flat[start : start + size]
        if plan.convention.standardised_rows:
            out[start : start + size] = computed_rows(tile, ready, dtype)
            continue
        wide = torch.zeros(len(tile), plan.width, dtype=dtype, device="cpu")
        for index, block in enumerate(ready.plan.blocks):
            # A map asks for the columns of one axis at a time.
            if block not in plan.blocks:
                continue
            if plan.is_rendered:
                render(wide, coordinate(tile, plan, block.axis or 0).contiguous(), block.ladder, block.columns)
            else:
                decided_waves(wide, waves(tile, ready, index), tile, plan, block)
        out[start : start + size] = finished(wide, tile, plan, dtype)
    return out.reshape(*_shape(positions, plan), plan.dim)
