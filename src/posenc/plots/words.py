"""Numbers as they are written in pictures and on the page of the terminal."""

from __future__ import annotations

import math


def count(value: int) -> str:
    """An integer with thin gaps between the thousands.

    >>> count(1234567)
    '1 234 567'
    """
    return f"{value:,}".replace(",", " ")


def places(value: float) -> str:
    """A number with two decimals, or with none where it is large; a power of ten where it is beyond counting.

    >>> places(6.2832), places(47117.3), places(6.2e21), places(math.inf)
    ('6.28', '47 117', '6.2e+21', 'never')
    """
    if math.isinf(value):
        return "never"
    if abs(value) >= 1e12:
        return f"{value:.1e}"
    return f"{value:.2f}" if abs(value) < 1000 else count(round(value))


def span(start: int, length: int) -> str:
    """Which positions there are, in words.

    >>> span(0, 1), span(5, 1000)
    ('position 0', 'positions 5 to 1 004')
    """
    return f"position {count(start)}" if length == 1 else f"positions {count(start)} to {count(start + length - 1)}"


def short(error: float, digits: int = 1) -> str:
    """A small number to so many digits.

    >>> short(7.1e-6), short(0.25), short(0.012345, 3)
    ('7e-6', '0.2', '0.0123')
    """
    return f"{error:.{digits}g}".replace("e-0", "e-")


def percent(share: float) -> str:
    """A fraction as per cent with two decimals; never 100.00 for less than all.

    >>> percent(0.5), percent(0.999999)
    ('50.00 %', '99.99 %')
    """
    rounded = round(share * 100, 2)
    return f"{99.99 if rounded == 100 and share < 1 else rounded:.2f} %"
