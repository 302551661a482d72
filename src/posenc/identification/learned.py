"""Tables that no convention explains: learned where neighbouring rows are related, unknown where they are not."""

from __future__ import annotations

import math

import torch
from torch import nn

from .match import Match, nothing
from .sampled import Sample

# How much more alike neighbours are than distant rows, in cosines, and how far beyond chance that must be.
LEAST_ROWS = 16
LEAST_LIKENESS = 0.05
_DEVIATIONS = 8
# Two neighbours and twice the row between them: four values, each off by a unit, and by two more for every radian
# of its phase, which is rounded before the sine.
_WAVE_UNITS = 4
# The curve of a column that turns by a degree and a half a row; slower ones alone may be straight lines.
_TURNING = 2.0**-10


def likeness(sample: Sample) -> tuple[float, float, float]:
    """Mean cosine of neighbouring rows, that of rows far apart, and the standard deviation of both by chance."""
    rows = sample.rows - sample.rows.mean(0)
    rows = nn.functional.normalize(rows, dim=1)
    follow = sample.index.diff() == 1
    near = (rows[1:] * rows[:-1]).sum(1)[follow]
    half = len(rows) // 2
    far = (rows[half:] * rows[: len(rows) - half]).sum(1)
    if not len(near) or not len(far):
        return 0.0, 0.0, math.inf
    return near.mean().item(), far.mean().item(), math.sqrt((1 / len(near) + 1 / len(far)) / sample.dim)


def _is_waves(sample: Sample) -> bool:
    """Whether x[p - 1] - 2 x[p] + x[p + 1] = (2 cos(w) - 2) x[p] in every column: in waves, and in nothing trained."""
    rows, index = sample.rows, sample.index
    middle = ((index[1:-1] - index[:-2] == 1) & (index[2:] - index[1:-1] == 1)).nonzero().flatten() + 1
    if len(middle) < LEAST_ROWS:
        return False
    here = rows[middle]
    # As a difference, so that slow columns lose nothing to the 2.
    bend = rows[middle - 1] - here + (rows[middle + 1] - here)
    curve = (bend * here).sum(0) / here.square().sum(0).clamp(min=1e-300)
    phase = (1 + curve / 2).clamp(-1, 1).acos() * index[-1]
    allowed = _WAVE_UNITS * (1 + 2 * phase) * sample.unit
    is_wave = ((bend - curve * here).abs() <= allowed * rows.abs().amax(0)).all(0)
    turning = (curve < -_TURNING) & (curve >= -4 - allowed)
    return bool((is_wave & (curve <= allowed)).all()) and bool(turning.any())


def learned(sample: Sample) -> Match:
    """The last word: "learned" or "unknown", with what was measured."""
    rows, dim = sample.rows.shape
    if _is_waves(sample):
        note = "every column is a wave of one frequency, but no named convention has these: sines without cosines?"
        return nothing("unknown", note, rows=rows, dtype=sample.dtype, dim=dim)
    near, far, deviation = likeness(sample) if rows >= LEAST_ROWS else (0.0, 0.0, math.inf)
    kind = "learned" if near - far > max(LEAST_LIKENESS, _DEVIATIONS * deviation) else "unknown"
    measured = f"cosine {near:.2f} in the mean, {far:.2f} for rows far apart"
    if kind == "learned":
        note = f"neighbouring rows are alike ({measured}), and no convention explains them"
    elif rows >= LEAST_ROWS:
        note = f"neighbouring rows are no more alike than others ({measured}): untrained, random, or no positions"
    elif rows == 1 and bool(((sample.rows == 0) | (sample.rows == 1)).all()):
        note = "a row of zeros and ones may be that of position 0, which is the same whatever the base"
    else:
        count = f"{rows} row{'s' * (rows > 1)} of {dim} value{'s' * (dim > 1)}"
        note = f"no convention explains {count}, too few to tell whether they were learned"
    return nothing(
        "learned" if kind == "learned" else "unknown", note, rows=rows, dtype=sample.dtype, padding=sample.padding,
        dim=dim,
    )  # fmt: skip


def constant(values: torch.Tensor) -> bool:
    """Whether all rows are one row."""
    return bool((values == values[:1]).all())
