"""Cosines and sines of the pairs of one ladder, times a gain, rounded once: what rotary embeddings turn with."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cache import Cache
from ..frequency import Ladder
from ..layout import Columns
from ..phase import Steps, phase_of
from ..recipes import Recipe, released
from ..trig.quarter import cos_sin
from ..trig.render import render
from ..trig.rounding import round_once
from ..trig.tabulate import tabulate
from .arguments import with_float64

# Ranges are kept from one multiple of this to another, so that those of all lengths are one.
BLOCK = 256
# Positions that lie this close are looked up in a range, even where that has more rows than there are positions.
_NEAR = 16 * BLOCK
ANGLES = Cache(8 << 20)

# Cosine and sine (..., pairs).
Angles = tuple[Tensor, Tensor]


def _columns(ladder: Ladder) -> Columns:
    return Columns(2 * ladder.pairs, ladder.pairs, "halves", "cosine-first")


def _halves(rows: Tensor, ladder: Ladder) -> Angles:
    return rows[..., : ladder.pairs], rows[..., ladder.pairs :]


def _scaled(rows: Tensor, gain: float, dtype: torch.dtype) -> Tensor:
    return round_once(rows * gain, dtype)


def _wide(dtype: torch.dtype, gain: float) -> torch.dtype:
    """What is computed first: float64 where a product follows, so that all is rounded once."""
    return dtype if gain == 1 else torch.float64


def _made(start: int, length: int, ladder: Ladder, dtype: torch.dtype, gain: float) -> Tensor:
    """Cosines, then sines, of start, start + 1, ... (length, 2 pairs)."""
    with torch.inference_mode(False), torch.no_grad():
        out = torch.empty(length, 2 * ladder.pairs, dtype=_wide(dtype, gain), device="cpu")
        if length:
            tabulate(out, start, ladder, _columns(ladder))
        return out if gain == 1 else _scaled(out, gain, dtype)


def _range(low: int, high: int) -> tuple[int, int]:
    """The first row and the number of rows of the range that is kept for low ... high - 1."""
    first = low // BLOCK * BLOCK
    return first, -(-(high - first) // BLOCK) * BLOCK


def _kept(low: int, high: int, ladder: Ladder, dtype: torch.dtype, gain: float) -> tuple[int, Tensor]:
    first, count = _range(low, high)
    rows = ANGLES.get(
        (ladder, dtype, gain, first, count),
        lambda: _made(first, count, ladder, dtype, gain),
        lambda made: made.numel() * made.element_size(),
    )
    return first, rows


def of_range(start: int, length: int, ladder: Ladder, dtype: torch.dtype, gain: float = 1.0) -> Angles:
    """Angles (length, pairs) of start, start + 1, ..., on the CPU; not to be written to."""
    first, rows = _kept(start, start + length, ladder, dtype, gain)
    return _halves(rows[start - first :][:length], ladder)


def of_positions(positions: Tensor, ladder: Ladder, dtype: torch.dtype, gain: float = 1.0) -> Angles:
    """Angles (..., pairs) of positions (...), int64 or float64, readable on the CPU."""
    flat = positions.detach().reshape(-1)
    rows = _looked_up(flat, ladder, dtype, gain)
    if rows is None:
        rows = torch.empty(len(flat), 2 * ladder.pairs, dtype=_wide(dtype, gain), device="cpu")
        render(rows, flat, ladder, _columns(ladder))
        rows = rows if gain == 1 else _scaled(rows, gain, dtype)
    return _halves(rows.view(*positions.shape, 2 * ladder.pairs), ladder)


def _looked_up(flat: Tensor, ladder: Ladder, dtype: torch.dtype, gain: float) -> Tensor | None:
    """Rows out of a range that is kept, where one is worth its while."""
    if flat.dtype != torch.int64 or not len(flat):
        return None
    low, high = (int(bound) for bound in torch.aminmax(flat))
    count = _range(low, high + 1)[1]
    if count > max(_NEAR, len(flat)) or count * 2 * ladder.pairs * dtype.itemsize > ANGLES.limit:
        return None
    first, rows = _kept(low, high + 1, ladder, dtype, gain)
    return rows.index_select(0, flat - first)


def computed(positions: Tensor, steps: Steps, dtype: torch.dtype, gain: float = 1.0) -> Angles:
    """The same on any device and in any graph, without a look at a value; NaN where a position is not finite."""
    places = with_float64(positions)
    angles = cos_sin(phase_of(places.unsqueeze(-1), steps))
    if positions.is_floating_point():
        sound = (places.abs() < 2.0**63).unsqueeze(-1)
        angles = torch.where(sound, angles[0], torch.nan), torch.where(sound, angles[1], torch.nan)
    cosine, sine = (_scaled(part, gain, dtype) if gain != 1 else round_once(part, dtype) for part in angles)
    return cosine.to(positions.device), sine.to(positions.device)


def as_released(positions: Tensor, ladder: Ladder, recipe: Recipe, dtype: torch.dtype, gain: float = 1.0) -> Angles:
    """The same in the order of operations that a system was released with, times a gain in its own dtype."""
    sines, cosines = released(positions.detach().reshape(-1), ladder, recipe)
    cosine, sine = (part.view(*positions.shape, ladder.pairs) for part in (cosines, sines))
    return (cosine * gain).to(dtype), (sine * gain).to(dtype)
