"""Prepared rows of exp(i phase), one for each value of each base-256 digit of a position.

A position is 256 * block + fine. A row of the encoding is the row of `fine` times one row for each non-zero digit of
the block: no trigonometry at run time, any int64 position, and a million positions need no table.
Rows come in groups of pairs, so that the rows of four digits and a tile of the result stay in cache at every width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from ..cache import Cache
from ..frequency import TURN, Ladder
from ..phase import limbs, phase_of, step_limbs
from .quarter import cos_sin

RADIX_BITS = 8
RADIX = 1 << RADIX_BITS
GROUP = 64
# With what phases, `certify`, the layers and rotary turns keep, 64 MB in all.
CACHE_BYTES = 39 << 20

# Error of a product of n rows, as a vector of length one, derived in docs/bounds.md: with u = 2^-53 every row is off
# by 4.62 u, every complex product adds sqrt(5) u (Brent, Percival and Zimmermann, 2007), and the ends of the interval
# 2 u, where the steps themselves add next to nothing. 6.86 n u < 7 n u.
ERROR_PER_ROW = 7 * 2.0**-53

ROWS = Cache(CACHE_BYTES)


def groups(ladder: Ladder, size: int = GROUP) -> list[slice]:
    """The pairs of a ladder in groups of at most `size`."""
    return [slice(a, min(a + size, ladder.pairs)) for a in range(0, ladder.pairs, size)]


def _make(ladder: Ladder, group: slice, place: int) -> Tensor:
    # Never hand out inference tensors, nor ones that a user's default device or dtype has shaped.
    with torch.inference_mode(False), torch.no_grad():
        digit = torch.arange(RADIX, dtype=torch.int64, device="cpu").unsqueeze(-1)
        if place == 0:
            cosine, sine = cos_sin(phase_of(digit, step_limbs(ladder)[:, :, group]))
            return torch.complex(sine, cosine)
        steps = torch.zeros(9, 3, group.stop - group.start, dtype=torch.int64, device="cpu")
        bits = RADIX_BITS * abs(place)
        # Below the point what is cut off, 2^-128 of a turn, is far below the error of a row.
        steps[:1] = limbs([step << bits if place > 0 else step >> bits for step in ladder.steps[group]])
        cosine, sine = cos_sin(phase_of(digit, steps))
        return torch.complex(cosine, -sine)


def rows(ladder: Ladder, group: slice, place: int) -> Tensor:
    """The 256 rows of one digit place and one group of pairs, complex128 (256, pairs of the group).

    Place 0 holds sine + i cosine and the offset of the convention, every other place cosine - i sine, so that
    their product is again sine + i cosine: the order in which the paper stores a pair. Place -1 is the first one
    below the point.
    """
    key = (ladder, group.start, group.stop, place)
    return ROWS.get(key, lambda: _make(ladder, group, place), lambda value: value.numel() * 16)


def is_slow(ladder: Ladder, group: slice, largest: float) -> bool:
    """Whether some pair of a group stays below 2^-10 radians up to a position of this size.

    A product of rows has an absolute error, and such small values would nearly all be in doubt; phase by phase the
    error is relative.
    """
    # A law makes ladders rise or fall; given ones come in any order.
    steps = ladder.steps[group] if ladder.given else (ladder.steps[group.start], ladder.steps[group.stop - 1])
    slowest: int = min(map(abs, steps))
    return slowest * (largest + abs(int(ladder.offset))) < TURN >> 13


def missing(ladder: Ladder, group: slice, places: Iterable[int]) -> int:
    """Of how many of these places the rows are not there yet."""
    return sum((ladder, group.start, group.stop, place) not in ROWS for place in places)


def asked(ladder: Ladder, group: slice, count: int) -> int:
    """How many positions were asked for phase by phase since rows were wanted, with these `count`."""

    def make() -> Tensor:
        with torch.inference_mode(False):
            return torch.zeros(1, dtype=torch.int64, device="cpu")

    total = ROWS.get((ladder, group.start, group.stop, "asked"), make, lambda value: value.nbytes)
    return int(total.add_(count))


def places_of(blocks: Tensor) -> int:
    """How many digits the largest of these blocks has."""
    if not blocks.numel():
        return 0
    low, high = torch.aminmax(blocks)
    return (max(abs(int(low)), abs(int(high))).bit_length() + RADIX_BITS - 1) // RADIX_BITS


def digits_of(blocks: Tensor, places: int) -> list[Tensor]:
    """The base-256 digits of |blocks|, lowest first."""
    sizes = blocks.abs()
    return [sizes >> (RADIX_BITS * j) & (RADIX - 1) for j in range(places)]


def coarse(digits: Sequence[Tensor], negative: Tensor | None, ladder: Ladder, group: slice, step: int = 1) -> Tensor:
    """Digits (n,) of blocks, lowest first -> exp(-i phase(256 * block)) (n, pairs of the group), complex128.

    `negative` is +1 or -1 for each block, float64, or None where no block is negative. With a step of -1 they are
    the digits of fractions, highest first.
    """
    product = rows(ladder, group, step).index_select(0, digits[0])
    for number, digit in enumerate(digits[1:], 2):
        product.mul_(rows(ladder, group, step * number).index_select(0, digit))
    if negative is not None:
        torch.view_as_real(product)[..., 1].mul_(negative.unsqueeze(-1))
    return product


def signs_of(blocks: Tensor) -> Tensor | None:
    """+1 or -1 for each block, float64, or None where none is negative."""
    below = blocks < 0
    return torch.where(below, -1.0, 1.0).double() if bool(below.any()) else None
