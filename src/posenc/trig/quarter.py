"""Sine and cosine of exact phases in float64, from IEEE products and sums alone.

The phase is reduced to an eighth of a turn in integers, so that only small angles meet floating point.
torch's own sine may use other code in vector bodies, tails and strided loops; separate products and sums give the
same bits in every batch, stride and number of threads, and exist wherever float64 does.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..phase import HIGH_BITS, LOW_BITS, Phase

_QUARTER_BITS = HIGH_BITS - 2
# Radians per unit of the high limb. What the nearest float64 lacks of it, 0.36 u, is less than one more rounding.
_UNIT = 2 * math.pi / (1 << HIGH_BITS)
_SINE = [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 9)]
_COSINE = [(-1) ** n / math.factorial(2 * n) for n in range(1, 9)]

# Of both results, derived in docs/bounds.md: with u = 2^-53 the cosine of an eighth of a turn is off by most, 4.99 u.
RELATIVE_ERROR = 5 * 2.0**-53


def _horner(x: Tensor, coefficients: list[float]) -> Tensor:
    total = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        total = (total + coefficient) * x
    return total + coefficients[0]


def _reduced(phase: Phase) -> tuple[Tensor, Tensor]:
    """The nearest quarter turn, 0 to 4, and the rest in units of the high limb, up to an eighth of a turn."""
    quadrant = (phase.high + (1 << (_QUARTER_BITS - 1))) >> _QUARTER_BITS
    rest = phase.high - (quadrant << _QUARTER_BITS)
    scale = 2.0**-LOW_BITS
    # In this order: just below a quarter turn the rest is -1, and the first sum cancels exactly.
    return quadrant, (rest.double() + phase.middle.double() * scale) + phase.low.double() * (scale * scale)


def _waves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine of angles up to an eighth of a turn."""
    square = x * x
    return 1.0 + square * _horner(square, _COSINE), x + x * (square * _horner(square, _SINE))


def cos_sin(phase: Phase) -> tuple[Tensor, Tensor]:
    """Phases (...) -> cosine and sine (...), float64, relative error below `RELATIVE_ERROR`.

    Law: the same phase gives the same bits, whatever stands around it.

    >>> quarter = Phase(*(torch.tensor([limb]) for limb in (1 << 42, 0, 0)))
    >>> [t.item() for t in cos_sin(quarter)] == [0, 1]
    True
    """
    quadrant, turn = _reduced(phase)
    cosine, sine = _waves(turn * _UNIT)
    odd = (quadrant & 1).bool()
    # Quadrants 0 1 2 3 (4 is 0): cosine + - - +, sine + + - -; in odd ones the two change places.
    return (
        torch.where(odd, sine, cosine) * (1 - ((quadrant + 1) & 2)).double(),
        torch.where(odd, cosine, sine) * (1 - (quadrant & 2)).double(),
    )
