"""Rules that stretch a ladder to contexts longer than those of training, evaluated far beyond float64.

Each rule changes the base of a ladder, or multiplies its frequencies pair by pair.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NoReturn

from ..errors import ConventionError, refuse, shown
from .ladder import Ladder, pi_scaled
from .numbers import is_number

StretchKind = Literal["linear", "ntk", "dynamic", "yarn", "longrope", "llama3", "proportional"]
# What each kind knows.
_USED: dict[str, tuple[str, ...]] = {
    "linear": ("factor",),
    "ntk": ("factor",),
    "dynamic": ("factor", "trained"),
    "yarn": ("factor", "trained", "fast", "slow", "ramp"),
    "longrope": ("trained", "short", "long"),
    "llama3": ("factor", "trained", "low", "high"),
    "proportional": ("factor", "turning"),
}
_DIGITS = 80
_PI_BITS = 300


@dataclass(frozen=True, kw_only=True, repr=False)
class Stretch:
    """One rule with its numbers; what a kind does not use is refused.

    kind, and what it does to the frequency w of pair k among n:
        linear: w / factor.
        ntk: the base grows to base * factor^(n / (n - 1)).
        dynamic: the base grows to base * (factor * L / trained - (factor - 1))^(n / (n - 1)), L being the length
            or the trained one, whichever is longer (NTK).
        yarn: w / factor for slow pairs, w for fast ones, a ramp between the pairs that turn `fast` and `slow`
            times in the trained length; its ends are floored and ceiled where `ramp` is "whole".
        longrope: w / short[k] up to the trained length, w / long[k] beyond.
        llama3: w / factor for wavelengths beyond trained / low, w below trained / high, between them a share that
            is linear in w.
        proportional: w / factor for the first `turning` pairs, 0 for the others.

    Raises:
        ConventionError: where a number makes no rule.

    Sources: Chen et al. 2023 (linear), bloc97 and emozilla 2023 (dynamic), Peng et al. 2023 (YaRN), Ding et al. 2024
    (LongRoPE), Llama 3.1; transformers' modeling_rope_utils.

    >>> Stretch(kind="dynamic", factor=4, trained=2048)
    Stretch(kind='dynamic', factor=4, trained=2048)
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

    def __post_init__(self) -> None:
        _check(self)

    def __repr__(self) -> str:
        said = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Stretch({', '.join(said)})"

    @property
    def needs_length(self) -> bool:
        """Whether frequencies depend on how long the whole sequence is."""
        return self.kind in ("dynamic", "longrope")

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Stretch:
        """The rule of a dictionary of its fields; unknown ones are refused."""
        known = [f.name for f in fields(cls)]
        if "kind" not in options or not set(known) >= set(options):
            got = ", ".join(map(repr, options))
            _wrong(f"stretch with {got or 'nothing'}", f"kind, and its own among {', '.join(known[1:])}", "name a kind")
        return cls(**options)


def _wrong(got: str, wanted: str, fix: str) -> NoReturn:
    refuse(got, wanted, fix, error=ConventionError)


def _is_count(value: Any) -> bool:
    # Positions are int64, and so are lengths.
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _check(rule: Stretch) -> None:
    """Refuse a rule whose numbers make none, whatever the ladder."""
    if not isinstance(rule.kind, str) or rule.kind not in _USED:
        _wrong(f"stretch of kind {shown(rule.kind)}", " or ".join(map(repr, _USED)), "choose one of these")
    used = _USED[rule.kind]
    for f in fields(rule):
        if f.name not in ("kind", *used) and getattr(rule, f.name) != f.default:
            _wrong(
                f"{f.name}={shown(getattr(rule, f.name))} for {rule.kind!r}", f"only {', '.join(used)}", "leave it out"
            )
    for name in ("factor", "fast", "slow", "low", "high"):
        value = getattr(rule, name)
        if not is_number(value) or value <= 0:
            _wrong(f"{name}={shown(value)}", "a number above zero", "pass that of the model")
    if rule.kind in ("linear", "ntk", "dynamic", "yarn", "llama3") and rule.factor < 1:
        _wrong(f"factor={rule.factor!r}", "a factor of at least 1", "pass how many times longer contexts become")
    if not _is_count(rule.trained) or ("trained" in used and rule.trained < 1):
        _wrong(f"trained={shown(rule.trained)}", "the length of training, an int above zero", "pass that of the model")
    if rule.kind == "yarn" and not rule.fast > rule.slow:
        _wrong(f"fast={rule.fast!r} and slow={rule.slow!r}", "fast above slow", "swap beta_fast and beta_slow")
    if rule.ramp not in ("whole", "real"):
        _wrong(f"ramp={rule.ramp!r}", "'whole' or 'real'", "choose one")
    if rule.kind == "llama3" and not rule.high > rule.low:
        _wrong(
            f"high={rule.high!r} and low={rule.low!r}",
            "high above low",
            "swap high_freq_factor and low_freq_factor",
        )
    if not _is_count(rule.turning) or rule.turning < 0:
        _wrong(f"turning={shown(rule.turning)}", "a number of pairs", "pass how many pairs turn")
    for name in ("short", "long"):
        value = getattr(rule, name)
        if not isinstance(value, tuple) or not all(is_number(each) and each > 0 for each in value):
            _wrong(f"{name}={shown(value):.80}", "a tuple of numbers above zero, one a pair", "pass that of the model")


