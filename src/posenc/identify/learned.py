"""Tables that no sinusoid explains: learned where neighbouring rows are related, unknown where they are not."""

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


def likeness(sample: Sample) -> tuple[float, float]:
    """Mean cosine of neighbouring rows less that of rows far apart, and its standard deviation by chance."""
    rows = sample.rows - sample.rows.mean(0)
    rows = nn.functional.normalize(rows, dim=1)
    follow = sample.index.diff() == 1
    near = (rows[1:] * rows[:-1]).sum(1)[follow]
    half = len(rows) // 2
    far = (rows[half:] * rows[: len(rows) - half]).sum(1)
    if not len(near) or not len(far):
        return 0.0, math.inf
    return (near.mean() - far.mean()).item(), math.sqrt((1 / len(near) + 1 / len(far)) / sample.dim)


def are_related(sample: Sample) -> bool:
    """Whether neighbouring rows are more alike than rows far apart, beyond chance."""
    more, deviation = likeness(sample)
    return more > max(LEAST_LIKENESS, _DEVIATIONS * deviation)


def learned(sample: Sample) -> Match:
    """The last word: "learned" or "unknown", with what was measured."""
    padding = sample.padding
    if len(sample.rows) >= LEAST_ROWS and are_related(sample):
        more, _ = likeness(sample)
        note = f"neighbouring rows are alike (cosine {more:.2f} above rows far apart), but no sinusoid explains them"
        return nothing("learned", note, rows=len(sample.rows), dtype=sample.dtype, padding=padding)
    note = "neighbouring rows are no more alike than others: untrained or random values, or no table of positions"
    if len(sample.rows) < LEAST_ROWS:
        note = f"{len(sample.rows)} rows are too few to tell a learned table from any other"
    return nothing("unknown", note, rows=len(sample.rows), dtype=sample.dtype, padding=padding)


def constant(values: torch.Tensor) -> bool:
    """Whether all rows are one row."""
    return bool((values == values[:1]).all())
