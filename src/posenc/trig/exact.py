"""Sine and cosine of one phase to any precision, in integers: the last word where float64 cannot decide."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from ..frequency import Ladder, pi_scaled


def sine_fixed(phase: int, bits: int) -> int:
    """sin(2 pi phase / 2^bits) * 2^bits, off by less than 64 units.

    >>> sine_fixed(1 << 62, 64) == 1 << 64
    True
    """
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


def nearest(position: Fraction, ladder: Ladder, pair: int, member: str, precision: int, smallest: int) -> float:
    """One value of an encoding, correctly rounded to `precision` bits, member "sine" or "cosine".

    Works with more and more bits until both ends of the error bound round to the same number, which ends, since
    the sine of an algebraic number other than 0 is transcendental and so no tie (Lindemann, 1882). The frequency
    is taken afresh at that precision, so that nothing hangs on the 128 bits of the step.

    >>> nearest(Fraction(1), Ladder(pairs=1, base=Fraction(10000), span=Fraction(1)), 0, "sine", 24, -149)
    0.8414709568023682
    """
    place = position + ladder.offset
    if place == 0:
        return 0.0 if member == "sine" else 1.0
    size = max(1, abs(place.numerator // place.denominator).bit_length())
    bits = 192
    while True:
        work = bits + size + 8
        turn = _precise_step(ladder, pair, work) * place.numerator // place.denominator
        phase = (turn >> (work - bits)) + (1 << (bits - 2) if member == "cosine" else 0)
        value = sine_fixed(phase, bits)
        # The step is half a unit of 2^-work off, times the position; the series adds less than 64 units.
        low, high = (round_fixed(value + d, bits, precision, smallest) for d in (-80, 80))
        if low == high:
            return float(low)
        bits *= 2
