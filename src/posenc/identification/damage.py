"""Arithmetic in 16 bits: which numbers of a table were rounded on the way to its phases."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ..layout import join
from .candidates import Candidate
from .sampled import Sample, chosen_rows
from .tolerance import NARROW, frequencies

_ROWS = 128
# Share of the values that an explanation must reach, and how much closer than the convention itself it must come.
_SHARE = 0.98
_CLOSER = 0.25


@dataclass(frozen=True)
class Damage:
    """The dtype that numbers were rounded to, which numbers, and the root mean square that this leaves."""

    dtype: torch.dtype
    numbers: str
    left: float


def damage(sample: Sample, candidate: Candidate, start: int) -> Damage | None:
    """What rounding explains that rows are not those of a convention, in the idioms of many; None where none does."""
    chosen = chosen_rows(len(sample.rows), _ROWS)
    rows = sample.rows[chosen] / candidate.plan.gain
    ladder = candidate.ladder
    places = (start + sample.index[chosen]).double().unsqueeze(-1) + float(ladder.offset)
    exact = places * frequencies(ladder)
    size = _left(exact, rows, candidate)[0]
    best: Damage | None = None
    for dtype in NARROW:
        for numbers, phase in _phases(candidate, places, dtype):
            left, share = _left(phase, rows, candidate, 2 * sample.unit)
            if share >= _SHARE and left <= _CLOSER * size and (best is None or left < best.left):
                best = Damage(dtype, numbers, left)
    return best


def _phases(candidate: Candidate, places: Tensor, dtype: torch.dtype) -> list[tuple[str, Tensor]]:
    """Phases with some of the numbers rounded, in words which; those that round least first."""
    narrow = places.to(dtype).double()
    found = []
    for ladder, said in _ladders(candidate, dtype):
        for positions, words in ((places, [said]), (narrow, ["positions", said])):
            told = [word for word in words if word]
            phase = positions * ladder
            if told:
                found.append((_listed(told), phase))
            found.append((_listed([*told, "phases"]), phase.to(dtype).double()))
    return found


def _ladders(candidate: Candidate, dtype: torch.dtype) -> list[tuple[Tensor, str]]:
    """The frequencies: exact, rounded, and by three idioms with every step in 16 bits."""
    ladder = candidate.ladder
    exact = frequencies(ladder)
    found = [(exact, ""), (exact.to(dtype).double(), "frequencies")]
    if not ladder.given and not ladder.stretch:
        scale = float(ladder.first) * float(ladder.scale)
        base, span = float(ladder.base), float(ladder.span)
        k = torch.arange(ladder.pairs, device="cpu").to(dtype)
        by_exp = (k * (-math.log(base) / span)).exp() * scale
        by_power = scale / base ** (k / span)
        by_both = (k / span * -math.log(base)).exp() * scale
        found += [(made.double(), "exponents, frequencies") for made in (by_exp, by_power, by_both)]
    return found


def _listed(words: list[str]) -> str:
    words = ", ".join(words).split(", ")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _left(phase: Tensor, rows: Tensor, candidate: Candidate, unit: float = 0.0) -> tuple[float, float]:
    """Root mean square of what phases (n, pairs) leave of rows (n, dim), and the share of values within a unit."""
    away = (join(phase.sin(), phase.cos(), candidate.columns) - rows).abs()
    # A sine in float32 of a phase in float32.
    bound = max(unit, 2.0**-22) + 2.0**-22 * phase.abs().max().item()
    return away.square().mean().sqrt().item(), (away <= bound).double().mean().item()
