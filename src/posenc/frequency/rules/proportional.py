"""Proportional rotary encoding: a fraction of the pairs turns, by the ladder of the whole head."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..ladder import Ladder
from .fields import Fields
from .record import Rule

if TYPE_CHECKING:
    from ..stretch import Stretch


def _law(ladder: Ladder, rule: Stretch, _: int | None) -> Ladder:
    still = (Fraction(0),) * (ladder.pairs - rule.turning)
    return replace(ladder, stretch=(1 / Fraction(rule.factor),) * rule.turning + still)


def _read(fields: Fields, head_dim: int) -> tuple[dict[str, Any], float]:
    # The pairs beyond the fraction do not turn, but belong to the ladder.
    turning = int(fields.fraction() * head_dim // 2)
    return {"factor": fields.number("factor", 1.0), "turning": turning}, 1.0


def _told(rule: Stretch, pairs: int) -> str:
    factor = f", divided by {rule.factor:g}" if rule.factor != 1 else ""
    return f"proportional: the first {rule.turning} of {pairs} pairs turn, over the whole head{factor}"


PROPORTIONAL = Rule(
    numbers=("factor", "turning"),
    law=_law,
    words="every w is divided by {factor}, and beyond the first {turning} pairs is 0",
    told=_told,
    fields=("factor",),
    read=_read,
    enlarges=False,
    whole_head=True,
)
