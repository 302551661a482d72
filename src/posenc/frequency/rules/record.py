"""What is known of one rule that stretches a ladder: all of it stands in one record, and each rule has a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..ladder import Ladder

if TYPE_CHECKING:
    from ..stretch import Stretch
    from .fields import Fields

# One unit of float32, relative.
UNIT = 2.0**-24


def _no_error(*_: Any) -> float:
    return 0.0


def _no_check(_: Stretch) -> None:
    pass


@dataclass(frozen=True)
class Rule:
    """One rule.

    numbers: the fields of `Stretch` that it uses; every other one is refused.
    law: (ladder, rule, length) -> the ladder that it makes.
    words: what it does to the frequency w of pair k among n, for `posenc conventions`; numbers in braces.
    told: (rule, pairs) -> what `identify` says of it.
    fields: those of released configurations that it knows, beside the ones that every kind has.
    read: (fields, width of a head) -> its numbers, and the attention factor; None where no configuration knows it.
    written: rule -> its fields, as a configuration spells them; None where these do not say all of it.
    check: refuses numbers that contradict each other.
    ladder: which ladders it stretches: "any", "geometric" (base^(-k/n)), or "paper" (the same, from 1 down, of
        positions as they are).
    lengths: whether frequencies depend on the length of the sequence: "none", "two" ladders, or "any" length.
    enlarges: whether its factor is at least 1.
    whole_head: whether the fraction of a head that turns is part of the rule.
    rounding: (rule, base, error, ratio) -> what float32 adds to the relative error of a frequency beside four units,
        where w has the relative `error` and is `ratio` times the result.
    """

    numbers: tuple[str, ...]
    law: Callable[[Ladder, Stretch, int | None], Ladder]
    words: str
    told: Callable[[Stretch, int], str]
    fields: tuple[str, ...] = ()
    read: Callable[[Fields, int], tuple[dict[str, Any], float]] | None = None
    written: Callable[[Stretch], dict[str, Any]] | None = None
    check: Callable[[Stretch], None] = _no_check
    ladder: Literal["any", "geometric", "paper"] = "any"
    lengths: Literal["none", "two", "any"] = "none"
    enlarges: bool = True
    whole_head: bool = False
    rounding: Callable[[Stretch, float, Any, Any], Any] = _no_error


def by_factor(name: str) -> Callable[[Stretch, int], str]:
    """Told by a factor and a name."""
    return lambda rule, _: f"factor {rule.factor:g}: {name}"
