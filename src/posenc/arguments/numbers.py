"""Which numbers a rule, an option or a layer computes with: ints, and finite floats."""

from __future__ import annotations

from typing import Any

from torch import Tensor

# Checkpoints and configurations hold such numbers; one bit below the top leaves room to round.
LARGEST = 2.0**1023


def is_number(value: Any) -> bool:
    """Whether it is a finite int or float below 2^1023 in magnitude; a bool is none.

    >>> [is_number(value) for value in (1, 0.5, True, float("nan"), 10**400)]
    [True, True, False, False, False]
    """
    # Compared, not converted: float() and math.isfinite raise OverflowError for long ints. NaN is below nothing.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST


def as_index(value: Any) -> int | None:
    """`value` as an int, where it is one: no bool, no array, no tensor."""
    if type(value) is int:
        # Also a size that a compiler has left open, which knows no `__index__`.
        return value
    if isinstance(value, (bool, Tensor)) or not hasattr(type(value), "__index__"):
        return None
    try:
        return int(value.__index__())
    except TypeError:
        return None
