"""Rules that stretched a ladder pair by pair: which one, and its numbers, verified on every frequency."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from ..convention import Convention
from ..errors import PosencError
from ..frequency import Stretch
from .laws import shortest
from .tolerance import frequencies, phase_error

LEAST = 4
# Bases in use, for where few pairs show theirs; what was measured is tried after them.
_BASES = (10000, 500000, 1000000, 150000, 5000000)
_MEASURED = (2, 3, 4, 6, 8, 12, 16, 24, 32)
# Shares of the way from stretched to kept that are taken for its ends.
_END = 2.0**-10
# Models are trained with contexts of so many positions.
_TRAINED = tuple(1 << bits for bits in range(8, 21))


def stretch_of(given: Tensor, unit: float, rest: float) -> Convention | None:
    """The stretched ladder whose frequencies (pairs,) these are: fast ones as they were, slow ones divided or zero.

    Each is off by up to `unit` of itself, and by `rest`.
    """
    if len(given) < LEAST or bool(given[0] <= 0) or bool(given[0] < given[-1]):
        return None
    for base in _bases(given, unit):
        plain = torch.exp(-math.log(base) / len(given) * torch.arange(len(given), dtype=torch.float64, device="cpu"))
        bound = phase_error(plain) + unit
        for rule in (*_proportional(given), *_ramped(given, plain, bound)):
            convention = Convention(base=base, layout="halves", stretch=rule)
            try:
                made = frequencies(convention.ladder(2 * len(given)))
            except PosencError:
                continue
            if bool(((made - given).abs() <= bound * made + rest).all()):
                return convention
    return None


def _bases(given: Tensor, unit: float) -> list[float]:
    """Bases in use, and those that the fastest pairs show, the roundest that they allow."""
    measured = []
    for kept in _MEASURED:
        if kept <= len(given) and given[kept - 1] > 0:
            log = (given[0] / given[kept - 1]).log().item() / (kept - 1) * len(given)
            if 0 < log < 100:
                unsure = 2 * (unit + 2.0**-22) * len(given) / (kept - 1)
                measured.append(shortest(math.exp(log), unsure)[0])
    return list(dict.fromkeys([*_BASES, *reversed(measured)]))


def _proportional(given: Tensor) -> Iterator[Stretch]:
    turning = int((given > 0).sum())
    if turning < len(given) and bool(given[0] <= 1):
        yield Stretch(kind="proportional", factor=shortest(1 / given[0].item(), 2.0**-20)[0], turning=turning)


def _ramped(given: Tensor, plain: Tensor, bound: Tensor) -> Iterator[Stretch]:
    """YaRN and Llama 3: w / factor for slow pairs, w for fast ones, a ramp between."""
    last = given[-1].item()
    factor, digits = shortest(plain[-1].item() / last, 2 * bound[-1].item()) if last > 0 else (0.0, 0)
    if factor <= 1 + 4 * bound[-1].item() or digits > 4:
        return
    share = (given / plain - 1 / factor) / (1 - 1 / factor)
    end = max(_END, 4 * bound.max().item())
    inside = (share > end) & (share < 1 - end)
    falling = bool((share.diff() <= end).all()) and bool((share >= -end).all())
    if not falling or bool((share[:2] < 1 - end).any()):
        return
    for trained in _TRAINED:
        yield Stretch(kind="llama3", factor=factor, trained=trained)
        yield Stretch(kind="yarn", factor=factor, trained=trained)
        yield Stretch(kind="yarn", factor=factor, trained=trained, ramp="real")
    if int(inside.sum()) >= 2:
        slope, level = _line(plain[inside], share[inside])
        # share = (trained * frequency / 2 pi - low) / (high - low), and low is 1 in every released model.
        if slope > 0 and level < 0:
            high, _ = shortest(1 - 1 / level, end)
            trained = round(slope * 2 * math.pi * (high - 1))
            if high > 1 and trained >= 1:
                yield Stretch(kind="llama3", factor=factor, trained=trained, high=high)


def _line(x: Tensor, y: Tensor) -> tuple[float, float]:
    """Slope and level of the line through points."""
    fit = torch.linalg.lstsq(torch.stack((x, torch.ones_like(x)), 1), y.unsqueeze(1)).solution.flatten()
    return fit[0].item(), fit[1].item()
