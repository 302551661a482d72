"""Numbers far beyond float64, for the laws of ladders that are not rational."""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction


def wide_context(digits: int = 80) -> decimal.Context:
    """So many digits, and nothing of the caller's: neither traps nor bounds of exponents."""
    return decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def as_decimal(value: Fraction | float) -> Decimal:
    """The number in the digits of the context."""
    exact = Fraction(value)
    return Decimal(exact.numerator) / Decimal(exact.denominator)
