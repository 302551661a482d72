"""Encodings of any positions, correctly rounded, written into memory that is there.

Float64 values are computed with a proven error bound, rounded once, and where the bound straddles a rounding boundary
(a handful of values in 33 million) decided in integers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ..frequency import TURN, Ladder
from ..layout import Columns
from ..phase import phase_of, step_limbs
from .exact import Term, nearest
from .quarter import RELATIVE_ERROR, cos_sin
from .rounding import ENDS, FORMATS, doubtful, round_into, round_once
from .rows import (
    ERROR_PER_ROW,
    GROUP,
    RADIX,
    RADIX_BITS,
    are_ready,
    coarse,
    digits_of,
    groups,
    is_slow,
    places_of,
    rows,
    signs_of,
)

TILE = 2048
DIRECT_TILE = 512
# Below this many positions, evaluating phases costs less than preparing rows that are not there yet.
FEW = 128
# Candidates decided at once: each takes some 400 bytes meanwhile.
SETTLE_BATCH = 1 << 16


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


def _direct_bound(values: Tensor, positions: Tensor, ladder: Ladder) -> Tensor:
    """Error of `direct`, for values (n, ...) of positions (n,): the sine's own, that of the phase, and the ends'."""
    drift = drift_of(positions, ladder)
    return values.abs() * (RELATIVE_ERROR + ENDS) + drift.view(-1, *([1] * (values.ndim - 1)))


def drift_of(positions: Tensor, ladder: Ladder) -> Tensor:
    """Error of the phases of positions (n,), in radians (n,).

    Half a unit of 2^-128 turn for every position, one for the start, and for floats 2^-64 of a position and a unit for
    each of four digits behind the point (docs/bounds.md).
    """
    drift = (positions.double().abs() + (2 + float(abs(ladder.offset)))) * 2.0**-126
    if positions.is_floating_point():
        drift = drift + (max(map(abs, ladder.steps)) / TURN * 2.0**-61 + 2.0**-107)
    return drift


def are(positions: Tensor, place: Fraction) -> Tensor:
    """Which positions are this one, compared exactly: no dtype comes between that would round either."""
    whole = not positions.is_floating_point()
    held = place.denominator == 1 and -(1 << 63) <= place < 1 << 63 if whole else Fraction(float(place)) == place
    if not held:
        return torch.zeros_like(positions, dtype=torch.bool)
    return positions == (int(place) if whole else float(place))


def settle(where: Candidates, positions: Tensor, ladder: Ladder, dtype: torch.dtype) -> Tensor:
    """Decide candidates among the rows of positions (n,): by a sharper bound, then in integers.

    Returns their values, float64, as dtype holds them.
    """
    batches = zip(*(part.split(SETTLE_BATCH) for part in where), strict=True)
    return torch.cat([_settle(Candidates(*batch), positions, ladder, dtype) for batch in batches])


def _settle(where: Candidates, positions: Tensor, ladder: Ladder, dtype: torch.dtype) -> Tensor:
    places = positions[where.rows]
    cosine, sine = cos_sin(phase_of(places, step_limbs(ladder)[:, :, where.pairs]))
    values = torch.where(where.members == 0, sine, cosine)
    # There the phase is zero exactly: sine 0 and cosine 1 are no approximation.
    origin = are(places, -ladder.offset)
    undecided = doubtful(values, _direct_bound(values, places, ladder), dtype) & ~origin
    values = torch.where(origin, where.members.double(), round_once(values, dtype).double())
    known: dict[tuple[int | float, int, int], float] = {}
    for i in undecided.nonzero().flatten().tolist():
        key = (places[i].item(), int(where.pairs[i]), int(where.members[i]))
        if key not in known:
            term = Term(Fraction(key[0]), ladder, key[1])
            known[key] = nearest([term], ("sine", "cosine")[key[2]], *FORMATS[dtype])
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
    digits, largest = None, 0
    if len(positions) and positions.dtype == torch.int64 and out.dtype != torch.float64:
        digits = _Digits.of(positions)
        largest = max(abs(int(end)) for end in torch.aminmax(positions))
    found: list[Candidates] = []
    few = len(positions) < FEW
    if few and digits is not None:
        places = 1 + len(digits.blocks)
        if not all(are_ready(ladder, group, places) for group in groups(ladder)):
            digits = None
    # Few rows phase by phase: one group of all pairs that a tile holds, since each operation costs its call.
    for group in groups(ladder, TILE * GROUP // FEW if digits is None and few else GROUP):
        if digits is None or is_slow(ladder, group, largest):
            found += render_directly(out, positions, ladder, columns, group)
        else:
            found += _render_by_rows(out, digits, ladder, columns, group)
    put_decided(out, found, positions, ladder, columns)


def put_decided(out: Tensor, found: list[Candidates], positions: Tensor, ladder: Ladder, columns: Columns) -> None:
    """Decide what was found to be in doubt, and write it."""
    if found:
        where = Candidates(*(torch.cat(parts) for parts in zip(*found, strict=True)))
        put(out, where, settle(where, positions, ladder, out.dtype), columns)


def render_directly(out: Tensor, positions: Tensor, ladder: Ladder, columns: Columns, group: slice) -> list[Candidates]:
    """One group of pairs, phase by phase; what is in doubt still holds the lower end of the error bound."""
    steps = step_limbs(ladder)[:, :, group]
    upper = torch.empty(min(DIRECT_TILE, len(positions)), group.stop - group.start, 2, dtype=out.dtype, device="cpu")
    found = []
    for start in range(0, len(positions), DIRECT_TILE):
        part, into = positions[start : start + DIRECT_TILE], out[start : start + DIRECT_TILE]
        values = direct(part, steps)
        if out.dtype == torch.float64:
            write(into, values, columns, group)
            continue
        bound = _direct_bound(values, part, ladder)
        write(into, values.sub_(bound), columns, group)
        doubt = _difference(into, values.add_(2 * bound), upper, columns, group)
        if doubt is not None:
            found.append(doubt.moved(start, group.start))
    return found


def _render_by_rows(out: Tensor, digits: _Digits, ladder: Ladder, columns: Columns, group: slice) -> list[Candidates]:
    """One group of pairs, as products of rows; what is in doubt still holds the lower end of the error bound."""
    scratch = _Scratch(min(TILE, len(out)), group.stop - group.start, out.dtype)
    found = []
    for start in range(0, len(out), TILE):
        tile = slice(start, start + TILE)
        values, bound = digits.part(tile).product(ladder, group, scratch)
        write(out[tile], values, columns, group)
        doubt = _difference(out[tile], values.add_(2 * bound), scratch.upper, columns, group)
        if doubt is not None:
            found.append(doubt.moved(start, group.start))
    return found


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
