"""Laws that measured frequencies may follow: geometric and linear ladders, in the roundest numbers that fit."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

# Digits that tell every float64.
_DIGITS = 17
# Numbers that people choose have few digits.
_ROUND = 3
# How sure measured numbers are is known roughly: digits are tried at these parts of it.
_FINER = (1, 16, 256)
LEAST = 3


def shortest(value: float, relative: float) -> tuple[float, int]:
    """The number of fewest digits within a relative distance of a value, and how many those are.

    >>> shortest(9999.98, 1e-4), shortest(0.12345678, 1e-3)
    ((10000, 1), (0.1235, 4))
    """
    for digits in range(1, _DIGITS + 1):
        near = float(f"{value:.{digits - 1}e}")
        if abs(near - value) <= relative * abs(value):
            break
    return (int(near) if near.is_integer() and abs(near) < 1e15 else near), digits


def geometric(sizes: Tensor, doubt: Tensor, span: float) -> list[dict[str, Any]]:
    """Options of the geometric ladders that frequencies (n,), each off by up to its doubt, may be; round ones first.

    One ladder has a base for every endpoint shift; other shifts than 0 are taken for round bases alone, before it
    where they are rounder. The last are the numbers as they were measured.
    """
    seen = sizes > 8 * doubt
    every = torch.arange(len(sizes), dtype=torch.float64, device="cpu")
    k = every[seen]
    if len(k) < 2:
        return []
    logs, weight = sizes[seen].log(), (sizes[seen] / doubt[seen]).square()
    mean_k, mean = (weight * k).sum() / weight.sum(), (weight * logs).sum() / weight.sum()
    spread = (weight * (k - mean_k).square()).sum()
    slope = ((weight * (k - mean_k) * (logs - mean)).sum() / spread).item()
    first = math.exp((mean - slope * mean_k).item())
    if slope == 0 or bool(((first * (slope * every).exp() - sizes).abs() > 4 * doubt).any()):
        return []
    # How far off the two numbers may be: four deviations of the fit, which takes doubts for deviations.
    unsure = 4 * spread.rsqrt().item()
    unsure_first = 4 * (1 / weight.sum() + mean_k.square() / spread).sqrt().item()
    laws: dict[tuple[float, float, float], int] = {}
    for finer in _FINER:
        begin, more = shortest(first, unsure_first / finer)
        for shift in (0, 1, 0.5):
            if span > shift:
                length = span - shift
                near, digits = shortest(math.exp(-slope * length), unsure * length / finer)
                # A base says the same of every shift: other shifts are told by round numbers.
                if shift == 0 or digits <= _ROUND:
                    laws.setdefault((near, begin, shift), digits + more)
    ranked = sorted(laws, key=lambda law: (laws[law], law[2] == 0.5, law[2]))
    found = [{"base": near, "first": begin, "endpoint_shift": shift} for near, begin, shift in ranked]
    return [*found, {"base": math.exp(-slope * span), "first": first}]


def linear(sizes: Tensor, doubt: Tensor, span: float) -> list[dict[str, Any]]:
    """Options of the linear ladders, their end taken in, that frequencies may be; round ones first."""
    if len(sizes) < LEAST:
        return []
    k = torch.arange(len(sizes), dtype=torch.float64, device="cpu")
    first, slope = sizes[0].item(), ((sizes[-1] - sizes[0]) / (len(sizes) - 1)).item()
    last = first + slope * (span - 1)
    if slope == 0 or min(first, last) <= 0 or bool(((first + slope * k - sizes).abs() > 4 * doubt).any()):
        return []
    unsure = 4 * (doubt / sizes)
    law = {"spacing": "linear", "first": first, "last": last, "endpoint_shift": 1}
    round_ends = shortest(first, unsure[0].item())[0], shortest(last, unsure[-1].item())[0]
    return [{**law, "first": round_ends[0], "last": round_ends[1]}, law]
