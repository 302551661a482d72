"""YaRN (Peng et al. 2023): slow pairs are divided, fast ones stay, with a ramp between that is even in the pair."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..ladder import Ladder
from .fields import Fields, wrong
from .record import UNIT, Rule

if TYPE_CHECKING:
    from ..stretch import Stretch


def _law(ladder: Ladder, rule: Stretch, _: int | None) -> Ladder:
    inverse = 1 / Fraction(rule.factor)
    return replace(ladder, stretch=tuple(share + (1 - share) * inverse for share in _kept(ladder, rule)))


def _kept(ladder: Ladder, rule: Stretch) -> list[Fraction]:
    """How much of each frequency stays: 1 for fast pairs, 0 for slow ones."""
    dim, base = 2 * ladder.pairs, float(ladder.base)

    def pair_of(turns: float) -> float:
        ratio = rule.trained / (turns * 2 * math.pi)
        pair = dim * math.log(ratio) / (2 * math.log(base)) if ratio else -1.0
        # Beyond the ends of the ladder it makes no difference how far.
        return min(max(pair, -1.0), float(dim))

    # In float64, as every system takes them: that decides which pair is the first and the last of the ramp.
    first, last = pair_of(rule.fast), pair_of(rule.slow)
    if rule.ramp == "whole":
        first, last = math.floor(first), math.ceil(last)
    begin, end = Fraction(max(first, 0)), Fraction(min(last, dim - 1))
    if begin == end:
        end += Fraction(1, 1000)
    return [1 - min(max((k - begin) / (end - begin), Fraction(0)), Fraction(1)) for k in range(ladder.pairs)]


def _check(rule: Stretch) -> None:
    if not rule.fast > rule.slow:
        wrong(f"fast={rule.fast!r} and slow={rule.slow!r}", "fast above slow", "swap beta_fast and beta_slow")


def _read(fields: Fields, _: int) -> tuple[dict[str, Any], float]:
    trained = fields.trained()
    factor = fields.factor_or_ratio(trained)
    numbers = {
        "factor": factor,
        "trained": trained,
        "fast": fields.said("beta_fast") or 32.0,
        "slow": fields.said("beta_slow") or 1.0,
        "ramp": "whole" if fields.truth("truncate", default=True) else "real",
    }
    return numbers, _attention(fields, factor)


def _attention(fields: Fields, factor: float) -> float:
    def scale(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0

    if "attention_factor" in fields:
        return fields.number("attention_factor")
    # As transformers does: the ratio where both fields are there and not zero, else the plain rule.
    one, other = fields.said("mscale"), fields.said("mscale_all_dim")
    return scale(one) / scale(other) if one and other else scale(1.0)


def _written(rule: Stretch) -> dict[str, Any]:
    said: dict[str, Any] = {
        "factor": rule.factor,
        "original_max_position_embeddings": rule.trained,
        "beta_fast": rule.fast,
        "beta_slow": rule.slow,
    }
    return said if rule.ramp == "whole" else {**said, "truncate": False}


def _told(rule: Stretch, _: int) -> str:
    ends = ", with a ramp that is not rounded" if rule.ramp == "real" else ""
    return f"factor {rule.factor:g}: YaRN, original length {rule.trained}{ends}"


def _rounding(rule: Stretch, base: float, _: Any, ratio: Any) -> Any:
    """The share that stays is 1 - (k - begin) / (end - begin), and counts `ratio` times.

    With ends that are rounded it is off by at most 2 pairs / (end - begin) units and four more, and end - begin is at
    least 2 pairs ln(fast / slow) / (2 ln base).
    """
    return (4 + 2 * math.log(base) / math.log(rule.fast / rule.slow)) * UNIT * ratio


YARN = Rule(
    numbers=("factor", "trained", "fast", "slow", "ramp"),
    law=_law,
    words="by the turns of a pair in {trained} positions: up to {slow} w is divided by {factor}, from {fast} on it "
    "stays, between the part that stays rises evenly with the pair",
    told=_told,
    fields=(
        "factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale",
        "mscale_all_dim", "truncate",
    ),
    read=_read,
    written=_written,
    check=_check,
    ladder="paper",
    rounding=_rounding,
)  # fmt: skip
