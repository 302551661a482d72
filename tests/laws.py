"""What each law of the encoding says of one convention, width, dtype and position or two."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import torch
from tests.caches import forget
from tests.judge import FORMATS, axis_count, compare, entry, places, rounded, unit

from posenc import Convention, encode, locate, shift, shift_matrix, similarity, table, wavelengths
from posenc.frequency import TURN
from posenc.phase import add, phase_of, step_limbs

UNIT = 2.0**-53
# Law 2: float64 values, absolute.
FLOAT64_ERROR = 1e-15
# Values that are more than one sine or cosine, rounded: half a unit, what float64 loses, and half a step an axis.
NEARLY_HALF = 0.5 + 2.0**-10
STEP = 2.0**-105
# From here on float16 has no numbers.
BEYOND_HALF = 65520
# The relative error that cosine and sine of a turn may have.
ENTRY = 8 * UNIT
# c^2 + s^2: two relative errors, three roundings. M_j M_k - M_(j+k): two products of two entries, and one entry.
ORTHOGONAL = 2 * ENTRY + 3 * UNIT
COMPOSED = 5 * ENTRY + 3 * UNIT
# s^2 + c^2 and s s' + c c' of one pair, each value off by law 2 and below 1; then the entry of the other side.
NORM_PER_PAIR = 2 * math.sqrt(2) * FLOAT64_ERROR + 3 * UNIT
PRODUCT_PER_PAIR = NORM_PER_PAIR + ENTRY


def half_unit(dtype: torch.dtype) -> float:
    """What one rounding to dtype costs a value below 1."""
    return 2.0 ** -(FORMATS[dtype][0] + 1)


def gain_of(convention: Convention, dim: int) -> float:
    """What values are multiplied by."""
    return dim**-0.5 if convention.gain == "inverse-root" else convention.gain


def moved(p, k):
    """The position p + k, axis by axis."""
    return [a + b for a, b in zip(p, k, strict=True)] if isinstance(p, list) else p + k


def rows_are_equal(convention: Convention, dim: int, dtype: torch.dtype, start: int, length: int) -> None:
    """Law 1: table(n)[p] == encode(p), bit for bit, whatever the start, batch, stride, split or path."""
    forget()
    where = torch.tensor(range(start, start + length), dtype=torch.int64)
    lone = [encode(where[i], dim, convention, dtype=dtype) for i in range(0, length, 97)]
    whole = table(length, dim, convention, start=start, dtype=dtype)
    cut = length // 3
    pieces = [table(n, dim, convention, start=s, dtype=dtype) for n, s in ((cut, start), (length - cut, start + cut))]

    assert torch.equal(torch.stack(lone), whole[::97])
    assert torch.equal(torch.cat(pieces), whole)
    batches_are_equal(convention, dim, dtype, where, whole)


def batches_are_equal(convention: Convention, dim: int, dtype: torch.dtype, where, whole=None) -> None:
    """Law 1: the rows of positions (n,) or (n, axes), n even, are the same in any batch, stride and order."""
    if whole is None:
        forget()
        whole = torch.stack([encode(where[i], dim, convention, dtype=dtype) for i in range(len(where))])
    mixed = torch.randperm(len(where))
    pairs = where.unflatten(0, (-1, 2)).transpose(0, 1)

    assert torch.equal(encode(where, dim, convention, dtype=dtype), whole)
    assert torch.equal(encode(pairs, dim, convention, dtype=dtype), whole.view(-1, 2, dim).transpose(0, 1))
    assert torch.equal(encode(where[mixed], dim, convention, dtype=dtype), whole[mixed])
    assert torch.equal(encode(where[::3], dim, convention, dtype=dtype), whole[::3])


def values_are_right(convention: Convention, dim: int, dtype: torch.dtype, where: list) -> None:
    """Law 2: float32, bfloat16 and float16 are correctly rounded, float64 is within 1e-15.

    Where a table was standardised, 16 and 32 bits are within half a unit and 2^-10 of one.
    """
    rows = encode(where, dim, convention, dtype=dtype)
    wide = FLOAT64_ERROR * max(1, abs(gain_of(convention, dim)))
    held, once = places(dim, convention), not convention.standardised_rows
    for position, column, got, true in compare(rows, where, convention):
        if held[column] and held[column][0] == "input":
            right = got == (rounded(true, dtype) if dtype != torch.float16 or abs(true) < BEYOND_HALF else got)
        elif dtype == torch.float64:
            right = abs(got - true) <= wide
        elif once:
            right = got == rounded(true, dtype)
        else:
            right = abs(got - true) <= unit(true, dtype) * NEARLY_HALF + STEP
        assert right, (position, column, got, float(true))


def phases_add(convention: Convention, dim: int, p: int, k: int) -> None:
    """Law 3: phase(p + k) == phase(p) + phase(k), exactly."""
    steps = step_limbs(convention.ladder(dim)).clone()
    steps[8] = 0
    at = [phase_of(torch.tensor([place]), steps) for place in (p, k, p + k)]

    assert all(torch.equal(a, b) for a, b in zip(add(at[0], at[1]), at[2], strict=True))


def shift_is_a_rotation(convention: Convention, dim: int, dtype: torch.dtype, p, k) -> None:
    """Law 4: shift(encode(p), k) == encode(p + k); M_k does the same, is orthogonal, and M_j M_k == M_(j+k)."""
    row, there = encode([p, moved(p, k)], dim, convention, dtype=dtype)
    gain = abs(gain_of(convention, dim))
    # The row's two values were rounded, the result and the other side are; each has the size of the gain.
    size = 2.0 ** math.ceil(math.log2(gain))
    allowed = (math.sqrt(2) + 2) * half_unit(dtype) * size + 2 * math.sqrt(2) * FLOAT64_ERROR * max(1, gain)
    assert (shift(row, k, convention).double() - there.double()).abs().max() <= allowed

    matrix, one = shift_matrix(k, dim, convention), torch.eye(dim, dtype=torch.float64)
    assert (matrix @ row.double() - there.double()).abs().max() <= allowed
    assert (matrix @ matrix.T - one).abs().max() <= ORTHOGONAL
    assert abs(torch.linalg.det(matrix).item() - 1) <= dim * ORTHOGONAL + dim**2 * UNIT
    j = [-each // 3 for each in k] if isinstance(k, list) else -k // 3
    composed = shift_matrix(j, dim, convention) @ matrix
    assert (composed - shift_matrix(moved(j, k), dim, convention)).abs().max() <= COMPOSED


def distance_alone_decides(convention: Convention, dim: int, p, k) -> None:
    """Law 5: |PE|^2 == dim / 2, and PE(p) . PE(p + k) is the sum of cosines, whatever p; times a gain squared."""
    row, there = encode([p, moved(p, k)], dim, convention, dtype=torch.float64) / gain_of(convention, dim)
    alike = similarity(k, dim, convention).item() / gain_of(convention, dim) ** 2
    back = similarity([-each for each in k] if isinstance(k, list) else -k, dim, convention)
    pairs = dim // 2

    assert abs((row @ row).item() - pairs) <= pairs * NORM_PER_PAIR + pairs**2 * UNIT
    assert abs((row @ there).item() - alike) <= pairs * PRODUCT_PER_PAIR + pairs**2 * UNIT
    assert torch.equal(similarity(k, dim, convention), back)
    steps = [k] if not isinstance(k, list) else [k[entry(a, convention)] for a in range(axis_count(convention))]
    if max(map(abs, steps)) < 2**20 and convention.axis_layout != "sum" and not convention.axis_shares:
        # The plain formula: its phases are off by a few units of themselves.
        waves = wavelengths(dim, convention).view(len(steps), -1)
        turns = 2 * math.pi * torch.tensor(steps, dtype=torch.float64).unsqueeze(-1) / waves
        drift = 4 * UNIT * turns.abs().sum().item() + pairs * (ENTRY + 4 * UNIT)
        assert abs(turns.cos().sum().item() - alike) <= drift


def positions_are_read_back(convention: Convention, dim: int, dtype: torch.dtype, where: list[int]) -> None:
    """Law 6: locate(encode(p)) == p up to the slowest wavelength, of every axis."""
    steps = [block.ladder.steps for block in convention.plan(dim).blocks]
    limits = [max(1, math.floor(min(max(TURN / abs(step) for step in each), 2.0**62))) for each in steps]
    each = [[place % limit for place in (0, limit - 1, *where)] for limit in limits]
    if not convention.axes:
        assert locate(encode(each[0], dim, convention, dtype=dtype), convention).tolist() == each[0]
        return
    order = [entry(axis, convention) for axis in range(len(each))]
    cells = [list(cell) for cell in zip(*(each[order.index(held)] for held in range(len(each))), strict=True)]
    assert locate(encode(cells, dim, convention, dtype=dtype), convention).tolist() == cells


def held_values(convention: Convention, dim: int, p) -> dict:
    """(Entry of the position, pair, member) -> value of one row."""
    row = encode(p, dim, convention).tolist()
    found = {}
    for place, value in zip(places(dim, convention), row, strict=True):
        if place is not None:
            found[(entry(place[0] or 0, convention), *place[1:])] = value
    return found


def layouts_are_permutations(convention: Convention, dim: int, p) -> None:
    """Law 7: another layout, order or order of axes holds the same values in other columns."""
    mine = held_values(convention, dim, p)
    kept = [{}]
    if convention.axes:
        arrangements = itertools.product(("outer", "middle", "inner"), (convention.axes, convention.axes[::-1]))
        kept = [{"axis_layout": nested, "axes": axes} for nested, axes in arrangements]
    for layout, order, more in itertools.product(("interleaved", "halves"), ("sine-first", "cosine-first"), kept):
        other = held_values(replace(convention, layout=layout, order=order, **more), dim, p)
        # A width that does not divide cuts the last members, which another order may keep.
        both = other.keys() & mine.keys()
        assert {place: other[place] for place in both} == {place: mine[place] for place in both}
        assert len(both) >= dim - (1 if not convention.axes else Fraction(dim) % (2 * axis_count(convention)))
