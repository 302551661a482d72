"""The textbook formula, scalar by scalar in arbitrary precision: the judge that the tests of the core call.

It knows nothing of steps, phases, limbs, plans or rows, and shares no code with what it judges.
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

# What may be added together, in the order in which a position holds them.
HELD = ["time", "depth", "row", "column", "x", "y", "z", "x1", "y1", "x2", "y2"]


def real(number):
    """What an int, a float or a fraction stands for."""
    exact = Fraction(number)
    return MP.mpf(exact.numerator) / exact.denominator


def axis_count(convention: Convention) -> int:
    """How many numbers a position holds."""
    return len(convention.axes) or 1


def entry(axis: int, convention: Convention) -> int:
    """Which number of a position belongs to the axis that comes at this place among the columns."""
    return sorted(convention.axes, key=HELD.index).index(convention.axes[axis]) if convention.axes else 0


def widths(dim: int, convention: Convention) -> list[tuple[int, Fraction]]:
    """For each axis, in the order of the columns, its pairs and the span of its ladder."""
    axes = axis_count(convention)
    waves = dim - (axes if convention.include_input != "none" else 0)
    if convention.axis_shares:
        return [(waves * s // (2 * sum(convention.axis_shares)),) * 2 for s in convention.axis_shares]
    each = Fraction(waves, 2 if convention.axis_layout == "sum" else 2 * axes)
    pairs = each.__floor__() if convention.odd == "pad" else each.__ceil__()
    return [(pairs, each if convention.odd == "truncate" else Fraction(pairs))] * axes


def places(dim: int, convention: Convention) -> list[tuple | None]:
    """What every column holds: (axis, pair, member), ("input", entry), or None for zeros. A summed axis is None."""
    members = ["sine", "cosine"] if convention.order == "sine-first" else ["cosine", "sine"]
    halves = convention.layout == "halves"
    counts = [pairs for pairs, _ in widths(dim, convention)]
    axes, pairs = range(len(counts)), range(counts[0])
    if convention.axis_layout == "middle":
        filled = (
            [(a, k, m) for m in members for a in axes for k in pairs]
            if halves
            else [(a, k, m) for k in pairs for a in axes for m in members]
        )
    elif convention.axis_layout == "inner":
        filled = (
            [(a, k, m) for m in members for k in pairs for a in axes]
            if halves
            else [(a, k, m) for k in pairs for m in members for a in axes]
        )
    else:
        filled = []
        for a in [None] if convention.axis_layout == "sum" else axes:
            count = range(counts[a or 0])
            filled += (
                [(a, k, m) for m in members for k in count] if halves else [(a, k, m) for k in count for m in members]
            )
            if convention.include_input == "suffix-per-axis":
                filled.append(("input", entry(a or 0, convention)))
    inputs = [("input", held) for held in range(axis_count(convention))]
    if convention.include_input == "prefix":
        filled = inputs + filled
    if convention.include_input == "suffix":
        filled = filled + inputs
    return [*filled[:dim], *[None] * (dim - len(filled))]


def each(value, axis: int):
    """One number for all axes, or this axis' own."""
    return value[axis] if isinstance(value, tuple) else value


def stretched(pair: int, pairs: int, convention: Convention):
    """What the frequency of a pair is multiplied by, by the rules that this judge knows."""
    rule = convention.stretch
    if rule is None or rule.kind == "ntk":
        return 1
    divided = 1 / real(rule.factor)
    if rule.kind == "linear":
        return divided
    if rule.kind == "proportional":
        return divided if pair < rule.turning else 0
    assert rule.kind == "llama3"
    turns = rule.trained * real(convention.base) ** (-real(pair) / pairs) / (2 * MP.pi)
    kept = min(max((turns - real(rule.low)) / (real(rule.high) - real(rule.low)), 0), 1)
    return kept + (1 - kept) * divided


@lru_cache(maxsize=4096)
def frequency(pair: int, dim: int, convention: Convention, axis: int = 0):
    """Radians per position of a pair of the axis at this place among the columns, times the scale of positions."""
    _, span = widths(dim, convention)[axis]
    scale, first, last = real(each(convention.position_scale, axis)), real(convention.first), convention.last
    scale *= stretched(pair, widths(dim, convention)[axis][0], convention)
    if convention.spacing == "explicit":
        given = convention.frequencies
        row = given if not isinstance(given[0], tuple) else given[axis if len(given) > 1 else 0]
        return real(row[pair]) * scale
    if convention.spacing == "powers":
        return first * real(convention.base) ** -pair * scale
    along = real(Fraction(pair) / (span - Fraction(convention.endpoint_shift))) if pair else MP.mpf(0)
    if convention.spacing == "linear":
        return (first + (real(each(last, axis)) - first) * along) * scale
    base = real(convention.base) if last is None else first / real(each(last, axis))
    pairs, rule = widths(dim, convention)[axis][0], convention.stretch
    if rule and rule.kind == "ntk":
        base *= real(rule.factor) ** (real(pairs) / (pairs - 1))
    return first * base**-along * scale


def angle(place: tuple, position, dim: int, convention: Convention):
    """The angle of one column at one position, in radians."""
    axis, pair, member = place
    if axis is None:
        return MP.fsum(angle((a, pair, member), position, dim, convention) for a in range(axis_count(convention)))
    if convention.pairing == "columns":
        # The slip: columns are counted instead of pairs.
        pair = 2 * pair + (member != convention.order.partition("-")[0])
    at = real(position[entry(axis, convention)] if convention.axes else position)
    if convention.position_sign == "dropped":
        at = abs(at)
    return frequency(pair, dim, convention, axis) * (at + real(each(convention.position_offset, axis)))


def wave(place: tuple, position, dim: int, convention: Convention):
    """The sine or cosine of one column at one position."""
    turn = MP.sin if place[2] == "sine" else MP.cos
    return turn(angle(place, position, dim, convention))


@lru_cache(maxsize=8)
def moments(dim: int, convention: Convention) -> tuple:
    """Mean and deviation of the table that a convention is standardised over."""
    rows, columns = convention.standardised_rows, places(dim, convention)
    values = [wave(place, p, dim, convention) for p in range(rows) for place in columns if place is not None]
    mean = MP.fsum(values) / len(values)
    return mean, MP.sqrt(MP.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def truth(position, dim: int, convention: Convention) -> list:
    """The encoding of one position, a number, or one for each axis; a number for each column."""
    if not convention.axes and position in convention.zero_rows:
        return [MP.mpf(0)] * dim
    row, gain = [], real(1) / MP.sqrt(dim) if convention.gain == "inverse-root" else real(convention.gain)
    for place in places(dim, convention):
        if place is None:
            row.append(MP.mpf(0))
        elif place[0] == "input":
            row.append(real(position[place[1]] if convention.axes else position))
        else:
            value = wave(place, position, dim, convention)
            if convention.standardised_rows:
                mean, deviation = moments(dim, convention)
                value = (value - mean) / (10 * deviation)
            row.append(value * gain)
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
