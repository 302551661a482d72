"""Llama 3.1: slow pairs are divided, fast ones stay, with a share between that is linear in the frequency."""

from __future__ import annotations

import decimal
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..decimals import as_decimal, wide_context
from ..ladder import Ladder, pi_scaled
from .fields import Fields, wrong
from .record import UNIT, Rule

if TYPE_CHECKING:
    from ..stretch import Stretch

_PI_BITS = 300


def _law(ladder: Ladder, rule: Stretch, _: int | None) -> Ladder:
    inverse = 1 / Fraction(rule.factor)
    return replace(ladder, stretch=tuple(share + (1 - share) * inverse for share in _kept(ladder, rule)))


def _kept(ladder: Ladder, rule: Stretch) -> list[Fraction]:
    """How much of each frequency stays: 1 for what turns `high` times in the trained length, 0 for `low` times."""
    low, high = Fraction(rule.low), Fraction(rule.high)
    kept = []
    with decimal.localcontext(wide_context()):
        two_pi = Decimal(2 * pi_scaled(_PI_BITS)) / Decimal(1 << _PI_BITS)
        ratio = (-as_decimal(ladder.base).ln() / as_decimal(ladder.span)).exp()
        frequency = Decimal(1)
        for _ in range(ladder.pairs):
            turns = Fraction(frequency * rule.trained / two_pi)
            kept.append(min(max((turns - low) / (high - low), Fraction(0)), Fraction(1)))
            frequency *= ratio
    return kept


def _check(rule: Stretch) -> None:
    if not rule.high > rule.low:
        wrong(f"high={rule.high!r} and low={rule.low!r}", "high above low", "swap high_freq_factor and low_freq_factor")


def _read(fields: Fields, _: int) -> tuple[dict[str, Any], float]:
    numbers = {
        "factor": fields.number("factor"),
        "trained": fields.trained(),
        "low": fields.number("low_freq_factor"),
        "high": fields.number("high_freq_factor"),
    }
    return numbers, 1.0


def _written(rule: Stretch) -> dict[str, Any]:
    return {
        "factor": rule.factor,
        "original_max_position_embeddings": rule.trained,
        "low_freq_factor": rule.low,
        "high_freq_factor": rule.high,
    }


def _told(rule: Stretch, _: int) -> str:
    return f"factor {rule.factor:g}: Llama 3, low {rule.low:g}, high {rule.high:g}, original length {rule.trained}"


def _rounding(rule: Stretch, _: float, error: Any, ratio: Any) -> Any:
    """The share that stays is (turns - low) / (high - low), and counts `ratio` times.

    Turns are at most high, off by the error of w and four units: high / (high - low) of that, and two units.
    """
    return (rule.high / (rule.high - rule.low) * (error + 4 * UNIT) + 2 * UNIT) * ratio


LLAMA3 = Rule(
    numbers=("factor", "trained", "low", "high"),
    law=_law,
    words="by the turns of a pair in {trained} positions: up to {low} w is divided by {factor}, from {high} on it "
    "stays, between the part that stays rises evenly with the turns",
    told=_told,
    fields=("factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
    read=_read,
    written=_written,
    check=_check,
    ladder="paper",
    rounding=_rounding,
)
