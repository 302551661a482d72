"""Linear scaling (Chen et al. 2023): positions, or frequencies, divided by a factor."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..ladder import Ladder
from .fields import Fields
from .record import Rule, by_factor

if TYPE_CHECKING:
    from ..stretch import Stretch


def _law(ladder: Ladder, rule: Stretch, _: int | None) -> Ladder:
    return replace(ladder, stretch=(1 / Fraction(rule.factor),) * ladder.pairs)


def _read(fields: Fields, _: int) -> tuple[dict[str, Any], float]:
    return {"factor": fields.number("factor")}, 1.0


LINEAR = Rule(
    numbers=("factor",),
    law=_law,
    words="every w is divided by {factor}",
    told=by_factor("linear"),
    fields=("factor",),
    read=_read,
    written=lambda rule: {"factor": rule.factor},
)
