"""Which positions the rows of a table encode, if it speaks a given convention."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor

from ..encoding.general import affine
from ..encoding.location import ahead, refined
from ..encoding.values import rows_of
from ..frequency import TURN
from ..layout import members
from .candidates import Candidate
from .tolerance import allowed, frequencies, scaled_unit

# Positions are looked for between these, and a whole turn of the slowest pair further where that is slower.
REACH = 12_288
_GUESSES = 64
_COLUMNS = 96
_FEW_COLUMNS = 8
_FEW_ROWS = 4
# What float32 has lost of a phase at the end of that reach, and more.
_FAR = 0.01


def has_amplitude(rows: Tensor, candidate: Candidate, unit: float) -> bool:
    """Whether sines and cosines lie on circles of the radius of the convention: a quick look before any search."""
    if not candidate.is_paired:
        return True
    sine, cosine = members(rows, candidate.columns)
    count = min(sine.shape[1], cosine.shape[1])
    gain = candidate.plan.gain
    unit = scaled_unit(unit, gain)
    away = (sine[:, :count].square() + cosine[:, :count].square() - gain**2).abs()
    # Each member is off by at most a unit, in the direction that hurts: 2 (|s| + |c|) units, and their squares.
    return bool((away <= (2 * math.sqrt(2) * abs(gain) + 2 * unit) * unit).all())


def placed(rows: Tensor, candidate: Candidate, unit: float) -> tuple[Tensor, Tensor]:
    """Rows (n, dim) -> positions (n,) and the ratio (n,) of their worst error to what is allowed.

    A ratio of at most 1 says that the row is the encoding of that position.
    """
    if candidate.is_paired and _slowest(candidate) >= REACH / _GUESSES:
        found, ratio = _by_phases(rows, candidate, unit)
        missed = ratio > 1
        # Coarse values may mislead the search from a slow pair to one that is faster by far.
        if bool(missed.any()) and 4 * unit * _gap(candidate) > 1:
            again, better = _by_trial(rows[missed], candidate, unit)
            found[missed] = torch.where(better < ratio[missed], again, found[missed])
            ratio[missed] = torch.minimum(better, ratio[missed])
        return found, ratio
    return _by_trial(rows, candidate, unit)


def _slowest(candidate: Candidate) -> float:
    """The slowest wavelength among pairs of which both members are there."""
    cosines = range(candidate.plan.dim)[candidate.columns.cosines]
    steps = [abs(step) for step in candidate.ladder.steps[: len(cosines)] if step]
    return TURN / min(steps) if steps else 0.0


def _gap(candidate: Candidate) -> float:
    """The largest ratio of neighbouring wavelengths."""
    sizes = frequencies(candidate.ladder).abs().sort().values.clamp(min=2.0**-100)
    return (sizes[1:] / sizes[:-1]).max().item() if len(sizes) > 1 else 1.0


def ratio_at(rows: Tensor, candidate: Candidate, positions: Tensor, unit: float) -> Tensor:
    """The largest ratio (n, m) of an error to what is allowed, for rows (n, dim) at positions (n, m)."""
    return _errors_at(rows, candidate, positions, unit)[0]


def _errors_at(rows: Tensor, candidate: Candidate, positions: Tensor, unit: float) -> tuple[Tensor, Tensor]:
    """The largest ratio (n, m) of an error to what is allowed, and the largest error (n, m)."""
    n, m = positions.shape
    flat = positions.reshape(-1)
    made = rows_of(flat, candidate.plan, torch.float64).view(n, m, -1)
    bound = allowed(candidate.plan, flat, unit).view(n, m, -1)
    away = (made - rows.unsqueeze(1)).abs()
    return (away / bound).amax(-1), away.amax(-1)


def _first(rows: Tensor, candidate: Candidate, positions: Tensor, unit: float) -> tuple[Tensor, Tensor]:
    """Of positions (n, m) the one next to 0 that is as close as any, and its ratio; the least wrong where none is."""
    ratio, away = _errors_at(rows, candidate, positions, unit)
    # Far out, where float32 has lost the phase, more is allowed than the rows need.
    close = (ratio <= 1) & (
        away <= torch.clamp(2 * away.amin(-1, keepdim=True), min=scaled_unit(unit, candidate.plan.gain))
    )
    cost = torch.where(close, positions.abs().double(), 2.0**64 * (1 + ratio))
    best = cost.argmin(-1, keepdim=True)
    return positions.gather(-1, best).squeeze(-1), ratio.gather(-1, best).squeeze(-1)


def _by_phases(rows: Tensor, candidate: Candidate, unit: float) -> tuple[Tensor, Tensor]:
    """The slowest pair says roughly where, each faster one says it more exactly."""
    ladder = candidate.ladder
    sine, cosine = members(rows, candidate.columns)
    count = min(sine.shape[1], cosine.shape[1])
    turns = torch.tensor([step / TURN for step in ladder.steps[:count]], dtype=torch.float64, device="cpu")
    wave, order = (1 / turns.abs()).sort(descending=True)
    # Pairs that stand still say nothing of the position, and come first.
    still = int((turns == 0).sum())
    wave, order = wave[still:], order[still:]
    measured = torch.atan2(sine[:, :count], cosine[:, :count]).unsqueeze(1) / (2 * math.pi)
    origin = torch.zeros(len(rows), 1, dtype=torch.int64, device="cpu")
    phase = ahead(measured, origin, ladder, count) * turns.sign()
    laps = math.ceil(REACH / wave[0].item())
    more = torch.arange(-laps, laps + 1, dtype=torch.float64, device="cpu")
    guess = (phase[..., order[0]] + more) * wave[0]
    found = refined(guess, phase, wave, order).round().clamp(-(2.0**62), 2.0**62).to(torch.int64)
    near = torch.tensor([-1, 0, 1], device="cpu")
    beside = found.unsqueeze(-1) + near
    ratios = ratio_at(rows, candidate, beside.flatten(1), unit).view(beside.shape)
    # Of neighbours the closest; of places a whole turn apart the first.
    return _first(rows, candidate, beside.gather(-1, ratios.argmin(-1, keepdim=True)).squeeze(-1), unit)


def _likeliest(candidate: Candidate) -> tuple[float, float]:
    """The largest value of the convention, and the root mean square of its values."""
    shift, factor = affine(candidate.plan)
    return (1 + abs(shift)) * abs(factor), math.sqrt(0.5 + shift**2) * abs(factor)


def _is_likely(rows: Tensor, candidate: Candidate, unit: float) -> bool:
    """Whether rows are of the size that the convention gives: a quick look before a trial."""
    largest, usual = _likeliest(candidate)
    size = rows.square().mean().sqrt().item()
    return 0.3 * usual <= size <= 3 * usual and rows.abs().max().item() <= largest + 2 * unit + 2.0**-20


@lru_cache(maxsize=16)
def _trial(candidate: Candidate, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Every position in reach, some columns, and the values there, float32: close enough to search by."""
    plan, ladder, columns = candidate.plan, candidate.ladder, candidate.columns
    frequency = frequencies(ladder)
    every = torch.zeros(plan.width, dtype=torch.float64, device="cpu")
    ahead_by = torch.zeros_like(every)
    for member, where in enumerate((columns.sines, columns.cosines)):
        into = every[where]
        into.copy_((frequency[member::2] if plan.blocks[0].by_column else frequency)[: len(into)])
        ahead_by[where] = member * math.pi / 2
    chosen = (
        torch.linspace(0, plan.dim - 1, min(plan.dim, count), dtype=torch.float64, device="cpu").round().long().unique()
    )
    places = torch.arange(-REACH // 4, REACH, dtype=torch.int64, device="cpu")
    angles = (places.double() + float(ladder.offset)).unsqueeze(-1) * every[chosen] + ahead_by[chosen]
    shift, factor = affine(plan)
    return places, chosen, ((angles.sin() + shift) * factor).float()


def _may_be(rows: Tensor, candidate: Candidate, unit: float) -> bool:
    """Whether some rows are near those of any position in a few columns: a quick look before a trial."""
    if not _is_likely(rows, candidate, unit):
        return False
    if candidate.is_paired:
        # Radii were looked at before, and the phases of fast ladders may be lost.
        return True
    _, chosen, made = _trial(candidate, _FEW_COLUMNS)
    _, factor = affine(candidate.plan)
    away = torch.cdist(rows[:_FEW_ROWS, chosen].float(), made).amin(1)
    return bool((away <= math.sqrt(len(chosen)) * (unit + _FAR * abs(factor))).all())


def _by_trial(rows: Tensor, candidate: Candidate, unit: float) -> tuple[Tensor, Tensor]:
    """Every position in reach, compared in some columns, the best few and the first few in all."""
    if not _may_be(rows, candidate, unit):
        nowhere = torch.zeros(len(rows), dtype=torch.int64, device="cpu")
        return nowhere, torch.full((len(rows),), math.inf, dtype=torch.float64, device="cpu")
    places, chosen, made = _trial(candidate, _COLUMNS)
    away = torch.cdist(rows[:, chosen].float(), made)
    close = away <= math.sqrt(len(chosen)) * (scaled_unit(unit, candidate.plan.gain) + 2.0**-20)
    # Coarse values of a few columns come again and again.
    early = torch.where(close, -places.abs(), -(2**30)).topk(4).indices
    found = places[torch.cat((away.topk(4, largest=False).indices, early), 1)]
    return _first(rows, candidate, found, unit)
