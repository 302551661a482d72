"""How far apart the frequencies of two conventions are, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...convention import Convention
from ...convention.options import AXES
from ...frequency import TURN

# Where the error of a phase is told: the length of a text.
_POSITION = 1000
# Frequencies that were computed in float32 differ by less.
_NEAR = 2.0**-20

# For each axis, or None where angles are added, the steps of each pair.
Pairs = Mapping[int | None, Sequence[tuple[int, ...]]]


def _ordered(each: Sequence[tuple[int, ...]]) -> list[tuple[int, tuple[int, ...]]]:
    """(pair, steps), by size where a pair turns with one axis: explicit frequencies may stand in any order."""
    numbered = list(enumerate(each))
    return sorted(numbered, key=lambda pair: -abs(pair[1][0])) if numbered and len(numbered[0][1]) == 1 else numbered


def _quotient(above: int, below: int) -> float:
    try:
        return above / below
    except OverflowError:
        return math.inf


def _radians(step: int) -> float:
    return _quotient(step, TURN) * math.tau


class Gap(NamedTuple):
    """Two frequencies that stand at one place, and how far apart they are."""

    relative: float
    place: str
    mine: int
    theirs: int


def _gaps(convention: Convention, pairs: tuple[Pairs, Pairs]) -> list[Gap]:
    axes = sorted(convention.axes, key=AXES.index)
    what = "column" if convention.pairing == "columns" else "pair"
    found = []
    for axis, each in pairs[0].items():
        for (number, mine), (_, theirs) in zip(_ordered(each), _ordered(pairs[1][axis]), strict=True):
            for entry, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                place = f"{what} {number}" + (f" of {axes[entry if axis is None else axis]}" if axes else "")
                found.append(Gap(abs(b - a) / max(abs(a), abs(b)) if a != b else 0.0, place, a, b))
    return found


def apart(convention: Convention, mine: Pairs, theirs: Pairs) -> tuple[str, str]:
    """(what differs and by how much, how to mend it or ""), for as many pairs on both sides.

    The largest relative difference of a frequency, and the largest difference of a phase.
    """
    gaps = _gaps(convention, (mine, theirs))
    most = max(gaps, key=lambda gap: gap.relative)
    furthest = max(gaps, key=lambda gap: abs(gap.theirs - gap.mine))
    times = [_quotient(gap.theirs, gap.mine) for gap in gaps if gap.mine and gap.theirs]
    numbers = f"{_radians(most.mine):.9g} against {_radians(most.theirs):.9g} radians a position"
    told = f"{most.place} differs most ({numbers}, a relative difference of {most.relative:.3g})"
    mend = ""
    if most.relative < _NEAR:
        mend = "give both one ladder, where so small a difference does not matter to you"
    elif len(times) == len(gaps) and min(times) > 0 and max(times) < min(times) * (1 + _NEAR):
        told = f"every frequency of the target is {times[0]:.6g} times that of the source"
        mend = f"multiply the positions by {times[0]:.6g}, or recompute tables with the target"
    phases = _radians(abs(furthest.theirs - furthest.mine)) * _POSITION
    return f"{told}, and at position {_POSITION} phases are up to {phases:.3g} radians apart, at {furthest.place}", mend
