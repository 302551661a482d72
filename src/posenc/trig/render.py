"""Encodings of any positions, correctly rounded, written into memory that is there.

Float64 values are computed with a proven error bound, rounded once, and where the bound straddles a rounding boundary
(a handful of values in 33 million) decided in integers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..frequency import Ladder
from ..layout import Columns
from ..phase import phase_of, step_limbs
from .exact import nearest
from .quarter import ABSOLUTE_ERROR, RELATIVE_ERROR, cos_sin
from .rounding import FORMATS, doubtful, round_into, round_once
from .rows import (
    ERROR_PER_ROW,
    RADIX,
    RADIX_BITS,
    are_ready,
    coarse,
    digits_of,
    groups,
    places_of,
    rows,
    signs_of,
)

TILE = 2048
DIRECT_TILE = 512
# Below this many positions, evaluating phases costs less than preparing rows that are not there yet.
FEW = 128


class Candidates(NamedTuple):
    """Values that float64 may not have decided: rows (n,), pairs (n,), members (n,), 0 sine and 1 cosine."""

    rows: Tensor
    pairs: Tensor
    members: Tensor

    @classmethod
    def of(cls, mask: Tensor) -> Candidates:
        """Where mask (rows, pairs, 2) is not zero."""
        return cls(*mask.nonzero(as_tuple=True))

    def moved(self, rows: int, pairs: int) -> Candidates:
        """The same, counted from a first row and a first pair."""
        return Candidates(self.rows + rows, self.pairs + pairs, self.members)

    def chosen(self, which: Tensor) -> Candidates:
        """Those that `which` (n,) selects."""
        return Candidates(*(part[which] for part in self))


def direct(positions: Tensor, steps: Tensor) -> Tensor:
    """Positions (n,) int64 or float64 -> sine, cosine (n, pairs, 2), float64, one phase at a time."""
    cosine, sine = cos_sin(phase_of(positions.unsqueeze(-1), steps))
    return torch.stack((sine, cosine), -1)


def _direct_bound(values: Tensor, positions: Tensor) -> Tensor:
    """Error of `direct`: the sine's own, and half a unit of 2^-128 turn for every position."""
    drift = (positions.double().abs() + 1) * 2.0**-124 + ABSOLUTE_ERROR
    return values.abs() * RELATIVE_ERROR + drift.view(-1, *([1] * (values.ndim - 1)))


def settle(where: Candidates, positions: Tensor, ladder: Ladder, dtype: torch.dtype) -> Tensor:
    """Decide candidates among the rows of positions (n,): by a sharper bound, then in integers.

    Returns their values, float64, as dtype holds them.
    """
    places = positions[where.rows]
    cosine, sine = cos_sin(phase_of(places, step_limbs(ladder)[:, :, where.pairs]))
    values = torch.where(where.members == 0, sine, cosine)
    # Position zero has phase zero exactly: sine 0 and cosine 1 are no approximation.
    undecided = doubtful(values, _direct_bound(values, places), dtype) & (places != float(-ladder.offset))
    values = round_once(values, dtype).double()
    known: dict[tuple[int | float, int, int], float] = {}
    for i in undecided.nonzero().flatten().tolist():
        key = (places[i].item(), int(where.pairs[i]), int(where.members[i]))
        if key not in known:
            known[key] = nearest(Fraction(key[0]), ladder, key[1], ("sine", "cosine")[key[2]], *FORMATS[dtype])
        values[i] = known[key]
    return values


def parts_of(out: Tensor, columns: Columns, group: slice) -> list[tuple[Tensor, tuple[Any, ...]]]:
    """Views of out (..., dim) that together hold a group, each with the index of the same values (..., pairs, 2)."""
    if columns.is_pairwise:
        return [(out.unflatten(-1, (-1, 2))[..., group, :], (...,))]
    views: list[tuple[Tensor, tuple[Any, ...]]] = []
    for member, where in enumerate((columns.sines, columns.cosines)):
        into = out[..., where][..., group]
        views.append((into, (..., slice(into.shape[-1]), member)))
    return views


def write(out: Tensor, values: Tensor, columns: Columns, group: slice) -> None:
    """Round values (..., pairs of the group, 2) once, into their columns of out (..., dim)."""
    for into, index in parts_of(out, columns, group):
        round_into(into, values[index])


def put(out: Tensor, where: Candidates, values: Tensor, columns: Columns) -> None:
    """Write decided values into out (n, dim)."""
    for member, span in enumerate((columns.sines, columns.cosines)):
        into = out[:, span]
        # An odd width has no column for the last cosine.
        chosen = (where.members == member) & (where.pairs < into.shape[1])
        into[where.rows[chosen], where.pairs[chosen]] = values[chosen].to(out.dtype)


