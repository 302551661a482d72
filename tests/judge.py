"""The textbook formula, scalar by scalar in arbitrary precision: the judge that the tests of the core call.

It knows nothing of steps, phases, limbs or rows, and shares no code with what it judges.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

import mpmath
import torch

from posenc import Convention

# Positions reach 2^63 and frequencies 2^64: more than 250 bits are left behind the point.
MP = mpmath.mp.clone()
MP.prec = 400

# Bits of the significand, exponent of the smallest subnormal number (IEEE 754; bfloat16 has float32's exponents).
FORMATS = {
    torch.float64: (53, -1074),
    torch.float32: (24, -149),
    torch.float16: (11, -24),
    torch.bfloat16: (8, -133),
}
ROUNDED = [torch.float32, torch.bfloat16, torch.float16]


def real(number):
    """What an int, a float or a fraction stands for."""
    exact = Fraction(number)
    return MP.mpf(exact.numerator) / exact.denominator


def places(dim: int, convention: Convention) -> list[tuple[int, str] | None]:
    """Pair and member of every column; None for a column of zeros."""
    pairs = dim // 2 if convention.odd == "pad" else (dim + 1) // 2
    members = ["sine", "cosine"] if convention.order == "sine-first" else ["cosine", "sine"]
    if convention.layout == "interleaved":
        filled = [(pair, member) for pair in range(pairs) for member in members]
    else:
        filled = [(pair, member) for member in members for pair in range(pairs)]
    return [*filled[:dim], *[None] * (dim - len(filled))]


@lru_cache(maxsize=4096)
def frequency(pair: int, dim: int, convention: Convention):
    """Radians per position: first * base^(-pair / (span - endpoint_shift)) * position_scale."""
    span = {"truncate": Fraction(dim, 2), "pad": Fraction(dim // 2)}.get(convention.odd, Fraction((dim + 1) // 2))
    exponent = Fraction(pair) / (span - Fraction(convention.endpoint_shift)) if pair else Fraction(0)
    return real(convention.first) * real(convention.base) ** -real(exponent) * real(convention.position_scale)


def truth(position, dim: int, convention: Convention) -> list:
    """The encoding of one position, a number for each column."""
    row = []
    for place in places(dim, convention):
        if place is None:
            row.append(MP.mpf(0))
            continue
        angle = frequency(place[0], dim, convention) * (real(position) + real(convention.position_offset))
        row.append(MP.sin(angle) if place[1] == "sine" else MP.cos(angle))
    return row


def unit(value, dtype: torch.dtype):
    """One unit in the last place of a number of this size."""
    precision, smallest = FORMATS[dtype]
    exponent = MP.frexp(value)[1] if value else smallest
    return MP.ldexp(1, max(exponent - precision, smallest))


def rounded(value, dtype: torch.dtype) -> float:
    """The number of this dtype that is nearest to value, as a float; ties go to even."""
    one = unit(value, dtype)
    return float(MP.nint(value / one) * one)


def compare(rows: torch.Tensor, positions: Sequence, convention: Convention) -> Iterator[tuple]:
    """Position, column, what stands there and what is true, for every value of rows (n, dim)."""
    for position, row in zip(positions, rows.tolist(), strict=True):
        for column, (got, true) in enumerate(zip(row, truth(position, len(row), convention), strict=True)):
            yield position, column, got, true


def misrounded(rows: torch.Tensor, positions: Sequence, convention: Convention) -> list[tuple]:
    """The values of rows (n, dim) that are not the truth rounded once: position, column, value, right value."""
    return [
        (position, column, got, rounded(true, rows.dtype))
        for position, column, got, true in compare(rows, positions, convention)
        if got != rounded(true, rows.dtype)
    ]


def largest_error(rows: torch.Tensor, positions: Sequence, convention: Convention) -> float:
    """The largest |value - truth| in rows (n, dim)."""
    return float(max((abs(got - true) for _, _, got, true in compare(rows, positions, convention)), default=0))
