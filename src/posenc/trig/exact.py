"""Sine and cosine of one phase to any precision, in integers: the last word where float64 cannot decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from ..frequency import Ladder, pi_scaled

# Units of the last bit: what the series is off by, and in radians each angle that is off by 1.1 units of a turn.
_SERIES_ERROR, _ANGLE_ERROR = 2, 7


def sine_fixed(phase: int, bits: int) -> int:
    """sin(2 pi phase / 2^bits) * 2^bits, off by less than `_SERIES_ERROR` units from 64 bits on.

    >>> sine_fixed(1 << 62, 64) == 1 << 64
    True
    """
    # Each term is off by about a unit, and more bits need more terms.
    guard = bits.bit_length()
    return _sine(phase << guard, bits + guard) >> guard


def _sine(phase: int, bits: int) -> int:
    quarter = 1 << (bits - 2)
    quadrant, rest = divmod(phase % (1 << bits), quarter)
    if quadrant & 1:
        rest = quarter - rest
    sign = -1 if quadrant & 2 else 1
    # Only the first eighth is summed: the rest of the quarter is the cosine of the other side.
    swap = rest > quarter // 2
    x = (2 * pi_scaled(bits) * (quarter - rest if swap else rest)) >> bits
    square = x * x >> bits
    term = total = (1 << bits) if swap else x
    n = 0 if swap else 1
    while term:
        term = -(term * square >> bits) // ((n + 1) * (n + 2))
        n += 2
        total += term
        if -2 < term < 1:
            break
    return sign * total


def round_fixed(value: int, scale_bits: int, precision: int, smallest: int) -> Fraction:
    """value / 2^scale_bits to the nearest number of `precision` bits that is a multiple of 2^smallest."""
    exponent = max(abs(value).bit_length() - scale_bits - precision, smallest)
    drop = scale_bits + exponent
    if drop <= 0:
        return Fraction(value, 1 << scale_bits)
    half = 1 << (drop - 1)
    quotient, rest = divmod(value, 1 << drop)
    if rest > half or (rest == half and quotient & 1):
        quotient += 1
    return Fraction(quotient) * (Fraction(2) ** exponent)


@lru_cache(maxsize=4096)
def _precise_step(ladder: Ladder, pair: int, bits: int) -> int:
    return ladder.precise_step(pair, bits)


class Factor(NamedTuple):
    """What values are multiplied by, as a sign and an exact square: dim^-0.5 has no other exact form."""

    sign: int
    square: Fraction

    @classmethod
    def of(cls, number: float) -> Factor:
        """A number as it is."""
        return cls(-1 if number < 0 else 1, Fraction(number) ** 2)

    def scaled(self, bits: int) -> tuple[int, int]:
        """The size times 2^place, rounded down, an integer of about `bits` bits, and the place.

        >>> Factor(-1, Fraction(1, 2)).scaled(8)
        (362, 9)
        """
        top, bottom = self.square.numerator, self.square.denominator
        place = bits - (top.bit_length() - bottom.bit_length()) // 2
        return math.isqrt((top << max(0, 2 * place)) // (bottom << max(0, -2 * place))), place

    def is_exact(self, size: int, place: int) -> bool:
        """Whether nothing was lost where it was rounded down."""
        return Fraction(size) ** 2 == self.square * Fraction(4) ** place


ONE = Factor(1, Fraction(1))


class Term(NamedTuple):
    """The angle of one pair of a ladder at a position."""

    position: Fraction
    ladder: Ladder
    pair: int

    @property
    def place(self) -> Fraction:
        """The position after the ladder's offset, zero where the pair never turns."""
        return (self.position + self.ladder.offset) * (not self.ladder.is_still(self.pair))

    def turn(self, bits: int) -> int:
        """The angle with 2^bits to the turn, off by less than 1.1 units."""
        place = self.place
        work = bits + max(1, abs(place.numerator // place.denominator).bit_length()) + 8
        return (_precise_step(self.ladder, self.pair, work) * place.numerator // place.denominator) >> (work - bits)


def nearest(terms: Sequence[Term], member: str, precision: int, smallest: int, factor: Factor = ONE) -> float:
    """One value of an encoding, correctly rounded to `precision` bits, member "sine" or "cosine".

    That is the sine or cosine of the sum of the angles of `terms`, times a factor.
    Works with more and more bits until both ends of the error bound round to the same number, which ends, since
    the sine of an algebraic number other than 0 is transcendental and so no tie (Lindemann, 1882), and remains so
    times an algebraic factor. The frequency is taken afresh at that precision, so that nothing depends on the 128 bits
    of the step.

    >>> term = Term(Fraction(1), Ladder(pairs=1, base=Fraction(10000), span=Fraction(1)), 0)
    >>> nearest([term], "sine", 24, -149)
    0.8414709568023682
    >>> nearest([term], "sine", 24, -149, Factor(1, Fraction(1, 2)))
    0.5950098633766174
    """
    turning = [term for term in terms if term.place]
    still = not turning or (len(turning) > 1 and _is_nothing(turning))
    if still and member == "sine":
        return 0.0
    bits = 192
    while True:
        if still:
            # The cosine of no angle: the factor itself.
            value, off = 1 << bits, 0
        else:
            phase = sum(term.turn(bits) for term in turning) + (1 << (bits - 2) if member == "cosine" else 0)
            value, off = sine_fixed(phase, bits), _SERIES_ERROR + _ANGLE_ERROR * len(turning)
        size, place = factor.scaled(bits)
        rest = 0 if factor.is_exact(size, place) else abs(value)
        value, off = factor.sign * value * size, off * (size + 1) + rest
        low, high = (round_fixed(value + d, bits + place, precision, smallest) for d in (-off, off))
        if low == high:
            return float(low)
        bits *= 2


def _is_nothing(terms: Sequence[Term]) -> bool:
    """Whether the angles of several terms add up to zero exactly, which rational ones may."""
    if not all(term.ladder.given for term in terms):
        # A sum of angles has explicit frequencies, and no other.
        return False
    return sum(term.place * term.ladder.rational(term.pair) for term in terms) == 0