class _Digits(NamedTuple):
    """Positions taken apart once for all groups of pairs."""

    fine: Tensor
    blocks: list[Tensor]
    signs: Tensor | None

    @classmethod
    def of(cls, positions: Tensor) -> _Digits:
        blocks = positions >> RADIX_BITS
        return cls(positions & (RADIX - 1), digits_of(blocks, places_of(blocks)), signs_of(blocks))

    def part(self, tile: slice) -> _Digits:
        signs = None if self.signs is None else self.signs[tile]
        return _Digits(self.fine[tile], [digit[tile] for digit in self.blocks], signs)

    def product(self, ladder: Ladder, group: slice, scratch: _Scratch) -> tuple[Tensor, float]:
        """Values (n, pairs of the group, 2) as a product of rows, less their error bound, and the bound."""
        product, factor = scratch.product[: len(self.fine)], scratch.factor[: len(self.fine)]
        bound = (1 + len(self.blocks)) * ERROR_PER_ROW
        torch.index_select(rows(ladder, group, 0), 0, self.fine, out=product)
        if not self.blocks:
            return torch.view_as_real(product).sub_(bound), bound
        if self.signs is not None:
            factor = coarse(self.blocks, self.signs, ladder, group)
        else:
            for place, digit in enumerate(self.blocks[:-1], 1):
                product.mul_(torch.index_select(rows(ladder, group, place), 0, digit, out=factor))
            torch.index_select(rows(ladder, group, len(self.blocks)), 0, self.blocks[-1], out=factor)
        # The last product takes the bound off on the way.
        less = torch.tensor(complex(-bound, -bound), dtype=torch.complex128, device="cpu")
        torch.addcmul(less, product, factor, out=product)
        return torch.view_as_real(product), bound


class _Scratch:
    """Buffers of one call, used again for every tile: fresh memory costs more than the arithmetic."""

    def __init__(self, rows_: int, pairs: int, dtype: torch.dtype) -> None:
        self.product = torch.empty(rows_, pairs, dtype=torch.complex128, device="cpu")
        self.factor = torch.empty_like(self.product)
        self.upper = torch.empty(rows_, pairs, 2, dtype=dtype, device="cpu")


def render(out: Tensor, positions: Tensor, ladder: Ladder, columns: Columns) -> None:
    """Fill out (n, dim), on the CPU, with the encoding of positions (n,), int64 or finite float64.

    Law: every value depends on its own position alone: float32, bfloat16 and float16 are correctly rounded, and
    float64 is made by the same IEEE operations for every batch and stride.
    """
    out[:, columns.spare] = 0
    digits = None
    if positions.dtype == torch.int64 and out.dtype != torch.float64:
        digits = _Digits.of(positions)
    steps = step_limbs(ladder)
    found = []
    for group in groups(ladder):
        by_rows = digits is not None
        if digits is not None and len(positions) < FEW:
            by_rows = are_ready(ladder, group, 1 + len(digits.blocks))
        size = TILE if by_rows else DIRECT_TILE
        scratch = _Scratch(min(size, len(positions)), group.stop - group.start, out.dtype)
        for start in range(0, len(positions), size):
            tile = slice(start, start + size)
            bound: Tensor | float
            if digits is not None and by_rows:
                values, bound = digits.part(tile).product(ladder, group, scratch)
            else:
                values = direct(positions[tile], steps[:, :, group])
                if out.dtype == torch.float64:
                    write(out[tile], values, columns, group)
                    continue
                bound = _direct_bound(values, positions[tile])
                values.sub_(bound)
            write(out[tile], values, columns, group)
            doubt = _difference(out[tile], values.add_(2 * bound), scratch.upper, columns, group)
            if doubt is not None:
                found.append(doubt.moved(start, group.start))
    if found:
        where = Candidates(*(torch.cat(parts) for parts in zip(*found, strict=True)))
        put(out, where, settle(where, positions, ladder, out.dtype), columns)


def _difference(lower: Tensor, values: Tensor, scratch: Tensor, columns: Columns, group: slice) -> Candidates | None:
    """Where what was written for the lower end of the error bound is not the upper end, values (n, pairs, 2).

    Where both round alike, that is the rounded value, and None says that all do. The difference of two numbers of
    one float format is zero only where they are equal.
    """
    upper = scratch[: len(lower)]
    round_into(upper, values)
    for there, index in parts_of(lower, columns, group):
        upper[index].sub_(there)
    if columns.dim < 2 * columns.pairs and group.stop == columns.pairs:
        # An odd width has no column for the last member.
        upper[:, -1, int(columns.order == "sine-first")] = 0
    apart = upper.flatten(1).amax(1).nonzero().flatten()
    if not len(apart):
        return None
    found = Candidates.of(upper[apart])
    return found._replace(rows=apart[found.rows])
