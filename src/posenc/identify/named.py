"""Tables of named conventions: found from any of their rows, verified on all that were taken."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..convention import Convention, conventions
from ..encode.values import rows_of
from .candidates import Candidate, candidates
from .match import Match
from .place import REACH, has_amplitude, placed
from .sampled import Sample
from .tolerance import Distance, allowed, distance

# Bits that a match must have beyond what a search over all positions and names finds by chance.
ENOUGH_BITS = 32
_BIT_ROWS = 128


@dataclass(frozen=True)
class Found:
    """A candidate that the rows of a sample are, at positions (n,) in its numbering."""

    candidate: Candidate
    positions: Tensor
    step: int | None
    distance: Distance


def named(sample: Sample) -> list[Match]:
    """Every name that explains all rows of a sample, those that give the same bits first; [] where none does."""
    found: list[Found] = []
    # Those whose rows do not show their phases have to be tried out at every position, so they come last.
    for paired in (True, False):
        if not found:
            every = (_found(sample, each) for each in candidates(sample.dim) if each.is_paired == paired)
            found = [place for place in every if place is not None]
    found.sort(key=lambda place: (place.step != 1, place.step is None, round(place.distance.relative, 9)))
    return [match for place in found for match in _matches(sample, place)]


def _found(sample: Sample, candidate: Candidate) -> Found | None:
    rows, index = sample.few()
    if not has_amplitude(rows, candidate, sample.unit):
        return None
    positions, ratio = placed(rows, candidate, sample.unit)
    if bool((ratio > 1).any()):
        return None
    plan = candidate.plan
    for step in (1, -1):
        # The beginning that most rows agree on: coarse rows may be placed one aside.
        start, _ = Counter((positions - step * index).tolist()).most_common(1)[0]
        places = start + step * sample.index
        near = distance(sample.rows, plan, places, sample.unit, stop=1)
        if near.ratio <= 1:
            return _sure(sample, Found(candidate, places, step, near), searches=1)
    places, ratio = placed(sample.rows, candidate, sample.unit) if len(rows) < len(sample.rows) else (positions, ratio)
    if bool((ratio > 1).any()):
        return None
    near = distance(sample.rows, plan, places, sample.unit)
    return _sure(sample, Found(candidate, places, None, near), searches=len(places))


def _sure(sample: Sample, found: Found, searches: int) -> Found | None:
    """The same, if chance would not find it: bits that the values hold, less those that the search chose."""
    bound = allowed(found.candidate.plan, found.positions[:64], sample.unit)
    bits = -(2 * bound).clamp(max=1.0).log2().sum().item() * len(found.positions) / len(bound)
    chosen = searches * math.log2(4 * REACH) + math.log2(len(candidates(sample.dim)))
    if bits - chosen >= ENOUGH_BITS:
        return found
    # Where float32 has lost the phase, the very bits of a system's table are still proof.
    bits = 8 * found.positions.numel() * sample.dim
    recipes = {conventions[name].released_as: name for name in found.candidate.names}
    for name in recipes.values() if bits - chosen >= ENOUGH_BITS else ():
        if _same_bits(sample, conventions[name].as_released(), _renumbered(found, conventions[name])[0]):
            return found
    return None


def _matches(sample: Sample, found: Found) -> list[Match]:
    """One match for each name of a candidate, best first."""
    ranked = []
    tried: dict[object, bool] = {}
    for order, name in enumerate(found.candidate.names):
        positions, step = _renumbered(found, conventions[name])
        match = _match(sample, found, name, positions, step, tried)
        awkward = (
            match.arithmetic not in (conventions[name].released_as, "exact"),
            step != 1 and not (step is None and _mirrored(positions)),
            # A row of zeros at index 1 is the padding of systems that count real tokens.
            (1 in sample.padding) != (conventions[name].numbering == "tokens"),
            (int(positions[0]) if len(positions) else 0) != 0,
            order,
        )
        ranked.append((awkward, match))
    return [match for _, match in sorted(ranked, key=lambda each: each[0])]


def _mirrored(positions: Tensor) -> bool:
    return bool((positions < 0).any())


def _renumbered(found: Found, convention: Convention) -> tuple[Tensor, int | None]:
    """The same positions in the numbering of another name of the candidate, and their step."""
    own = found.candidate.plan.convention
    moved = found.positions + int(_number(own.position_offset))
    if (_number(own.position_scale) < 0) != (_number(convention.position_scale) < 0):
        return -moved - int(_number(convention.position_offset)), -found.step if found.step else None
    return moved - int(_number(convention.position_offset)), found.step


def _number(value: float | tuple[float, ...]) -> float:
    return value[0] if isinstance(value, tuple) else value


def _match(
    sample: Sample, found: Found, name: str, positions: Tensor, step: int | None, tried: dict[object, bool]
) -> Match:
    convention = conventions[name]
    notes = []
    first = int(positions[0] - (step or 1) * sample.index[0]) if len(positions) else 0
    start: int = first if step else int(positions[0])
    if step == -1:
        notes.append(f"rows run backwards, from position {first} down")
        scale = -_number(convention.position_scale)
        convention = replace(
            convention, position_scale=scale, position_offset=-first - _number(convention.position_offset)
        )
        start = 0
    elif step is None:
        shown = ", ".join(map(str, positions[:6].tolist()))
        notes.append(f"rows of positions {shown}{', ...' if len(positions) > 6 else ''}")
    equal = tuple(other for other in found.candidate.names if other != name)
    return Match(
        name,
        convention,
        start,
        found.distance.error,
        found.distance.relative,
        _arithmetic(sample, conventions[name], positions, tried),
        sample.dtype,
        "named",
        len(sample.rows),
        equal,
        sample.padding,
        note="; ".join(notes),
    )


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
