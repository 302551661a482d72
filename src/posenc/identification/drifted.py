"""Tables that began as a named convention and moved away: by training, by arithmetic in 16 bits, or in some rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..convention import Plan
from ..encoding.values import rows_of
from ..layout import join, members
from .candidates import Candidate, candidates
from .damage import damage
from .match import Match
from .place import REACH
from .sampled import Sample
from .tolerance import TILE, allowed, distance, frequencies

LEAST_ROWS = 8
_LEAST_VALUES = 128
# Share of a table that a convention must explain, as a correlation, also without what all rows have in common,
# and how far beyond chance.
LEAST_CORRELATION = 0.5
_LEAST_CENTRED = 0.2
_DEVIATIONS = 8
# What chance may have moved two correlations apart by.
_ALIKE = 4
# So many columns, and so many rows, may hold half or one and a half of the convention, beyond so many deviations.
_STRAY = 0.1
_SPREAD = 3
_PAIRS = 48
# A table that is larger or smaller by this is the convention times a factor.
_SAME_SIZE = 0.1
SHOWN_ROWS = 6


@dataclass(frozen=True)
class _Nearest:
    """The convention and the start of highest correlation, and the names that are hardly further."""

    correlation: float
    candidate: Candidate
    start: int
    others: tuple[str, ...] = ()


def drifted(sample: Sample) -> Match | None:
    """The named convention that explains most of a table, or None."""
    if len(sample.rows) < LEAST_ROWS or sample.rows.numel() < _LEAST_VALUES:
        return None
    nearest = _nearest(sample)
    if nearest is None:
        return None
    gain = _gain(sample, nearest)
    candidate = _of_gain(sample, nearest, gain)
    start = nearest.start - _offset(candidate.plan) + _offset(nearest.candidate.plan)
    convention, own, times = candidate.plan.convention, candidate.plan.gain, ""
    found = damage(sample, candidate, start)
    if found is None:
        if not _is_followed(sample, nearest):
            return None
        if abs(math.log(gain / own)) > _SAME_SIZE:
            gain = float(f"{gain:.3g}")
            convention, times = convention.replace(gain=gain), f", times {gain:g}"
    plan, positions = convention.plan(sample.dim), start + sample.index
    near = distance(sample.rows, plan, positions, sample.unit)
    arithmetic = str(found.dtype).removeprefix("torch.") if found else None
    if found:
        note = f"computed with {found.numbers} in {arithmetic}, where float32 is needed"
    else:
        note = _strangers(sample, plan, positions) or f"correlation {nearest.correlation:.3f}"
        note += f", hardly more than with {' and '.join(map(repr, nearest.others))}" if nearest.others else ""
    equal, shifted = candidate.others(candidate.names[0])
    return Match(
        candidate.names[0], convention, start, near.error, near.relative, arithmetic, sample.dtype, "drifted",
        rows=len(sample.rows), names=equal, shifted=shifted, padding=sample.padding,
        note=note + times, dim=sample.dim, length=sample.length,
    )  # fmt: skip


def _offset(plan: Plan) -> int:
    offset = plan.convention.position_offset
    return 0 if isinstance(offset, tuple) else int(offset)


def _nearest(sample: Sample) -> _Nearest | None:
    """What a sample is nearest to, where that is beyond chance."""
    found: dict[object, _Nearest] = {}
    for candidate in candidates(sample.dim):
        key = candidate.ladder, candidate.columns
        if candidate.is_paired and key not in found:
            found[key] = _Nearest(*correlated(sample, candidate))
    best = max(found.values(), key=lambda each: each.correlation, default=None)
    chance = 1 / math.sqrt(sample.rows.numel())
    if best is None or best.correlation < max(LEAST_CORRELATION, _DEVIATIONS * chance):
        return None
    least = best.correlation - _ALIKE * chance * (1 - best.correlation**2)
    others = (each.candidate.names[0] for each in found.values() if each is not best and each.correlation >= least)
    return replace(best, others=tuple(others))


def correlated(sample: Sample, candidate: Candidate) -> tuple[float, Candidate, int]:
    """The correlation of rows with a convention, at the start where it is highest: a matched filter."""
    sine, cosine = members(sample.rows, candidate.columns)
    count = min(sine.shape[1], cosine.shape[1])
    frequency = frequencies(candidate.ladder)[:count]
    z = torch.complex(cosine[:, :count], sine[:, :count])
    places = (sample.index.double() + float(candidate.ladder.offset)).unsqueeze(-1)
    summed = (z * torch.polar(torch.ones_like(places), -places * frequency)).sum(0)
    size = sample.rows.norm().item() * math.sqrt(len(z) * count)
    most = summed.abs().sum().item() / size
    if most < LEAST_CORRELATION:
        # No start can do better.
        return most, candidate, 0
    # Some pairs say where the start is; all of them say how alike the tables are there.
    some = torch.linspace(0, count - 1, min(count, _PAIRS), dtype=torch.float64, device="cpu").round().long().unique()
    # As far below 0 as a table of distances goes.
    shifts = torch.arange(-REACH // 4, REACH, dtype=torch.float64, device="cpu").unsqueeze(-1)
    angles = shifts * frequency[some]
    score = angles.cos() @ summed.real[some] + angles.sin() @ summed.imag[some]
    start = int(shifts[score.argmax()])
    angle = start * frequency
    return ((angle.cos() * summed.real + angle.sin() * summed.imag).sum() / size).item(), candidate, start


def _waves(sample: Sample, nearest: _Nearest) -> Tensor:
    """The rows of the convention, before any gain."""
    ladder = nearest.candidate.ladder
    places = (nearest.start + sample.index).double().unsqueeze(-1) + float(ladder.offset)
    phase = places * frequencies(ladder)
    return join(phase.sin(), phase.cos(), nearest.candidate.columns)


def _gain(sample: Sample, nearest: _Nearest) -> float:
    waves = _waves(sample, nearest)
    return ((waves * sample.rows).sum() / waves.square().sum()).item()


def _is_followed(sample: Sample, nearest: _Nearest) -> bool:
    """Whether rows move as the convention does, and in nearly all columns and rows alike."""
    waves = _waves(sample, nearest)
    moved, moving = sample.rows - sample.rows.mean(0), waves - waves.mean(0)
    centred = (moved * moving).sum() / (moved.norm() * moving.norm()).clamp(min=1e-300)
    if centred < max(_LEAST_CENTRED, _DEVIATIONS / math.sqrt(sample.rows.numel())):
        return False
    gain = (waves * sample.rows).sum() / waves.square().sum()
    left = (sample.rows - gain * waves).square().mean().sqrt()
    for axis in (0, 1):
        size = waves.square().sum(axis).clamp(min=1e-300)
        held = (waves * sample.rows).sum(axis) / size
        stray = (held - gain).abs() > gain / 2 + _SPREAD * left / size.sqrt()
        if stray.double().mean() > _STRAY:
            return False
    return True


def _of_gain(sample: Sample, nearest: _Nearest, gain: float) -> Candidate:
    """Of candidates that differ in their gain alone the one of this size."""
    key = nearest.candidate.ladder, nearest.candidate.columns
    same = [each for each in candidates(sample.dim) if (each.ladder, each.columns) == key and each.is_paired]
    return min(same, key=lambda each: abs(math.log(gain / each.plan.gain)))


def _strangers(sample: Sample, plan: Plan, positions: Tensor) -> str:
    """Which rows hold something else, where most are those of the convention; else ''."""
    alike, error = [], 0.0
    for begin in range(0, len(positions), TILE):
        places = positions[begin : begin + TILE]
        away = (sample.rows[begin : begin + TILE] - rows_of(places, plan, torch.float64)).abs()
        same = (away <= allowed(plan, places, sample.unit)).all(1)
        alike.append(same)
        error = max(error, away[same].max().item() if bool(same.any()) else 0.0)
    same = torch.cat(alike)
    count = int((~same).sum())
    if 2 * count > len(same):
        return ""
    shown = ", ".join(map(str, sample.index[~same][:SHOWN_ROWS].tolist()))
    more = f" and {count - SHOWN_ROWS} more" if count > SHOWN_ROWS else ""
    return f"only row{'s' * (count > 1)} {shown}{more} differ{'s' * (count == 1)}, the others by at most {error:.2g}"
