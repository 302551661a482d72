"""Float64 to the dtype that was asked for: one rounding, and where float64 could not decide it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

# dtype: bits of the significand, exponent of the smallest subnormal number.
FORMATS = {
    torch.float64: (53, -1074),
    torch.float32: (24, -149),
    torch.float16: (11, -24),
    torch.bfloat16: (8, -133),
}
# An interval about a value: each end is rounded to float64 too, and once more where the upper one is made of the lower.
ENDS = 2 * 2.0**-53
# Veltkamp's constant (1968): v * (2^s + 1) leaves 53 - s bits.
_SPLITTERS = {torch.float16: 2.0**42 + 1, torch.bfloat16: 2.0**45 + 1}
_SMALLEST_NORMAL_HALF, _SMALLEST_NORMAL_BFLOAT = 2.0**-14, 2.0**-126
# Adding 1.5 * 2^28 leaves multiples of 2^-24, float16's subnormal numbers.
_HALF_ANCHOR = 1.5 * 2.0**28


def round_once(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Float64 -> dtype, to nearest, in one rounding.

    torch converts to 16 bits through float32 and so rounds twice. Here the float64 is rounded to the few bits
    first, by products and sums that every exporter knows, and the conversion is exact. A tie may go either way;
    values of an encoding are never ties. Right for |value| from 2^-126 to 2^900, and for zero.

    >>> x = torch.tensor([1 + 2.0**-11 + 2.0**-40], dtype=torch.float64)
    >>> x.half().item(), round_once(x, torch.float16).item()
    (1.0, 1.0009765625)
    """
    if dtype not in _SPLITTERS:
        return values.to(dtype)
    product = values * _SPLITTERS[dtype]
    rounded = product - (product - values)
    if dtype == torch.float16:
        small = (values + _HALF_ANCHOR) - _HALF_ANCHOR
        rounded = torch.where(values.abs() < _SMALLEST_NORMAL_HALF, small, rounded)
    return rounded.to(dtype)


def round_into(out: Tensor, values: Tensor) -> None:
    """Write float64 values into out, in one rounding."""
    out.copy_(round_once(values, out.dtype) if out.dtype in _SPLITTERS else values)


def doubtful(values: Tensor, bound: Tensor | float, dtype: torch.dtype) -> Tensor:
    """Where an error of `bound` could change the rounding to dtype (Ziv's test): a mask of values' shape."""
    return round_once(values - bound, dtype) != round_once(values + bound, dtype)


def round_decided(values: Tensor, bound: Tensor, dtype: torch.dtype, decide: Callable[[int, int], float]) -> Tensor:
    """Float64 (n, m) that are off by at most `bound` -> dtype, correctly rounded.

    decide(row, column) says what a value is where the bound leaves that open, as a number that dtype holds.

    >>> half_way = torch.tensor([[1 + 2.0**-24, 0.5]], dtype=torch.float64)
    >>> round_decided(half_way, torch.tensor(1e-15), torch.float32, lambda row, column: 1.0)
    tensor([[1.0000, 0.5000]])
    """
    rounded = round_once(values + bound, dtype)
    is_open = round_once(values - bound, dtype) != rounded
    if dtype == torch.bfloat16:
        # Its subnormal numbers are beyond `round_once`.
        is_open |= (values.abs() < _SMALLEST_NORMAL_BFLOAT) & (values != 0)
    for row, column in is_open.nonzero().tolist():
        rounded[row, column] = decide(row, column)
    return rounded
