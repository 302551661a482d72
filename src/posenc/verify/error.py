"""The error of values in units in the last place, measured without loss against exact values.

It rounds by its own rules, so that it shares no code with what it judges.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


class Exact(NamedTuple):
    """Exact values as sums high + low of two float64, high being the nearest one."""

    high: Floats
    low: Floats


class Scale(NamedTuple):
    """What a dtype makes of exact values: its unit in the last place at each, and its nearest number."""

    unit: Floats
    nearest: Floats

    def part(self, rows: slice) -> Scale:
        """These rows alone."""
        return Scale(self.unit[rows], self.nearest[rows])


class Errors(NamedTuple):
    """Of each value: the error, the same in units in the last place, and whether it is not the nearest."""

    absolute: Floats
    units: Floats
    misrounded: NDArray[np.bool_]

    def part(self, rows: slice) -> Errors:
        """These rows alone."""
        return Errors(self.absolute[rows], self.units[rows], self.misrounded[rows])


def scale(exact: Exact, dtype: torch.dtype) -> Scale:
    """The unit and the nearest number of `dtype` at each exact value.

    The unit is the distance between the neighbours that enclose the value. Where `high` is half-way, `low`
    decides.

    >>> at_one = Exact(np.array([1.0]), np.array([-1e-20]))
    >>> [float(part[0]) for part in scale(at_one, torch.float32)] == [2.0**-24, 1.0]
    True
    """
    info = torch.finfo(dtype)
    mantissa, exponent = np.frexp(exact.high)
    # Just below a power of two the numbers are twice as dense, and `high` may have been rounded up to it.
    below = (np.abs(mantissa) == 0.5) & (exact.low * exact.high < 0)
    smallest = info.tiny * info.eps
    unit = np.ldexp(info.eps, exponent - 1 - below.astype(exponent.dtype))
    unit = np.where(exact.high == 0, smallest, np.maximum(unit, smallest))
    quotient = exact.high / unit
    whole = np.rint(quotient)
    tie = (np.abs(quotient - whole) == 0.5) & (exact.low != 0)
    whole = np.where(tie, np.floor(quotient) + (exact.low > 0), whole)
    return Scale(unit, whole * unit)


def errors(values: torch.Tensor, exact: Exact, at: Scale) -> Errors:
    """The errors of values, of any dtype, that stand for these exact ones. NaN errs by infinity.

    Both differences are exact where the values are right to half their bits.
    """
    found: Any = values.detach().to("cpu", torch.float64).numpy()
    absolute = np.abs((found - exact.high) - exact.low)
    absolute = np.where(np.isfinite(absolute), absolute, np.inf)
    # Beside zero the unit is so small that a wrong value is infinitely many away.
    with np.errstate(over="ignore"):
        return Errors(absolute, absolute / at.unit, found != at.nearest)
