"""Tables that no name explains but that turn all the same: the simplest law behind their frequencies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from ..convention import Convention, Plan, conventions
from ..errors import PosencError
from ..layout import Order
from .candidates import Candidate, candidates, key_of
from .laws import geometric, linear, shortest
from .match import Match
from .named import ENOUGH_BITS
from .place import placed
from .sampled import Sample
from .tolerance import Distance, allowed, distance
from .turning import SLACK, Turning, layouts, origin, run, turning

# Rows of a fit must follow each other; two show a turn, three that it is steady.
LEAST_ROWS = 3
# An error of this share of the gain explains nothing, however far out the rows are.
_MOST = 0.25
# Further out, a position is what noise in a slow pair says.
_FURTHEST = 1 << 32
# What float64 itself leaves.
_FINEST = 2.0**-46
# Bits that one number of a law is chosen by, at most.
_CHOICE = 24
# Rounder numbers are taken where they leave hardly more: so many deviations of a sum of squares.
_DEVIATIONS = 4
_COARSE = 2.0**-20
_ALIAS = "frequencies as measured: whole turns from row to row do not show"


@dataclass(frozen=True)
class _Placed:
    """A convention whose row `start` is row 0 of the table."""

    plan: Plan
    start: int
    numbers: int

    def distance(self, rows: Tensor, index: Tensor, unit: float, stop: float = math.inf) -> Distance:
        return distance(rows, self.plan, self.start + index, unit, stop=stop)


def fitted(sample: Sample) -> Match | None:
    """The convention that explains rows which follow each other, or None; simple laws before others."""
    rows, begin = run(sample)
    if len(rows) < LEAST_ROWS:
        return None
    unit = max(sample.unit, _FINEST)
    found = [turned for reading in layouts(sample.dim) if (turned := turning(rows, *reading, unit))]
    for laws in (_simple, _explicit):
        for turned in found:
            for tried in laws(turned):
                match = _roundest(sample, tried, turned, begin, unit)
                if match:
                    return match
    return None


def _readings(turned: Turning) -> tuple[tuple[Order, int], ...]:
    """Orders of the members, each with the sign of the positions that goes with it."""
    negative = bool((turned.frequency < 0).sum() * 2 > len(turned.frequency))
    return ("sine-first", -1 if negative else 1), ("cosine-first", 1 if negative else -1)


def _common(turned: Turning, order: str, sign: int) -> dict[str, Any]:
    gain, _ = shortest(turned.gain, turned.noise)
    return {
        "layout": turned.columns.layout, "order": order, "odd": turned.odd, "position_scale": sign, "gain": gain,
    }  # fmt: skip


def _simple(turned: Turning) -> Iterator[list[Convention]]:
    """For each order of members the conventions whose ladder follows a law, the roundest first, then as measured."""
    sizes = turned.frequency.abs()
    span = turned.columns.dim / 2 if turned.odd == "truncate" else turned.columns.pairs
    laws = geometric(sizes, turned.doubt, span) or linear(sizes, turned.doubt, span)
    for order, sign in _readings(turned) if laws else ():
        yield [Convention(**{**law, **_common(turned, order, sign)}) for law in laws]


def _explicit(turned: Turning) -> Iterator[list[Convention]]:
    if turned.columns.pairs == len(turned.frequency):
        for order, sign in (("sine-first", 1), ("cosine-first", -1)):
            given = tuple((turned.frequency * sign).tolist())
            yield [Convention(spacing="explicit", frequencies=given, **_common(turned, order, 1))]


def _roundest(sample: Sample, tried: list[Convention], turned: Turning, begin: int, unit: float) -> Match | None:
    """The first convention that explains every value beyond chance and as well as the last, the measured one."""
    rows, index = sample.few()
    places = [_place(convention, sample, turned, begin) for convention in tried]
    slack = SLACK * unit
    exact = places[-1].distance(rows, index, slack).relative if places[-1] else math.inf
    for number, place in enumerate(places):
        if place is None:
            continue
        near = place.distance(rows, index, unit if number + 1 < len(places) else slack, stop=1)
        # Values in 16 bits show little of a base: a rounder one must not be a worse one.
        worse = near.relative > exact * (1 + _DEVIATIONS * math.sqrt(2 / rows.numel())) and unit > _COARSE
        if near.ratio > 1 or worse:
            continue
        near = place.distance(sample.rows, sample.index, slack, stop=1)
        if near.ratio <= 1 and near.error <= _MOST * abs(place.plan.gain) and _is_beyond_chance(sample, place, slack):
            return _match(sample, place, near)
    return None


def _place(convention: Convention, sample: Sample, turned: Turning, begin: int) -> _Placed | None:
    """Where the rows of a sample are in a convention, which is given an offset or a negative gain for that."""
    gain = convention.gain
    numbers = len(convention.frequencies or (0, 0)) + 2
    for sign in (1, -1):
        tried = replace(convention, gain=gain if sign == 1 or isinstance(gain, str) else -gain)
        try:
            plan = tried.plan(sample.dim)
            first = _first(sample, plan, turned, begin, sign)
            if first is None:
                continue
            if abs(first) > _FURTHEST:
                continue
            whole = math.floor(first)
            if first != whole:
                part, _ = shortest(first - whole, SLACK * turned.noise / (first - whole))
                plan = replace(tried, position_offset=part).plan(sample.dim)
            return _Placed(plan, whole - begin, numbers)
        except PosencError:
            return None
    return None


def _first(sample: Sample, plan: Plan, turned: Turning, begin: int, sign: int) -> float | None:
    """The position of the first row of the run."""
    phase = turned.phase if plan.convention.order == "sine-first" else math.pi / 2 - turned.phase
    ladder = plan.blocks[0].ladder
    found = origin(ladder, phase + (math.pi if sign < 0 else 0), turned.noise)
    if found is not None or sign < 0:
        return found
    row = sample.rows[(sample.index == begin).nonzero().flatten()]
    positions, ratio = placed(row, Candidate(plan, ()), SLACK * sample.unit)
    return int(positions[0]) if ratio[0] <= 1 else None


def _is_beyond_chance(sample: Sample, place: _Placed, unit: float) -> bool:
    """Whether the values hold more bits than the numbers of the law were chosen by."""
    chosen = place.start + sample.index[:64]
    gain = abs(place.plan.gain)
    bits = -(2 * allowed(place.plan, chosen, unit) / gain).clamp(max=1.0).log2()
    each = min(_CHOICE, bits.mean().item() + math.log2(len(sample.rows)))
    return bits.mean().item() * sample.rows.numel() - place.numbers * each >= ENOUGH_BITS


def _match(sample: Sample, place: _Placed, near: Distance) -> Match:
    convention = place.plan.convention
    said: dict[str, Any] = {"rows": len(sample.rows), "padding": sample.padding, "dim": sample.dim}
    said["length"] = sample.length
    # Far from 0 named conventions were not looked for.
    for candidate in candidates(sample.dim) if convention.position_offset == 0 else ():
        own = candidate.plan.convention
        same = own.position_offset == 0 and own.position_scale == convention.position_scale
        if not same or candidate.key != key_of(place.plan):
            continue
        if place.distance(*sample.few(), sample.unit).ratio <= 1:
            name = candidate.names[0]
            equal, shifted = candidate.others(name)
            return Match(
                name, conventions[name], place.start, near.error, near.relative, "float32", sample.dtype, "named",
                names=equal, shifted=shifted, **said,
            )  # fmt: skip
    note = _ALIAS if convention.spacing == "explicit" else ""
    return Match(
        None, convention, place.start, near.error, near.relative, "float32", sample.dtype, "fitted", note=note, **said
    )
