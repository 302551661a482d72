"""Rules that stretch a ladder to contexts longer than those of training, evaluated far beyond float64.

Each rule changes the base of a ladder, or multiplies its frequencies pair by pair.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from .ladder import Ladder, pi_scaled

StretchKind = Literal["linear", "dynamic", "yarn", "longrope", "llama3", "proportional"]
_DIGITS = 80
_PI_BITS = 300


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """One rule with its numbers; what a kind does not use stays at its default.

    kind, and what it does to the frequency w of pair k among n:
        linear: w / factor.
        dynamic: the base grows to base * (factor * L / trained - (factor - 1))^(n / (n - 1)), L being the length
            or the trained one, whichever is longer (NTK).
        yarn: w / factor for slow pairs, w for fast ones, a ramp between the pairs that turn `fast` and `slow`
            times in the trained length; its ends are floored and ceiled where `ramp` is "whole".
        longrope: w / short[k] up to the trained length, w / long[k] beyond.
        llama3: w / factor for wavelengths beyond trained / low, w below trained / high, between them a share that
            is linear in w.
        proportional: w / factor for the first `turning` pairs, 0 for the others.

    Sources: Chen et al. 2023 (linear), bloc97 and emozilla 2023 (dynamic), Peng et al. 2023 (YaRN), Ding et al. 2024
    (LongRoPE), Llama 3.1; transformers' modeling_rope_utils.
    """

    kind: StretchKind
    factor: float = 1.0
    trained: int = 0
    fast: float = 32.0
    slow: float = 1.0
    ramp: Literal["whole", "real"] = "whole"
    low: float = 1.0
    high: float = 4.0
    short: tuple[float, ...] = ()
    long: tuple[float, ...] = ()
    turning: int = 0

    @property
    def needs_length(self) -> bool:
        """Whether frequencies depend on how long the whole sequence is."""
        return self.kind in ("dynamic", "longrope")


def _decimal(value: Fraction | float) -> Decimal:
    exact = Fraction(value)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def stretched(ladder: Ladder, rule: Stretch, length: int | None = None) -> Ladder:
    """A ladder under a rule, for a sequence of this length where that matters.

    >>> from fractions import Fraction
    >>> ladder = stretched(Ladder(pairs=2, base=Fraction(10000), span=Fraction(2)), Stretch(kind="linear", factor=4))
    >>> ladder.stretch
    (Fraction(1, 4), Fraction(1, 4))
    """
    n, inverse = ladder.pairs, 1 / Fraction(rule.factor)
    if rule.kind == "linear":
        return replace(ladder, stretch=(inverse,) * n)
    if rule.kind == "proportional":
        return replace(ladder, stretch=(inverse,) * rule.turning + (Fraction(0),) * (n - rule.turning))
    if rule.kind == "longrope":
        factors = rule.long if length is not None and length > rule.trained else rule.short
        return replace(ladder, stretch=tuple(1 / Fraction(factor) for factor in factors))
    if rule.kind == "dynamic":
        return replace(ladder, base=_dynamic_base(ladder, rule, length))
    kept = _yarn_kept(ladder, rule) if rule.kind == "yarn" else _llama_kept(ladder, rule)
    return replace(ladder, stretch=tuple(share + (1 - share) * inverse for share in kept))


def _dynamic_base(ladder: Ladder, rule: Stretch, length: int | None) -> Fraction:
    longest = max(length or 0, rule.trained)
    growth = Fraction(rule.factor) * longest / rule.trained - (Fraction(rule.factor) - 1)
    if growth == 1:
        return ladder.base
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        power = (_decimal(growth).ln() * ladder.pairs / (ladder.pairs - 1)).exp()
        return ladder.base * Fraction(power)


def _yarn_kept(ladder: Ladder, rule: Stretch) -> list[Fraction]:
    """How much of each frequency stays: 1 for fast pairs, 0 for slow ones."""
    dim, base = 2 * ladder.pairs, float(ladder.base)

    def pair_of(turns: float) -> float:
        return dim * math.log(rule.trained / (turns * 2 * math.pi)) / (2 * math.log(base))

    # In float64, as every system takes them: that decides which pair is the first and the last of the ramp.
    first, last = pair_of(rule.fast), pair_of(rule.slow)
    if rule.ramp == "whole":
        first, last = math.floor(first), math.ceil(last)
    begin, end = Fraction(max(first, 0)), Fraction(min(last, dim - 1))
    if begin == end:
        end += Fraction(1, 1000)
    return [1 - min(max((k - begin) / (end - begin), Fraction(0)), Fraction(1)) for k in range(ladder.pairs)]


def _llama_kept(ladder: Ladder, rule: Stretch) -> list[Fraction]:
    low, high = Fraction(rule.low), Fraction(rule.high)
    kept = []
    with decimal.localcontext(decimal.Context(prec=_DIGITS)):
        two_pi = Decimal(2 * pi_scaled(_PI_BITS)) / Decimal(1 << _PI_BITS)
        ratio = (-_decimal(ladder.base).ln() / _decimal(ladder.span)).exp()
        frequency = _decimal(ladder.first)
        for _ in range(ladder.pairs):
            turns = Fraction(frequency * rule.trained / two_pi)
            kept.append(min(max((turns - low) / (high - low), Fraction(0)), Fraction(1)))
            frequency *= ratio
    return kept
