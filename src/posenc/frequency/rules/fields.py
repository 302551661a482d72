"""The fields of a released scaling dictionary, each read with the checks that its kind of value needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from ...arguments.numbers import as_index, is_number
from ...errors import ConventionError, refuse, shown

AS_IT_IS = "pass it as the model's configuration has it"


def wrong(got: str, wanted: str, fix: str) -> NoReturn:
    """Refuse what a configuration or a rule says."""
    refuse(got, wanted, fix, error=ConventionError)


class Fields:
    """What a dictionary says, field by field; unknown and missing fields are refused, never guessed."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options

    def __contains__(self, name: str) -> bool:
        return name in self.options

    def number(self, name: str, default: float | None = None) -> float:
        """A number above zero."""
        value = self.options.get(name, default)
        if value is None:
            wrong(f"scaling without {name!r}", "every number of its kind", AS_IT_IS)
        if not is_number(value) or value <= 0:
            wrong(f"{name}={shown(value)}", "a number above zero", AS_IT_IS)
        return float(value)

    def said(self, name: str) -> float | None:
        """A number, or None; zero says as little as nothing does, since transformers asks for its truth."""
        value = self.options.get(name)
        return None if value is None or (is_number(value) and value == 0) else self.number(name)

    def length(self, *names: str) -> int:
        """The first of these fields that is there."""
        for name in names:
            if name in self.options:
                value = as_index(self.options[name])
                if value is None or not 1 <= value < 1 << 63:
                    wrong(f"{name}={shown(self.options[name])}", "a length above zero", "pass the length of training")
                return value
        wrong(f"scaling without {names[0]!r}", "the length of training", "take it from the model's configuration")

    def trained(self) -> int:
        """The length of training; where no other is said, the only one that there is, as transformers fills it in."""
        return self.length("original_max_position_embeddings", "max_position_embeddings")

    def factor_or_ratio(self, trained: int) -> float:
        """How many times longer contexts become: said, or the ratio of the two lengths."""
        if "factor" in self.options:
            return self.number("factor")
        if "max_position_embeddings" not in self.options:
            wrong(
                "scaling without 'factor' and 'max_position_embeddings'",
                "one of them: without a factor it is the ratio of two lengths",
                "add max_position_embeddings, which stands beside rope_parameters in the model's configuration",
            )
        return self.length("max_position_embeddings") / trained

    def factors(self, name: str) -> tuple[float, ...]:
        """A list of numbers, one a pair."""
        value = self.options.get(name)
        if not isinstance(value, (list, tuple)):
            wrong(f"{name}={shown(value):.80}", "a list of numbers, one a pair", AS_IT_IS)
        return tuple(value)

    def truth(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self.options.get(name, default)
        if not isinstance(value, bool):
            wrong(f"{name}={shown(value)}", "true or false", AS_IT_IS)
        return value

    def fraction(self, name: str = "partial_rotary_factor") -> float:
        """A fraction of a head, at most 1; 1 where nothing is said."""
        value = self.number(name, 1.0)
        if value > 1:
            wrong(f"{name}={value!r}", "a fraction of a head, at most 1", AS_IT_IS)
        return value
