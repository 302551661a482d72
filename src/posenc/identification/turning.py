"""Rows that turn steadily: the frequency of every pair and the phase of the first row, measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor

from ..frequency import Ladder
from ..layout import Columns, Layout, members
from .sampled import Sample
from .tolerance import frequencies

Odd = Literal["truncate", "pad"]
# Measured values may be off by a unit in two members, and the fit adds its own.
SLACK = 6
# Positions of the first row that are tried: so many turns of the slowest pair, as far as this.
_FURTHEST = 1 << 21
_GUESSES = 256


@dataclass(frozen=True)
class Turning:
    """Frequencies (pairs,) in radians per row and phases (pairs,) of row 0, each off by up to its doubt.

    columns and odd: the reading of the columns under which pairs turn; gain: their radius; noise: how far a value
    may be off.
    """

    columns: Columns
    odd: Odd
    gain: float
    frequency: Tensor
    doubt: Tensor
    phase: Tensor
    noise: float


def layouts(dim: int) -> list[tuple[Columns, Odd]]:
    """Every way in which the columns may pair up, sines taken to be first."""
    every: tuple[Layout, ...] = ("interleaved", "halves")
    if dim % 2 == 0:
        return [(Columns(dim, dim // 2, layout, "sine-first"), "truncate") for layout in every]
    found: list[tuple[Columns, Odd]] = []
    for layout in every:
        if dim > 1:
            found.append((Columns(dim, dim // 2, layout, "sine-first"), "pad"))
        found.append((Columns(dim, (dim + 1) // 2, layout, "sine-first"), "truncate"))
    return found


def run(sample: Sample) -> tuple[Tensor, int]:
    """The longest part of a sample whose rows follow each other, and the index of its first row."""
    breaks = (sample.index.diff() != 1).nonzero().flatten() + 1
    bounds = [0, *breaks.tolist(), len(sample.rows)]
    begin, end = max(pairwise(bounds), key=lambda part: part[1] - part[0])
    return sample.rows[begin:end], int(sample.index[begin]) if end > begin else 0


def turning(rows: Tensor, columns: Columns, odd: Odd, unit: float) -> Turning | None:
    """What rows (n, dim) that follow each other turn by, or None where they do not."""
    sine, cosine = members(rows, columns)
    count = min(sine.shape[1], cosine.shape[1])
    if not count or len(rows) < 2:
        return None
    z = torch.complex(cosine[:, :count], sine[:, :count])
    size = z.abs()
    gain = size.mean().item()
    # A unit in both members, for values up to the gain.
    noise = 2 * unit
    if gain < 2.0**-120 or bool(((size / gain - 1).abs() > SLACK * noise).any()):
        return None
    z = z / gain
    frequency = (z[1:] * z[:-1].conj()).mean(0).angle()
    lag = 1
    while 2 * lag < len(z):
        lag *= 2
        turned = (z[lag:] * z[:-lag].conj()).mean(0).angle()
        rest = turned - lag * frequency
        frequency = frequency + (rest - (rest / (2 * math.pi)).round() * 2 * math.pi) / lag
    places = torch.arange(len(z), dtype=torch.float64, device="cpu").unsqueeze(-1)
    still = z * torch.polar(torch.ones_like(places), -places * frequency)
    middle = still.mean(0)
    drift = 2.0**-20 * places * frequency.abs()
    if bool(((still - middle).abs() > SLACK * noise + drift).any()):
        return None
    doubt = noise * 4 / max(1, len(z) - 1) + frequency.abs() * max(2.0**-21 if unit > 2.0**-40 else 0.0, 2.0**-48)
    return Turning(columns, odd, gain, frequency, doubt, middle.angle(), noise)


def origin(ladder: Ladder, phase: Tensor, noise: float) -> float | None:
    """The real position next to 0 at which a ladder has these phases (pairs,), or None where there is none near."""
    frequency = frequencies(ladder)[: len(phase)] + 0.0
    turning_pairs = frequency.abs() > 1e-12
    frequency, phase = frequency[turning_pairs], phase[turning_pairs]
    if not len(frequency):
        return None
    order = frequency.abs().argsort()
    frequency, turns = frequency[order], phase[order] / (2 * math.pi)
    wave = 2 * math.pi / frequency
    slowest = wave[0].abs().item()
    laps = min(_GUESSES, math.ceil(_FURTHEST / slowest)) + 1
    guess = (turns[0] + torch.arange(-laps, laps + 1, dtype=torch.float64, device="cpu")) * wave[0]
    for k in range(1, len(wave)):
        here = turns[k] * wave[k]
        guess = here + ((guess - here) / wave[k]).round() * wave[k]
    # Every pair says where the row is; the fast ones say it best.
    off = _off(guess, wave, turns)
    guess = guess - (off * frequency).sum(-1) / frequency.square().sum()
    # Integers before others, and those next to 0 first.
    for tried in (torch.zeros(1, dtype=torch.float64, device="cpu"), guess.round(), guess):
        bound = SLACK * noise + 2.0**-20 * (1 + (tried.unsqueeze(-1) * frequency).abs())
        good = (_off(tried, wave, turns).abs() <= bound).all(-1)
        if bool(good.any()):
            found: float = tried[torch.where(good, tried.abs(), math.inf).argmin()].item()
            return found
    return None


def _off(places: Tensor, wave: Tensor, turns: Tensor) -> Tensor:
    """How far the phases of places (n,) are from measured ones, in radians (n, pairs)."""
    off = places.unsqueeze(-1) / wave - turns
    return (off - off.round()) * 2 * math.pi
