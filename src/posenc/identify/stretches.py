"""Rules that stretched a geometric ladder pair by pair: which one, and its numbers, verified on every frequency."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .laws import shortest
from .tolerance import phase_error

LEAST = 4
# Bases that are tried where few pairs show theirs, and what was measured beside them.
_BASES = (10000.0, 500000.0, 1000000.0, 150000.0, 5000000.0)
# Frequencies between the ends of a ramp, as shares of the way from stretched to kept.
_END = 2.0**-10
_BY_EYE = 2.0**-7


@dataclass(frozen=True)
class Stretched:
    """Frequencies (pairs,) by the rule, and the rule in words."""

    frequencies: Tensor
    words: str


def stretch_of(given: Tensor, unit: float) -> Stretched | None:
    """What stretched frequencies (pairs,) whose fast end was kept and whose slow end is divided, or is zero."""
    if len(given) < LEAST or bool(given[0] <= 0) or bool(given[0] < given[-1]):
        return None
    for base in _bases(given, unit):
        plain = given[0] * torch.exp(-math.log(base) / len(given) * torch.arange(len(given), dtype=torch.float64))
        bound = 2 * (phase_error(plain) + unit)
        for rule in (_proportional, _ramped):
            found = rule(given, plain, base, bound)
            if found and bool(((found.frequencies - given).abs() <= bound * given).all()):
                return found
    return None


def _bases(given: Tensor, unit: float) -> list[float]:
    """The base that the fastest pairs show, the roundest that they allow first, and bases in use."""
    measured = []
    for kept in (2, 3, 4, 6, 8, 12, 16, 24, 32):
        if kept <= len(given) and given[kept - 1] > 0:
            ratio = (given[0] / given[kept - 1]).log().item()
            log = ratio / (kept - 1) * len(given)
            if log > 0:
                unsure = 2 * (unit + 2.0**-22) * len(given) / (kept - 1)
                measured.append(shortest(math.exp(log), unsure)[0])
    return list(dict.fromkeys([*_BASES, *reversed(measured)]))


def _proportional(given: Tensor, plain: Tensor, base: float, bound: Tensor) -> Stretched | None:
    kept = int((given > 0).sum())
    if kept == len(given) or kept < 2:
        return None
    made = torch.where(torch.arange(len(given), device="cpu") < kept, plain, 0.0)
    words = f"base {base:.6g}, proportional: the first {kept} of {len(given)} pairs turn, over the whole head"
    if given[0] != 1:
        words += f", first frequency {given[0]:.6g}"
    return Stretched(made, words)


def _ramped(given: Tensor, plain: Tensor, base: float, bound: Tensor) -> Stretched | None:
    """YaRN and Llama 3: w / factor for slow pairs, w for fast ones, a ramp between."""
    ratio = plain / given.clamp(min=1e-300)
    factor, digits = shortest(ratio[-1].item(), 2 * bound[-1].item())
    if factor < 1 + 4 * bound[-1].item() or digits > 4 or given[-1] <= 0:
        return None
    share = (ratio.reciprocal() - 1 / factor) / (1 - 1 / factor)
    end = max(_END, 4 * bound.max().item())
    kept, slow = share > 1 - end, share < end
    inside = ~kept & ~slow
    # Fast pairs first, then the ramp, then slow pairs: at least two and one.
    k = torch.arange(len(given), dtype=torch.float64, device="cpu")
    counts = int(kept.sum()), int(inside.sum()), int(slow.sum())
    begin, after = counts[0], counts[0] + counts[1]
    if counts[0] < 2 or counts[2] < 1 or not bool(kept[:begin].all()) or not bool(slow[after:].all()):
        return None
    words = f"base {base:.6g}, factor {factor:.6g}: "
    if counts[1] < 2:
        made = plain * (share + (1 - share) / factor)
        told = "fast pairs kept, slow ones stretched, and too few between to tell YaRN from Llama 3"
        return Stretched(made, words + told)
    fits = [_line(axis, share, inside) for axis in (k, plain)]
    best = min((0, 1), key=lambda i: fits[i][2])
    slope, level, off = fits[best]
    # One of the two must be right, and the other wrong.
    if off > max(_BY_EYE, end) or fits[1 - best][2] < 2 * off:
        return None
    ramp = (slope * (k, plain)[best] + level).clamp(0, 1)
    # Pairs of the ramp as measured: its line is told in words, which round it.
    ramp = torch.where(inside, share, ramp)
    return Stretched(plain * (ramp + (1 - ramp) / factor), words + (_yarn, _llama)[best](slope, level, off))


def _line(axis: Tensor, share: Tensor, inside: Tensor) -> tuple[float, float, float]:
    """Slope and level of the line through the shares of a ramp, and how far they are off it at most."""
    x, y = axis[inside], share[inside]
    fit = torch.linalg.lstsq(torch.stack((x, torch.ones_like(x)), 1), y.unsqueeze(1)).solution.flatten()
    return fit[0].item(), fit[1].item(), (fit[0] * x + fit[1] - y).abs().max().item()


def _yarn(slope: float, level: float, off: float) -> str:
    return f"YaRN, ramp from pair {(1 - level) / slope:.3g} to {-level / slope:.3g}"


def _llama(slope: float, level: float, off: float) -> str:
    # share = (length * frequency / 2 pi - low) / (high - low), and low is 1 in every released model.
    high, unsure = 1 - 1 / level, max(2.0**-10, 4 * off)
    length = slope * 2 * math.pi * (high - 1)
    power = 2.0 ** round(math.log2(length)) if length > 0 else 0
    near = power if abs(power - length) <= unsure * length else shortest(length, unsure)[0]
    return f"Llama 3, low 1, high {shortest(high, unsure)[0]:g}, original length {near:g}"
