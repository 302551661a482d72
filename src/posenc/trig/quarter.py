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
# Radians per unit of the high limb, as the nearest float64 and what that lacks.
_UNIT = 2 * math.pi / (1 << HIGH_BITS)
_UNIT_REST = 2 * 1.2246467991473532e-16 / (1 << HIGH_BITS)
_SINE = [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 9)]
_COSINE = [(-1) ** n / math.factorial(2 * n) for n in range(1, 9)]

# Relative error of both results. With u = 2^-53: the angle carries four roundings, the sine polynomial 1.4 u
# and the cosine 2.8 u near an eighth of a turn; the Taylor series end below 0.02 u. Sum: 5.9 u.
RELATIVE_ERROR = 8 * 2.0**-53


def _horner(x: Tensor, coefficients: list[float]) -> Tensor:
    total = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        total = (total + coefficient) * x
    return total + coefficients[0]


def cos_sin(phase: Phase) -> tuple[Tensor, Tensor]:
    """Phases (...) -> cosine and sine (...), float64, relative error below `RELATIVE_ERROR`.

    Law: the same phase gives the same bits, whatever stands around it.

    >>> quarter = Phase(*(torch.tensor([limb]) for limb in (1 << 42, 0, 0)))
    >>> [t.item() for t in cos_sin(quarter)] == [0, 1]
    True
    """
    quadrant = (phase.high + (1 << (_QUARTER_BITS - 1))) >> _QUARTER_BITS
    rest = phase.high - (quadrant << _QUARTER_BITS)
    scale = 2.0**-LOW_BITS
    # In this order: just below a quarter turn the rest is -1, and the first sum cancels exactly.
    turn = (rest.double() + phase.middle.double() * scale) + phase.low.double() * (scale * scale)
    x = turn * _UNIT + turn * _UNIT_REST
    square = x * x
    sine = x + x * (square * _horner(square, _SINE))
    cosine = 1.0 + square * _horner(square, _COSINE)
    odd = (quadrant & 1).bool()
    # Quadrants 0 1 2 3 (4 is 0): cosine + - - +, sine + + - -; in odd ones the two change places.
    return (
        torch.where(odd, sine, cosine) * (1 - ((quadrant + 1) & 2)).double(),
        torch.where(odd, cosine, sine) * (1 - (quadrant & 2)).double(),
    )
