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
from .digits import Digits
from .exact import Term, nearest
from .quarter import RELATIVE_ERROR, cos_sin
from .rounding import ENDS, FORMATS, doubtful, round_into, round_once
from .rows import CACHE_BYTES, GROUP, asked, groups, is_slow, missing

TILE = 2048
DIRECT_TILE = 512
# Below this many positions, evaluating phases costs less than preparing rows that are not there yet.
FEW = 128
# Up to so many, operations cost their calls more than their numbers: groups are as wide as those of whole tables, and
# a tile has no more values than one thread takes.
FEW_ROWS, WIDE, WIDE_VALUES = 512, 256, 1 << 15
# Rows times pairs that a call with fractions may ask to be kept: half of the room, at 4096 bytes each.
MOST_ROWS = CACHE_BYTES >> 13
# Candidates decided at once: each takes some 400 bytes meanwhile.
SETTLE_BATCH = 1 << 16
# So few are decided in integers at once: the sharper bound takes more operations than they do.
FEW_DECIDED = 4


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
    # There the phase is zero exactly: sine 0 and cosine 1 are no approximation.
    origin = are(places, -ladder.offset)
    values = where.members.double()
    which = (~origin).nonzero().flatten()
    if len(which) > FEW_DECIDED:
        some, there = where.chosen(which), places[which]
        cosine, sine = cos_sin(phase_of(there, step_limbs(ladder)[:, :, some.pairs]))
        sharper = torch.where(some.members == 0, sine, cosine)
        values[which] = round_once(sharper, dtype).double()
        which = which[doubtful(sharper, _direct_bound(sharper, there, ladder), dtype)]
    if len(which):
        values[which] = values.new_tensor(_decided(where.chosen(which), places[which], ladder, dtype))
    return values


def _decided(where: Candidates, places: Tensor, ladder: Ladder, dtype: torch.dtype) -> list[float]:
    """The values of candidates at places (n,), in integers, each but once."""
    known: dict[tuple[int | float, int, int], float] = {}
    keys = list(zip(places.tolist(), where.pairs.tolist(), where.members.tolist(), strict=True))
    for place, pair, member in set(keys):
        term = Term(Fraction(place), ladder, pair)
        known[place, pair, member] = nearest([term], ("sine", "cosine")[member], *FORMATS[dtype])
    return [known[key] for key in keys]


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


class _Scratch(NamedTuple):
    """Buffers of one call, used again for every tile: fresh memory costs more than the arithmetic."""

    product: Tensor
    factor: Tensor
    upper: Tensor
    lower: Tensor | None

    @classmethod
    def of(cls, rows_: int, pairs: int, dtype: torch.dtype, columns: Columns) -> _Scratch:
        product = torch.empty(rows_, pairs, dtype=torch.complex128, device="cpu")
        upper = torch.empty(rows_, pairs, 2, dtype=dtype, device="cpu")
        return cls(product, torch.empty_like(product), upper, None if columns.is_pairwise else torch.empty_like(upper))

    def tile(self, count: int) -> _Scratch:
        """The same for a tile of `count` rows."""
        if count == len(self.product):
            return self
        lower = None if self.lower is None else self.lower[:count]
        return _Scratch(self.product[:count], self.factor[:count], self.upper[:count], lower)


def render(out: Tensor, positions: Tensor, ladder: Ladder, columns: Columns) -> None:
    """Fill out (n, dim), on the CPU, with the encoding of positions (n,), int64 or finite float64.

    Law: every value depends on its own position alone: float32, bfloat16 and float16 are correctly rounded, and
    float64 is made by the same IEEE operations for every batch and stride.
    """
    if columns.spare.start < columns.dim:
        out[:, columns.spare] = 0
    digits = Digits.of(positions) if len(positions) and out.dtype != torch.float64 else None
    # Few positions in wide groups: each operation costs its call.
    size = WIDE if len(positions) <= FEW_ROWS else GROUP
    if digits is not None and not _is_worth(digits, ladder, size):
        digits = None
    if digits is None and len(positions) < FEW:
        size = TILE * GROUP // FEW
    found: list[Candidates] = []
    for group in groups(ladder, size):
        if digits is None or is_slow(ladder, group, digits.largest):
            found += render_directly(out, positions, ladder, columns, group)
        else:
            found += _render_by_rows(out, digits, ladder, columns, group)
    put_decided(out, found, positions, ladder, columns)


