"""LongRoPE (Ding et al. 2024): every pair is divided by a factor of its own, by another one in long sequences."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..ladder import Ladder
from .fields import AS_IT_IS, Fields, wrong
from .record import Rule, by_factor

if TYPE_CHECKING:
    from ..stretch import Stretch


def _law(ladder: Ladder, rule: Stretch, length: int | None) -> Ladder:
    for name, factors in (("short", rule.short), ("long", rule.long)):
        if len(factors) != ladder.pairs:
            wrong(
                f"{name} factors for {len(factors)} pairs",
                f"{ladder.pairs} of them, one for each pair that turns",
                "pass the list of the model, or its width",
            )
    factors = rule.long if length is not None and length > rule.trained else rule.short
    return replace(ladder, stretch=tuple(1 / Fraction(factor) for factor in factors))


def _read(fields: Fields, _: int) -> tuple[dict[str, Any], float]:
    trained = fields.trained()
    numbers = {
        "trained": trained,
        "short": fields.factors("short_factor"),
        "long": fields.factors("long_factor"),
    }
    return numbers, _attention(fields, trained)


def _attention(fields: Fields, trained: int) -> float:
    if "attention_factor" in fields:
        return fields.number("attention_factor")
    factor = fields.factor_or_ratio(trained)
    if factor < 1 and "factor" in fields:
        # A ratio may be below 1, where a model was cut down to shorter contexts.
        wrong(f"factor={factor!r}", "a factor of at least 1", AS_IT_IS)
    if factor > 1 and trained == 1:
        wrong("original_max_position_embeddings=1", "a length of at least 2", "pass attention_factor too")
    return math.sqrt(1 + math.log(factor) / math.log(trained)) if factor > 1 else 1.0


LONGROPE = Rule(
    numbers=("trained", "short", "long"),
    law=_law,
    words="every w is divided by a factor of its own, by others beyond {trained} positions",
    told=by_factor("longrope"),
    fields=("factor", "original_max_position_embeddings", "attention_factor", "short_factor", "long_factor"),
    read=_read,
    lengths="two",
    enlarges=False,
)
