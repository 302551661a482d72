"""Ladders of frequencies turned into exact integer steps, 2^128 to the turn.

A step is the part of a turn that a pair advances from one position to the next.
Everything is computed in decimal arithmetic of the standard library, far beyond 128 bits, and rounded once.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

from ..errors import ConventionError, refuse
from .decimals import as_decimal, wide_context

TURN_BITS = 128
TURN = 1 << TURN_BITS
_GUARD_DIGITS = 40
# A frequency that float64 holds.
_MOST_BITS = 1024


def _arctan_of_inverse(n: int, unity: int) -> int:
    """arctan(1/n) * unity by its series, in integers."""
    term = total = unity // n
    k = 1
    while term:
        term //= -n * n
        k += 2
        total += term // k
    return total


@lru_cache(maxsize=16)
def pi_scaled(bits: int) -> int:
    """pi * 2^bits, off by less than one unit (Machin, 1706).

    >>> pi_scaled(64) / 2**64
    3.141592653589793
    """
    guard = 64
    unity = 1 << (bits + guard)
    return 4 * (4 * _arctan_of_inverse(5, unity) - _arctan_of_inverse(239, unity)) >> guard


def _rounded(value: Decimal) -> int:
    return int(value.to_integral_value(decimal.ROUND_HALF_EVEN))


def _bits(value: Fraction) -> float:
    """log2 of the size, whatever the size."""
    top, bottom = abs(value.numerator), value.denominator
    if not top:
        return -math.inf
    place = top.bit_length() - bottom.bit_length()
    return place + math.log2(Fraction(top, bottom) / Fraction(2) ** place)


@dataclass(frozen=True)
class Ladder:
    """The frequencies of a convention at one width, in the order of its pairs.

    Law: frequency(k) = first * base^(-k / span) * scale radians per position, or given[k] * scale where they
    are given, times stretch[k] where there is one, and the phase of position 0 is frequency(k) * offset.

    >>> ladder = Ladder(pairs=2, base=Fraction(10000), span=Fraction(2))
    >>> [round(step * 6.283185307179586 / TURN, 12) for step in ladder.steps]
    [1.0, 0.01]
    """

    pairs: int
    base: Fraction
    span: Fraction
    first: Fraction = Fraction(1)
    scale: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    given: tuple[Fraction, ...] = ()
    stretch: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if self._rise() >= _MOST_BITS:
            refuse(
                f"a ladder whose fastest pair turns by some 2^{self._rise()} radians for each position",
                f"frequencies below 2^{_MOST_BITS}, which float64 holds: they are made of exact digits, one by one",
                "pass a larger base, or a smaller first frequency, scale or dim",
                error=ConventionError,
            )

    def _rise(self) -> int:
        """The largest frequency as a power of two, or 0 where none is above 1."""
        if self.given:
            fastest = max(0.0, *(_bits(radians) for radians in self.given))
        else:
            # A ladder falls or rises: the fastest pair is at one of its ends.
            fastest = max(0.0, _bits(self.first) - min(0.0, _bits(self.base)) * float((self.pairs - 1) / self.span))
        fastest += max(0.0, *(_bits(factor) for factor in self.stretch)) if self.stretch else 0.0
        return max(0, math.ceil(min(fastest + _bits(self.scale), 2.0**53)))

    def _digits(self, bits: int) -> int:
        """Decimal digits that hold the largest step and 40 more."""
        return int((bits + self._rise()) * 0.30103) + _GUARD_DIGITS

    def _turns(self, radians: Fraction, bits: int) -> Decimal:
        """Radians per position as turns * 2^bits."""
        bits_of_pi = 4 * self._digits(bits)
        two_pi = Decimal(2 * pi_scaled(bits_of_pi)) / Decimal(1 << bits_of_pi)
        return as_decimal(radians * self.scale) * Decimal(1 << bits) / two_pi

    def precise_step(self, pair: int, bits: int) -> int:
        """The step of one pair with 2^bits to the turn, rounded once.

        Law: precise_step(k, 128) == steps[k].
        """
        with decimal.localcontext(wide_context(self._digits(bits))):
            factor = as_decimal(self.stretch[pair]) if self.stretch else Decimal(1)
            if self.given:
                return _rounded(self._turns(self.given[pair], bits) * factor)
            ratio = -as_decimal(self.base).ln() * pair / as_decimal(self.span) if pair else Decimal(0)
            return _rounded(self._turns(self.first, bits) * ratio.exp() * factor)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """One exact integer a pair, 2^128 to the turn; not reduced, so that half a position has a meaning."""
        with decimal.localcontext(wide_context(self._digits(TURN_BITS))):
            factors = [as_decimal(factor) for factor in self.stretch] or [Decimal(1)] * self.pairs
            if self.given:
                turns = (self._turns(radians, TURN_BITS) for radians in self.given)
                return tuple(_rounded(turn * factor) for turn, factor in zip(turns, factors, strict=True))
            ratio = (-as_decimal(self.base).ln() / as_decimal(self.span)).exp() if self.pairs > 1 else Decimal(1)
            value = self._turns(self.first, TURN_BITS)
            steps = []
            for factor in factors:
                steps.append(_rounded(value * factor))
                value *= ratio
            return tuple(steps)

    def rational(self, pair: int) -> Fraction:
        """The frequency of a pair of explicit ones, in radians per position, exactly."""
        return self.given[pair] * self.scale * (self.stretch[pair] if self.stretch else 1)

    def is_still(self, pair: int) -> bool:
        """Whether a pair never turns: its frequency is zero, exactly."""
        return (bool(self.given) and not self.given[pair]) or (bool(self.stretch) and not self.stretch[pair])

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The phase of position 0, one integer a pair, 2^128 to the turn, reduced to one turn."""
        if not self.offset:
            return (0,) * self.pairs
        top, bottom = self.offset.numerator, self.offset.denominator
        return tuple((step * top // bottom) % TURN for step in self.steps)

    @cached_property
    def _hash(self) -> int:
        return hash((self.pairs, self.base, self.span, self.first, self.scale, self.offset, self.given, self.stretch))

    def __hash__(self) -> int:
        # Every cache of values is keyed by the ladder: hash the fractions once.
        return self._hash
