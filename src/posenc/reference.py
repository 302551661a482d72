"""The textbook formula in arbitrary precision, scalar by scalar: slow, independent, the judge of all others.

It imports nothing of ours, shares no code with what it judges, and takes a convention as plain keywords.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import mpmath
from mpmath.libmp import to_fixed

Number: TypeAlias = int | float | Fraction
Member = Literal["sine", "cosine"]

# Bits behind the point that are right in every value.
BITS = 200
# What phases, their sines and the products of angle addition may lose of their last bits.
_GUARD = 56

# A context of our own: nobody else's precision is touched, and nobody can touch ours.
_mp = mpmath.mp.clone()


class _Convention(NamedTuple):
    """What decides the values, under the names that `Convention` has for it."""

    dim: int
    base: Number = 10000
    first: Number = 1
    endpoint_shift: Number = 0
    layout: Literal["interleaved", "halves"] = "interleaved"
    order: Literal["sine-first", "cosine-first"] = "sine-first"
    odd: Literal["truncate", "pad", "round-up", "refuse"] = "truncate"
    position_offset: Number = 0
    position_scale: Number = 1
    gain: Number | Literal["inverse-root"] = 1

    def factor(self) -> mpmath.mpf:
        """What values are multiplied by."""
        return 1 / _mp.sqrt(self.dim) if isinstance(self.gain, str) else _real(self.gain)

    def pairs(self) -> int:
        if self.odd == "refuse" and self.dim % 2:
            raise ValueError(f"got dim={self.dim}, but wanted an even width; pass dim={self.dim + 1}.")
        return self.dim // 2 if self.odd == "pad" else (self.dim + 1) // 2

    def span(self) -> Fraction:
        """Half the width that the ladder is made for: dim / 2 in the paper."""
        return Fraction(self.dim, 2) if self.odd == "truncate" else Fraction(self.pairs())

    def place(self, column: int) -> tuple[int, Member] | None:
        """The pair and the member that stand in a column; None for a column of zeros."""
        pairs = self.pairs()
        if column >= 2 * pairs:
            return None
        pair, second = {
            "interleaved": (column // 2, column % 2),
            "halves": (column % pairs, column // pairs),
        }[self.layout]
        is_sine = {"sine-first": second == 0, "cosine-first": second == 1}[self.order]
        return pair, "sine" if is_sine else "cosine"

    def frequency(self, pair: int) -> mpmath.mpf:
        """first * base^(-pair / (span - endpoint_shift)) * position_scale, in radians per position."""
        exponent = 0 if pair == 0 else Fraction(pair) / (self.span() - Fraction(self.endpoint_shift))
        return _real(self.first) * _real(self.base) ** -_real(exponent) * _real(self.position_scale)


def _real(value: Number) -> mpmath.mpf:
    """The number that an int, a float or a fraction stands for, exactly or to the last bit of the context."""
    exact = Fraction(value)
    return _mp.mpf(exact.numerator) / exact.denominator


def _enough_bits(convention: _Convention, positions: Iterable[Number]) -> int:
    """A precision at which the largest phase, in radians, has `BITS` + `_GUARD` bits behind the point."""
    farthest = max(abs(Fraction(position)) + abs(Fraction(convention.position_offset)) for position in positions)
    # A ladder falls or rises: the fastest pair stands at one of its ends.
    ends = {0, max(0, convention.pairs() - 1)}
    fastest = max(abs(convention.frequency(pair)) for pair in ends)
    return BITS + _GUARD + 1 + max(0, int(_mp.mag(fastest * _real(farthest + 1))))


def value(position: Number, column: int, dim: int, **convention: Any) -> mpmath.mpf:
    """One value of an encoding, right to 200 bits behind the point.

    Law: sin or cos of frequency(k) * position_scale * (position + position_offset), where k is the pair in
    this column, frequency(k) = first * base^(-k / (span - endpoint_shift)) and span = dim / 2; times the gain.
    Every number is taken for exactly what it is.

    Args:
        position: int, float or Fraction, of any size.
        column: 0 to dim - 1.
        dim: width of the encoding.
        **convention: base, first, endpoint_shift, layout, order, odd, position_offset, position_scale, gain, as
            `Convention` has them; what is left out is that of the paper.

    Raises:
        ValueError: where an even width is wanted and dim is odd.

    Source: Vaswani et al. 2017, section 3.5.

    >>> mpmath.nstr(value(1, 0, 512), 20), mpmath.nstr(value(2**62, 1, 512), 20)
    ('0.84147098480789650665', '-0.71126650297648638695')
    """
    rule = _Convention(dim, **convention)
    where = rule.place(column)
    if where is None:
        return _mp.mpf(0)
    pair, member = where
    with _mp.workprec(_enough_bits(rule, [position])):
        angle = rule.frequency(pair) * (_real(position) + _real(rule.position_offset))
        return rule.factor() * (_mp.sin(angle) if member == "sine" else _mp.cos(angle))


class Split(NamedTuple):
    """Values as sums high + low of two floats, right to 2^-106 of themselves: [column][row]."""

    high: list[list[float]]
    low: list[list[float]]


def columns(anchors: Sequence[int], offsets: Sequence[int], dim: int, **convention: Any) -> Split:
    """The encodings of all positions anchor + offset, a row for each, the offsets running fastest.

    Cosine and sine are taken of the anchors and of the offsets alone, and joined by angle addition in
    integers of more than `BITS` bits, so that a million values cost seconds.

    Law: high + low == value(anchor + offset, column, dim, **convention), to 2^-180 and to 2^-106 of itself.

    Args:
        anchors, offsets: integers of any size.
        dim: width of the encoding.
        **convention: as in `value`.

    >>> columns([10**15], [0, 1], 2).high[0] == [float(value(10**15 + b, 0, 2)) for b in (0, 1)]
    True
    """
    rule = _Convention(dim, **convention)
    parts: dict[int, dict[Member, tuple[list[float], list[float]]]] = {}
    high, low = [], []
    with _mp.workprec(_enough_bits(rule, [*anchors, *offsets])):
        for column in range(dim):
            where = rule.place(column)
            if where is None:
                zeros = [0.0] * (len(anchors) * len(offsets))
                high.append(zeros)
                low.append(zeros)
                continue
            pair, member = where
            if pair not in parts:
                parts[pair] = _pair_columns(anchors, offsets, rule, pair)
            upper, lower = parts[pair][member]
            high.append(upper)
            low.append(lower)
    return Split(high, low)


def _pair_columns(
    anchors: Sequence[int], offsets: Sequence[int], rule: _Convention, pair: int
) -> dict[Member, tuple[list[float], list[float]]]:
    frequency = rule.frequency(pair)
    start = Fraction(rule.position_offset)
    ends = [_turned(frequency * offset) for offset in offsets]
    sines, cosines = [], []
    for anchor in anchors:
        cos_a, sin_a = _turned(frequency * _real(anchor + start))
        sines += [sin_a * cos_b + cos_a * sin_b for cos_b, sin_b in ends]
        cosines += [cos_a * cos_b - sin_a * sin_b for cos_b, sin_b in ends]
        for row, offset in enumerate(offsets, len(sines) - len(offsets)):
            # The one phase that is exact, and the one sine that angle addition would not make zero.
            if anchor + offset == -start:
                sines[row], cosines[row] = 0, 1 << (2 * _SCALE)
    if rule.gain == 1:
        return {"sine": _split(sines, 2 * _SCALE), "cosine": _split(cosines, 2 * _SCALE)}
    factor = to_fixed(rule.factor()._mpf_, _SCALE)
    return {
        "sine": _split([factor * sine for sine in sines], 3 * _SCALE),
        "cosine": _split([factor * cosine for cosine in cosines], 3 * _SCALE),
    }


_SCALE = BITS + _GUARD // 2


def _turned(angle: mpmath.mpf) -> tuple[int, int]:
    """Cosine and sine times 2^_SCALE, as integers less than one away."""
    cosine, sine = _mp.cos_sin(angle)
    return to_fixed(cosine._mpf_, _SCALE), to_fixed(sine._mpf_, _SCALE)


def _split(products: list[int], scale: int) -> tuple[list[float], list[float]]:
    """Integers times 2^-scale -> their nearest floats, and the nearest floats to what these lack."""
    upper = [float(product) for product in products]
    lower = [float(product - int(near)) for product, near in zip(products, upper, strict=True)]
    unit = 2.0**-scale
    # A power of two changes the exponent alone.
    return [near * unit for near in upper], [rest * unit for rest in lower]
