"""Tables of named conventions: found from any of their rows, verified on all that were taken."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import torch
from torch import Tensor

from ..convention import Convention, conventions
from ..encoding.values import rows_of
from .candidates import Candidate, candidates
from .match import Match, moved
from .place import REACH, has_amplitude, placed, ratio_at
from .sampled import Sample
from .tolerance import NARROW, Distance, allowed, distance

# Bits that a match must have beyond what a search over all positions and names finds by chance.
ENOUGH_BITS = 32
_BIT_ROWS = 128
# A search tries some four places for every position in reach.
_SEARCH = math.log2(4 * REACH)
_STARTS = 3
SHOWN_POSITIONS = 6


@dataclass(frozen=True)
class Found:
    """A candidate that the rows of a sample are, at positions (n,) in its numbering.

    step: what positions advance by from one row to the next; None where they follow no such rule.
    """

    candidate: Candidate
    positions: Tensor
    step: int | None
    distance: Distance


def named(sample: Sample) -> list[Match]:
    """Every name that explains all rows of a sample, those that give the same bits first; [] where none does."""
    found: list[Found] = []
    # Those whose rows do not show their phases have to be tried out at every position, so they come last.
    for paired in (True, False):
        for candidate in candidates(sample.dim) if not found else ():
            if candidate.is_paired == paired:
                place = _found(sample, candidate, followed=any(other.step for other in found))
                found += [place] if place else []
    found.sort(key=lambda place: (place.step != 1, place.step is None, round(place.distance.relative, 9)))
    return [match for place in found for match in _matches(sample, place)]


def _found(sample: Sample, candidate: Candidate, *, followed: bool) -> Found | None:
    """Where the rows are in a candidate; only whether they follow each other where another has said that they do."""
    rows, index = sample.few()
    if not has_amplitude(rows, candidate, sample.unit):
        return None
    # Four rows tell most strangers.
    for some in (rows[:4], rows) if len(rows) > 4 else (rows,):
        positions, ratio = placed(some, candidate, sample.unit)
        if bool((ratio > 1).any()):
            return None
    for step in (1, -1):
        # The beginning that most rows agree on: coarse rows may be placed one aside.
        for start, _ in Counter((positions - step * index).tolist()).most_common(_STARTS):
            at = (start + step * index).unsqueeze(-1)
            if bool((ratio_at(rows, candidate, at, sample.unit) > 1).any()):
                continue
            places = start + step * sample.index
            near = distance(sample.rows, candidate.plan, places, sample.unit, stop=1)
            if near.ratio <= 1:
                return _sure(sample, Found(candidate, places, step, near), searches=1)
    if followed:
        return None
    if len(rows) < len(sample.rows):
        if _rate(sample, candidate, positions) <= 0:
            return None
        positions, ratio = placed(sample.rows, candidate, sample.unit)
    if bool((ratio > 1).any()) or _is_rounded(positions, sample.index):
        return None
    near = distance(sample.rows, candidate.plan, positions, sample.unit)
    stride = _stride(positions, sample.index)
    return _sure(sample, Found(candidate, positions, stride, near), searches=1 if stride else len(positions.unique()))


def _stride(positions: Tensor, index: Tensor) -> int | None:
    """How many positions a row is further than the last one, where that is one number for all."""
    if len(positions) < 3:
        return None
    ahead, rows = (positions[-1] - positions[0]).item(), (index[-1] - index[0]).item()
    step = round(ahead / rows)
    return step if step and torch.equal(positions, positions[0] + step * (index - index[0])) else None


def _is_rounded(positions: Tensor, index: Tensor) -> bool:
    """Whether these are the positions of following rows, but rounded to 16 bits: a damage, which `drifted` tells."""
    following = positions[0] + index - index[0]
    return any(torch.equal(following.to(dtype).long(), positions) for dtype in NARROW)


def _sure(sample: Sample, found: Found, searches: int) -> Found | None:
    """The same, if chance would not find it: bits that the values hold, less those that the search chose."""
    telling, each = _bits(sample, found.candidate, found.positions)
    chosen = searches * _SEARCH + math.log2(len(candidates(sample.dim)))
    if len(telling) * each - chosen >= ENOUGH_BITS:
        return found
    # Where float32 has lost the phase, the very bits of a table are still proof.
    if 8 * len(telling) * sample.dim - chosen < ENOUGH_BITS:
        return None
    tried: dict[object, bool] = {}
    for name in found.candidate.names:
        positions, _ = _renumbered(found, conventions[name])
        if _arithmetic(sample, conventions[name], positions, tried) != "float32":
            return found
    return None


def _bits(sample: Sample, candidate: Candidate, positions: Tensor) -> tuple[Tensor, float]:
    """The positions whose rows tell something, and how many bits each."""
    # The row whose phases are zero is that of every ladder, and what is there twice tells no more than once.
    positions = positions.unique()
    telling = positions[positions + int(_number(candidate.plan.convention.position_offset)) != 0]
    bound = allowed(candidate.plan, telling[:64], sample.unit)
    return telling, -(2 * bound).clamp(max=1.0).log2().sum().item() / max(1, len(bound))


def _rate(sample: Sample, candidate: Candidate, positions: Tensor) -> float:
    """Bits of a row that is looked for at every position, less those of the search."""
    return _bits(sample, candidate, positions)[1] - _SEARCH


def _matches(sample: Sample, found: Found) -> list[Match]:
    """One match for each name of a candidate, best first."""
    ranked = []
    tried: dict[object, bool] = {}
    places = {name: _renumbered(found, conventions[name]) for name in found.candidate.names}
    sound = [name for name in places if _is_its_own(sample, conventions[name], places[name][0])]
    for order, name in enumerate(sound):
        convention = conventions[name]
        positions, step = places[name]
        # Index 0 of the table, whether or not it is among the rows.
        start = int(positions[0]) - (step * int(sample.index[0]) if step else 0)
        match = _match(sample, found, name, positions, step, start, sound, tried)
        forward = step == 1 and (_number(convention.position_scale) > 0 or start == 0)
        awkward = (
            # Rows of zeros that the convention does not have.
            bool(match.padding),
            match.arithmetic not in (convention.released_as, "exact"),
            not forward,
            not forward and _number(convention.position_scale) < 0,
            # A row of zeros at index 1 is the padding of systems that count real tokens.
            (1 in sample.padding) != (convention.numbering == "tokens"),
            start != 0,
            order,
        )
        ranked.append((awkward, match))
    return [match for _, match in sorted(ranked, key=lambda each: each[0])]


def _is_its_own(sample: Sample, convention: Convention, positions: Tensor) -> bool:
    """Whether rows are those of a name whose sign or rows of zeros the other names of its candidate do not have."""
    here = any(bool((positions == row).any()) for row in convention.zero_rows)
    if not here and (convention.position_sign == "kept" or bool((positions >= 0).all())):
        return True
    return distance(sample.rows, convention.plan(sample.dim), positions, sample.unit, stop=1).ratio <= 1


def _renumbered(found: Found, convention: Convention) -> tuple[Tensor, int | None]:
    """The same positions in the numbering of another name of the candidate, and their step."""
    own = found.candidate.plan.convention
    moved = found.positions + int(_number(own.position_offset))
    if convention.position_sign == "dropped" and found.step is None:
        # The rows of -n .. n, which the system takes for those of n .. 0 .. n.
        lowest = moved.argmin()
        signed = torch.where(torch.arange(len(moved), device="cpu") < lowest, -moved, moved)
        if bool((signed.diff() == 1).all()):
            return signed, 1
    if (_number(own.position_scale) < 0) != (_number(convention.position_scale) < 0):
        return -moved - int(_number(convention.position_offset)), -found.step if found.step else None
    return moved - int(_number(convention.position_offset)), found.step


def _number(value: float | tuple[float, ...]) -> float:
    return value[0] if isinstance(value, tuple) else value


def _match(
    sample: Sample,
    found: Found,
    name: str,
    positions: Tensor,
    step: int | None,
    start: int,
    sound: list[str],
    tried: dict[object, bool],
) -> Match:
    convention = conventions[name]
    arithmetic = _arithmetic(sample, convention, positions, tried)
    note, near = "", found.distance
    padding = sample.padding
    if step is None:
        shown = ", ".join(map(str, positions[:SHOWN_POSITIONS].tolist()))
        note = f"rows of positions {shown}{', ...' if len(positions) > SHOWN_POSITIONS else ''}"
    else:
        padding = _foreign(padding, convention, sample.dim, start, step)
        if step != 1:
            there = f"from position {start} {'down' if step < 0 else 'on'}"
            note = f"rows run backwards, {there}" if step == -1 else f"every {_nth(abs(step))} position, {there}"
            strided = _strided(convention, start, step)
            step = None
            if strided is not None:
                # Its offset may be a third, which is rounded.
                near = distance(sample.rows, strided.plan(sample.dim), sample.index, sample.unit)
                convention, start, step = strided, 0, 1
    equal, shifted = (tuple(x for x in each if x in sound) for each in found.candidate.others(name))
    return Match(
        name,
        convention,
        start,
        near.error,
        near.relative,
        arithmetic,
        sample.dtype,
        "named",
        rows=len(sample.rows),
        names=equal,
        shifted=shifted,
        padding=padding,
        note=note,
        dim=sample.dim,
        length=sample.length,
        order="steady" if step else "other",
    )


def _strided(convention: Convention, start: int, step: int) -> Convention | None:
    """The convention whose positions 0, 1, ... are start, start + step, ... of this one; None where none is."""
    offset = Fraction(start + Fraction(_number(convention.position_offset))) / step
    numbered = moved(convention, start, step)
    if numbered is None:
        return None
    scale = _number(convention.position_scale)
    return numbered.replace(
        position_scale=scale * step, position_offset=int(offset) if offset.denominator == 1 else float(offset)
    )


def _nth(number: int) -> str:
    """An ordinal.

    >>> [_nth(n) for n in (2, 3, 11, 21)]
    ['2nd', '3rd', '11th', '21st']
    """
    teens = 10 <= number % 100 <= 20
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _foreign(padding: tuple[int, ...], convention: Convention, dim: int, start: int, step: int) -> tuple[int, ...]:
    """Rows of zeros, less those that are zeros by the convention itself."""
    if not padding:
        return ()
    index = torch.tensor(padding, device="cpu")
    own = (rows_of(start + step * index, convention.plan(dim), torch.float64) == 0).all(1)
    return tuple(index[~own].tolist())


def _arithmetic(sample: Sample, convention: Convention, positions: Tensor, tried: dict[object, bool]) -> str:
    """What gives the same bits: the recipe of the system, "exact", or "float32" where none does."""
    for arithmetic in (convention.released_as, "exact"):
        # Names of one candidate share all values but for their recipe.
        if arithmetic is not None and arithmetic not in tried:
            tried[arithmetic] = _same_bits(sample, replace(convention, arithmetic=arithmetic), positions)
        if arithmetic is not None and tried[arithmetic]:
            return arithmetic
    return "float32"


def _same_bits(sample: Sample, convention: Convention, positions: Tensor) -> bool:
    rows, positions = sample.rows[:_BIT_ROWS], positions[:_BIT_ROWS]
    plan = replace(convention, zero_rows=()).plan(sample.dim)
    # Systems round to 16 bits from float32, exact values once.
    narrow = sample.dtype in (torch.float16, torch.bfloat16) and not plan.is_exact
    made = rows_of(positions, plan, torch.float32 if narrow else sample.dtype)
    return torch.equal(made.to(sample.dtype).double(), rows)
