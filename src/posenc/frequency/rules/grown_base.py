"""NTK scaling (bloc97 and emozilla 2023): the base grows, by a factor or with the length of the sequence."""

from __future__ import annotations

import decimal
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..decimals import as_decimal, wide_context
from ..ladder import Ladder
from .fields import Fields, wrong
from .record import UNIT, Rule, by_factor

if TYPE_CHECKING:
    from ..stretch import Stretch


def _grown(ladder: Ladder, rule: Stretch, growth: Fraction) -> Ladder:
    if ladder.pairs < 2:
        wrong(f"{rule.kind} scaling of one pair", "at least two pairs", "pass a rotary width of 4 or more")
    if growth == 1:
        return ladder
    with decimal.localcontext(wide_context()):
        power = (as_decimal(growth).ln() * ladder.pairs / (ladder.pairs - 1)).exp()
        return replace(ladder, base=ladder.base * Fraction(power))


def _ntk(ladder: Ladder, rule: Stretch, _: int | None) -> Ladder:
    return _grown(ladder, rule, Fraction(rule.factor))


def _dynamic(ladder: Ladder, rule: Stretch, length: int | None) -> Ladder:
    factor = Fraction(rule.factor)
    return _grown(ladder, rule, factor * max(length or 0, rule.trained) / rule.trained - (factor - 1))


def _read(fields: Fields, _: int) -> tuple[dict[str, Any], float]:
    trained = fields.length("max_position_embeddings", "original_max_position_embeddings")
    return {"factor": fields.number("factor"), "trained": trained}, 1.0


def _rounding(rule: Stretch, _base: float, _error: Any, _ratio: Any) -> float:
    """Growth is a difference of numbers up to its value and factor - 1, at least 1: off by 3 + 3 factor units."""
    return (3 + 3 * rule.factor) * UNIT


NTK = Rule(
    numbers=("factor",),
    law=_ntk,
    words="the base becomes {base} * {factor}^(n / (n - 1)) for n pairs",
    told=by_factor("ntk"),
    ladder="geometric",
    rounding=_rounding,
)
DYNAMIC = Rule(
    numbers=("factor", "trained"),
    law=_dynamic,
    words="the base becomes {base} * ({factor} * L / {trained} - {less})^(n / (n - 1)) for n pairs and a length L "
    "beyond {trained}",
    told=by_factor("dynamic"),
    fields=("factor", "original_max_position_embeddings"),
    read=_read,
    written=lambda rule: {"factor": rule.factor, "max_position_embeddings": rule.trained},
    ladder="paper",
    lengths="any",
    rounding=_rounding,
)