def _is_worth(digits: Digits, ladder: Ladder, size: int) -> bool:
    """Whether rows that are not there yet cost no more than what was asked for without them."""
    places, count = digits.places, len(digits.fine)
    if digits.fractions and len(places) * ladder.pairs > MOST_ROWS:
        return False
    new = max(missing(ladder, group, places) for group in groups(ladder, size))
    # Rows of one place take as long as 256 positions, phase by phase.
    wanted = FEW * max(1, new // 2)
    return not new or count >= wanted or asked(ladder, slice(0, ladder.pairs), count) >= wanted


def put_decided(out: Tensor, found: list[Candidates], positions: Tensor, ladder: Ladder, columns: Columns) -> None:
    """Decide what was found to be in doubt, and write it."""
    if found:
        where = Candidates(*(torch.cat(parts) for parts in zip(*found, strict=True)))
        put(out, where, settle(where, positions, ladder, out.dtype), columns)


def render_directly(out: Tensor, positions: Tensor, ladder: Ladder, columns: Columns, group: slice) -> list[Candidates]:
    """One group of pairs, phase by phase; what is in doubt still holds the lower end of the error bound."""
    steps = step_limbs(ladder)[:, :, group]
    found = []
    for start in range(0, len(positions), DIRECT_TILE):
        part, into = positions[start : start + DIRECT_TILE], out[start : start + DIRECT_TILE]
        values = direct(part, steps)
        if out.dtype == torch.float64:
            write(into, values, columns, group)
            continue
        ends = torch.empty_like(values, dtype=out.dtype), torch.empty_like(values, dtype=out.dtype)
        doubt = _written(into, values, _direct_bound(values, part, ladder), *ends, columns, group)
        if doubt is not None:
            found.append(doubt.moved(start, group.start))
    return found


def _render_by_rows(out: Tensor, digits: Digits, ladder: Ladder, columns: Columns, group: slice) -> list[Candidates]:
    """One group of pairs, as products of rows; what is in doubt still holds the lower end of the error bound."""
    pairs = group.stop - group.start
    tile = min(TILE if len(out) > FEW_ROWS else max(1, WIDE_VALUES // pairs), len(out))
    whole = _Scratch.of(tile, pairs, out.dtype, columns)
    found = []
    for start in range(0, len(out), tile):
        into = out[start : start + tile]
        scratch = whole.tile(len(into))
        part = digits if tile == len(out) else digits.part(slice(start, start + tile))
        values, bound = part.product(ladder, group, scratch.product, scratch.factor)
        doubt = _written(into, values, bound, scratch.upper, scratch.lower, columns, group)
        if doubt is not None:
            found.append(doubt.moved(start, group.start))
    return found


def _written(
    out: Tensor,
    values: Tensor,
    bound: Tensor | float,
    upper: Tensor,
    lower: Tensor | None,
    columns: Columns,
    group: slice,
) -> Candidates | None:
    """Write values (n, pairs, 2), less their error bound, into out (n, dim); where the other end rounds otherwise.

    Where both ends round alike, that is the rounded value, and None says that all do. Values and both buffers (n,
    pairs, 2) are written over; `lower` is not needed where columns are pairwise.
    """
    views = parts_of(out, columns, group)
    if columns.is_pairwise or lower is None:
        lower = views.pop()[0]
    round_into(lower, values.sub_(bound))
    for there, index in views:
        # Rounded before it is taken apart: a conversion with strides is slow.
        there.copy_(lower[index])
    round_into(upper, values.add_(2 * bound))
    # The difference of two numbers of one float format is zero only where they are equal.
    if not upper.numel() or not bool(upper.sub_(lower).max()):
        return None
    if columns.dim < 2 * columns.pairs and group.stop == columns.pairs:
        # An odd width has no column for the last member.
        upper[:, -1, int(columns.order == "sine-first")] = 0
    apart = upper.flatten(1).amax(1).nonzero().flatten()
    found = Candidates.of(upper[apart])
    return found._replace(rows=apart[found.rows]) if len(apart) else None
