"""Which values are judged: conventions, widths, and positions of every size."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import NamedTuple

from ..convention import Convention, Plan, conventions, systems
from ..errors import ConventionError

DIMS = (2, 3, 64, 77, 512)
# Beyond so many values a second round is drawn, so that memory stays small.
PER_ROUND = 16_000_000

# Name: middle and spread of the magnitudes that are drawn. The last two are all of +-2^62, and int64's ends.
NEAR = {
    "0": (0, 40),
    "100": (100, 40),
    "5 000": (5_000, 500),
    "100 000": (100_000, 10_000),
    "10 000 000": (10_000_000, 1_000_000),
    "2^31": (1 << 31, 1 << 27),
    "2^62": (1 << 61, 1 << 61),
    "2^63": (1 << 63, 100),
}
# Beside the gain of dim^-0.5 that a system has: one that a float does not hold in short, and one that turns signs.
_GAINS = (Convention(gain=0.1), Convention(gain=-0.7))
_FIRST, _LAST = -(1 << 63), (1 << 63) - 1


class Unit(NamedTuple):
    """Rows of one convention at one width: a run of `length` positions from each anchor."""

    name: str
    convention: Convention
    dim: int
    anchors: list[int]
    length: int
    near: list[str]

    def position(self, row: int) -> int:
        """The position of a row: runs stand one after the other."""
        return self.anchors[row // self.length] + row % self.length


def fitting() -> list[tuple[str, Convention, int]]:
    """The named conventions of one axis that differ, and some gains, at every width of `DIMS` that they know.

    Several names for one encoding are judged once, under the first. Rotary names encode nothing by themselves.
    """
    named = [(name, convention) for name, convention in conventions.items() if systems[name].family != "rotary"]
    found: dict[object, tuple[str, Convention, int]] = {}
    for name, convention in [*named, *((repr(each), each) for each in _GAINS)]:
        for dim in DIMS:
            try:
                plan = convention.plan(dim)
            except ConventionError:
                continue
            if plan.is_plain or _is_plain_times_gain(plan):
                found.setdefault((plan.blocks, plan.gain), (name, convention, dim))
    return list(found.values())


def _is_plain_times_gain(plan: Plan) -> bool:
    return plan.gain != 1 and plan.is_exact and plan.is_turned and plan.axes == 1


def units(values: int, seed: int) -> Iterator[Unit]:
    """At least `values` values in all, the same number for each convention at each width.

    The seed decides the anchors. Fewer and longer runs make the reference cheaper, up to a point.
    """
    draw = random.Random(seed)
    pairs = fitting()
    rounds = math.ceil(values / PER_ROUND)
    for name, convention, dim in pairs * rounds:
        rows = max(len(NEAR), math.ceil(values / rounds / len(pairs) / dim))
        # About three times as many offsets as anchors in all.
        each = max(1, math.isqrt(rows // 3) // len(NEAR))
        length = math.ceil(rows / each / len(NEAR))
        near = [label for label in NEAR for _ in range(each)]
        anchors = [anchor(draw, *NEAR[label], length) for label in near]
        yield Unit(name, convention, dim, anchors, length, near)


def anchor(draw: random.Random, middle: int, spread: int, length: int) -> int:
    """The first position of a run near one size, of either sign, that stays within int64."""
    position = draw.choice((-1, 1)) * draw.randint(middle - spread, middle + spread)
    return min(max(position, _FIRST), _LAST - length + 1)
