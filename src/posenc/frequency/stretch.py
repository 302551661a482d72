"""Rules that stretch a ladder to contexts longer than those of training, evaluated far beyond float64.

Each rule changes the base of a ladder, or multiplies its frequencies pair by pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from ..arguments.numbers import is_number
from ..errors import shown
from .ladder import Ladder
from .rules import RULES
from .rules.fields import wrong

StretchKind = Literal["linear", "ntk", "dynamic", "yarn", "longrope", "llama3", "proportional"]
# Read in graphs, where a compiler follows plain strings.
_LENGTHS = {kind: rule.lengths for kind, rule in RULES.items()}


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
        return _LENGTHS[self.kind] != "none"

    @property
    def has_two_ladders(self) -> bool:
        """Whether it knows only short sequences and long ones."""
        return _LENGTHS[self.kind] == "two"

    @classmethod
    def from_dict(cls, options: Mapping[str, Any]) -> Stretch:
        """The rule of a dictionary of its fields; unknown ones are refused."""
        known = [f.name for f in fields(cls)]
        if "kind" not in options or not set(known) >= set(options):
            got = ", ".join(map(repr, options))
            wrong(f"stretch with {got or 'nothing'}", f"kind, and its own among {', '.join(known[1:])}", "name a kind")
        return cls(**options)


def _is_count(value: Any) -> bool:
    # Positions are int64, and so are lengths.
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _check(rule: Stretch) -> None:
    """Refuse a rule whose numbers make none, whatever the ladder."""
    if not isinstance(rule.kind, str) or rule.kind not in RULES:
        wrong(f"stretch of kind {shown(rule.kind)}", " or ".join(map(repr, RULES)), "choose one of these")
    known = RULES[rule.kind]
    used = known.numbers
    for f in fields(rule):
        if f.name not in ("kind", *used) and getattr(rule, f.name) != f.default:
            wrong(
                f"{f.name}={shown(getattr(rule, f.name))} for {rule.kind!r}", f"only {', '.join(used)}", "leave it out"
            )
    for name in ("factor", "fast", "slow", "low", "high"):
        value = getattr(rule, name)
        if not is_number(value) or value <= 0:
            wrong(f"{name}={shown(value)}", "a number above zero", "pass that of the model")
    if known.enlarges and rule.factor < 1:
        wrong(f"factor={rule.factor!r}", "a factor of at least 1", "pass how many times longer contexts become")
    if not _is_count(rule.trained) or ("trained" in used and rule.trained < 1):
        wrong(f"trained={shown(rule.trained)}", "the length of training, an int above zero", "pass that of the model")
    if rule.ramp not in ("whole", "real"):
        wrong(f"ramp={rule.ramp!r}", "'whole' or 'real'", "choose one")
    if not _is_count(rule.turning) or rule.turning < 0:
        wrong(f"turning={shown(rule.turning)}", "a number of pairs", "pass how many pairs turn")
    for name in ("short", "long"):
        value = getattr(rule, name)
        if not isinstance(value, tuple) or not all(is_number(each) and each > 0 for each in value):
            wrong(f"{name}={shown(value):.80}", "a tuple of numbers above zero, one a pair", "pass that of the model")
    known.check(rule)


def _check_ladder(ladder: Ladder, rule: Stretch) -> None:
    """Refuse a rule for a ladder that it does not know."""
    if rule.turning > ladder.pairs:
        wrong(f"turning={rule.turning}", f"at most {ladder.pairs} pairs", "pass how many pairs turn")
    wanted = RULES[rule.kind].ladder
    if wanted == "any":
        return
    plain = not ladder.given and ladder.span == ladder.pairs and ladder.base > 1
    if not plain or (wanted == "paper" and (ladder.first != 1 or ladder.scale != 1)):
        wrong(
            f"{rule.kind} scaling of another ladder",
            "frequencies base^(-k/n), from 1 down, of positions as they are",
            "pass the frequencies themselves, as spacing='explicit'",
        )


def stretched(ladder: Ladder, rule: Stretch, length: int | None = None) -> Ladder:
    """A ladder under a rule, for a sequence of this length where that matters.

    Raises `ConventionError` where the rule does not fit the ladder.

    >>> from fractions import Fraction
    >>> ladder = stretched(Ladder(pairs=2, base=Fraction(10000), span=Fraction(2)), Stretch(kind="linear", factor=4))
    >>> ladder.stretch
    (Fraction(1, 4), Fraction(1, 4))
    """
    _check_ladder(ladder, rule)
    return RULES[rule.kind].law(ladder, rule, length)
