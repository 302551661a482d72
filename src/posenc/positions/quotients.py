"""Integers divided by one integer of any size: the floor, whether it is exact, and the quotient in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from ..encoding.arguments import INT64_MAX

# 2^27 + 1 splits a float64 into halves whose products are exact (Dekker 1971).
_SPLIT = 134217729.0
# Integers of at most this many low bits leave 53 others in an int64.
_LOW = (1 << 11) - 1


def floor_of(counted: Tensor, divisor: int) -> Tensor:
    """The largest integers (...) int64 not above counted / divisor."""
    if divisor > INT64_MAX:
        return torch.where(counted < 0, -1, 0)
    return torch.div(counted, divisor, rounding_mode="floor")


def are_multiples(counted: Tensor, divisor: int) -> Tensor:
    """Where counted / divisor is an integer."""
    return counted == 0 if divisor > INT64_MAX else counted % divisor == 0


def quotient_of(counted: Tensor, divisor: int) -> Tensor:
    """counted (...) int64 / divisor -> (...) float64.

    Below 2^53 each is within half a unit in its last place, plus 2^-54, of the exact quotient: whole units and the
    rest are of one sign, so that nothing cancels. A divisor below 2^53, and so a rest below it, is a float64 itself:
    their quotient, which is below 1, is rounded once, by at most 2^-54, and the sum once. Larger ones are held in two
    float64 each, and what the first quotient leaves is divided once more (as in Dekker 1971), which leaves an error
    below 2^-90 before the sum.

    >>> quotient_of(torch.tensor([3, -1]), 2).tolist()
    [1.5, -0.5]
    """
    if divisor > INT64_MAX:
        whole, rest = torch.zeros_like(counted), counted
    else:
        whole = torch.div(counted, divisor, rounding_mode="trunc")
        rest = counted - whole * divisor
    units = whole.double()
    if divisor < 1 << 53:
        return units + rest.double() / divisor
    below = rest & _LOW
    high, low = (rest - below).double(), below.double()
    by = float(divisor)
    first = high / by
    product, error = _exact_product(first, by)
    more = (((high - product) - error) + (low - first * float(divisor - int(by)))) / by
    total = units + first
    # What the sum has lost, exactly (Knuth).
    back = total - units
    lost = (units - (total - back)) + (first - back)
    return total + (lost + more)


def _exact_product(a: Tensor, b: float) -> tuple[Tensor, Tensor]:
    """a * b as a float64 and what its rounding has left out, exactly."""
    product = a * b
    a_high = a * _SPLIT - (a * _SPLIT - a)
    b_high = b * _SPLIT - (b * _SPLIT - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error