def _check_ladder(ladder: Ladder, rule: Stretch) -> None:
    """Refuse a rule for a ladder that it does not know."""
    if rule.kind == "longrope":
        for name, factors in (("short", rule.short), ("long", rule.long)):
            if len(factors) != ladder.pairs:
                _wrong(
                    f"{name} factors for {len(factors)} pairs",
                    f"{ladder.pairs} of them, one for each pair that turns",
                    "pass the list of the model, or its width",
                )
    if rule.turning > ladder.pairs:
        _wrong(f"turning={rule.turning}", f"at most {ladder.pairs} pairs", "pass how many pairs turn")
    if rule.kind in ("ntk", "dynamic") and ladder.pairs < 2:
        _wrong(f"{rule.kind} scaling of one pair", "at least two pairs", "pass a rotary width of 4 or more")
    by_base = rule.kind in ("ntk", "dynamic", "yarn", "llama3")
    plain = not ladder.given and ladder.span == ladder.pairs and ladder.base > 1
    if by_base and (not plain or (rule.kind != "ntk" and (ladder.first != 1 or ladder.scale != 1))):
        _wrong(
            f"{rule.kind} scaling of another ladder",
            "frequencies base^(-k/n), from 1 down, of positions as they are",
            "pass the frequencies themselves, as spacing='explicit'",
        )


def _context() -> decimal.Context:
    # Nothing of the caller's: neither traps nor bounds of exponents.
    return decimal.Context(prec=_DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def _decimal(value: Fraction | float) -> Decimal:
    exact = Fraction(value)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def stretched(ladder: Ladder, rule: Stretch, length: int | None = None) -> Ladder:
    """A ladder under a rule, for a sequence of this length where that matters.

    Raises `ConventionError` where the rule does not fit the ladder.

    >>> from fractions import Fraction
    >>> ladder = stretched(Ladder(pairs=2, base=Fraction(10000), span=Fraction(2)), Stretch(kind="linear", factor=4))
    >>> ladder.stretch
    (Fraction(1, 4), Fraction(1, 4))
    """
    _check_ladder(ladder, rule)
    n, inverse = ladder.pairs, 1 / Fraction(rule.factor)
    if rule.kind == "linear":
        return replace(ladder, stretch=(inverse,) * n)
    if rule.kind == "proportional":
        return replace(ladder, stretch=(inverse,) * rule.turning + (Fraction(0),) * (n - rule.turning))
    if rule.kind == "longrope":
        factors = rule.long if length is not None and length > rule.trained else rule.short
        return replace(ladder, stretch=tuple(1 / Fraction(factor) for factor in factors))
    if rule.kind in ("ntk", "dynamic"):
        return replace(ladder, base=_grown_base(ladder, rule, length))
    kept = _yarn_kept(ladder, rule) if rule.kind == "yarn" else _llama_kept(ladder, rule)
    return replace(ladder, stretch=tuple(share + (1 - share) * inverse for share in kept))


def _grown_base(ladder: Ladder, rule: Stretch, length: int | None) -> Fraction:
    growth = Fraction(rule.factor)
    if rule.kind == "dynamic":
        growth = growth * max(length or 0, rule.trained) / rule.trained - (growth - 1)
    if growth == 1:
        return ladder.base
    with decimal.localcontext(_context()):
        power = (_decimal(growth).ln() * ladder.pairs / (ladder.pairs - 1)).exp()
        return ladder.base * Fraction(power)


def _yarn_kept(ladder: Ladder, rule: Stretch) -> list[Fraction]:
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


def _llama_kept(ladder: Ladder, rule: Stretch) -> list[Fraction]:
    """How much of each frequency stays: 1 for what turns `high` times in the trained length, 0 for `low` times."""
    low, high = Fraction(rule.low), Fraction(rule.high)
    kept = []
    with decimal.localcontext(_context()):
        two_pi = Decimal(2 * pi_scaled(_PI_BITS)) / Decimal(1 << _PI_BITS)
        ratio = (-_decimal(ladder.base).ln() / _decimal(ladder.span)).exp()
        frequency = Decimal(1)
        for _ in range(ladder.pairs):
            turns = Fraction(frequency * rule.trained / two_pi)
            kept.append(min(max((turns - low) / (high - low), Fraction(0)), Fraction(1)))
            frequency *= ratio
    return kept
