"""Tables that began as a named convention and moved away: by training, or by arithmetic in 16 bits."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..layout import join, members
from .candidates import Candidate, candidates
from .learned import LEAST_ROWS, are_related
from .match import Match
from .place import REACH
from .sampled import Sample
from .tolerance import distance, frequencies

# Share of a table that a convention must explain, as a correlation, and how far beyond chance.
LEAST_CORRELATION = 0.5
_DEVIATIONS = 8
_PAIRS = 48
_NARROW = (torch.bfloat16, torch.float16)


def drifted(sample: Sample) -> Match | None:
    """The named convention that explains most of a table whose rows follow each other, or None."""
    if len(sample.rows) < LEAST_ROWS or sample.rows.numel() < 128 or not are_related(sample):
        return None
    best: tuple[float, Candidate, int] | None = None
    for candidate in candidates(sample.dim):
        if candidate.is_paired and candidate.plan.gain == 1:
            correlation, start = correlated(sample, candidate)
            if best is None or correlation > best[0] + 1e-9:
                best = correlation, candidate, start
    if best is None or best[0] < max(LEAST_CORRELATION, _DEVIATIONS / math.sqrt(sample.rows.numel())):
        return None
    correlation, candidate, start = best
    positions = start + sample.index
    near = distance(sample.rows, candidate.plan, positions, sample.unit)
    damage = _damage(sample, candidate, positions)
    name = candidate.names[0]
    note = f"correlation {correlation:.3f}"
    if damage:
        note = f"computed with {damage[1]} in {damage[0]}, which must be float32 or wider"
    arithmetic = damage[0] if damage else "trained"
    return Match(
        name, candidate.plan.convention, start, near.error, near.relative, arithmetic, sample.dtype,
        "drifted", len(sample.rows), candidate.names[1:], sample.padding, note=note,
    )  # fmt: skip


def correlated(sample: Sample, candidate: Candidate) -> tuple[float, int]:
    """The correlation of rows with a convention, at the start where it is highest: a matched filter."""
    sine, cosine = members(sample.rows, candidate.columns)
    count = min(sine.shape[1], cosine.shape[1])
    frequency = frequencies(candidate.ladder)[:count]
    z = torch.complex(cosine[:, :count], sine[:, :count])
    places = (sample.index.double() + float(candidate.ladder.offset)).unsqueeze(-1)
    summed = (z * torch.polar(torch.ones_like(places), -places * frequency)).sum(0)
    # Some pairs say where the start is; all of them say how alike the tables are there.
    some = torch.linspace(0, count - 1, min(count, _PAIRS), device="cpu").round().long().unique()
    shifts = torch.arange(REACH, dtype=torch.float64, device="cpu").unsqueeze(-1)
    angles = shifts * frequency[some]
    score = angles.cos() @ summed.real[some] + angles.sin() @ summed.imag[some]
    start = int(score.argmax())
    angle = start * frequency
    size = sample.rows.norm().item() * math.sqrt(len(z) * count)
    return ((angle.cos() * summed.real + angle.sin() * summed.imag).sum() / size).item(), start


def _damage(sample: Sample, candidate: Candidate, positions: Tensor) -> tuple[str, str] | None:
    """The narrow dtype, and what was computed in it, if that explains the table."""
    frequency = frequencies(candidate.ladder)
    places = (positions.double() + float(candidate.ladder.offset)).unsqueeze(-1)
    for dtype in _NARROW:
        narrow_places, narrow = places.to(dtype).double(), frequency.to(dtype).double()
        for angle, said in (
            (places * narrow, "frequencies"),
            (narrow_places * frequency, "positions"),
            (narrow_places * narrow, "positions and frequencies"),
            ((places * frequency).to(dtype).double(), "phases"),
            ((narrow_places * narrow).to(dtype).double(), "positions, frequencies and phases"),
        ):
            made = join(angle.sin(), angle.cos(), candidate.columns)
            unit = 2 * max(sample.unit, 2.0**-22) + 2.0**-21 * angle.abs().max().item()
            if bool(((made - sample.rows).abs() <= unit).double().mean() > 0.98):
                return str(dtype).removeprefix("torch."), said
    return None
